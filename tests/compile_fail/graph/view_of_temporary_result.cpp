// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The graph ends with the expression, before the loop begins.
// expect: hocket: -> on a result that is a temporary
#include <hocket/graph.hpp>

struct program {};

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program&) { return 2; }
  static void for_each_read(const program&, node, auto&&) {}
  static void for_each_write(const program&, node, auto&&) {}
};

std::size_t f(const program& p) {
  std::size_t sum = 0;
#ifdef CORRECTED
  const auto deps = hocket::graph::dependencies(p);
  for (const hocket::node_id x : deps->downstream(0)) sum += x;
#else
  for (const hocket::node_id x : hocket::graph::dependencies(p)->downstream(0)) sum += x;
#endif
  return sum;
}
