// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/plan/step_plan.hpp>
#include <hocket/planner/saved_tensors/stage.hpp>

#include <algorithm>
#include <utility>
#include <vector>

// A step whose saved tensors are kept, computed again or moved to the host, kind by kind.
namespace hocket::inline HOCKET_ABI::planner {
// NOLINTBEGIN(bugprone-unchecked-optional-access): what is read there, check() or the caller has seen

/// What such a step takes.
struct offloaded_step {
  cost::step_prediction step;
  bytes fullest{};  ///< of the rank that needs most
};

/// Whether offloaded_step can say something: equal layers, dealt out evenly, one chunk a rank, a link to the host.
[[nodiscard]] inline bool may_offload(const step_problem& q) noexcept {
  const bool even = !q.measured && q.split.empty() && !q.search_split && q.parallel.vp == 1;
  return even && q.timed_by_machine() && q.on->host_bytes > 0;
}

/// The step if every stage keeps, computes again or moves what fits with the least time (saved_tensors/solve.hpp). What
/// a stage takes longer comes before its backward passes.
/// Precondition: may_offload(q). Errors: those of plan_step and of solve(saved_tensor_problem).
[[nodiscard]] inline result<offloaded_step> with_offload(step_problem q) {
  q.parallel.recompute = cost::recompute::none;
  q.parallel.offload_activations = false;
  q.search_recompute = false;
  const auto plan = plan_step(q, {.record = false});
  if (!plan) return plan.error();
  offloaded_step out;
  std::vector<stage_time> stages = plan->stages;
  for (std::size_t r = 0; r < plan->ranks.size(); ++r) {
    const auto stage = saved_tensors_of(q.model, plan->ranks[r], q.training, q.parallel, *q.on,
                                        plan->run.ranks[r].peak_in_flight, q.memory);
    if (!stage) return stage.error();
    const auto chosen = planner::solve(stage->problem);
    if (!chosen) return chosen.error();
    stages[r].backward += seconds(static_cast<double>(chosen->extra.count()) / 1e9);
    out.fullest = (std::max)(out.fullest, stage->beside + chosen->held);
  }
  const auto now = ticks_of(stages, plan->hop);
  if (!now) return now.error();
  const auto run = pipeline::simulate(*plan->schedule, now->costs());
  if (!run) return run.error();
  auto step = step_with(q, *plan, seconds(static_cast<double>(run->makespan) / 1e9), "with offload");
  if (!step) return step.error();
  out.step = *std::move(step);
  return out;
}

// NOLINTEND(bugprone-unchecked-optional-access)
}  // namespace hocket::inline HOCKET_ABI::planner
