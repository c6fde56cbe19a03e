// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `hocket plan`: one training step, from its file to everything the components have to say about it.
#pragma once
#include <hocket/interop/files/plan_answer.hpp>
#include <hocket/interop/files/plan_file.hpp>
#include <hocket/interop/files/plan_json.hpp>
#include <hocket/planner/plan/changes.hpp>
#include <hocket/planner/plan/compare_schedules.hpp>

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cost_input.hpp"
#include "terminal.hpp"

namespace hocket_cli {

using hocket::interop::changes_as_json, hocket::interop::has_predicted_step, hocket::interop::named_text,
    hocket::interop::plan_as_json, hocket::interop::plan_input, hocket::interop::predicted_step_as_json,
    hocket::interop::predicted_step_parts, hocket::interop::schedules_as_json,
    hocket::interop::tokens_per_second_per_device, hocket::interop::why_undrawn;
using step_plan = hocket::interop::plan_answer;
using hocket::planner::compared_schedule, hocket::planner::planned_change, hocket::planner::schedule_comparison,
    hocket::planner::seconds_of, hocket::planner::tried_changes;

/// Reads a plan file and what it names, relative to its folder.
/// @param machine  of --machine, in place of the file's; empty: none
plan_input read_plan_file(const std::string& file, const std::string& machine = "");
/// The same for a plan that is read.
plan_input read_plan(const nlohmann::json& plan, const std::string& file);

/// Chooses what the file leaves open. Ends the command if nothing is possible or fits.
inline void settle(plan_input& in) {
  const search_guard watch;
  hocket::interop::choose_open_sizes(in, command_errors(), watch);
}
inline step_plan plan_step(const plan_input& in) { return hocket::interop::answer_of(in, command_errors()); }
inline schedule_comparison compare_schedules(const plan_input& in) {
  return value_or_fail(hocket::planner::compare_schedules(in), in.file);
}
inline tried_changes try_changes(const plan_input& in, const step_plan& p, const schedule_comparison& others) {
  return value_or_fail(hocket::planner::try_changes(in, p, others, in.devices_per_node), in.file);
}

std::string plan_as_text(const plan_input& in, const step_plan& plan);

}  // namespace hocket_cli
