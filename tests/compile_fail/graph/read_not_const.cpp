// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A policy is passed as a constant: its members are static or const.
// expect: hocket: the policy has no for_each_read that can be called on a const policy with a node
#include <hocket/graph/dependencies.hpp>

struct program {};

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program&) { return 0; }
#ifdef CORRECTED
  void for_each_read(const program&, node, auto&&) const {}
#else
  void for_each_read(const program&, node, auto&&) {}
#endif
  static void for_each_write(const program&, node, auto&&) {}
};

bool f(const program& p) { return hocket::graph::dependencies(p).has_value(); }
