// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The member has an s too many.
// expect: hocket: the policy has no for_each_write that can be called on a const policy with a node
#include <hocket/graph/dependencies.hpp>

struct program {};

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program&) { return 0; }
  static void for_each_read(const program&, node, auto&&) {}
#ifdef CORRECTED
  static void for_each_write(const program&, node, auto&&) {}
#else
  static void for_each_writes(const program&, node, auto&&) {}
#endif
};

bool f(const program& p) { return hocket::graph::dependencies(p).has_value(); }
