// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The check that each solver ends with: an answer with one figure changed is refused, and the sentence names it.
#include <hocket/core/message.hpp>
#include <hocket/pipeline/schedules/one_f_one_b.hpp>
#include <hocket/planner/micro_batches/solve.hpp>
#include <hocket/planner/saved_tensors/solve.hpp>
#include <hocket/planner/split/layout.hpp>
#include <hocket/planner/split/solve.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace hocket::planner;
using hocket::errc;
using namespace hocket::literals;
using namespace std::chrono_literals;

namespace {

/// The sentence without what all of them begin with; "right" for an answer that passes.
std::string said(const hocket::result<void>& ok) {
  const std::string defect = "defect of hocket, please report it: ";
  if (ok) return "right";
  const std::string text = message(ok.error());
  return text.starts_with(defect) ? text.substr(defect.size()) : text;
}

}  // namespace

TEST_CASE("a split with a changed figure is refused", "[planner][split]") {
  const level_list levels{{40_B, 0ns}, {10_B, 5ns}};
  const split_problem q{
      .layers = {{{.time = 10ns, .weights = 3_B, .levels = levels}, 3}, {{.time = 20ns, .levels = levels}, 2}},
      .ranks = {{100_B, 7_B, 2ns}, {100_B}},
      .in_flight = in_flight_profile::make_one_f_one_b(2, 4).value(),
      .micro_batches = 4};
  const auto found = solve(q);
  REQUIRE(found);
  const auto after = [&](auto&& change, const split_problem& of) {
    split_plan plan = *found;
    change(plan);
    return said(detail::check_answer(of, plan));
  };
  CHECK(after([](split_plan&) {}, q) == "right");
  CHECK(after([](split_plan& x) { ++x.stages[1].first_layer; }, q).starts_with("the first layer of a stage is "));
  CHECK(after([](split_plan& x) { x.stages[0].levels.pop_back(); }, q).starts_with("the levels of a stage is "));
  CHECK(after([](split_plan& x) { x.stages[0].levels[0] = 2; }, q) ==
        "the level of a layer is 2 in the answer, but must lie in [0, 1]");
  CHECK(after([](split_plan& x) { x.stages[0].rank = 1; }, q) ==
        "the rank of a stage is 1 in the answer, but must lie in [0, 0]");
  CHECK(after([](split_plan& x) { x.stages.pop_back(); }, q) ==
        "the number of stages is 1 in the answer, but must lie in [2, 2]");
  const auto lose = [](split_plan& x) {
    x.stages[1].levels.pop_back();
    --x.stages[1].layers;
  };
  CHECK(after(lose, q) == "the layers of all stages is 4 in the answer, but must lie in [5, 5]");
  const auto gain = [](split_plan& x) {
    x.stages[1].levels.push_back(0);
    ++x.stages[1].layers;
  };
  CHECK(after(gain, q) == "a layer of a stage is 5 in the answer, but must lie in [0, 4]");
  CHECK(after([](split_plan& x) { x.ranks[0].used = 1_B; }, q).starts_with("the bytes of a rank is "));
  CHECK(after([](split_plan& x) { x.ranks[1].time += 1ns; }, q).starts_with("the time of a rank is "));
  CHECK(after([](split_plan& x) { x.ranks[1].extra += 1ns; }, q).starts_with("the extra time of a rank is "));
  CHECK(after([](split_plan& x) { x.slowest += 1ns; }, q).starts_with("the time of the slowest rank is "));
  CHECK(after([](split_plan& x) { x.step_time += 1ns; }, q).starts_with("the step time is "));
  CHECK(after([](split_plan& x) { x.lower_bound = x.step_time + 1ns; }, q).starts_with("the lower bound is "));
  split_problem tight = q;
  tight.ranks[0].capacity = 30_B;
  CHECK(after([](split_plan&) {}, tight).ends_with(" in the answer, but must lie in [0, 30]"));
  split_problem given = q;
  given.split = {1, 4};
  CHECK(after([](split_plan&) {}, given) == "the layers of a stage is " + std::to_string(found->stages[0].layers) +
                                                " in the answer, but must lie in [1, 1]");
}

TEST_CASE("an assignment with a changed figure is refused", "[planner]") {
  const assignment_problem q{.times = {7, 5, 4, 4}, .pipelines = 2, .steps = 1};
  const auto found = solve(q);
  REQUIRE(found);
  const auto after = [&](auto&& change) {
    assignment_plan plan = *found;
    change(plan);
    return said(detail::check_answer(q, plan));
  };
  CHECK(after([](assignment_plan&) {}) == "right");
  CHECK(after([](assignment_plan& x) { x.places.pop_back(); }) ==
        "the number of places is 3 in the answer, but must lie in [4, 4]");
  CHECK(after([](assignment_plan& x) { x.places[0].step = 1; }) ==
        "the step of a micro-batch is 1 in the answer, but must lie in [0, 0]");
  CHECK(after([](assignment_plan& x) { x.places[0].pipeline = 2; }) ==
        "the pipeline of a micro-batch is 2 in the answer, but must lie in [0, 1]");
  CHECK(after([](assignment_plan& x) {
          x.places[0].pipeline = 1 - x.places[0].pipeline;
        }).starts_with("the micro-batches of a pipeline is "));
  CHECK(after([](assignment_plan& x) { --x.total; }) == "the total is 10 in the answer, but must lie in [11, 11]");
  CHECK(after([](assignment_plan& x) { x.lower_bound = 12; }) ==
        "the lower bound is 12 in the answer, but must lie in [0, 11]");
  const assignment_problem in_turn{.times = {7, 5, 4, 4}, .pipelines = 1, .steps = 2, .keep_steps = true};
  auto kept = solve(in_turn);
  REQUIRE(kept);
  std::swap(kept->places[1], kept->places[2]);
  CHECK(said(detail::check_answer(in_turn, *kept)) ==
        "the step of a micro-batch is 1 in the answer, but must lie in [0, 0]");
}

TEST_CASE("an order with a changed figure is refused", "[planner]") {
  const auto schedule = hocket::pipeline::one_f_one_b::make({2, 1, 3}, 1);
  REQUIRE(schedule);
  micro_batch_times times;
  times.stages = 2;
  times.count = 3;
  times.forward = {1, 2, 3, 3, 1, 2};
  times.backward = {2, 4, 6, 6, 2, 4};
  const std::vector<std::uint32_t> all{0, 1, 2};
  const auto found = order_micro_batches(*schedule, times, all);
  REQUIRE(found);
  const auto after = [&](auto&& change) {
    order_plan plan = *found;
    change(plan);
    return said(detail::check_answer(*schedule, times, all, plan));
  };
  CHECK(after([](order_plan&) {}) == "right");
  CHECK(after([](order_plan& x) { x.order[0] = x.order[1]; }).starts_with("an ordered micro-batch is "));
  CHECK(after([](order_plan& x) { x.order.pop_back(); }) ==
        "the number of ordered micro-batches is 2 in the answer, but must lie in [3, 3]");
  CHECK(after([](order_plan& x) { ++x.makespan; }).starts_with("the makespan is "));
  CHECK(after([](order_plan& x) { x.lower_bound = x.makespan + 1; }).starts_with("the lower bound is "));
}

TEST_CASE("a plan of saved tensors with a changed figure is refused", "[planner]") {
  const saved_tensor_problem q{
      .classes = {{.layers = 8, .size = 48_B, .again = 9ns, .copy = 15ns},
                  {.layers = 8, .size = 10_B, .again = 4ns, .copy = 3ns, .recomputable = false}},
      .in_flight = 4,
      .capacity = 800_B,
      .compute = 30ns};
  const auto found = solve(q);
  REQUIRE(found);
  const auto after = [&](auto&& change, const saved_tensor_problem& of) {
    saved_tensor_plan plan = *found;
    change(plan);
    return said(detail::check_answer(of, plan));
  };
  CHECK(after([](saved_tensor_plan&) {}, q) == "right");
  CHECK(after([](saved_tensor_plan& x) { x.choices.pop_back(); }, q) ==
        "the number of choices is 1 in the answer, but must lie in [2, 2]");
  CHECK(after([](saved_tensor_plan& x) { x.choices[1].again = 1; }, q) ==
        "the recomputed layers of a class is 1 in the answer, but must lie in [0, 0]");
  CHECK(after([](saved_tensor_plan& x) { x.choices[1].moved = 9; }, q) ==
        "the moved layers of a class is 9 in the answer, but must lie in [0, 8]");
  CHECK(after([](saved_tensor_plan& x) { x.held += 1_B; }, q).starts_with("the bytes held is "));
  CHECK(after([](saved_tensor_plan& x) { x.again += 1ns; }, q).starts_with("the time again is "));
  CHECK(after([](saved_tensor_plan& x) { x.copies += 1ns; }, q).starts_with("the time of copies is "));
  CHECK(after([](saved_tensor_plan& x) { x.extra += 1ns; }, q).starts_with("the extra time is "));
  CHECK(after([](saved_tensor_plan& x) { x.lower_bound = x.extra + 1ns; }, q).starts_with("the lower bound is "));
  saved_tensor_problem tight = q;
  tight.capacity = 100_B;
  CHECK(after([](saved_tensor_plan&) {}, tight).ends_with(" in the answer, but must lie in [0, 100]"));
}

TEST_CASE("a layout with a changed figure is refused", "[planner][layout]") {
  const layout_problem q{.layers = {3, 4, 5, 6},
                         .loss = 4,
                         .ranks = 2,
                         .layer_bytes = std::vector<layout_bytes>(4, {10_B, 5_B}),
                         .rooms = {{100_B, 0_B, 2}, {100_B, 0_B, 1}}};
  const auto found = solve(q);
  REQUIRE(found);
  CHECK(said(detail::check_answer(q, found->layout, found->slowest)) == "right");
  layout_plan slower = *found;
  ++slower.slowest;
  CHECK(said(detail::check_answer(q, slower.layout, slower.slowest)).starts_with("the time of the slowest stage is "));
  layout_plan fewer = *found;
  --fewer.layout.stages[0].layers;
  CHECK(said(detail::check_answer(q, fewer.layout, fewer.slowest)) == "the layout has 3 layers, but the model has 4");
  layout_problem tight = q;
  tight.rooms[0].capacity = 15_B;
  CHECK(said(detail::check_answer(tight, found->layout, found->slowest))
            .ends_with(" in the answer, but must lie in [0, 15]"));
}
