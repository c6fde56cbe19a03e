// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nobody says how many ops there are.
// expect: hocket: the policy has no node_count that can be called on a const policy and host
#include <hocket/graph/dependencies.hpp>

struct program {};

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
#ifdef CORRECTED
  static std::size_t node_count(const program&) { return 0; }
#endif
  static void for_each_read(const program&, node, auto&&) {}
  static void for_each_write(const program&, node, auto&&) {}
};

bool f(const program& p) { return hocket::graph::dependencies(p).has_value(); }
