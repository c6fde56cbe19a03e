// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands are pointers, and nobody numbers them.
// expect: hocket: the policy's node is no integer type, so it must number the nodes. Write: static std::size_t index_of(const G&, node);
#include <hocket/graph/dag.hpp>

struct op {};
struct program {};

template <>
struct hocket::graph_access<program> {
  using node = const op*;
  static std::size_t node_count(const program&) { return 0; }
  static void for_each_node(const program&, auto&&) {}
  static void for_each_predecessor(const program&, node, auto&&) {}
#ifdef CORRECTED
  static std::size_t index_of(const program&, node) { return 0; }
#endif
};

bool f(const program& p) { return hocket::graph::dag<>::make(p).has_value(); }
