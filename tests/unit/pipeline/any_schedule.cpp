// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/core/message.hpp>
#include <hocket/pipeline/any_schedule.hpp>
#include <hocket/pipeline/bound.hpp>
#include <hocket/pipeline/check.hpp>

#include <algorithm>
#include <string>
#include <type_traits>

#include "catch.hpp"

using namespace hocket::pipeline;
using hocket::errc;

namespace {

std::string schedule_complaint(std::string_view name, const shape& s, const any_schedule_options& o = {}) {
  const auto plan = any_schedule::make(name, s, o);
  return plan ? "" : message(plan.error());
}

/// What docs/pipeline.md shows: a schedule is one struct. No optional member, so that the general ways are tested.
struct plain_1f1b {
  one_f_one_b inside;
  std::uint32_t ranks() const { return inside.ranks(); }
  std::uint32_t chunks() const { return 1; }
  std::uint32_t micro_batches() const { return inside.micro_batches(); }
  std::uint32_t size(std::uint32_t rank) const { return inside.size(rank); }
  action at(std::uint32_t rank, std::uint32_t step) const { return inside.at(rank, step); }
  loop_placement placement() const { return inside.placement(); }
};

}  // namespace

TEST_CASE("every schedule by its name", "[pipeline]") {
  workspace room;
  for (const std::string_view name : schedule_names)
    for (const std::int64_t m : {8, 12}) {
      const shape s{4, default_chunks(name), m};
      const std::int64_t slices = name == "seq-1f1b" ? 2 : 1;
      const auto made = any_schedule::make(name, s, {.slices = slices});
      INFO(name << " m " << m);
      REQUIRE(made.has_value());
      const any_schedule plan = *made;  // a copy
      CHECK(plan.name() == name);
      CHECK(plan.ranks() == 4);
      CHECK(plan.micro_batches() * plan.directions() == m);
      CHECK(plan.slices() == slices);
      REQUIRE(check(plan).has_value());
      REQUIRE(run(plan, costs{}, room).has_value());
      const std::uint64_t print = plan.visit([](const auto& inside) { return fingerprint_of(inside); });
      CHECK(fingerprint_of(plan) == print);
      for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
        CHECK(room.lanes[r].report.peak_in_flight == plan.peak_in_flight(r));
        CHECK(plan.counts(r).size() == plan.size(r));
        for (std::uint32_t i = 0; i < plan.size(r); ++i) REQUIRE(plan.step_of(r, plan.at(r, i)) == i);
        CHECK(plan.step_of(r, {action_kind::forward, 65'000, 0}) == plan.size(r));
        CHECK(plan.step_of(r, {action_kind::unshard, r, 0}) == plan.size(r));
      }
    }
  STATIC_REQUIRE(sizeof(any_schedule) <= 128);
}

TEST_CASE("a schedule by name says what is wrong", "[pipeline]") {
  CHECK(schedule_complaint("zb-v", {4, 1, 8}).find("there is no schedule \"zb-v\"; known are gpipe, 1f1b") == 0);
  CHECK(schedule_complaint("1f1b", {4, 1, 8}, {.kappa = 1}) == "this schedule has no kappa");
  CHECK(schedule_complaint("zbv", {4, 2, 8}, {.slices = 2}) == "this schedule has no slices");
  CHECK(schedule_complaint("zbv", {4, 2, 8}, {.groups = "last"}) == "this schedule has no groups");
  CHECK(schedule_complaint("gpipe", {4, 1, 8}, {.extra = 1}) == "this schedule has no extra");
  CHECK(schedule_complaint("gpipe", {4, 1, 8}, {.memory_cap = 1}) == "this schedule has no memory cap");
  CHECK(schedule_complaint("interleaved", {4, 2, 8}, {.slices = 2}) == "this schedule has no slices");
  CHECK(schedule_complaint("interleaved", {4, 2, 8}, {.groups = "lost"}).find("groups \"lost\": expected balanced") ==
        0);
  for (const char* list : {"", ",", "4,", ",4", "4,,4", "0,8", "4 4", "-8", "99999999999999999999", "2097153"})
    CHECK(any_schedule::make("interleaved", {4, 2, 8}, {.groups = list}).error().code == errc::unknown_groups);
  CHECK(any_schedule::make("interleaved", {4, 2, 8}, {.groups = "2097152"}).error().code == errc::bad_groups);
  CHECK((groups::capped(5).forward() == 1 && groups::capped(5).backward() == 1));
  CHECK(schedule_complaint("interleaved", {4, 2, 9}, {.groups = "4,4"}) ==
        "the micro-batch groups add up to 8, but there are 9 micro-batches");
  CHECK(schedule_complaint("interleaved", {4, 2, 9}, {.kappa = 3}) == "kappa is 3, but must lie in [1, 2]");
  CHECK(schedule_complaint("seq-1f1b", {4, 1, 9}, {.slices = 0}) == "slices is 0, but must lie in [1, 65536]");
  CHECK(schedule_complaint("zbv", {4, 1, 8}) ==
        "a pipeline of 4 ranks, 1 chunks and 8 micro-batches is not possible: zbv has two chunks");
}

TEST_CASE("explicit groups live as long as the schedule", "[pipeline]") {
  any_schedule plan = any_schedule::make("interleaved", {4, 3, 14}, {.groups = "5,5,4"}).value();
  const any_schedule copy = plan;
  plan = any_schedule::make("gpipe", {1, 1, 1}).value();
  CHECK(fingerprint_of(copy) == fingerprint_of(interleaved::make({4, 3, 14}).value()));
  CHECK(outlook_of(*any_schedule::make("interleaved", {8, 2, 19}, {.groups = "paper"})) ==
        interleaved_outlook::deadlocks);
}

TEST_CASE("groups auto: the fastest within the cap", "[pipeline]") {
  workspace room;
  const std::string_view rules[] = {"balanced", "last", "first", "least-memory"};
  for (std::int64_t p = 2; p <= 6; ++p)
    for (const std::int64_t v : {1, 2, 3})
      for (std::int64_t m = 1; m <= 3 * p + 1; m += 2)
        for (const hocket::ticks hop : {0, 1, 5})
          for (const std::int64_t cap : {std::int64_t{0}, v * p, v * p + p - 1}) {
            const costs c{.forward = 10, .backward = 20, .hop = hop};
            const auto plan =
                any_schedule::make("interleaved", {p, v, m}, {.groups = "auto", .memory_cap = cap, .times = c});
            INFO("p " << p << " v " << v << " m " << m << " hop " << hop << " cap " << cap);
            REQUIRE(plan.has_value());
            if (cap != 0) REQUIRE(plan->peak_in_flight(0) <= cap);
            const auto chosen = run(*plan, c, room)->makespan;
            for (const auto rule : rules)
              for (const std::uint32_t kappa : {1u, 2u}) {
                const auto other = any_schedule::make("interleaved", {p, v, m},
                                                      {.groups = std::string(rule), .kappa = kappa, .times = c});
                if (!other || (cap != 0 && other->peak_in_flight(0) > cap)) continue;
                const hocket::ticks makespan = run(*other, c, room)->makespan;
                REQUIRE(chosen <= makespan);
                if (chosen == makespan) REQUIRE(plan->peak_in_flight(0) <= other->peak_in_flight(0));
                other->visit([&](const auto& inside) {  // what rules candidates out
                  if constexpr (std::is_same_v<decltype(inside), const interleaved&>)
                    REQUIRE(detail::least_with_hops(inside, c) <= makespan);
                });
              }
          }
  const auto tight = choose_groups({4, 4, 16}, {.forward = 1, .backward = 1}, 12).value();
  CHECK(tight.plan.peak_in_flight(0) == 12);
  CHECK(tight.cut.kind() == groups::rule::capped);
  CHECK(choose_groups({4, 4, 16}, {}, 3).error().code == errc::out_of_range);
  // Without time for transfers the bound stands for the simulation.
  for (const shape& s : {shape{4, 2, 9}, shape{8, 2, 19}, shape{3, 3, 2}, shape{1, 4, 5}, shape{5, 3, 20}}) {
    const costs c{.forward = 2, .backward = 3};
    const auto chosen = choose_groups(s, c).value();
    CHECK(run(chosen.plan, c, room).value().makespan == chosen.makespan);
    CHECK(chosen.makespan == makespan_bound(s, 2, 3).value());
    CHECK(std::int64_t{chosen.plan.peak_in_flight(0)} == (std::min)(s.stages(), s.chunks * s.micro_batches));
  }
  CHECK(choose_groups({1'024, 8, 4'096}, {}).value().micro_batches == 4'096);  // at once
  CHECK(choose_groups({1'024, 8, 4'096}, {.forward = 10, .backward = 20, .hop = 1}).value().makespan ==
        8'191 * (30 + 2) + (4'096 * 8 - 7 * 1'024) * 30);  // as well
  const auto large = choose_groups({16, 4, 1'000'000}, {.forward = 10, .backward = 20, .hop = 1}).value();
  CHECK(large.micro_batches < 20'000);
  CHECK(large.plan.micro_batches() == 1'000'000);
}

TEST_CASE("groups auto at any times: no way to cut is faster, and of the fastest none holds less", "[pipeline]") {
  workspace room;
  const costs times[] = {{0, 0}, {0, 3, 1}, {3, 0, 2}, {1, 1, 4}, {3, 1, 10}, {1, 1, 40}};
  int kappas[3] = {0, 0, 0};
  for (std::int64_t p = 1; p <= 5; ++p)
    for (std::int64_t v = 1; v <= 3; ++v)
      for (std::int64_t m = 1; m <= 3 * p + 2; ++m)
        for (const costs& c : times) {
          INFO("p " << p << " v " << v << " m " << m << " f " << c.forward << " hop " << c.hop);
          const auto chosen = choose_groups({p, v, m}, c).value();
          REQUIRE(run(chosen.plan, c, room)->makespan == chosen.makespan);
          ++kappas[chosen.kappa];
          const hocket::ticks f = (std::max)(c.forward, hocket::ticks{1}),
                              b = (std::max)(c.backward.whole, hocket::ticks{1});
          for (const groups& cut : {groups::balanced(), groups::last(), groups::first(), groups::least_memory(f, b)})
            for (const std::uint32_t kappa : {1u, 2u}) {
              const auto other = interleaved::make({p, v, m}, cut, {.kappa = kappa});
              if (!other) continue;
              const hocket::ticks makespan = run(*other, c, room)->makespan;
              REQUIRE(chosen.makespan <= makespan);
              if (chosen.makespan == makespan) REQUIRE(chosen.plan.peak_in_flight(0) <= other->peak_in_flight(0));
            }
        }
  CHECK(kappas[1] > 100);
  CHECK(kappas[2] > 100);
}

TEST_CASE("groups of p hide transfers no longer than a forward or a backward, in a time that is known", "[pipeline]") {
  workspace room;
  int known = 0;
  for (std::int64_t p = 1; p <= 8; ++p)
    for (std::int64_t v = 1; v <= 4; ++v)
      for (std::int64_t m = 1; m <= 4 * p; ++m)
        for (const hocket::ticks f : {1, 2, 5})
          for (const hocket::ticks b : {1, 3, 5})
            for (hocket::ticks hop = 0; hop <= 6; ++hop) {
              const costs c{.forward = f, .backward = b, .hop = hop};
              const auto plan = interleaved::make({p, v, m}).value();
              const hocket::ticks makespan = run(plan, c, room)->makespan;
              REQUIRE(detail::least_with_hops(plan, c) <= makespan);
              if (!detail::reaches_least_with_hops(plan, c)) continue;
              REQUIRE(detail::least_with_hops(plan, c) == makespan);
              known += hop > 0 ? 1 : 0;
            }
  CHECK(known > 1'000);
  // The sizes count, not how they were asked for.
  const group_sizes threes{3, 3, 3, 3}, sixes{6, 6};
  const costs c{.forward = 2, .backward = 3, .hop = 1};
  const auto same = interleaved::make({3, 2, 12}, groups::list(threes)).value();
  CHECK(detail::reaches_least_with_hops(same, c));
  CHECK(run(same, c, room)->makespan == detail::least_with_hops(same, c));
  CHECK(!detail::reaches_least_with_hops(interleaved::make({3, 2, 12}, groups::list(sixes)).value(), c));
}

TEST_CASE("what transfers cost at the least is as near to a run as it was", "[pipeline]") {
  workspace room;
  int met = 0;
  hocket::ticks short_of = 0;
  for (std::int64_t p = 1; p <= 6; ++p)
    for (std::int64_t v = 1; v <= 3; ++v)
      for (std::int64_t m = 1; m <= 3 * p; ++m)
        for (const std::uint32_t kappa : {1u, 2u})
          for (const hocket::ticks hop : {1, 4, 9}) {
            const costs c{.forward = 2, .backward = 3, .hop = hop};
            const auto plan = interleaved::make({p, v, m}, groups::balanced(), {.kappa = kappa}).value();
            const hocket::ticks gap = run(plan, c, room)->makespan - detail::least_with_hops(plan, c);
            REQUIRE(gap >= 0);
            met += gap == 0 ? 1 : 0;
            short_of += gap;
          }
  INFO(met << " met, " << short_of << " short");
  CHECK(met >= 410);
  CHECK(short_of <= 37'670);
}

TEST_CASE("groups are even if all have one size", "[pipeline]") {
  for (std::int64_t p = 1; p <= 5; ++p)
    for (std::int64_t m = 1; m <= 4 * p + 2; ++m) {
      const std::int64_t whole = m / p, rest = m % p;
      const auto is_even = [&](const groups& cut) {
        return order_of(interleaved::make({p, 2, m}, cut).value()).even_groups();
      };
      INFO("p " << p << " m " << m);
      const bool one_group = m <= p;
      CHECK(is_even(groups::balanced()) == (one_group || m % whole == 0));
      CHECK(is_even(groups::last()) == (one_group || whole == 1 || rest == 0));
      CHECK(is_even(groups::first()) == (one_group || whole == 1 || rest == 0));
      CHECK(is_even(groups::paper()) == (one_group || rest == 0));
    }
}

TEST_CASE("below v p activations every one costs a beat, and the lists reach that bound", "[pipeline]") {
  workspace room;
  const costs ratios[] = {{1, 1}, {1, 2}, {2, 1}, {5, 7}};
  int met = 0;
  for (std::int64_t p = 1; p <= 7; ++p)
    for (std::int64_t v = 1; v <= 4; ++v)
      for (std::int64_t m = 1; m <= 4 * p + 1; ++m)
        for (std::int64_t cap = 1; cap <= v * p + 1; ++cap) {
          const costs& c = ratios[static_cast<std::size_t>(p + v * 3 + m * 5 + cap) % 4];
          const auto plan = interleaved::make({p, v, m}, groups::capped(cap, c.forward, c.backward.whole));
          INFO("p " << p << " v " << v << " m " << m << " cap " << cap << " f " << c.forward << " b "
                    << c.backward.whole);
          if (!plan) {  // and the lowest cap that it names is possible
            REQUIRE(plan.error().code == errc::out_of_range);
            const std::int64_t least = plan.error().values[1];
            REQUIRE(least > cap);
            REQUIRE(least <= v * m);  // all that there is
            REQUIRE(interleaved::make({p, v, m}, groups::capped(least, c.forward, c.backward.whole)).has_value());
            continue;
          }
          ++met;
          const auto ran = run(*plan, c, room);
          REQUIRE(ran.has_value());
          for (std::uint32_t r = 0; r < plan->ranks(); ++r)
            REQUIRE(room.lanes[r].report.peak_in_flight == plan->peak_in_flight(r));
          REQUIRE(plan->peak_in_flight(0) <= cap);
          REQUIRE(ran->makespan ==
                  capped_makespan_bound({p, v, m}, c.forward, c.backward.whole, 0, plan->peak_in_flight(0)).value());
          if ((p + v + m + cap) % 7 == 0)
            for (std::uint32_t r = 0; r < plan->ranks(); ++r)
              for (std::uint32_t i = 0; i < plan->size(r); ++i) REQUIRE(plan->step_of(r, plan->at(r, i)) == i);
        }
  CHECK(met > 1'500);
}

TEST_CASE("facts of a schedule that has no formulas are read from its lists", "[pipeline]") {
  for (std::int64_t p = 1; p <= 5; ++p)
    for (std::int64_t m = 1; m <= 9; ++m) {
      const auto plan = one_f_one_b::make({p, 1, m}).value();
      const plain_1f1b plain{plan};
      for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
        CHECK(peak_of(plain, r) == plan.peak_in_flight(r));
        const step_counts n = counts_of(plan, r), read = counts_of(plain, r);
        CHECK(n.size() == plan.size(r));
        // The formula begins the steady state with a forward, the reading with the backward after it.
        CHECK(read.warm_up == (n.steady != 0 ? n.warm_up + 1 : n.warm_up));
        CHECK(read.size() == n.size());
        for (std::uint32_t i = 0; i < n.warm_up; ++i) CHECK(plan.at(r, i).kind() == action_kind::forward);
        for (std::uint32_t i = n.warm_up + n.steady; i < n.size(); ++i)
          CHECK(plan.at(r, i).kind() == action_kind::backward);
        for (std::uint32_t i = 0; i < plan.size(r); ++i) CHECK(step_of(plain, r, plan.at(r, i)) == i);
        CHECK(step_of(plain, r, action(action_kind::input_grad, 0, 0)) == plan.size(r));
        action list[32];
        CHECK(fill(plain, r, std::span(list, 5), 1) == (plan.size(r) < 6 ? plan.size(r) - 1 : 5));
        CHECK(list[0] == plan.at(r, 1));
      }
    }
}

TEST_CASE("the name of a schedule does not depend on the letters it was asked for with", "[pipeline]") {
  std::string asked = "interleaved-zb";
  const auto plan = any_schedule::make(asked, {2, 2, 4}).value();
  asked.assign("gone, and longer than any small string is");
  CHECK(plan.name() == "interleaved-zb");
}
