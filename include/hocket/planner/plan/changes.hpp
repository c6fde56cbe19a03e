// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/plan/compare_schedules.hpp>
#include <hocket/planner/plan/offloaded_step.hpp>
#include <hocket/planner/plan/step_plan.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

// What would help: a step planned again with one thing changed.
namespace hocket::inline HOCKET_ABI::planner {
// NOLINTBEGIN(bugprone-unchecked-optional-access): what is read there, check() or the caller has seen

/// A step with one thing changed.
struct planned_change {
  std::string what;              ///< in words: "search for the schedule"
  std::string family;            ///< what is changed: "schedule", "recompute"; one of each is recommended
  double step_seconds = 0;       ///< of the whole step; without a machine, of the pipeline
  double seconds_per_token = 0;  ///< of the whole job: what is compared
  std::int64_t bytes = 0;        ///< on the fullest rank
  bool fits = false;
  // What the changed step says: set it in the problem, and plan_step gives the figures above.
  cost::parallel parallel{};
  std::int64_t micro_batch = 1, global_batch = 1;
  schedule_choice schedule{};
};
/// The answer of try_changes.
struct tried_changes {
  planned_change now;                    ///< nothing changed
  std::vector<planned_change> possible;  ///< the best first: those that fit, by time; then the others, by memory
  std::vector<std::size_t> best;         ///< up to three of `possible` that help, one of a family
  std::size_t refused = 0;               ///< sizes that do not go together
  std::size_t left_out = 0;              ///< too much work
  /// What was not tried and why, as sentences.
  std::vector<std::string> not_tried;

  /// Whether neither the step nor any change of it fits the memory.
  [[nodiscard]] bool nothing_fits() const noexcept {
    const auto fits = [](const planned_change& x) { return x.fits; };
    return !now.fits && std::none_of(possible.begin(), possible.end(), fits);
  }
};
/// What with_offload() is called among the changes.
inline constexpr std::string_view offload_change = "keep, recompute or offload by kind of tensor";

/// Seconds of a plan: of the whole step, or of its pipeline without a machine.
[[nodiscard]] inline double seconds_of(const step_plan& plan) noexcept {
  return (plan.step ? plan.step->step_time() : plan.makespan()).count();
}

namespace detail {

struct step_change {
  std::string what, family;
  step_problem changed;
};
template <class Edit>
void add_change(std::vector<step_change>& all, const step_problem& q, std::string what, std::string family,
                const Edit& edit) {
  all.push_back({std::move(what), std::move(family), q});
  edit(all.back().changed);
}

[[nodiscard]] inline double tokens_of(const step_problem& q) noexcept {
  return static_cast<double>(q.training.global_batch) * static_cast<double>(q.training.sequence);
}

[[nodiscard]] inline planned_change priced(const step_problem& q, const step_plan& plan) {
  planned_change out;
  out.step_seconds = seconds_of(plan);
  out.seconds_per_token = out.step_seconds / tokens_of(q);
  out.bytes = bytes_up(plan.fullest().peak.total_bytes()).count();
  out.fits = plan.fits(q.memory);
  out.parallel = q.parallel;
  out.micro_batch = q.training.micro_batch;
  out.global_batch = q.training.global_batch;
  out.schedule = q.schedule;
  return out;
}

inline void add_schedules(std::vector<step_change>& all, const step_problem& q) {
  const auto named = [&](std::string what, const std::string& schedule, std::string_view groups) {
    if (q.schedule.name == schedule && (q.schedule.groups == groups || q.parallel.vp == 1)) return;
    add_change(all, q, std::move(what), "schedule",
               [schedule, groups](step_problem& x) { x.schedule = {schedule, std::string(groups), 0}; });
  };
  if (q.schedule.name != "search")
    add_change(all, q, "search for the schedule", "schedule", [](step_problem& x) { x.schedule = {}; });
  if (q.parallel.vp == 1) {
    named("schedule 1f1b", "1f1b", "balanced");
    named("schedule gpipe", "gpipe", "balanced");
    return;
  }
  for (const std::string_view groups : compared_groups)
    named("schedule interleaved, groups " + std::string(groups), "interleaved", groups);
}

inline void add_batches(std::vector<step_change>& all, const step_problem& q) {
  const cost::training& t = q.training;
  if (t.global_batch <= (std::numeric_limits<std::int32_t>::max)())
    add_change(all, q, "global batch " + std::to_string(2 * t.global_batch) + ": twice the micro-batches",
               "global batch", [](step_problem& x) { x.training.global_batch *= 2; });
  if (q.measured) return;
  for (const std::int64_t size : {2 * t.micro_batch, t.micro_batch / 2})
    if (size > 0 && t.global_batch % (size * q.parallel.dp) == 0)
      add_change(all, q, "micro-batch size " + std::to_string(size), "micro-batch size",
                 [size](step_problem& x) { x.training.micro_batch = size; });
}

inline void add_recompute(std::vector<step_change>& all, const step_problem& q) {
  using cost::recompute;
  constexpr std::string_view names[] = {"none", "selective", "full"};
  for (const recompute level : {recompute::none, recompute::selective, recompute::full})
    if (level != q.parallel.recompute)
      add_change(all, q, "recompute " + std::string(names[static_cast<std::size_t>(level)]), "recompute",
                 [level](step_problem& x) {
                   x.parallel.recompute = level;
                   x.search_recompute = false;
                 });
}

struct size_axis {
  std::string_view name;  ///< literal
  std::int64_t cost::parallel::* size;
};
/// One size twice as large, another half.
inline void add_sizes(std::vector<step_change>& all, const step_problem& q, std::int64_t devices_per_node) {
  constexpr size_axis axes[] = {{"tp", &cost::parallel::tp},
                                {"pp", &cost::parallel::pp},
                                {"dp", &cost::parallel::dp},
                                {"cp", &cost::parallel::cp}};
  for (const size_axis& up : axes)
    for (const size_axis& down : axes) {
      const std::int64_t more = q.parallel.*up.size * 2, less = q.parallel.*down.size / 2;
      if (up.size == down.size || q.parallel.*down.size % 2 != 0) continue;
      if (up.size == &cost::parallel::tp && more > devices_per_node) continue;
      add_change(all, q,
                 std::string(up.name) + " " + std::to_string(more) + ", " + std::string(down.name) + " " +
                     std::to_string(less),
                 "parallel sizes", [up, down, more, less](step_problem& x) {
                   x.parallel.*up.size = more;
                   x.parallel.*down.size = less;
                 });
    }
}
/// Experts over twice or half as many ranks, or cut into twice or half as many parts: the devices stay.
inline void add_expert_sizes(std::vector<step_change>& all, const step_problem& q) {
  constexpr size_axis axes[] = {{"ep", &cost::parallel::ep}, {"etp", &cost::parallel::etp}};
  for (const size_axis& each : axes) {
    const std::int64_t now = q.parallel.*each.size;
    for (const std::int64_t size : {2 * now, now / 2}) {
      if (size == 0 || (size < now && now % 2 != 0)) continue;
      add_change(all, q, std::string(each.name) + " " + std::to_string(size), "expert sizes",
                 [each, size](step_problem& x) { x.parallel.*each.size = size; });
    }
  }
}

/// The other schedules: all with as many chunks, and the best with other numbers of them.
inline void add_other_schedules(std::vector<step_change>& all, const step_problem& q,
                                const schedule_comparison& others) {
  for (const compared_schedule& x : others.rows) {
    const bool as_many = x.chunks == q.parallel.vp;
    if (x.micro_batches != q.micro_batches() || !(as_many || x.best)) continue;
    if (as_many && (x.schedule == "1f1b" || x.schedule == "gpipe" || x.schedule == "interleaved")) continue;
    const schedule_choice to{x.schedule, x.groups.empty() ? "balanced" : x.groups, 0};
    if (as_many && to == q.schedule) continue;
    std::string what = "schedule " + x.schedule;
    if (!x.groups.empty()) what += ", groups " + x.groups;
    if (!as_many) what += ", " + std::to_string(x.chunks) + (x.chunks == 1 ? " chunk a rank" : " chunks a rank");
    add_change(all, q, std::move(what), "schedule", [to, chunks = x.chunks](step_problem& one) {
      one.schedule = to;
      one.parallel.vp = chunks;
    });
  }
}

[[nodiscard]] inline std::vector<step_change> changes_of(const step_problem& q, const schedule_comparison& others,
                                                         std::int64_t devices_per_node) {
  std::vector<step_change> all;
  if (!q.measured) add_recompute(all, q);  // first: it is what makes a plan fit
  add_schedules(all, q);
  add_other_schedules(all, q, others);
  add_batches(all, q);
  if (q.measured || !q.split.empty()) return all;  // those times, or those layers, are of these stages
  for (const std::int64_t chunks : {2 * q.parallel.vp, q.parallel.vp / 2})
    if (chunks > 0)
      add_change(all, q, std::to_string(chunks) + (chunks == 1 ? " chunk a rank" : " chunks a rank"), "chunks",
                 [chunks](step_problem& x) {
                   x.parallel.vp = chunks;
                   if (chunks > 1 && x.schedule.name != "search") x.schedule.name = "interleaved";
                 });
  if (!q.on) return all;
  add_sizes(all, q, devices_per_node);
  if (cost::has_experts(q.model)) add_expert_sizes(all, q);
  const int level = static_cast<int>(q.parallel.zero);
  if (q.parallel.dp > 1 && level < 3)
    add_change(all, q, "zero " + std::to_string(level + 1), "zero",
               [level](step_problem& x) { x.parallel.zero = static_cast<cost::zero>(level + 1); });
  return all;
}

/// Plans a changed step. Splits and schedules are searched for only where even stages and the usual schedule come near:
/// no search wins much more. Of long schedules the usual one stands for what a search would find.
[[nodiscard]] inline result<step_plan> plan_change(const step_problem& q, const planned_change& now) {
  constexpr double near = 1.05;
  constexpr std::int64_t most_passes = 1 << 11;
  const bool searches = q.schedule.name == "search";
  step_problem usual = q;
  if (searches) usual.schedule = usual_choice(q.parallel);
  const bool search_again = searches && passes_of_step(q) <= most_passes;
  if (q.search_split || search_again) {
    auto plan = plan_step(usual, {.record = false, .effort = split_effort::levels});
    if (!plan || seconds_of(*plan) / tokens_of(q) > near * now.seconds_per_token) return plan;
  }
  return plan_step(search_again ? q : usual, {.record = false, .effort = split_effort::quick});
}

/// What changes_of leaves out for want of something in the problem.
[[nodiscard]] inline std::vector<std::string> not_tried(const step_problem& q) {
  if (q.measured)
    return {
        "Recompute, sizes of micro-batches, chunks, tp, pp, dp, cp, ep, etp and zero: the passes are measured on the "
        "stages as they are, and say nothing of others."};
  if (!q.split.empty())
    return {"Chunks, tp, pp, dp, cp, ep, etp and zero: the split gives the layers of these stages, and of no others."};
  if (!q.on)
    return {
        "tp, pp, dp, cp, ep, etp and zero: no machine is given, so nothing says what communication between devices "
        "costs."};
  if (!cost::has_experts(q.model)) return {"ep and etp: the model has no experts."};
  return {};
}

[[nodiscard]] inline bool better(const planned_change& a, const planned_change& b) {
  if (a.fits != b.fits) return a.fits;
  if (!a.fits && a.bytes != b.bytes) return a.bytes < b.bytes;
  if (a.seconds_per_token != b.seconds_per_token) return a.seconds_per_token < b.seconds_per_token;
  if (a.bytes != b.bytes) return a.bytes < b.bytes;
  return a.what < b.what;
}

/// Whether a change is worth a recommendation: faster and fitting, or fitting at all, or leaner.
[[nodiscard]] inline bool helps(const planned_change& x, const planned_change& now) {
  constexpr double felt = 0.999;  // a thousandth is not
  if (!now.fits) return x.fits || static_cast<double>(x.bytes) < felt * static_cast<double>(now.bytes);
  return x.fits && x.seconds_per_token < felt * now.seconds_per_token;
}

inline void recommend(tried_changes& out) {
  std::vector<std::string> families;
  const auto take = [&](auto&& good) {
    for (std::size_t i = 0; i < out.possible.size() && out.best.size() < 3; ++i) {
      const planned_change& x = out.possible[i];
      if (std::find(families.begin(), families.end(), x.family) != families.end() || !good(x)) continue;
      families.push_back(x.family);
      out.best.push_back(i);
    }
  };
  take([&](const planned_change& x) { return helps(x, out.now); });
  // Room is the next best thing: at most a twentieth slower, and at least a twentieth leaner.
  take([&](const planned_change& x) {
    return x.fits && x.seconds_per_token < 1.05 * out.now.seconds_per_token &&
           static_cast<double>(x.bytes) < 0.95 * static_cast<double>(out.now.bytes);
  });
}

inline void try_offload(tried_changes& out, const step_problem& q) {
  if (!may_offload(q)) return;
  if (out.now.fits && q.parallel.recompute == cost::recompute::none) return;
  const auto with = with_offload(q);
  if (!with) {
    ++out.refused;
    return;
  }
  planned_change x = out.now;
  x.what = offload_change;
  x.family = "recompute";
  x.fits = true;
  x.step_seconds = with->step.step_time().count();
  x.seconds_per_token = x.step_seconds / tokens_of(q);
  x.bytes = with->fullest.count();
  out.possible.push_back(std::move(x));
}

}  // namespace detail

/// Plans a step again with each of a list of changes. Those that its times say nothing about are not tried: other sizes
/// beside measured stages, other communication without a machine.
/// @param plan    plan_step(q)
/// @param others  compare_schedules(q)
/// @param devices_per_node  what tensor parallelism stays within
/// Errors: those of the formulas. Complexity: at most 2^22 simulated actions; the rest is counted in `left_out`.
[[nodiscard]] inline result<tried_changes> try_changes(const step_problem& q, const step_plan& plan,
                                                       const schedule_comparison& others,
                                                       std::int64_t devices_per_node = 8) {
  constexpr std::int64_t most_actions = std::int64_t{1} << 22;  // a few seconds of work
  tried_changes out;
  out.now = detail::priced(q, plan);
  std::int64_t room = most_actions;
  for (const detail::step_change& each : detail::changes_of(q, others, devices_per_node)) {
    const step_problem& changed = each.changed;
    const std::int64_t actions = 2 * changed.stages() * (std::max)(std::int64_t{1}, changed.micro_batches());
    if (actions > room) {
      ++out.left_out;
      continue;
    }
    room -= actions;
    const auto planned = detail::plan_change(changed, out.now);
    if (!planned) {
      ++out.refused;
      continue;
    }
    planned_change one = detail::priced(changed, *planned);
    one.what = each.what;
    one.family = each.family;
    out.possible.push_back(std::move(one));
  }
  detail::try_offload(out, q);
  std::sort(out.possible.begin(), out.possible.end(), detail::better);
  detail::recommend(out);
  out.not_tried = detail::not_tried(q);
  return out;
}

// NOLINTEND(bugprone-unchecked-optional-access)
}  // namespace hocket::inline HOCKET_ABI::planner
