// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A policy that tells reads and writes does not tell successors.
// expect: hocket: no policy tells the successors of a node of this host type. Specialise hocket::graph_access<G> with:
// using node = std::uint32_t; static std::size_t node_count(const G&); static void for_each_successor(const G&, node,
// auto&& f); or pass such a policy as the last argument
#include <hocket/graph/dag.hpp>

struct program {};

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program&) { return 0; }
  static void for_each_read(const program&, node, auto&&) {}
  static void for_each_write(const program&, node, auto&&) {}
#ifdef CORRECTED
  static void for_each_successor(const program&, node, auto&&) {}
#endif
};

bool f(const program& p) { return hocket::graph::dag<>::make(p).has_value(); }
