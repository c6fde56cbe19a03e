// SPDX-License-Identifier: Apache-2.0
// Nine layers on four ranks: which rank runs which, and what each computes again, so that it fits.
#include <hocket/planner/split/solve.hpp>

#include <cstdio>

int main() {
  using namespace hocket::planner;
  const layer_run layers[] = {{{.time = 57, .weights = 20, .levels = {{44, 0}, {24, 2}, {3, 19}}}, 9}};
  const rank_room ranks[] = {{401, 40, 6}, {401, 0, 0}, {401, 0, 0}, {401, 39, 5}};
  const auto held = in_flight_profile::one_f_one_b(4, 4);
  const auto plan = split({.layers = layers, .ranks = ranks, .in_flight = held, .micro_batches = 4});
  if (!plan) return 1;
  for (const stage_plan& s : plan->stages)
    std::printf("rank %u: layers %lld to %lld, %lld recomputed, %lld bytes unused\n", s.rank,
                static_cast<long long>(s.first_layer), static_cast<long long>(s.first_layer + s.layers - 1),
                static_cast<long long>(s.layers - plan->layers_at(s.rank, 0)),
                static_cast<long long>(plan->ranks[s.rank].unused));
  std::printf("step time %lld, proved: %s\n", static_cast<long long>(plan->step_time), plan->proved ? "yes" : "no");
  return plan->step_time == 1039 && plan->proved ? 0 : 1;
}
