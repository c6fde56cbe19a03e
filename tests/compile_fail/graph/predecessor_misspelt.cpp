// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The member takes the node alone.
// expect: hocket: the policy has no for_each_successor that can be called on a const policy with a node, and no for_each_predecessor
#include <hocket/graph/dag.hpp>

struct program {};

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program&) { return 0; }
#ifdef CORRECTED
  static void for_each_predecessor(const program&, node, auto&&) {}
#else
  static void for_each_predecessor(node, auto&&) {}
#endif
};

bool f(const program& p) { return hocket::graph::dag<>::make(p).has_value(); }
