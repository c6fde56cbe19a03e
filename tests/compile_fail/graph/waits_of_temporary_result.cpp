// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The waits belong to a plan that is gone when they are read.
// expect: hocket: -> on a result that is a temporary
#include <hocket/graph.hpp>

std::size_t f(const hocket::graph::dag<>& g, const std::vector<hocket::stream_id>& streams) {
#ifdef CORRECTED
  const auto plan = hocket::graph::stream_plan::make(g, streams);
  const auto waits = plan->waits();
#else
  const auto waits = hocket::graph::stream_plan::make(g, streams)->waits();
#endif
  return waits.size();
}
