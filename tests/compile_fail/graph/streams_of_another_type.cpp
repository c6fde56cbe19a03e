// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plan was said to lack a policy, where the numbers have the wrong type.
// expect: hocket: the streams of a plan are hocket::stream_id (std::uint32_t), one per op and in one piece
#include <hocket/graph.hpp>

#include <vector>

bool f(const hocket::graph::dag<>& g) {
#ifdef CORRECTED
  const std::vector<hocket::stream_id> streams(3);
#else
  const std::vector<int> streams(3);
#endif
  return hocket::graph::stream_plan::make(g, streams).has_value();
}
