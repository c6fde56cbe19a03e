// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/message.hpp>
#include <hocket/pipeline/any_schedule.hpp>
#include <hocket/pipeline/simulate.hpp>
#include <hocket/planner/plan/layer_split.hpp>
#include <hocket/planner/plan/rank_bytes.hpp>
#include <hocket/planner/plan/simulated_step.hpp>
#include <hocket/planner/plan/step_problem.hpp>
#include <hocket/planner/schedule/solve.hpp>
#include <hocket/timeline/timeline.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

// The plan of one training step: its stages, its schedule, its memory, its time.
namespace hocket::inline HOCKET_ABI::planner {
// NOLINTBEGIN(bugprone-unchecked-optional-access): what is read there, check() or the caller has seen

/// The answer of plan_step.
struct step_plan {
  std::vector<stage_time> stages;                  ///< in model order
  std::optional<layer_split> split;                ///< absent: even, all recomputed alike
  std::string why_even;                            ///< why an open split was not chosen
  seconds hop{};                                   ///< of a boundary tensor between two ranks
  std::optional<pipeline::any_schedule> schedule;  ///< what runs; there always is one
  std::string found_by;                            ///< what found it, if the problem names none
  pipeline::simulation run;                        ///< ticks are nanoseconds
  hocket::timeline timeline;                       ///< of the run; empty beyond most_recorded passes
  std::vector<cost::rank_layers> ranks;            ///< what stands on each, and is computed again
  std::vector<cost::held_share> passes;            ///< what each holds in flight at its peak
  std::vector<cost::rank_memory> memory;           ///< of each at its peak
  std::optional<cost::step_prediction> step;       ///< of the whole step; absent without a machine

  /// The rank that needs most; the first of several.
  [[nodiscard]] const cost::rank_memory& fullest() const& noexcept {
    return *std::max_element(memory.begin(), memory.end(),
                             [](const auto& a, const auto& b) { return a.peak.total_bytes() < b.peak.total_bytes(); });
  }
  const cost::rank_memory& fullest() const&& = delete;
  /// Whether every rank has room for its peak.
  [[nodiscard]] bool fits(const cost::device_memory& room) const noexcept {
    return std::all_of(memory.begin(), memory.end(),
                       [&](const cost::rank_memory& each) { return cost::fits(each.peak, room); });
  }
  /// Until the last rank is done; of the whole step, step->step_time().
  [[nodiscard]] seconds makespan() const noexcept { return seconds(static_cast<double>(run.makespan) / 1e9); }
};

/// Most passes of which a plan keeps the timeline, and that it simulates.
inline constexpr std::int64_t most_recorded = std::int64_t{1} << 20, most_simulated = std::int64_t{1} << 26;

namespace detail {

inline constexpr std::int64_t most_searched = 1 << 14;  ///< passes of a schedule that is searched for
inline constexpr std::int64_t search_budget = 50'000, quick_search_budget = 5'000;

[[nodiscard]] inline pipeline::shape shape_of(const step_problem& q) {
  return {.ranks = q.parallel.pp, .chunks = q.parallel.vp, .micro_batches = q.micro_batches()};
}
[[nodiscard]] inline std::int64_t passes_of_step(const step_problem& q) { return 2 * q.stages() * q.micro_batches(); }

/// What usual_schedule is, as a choice.
[[nodiscard]] inline schedule_choice usual_choice(const cost::parallel& p) {
  return {std::string(usual_schedule_name(p)), "balanced", p.vp == 1 ? 0U : 2U};
}

/// The schedule that a problem names; where it names none, the usual one.
/// @param ratio  times of a forward and a backward pass, for groups that depend on them
[[nodiscard]] inline result<pipeline::any_schedule> schedule_of(const step_problem& q, const pipeline::costs& ratio) {
  const schedule_choice by = q.schedule.name == "search" ? usual_choice(q.parallel) : q.schedule;
  pipeline::any_schedule_options with;
  with.times = ratio;
  if (by.name == "1f1b" && by.kappa == 2) return pipeline::any_schedule::make("eager-1f1b", shape_of(q));
  if (by.name == "interleaved") {
    with.groups = by.groups;
    with.kappa = by.kappa;
  }
  return pipeline::any_schedule::make(by.name, shape_of(q), with);
}

/// The simulated time of all micro-batches on some stages.
[[nodiscard]] inline result<double> simulated_seconds_of(const step_problem& q,
                                                         std::span<const cost::rank_layers> stages, seconds hop,
                                                         const pipeline::any_schedule& plan) {
  const auto times = times_of_stages(q, stages);
  if (!times) return times.error();
  const auto now = ticks_of(*times, hop);
  if (!now) return now.error();
  const auto run = pipeline::simulate(plan, now->costs());
  if (!run) return run.error();
  return static_cast<double>(run->makespan) / 1e9;
}

/// Whether every rank has room under a split.
[[nodiscard]] inline result<bool> split_fits(const step_problem& q, const layer_split& split,
                                             const in_flight_profile& held) {
  const std::vector<cost::rank_layers> ranks = ranks_of_stages(split.stages, held);
  for (std::uint32_t r = 0; r < held.ranks(); ++r) {
    const auto memory = memory_of_stages(q, split.stages, ranks[r], held, r);
    if (!memory) return memory.error();
    if (!cost::fits(memory->peak, q.memory)) return false;
  }
  return true;
}

/// Stages of a problem and what stands on them, without a schedule.
struct planned_stages {
  split_answer split;
  in_flight_profile held;  ///< of a split
  std::vector<cost::rank_layers> stages;
};

/// The split depends on what ranks hold in flight, and where no schedule is named, only times decide between those that
/// are searched: then on what the usual one holds.
[[nodiscard]] inline result<planned_stages> stages_of_step(const step_problem& q, const plan_options& how) {
  planned_stages out;
  // Where there are more stages than layers, the first and the last stay empty, and the others have one each.
  const bool is_open = q.search_split && q.model.layer_count() >= q.parallel.pp * q.parallel.vp;
  if (is_open || !q.split.empty()) {
    const auto plan = schedule_of(q, {.forward = 1, .backward = 2});
    if (!plan) return plan.error();
    if (plan->directions() > 1)
      return error{errc::contradictory_field}.with("a split with " + std::string(plan->name()));
    auto held = in_flight_profile::make(*plan);
    if (!held) return held.error();
    out.held = *std::move(held);
    const seconds hop = hop_of(q);
    auto split = split_of_step(q, out.held, *plan, how, [&](const layer_split& some) {
      return simulated_seconds_of(q, some.stages, hop, *plan);
    });
    if (!split) return split.error();
    out.split = *std::move(split);
  }
  if (out.split.split) {
    out.stages = out.split.split->stages;
    return out;
  }
  auto even = layers_of_stages(q.model, q.parallel, q.split, q.replay);
  if (!even) return even.error();
  out.stages = *std::move(even);
  return out;
}

/// The schedule that runs: that of the problem, or if it names none the shortest found that holds no more activations
/// on any rank than the usual one.
struct chosen_schedule {
  pipeline::any_schedule plan;
  std::string found_by;
};
[[nodiscard]] inline result<chosen_schedule> choose_schedule(const step_problem& q, const planned_stages& on,
                                                             const stage_ticks& now, split_effort effort) {
  const auto usual = schedule_of(q, {.forward = now.forward.front(), .backward = now.backward.front()});
  if (!usual) return usual.error();
  if (q.schedule.name != "search") return chosen_schedule{*usual, {}};
  if (passes_of_step(q) > most_searched) return chosen_schedule{*usual, "interleaved, too long to search"};
  std::vector<std::uint32_t> caps;
  for (std::uint32_t r = 0; r < usual->ranks(); ++r) caps.push_back(usual->peak_in_flight(r));
  const std::int64_t budget = effort == split_effort::full ? search_budget : quick_search_budget;
  const auto found = planner::solve(
      {.shape = shape_of(q), .split_backward = false, .memory_cap = caps, .budget = budget}, now.costs());
  if (!found) return found.error();
  if (on.split.split) {  // as many activations may be of larger chunks: then the split decides
    const auto held = in_flight_profile::make(found->schedule);
    if (!held) return held.error();
    const auto by_usual = split_fits(q, *on.split.split, on.held), by_found = split_fits(q, *on.split.split, *held);
    if (!by_usual) return by_usual.error();
    if (!by_found) return by_found.error();
    if (*by_usual && !*by_found)
      return chosen_schedule{*usual, "interleaved, because the shorter ones found do not fit this split"};
  }
  return chosen_schedule{pipeline::any_schedule(found->schedule), std::string(found->found_by)};
}

/// What stands on each rank, by the placement of a schedule; of two directions, both.
[[nodiscard]] inline std::vector<cost::rank_layers> ranks_of_schedule(std::span<const cost::rank_layers> stages,
                                                                      const pipeline::any_schedule& plan) {
  std::vector<cost::rank_layers> out(plan.ranks());
  for (cost::rank_layers& x : out) x.ends.first = x.ends.last = false;
  const auto place = plan.placement();
  for (std::uint32_t d = 0; d < plan.directions(); ++d)
    for (std::uint32_t s = 0; s < stages.size(); ++s) {
      cost::rank_layers& to = out[place.rank_of(s, d)];
      to = joined(to, stages[s]);
    }
  for (std::size_t r = 0; r < out.size(); ++r) out[r].ends.rank = static_cast<std::int64_t>(r);
  return out;
}
/// What a rank holds with so many chunks in flight.
[[nodiscard]] inline cost::held_share share_of(const step_problem& q, const pipeline::any_schedule& plan,
                                               std::int64_t in_flight) {
  const std::int64_t chunks = std::int64_t{plan.chunks()} * plan.directions();
  return {cost::rational(in_flight) / cost::rational(chunks), (std::min)(q.micro_batches(), in_flight)};
}

/// Memory of every rank, and what stands there.
[[nodiscard]] inline result<void> add_memory(const step_problem& q, const planned_stages& on, step_plan& out) {
  out.ranks = ranks_of_schedule(on.stages, *out.schedule);
  in_flight_profile held;
  if (out.split) {
    auto made = in_flight_profile::make(*out.schedule);
    if (!made) return made.error();
    held = *std::move(made);
  }
  for (std::uint32_t r = 0; r < out.ranks.size(); ++r) {
    out.passes.push_back(share_of(q, *out.schedule, out.schedule->peak_in_flight(r)));
    const auto row = out.split ? memory_of_stages(q, on.stages, out.ranks[r], held, r)
                               : cost::memory_row(q.model, out.ranks[r], q.training, q.parallel, out.passes.back());
    if (!row) return row.error();
    out.memory.push_back(*row);
  }
  return {};
}

/// The whole step around the simulated pipeline. With two directions a rank runs each stage for half of the
/// micro-batches.
[[nodiscard]] inline result<void> add_step(const step_problem& q, step_plan& out) {
  if (!q.on) return {};
  auto step = cost::predict_step(q.model, q.training, q.parallel, *q.on, std::span<const cost::rank_layers>(out.ranks));
  if (!step) return step.error();
  const double directions = out.schedule->directions();
  cost::step_numbers& x = step->numbers;
  for (double* const each : {&x.compute_seconds, &x.exposed_seconds, &x.hidden_seconds, &x.hop_seconds, &x.kernels})
    *each /= directions;
  auto whole = cost::with_pipeline(*std::move(step), q.training, q.parallel, out.makespan(), out.schedule->name());
  if (!whole) return whole.error();
  out.step = *std::move(whole);
  return {};
}

[[nodiscard]] inline result<void> check(const step_problem& q) {
  if (const auto fits = cost::check(q.model, q.training, q.parallel); !fits) return fits;
  if (const auto even = cost::check_even_stages(q.model.layer_count(), q.parallel); !even) return even;
  if (const std::int64_t passes = passes_of_step(q); passes > most_simulated)
    return error{errc::limit_exceeded, passes, most_simulated}.with("passes of a step");
  if (!q.on && !q.measured && !(q.flops_per_second > 0))
    return error{errc::bad_rate}.with("flops_per_second: there is no machine");
  return {};
}

}  // namespace detail

/// Plans one training step: its split, its schedule, the memory of every rank at its peak, the time of the whole.
/// @param how  what to keep, and how long to look for a split
/// Errors: those of cost::check and check_even_stages for sizes that do not go together, and those of the schedule's
/// make. errc::contradictory_field for a split beside measured passes, offloaded activations or a schedule of two
/// directions; errc::limit_exceeded beyond 2^26 passes, or if one takes 100 days.
/// Complexity: a pass over the formulas per run of layers, one simulation, and the searches that the problem leaves
/// open.
///
///     const auto plan = planner::plan_step(q);
///     if (plan && plan->fits(q.memory)) run(*plan->schedule);
[[nodiscard]] inline result<step_plan> plan_step(const step_problem& q, const plan_options& how = {}) {
  if (const auto ok = detail::check(q); !ok) return ok.error();
  auto on = detail::stages_of_step(q, how);
  if (!on) return on.error();
  step_plan out;
  out.split = on->split.split;
  out.why_even = on->split.why_even;
  out.hop = hop_of(q);
  auto stages = times_of_stages(q, on->stages);
  if (!stages) return stages.error();
  out.stages = *std::move(stages);
  const auto now = ticks_of(out.stages, out.hop);
  if (!now) return now.error();
  auto chosen = detail::choose_schedule(q, *on, *now, how.effort);
  if (!chosen) return chosen.error();
  out.schedule = std::move(chosen->plan);
  out.found_by = std::move(chosen->found_by);
  out.timeline.ticks_per_second = 1'000'000'000;
  const bool recorded = how.record && detail::passes_of_step(q) <= most_recorded;
  auto run = pipeline::simulate(*out.schedule, now->costs(), {.into = recorded ? &out.timeline : nullptr});
  if (!run) return run.error();
  out.run = *std::move(run);
  if (const auto ok = detail::add_memory(q, *on, out); !ok) return ok.error();
  if (const auto ok = detail::add_step(q, out); !ok) return ok.error();
  return out;
}

/// The step of a plan whose pipeline takes another time: for another schedule on the same stages.
/// Precondition: plan.step. Errors: errc::undefined_value. O(1).
[[nodiscard]] inline result<cost::step_prediction> step_with(const step_problem& q, const step_plan& plan,
                                                             seconds pipeline, std::string_view schedule) {
  return cost::with_pipeline(*plan.step, q.training, q.parallel, pipeline, schedule);
}

// NOLINTEND(bugprone-unchecked-optional-access)
}  // namespace hocket::inline HOCKET_ABI::planner
