// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nodes that are pointers must be listed.
// expect: hocket: the policy's node is no integer type, so it must list the nodes in program order. Write: static void
#include <hocket/testing/access_laws.hpp>

struct program {};

template <>
struct hocket::graph_access<program> {
  using node = const int*;
  static std::size_t node_count(const program&) { return 0; }
#ifdef CORRECTED
  static void for_each_node(const program&, auto&&) {}
#endif
  static void for_each_read(const program&, node, auto&&) {}
  static void for_each_write(const program&, node, auto&&) {}
};

std::string f(const program& p) { return hocket::testing::broken_law(p, hocket::graph_access<program>{}); }
