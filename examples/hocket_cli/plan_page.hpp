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
std::string plan_as_page(const plan_input& in, const step_plan& p, const schedule_comparison& schedules,
                         const tried_changes& tried, const measured_report* measured);

}  // namespace hocket_cli
