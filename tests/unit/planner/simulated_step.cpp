// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A step with a simulated pipeline: against the closed form where that is exact, and against 1F1B written out by hand.
#include <hocket/cost/machines.hpp>
#include <hocket/cost/model/uniform_list.hpp>
#include <hocket/pipeline/schedules/interleaved.hpp>
#include <hocket/pipeline/schedules/one_f_one_b.hpp>
#include <hocket/planner/plan/simulated_step.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "catch.hpp"
#include "data/cost/published_shapes.hpp"

using namespace hocket::planner;
namespace cost = hocket::cost;
namespace pipeline = hocket::pipeline;
using hocket::errc;
using hocket::seconds;

namespace {

/// The rates of a shipped machine; devices late by so much.
cost::machine rates_with(double spread) {
  cost::machine on = cost::machines::b200_fitted.rates;
  on.spread = spread;
  on.launch_seconds = 0;
  return on;
}
/// A step whose layers are dealt out as `sizes` says.
template <class S>
hocket::result<cost::step_prediction> simulated(const cost::layer_list& list, const cost::training& t,
                                                const cost::parallel& p, const cost::machine& on, double hop,
                                                const S& plan, const std::vector<std::int64_t>& sizes = {}) {
  const auto ranks = cost::layers_of_ranks(list, p, sizes).value();
  return simulate_step(list, t, p, on, ranks, sizes, seconds(hop), plan, "a test's");
}
cost::training step_of(std::int64_t batch) { return {.sequence = 4096, .global_batch = batch}; }

/// When the last backward pass of 1F1B ends, by its rule: rank r runs p - 1 - r forwards, then both in turn.
double end_of_1f1b(const std::vector<stage_time>& stages, std::size_t batches, double hop) {
  const std::size_t p = stages.size();
  std::vector<std::vector<double>> there(p, std::vector<double>(batches, -1)), back = there;
  std::vector<double> now(p);
  std::vector<std::size_t> forwards(p), backwards(p);
  for (std::size_t left = 2 * p * batches; left > 0;)
    for (std::size_t r = 0; r < p; ++r) {
      const bool forward = forwards[r] < std::min(batches, p - r + backwards[r]);
      const std::size_t m = forward ? forwards[r] : backwards[r];
      if (m == batches) continue;
      double ready = 0;
      if (forward && r > 0) ready = there[r - 1][m] < 0 ? -1 : there[r - 1][m] + hop;
      if (!forward && r + 1 < p) ready = back[r + 1][m] < 0 ? -1 : back[r + 1][m] + hop;
      if (ready < 0) continue;
      now[r] = std::max(now[r], ready) + (forward ? stages[r].forward : stages[r].backward).count();
      (forward ? there : back)[r][m] = now[r];
      ++(forward ? forwards : backwards)[r];
      --left;
    }
  return *std::max_element(now.begin(), now.end());
}

}  // namespace

TEST_CASE("without a pipeline the simulated step is the predicted one", "[planner][plan]") {
  const cost::layer_list list = published::llama_7b;
  for (const double spread : {0.0, 0.02})
    for (const std::int64_t dp : {1, 8}) {
      const cost::machine on = rates_with(spread);
      const cost::training t = step_of(64);
      const cost::parallel p{.tp = 2, .dp = dp};
      const auto plan = pipeline::one_f_one_b::make({.ranks = 1, .micro_batches = 64 / dp}).value();
      const auto step = simulated(list, t, p, on, 1e-3, plan).value();
      const double predicted = cost::predict_step(list, t, p, on).value().step_time().count();
      CHECK(std::abs(step.step_time().count() - predicted) < 1e-6 * predicted);  // passes are whole nanoseconds
      CHECK(step.parts.bubble.count() < 1e-6 * predicted);
      // Whoever asks without a schedule gets the closed form, which is exact here.
      const auto ranks = cost::layers_of_ranks(list, p).value();
      CHECK(simulate_step(list, t, p, on, ranks).value().step_time().count() == predicted);
    }
}

TEST_CASE("a simulated step has the makespan of 1F1B, with a head that makes the last stage longer",
          "[planner][plan]") {
  const cost::layer_list list = published::llama_7b;
  const cost::machine on = rates_with(0);
  for (const std::int64_t pp : {2, 4, 8}) {
    const cost::training t = step_of(12);
    const cost::parallel p{.pp = pp};
    const auto plan = pipeline::one_f_one_b::make({.ranks = pp, .micro_batches = 12}).value();
    std::vector<stage_time> stages;
    const auto layers = layers_of_stages(list, p).value();
    for (const cost::rank_layers& stage : layers) stages.push_back(time_of_stage(list, stage, t, p, on).value());
    CHECK(stages.back().forward > stages.front().forward);
    for (const double hop : {1e-6, 5e-3}) {
      const auto step = simulated(list, t, p, on, hop, plan).value();
      const double by_hand = end_of_1f1b(stages, 12, hop), pipeline = step.numbers.pipeline_seconds;
      CHECK(std::abs(pipeline - by_hand) < 1e-6 * by_hand);
      const cost::step_parts parts = cost::predict_step(list, t, p, on).value().parts;
      const seconds around = parts.data_loading + parts.optimizer + parts.post_processing;
      CHECK(parts.optimizer.count() > 0);
      CHECK(std::abs(step.step_time().count() - pipeline - around.count()) < 1e-9);
      CHECK(step.parts.total() == step.step_time());
      const double tokens = step.tokens_per_second_per_device * step.step_time().count() * static_cast<double>(pp);
      CHECK(std::abs(tokens - 12 * 4096) < 1e-6 * tokens);
    }
  }
}

TEST_CASE("a simulated step takes the split that it is given", "[planner][plan]") {
  const cost::layer_list list = published::llama_7b;
  const cost::machine on = rates_with(0);
  const cost::training t = step_of(16);
  const cost::parallel p{.pp = 2, .vp = 2};
  const auto plan = pipeline::interleaved::make({.ranks = 2, .chunks = 2, .micro_batches = 16}).value();
  const std::vector<std::int64_t> lopsided = {2, 2, 2, 26};
  const auto even = simulated(list, t, p, on, 1e-6, plan).value();
  const auto uneven = simulated(list, t, p, on, 1e-6, plan, lopsided).value();
  CHECK(uneven.numbers.pipeline_seconds > 1.5 * even.numbers.pipeline_seconds);
}

TEST_CASE("a schedule of another step is refused", "[planner][plan]") {
  const cost::layer_list list = published::llama_7b;
  const cost::machine on = rates_with(0);
  const auto plan = pipeline::one_f_one_b::make({.ranks = 2, .micro_batches = 8}).value();
  CHECK(simulated(list, step_of(16), {.pp = 2}, on, 1e-6, plan).error().code == errc::bad_shape);
  CHECK(simulated(list, step_of(8), {.pp = 4}, on, 1e-6, plan).error().code == errc::bad_shape);
  constexpr double a_year = 3e7;
  CHECK(simulated(list, step_of(8), {.pp = 2}, on, a_year, plan).error().code == errc::limit_exceeded);
}

TEST_CASE("stages of ranks are the layers of stages, with what each run computes again", "[planner][plan]") {
  cost::layer_list list = published::llama_7b;
  list.layers.push_back(list.layers.front());
  list.layers.back().count = 5;  // a second kind would be another; a second run is enough
  const cost::parallel p{.pp = 3, .vp = 2, .recompute = cost::recompute::full};
  for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{}, {10, 7, 0, 9, 10, 1}}) {
    const auto ranks = cost::layers_of_ranks(list, p, sizes).value();
    const auto direct = layers_of_stages(list, p, sizes).value();
    const auto stages = stages_of_ranks(list, p, ranks, sizes).value();
    REQUIRE(stages.size() == direct.size());
    for (std::size_t s = 0; s < stages.size(); ++s) {
      CHECK(stages[s].layer_count == direct[s].layer_count);
      CHECK(stages[s].ends.first == direct[s].ends.first);
      CHECK(stages[s].ends.last == direct[s].ends.last);
      CHECK(time_of_stage(list, stages[s], step_of(8), p, rates_with(0)).value().backward ==
            time_of_stage(list, direct[s], step_of(8), p, rates_with(0)).value().backward);
    }
  }
  const auto ranks = cost::layers_of_ranks(list, p).value();
  CHECK(stages_of_ranks(list, p, ranks, std::vector<std::int64_t>{1, 1, 1, 1, 1, 1}).error().code ==
        errc::contradictory_field);
  CHECK(stages_of_ranks(list, p, ranks, std::vector<std::int64_t>{37}).error().code == errc::bad_shape);
}

TEST_CASE("a boundary tensor is split over the ranks that split the sequence", "[planner][plan]") {
  const cost::layer_list list = published::llama_7b;
  const cost::training t = step_of(8);
  CHECK(boundary_bytes(list, t, {.pp = 2}) == 4096.0 * 4096 * 2);
  CHECK(boundary_bytes(list, t, {.tp = 4, .pp = 2, .sequence_parallel = true}) == 4096.0 * 4096 * 2 / 4);
  CHECK(boundary_bytes(list, t, {.pp = 2, .cp = 2}) == 4096.0 * 4096 * 2 / 2);
}
