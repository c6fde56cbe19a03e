// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nine layers on four ranks: which rank runs which, and what each computes again, so that it fits.
#include <hocket/planner/split/solve.hpp>

#include <cstdio>

int main() {
  using namespace hocket::planner;
  using namespace hocket::literals;
  using namespace std::chrono_literals;
  const level_list levels{{44_MiB, 0ms}, {24_MiB, 2ms}, {3_MiB, 19ms}};
  const split_problem problem{.layers = {{{.time = 57ms, .weights = 20_MiB, .levels = levels}, 9}},
                              .ranks = {{401_MiB, 40_MiB, 6ms}, {401_MiB}, {401_MiB}, {401_MiB, 39_MiB, 5ms}},
                              .in_flight = in_flight_profile::make_one_f_one_b(4, 4).value(),
                              .micro_batches = 4};
  const auto plan = solve(problem);
  if (!plan) return 1;
  for (const split_stage& s : plan->stages)
    std::printf("rank %u: layers %lld to %lld, %lld recomputed, %lld bytes unused\n", s.rank,
                static_cast<long long>(s.first_layer), static_cast<long long>(s.first_layer + s.layers - 1),
                static_cast<long long>(s.layers - plan->layers_at(s.rank, 0)),
                static_cast<long long>(plan->ranks[s.rank].unused.count()));
  std::printf("step time %lld ms, proved: %s\n", static_cast<long long>(plan->step_time / 1ms),
              plan->proved ? "yes" : "no");
  return plan->step_time == 1039ms && plan->proved ? 0 : 1;
}
