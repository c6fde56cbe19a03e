// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every schedule of the library obeys the laws; for each law there is a type that breaks it, and is told so by name.
#include <hocket/testing/schedule_laws.hpp>

#include <hocket/pipeline/any_schedule.hpp>

#include <string>
#include <vector>

#include "catch.hpp"

namespace wrong_schedules {
namespace {

using namespace hocket::pipeline;
using hocket::testing::broken_law;

/// A schedule in lists that a test can spoil.
struct listed {
  shape form;
  std::vector<std::vector<stage_action>> lists;

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(form.ranks); }
  [[nodiscard]] std::uint32_t chunks() const { return static_cast<std::uint32_t>(form.chunks); }
  [[nodiscard]] std::uint32_t micro_batches() const { return static_cast<std::uint32_t>(form.micro_batches); }
  [[nodiscard]] std::uint32_t size(std::uint32_t r) const { return static_cast<std::uint32_t>(lists[r].size()); }
  [[nodiscard]] stage_action at(std::uint32_t r, std::uint32_t i) const { return lists[r][i]; }
  [[nodiscard]] loop_placement placement() const { return {ranks()}; }
};

template <class Plan>
listed lists_of(const Plan& plan) {
  listed out{shape_of(plan), {}};
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    out.lists.emplace_back();
    for (const stage_action a : stage_list(plan, r)) out.lists[r].push_back(a);
  }
  return out;
}

/// Rank 0: F0 F1 B0 F2 B1 B2; rank 1: F0 B0 F1 B1 F2 B2.
listed sound() { return lists_of(one_f_one_b::make({.ranks = 2, .micro_batches = 3}).value()); }

}  // namespace
}  // namespace wrong_schedules

using namespace wrong_schedules;

TEST_CASE("every schedule by name obeys the laws", "[testing]") {
  int plans = 0;
  for (const std::string_view name : schedule_names)
    for (std::int64_t p = 1; p <= 6; ++p)
      for (std::int64_t v = 1; v <= 3; ++v)
        for (std::int64_t m = 1; m <= 3 * p; ++m)
          for (const std::int64_t slices : {1, 3}) {
            if (slices > 1 && name != "seq-1f1b") continue;
            const auto plan = any_schedule::make(name, {p, v, m}, {.slices = slices});
            if (!plan) continue;  // a shape that this schedule does not have
            ++plans;
            INFO(name << " p " << p << " v " << v << " m " << m << " slices " << slices);
            REQUIRE(broken_law(*plan) == "");
            REQUIRE(plan->visit([](const auto& inside) { return broken_law(inside); }) == "");
          }
  CHECK(plans > 900);
}

TEST_CASE("interleaved with every rule obeys the laws, but the paper's order only where it runs", "[testing]") {
  int deadlocks = 0;
  for (std::int64_t p = 1; p <= 5; ++p)
    for (std::int64_t v = 1; v <= 3; ++v)
      for (std::int64_t m = 1; m <= 3 * p; ++m) {
        INFO("p " << p << " v " << v << " m " << m);
        for (const auto& rule : {groups::balanced(), groups::last(), groups::first(), groups::least_memory(1, 2)})
          REQUIRE(broken_law(interleaved::make({p, v, m}, rule).value()) == "");
        const auto paper = interleaved::make({p, v, m}, groups::paper()).value();
        const std::string broken = broken_law(paper);
        const bool blocks = outlook_of(paper) == interleaved_outlook::deadlocks;
        deadlocks += blocks ? 1 : 0;
        REQUIRE(broken.substr(0, blocks ? 10 : std::string::npos) == (blocks ? "deadlock: " : ""));
      }
  CHECK(deadlocks > 5);
}

TEST_CASE("a schedule in a host's lists", "[testing]") {
  CHECK(broken_law(sound()) == "");
  CHECK(broken_law(lists_of(seq_1f1b::make({.ranks = 3, .micro_batches = 4}, 1).value())) == "");
}

TEST_CASE("lists that miss, repeat or misplace an action", "[testing]") {
  listed plan = sound();
  plan.form.micro_batches = 0;
  CHECK(broken_law(plan).find("0") != std::string::npos);

  plan = sound();
  plan.lists[0].pop_back();
  CHECK(broken_law(plan) == "nothing runs the backward of stage 0, micro-batch 2");

  plan = sound();
  plan.lists[1].push_back(plan.lists[1][2]);
  CHECK(broken_law(plan) == "rank 1, step 6, forward of stage 1, micro-batch 1 has run already");

  plan = sound();
  plan.lists[0].push_back({action_kind::weight_grad, 0, 2});  // a second time: the backward had it
  CHECK(broken_law(plan) == "rank 0, step 6, weight_grad of stage 0, micro-batch 2 has run already");

  plan = sound();
  plan.lists[0][1] = {action_kind::forward, 0, 3};
  CHECK(broken_law(plan) == "rank 0, step 1, forward of stage 0, micro-batch 3 is not in the shape");
  plan.lists[0][1] = {action_kind::forward, 2, 1};
  CHECK(broken_law(plan) == "rank 0, step 1, forward of stage 2, micro-batch 1 is not in the shape");
  plan.lists[0][1] = {action_kind::forward, 0, 1, 1};
  CHECK(broken_law(plan) == "rank 0, step 1, forward of stage 0, micro-batch 1, slice 1 is not in the shape");
  plan.lists[0][1] = {action_kind::forward, 1, 1};
  CHECK(broken_law(plan) == "rank 0, step 1, forward of stage 1, micro-batch 1 belongs to rank 1");
}

TEST_CASE("lists in an order that cannot be", "[testing]") {
  listed plan = sound();
  std::swap(plan.lists[1][0], plan.lists[1][1]);
  CHECK(broken_law(plan) == "rank 1, step 0, backward of stage 1, micro-batch 0 comes before its forward");

  plan = lists_of(zero_bubble::make_h1({.ranks = 2, .micro_batches = 3}).value());
  REQUIRE(broken_law(plan) == "");
  std::uint32_t input = 0, weight = 0;
  for (std::uint32_t i = 0; i < plan.size(1); ++i) {
    if (plan.at(1, i) == stage_action(action_kind::input_grad, 1, 0)) input = i;
    if (plan.at(1, i) == stage_action(action_kind::weight_grad, 1, 0)) weight = i;
  }
  listed halved = plan;
  halved.lists[1].erase(halved.lists[1].begin() + weight);
  CHECK(broken_law(halved) == "nothing runs the weight_grad of stage 1, micro-batch 0");
  std::swap(plan.lists[1][input], plan.lists[1][weight]);
  CHECK(broken_law(plan) == "rank 1, step " + std::to_string(input) +
                                ", weight_grad of stage 1, micro-batch 0 comes before its input gradient");

  plan = sound();  // rank 0 wants the gradient of 1 first, rank 1 makes that of 0 first, but needs F1 before: F0 B0 …
  std::swap(plan.lists[0][1], plan.lists[0][2]);
  CHECK(broken_law(plan) == "");  // later than need be, but no deadlock
  std::swap(plan.lists[1][0], plan.lists[1][2]);
  std::swap(plan.lists[1][1], plan.lists[1][3]);  // rank 1: F1 B1 F0 B0; rank 0: F0 B0 F1
  CHECK(
      broken_law(plan) ==
      "deadlock: rank 0, step 1, backward of stage 0, micro-batch 0 waits for the backward of stage 1, micro-batch 0");
}

namespace wrong_schedules {
namespace {

struct moody : listed {
  mutable int asked = 0;
  [[nodiscard]] stage_action at(std::uint32_t r, std::uint32_t i) const {
    return ++asked > 12 && r == 1 && i == 3 ? stage_action(action_kind::backward, 1, 2) : lists[r][i];
  }
};
struct off_by_one_fill : listed {
  std::size_t fill(std::uint32_t r, std::span<stage_action> out, std::uint32_t first) const {
    std::size_t i = 0;
    for (; i < out.size() && first + i < size(r); ++i) out[i] = at(r, first + static_cast<std::uint32_t>(i));
    if (first == 1 && i > 1) out[1] = out[0];
    return i;
  }
};
struct stated_peak : listed {
  std::uint32_t stated[2] = {2, 2};
  [[nodiscard]] std::uint32_t peak_in_flight(std::uint32_t r) const { return stated[r]; }
};
struct moody_peak : listed {
  mutable std::uint32_t asked = 0;
  [[nodiscard]] std::uint32_t peak_in_flight(std::uint32_t r) const { return ++asked > 2 ? 5 : 2 - r; }
};
struct stated_step : listed {
  [[nodiscard]] std::uint32_t step_of(std::uint32_t, stage_action a) const { return a.micro_batch(); }
};
struct stated_counts : listed {
  step_counts stated;
  [[nodiscard]] step_counts counts(std::uint32_t) const { return stated; }
};
struct misplaced : listed {
  struct place {
    std::uint32_t rank = 0, chunk = 0;
    [[nodiscard]] std::uint32_t rank_of(std::uint32_t) const { return rank; }
    [[nodiscard]] std::uint32_t chunk_of(std::uint32_t) const { return chunk; }
    [[nodiscard]] static std::uint32_t stage(std::uint32_t, std::uint32_t) { return 0; }
  };
  place where;
  [[nodiscard]] place placement() const { return where; }
};
struct many_directions : listed {
  [[nodiscard]] static std::uint32_t directions() { return 3; }
};
struct no_slices : listed {
  [[nodiscard]] static std::uint32_t slices() { return 0; }
};
struct crooked_view : listed {
  struct view {
    const stage_action* data;
    std::size_t count;
    [[nodiscard]] const stage_action* begin() const { return data; }
    [[nodiscard]] const stage_action* end() const { return data + count; }
  };
  std::size_t short_of = 0;
  [[nodiscard]] view rank(std::uint32_t) const { return {lists[0].data(), lists[0].size() - short_of}; }
};

}  // namespace
}  // namespace wrong_schedules

TEST_CASE("schedules whose members disagree", "[testing]") {
  CHECK(broken_law(moody{sound()}) ==
        "rank 1, step 3, backward of stage 1, micro-batch 1 is another action when it is "
        "read again");
  CHECK(broken_law(off_by_one_fill{sound()}) ==
        "rank 0, step 2, backward of stage 0, micro-batch 0 differs between walking and at");
  CHECK(broken_law(stated_peak{sound()}) == "peak_in_flight(1) is 2, but the list holds 1");
  CHECK(broken_law(stated_peak{sound(), {2, 1}}) == "");
  CHECK(broken_law(stated_peak{sound(), {1, 1}}) == "peak_in_flight(0) is 1, but the list holds 2");
  CHECK(broken_law(moody_peak{sound()}) == "peak_in_flight(0) is 5 when it is asked again");
  CHECK(broken_law(stated_step{sound()}) ==
        "rank 0, step 2, backward of stage 0, micro-batch 0 is at step 0 by step_of");
  CHECK(broken_law(stated_counts{sound(), {1, 2, 1}}) == "counts(0) is 4 steps, but the list has 6");
  CHECK(broken_law(stated_counts{sound(), {3, 2, 1}}) ==
        "rank 0, step 2, backward of stage 0, micro-batch 0 is in the warm-up by counts");
  CHECK(broken_law(stated_counts{sound(), {1, 2, 3}}) ==
        "rank 0, step 3, forward of stage 0, micro-batch 2 is in the drain by counts");
  CHECK(broken_law(misplaced{sound(), {}}) == "the placement puts stage 1 on rank 0, chunk 0, but has stage 0 there");
  CHECK(broken_law(misplaced{sound(), {2, 0}}) ==
        "the placement puts stage 0 on rank 2, chunk 0, which the shape does not have");
  CHECK(broken_law(many_directions{sound()}) == "directions() is 3, not 1 or 2");
  CHECK(broken_law(no_slices{sound()}) == "slices() is 0");
  CHECK(broken_law(crooked_view{sound(), 1}) == "the view of rank 0 has 5 steps");
  CHECK(broken_law(crooked_view{sound()}) ==
        "rank 1, step 5, backward of stage 1, micro-batch 2 differs between the view of the rank and at");
}
