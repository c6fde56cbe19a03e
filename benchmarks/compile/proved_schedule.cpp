// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a proof in the compiler costs (tools/check_compile_cost.py): a constexpr table of 2,048 actions, and a
// simulation that proves its makespan.
#include <hocket/pipeline/bound.hpp>
#include <hocket/pipeline/run.hpp>
#include <hocket/pipeline/schedules/interleaved.hpp>

#include <cstdint>

namespace {

using namespace hocket::pipeline;

constexpr auto plan = interleaved::make({.ranks = 8, .chunks = 2, .micro_batches = 64}, groups::least_memory()).value();
struct lists {
  action of_rank[8][256];
};
constexpr lists table = [] {
  lists all;
  for (std::uint32_t r = 0; r < 8; ++r)
    for (std::uint32_t i = 0; i < 256; ++i) all.of_rank[r][i] = plan.at(r, i);
  return all;
}();
static_assert(table.of_rank[7][255].kind() == action_kind::backward);

constexpr hocket::ticks makespan = [] {
  constexpr_workspace memory;
  return run(plan, costs{.forward = 1, .backward = 1}, memory).value().makespan;
}();
static_assert(makespan == makespan_bound(shape_of(plan), 1, 1).value());

}  // namespace
