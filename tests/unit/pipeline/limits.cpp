// SPDX-License-Identifier: Apache-2.0
// What a caller gets wrong: schedules that contradict themselves, numbers out of range, lists that grow.
#include <hocket/core/message.hpp>
#include <hocket/pipeline/any_schedule.hpp>
#include <hocket/pipeline/critical_path.hpp>
#include <hocket/pipeline/lower.hpp>
#include <hocket/pipeline/run.hpp>

#include <array>
#include <limits>

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
    if (rank == 1) return step == 0 ? stage_action(op::backward, 1, 0) : stage_action(op::forward, 1, 0);
    return step == 0 ? stage_action(op::backward, 0, 0, 0, 0, true) : second;
  }
  loop_placement placement() const { return {2}; }
};

}  // namespace

TEST_CASE("the second action of a pair that cannot start is judged, too", "[pipeline]") {
  for (const stage_action second : {stage_action(op::forward, 60'000, 0), stage_action(op::forward, 0, 2'000'000),
                                    stage_action(op::forward, 0, 0, 60'000), stage_action(op::forward, 0, 0, 0, 1)}) {
    const contradictory plan{second};
    constexpr_workspace room;
    CHECK(!run(plan, costs{}, room));
    const auto lowered = lower(plan, {.transfers = transfer_policy::eager});
    REQUIRE(!lowered);
    CHECK(lowered.error().code == errc::out_of_range);
  }
}

TEST_CASE("bytes held that do not fit 64 bits are an error", "[pipeline]") {
  const auto plan = one_f_one_b::make({.ranks = 2, .micro_batches = 4}).value();
  constexpr_workspace room;
  std::array<std::int64_t, 2> weight{std::int64_t{1} << 61, 1};
  const with_memory<costs> fits{{costs{}}, weight};
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
      for (const op kind : {op::forward, op::backward, op::input_grad, op::weight_grad}) {
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
  const auto split = zero_bubble::h1({.ranks = 2, .micro_batches = 4}).value();
  for (const std::uint32_t beyond : {0u, 1u, 1000u}) {
    CHECK(fill(plan, 0, std::span(out), plan.size(0) + beyond) == 0);
    CHECK(fill(split, 0, std::span(out), split.size(0) + beyond) == 0);
  }
}

TEST_CASE("v schedules of many ranks are refused before they take memory", "[pipeline]") {
  const auto made = v_schedule({32'768, 2, 1}, v_memory::half);
  REQUIRE(!made);
  CHECK(made.error().code == errc::limit_exceeded);
  CHECK(made.error().values[1] == max_v_schedule_ranks);
}

TEST_CASE("the workspace of a run does not grow with the micro-batches", "[pipeline]") {
  workspace few, many;
  REQUIRE(run(gpipe::make({.ranks = 8, .micro_batches = 1'000}).value(), costs{}, few));
  REQUIRE(run(gpipe::make({.ranks = 8, .micro_batches = 20'000}).value(), costs{}, many));
  CHECK(many.starved.capacity() == few.starved.capacity());
}

TEST_CASE("gathering weights reads a list of few stages once", "[pipeline]") {
  // Quadratic, this took a minute; the weights stay for the whole list.
  const auto plan = one_f_one_b::make({.ranks = 2, .micro_batches = 30'000}).value();
  const auto lists = lower(plan, {.unshard = 3}).value();
  REQUIRE(lists.size(0) == plan.size(0) + 2);
  CHECK(lists.at(0, 0).kind() == op::unshard);
  CHECK(lists.at(0, lists.size(0) - 1).kind() == op::reshard);
}

namespace {

/// No time for forwards but the first; only the link from rank 0 to rank 1 takes any.
struct one_slow_link {
  hocket::ticks duration(stage_action a) const { return a.kind() != op::forward || a.stage() == 0 ? 1 : 0; }
  hocket::ticks latency(std::uint32_t from, std::uint32_t to) const { return from == 0 && to == 1 ? 5 : 0; }
};

}  // namespace

TEST_CASE("a critical path through actions without duration ends", "[pipeline]") {
  const auto f = [](std::uint32_t s) { return stage_action(op::forward, s, 0); };
  const auto b = [](std::uint32_t s) { return stage_action(op::backward, s, 0); };
  const stage_action lists[] = {f(0), f(5), b(5), b(0), f(1), f(3), b(3), b(1), f(2), f(4), b(4), b(2)};
  const std::uint32_t ends[] = {4, 8, 12};
  const auto plan = table_schedule::make(lists, ends).value();
  const auto path = critical_path(plan, one_slow_link{}).value();
  REQUIRE(path.size() <= 12);
  CHECK(path.front().action == f(0));
  CHECK(path.back().action == b(0));
}
