// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/costs.hpp>
#include <hocket/pipeline/run.hpp>
#include <hocket/pipeline/workspace.hpp>
#include <hocket/planner/split/detail/run_split.hpp>
#include <hocket/planner/split/run.hpp>
#include <hocket/planner/split/solve.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// What the stages of a split take, in nanoseconds of one micro-batch: each list has a value for every stage.
struct split_times {
  std::vector<ticks> forward, backward, input_grad, weight_grad;
  ticks hop = 0;

  /// The same as costs for pipeline::simulate. They refer to this object.
  [[nodiscard]] pipeline::stage_costs costs() const& noexcept {
    return {.forward = forward, .backward = backward, .input_grad = input_grad, .weight_grad = weight_grad, .hop = hop};
  }
  pipeline::stage_costs costs() const&& = delete;
};

/// The times with which a plan runs: what solve(problem, schedule, how) simulates.
/// Preconditions: `plan` answers the problem, check(problem, how) passes. O(layers).
///
///     const auto times = planner::times_of(problem, plan, how);
///     pipeline::simulate(schedule, times.costs())->makespan == plan.step_time.count();
[[nodiscard]] inline split_times times_of(const split_problem& problem, const split_plan& plan,
                                          const split_run& how = {}) {
  const detail::stage_clock clock(problem, how);
  std::vector<const level_list*> levels_of;
  for (const split_layers& run : problem.layers)
    levels_of.insert(levels_of.end(), static_cast<std::size_t>(run.count), &run.each.levels);
  split_times times;
  times.hop = how.hop.count();
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const split_stage& stage = plan.stages[s];
    ticks extra = 0;
    for (std::size_t i = 0; i < stage.levels.size(); ++i)
      extra += (*levels_of[static_cast<std::size_t>(stage.first_layer) + i])[stage.levels[i]].extra.count();
    const detail::stage_run x = clock(s, stage.first_layer, stage.first_layer + stage.layers, extra);
    times.forward.push_back(x.forward);
    times.backward.push_back(x.whole - x.forward);
    times.input_grad.push_back(x.whole - 2 * x.forward);
    times.weight_grad.push_back(x.forward);
  }
  return times;
}

namespace detail {

/// @param start  cuts of a plan to begin with, or nothing
template <pipeline::schedule S>
[[nodiscard]] result<split_plan> solve_schedule_from(const split_problem& problem, const S& schedule,
                                                     const split_run& how, std::span<const std::int64_t> start) {
  using std::chrono::nanoseconds;
  if (const auto ok = check(problem); !ok) return ok.error();
  if (const auto ok = check(problem, how); !ok) return ok.error();
  const std::int64_t stages = problem.in_flight.stages();
  if (const std::int64_t given = std::int64_t{schedule.ranks()} * schedule.chunks(); given != stages)
    return error{errc::out_of_range, given, stages, stages}.with("stages of the schedule");
  auto graph = run_graph::make(schedule, how.hop.count());
  if (!graph) return graph.error();
  const auto found = run_split(problem, how, *graph)(start);
  if (!found) return found.error();
  split_plan plan = found->plan;
  const split_times times = times_of(problem, plan, how);
  pipeline::workspace memory;
  const auto ran = pipeline::run(schedule, times.costs(), memory);
  if (!ran) return ran.error();
  plan.steps = 1;
  plan.step_time = nanoseconds(found->makespan);
  plan.lower_bound = nanoseconds(found->bound);
  plan.proved = plan.step_time == plan.lower_bound;
  if (const auto ok = check_answer(problem, plan, ran->makespan); !ok) return ok.error();
  return plan;
}

}  // namespace detail

/// The split and levels that fit the memory of each rank with the shortest step of the schedule that runs them.
/// `step_time` is the makespan of one step as pipeline::simulate tells it, whatever `problem.goal` says. `lower_bound`
/// holds for every split: it comes from paths through the run that dwell on one rank. `proved` says that they are
/// equal. Plans are found by moves of cuts and levels. Each move is simulated unless a path of an earlier run already
/// tells that it is too long. All decisions are made in integers, so that every machine finds the same plan.
/// @param schedule  `problem.in_flight` is in_flight_profile::make(schedule), or make_pairs
/// @param how       hops, and what stands on each stage besides its layers
/// Errors: those of solve(problem), check(problem, how) and pipeline::simulate; errc::out_of_range if the schedule has
/// another number of stages than the problem. Complexity: `problem.budget` bounds the actions simulated, to some 40 for
/// each unit; then the bound. Source: docs/planner.md, "Stage split".
///
///     const auto schedule = pipeline::interleaved::make({.ranks = 4, .chunks = 2, .micro_batches = 8}).value();
///     problem.in_flight = planner::in_flight_profile::make(schedule).value();
///     const auto plan = planner::solve(problem, schedule, {.hop = 100us});
template <pipeline::schedule S>
[[nodiscard]] result<split_plan> solve(const split_problem& problem, const S& schedule, const split_run& how = {}) {
  return detail::solve_schedule_from(problem, schedule, how, {});
}

}  // namespace hocket::inline HOCKET_ABI::planner
