// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// report.html of `hocket plan`: what the plan's numbers look like. All of them are computed here or in the library; the
// page (report/) only draws them.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "measured.hpp"
#include "plan_step.hpp"

namespace hocket_cli {

/// The plan with one thing changed.
struct planned_change {
  std::string what;              ///< in words: "search for the schedule"
  std::string family;            ///< what is changed: "schedule", "recompute"; one of each is recommended
  double step_seconds = 0;       ///< simulated pipeline, and what the machine's rates put around it, if there is one
  double seconds_per_token = 0;  ///< of the whole job: what is compared
  std::int64_t bytes = 0;        ///< on the fullest rank
  bool fits = false;
};
struct tried_changes {
  planned_change now;                    ///< nothing changed
  std::vector<planned_change> possible;  ///< the best first: those that fit, by time; then the others, by memory
  std::vector<std::size_t> best;         ///< up to three of `possible` that help, one of a family
  std::size_t refused = 0;               ///< sizes that do not go together
  std::size_t left_out = 0;              ///< too much work
  /// What was not tried and why, as sentences: "… : the plan file has no …".
  std::vector<std::string> not_tried;
};
/// A schedule on the stages of a plan.
struct compared_schedule {
  std::string schedule, groups;  ///< groups: of interleaved with several chunks
  std::int64_t chunks = 1, micro_batches = 1;
  hocket::ticks makespan = 0, lower_bound = 0;  ///< nanoseconds
  std::int64_t bytes = 0;                       ///< on the fullest rank
  std::uint32_t peak = 0;                       ///< most activations on a rank
  bool fits = false;
  bool best = false;  ///< fits, and no other with as many micro-batches is both as quick and as lean
};
struct comparison {
  std::vector<compared_schedule> rows;
  std::size_t impossible = 0;  ///< schedules that do not exist for a shape
  std::size_t left_out = 0;    ///< too much work
};
/// Every schedule of the library on the stages of the plan, for several numbers of micro-batches and chunks. Layers are
/// dealt out evenly. Work is bounded by a number of simulated actions, so every machine compares the same.
comparison compare_schedules(const plan_input& in);

/// Plans the step again with each of a list of changes. Those that the plan's times say nothing about (measured stages;
/// without a machine, what tensor- and data-parallel communication costs) are not tried. Schedules that a plan file
/// cannot name are taken from `others`, where layers are dealt out evenly in the plan, too.
tried_changes try_changes(const plan_input& in, const step_plan& p, const comparison& others);
/// What with_offload() is called among the changes.
inline constexpr const char* offload_change = "keep, recompute or offload by kind of tensor";
/// Whether that is tried: tensors are recomputed or do not fit, and the machine has a link to the host. Layers must be
/// equal and dealt out evenly, one chunk a rank.
[[nodiscard]] bool may_offload(const plan_input& in, const planned_change& now);
/// The plan if each stage keeps, computes again or moves what fits with the least time, as `hocket planner offload` has
/// it. Its time per token is left to the caller. Fails where even that does not fit.
planned_change with_offload(plan_input in);
/// Whether neither the plan nor any change of it that was tried fits the memory.
[[nodiscard]] bool nothing_fits(const tried_changes& tried);

/// The timeline with every bar, as bar_writer writes them, and the memory of each shown rank over time. Of more than 64
/// lanes so many are shown, evenly spaced.
nlohmann::ordered_json timeline_as_json(const hocket::timeline& t);
nlohmann::ordered_json memory_over_time(const plan_input& in, const step_plan& p);

/// JSON as the content of a script element: nothing in it can end the element or open a comment.
std::string json_in_script(const nlohmann::ordered_json& value);
/// Text as HTML shows it.
std::string escaped_html(std::string_view text);

/// The whole page: one file, no network.
/// @param schedules  of compare_schedules()
/// @param tried  of try_changes()
/// @param measured  of --measured; null: none was given
std::string plan_as_page(const plan_input& in, const step_plan& p, const comparison& schedules,
                         const tried_changes& tried, const measured_report* measured);

}  // namespace hocket_cli
