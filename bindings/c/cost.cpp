// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cost reports: hocket.h over the tool's reader and writer.
#include "border.hpp"

#include <optional>
#include <string>
#include <string_view>

#include "cost_texts.hpp"
#include "failure.hpp"
#include "json_fields.hpp"
#include "plan_step.hpp"

namespace {
// report.json of a plan whose model is given beside it.
std::string planned_step(const char* plan_json, const char* model_json) {
  const auto named = [&](const std::string& name) { return hocket_cli::named_text{name, model_json}; };
  const nlohmann::json plan = hocket_cli::parse_json_file(plan_json, "plan");
  if (plan.is_object() && plan.contains("graph"))
    hocket_cli::fail("plan: \"graph\" names a file, and this function reads none: leave it out");
  hocket_cli::plan_input in = hocket_cli::read_plan(plan, "plan", named);
  hocket_cli::settle(in);
  const hocket_cli::step_plan step = hocket_cli::plan_step(in);
  const hocket_cli::schedule_comparison schedules = hocket_cli::compare_schedules(in);
  return hocket_cli::plan_as_json(in, step, schedules, hocket_cli::try_changes(in, step, schedules));
}
}  // namespace

hocket_status hocket_cost_report(const char* model_json, const char* training_json, const char* parallel_json,
                                 const char* format, char** text, hocket_error* error) {
  return hocket_c::guarded(error, {{"model_json", model_json}, {"text", text}}, [&] {
    const std::string_view form = format == nullptr ? "json" : format;
    if (form != "json" && form != "text" && form != "latex")
      return hocket_c::refuse(error, "format must be json, text or latex");
    try {
      const auto given = [](const char* json) {
        return json == nullptr ? std::nullopt : std::optional<std::string_view>(json);
      };
      const std::string report =
          hocket_cli::cost_report_of(model_json, given(training_json), given(parallel_json), form);
      *text = hocket_c::copy_of(report);
    } catch (const hocket_cli::failure& why) {
      return hocket_c::refuse(error, why.sentence);
    }
    return hocket_status{HOCKET_OK};
  });
}

hocket_status hocket_plan_step(const char* plan_json, const char* model_json, char** text, hocket_error* error) {
  return hocket_c::guarded(error, {{"plan_json", plan_json}, {"model_json", model_json}, {"text", text}}, [&] {
    try {
      *text = hocket_c::copy_of(planned_step(plan_json, model_json));
    } catch (const hocket_cli::failure& why) {
      return hocket_c::refuse(error, why.sentence);
    }
    return hocket_status{HOCKET_OK};
  });
}
