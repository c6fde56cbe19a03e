// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/planner/split/solve.hpp>

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
  return plan && plan->step_time == 1039ms && plan->proved ? 0 : 1;
}
