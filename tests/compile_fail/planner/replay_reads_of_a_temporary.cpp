// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: deleted
// The list of an op's values is that of the graph: a temporary graph would be gone.
#include <hocket/planner/replay_graph.hpp>

#include <utility>

inline auto reads(hocket::planner::replay_graph& g) {
#ifdef CORRECTED
  return g.reads(0);
#else
  return std::move(g).reads(0);
#endif
}
