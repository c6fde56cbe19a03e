// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/core/time.hpp>
#include <hocket/cost/model/list_time.hpp>
#include <hocket/pipeline/costs.hpp>
#include <hocket/pipeline/schedule.hpp>
#include <hocket/pipeline/simulate.hpp>
#include <hocket/planner/plan/stage_time.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

// Seconds of a step whose pipeline is simulated.
namespace hocket::inline HOCKET_ABI::planner {

/// A step, taken apart: its pipeline as a schedule runs it, and what stands around that. All of it adds up.
struct simulated_step {
  seconds pipeline{};          ///< until the last rank is done: compute, collectives that show, hops, bubble
  seconds data_loading{};      ///< until the step's data are there
  seconds exchange_exposed{};  ///< transfers over the data-parallel group that nothing hides
  seconds slowest_device{};    ///< what all wait for the slowest device
  seconds optimizer{};         ///< update of the weights
  seconds post_processing{};   ///< after the optimizer
  seconds scheduling{};        ///< the device waits for the host to launch

  [[nodiscard]] constexpr seconds total() const noexcept {
    return pipeline + data_loading + exchange_exposed + slowest_device + optimizer + post_processing + scheduling;
  }
};

/// A step from its simulated pipeline and what predict_step puts around one. The bubble of the prediction, a closed
/// form for equal stages, is not used: the simulation has it.
/// @param pipeline  simulated
/// Complexity: O(1).
[[nodiscard]] inline simulated_step with_pipeline(const cost::step_prediction& predicted, const cost::training& t,
                                                  const cost::parallel& p, seconds pipeline) noexcept {
  const cost::step_numbers& x = predicted.numbers;
  const std::int64_t count = t.global_batch / (t.micro_batch * p.dp);
  const auto micro_batches = static_cast<double>(count);
  const seconds late(x.lateness * micro_batches * x.compute_seconds);
  const seconds in_stages(micro_batches * x.exposed_seconds);
  simulated_step out{.pipeline = pipeline,
                     .data_loading = predicted.parts.data_loading,
                     .exchange_exposed = predicted.parts.communication_exposed - in_stages - late,
                     .slowest_device = late,
                     .optimizer = predicted.parts.optimizer,
                     .post_processing = predicted.parts.post_processing};
  out.exchange_exposed = (std::max)(seconds{}, out.exchange_exposed);  // a difference: rounding may go below 0
  const seconds launches(2 * micro_batches * x.kernels * x.launch_seconds);
  out.scheduling = (std::max)(seconds{}, launches - (pipeline + out.exchange_exposed + late));
  return out;
}

namespace detail {
/// Whole nanoseconds, at least one: what is free would let a schedule put any number of it in one moment.
inline result<ticks> whole_nanoseconds(seconds time) {
  constexpr double most = 9e15;  // 100 days; also keeps sums within 64 bits
  const double ns = time.count() * 1e9;
  if (!(ns < most)) return error{errc::limit_exceeded}.with("a pass or hop of 100 days or more");
  return (std::max)(ticks{1}, static_cast<ticks>(std::llround(ns)));
}
}  // namespace detail

/// Predicts the time of one training step as a schedule runs it: the one function for a fixed layout, whatever asks.
/// @param hop    time of one boundary tensor from a pipeline rank to the next (boundary_bytes)
/// @param plan   a schedule of pp ranks with vp chunks and the step's micro-batches
/// @param sizes  layers of each stage in model order; empty: dealt out as cost::layers_of_ranks does
/// Errors: those of cost::predict_step and of pipeline::simulate; errc::bad_shape unless the schedule has the ranks and
/// chunks of p and the micro-batches of the step; errc::limit_exceeded if a pass takes 100 days.
/// Complexity: one pass over the formulas per run of layers, and one simulation: O(actions).
///
///     const auto plan = pipeline::one_f_one_b::make({.ranks = 4, .micro_batches = 32});
///     simulate_step(list, t, p, cost::machines::b200_fitted.rates, seconds(1e-4), *plan)->total()
template <pipeline::schedule S>
[[nodiscard]] result<simulated_step> simulate_step(const cost::layer_list& list, const cost::training& t,
                                                   const cost::parallel& p, const cost::machine& on, seconds hop,
                                                   const S& plan, std::span<const std::int64_t> sizes = {}) {
  if (const auto fits = cost::check(list, t, p); !fits) return fits.error();
  const std::int64_t micro_batches = t.global_batch / (t.micro_batch * p.dp);
  if (plan.ranks() != p.pp || plan.chunks() != p.vp || plan.micro_batches() != micro_batches)
    return error{errc::bad_shape, p.pp, p.vp, micro_batches}.with("schedule of another step");
  const auto stages = layers_of_stages(list, p, sizes);
  if (!stages) return stages.error();
  std::vector<ticks> forward, backward;
  for (const cost::rank_layers& stage : *stages) {
    const auto time = time_of_stage(list, stage, t, p, on);
    if (!time) return time.error();
    const auto there = detail::whole_nanoseconds(time->forward);
    if (!there) return there.error();
    const auto back = detail::whole_nanoseconds(time->backward);
    if (!back) return back.error();
    forward.push_back(*there);
    backward.push_back(*back);
  }
  const auto between = detail::whole_nanoseconds(hop);
  if (!between) return between.error();
  const auto run =
      pipeline::simulate(plan, pipeline::stage_costs{.forward = forward, .backward = backward, .hop = *between});
  if (!run) return run.error();
  const auto predicted = cost::predict_step(list, t, p, on, sizes);
  if (!predicted) return predicted.error();
  return with_pipeline(*predicted, t, p, seconds(static_cast<double>(run->makespan) / 1e9));
}

}  // namespace hocket::inline HOCKET_ABI::planner
