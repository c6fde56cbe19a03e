// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `hocket plan`: one training step, from its file to everything the components have to say about it.
#pragma once
#include <hocket/graph.hpp>
#include <hocket/planner/plan/changes.hpp>
#include <hocket/planner/plan/choose_sizes.hpp>
#include <hocket/text/ops_csv.hpp>
#include <hocket/tiling.hpp>

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cost_input.hpp"
#include "cost_layers.hpp"

namespace hocket_cli {

/// What the plan file says (form: docs/plan.md), with the files it names.
struct plan_input : hocket::planner::step_problem {
  std::string file, title;
  model_input published;  ///< the model without what the step pads and adds
  training_input told;    ///< the training object; its step is the problem's `training`
  std::int64_t devices = 1, devices_per_node = 8;

  std::string ops_file;  ///< empty: the file names no op graph
  hocket::text::ops_table ops;
  bool ordered = false;

  std::optional<hocket::tiling::any_problem> fused;

  /// What the file leaves open, and what was chosen for it.
  std::vector<std::string> open;
  hocket::planner::open_sizes open_sizes;
  std::optional<hocket::planner::sizes_answer> sizes;

  [[nodiscard]] bool fits(const hocket::cost::rank_memory& m) const noexcept {
    return hocket::cost::fits(m.peak, memory);
  }
};

/// Gets at the files that a plan names: what each says, and how messages call it.
struct named_text {
  std::string name, text;
};
using text_of_name = std::function<named_text(const std::string& name)>;
/// Reads a plan. Ends the command with one sentence on any mistake.
/// @param file   what messages call it
/// @param named  the model's config.json and the op graph, by the names that the plan has for them
plan_input read_plan(const nlohmann::json& plan, const std::string& file, const text_of_name& named);
/// Reads a plan file and what it names, relative to its folder.
/// @param machine  of --machine, in place of the file's; empty: none
plan_input read_plan_file(const std::string& file, const std::string& machine = "");
/// Chooses what the file leaves open. Ends the command if nothing is possible or fits.
void settle(plan_input& in);

/// The answers.
struct step_plan : hocket::planner::step_plan {
  struct dependencies {
    std::size_t ops = 0, streams = 0, rule_edges = 0, kept_edges = 0, cross_stream_edges = 0, waits = 0;
    /// Ops next to each other in program order among which most edges are kept, for a picture.
    hocket::node_id densest_first = 0, densest_end = 0;
    std::vector<hocket::graph::edge> densest_rules{}, densest_kept{};  ///< among those ops; kept ones are no rules
    /// Edges by the op that they lead to, in equal parts of the program.
    std::vector<std::size_t> rules_by_part{}, kept_by_part{};
  };
  std::optional<dependencies> graph;  ///< absent: the file names no op graph
  std::string schedule_csv;           ///< in PyTorch's dialect; empty if that would be too long
  std::optional<hocket::tiling::plan> tiles;
  std::optional<hocket::timeline> tile_timeline;
  hocket::cost::report cost;
  report_context cost_context;
};
step_plan plan_step(const plan_input& in);
/// Why a plan has no pictures of its pipeline and no list of its actions: a sentence; empty if it has.
std::string why_undrawn(const plan_input& in);

using hocket::planner::compared_schedule, hocket::planner::planned_change, hocket::planner::schedule_comparison,
    hocket::planner::tried_changes;
schedule_comparison compare_schedules(const plan_input& in);
tried_changes try_changes(const plan_input& in, const step_plan& p, const schedule_comparison& others);

/// What a step is made of: the simulated pipeline and, where a machine has rates, what they put around it (loading, the
/// data-parallel exchange that nothing hides, the optimizer, launches). They add up to predicted_step_seconds().
std::vector<named_part> predicted_step_parts(const plan_input& in, const step_plan& p);
/// Seconds of the whole step: the one figure of the page, for the plan and for each change of it.
[[nodiscard]] double predicted_step_seconds(const plan_input& in, const step_plan& p);
/// Whether that is a whole step: where there is a machine, whose rates say what is around the pipeline.
[[nodiscard]] inline bool has_predicted_step(const step_plan& p) { return p.step.has_value(); }
double tokens_per_second_per_device(const plan_input& in, double step_seconds);

std::string plan_as_text(const plan_input& in, const step_plan& plan);
/// @param schedules  of compare_schedules()
/// @param tried  of try_changes()
std::string plan_as_json(const plan_input& in, const step_plan& plan, const schedule_comparison& schedules,
                         const tried_changes& tried);
/// The comparison and the changes, as report.json and the page have them. Each change says what to write into the plan
/// file for it.
nlohmann::ordered_json schedules_as_json(const schedule_comparison& all);
nlohmann::ordered_json changes_as_json(const plan_input& in, const tried_changes& tried);
/// The predicted step with its parts, as report.json and the page have it.
nlohmann::ordered_json predicted_step_as_json(const plan_input& in, const step_plan& p);

}  // namespace hocket_cli
