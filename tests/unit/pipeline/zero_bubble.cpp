// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/pipeline.hpp>

#include "catch.hpp"

using namespace hocket::pipeline;

namespace {

/// Complete, and equal to its own inverse: 3mv different steps for 3mv actions.
bool complete_and_inverse(const zero_bubble& plan) {
  if (!check(plan)) return false;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r)
    for (std::uint32_t i = 0; i < plan.size(r); ++i)
      if (plan.step_of(r, plan.at(r, i)) != i) return false;
  return true;
}

}  // namespace

TEST_CASE("zero-bubble schedules reach the bound of split backwards", "[pipeline]") {
  workspace memory;
  for (std::int64_t p = 1; p <= 9; ++p)
    for (std::int64_t v = 1; v <= 4; ++v)
      for (std::int64_t m = 1; m <= 4 * p; ++m)
        for (int kind = 0; kind < (v == 1 ? 3 : 1); ++kind) {
          const shape s{p, v, m};
          const auto plan = (kind == 0   ? zero_bubble::make_interleaved(s)
                             : kind == 1 ? zero_bubble::make_h1(s)
                                         : zero_bubble::make_h2(s))
                                .value();
          INFO("p " << p << " v " << v << " m " << m << " kind " << kind);
          REQUIRE(complete_and_inverse(plan));
          const auto ran = run(plan, costs{}, memory);
          REQUIRE(ran.has_value());
          const auto bound = split_makespan_bound(s, 1, 1, 1).value();
          REQUIRE(ran->makespan >= bound);
          if (m >= (kind == 2 ? 2 * p - 1 : p)) REQUIRE(ran->makespan == bound);
          for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
            REQUIRE(memory.lanes[r].report.peak_in_flight == plan.peak_in_flight(r));
            // ZB-H2: no idle time between the first and the last action of a rank
            if (kind == 2 && m >= 2 * p - 1) REQUIRE(memory.lanes[r].report.finish - memory.lanes[r].report.busy == r);
            if (kind == 1 && m >= p) REQUIRE(plan.peak_in_flight(r) == p);
            if (kind == 2 && m >= 2 * p - 1) REQUIRE(plan.peak_in_flight(r) == 2 * p - 1);
          }
        }
  CHECK(zero_bubble::make_h1({.ranks = 2, .chunks = 2, .micro_batches = 4}).error().code == hocket::errc::bad_shape);
}
