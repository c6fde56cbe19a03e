// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A schedule that PyTorch and Megatron-LM refuse (9 micro-batches on 4 ranks), proved optimal at compile time, run by
// walking a view, and drawn.
#include <hocket/pipeline.hpp>
#include <hocket/timeline.hpp>

#include <cstdio>

using namespace hocket::pipeline;

constexpr auto plan = interleaved::make({.ranks = 4, .chunks = 2, .micro_batches = 9}, groups::least_memory()).value();

constexpr hocket::ticks makespan() {
  constexpr_workspace memory;
  return run(plan, costs{.forward = 1, .backward = 1}, memory).value().makespan;
}
static_assert(makespan() == makespan_bound(shape_of(plan), 1, 1).value());  // no schedule of this shape is shorter
static_assert(plan.peak_in_flight(0) == 8);                                 // and none as short holds less

int main() {
  for (const action a : plan.rank(3))  // what an executor does: no table, no allocation
    std::printf("%s%u.%u ", a.kind() == action_kind::forward ? "F" : "B", a.chunk(), a.micro_batch());
  std::printf("\n");

  hocket::timeline drawn;
  const auto ran = simulate(plan, costs{.forward = 10, .backward = 20, .hop = 1}, {.into = &drawn});
  std::printf("%s", hocket::to_ascii(drawn).c_str());
  std::printf("bubble %.1f %%, at most %.1f %% above any schedule\n", 100 * ran->bubble(),
              100.0 * static_cast<double>(ran->makespan - ran->lower_bound) / static_cast<double>(ran->lower_bound));
  return plan.rank(3).size() == 36 && ran->makespan >= ran->lower_bound ? 0 : 1;
}
