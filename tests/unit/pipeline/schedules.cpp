// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every closed form against a simulation, for every shape in a range: complete, free of deadlock, as short as the
// proved bound, as lean as its formula, and equal to its own inverse.
#include <hocket/pipeline.hpp>

#include <vector>

#include "catch.hpp"

using namespace hocket::pipeline;

namespace {

/// Each list holds every forward and backward of its rank exactly once, where step_of says.
template <class Plan>
bool complete_and_inverse(const Plan& plan) {
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    const auto list = plan.rank(r);
    if (list.size() != 2u * plan.chunks() * plan.micro_batches()) return false;
    for (std::uint32_t c = 0; c < plan.chunks(); ++c)
      for (std::uint32_t j = 0; j < plan.micro_batches(); ++j)
        for (const action_kind kind : {action_kind::forward, action_kind::backward}) {
          const action a(kind, c, j);
          const std::size_t i = list.step_of(a);
          if (i >= list.size() || list[i] != a) return false;  // 2mv actions in 2mv steps: a bijection
        }
  }
  return true;
}

/// Runs it; true if the makespan is the bound and every rank's peak is the formula's.
template <class Plan>
bool optimal(const Plan& plan, costs c, workspace& memory) {
  const auto ran = run(plan, c, memory);
  if (!ran) return false;
  const auto bound = makespan_bound(shape_of(plan), c.forward, c.backward.whole).value();
  if (ran->makespan != bound || ran->lower_bound != bound) return false;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r)
    if (memory.lanes[r].report.peak_in_flight != plan.peak_in_flight(r)) return false;
  return true;
}

}  // namespace

TEST_CASE("interleaved reaches the bound for every shape and rule", "[pipeline]") {
  workspace memory;
  int shapes = 0;
  for (std::int64_t p = 1; p <= 16; ++p)
    for (std::int64_t v = 1; v <= 8; ++v)
      for (std::int64_t m = 1; m <= 5 * p; ++m) {
        if (p > 6 && v > 3 && (p * 31 + v * 17 + m * 7) % 23 != 0) continue;  // thinned: the whole range takes a minute
        for (const auto rule : {groups::balanced(), groups::last(), groups::first(), groups::least_memory(1, 2)})
          for (const std::uint32_t kappa : {1u, 2u}) {
            const auto plan = interleaved::make({p, v, m}, rule, {.kappa = kappa});
            if (rule.kind() == groups::rule::least_memory && kappa == 2) {
              CHECK_FALSE(plan.has_value());
              continue;
            }
            ++shapes;
            INFO("p " << p << " v " << v << " m " << m << " rule " << int(rule.kind()) << " kappa " << kappa);
            REQUIRE(plan.has_value());
            REQUIRE(optimal(*plan, {.forward = 1, .backward = 2}, memory));
            REQUIRE(outlook_of(*plan) == interleaved_outlook::optimal);
            if (p <= 6 || m % 5 == 0) REQUIRE(complete_and_inverse(*plan));
          }
      }
  CHECK(shapes > 10'000);
}

TEST_CASE("least memory: v p - r activations at every ratio of the times", "[pipeline]") {
  workspace memory;
  const costs ratios[] = {{1, 1}, {1, 2}, {2, 1}, {2, 3}, {1, 3}, {3, 1}, {5, 7}, {1, 10}};
  for (std::int64_t p = 1; p <= 10; ++p)
    for (std::int64_t v = 1; v <= 5; ++v)
      for (std::int64_t m = 1; m <= 4 * p; ++m) {
        const costs c = ratios[static_cast<std::size_t>(p * 7 + v * 3 + m) % 8];
        for (const costs used : {c, costs{1, 1}}) {
          const auto plan =
              interleaved::make({p, v, m}, groups::least_memory(used.forward, used.backward.whole)).value();
          INFO("p " << p << " v " << v << " m " << m << " f " << used.forward << " b " << used.backward.whole);
          REQUIRE(optimal(plan, used, memory));
          for (std::int64_t r = 0; r < p; ++r) {
            const std::int64_t least = m >= p ? v * p - r : (v - 1) * m + p - r < m * v ? (v - 1) * m + p - r : m * v;
            REQUIRE(plan.peak_in_flight(static_cast<std::uint32_t>(r)) == least);
            REQUIRE(capped_makespan_bound({p, v, m}, 1, 1, r, least).value() ==
                    makespan_bound({p, v, m}, 1, 1).value());
            if (least > 1)  // one less is proved to cost time
              REQUIRE(capped_makespan_bound({p, v, m}, 1, 1, r, least - 1).value() >
                      makespan_bound({p, v, m}, 1, 1).value());
          }
          REQUIRE(complete_and_inverse(plan));
          // Built for one ratio and run at another it may be longer, but it runs.
          REQUIRE(run(plan, costs{3, 1}, memory).has_value());
          REQUIRE(run(plan, costs{1, 9}, memory).has_value());
        }
      }
}

TEST_CASE("the paper's order: what it says in O(1) is what the simulation finds", "[pipeline]") {
  workspace memory;
  int deadlocks = 0;
  for (std::int64_t p = 1; p <= 12; ++p)
    for (std::int64_t v = 1; v <= 5; ++v)
      for (std::int64_t m = 1; m <= 4 * p; ++m)
        for (const std::uint32_t kappa : {1u, 2u})
          for (const std::uint32_t extra : {0u, 1u}) {
            const auto plan = interleaved::make({p, v, m}, groups::paper(), {.kappa = kappa, .extra = extra}).value();
            const auto ran = run(plan, costs{1, 1}, memory);
            const auto bound = makespan_bound({p, v, m}, 1, 1).value();
            auto found = interleaved_outlook::deadlocks;
            if (ran) found = ran->makespan == bound ? interleaved_outlook::optimal : interleaved_outlook::runs;
            else REQUIRE(ran.error().code == hocket::errc::deadlock);
            deadlocks += !ran;
            INFO("p " << p << " v " << v << " m " << m << " kappa " << kappa << " extra " << extra);
            REQUIRE(outlook_of(plan) == found);
            REQUIRE(complete_and_inverse(plan));
          }
  CHECK(deadlocks > 900);
}

TEST_CASE("lists of groups: every composition of m", "[pipeline]") {
  workspace memory;
  for (std::int64_t p = 1; p <= 4; ++p)
    for (std::int64_t v = 1; v <= 3; ++v)
      for (std::uint32_t m = 1; m <= 10; ++m)
        for (std::uint32_t cuts = 0; cuts < 1u << (m - 1); ++cuts) {  // bit j: a group ends after micro-batch j
          std::vector<std::uint32_t> sizes(1);
          for (std::uint32_t j = 1; j <= m; ++j) {
            ++sizes.back();
            if (j < m && (cuts >> (j - 1) & 1u) != 0) sizes.push_back(0);
          }
          const group_sizes owned(sizes);
          const auto plan = interleaved::make({p, v, m}, groups::list(owned)).value();
          if (outlook_of(plan) == interleaved_outlook::unknown) continue;
          INFO("p " << p << " v " << v << " m " << m << " cuts " << cuts);
          REQUIRE(optimal(plan, {1, 1}, memory));
          if (cuts % 5 == 0) REQUIRE(complete_and_inverse(plan));
        }
  const group_sizes short_of{4, 4}, empty{4, 0, 5}, none, huge{0xffff'ffff, 10};
  CHECK(interleaved::make({4, 2, 9}, groups::list(short_of)).error().code == hocket::errc::bad_groups);
  CHECK(interleaved::make({4, 2, 9}, groups::list(empty)).error().code == hocket::errc::invalid_argument);
  CHECK(interleaved::make({4, 2, 9}, groups::list(none)).error().code == hocket::errc::bad_groups);
  CHECK(interleaved::make({4, 2, 9}, groups::list(huge)).error().code == hocket::errc::bad_groups);
}

TEST_CASE("the rules agree where p divides m, and with lists where they differ", "[pipeline]") {
  for (const auto rule : {groups::last(), groups::first(), groups::paper()})
    CHECK(fingerprint_of(interleaved::make({4, 3, 12}, rule).value()) ==
          fingerprint_of(interleaved::make({4, 3, 12}).value()));
  CHECK(fingerprint_of(interleaved::make({4, 3, 12}, groups::least_memory()).value()) ==
        fingerprint_of(interleaved::make({4, 3, 12}, groups::balanced(), {.kappa = 1}).value()));
  const auto same = [](groups rule, const group_sizes& sizes) {
    return fingerprint_of(interleaved::make({4, 3, 14}, rule).value()) ==
           fingerprint_of(interleaved::make({4, 3, 14}, groups::list(sizes)).value());
  };
  CHECK(same(groups::balanced(), {5, 5, 4}));
  CHECK(same(groups::last(), {4, 4, 6}));
  CHECK(same(groups::first(), {6, 4, 4}));
  CHECK(same(groups::paper(), {4, 4, 4, 2}));
  CHECK_FALSE(same(groups::paper(), {4, 4, 6}));
}

TEST_CASE("1f1b, eager 1f1b and gpipe", "[pipeline]") {
  workspace memory;
  for (std::int64_t p = 1; p <= 16; ++p)
    for (std::int64_t m = 1; m <= 5 * p; ++m) {
      for (const std::uint32_t kappa : {1u, 2u}) {
        const auto plan = one_f_one_b::make({.ranks = p, .micro_batches = m}, kappa).value();
        REQUIRE(optimal(plan, {2, 3}, memory));
        REQUIRE(complete_and_inverse(plan));
        for (std::int64_t r = 0; r < p; ++r) {
          const std::int64_t ahead = kappa * (p - 1 - r) + 1;
          REQUIRE(plan.peak_in_flight(static_cast<std::uint32_t>(r)) == (m < ahead ? m : ahead));
        }
      }
      const auto all = gpipe::make({.ranks = p, .micro_batches = m}).value();
      REQUIRE(optimal(all, {2, 3}, memory));
      REQUIRE(complete_and_inverse(all));
      for (std::int64_t v = 1; v <= 4; ++v) {
        const auto bfs = gpipe::make_looped_bfs({p, v, m}).value();
        REQUIRE(run(bfs, costs{1, 2}, memory).has_value());
        REQUIRE(complete_and_inverse(bfs));
      }
    }
  CHECK(one_f_one_b::make({.ranks = 4, .chunks = 2, .micro_batches = 4}).error().code == hocket::errc::bad_shape);
  CHECK(one_f_one_b::make({.ranks = 4, .micro_batches = 4}, 3).error().code == hocket::errc::out_of_range);
  CHECK(gpipe::make({.ranks = 4, .chunks = 2, .micro_batches = 4}).error().code == hocket::errc::bad_shape);
}

TEST_CASE("large shapes stay exact", "[pipeline]") {
  const auto plan = interleaved::make({.ranks = 1'024, .chunks = 64, .micro_batches = 2'097'152}).value();
  const auto list = plan.rank(1'023);
  CHECK(list.size() == 268'435'456);
  for (const std::size_t i : {std::size_t{0}, std::size_t{123'456'789}, list.size() - 1})
    CHECK(list.step_of(list[i]) == i);
  CHECK(list.back() == action(action_kind::backward, 0, 2'097'151));
}
