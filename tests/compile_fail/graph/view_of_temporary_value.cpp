// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// value() of a temporary result is a temporary, whose members that return views are deleted.
// expect: deleted
#include <hocket/graph.hpp>

std::size_t f(const hocket::graph::dag<>& g, const std::vector<hocket::stream_id>& streams) {
#ifdef CORRECTED
  const auto plan = hocket::graph::stream_plan::make(g, streams).value();
  return plan.waits().size();
#else
  return hocket::graph::stream_plan::make(g, streams).value().waits().size();
#endif
}
