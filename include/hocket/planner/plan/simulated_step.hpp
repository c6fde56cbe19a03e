// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/core/time.hpp>
#include <hocket/cost/fit_machine.hpp>
#include <hocket/cost/model/list_time.hpp>
#include <hocket/pipeline/costs.hpp>
#include <hocket/pipeline/schedule.hpp>
#include <hocket/pipeline/schedules/interleaved.hpp>
#include <hocket/pipeline/simulate.hpp>
#include <hocket/planner/plan/stage_time.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Seconds of a step whose pipeline is simulated.
namespace hocket::inline HOCKET_ABI::planner {

/// The schedule that is assumed where none is named: 1F1B, or with several chunks interleaved 1F1B with balanced
/// groups. With one chunk and a kappa of 2 it would be eager 1F1B, which holds more.
/// Errors: those of pipeline::interleaved. Complexity: O(1).
[[nodiscard]] inline result<pipeline::interleaved> usual_schedule(const cost::parallel& p, std::int64_t micro_batches) {
  const std::uint32_t kappa = p.vp == 1 ? 1 : 2;
  return pipeline::interleaved::make({.ranks = p.pp, .chunks = p.vp, .micro_batches = micro_batches},
                                     pipeline::groups::balanced(), {.kappa = kappa});
}
/// What usual_schedule is called.
[[nodiscard]] constexpr std::string_view usual_schedule_name(const cost::parallel& p) noexcept {
  return p.vp == 1 ? "1f1b" : "interleaved";
}

/// Times of all stages in whole nanoseconds, as a simulation takes them. A backward is the gradient of the input and,
/// as long as a forward, that of the weights: for schedules that run them apart.
struct stage_ticks {
  std::vector<ticks> forward, backward, input_grad, weight_grad;
  ticks hop = 1;
  [[nodiscard]] pipeline::stage_costs costs() const noexcept {
    return {.forward = forward, .backward = backward, .input_grad = input_grad, .weight_grad = weight_grad, .hop = hop};
  }
};

namespace detail {
/// At least one: what is free would let a schedule put any number of it in one moment.
inline result<ticks> whole_nanoseconds(seconds time, const char* of, std::int64_t stage) {
  constexpr std::int64_t most = 9'000'000'000'000'000;  // 100 days; also keeps sums within 64 bits
  const double ns = time.count() * 1e9;
  if (ns < static_cast<double>(most)) return (std::max)(ticks{1}, static_cast<ticks>(std::llround(ns)));
  constexpr double no_more = 9.2e18;
  const auto whole = static_cast<std::int64_t>(ns < no_more ? ns : no_more);
  return error{errc::limit_exceeded, whole, most}.with(of + (stage < 0 ? std::string() : std::to_string(stage)));
}
}  // namespace detail

/// Rounds the passes of stages, and the hop between two, to nanoseconds.
/// Errors: errc::limit_exceeded if one takes 100 days or more. Complexity: O(stages).
[[nodiscard]] inline result<stage_ticks> ticks_of(std::span<const stage_time> stages, seconds hop) {
  stage_ticks out;
  std::int64_t at = 0;
  for (const stage_time& stage : stages) {
    const auto forward = detail::whole_nanoseconds(stage.forward, "ns of the forward pass of stage ", at);
    const auto backward = detail::whole_nanoseconds(stage.backward, "ns of the backward pass of stage ", at);
    if (!forward) return forward.error();
    if (!backward) return backward.error();
    out.forward.push_back(*forward);
    out.backward.push_back((std::max)(ticks{2}, *backward));
    out.weight_grad.push_back((std::min)(*forward, out.backward.back() - 1));
    out.input_grad.push_back(out.backward.back() - out.weight_grad.back());
    ++at;
  }
  const auto between = detail::whole_nanoseconds(hop, "ns of a hop between two ranks", -1);
  if (!between) return between.error();
  out.hop = *between;
  return out;
}

/// Predicts one training step as a schedule runs it: cost::predict_step with a simulated pipeline.
/// @param ranks  layers of each rank, as in cost::predict_step
/// @param sizes  layers of each stage in model order, from which `ranks` were made
/// @param hop    of one boundary tensor from a pipeline rank to the next: cost::time_of_hop
/// @param plan   a schedule of pp ranks with vp chunks and the step's micro-batches
/// @param name   literal: what the schedule is called
/// Errors: those of cost::predict_step and of pipeline::simulate; errc::bad_shape unless the schedule has the ranks and
/// chunks of p and the micro-batches of the step; errc::limit_exceeded if a pass takes 100 days.
/// Complexity: one pass over the formulas per run of layers, and one simulation: O(actions).
template <pipeline::schedule S>
[[nodiscard]] result<cost::step_prediction> simulate_step(const cost::layer_list& list, const cost::training& t,
                                                          const cost::parallel& p, const cost::machine& on,
                                                          std::span<const cost::rank_layers> ranks,
                                                          std::span<const std::int64_t> sizes, seconds hop,
                                                          const S& plan, std::string_view name) {
  const auto predicted = cost::predict_step(list, t, p, on, ranks);
  if (!predicted) return predicted.error();
  const std::int64_t micro_batches = micro_batches_of(t, p);
  if (plan.ranks() != p.pp || plan.chunks() != p.vp || plan.micro_batches() != micro_batches)
    return error{errc::bad_shape, p.pp, p.vp, micro_batches}.with("schedule of another step");
  const auto stages = stages_of_ranks(list, p, ranks, sizes);
  if (!stages) return stages.error();
  std::vector<stage_time> times;
  for (const cost::rank_layers& stage : *stages) {
    const auto time = time_of_stage(list, stage, t, p, on);
    if (!time) return time.error();
    times.push_back(*time);
  }
  const auto now = ticks_of(times, hop);
  if (!now) return now.error();
  const auto run = pipeline::simulate(plan, now->costs());
  if (!run) return run.error();
  return cost::with_pipeline(*predicted, t, p, seconds(static_cast<double>(run->makespan) / 1e9), name);
}

/// The same with usual_schedule and the machine's own links: what a step of a fixed layout takes, whatever asks.
/// Without a pipeline there is nothing to simulate. The closed form of cost::predict_step stands where a step has more
/// than 2^22 passes, and where no schedule exists: fewer micro-batches than ranks of several chunks.
///
///     const auto ranks = cost::layers_of_ranks(list, p);
///     simulate_step(list, t, p, cost::machines::find("h100_sxm")->rates, *ranks)->step_time()
[[nodiscard]] inline result<cost::step_prediction> simulate_step(const cost::layer_list& list, const cost::training& t,
                                                                 const cost::parallel& p, const cost::machine& on,
                                                                 std::span<const cost::rank_layers> ranks,
                                                                 std::span<const std::int64_t> sizes = {}) {
  constexpr std::int64_t most_passes = std::int64_t{1} << 22;
  if (const auto fits = cost::check(list, t, p); !fits) return fits.error();
  const std::int64_t micro_batches = micro_batches_of(t, p);
  const auto plan = usual_schedule(p, micro_batches);
  if (p.pp == 1 || !plan || micro_batches > most_passes / (2 * p.pp * p.vp))
    return cost::predict_step(list, t, p, on, ranks);
  return simulate_step(list, t, p, on, ranks, sizes, cost::time_of_hop(list, t, p, on), *plan, usual_schedule_name(p));
}

/// Seconds of a measured step by simulate_step, for cost::fit_machine and cost::prediction_error.
[[nodiscard]] inline result<seconds> simulated_seconds(const cost::measured_step& step, const cost::machine& on) {
  std::vector<cost::rank_layers> even;
  if (step.ranks.empty()) {
    auto dealt = cost::layers_of_ranks(step.model, step.parallel);
    if (!dealt) return dealt.error();
    even = std::move(*dealt);
  }
  const auto out = simulate_step(step.model, step.training, step.parallel, on, step.ranks.empty() ? even : step.ranks);
  if (!out) return out.error();
  return out->step_time();
}

}  // namespace hocket::inline HOCKET_ABI::planner
