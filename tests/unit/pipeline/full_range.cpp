// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The whole range that the other tests sample: p <= 16, v <= 8, m <= 5p, every schedule and rule. Hidden, as it takes
// ten seconds with optimisation and minutes without:   test_pipeline "[full]"
#include <hocket/pipeline.hpp>

#include <cstdint>
#include <cstdio>

#include "catch.hpp"

using namespace hocket::pipeline;

namespace {

struct full_range {
  workspace memory;
  std::uint64_t lists = 0, actions = 0;

  /// Complete, free of deadlock, its peaks by their formula, at(step_of(a)) == a, walk == random access.
  template <class Plan>
  bool holds(const Plan& plan, costs times, hocket::ticks makespan) {
    const auto ran = run(plan, times, memory);
    if (!ran || (makespan >= 0 && ran->makespan != makespan) || ran->lower_bound > ran->makespan) return false;
    for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
      if (memory.lanes[r].report.peak_in_flight != plan.peak_in_flight(r)) return false;
      std::uint32_t i = 0;
      for (const auto a : plan.rank(r)) {
        if (a != plan.at(r, i) || plan.step_of(r, a) != i) return false;
        ++i;
      }
      if (i != plan.size(r)) return false;
      ++lists;
      actions += i;
    }
    return true;
  }
};

}  // namespace

TEST_CASE("every schedule over the whole range of shapes", "[.][full]") {
  full_range proof;
  for (std::int64_t p = 1; p <= 16; ++p) {
    for (std::int64_t m = 1; m <= 5 * p; ++m) {
      INFO("p " << p << " m " << m);
      for (std::int64_t v = 1; v <= 8; ++v) {
        const shape s{p, v, m};
        const auto bound = makespan_bound(s, 1, 2).value();
        INFO("v " << v);
        for (const auto rule : {groups::balanced(), groups::last(), groups::first()})
          for (const std::uint32_t kappa : {1u, 2u})
            REQUIRE(proof.holds(interleaved::make(s, rule, {.kappa = kappa}).value(), costs{}, bound));
        REQUIRE(proof.holds(interleaved::make(s, groups::least_memory(1, 2)).value(), costs{}, bound));
        REQUIRE(proof.holds(interleaved::make(s, groups::least_memory(1, 1)).value(), costs{1, 1},
                            makespan_bound(s, 1, 1).value()));
        const auto zb = zero_bubble::make_interleaved(s).value();
        REQUIRE(proof.holds(zb, costs{}, m >= p ? split_makespan_bound(s, 1, 1, 1).value() : -1));
        REQUIRE(proof.holds(gpipe::make_looped_bfs(s).value(), costs{}, -1));
      }
      const shape one{p, 1, m};
      const auto whole = makespan_bound(one, 1, 2).value(), split = split_makespan_bound(one, 1, 1, 1).value();
      for (const std::uint32_t kappa : {1u, 2u})
        REQUIRE(proof.holds(one_f_one_b::make(one, kappa).value(), costs{}, whole));
      REQUIRE(proof.holds(gpipe::make(one).value(), costs{}, whole));
      REQUIRE(proof.holds(zero_bubble::make_h1(one).value(), costs{}, m >= p ? split : -1));
      REQUIRE(proof.holds(zero_bubble::make_h2(one).value(), costs{}, m >= 2 * p - 1 ? split : -1));
      const auto v_split = split_makespan_bound({p, 2, m}, 1, 1, 1).value();
      REQUIRE(proof.holds(zbv::make({p, 2, m}).value(), costs{},
                          m >= 2 * p - 1 || v_split > 4 * m + 4 * p - 2 ? v_split : 4 * m + 4 * p - 2));
      for (const std::int64_t slices : {2, 3})
        REQUIRE(
            proof.holds(seq_1f1b::make(one, slices).value(), costs{}, m * slices >= p ? 3 * (p - 1 + m * slices) : -1));
      if (m < 2 * p) continue;
      REQUIRE(proof.holds(dual_pipe_v::make({p, 2, m}).value(), costs{}, 6 * m + 2 * (p - 1)));
      if (p % 2 == 0 && m % 2 == 0) REQUIRE(proof.holds(dual_pipe::make(one).value(), costs{}, 3 * m + p - 2));
    }
    std::printf("p <= %2d: %llu lists, %llu actions\n", static_cast<int>(p),
                static_cast<unsigned long long>(proof.lists), static_cast<unsigned long long>(proof.actions));
    std::fflush(stdout);
  }
}
