// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The stream is told; the list of the nodes is misspelt.
// expect: hocket: the policy's node is no integer type, so it must list the nodes in program order. Write: static void
#include <hocket/graph/stream_plan.hpp>

struct program {};

template <>
struct hocket::graph_access<program> {
  using node = const int*;
  static std::size_t node_count(const program&) { return 0; }
#ifdef CORRECTED
  static void for_each_node(const program&, auto&&) {}
#else
  static void for_each_nodes(const program&, auto&&) {}
#endif
  static hocket::stream_id stream(const program&, node) { return 0; }
};

bool f(const program& p) { return hocket::graph::stream_plan::make(hocket::graph::dag<>{}, p).has_value(); }
