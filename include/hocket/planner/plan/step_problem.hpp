// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/core/time.hpp>
#include <hocket/cost/device_memory.hpp>
#include <hocket/cost/machine.hpp>
#include <hocket/cost/model/convention.hpp>
#include <hocket/cost/model/list_time.hpp>
#include <hocket/planner/plan/stage_time.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

// One training step of a fixed layout: the question that plan_step answers.
namespace hocket::inline HOCKET_ABI::planner {
// NOLINTBEGIN(bugprone-unchecked-optional-access): what is read there, check() or the caller has seen

/// A link between pipeline ranks whose speed is known better than the machine says.
struct pipeline_link {
  seconds latency{};
  double bytes_per_second = 0;
};

/// Which schedule the pipeline runs.
struct schedule_choice {
  std::string name = "search";      ///< of pipeline::schedule_names, or "search": the shortest that is found
  std::string groups = "balanced";  ///< of interleaved: pipeline::any_schedule_options::groups
  std::uint32_t kappa = 0;          ///< of interleaved; 0: what the groups prefer
  friend bool operator==(const schedule_choice&, const schedule_choice&) = default;
};

/// What the passes of every stage take, where that was measured.
struct measured_passes {
  seconds forward{}, backward{};
};

/// One training step: the model, how it is trained and spread, on what. It owns all that it says.
///
///     planner::step_problem q{.model = model, .training = t, .parallel = {.tp = 8, .pp = 4, .dp = 2}};
///     q.on = cost::machines::find("h100_sxm")->rates;
///     planner::plan_step(q)->step->step_time();
struct step_problem {
  cost::layer_list model;  ///< with padded vocabulary and prediction modules, where the step has them
  cost::training training;
  cost::convention counted{};
  cost::parallel parallel{};
  cost::replay_set replay{};  ///< what every layer computes again beside the level of `parallel`
  cost::device_memory memory{};
  std::optional<cost::machine> on{};    ///< absent: passes take FLOPs / flops_per_second, and the rest is unknown
  double flops_per_second = 0;          ///< only without a machine
  std::optional<pipeline_link> link{};  ///< absent: the machine's own
  std::optional<measured_passes> measured{};
  schedule_choice schedule{};
  /// Layers of each stage in model order; empty: as cost::dealt_stages has them, unless search_split.
  std::vector<std::int64_t> split{};
  bool search_split = false;      ///< chooses which layers a stage runs, and what each computes again
  bool search_recompute = false;  ///< with a split: any level for any layer, else that of `parallel`

  [[nodiscard]] std::int64_t micro_batches() const noexcept { return micro_batches_of(training, parallel); }
  [[nodiscard]] std::int64_t stages() const noexcept { return parallel.pp * parallel.vp; }
  /// Whether stage times come from the rates of the machine.
  [[nodiscard]] bool timed_by_machine() const noexcept { return on && !measured; }
};

/// How long an open split and an open schedule are looked for. Sizes and changes are compared by the quick ones; the
/// best of them is planned in full.
enum class split_effort : std::uint8_t {
  levels,  ///< the even split, with the best levels
  quick,   ///< few splits, few schedules
  full     ///< as many as solve(split_problem, schedule) takes, and ten times as many schedules
};

/// How a step is planned.
struct plan_options {
  bool record = true;  ///< keeps the timeline
  split_effort effort = split_effort::full;
};

/// Time of one boundary tensor from a pipeline rank to the next. Complexity: O(runs of equal layers).
[[nodiscard]] inline seconds hop_of(const step_problem& q) {
  if (q.link) {
    const double sent = boundary_bytes(q.model, q.training, q.parallel);
    return q.link->latency + seconds(sent / q.link->bytes_per_second);
  }
  return q.on ? cost::time_of_hop(q.model, q.training, q.parallel, *q.on) : seconds{};
}

/// The passes of each stage: measured, or by the rates of the machine, or by FLOPs alone.
/// Errors: those of time_of_stage and counted_stage. Complexity: one pass over the formulas per run.
[[nodiscard]] inline result<std::vector<stage_time>> times_of_stages(const step_problem& q,
                                                                     std::span<const cost::rank_layers> stages) {
  std::vector<stage_time> out;
  for (const cost::rank_layers& stage : stages) {
    if (q.measured) {
      out.push_back({stage.layer_count, q.measured->forward, q.measured->backward});
      continue;
    }
    const auto time = q.on ? time_of_stage(q.model, stage, q.training, q.parallel, *q.on)
                           : counted_stage(q.model, stage, q.training, q.parallel, q.counted, q.flops_per_second);
    if (!time) return time.error();
    out.push_back(*time);
  }
  return out;
}

// NOLINTEND(bugprone-unchecked-optional-access)
}  // namespace hocket::inline HOCKET_ABI::planner
