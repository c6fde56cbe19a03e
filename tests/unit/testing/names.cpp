// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every enumerator that a user may print has its name.
#include <hocket/cost.hpp>
#include <hocket/graph/edge_kinds.hpp>
#include <hocket/launch/backends/host_report.hpp>
#include <hocket/launch/device_probe.hpp>
#include <hocket/planner/split/problem.hpp>
#include <hocket/tiling/plan.hpp>
#include <hocket/tiling/problem.hpp>

#include <initializer_list>
#include <string_view>

#include "catch.hpp"

namespace {

// The names of the enumerators from 0 on.
template <class Enumeration>
void check_names(std::initializer_list<std::string_view> names) {
  int number = 0;
  for (const std::string_view name : names) CHECK(to_string(static_cast<Enumeration>(number++)) == name);
}

}  // namespace

TEST_CASE("enumerators are printed by their names", "[testing]") {
  using namespace hocket;
  check_names<graph::edge_kind>({"data", "control", "lifetime"});
  check_names<tiling::phase_kind>({"compute", "comm"});
  check_names<tiling::bound_kind>({"none", "envelope", "proved"});
  check_names<planner::objective>({"step_time", "slowest_rank"});
  check_names<cost::context_exchange>({"p2p", "all_gather", "a2a"});
  check_names<cost::attention_count>({"full", "causal_half", "causal_exact", "window"});
  check_names<cost::recompute_count>({"exact", "korthikanti"});
  check_names<cost::linear_count>({"recurrent", "chunked"});
  check_names<cost::origin>({"definition", "published", "derived", "estimated"});
  check_names<cost::collective>({"none", "all_reduce", "reduce_scatter", "all_gather", "all_to_all", "send"});
  check_names<cost::axis>({"tensor", "context", "expert", "pipeline", "data"});
  check_names<launch::host_status>(
      {"ok", "an op returned a failure code", "an op threw an exception", "wait on an event that was never recorded",
       "out of memory: nothing was enqueued", "cancelled: ops that had not begun were skipped",
       "the process was forked: the streams have no threads in the child", "unknown status"});
  check_names<launch::device_state>(
      {"ready", "no driver", "the driver is older than the runtime", "the driver is a stub, good for linking only",
       "no device", "the runtime is not initialised", "the runtime reports another error", "unknown state"});
}
