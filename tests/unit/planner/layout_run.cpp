// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The layout with the shortest step of a schedule, beside every layout as pipeline::simulate has it.
#include <hocket/core/message.hpp>
#include <hocket/pipeline/any_schedule.hpp>
#include <hocket/pipeline/schedules/gpipe.hpp>
#include <hocket/pipeline/schedules/interleaved.hpp>
#include <hocket/pipeline/schedules/one_f_one_b.hpp>
#include <hocket/pipeline/simulate.hpp>
#include <hocket/planner/split/layout_run.hpp>

#include <algorithm>
#include <random>
#include <string_view>
#include <vector>

#include "catch.hpp"

namespace pipeline = hocket::pipeline;
namespace planner = hocket::planner;
using hocket::ticks;

namespace {

/// A step of a layout: nothing of the solver's is used.
ticks step_of(const planner::layout_problem& p, const planner::model_layout& x, const planner::layout_run& how,
              const pipeline::any_schedule& schedule) {
  std::vector<ticks> forward, backward, input_grad;
  std::size_t at = 0;
  for (const planner::layout_stage& s : x.stages) {
    ticks sum = (s.embedding ? p.embedding : 0) + (s.loss ? p.loss : 0) + (s.predictions > 0 ? p.predictions : 0);
    for (std::int64_t n = 0; n < s.layers; ++n) sum += p.layers[at++];
    forward.push_back(sum * how.forward_parts / how.whole_parts);
    backward.push_back(sum - forward.back());
    input_grad.push_back(sum - 2 * forward.back());
  }
  const pipeline::stage_costs costs{
      .forward = forward, .backward = backward, .input_grad = input_grad, .weight_grad = forward, .hop = how.hop};
  return pipeline::simulate(schedule, costs).value().makespan;
}

bool fits(const planner::layout_problem& p, const planner::model_layout& x) {
  std::size_t at = 0;
  for (std::size_t s = 0; s < p.rooms.size(); ++s) {
    hocket::bytes used = p.rooms[s].fixed;
    const auto add = [&](const planner::layout_bytes& item) {
      used = used + item.states + p.rooms[s].in_flight * item.kept;
    };
    for (std::int64_t n = 0; n < x.stages[s].layers; ++n) add(p.layer_bytes[at++]);
    if (x.stages[s].predictions > 0) add(p.prediction_bytes);
    if (used > p.rooms[s].capacity) return false;
  }
  return true;
}

/// The shortest step of every layout that planner::check takes and that fits.
void every_layout(const planner::layout_problem& p, planner::model_layout& some, std::int64_t left,
                  const planner::layout_run& how, const pipeline::any_schedule& schedule, ticks& least) {
  const auto stages = static_cast<std::size_t>(p.ranks * p.chunks);
  if (some.stages.size() == stages) {
    if (left > 0) return;
    some.stages.front().embedding = some.stages.back().loss = true;
    for (std::size_t at = 0; at < (p.prediction_count > 0 ? stages : 1); ++at) {
      some.stages[at].predictions = p.prediction_count;
      const auto layers = static_cast<std::int64_t>(p.layers.size());
      if (planner::check(some, p.ranks, layers, p.prediction_count) && fits(p, some))
        least = (std::min)(least, step_of(p, some, how, schedule));
      some.stages[at].predictions = 0;
    }
    some.stages.back().loss = false;
    return;
  }
  for (std::int64_t here = 0; here <= left; ++here) {
    some.stages.push_back({.layers = here});
    every_layout(p, some, left - here, how, schedule, least);
    some.stages.pop_back();
  }
}

planner::layout_problem random_problem(std::mt19937& random, std::int64_t chunks, bool with_memory) {
  planner::layout_problem p;
  p.ranks = 1 + static_cast<std::int64_t>(random() % 4);
  p.chunks = chunks;
  p.layers.resize(1 + random() % (chunks > 1 ? 6 : 8));
  for (ticks& t : p.layers) t = static_cast<ticks>(random() % 20);
  p.embedding = static_cast<ticks>(random() % 10);
  p.loss = static_cast<ticks>(random() % 40);
  p.prediction_count = static_cast<std::int64_t>(random() % 3);
  p.predictions = p.prediction_count * static_cast<ticks>(random() % 30);
  if (!with_memory) return p;
  const auto some = [&](int most) { return hocket::bytes(static_cast<std::int64_t>(random()) % most); };
  for (std::size_t i = 0; i < p.layers.size(); ++i) p.layer_bytes.push_back({some(9), some(4)});
  p.prediction_bytes = {some(9), some(4)};
  for (std::int64_t r = 0; r < p.ranks; ++r) p.rooms.push_back({hocket::bytes(60), some(5), p.ranks - r});
  return p;
}

}  // namespace

TEST_CASE("the layout found is hardly ever slower than any other, and no other is below the bound",
          "[planner][layout]") {
  std::mt19937 random(4);
  int asked = 0, best_found = 0, proved = 0, slowest_is_slower = 0;
  double worst = 1;
  for (int n = 0; n < 600; ++n) {
    constexpr std::string_view names[] = {"1f1b", "gpipe", "zb-h1", "interleaved"};
    const std::string_view name = names[random() % 4];
    const std::int64_t chunks = name == "interleaved" ? 2 : 1;
    const planner::layout_problem p = random_problem(random, chunks, chunks == 1 && random() % 2 == 0);
    const std::int64_t m = p.ranks + static_cast<std::int64_t>(random() % 6);
    const auto schedule = pipeline::any_schedule::make(name, {.ranks = p.ranks, .chunks = chunks, .micro_batches = m});
    REQUIRE(schedule.has_value());
    const planner::layout_run how{.hop = static_cast<ticks>(random() % 4), .budget = 1'000'000};
    planner::model_layout some;
    constexpr ticks none = ticks{1} << 40;
    ticks least = none;
    every_layout(p, some, static_cast<std::int64_t>(p.layers.size()), how, *schedule, least);
    const auto best = planner::solve(p, *schedule, how);
    REQUIRE(best.has_value() == (least < none));
    if (!best) continue;
    ++asked;
    INFO(name << " " << p.ranks << " ranks, " << m << " micro-batches");
    CHECK(best->makespan == step_of(p, best->layout, how, *schedule));
    CHECK(best->makespan >= least);
    CHECK(best->lower_bound <= least);
    CHECK((p.rooms.empty() || fits(p, best->layout)));
    best_found += best->makespan == least ? 1 : 0;
    proved += best->proved() ? 1 : 0;
    slowest_is_slower += step_of(p, planner::solve(p)->layout, how, *schedule) > least ? 1 : 0;
    if (least > 0) worst = (std::max)(worst, static_cast<double>(best->makespan) / static_cast<double>(least));
  }
  CHECK(best_found > asked * 49 / 50);
  CHECK(proved > asked / 3);
  CHECK(slowest_is_slower > asked / 5);  // what a schedule is looked at for
  CHECK(worst < 1.1);
}

TEST_CASE("a layout for a schedule is refused where they do not go together", "[planner][layout]") {
  using hocket::errc;
  const planner::layout_problem p{.layers = std::vector<ticks>(8, 10), .ranks = 4};
  const auto four = pipeline::one_f_one_b::make({.ranks = 4, .micro_batches = 8}).value();
  const auto code = [&](const planner::layout_problem& of, const auto& schedule, const planner::layout_run& how) {
    return planner::solve(of, schedule, how).error().code;
  };
  CHECK(planner::solve(p, four)->makespan == 8 * 20 + 3 * 20);
  CHECK(planner::solve(p, four)->proved());
  const auto two = pipeline::one_f_one_b::make({.ranks = 2, .micro_batches = 8}).value();
  CHECK(code(p, two, {}) == errc::bad_shape);
  const auto both_ways = pipeline::any_schedule::make("dualpipe", {.ranks = 4, .micro_batches = 8});
  REQUIRE(both_ways);
  CHECK(code(p, *both_ways, {}) == errc::bad_shape);
  CHECK(code(p, four, {.hop = -1}) == errc::out_of_range);
  CHECK(code(p, four, {.forward_parts = 2, .whole_parts = 3}) == errc::out_of_range);
  CHECK(code(p, four, {.whole_parts = 5000}) == errc::out_of_range);
  CHECK(code(p, four, {.budget = -1}) == errc::invalid_argument);
  const planner::layout_problem long_layers{.layers = std::vector<ticks>(1 << 16, ticks{1} << 40), .ranks = 4};
  CHECK(code(long_layers, pipeline::one_f_one_b::make({.ranks = 4, .micro_batches = 1 << 10}).value(), {}) ==
        errc::overflow);
  CHECK(code({.layers = {}, .ranks = 4}, four, {}) == errc::out_of_range);
}
