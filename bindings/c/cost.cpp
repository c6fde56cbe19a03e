// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cost reports and plans: hocket.h over the readers and writers of hocket::interop.
#include "border.hpp"

#include <hocket/interop/files/cost_answer.hpp>
#include <hocket/interop/files/plan_json.hpp>
#include <hocket/interop/files/report_latex.hpp>
#include <hocket/interop/files/report_text.hpp>

#include <string>
#include <string_view>

namespace {

namespace interop = hocket::interop;
namespace planner = hocket::planner;

// A report in a form, from texts that may be null.
std::string report_of(const char* model, const char* training, const char* parallel, std::string_view form,
                      interop::file_errors& errors) {
  const auto read = [&](const char* text, const char* name) {
    return interop::json_text{name, interop::parse_json_file(text, name, errors)};
  };
  if (parallel != nullptr && training == nullptr) errors.add("parallel needs training");
  interop::cost_files files{read(model, "model"), {}, {}};
  if (training != nullptr) files.training = read(training, "training");
  if (parallel != nullptr) files.parallel = read(parallel, "parallel");
  if (!errors.none()) return {};
  const interop::cost_answer answer = interop::answer_of(files, errors);
  if (!errors.none()) return {};
  if (form == "json") return interop::report_as_json(answer.report, answer.context);
  return form == "latex" ? interop::report_as_latex(answer.report, answer.context)
                         : interop::report_as_text(answer.report, answer.context);
}

// report.json of a plan whose model is given beside it.
std::string planned_step(const char* plan_json, const char* model_json, interop::file_errors& errors) {
  const auto named = [&](const std::string& name) { return interop::named_text{name, model_json}; };
  const nlohmann::json plan = interop::parse_json_file(plan_json, "plan", errors);
  if (plan.is_object() && plan.contains("graph"))
    errors.add("plan: \"graph\" names a file, and this function reads none: leave it out");
  if (!errors.none()) return {};
  interop::plan_input in = interop::read_plan(plan, "plan", named, errors);
  interop::choose_open_sizes(in, errors);
  if (!errors.none()) return {};
  const interop::plan_answer step = interop::answer_of(in, errors);
  if (!errors.none()) return {};
  const auto schedules = interop::value_of(planner::compare_schedules(in), in.file, errors);
  if (!errors.none()) return {};
  const auto tried = interop::value_of(planner::try_changes(in, step, schedules, in.devices_per_node), in.file, errors);
  return errors.none() ? interop::plan_as_json(in, step, schedules, tried) : std::string();
}

// The text that make(errors) returns becomes the caller's.
template <class Make>
hocket_status give(char** text, hocket_error* error, Make&& make) {
  interop::file_errors errors;
  const std::string made = make(errors);
  if (!errors.none()) return hocket_c::refuse(error, errors.first());
  *text = hocket_c::copy_of(made);
  return HOCKET_OK;
}

}  // namespace

hocket_status hocket_cost_report(const char* model_json, const char* training_json, const char* parallel_json,
                                 const char* format, char** text, hocket_error* error) {
  return hocket_c::guarded(error, {{"model_json", model_json}, {"text", text}}, [&] {
    const std::string_view form = format == nullptr ? "json" : format;
    if (form != "json" && form != "text" && form != "latex")
      return hocket_c::refuse(error, "format must be json, text or latex");
    return give(text, error, [&](interop::file_errors& errors) {
      return report_of(model_json, training_json, parallel_json, form, errors);
    });
  });
}

hocket_status hocket_plan_step(const char* plan_json, const char* model_json, char** text, hocket_error* error) {
  return hocket_c::guarded(error, {{"plan_json", plan_json}, {"model_json", model_json}, {"text", text}}, [&] {
    return give(text, error, [&](interop::file_errors& errors) { return planned_step(plan_json, model_json, errors); });
  });
}
