// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The list belongs to a graph that is gone at the end of the expression.
// expect: deleted
#include <hocket/graph/dag.hpp>

std::size_t f(const hocket::graph::dag<>& g) {
#ifdef CORRECTED
  const auto next = g.downstream(0);
#else
  const auto next = hocket::graph::dag<>(g).downstream(0);
#endif
  return next.size();
}
