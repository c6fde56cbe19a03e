// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a caller gets wrong: schedules that contradict themselves, numbers out of range, lists that grow.
#include <hocket/core/message.hpp>
#include <hocket/pipeline/any_schedule.hpp>
#include <hocket/pipeline/bound.hpp>
#include <hocket/pipeline/communication.hpp>
#include <hocket/pipeline/critical_path.hpp>
#include <hocket/pipeline/lower.hpp>
#include <hocket/pipeline/run.hpp>
#include <hocket/pipeline/simulate.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <type_traits>
#include <vector>

#include "catch.hpp"

using namespace hocket::pipeline;
using hocket::errc;

namespace {

/// The first of rank 0's pair waits for ever; the second is an action that the shape does not have.
struct contradictory {
  stage_action second;
  std::uint32_t ranks() const { return 2; }
  std::uint32_t chunks() const { return 1; }
  std::uint32_t micro_batches() const { return 1; }
  std::uint32_t size(std::uint32_t) const { return 2; }
  stage_action at(std::uint32_t rank, std::uint32_t step) const {
    if (rank == 1)
      return step == 0 ? stage_action(action_kind::backward, 1, 0) : stage_action(action_kind::forward, 1, 0);
    return step == 0 ? stage_action(action_kind::backward, 0, 0, 0, 0, true) : second;
  }
  loop_placement placement() const { return {2}; }
};

auto step_key(action a) { return std::tuple(a.chunk(), a.micro_batch(), 0u, 0u); }
auto step_key(stage_action a) { return std::tuple(a.stage(), a.micro_batch(), a.slice(), a.direction()); }

}  // namespace

TEST_CASE("the second action of a pair that cannot start is judged, too", "[pipeline]") {
  for (const stage_action second :
       {stage_action(action_kind::forward, 60'000, 0), stage_action(action_kind::forward, 0, 2'000'000),
        stage_action(action_kind::forward, 0, 0, 60'000), stage_action(action_kind::forward, 0, 0, 0, 1)}) {
    const contradictory plan{second};
    constexpr_workspace room;
    CHECK(!run(plan, costs{}, room));
    const auto lowered = lower(plan, {.transfers = transfer_policy::eager});
    REQUIRE(!lowered);
    CHECK(lowered.error().code == errc::out_of_range);
    const bool is_stage = second.stage() > 1;  // of 0 and 1; the only micro-batch is 0
    CHECK(lowered.error().values[0] == std::int64_t{is_stage ? second.stage() : second.micro_batch()});
    CHECK(lowered.error().values[2] == (is_stage ? 1 : 0));
  }
}

TEST_CASE("micro-batches may run in any order", "[pipeline]") {
  constexpr std::uint32_t m = 211;
  for (const std::uint32_t step : {2u, 64u, 65u, 130u}) {  // coprime to m: every micro-batch once
    std::vector<stage_action> list;
    for (std::uint32_t j = 0; j < m; ++j) list.push_back({action_kind::forward, 0, j * step % m});
    for (std::uint32_t j = 0; j < m; ++j) list.push_back({action_kind::backward, 0, j * (step + 1) % m});
    const std::uint32_t ends[] = {2 * m};
    const auto ran = simulate(table_schedule::make(list, ends).value(), costs{.forward = 1, .backward = 2});
    REQUIRE(ran);
    CHECK(ran->makespan == 3 * m);
    list[100] = list[7];
    const auto twice = simulate(table_schedule::make(list, ends).value(), costs{});
    CHECK((!twice && twice.error().code == errc::duplicate_action));
  }
}

TEST_CASE("bytes held that do not fit 64 bits are an error", "[pipeline]") {
  const auto plan = one_f_one_b::make({.ranks = 2, .micro_batches = 4}).value();
  constexpr_workspace room;
  std::array<std::int64_t, 2> weight{std::int64_t{1} << 61, 1};
  const with_memory<costs> fits{costs{}, weight};
  REQUIRE(run(plan, fits, room));
  CHECK(room.lanes[0].report.peak_bytes == std::int64_t{1} << 62);
  weight[0] = std::int64_t{1} << 62;
  const auto ran = run(plan, fits, room);
  REQUIRE(!ran);
  CHECK(ran.error().code == errc::overflow);
  CHECK(ran.error().word() == "bytes held");
}

TEST_CASE("a schedule by name knows that it has no such op", "[pipeline]") {
  for (const std::string_view name : schedule_names) {
    const auto plan = any_schedule::make(name, {2, default_chunks(name), 4}).value();
    for (std::uint32_t r = 0; r < 2; ++r)
      for (const action_kind kind :
           {action_kind::forward, action_kind::backward, action_kind::input_grad, action_kind::weight_grad}) {
        const stage_action a(kind, r, 1);
        const std::uint32_t step = plan.step_of(r, a);
        REQUIRE(step <= plan.size(r));
        std::uint32_t found = 0;
        while (found < plan.size(r) && (plan.at(r, found).kind() != kind || plan.at(r, found).stage() != r ||
                                        plan.at(r, found).micro_batch() != 1 || plan.at(r, found).direction() != 0))
          ++found;
        CHECK(step == found);
      }
  }
}

namespace {

struct early_transfers : costs {
  hocket::ticks transfer(stage_action, std::uint32_t, std::uint32_t) const { return -1; }
};

/// Every op, chunk (or stage), micro-batch, slice and direction, beyond the shape too: the step by reading the list.
template <class S>
void every_step_is_found_or_not(const S& plan) {
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    const auto same = [&](auto a) {
      std::uint32_t i = 0;
      while (i < plan.size(r) && (plan.at(r, i).kind() != a.kind() || step_key(plan.at(r, i)) != step_key(a))) ++i;
      CHECK(step_of(plan, r, a) == i);
    };
    for (unsigned k = 0; k <= static_cast<unsigned>(action_kind::idle); ++k)
      for (std::uint32_t j = 0; j <= plan.micro_batches() + 1; ++j)
        for (std::uint32_t s = 0; s <= plan.ranks() * plan.chunks(); ++s) {
          if constexpr (std::is_same_v<decltype(plan.at(0, 0)), action>)
            same(action(static_cast<action_kind>(k), s, j));
          else
            for (std::uint32_t t = 0; t <= slices_of(plan); ++t)
              for (const std::uint32_t d : {0u, 1u}) same(stage_action(static_cast<action_kind>(k), s, j, t, d));
        }
  }
}

}  // namespace

TEST_CASE("an action that a list has not is found behind its end", "[pipeline]") {
  for (std::int64_t p = 1; p <= 4; ++p)
    for (std::int64_t m = 1; m <= 9; m += 2) {
      for (std::int64_t v = 1; v <= 3; ++v) {
        every_step_is_found_or_not(interleaved::make({p, v, m}).value());
        every_step_is_found_or_not(interleaved::make({p, v, m}, groups::least_memory()).value());
        every_step_is_found_or_not(gpipe::make_looped_bfs({p, v, m}).value());
        every_step_is_found_or_not(zero_bubble::make_interleaved({p, v, m}).value());
      }
      every_step_is_found_or_not(one_f_one_b::make({p, 1, m}, 2).value());
      every_step_is_found_or_not(seq_1f1b::make({p, 1, m}, 2).value());
      every_step_is_found_or_not(zbv::make({p, 2, m}).value());
      if (m >= 2 * p) every_step_is_found_or_not(dual_pipe_v::make({p, 2, m}).value());
      if (const auto both = dual_pipe::make({p, 1, m + 1})) every_step_is_found_or_not(*both);
    }
}

TEST_CASE("an idle action belongs to no stage", "[pipeline]") {
  using enum action_kind;
  const stage_action lists[] = {{forward, 0, 0}, {}, {backward, 0, 0}, {forward, 1, 0}, {}, {backward, 1, 0}};
  const std::uint32_t ends[] = {3, 6};
  const auto plan = table_schedule::make(lists, ends);
  REQUIRE(plan);
  CHECK(plan->chunks() == 1);
  CHECK(check(*lower(*plan, {.transfers = transfer_policy::barrier}), communication::rendezvous));
}

TEST_CASE("ends of lists that are none are refused", "[pipeline]") {
  const stage_action lists[] = {{action_kind::forward, 0, 0},
                                {action_kind::backward, 0, 0},
                                {action_kind::forward, 1, 0},
                                {action_kind::backward, 1, 0}};
  for (const std::array<std::uint32_t, 2> ends : {std::array{2u, 3u}, std::array{3u, 2u}, std::array{2u, 5u}}) {
    const auto made = table_schedule::make(lists, ends);
    REQUIRE(!made);
    CHECK(made.error().code == errc::out_of_range);
  }
}

TEST_CASE("negative times are refused", "[pipeline]") {
  const auto pairs = dual_pipe::make({4, 1, 8}).value();
  constexpr costs wrong[] = {
      {.forward = -1}, {.backward = -2}, {.backward = {-1, 1, 2}}, {.backward = {1, -1, 2}}, {.hop = -1}};
  for (const costs& c : wrong) {
    const auto ran = simulate(zbv::make({4, 2, 8}).value(), c);
    if (c.backward.whole == 2) CHECK(ran.error().code == errc::invalid_argument);
    CHECK(simulate(pairs, c).error().code == errc::invalid_argument);
    if (c.backward.whole < 0 || (c.backward.input_grad == 1 && c.backward.weight_grad == 1))
      CHECK(choose_groups({4, 2, 9}, c).error().code == errc::invalid_argument);
  }
  CHECK(simulate(pairs, early_transfers{}).error().word() == "a negative time");
}

TEST_CASE("the time of a pair is right for any two times", "[pipeline]") {
  constexpr hocket::ticks most = std::numeric_limits<hocket::ticks>::max();
  constexpr stage_action f(action_kind::forward, 0, 0), b(action_kind::backward, 0, 0);
  CHECK(costs{.forward = most, .backward = most, .overlap = 50}.joined(f, b) == most);
  CHECK(costs{.forward = most - 1, .backward = 1, .overlap = 60}.joined(f, b) == most - 1);
  CHECK(costs{.forward = most, .backward = 1, .overlap = most}.joined(f, b) == most);
  CHECK(costs{.forward = 5, .backward = 6, .overlap = 60}.joined(f, b) == 7);
  CHECK(costs{.forward = 5, .backward = 6, .overlap = -60}.joined(f, b) == 6);
}

TEST_CASE("a cap that a large schedule keeps is kept, though fewer micro-batches cannot be cut for it", "[pipeline]") {
  constexpr shape s{64, 8, 4300};
  constexpr costs c{.forward = 1, .backward = 2};
  REQUIRE(interleaved::make(s, groups::capped(365, 1, 2)));
  const auto chosen = choose_groups(s, c, 365);
  REQUIRE(chosen);
  CHECK(chosen->plan.peak_in_flight(0) == 365);
  const shape tried{64, 8, chosen->micro_batches};
  CHECK(chosen->micro_batches < s.micro_batches);
  CHECK(chosen->makespan >= capped_makespan_bound(tried, 1, 2, 0, 365).value());
}

TEST_CASE("options that groups auto cannot honour are refused", "[pipeline]") {
  const auto extra = any_schedule::make("interleaved", {4, 2, 9}, {.groups = "auto", .extra = 1});
  REQUIRE(!extra);
  CHECK(extra.error().code == errc::invalid_argument);
  constexpr std::int64_t least = (std::numeric_limits<std::int64_t>::min)();
  for (const std::int64_t cap : {std::int64_t{-1}, least}) {
    CHECK(choose_groups({4, 2, 9}, {}, cap).error().code == errc::out_of_range);
    CHECK(interleaved::make({4, 2, 9}, groups::capped(cap)).error().code == errc::out_of_range);
  }
}

TEST_CASE("nothing is left behind the end of a list", "[pipeline]") {
  std::array<action, 4> out{};
  const auto plan = interleaved::make({2, 2, 4}).value();
  const auto split = zero_bubble::make_h1({.ranks = 2, .micro_batches = 4}).value();
  for (const std::uint32_t beyond : {0u, 1u, 1000u}) {
    CHECK(fill(plan, 0, std::span(out), plan.size(0) + beyond) == 0);
    CHECK(fill(split, 0, std::span(out), split.size(0) + beyond) == 0);
  }
}

TEST_CASE("v schedules of many ranks are refused before they take memory", "[pipeline]") {
  const auto made = make_v_schedule({32'768, 2, 1}, v_memory::half);
  REQUIRE(!made);
  CHECK(made.error().code == errc::limit_exceeded);
  CHECK(made.error().values[1] == max_v_schedule_ranks);
  CHECK(make_v_schedule({max_v_schedule_ranks, 2, 1}, v_memory::half));
  CHECK(make_v_schedule({max_v_schedule_ranks + 1, 2, 1}, v_memory::half).error() ==
        hocket::error{errc::limit_exceeded, max_v_schedule_ranks + 1, max_v_schedule_ranks}.with(
            "ranks of a v schedule"));
}

TEST_CASE("a table has the placement of its lists", "[pipeline]") {
  const auto agrees = [](const auto& plan) {
    const auto table = table_schedule::make_copy(plan).value();
    for (std::uint32_t r = 0; r < plan.ranks(); ++r)
      for (std::uint32_t c = 0; c < plan.chunks(); ++c)
        CHECK(table.placement().stage(r, c) == plan.placement().stage(r, c));
    for (std::uint32_t s = 0; s < plan.ranks() * plan.chunks(); ++s) {
      CHECK(table.placement().rank_of(s) == plan.placement().rank_of(s));
      CHECK(table.placement().chunk_of(s) == plan.placement().chunk_of(s));
    }
  };
  agrees(interleaved::make({4, 3, 8}).value());
  agrees(zbv::make({4, 2, 8}).value());
  const stage_action three[] = {
      {action_kind::forward, 0, 0}, {action_kind::forward, 1, 0}, {action_kind::forward, 2, 0}};
  const std::uint32_t ends[] = {2, 3};
  const auto uneven = table_schedule::make(three, ends);
  REQUIRE(!uneven);
  CHECK(message(uneven.error()) ==
        "a pipeline of 2 ranks, 1 chunks and 1 micro-batches is not possible: stages do not divide evenly over ranks");
}

TEST_CASE("a list of one action, of none, of backwards alone", "[pipeline]") {
  const stage_action forwards[] = {{action_kind::forward, 0, 0}, {action_kind::forward, 1, 0}};
  const std::uint32_t each[] = {1, 2}, empty_first[] = {0, 2};
  const auto table = table_schedule::make(forwards, each).value();
  CHECK(table.placement().rank_of(1) == 1);
  CHECK(counts_of(table, 0) == step_counts{1, 0, 0});
  CHECK(table_schedule::make(forwards, empty_first).error().code == errc::bad_shape);
  const stage_action backwards[] = {{action_kind::backward, 0, 0}, {action_kind::backward, 0, 1}};
  const std::uint32_t both[] = {2};
  CHECK(counts_of(table_schedule::make(backwards, both).value(), 0) == step_counts{0, 0, 2});
}

TEST_CASE("a large schedule is tried with fewer micro-batches and the same remainder", "[pipeline]") {
  for (const std::int64_t p : {1, 3, 64, 1'024})
    for (const std::int64_t v : {1, 5})
      for (const std::int64_t m : {std::int64_t{7}, 4 * p, 4 * p + 1, std::int64_t{5'003}, std::int64_t{2'000'003}}) {
        const shape tried = detail::shape_to_try({p, v, m});
        INFO("p " << p << " v " << v << " m " << m);
        CHECK(tried.micro_batches <= m);
        CHECK(tried.micro_batches % p == m % p);
        CHECK((tried.ranks == p && tried.chunks == v));
        const bool fits = 2 * p * v * m <= max_choice_actions || m <= 4 * p;
        CHECK((tried.micro_batches == m) == (fits || tried.micro_batches / p == m / p));
        if (!fits)
          CHECK(tried.micro_batches / p ==
                std::min(m / p, std::max<std::int64_t>(3, max_choice_actions / (2 * p * v) / p)));
      }
}

TEST_CASE("every machine has the same fingerprint of a plan", "[pipeline]") {
  CHECK(fingerprint_of(gpipe::make({2, 1, 2}).value()) == 0xfb7b12f48ea24770);
  CHECK(fingerprint_of(dual_pipe::make({2, 1, 4}).value()) == 0xcb4eb3b94ad53516);
}

TEST_CASE("the workspace of a run does not grow with the micro-batches", "[pipeline]") {
  workspace few, many;
  REQUIRE(run(gpipe::make({.ranks = 8, .micro_batches = 1'000}).value(), costs{}, few));
  REQUIRE(run(gpipe::make({.ranks = 8, .micro_batches = 20'000}).value(), costs{}, many));
  CHECK(many.entries.capacity() == few.entries.capacity());
}

TEST_CASE("gathering weights reads a list of few stages once", "[pipeline]") {
  // Quadratic, this took a minute; the weights stay for the whole list.
  const auto plan = one_f_one_b::make({.ranks = 2, .micro_batches = 30'000}).value();
  const auto lists = lower(plan, {.unshard = 3}).value();
  REQUIRE(lists.size(0) == plan.size(0) + 2);
  CHECK(lists.at(0, 0).kind() == action_kind::unshard);
  CHECK(lists.at(0, lists.size(0) - 1).kind() == action_kind::reshard);
}

namespace {

/// No time for forwards but the first; only the link from rank 0 to rank 1 takes any.
struct one_slow_link {
  hocket::ticks duration(stage_action a) const { return a.kind() != action_kind::forward || a.stage() == 0 ? 1 : 0; }
  hocket::ticks latency(std::uint32_t from, std::uint32_t to) const { return from == 0 && to == 1 ? 5 : 0; }
};

}  // namespace

TEST_CASE("a critical path through actions without duration ends", "[pipeline]") {
  const auto f = [](std::uint32_t s) { return stage_action(action_kind::forward, s, 0); };
  const auto b = [](std::uint32_t s) { return stage_action(action_kind::backward, s, 0); };
  const stage_action lists[] = {f(0), f(5), b(5), b(0), f(1), f(3), b(3), b(1), f(2), f(4), b(4), b(2)};
  const std::uint32_t ends[] = {4, 8, 12};
  const auto plan = table_schedule::make(lists, ends).value();
  const auto path = critical_path(plan, one_slow_link{}).value();
  REQUIRE(path.size() <= 12);
  CHECK(path.front().action == f(0));
  CHECK(path.back().action == b(0));
}

TEST_CASE("bounds of times that do not fit 64 bits are refused", "[pipeline]") {
  constexpr hocket::ticks half = INT64_MAX / 2 + 1;
  const auto word = [](const auto& r) {
    return r ? std::string() : r.error().code == errc::overflow ? std::string(r.error().word()) : "another error";
  };
  CHECK(word(makespan_bound({2, 1, 4}, half, half)) == "forward + backward");
  CHECK(word(makespan_bound({2, 1, 4}, half / 2, half / 2)) == "makespan bound");
  CHECK(word(split_makespan_bound({2, 1, 4}, half, half, 1)) == "forward + backward");
  CHECK(word(split_makespan_bound({2, 1, 4}, 1, half, half)) == "forward + backward");
  CHECK(word(split_makespan_bound({2, 1, 4}, half / 2, 1, 1)) == "makespan bound");         // the work
  CHECK(word(split_makespan_bound({9, 1, 1}, half / 4, 0, 0)) == "makespan bound");         // the start
  CHECK(word(split_makespan_bound({3, 1, 1}, half / 2, half - 2, 0)) == "makespan bound");  // both
  const shape s{4, 2, 9};
  CHECK(word(interleaved::make(s, groups::least_memory(half, half))) == "forward + backward");
  CHECK(word(interleaved::make(s, groups::capped(5, half, half))) == "forward + backward");
  CHECK(interleaved::make(s, groups::least_memory(0, 1)).error().word() == "a time below 1 tick");
  CHECK(interleaved::make(s, groups::least_memory(1, 0)).error().word() == "a time below 1 tick");
}

TEST_CASE("every action has its bar in a timeline", "[pipeline]") {
  using hocket::activity;
  CHECK(activity_of(action_kind::optimizer) == activity::optimizer);
  CHECK(activity_of(action_kind::recompute) == activity::recompute);
  CHECK(activity_of(action_kind::idle) == activity::wait);
  CHECK(activity_of(action_kind::reduce_grad) == activity::communication);
}
