// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/cost/report.hpp>
#include <hocket/cost/step_report.hpp>
#include <hocket/interop/files/json_object.hpp>
#include <hocket/interop/files/json_text.hpp>
#include <hocket/interop/files/model_file.hpp>
#include <hocket/interop/files/parallel_file.hpp>
#include <hocket/interop/files/training_file.hpp>
#include <hocket/planner/plan/simulated_step.hpp>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::interop {
// NOLINTBEGIN(bugprone-unchecked-optional-access): the caller has seen that there is a training

/// What is printed around a report.
struct report_context {
  std::string title;
  std::vector<std::string> assumed;  ///< defaults the model's config left unsaid
  std::int64_t router_biases = 0;    ///< of the parameters
  std::vector<counted_encoder> encoders{};
  std::optional<training_input> training;
  cost::parallel parallel{};
  cost::replay_set replay{};
  recompute_lists lists{};
  std::vector<cost::plan_row> plan{};           ///< set by make_report, if there are lists
  std::optional<cost::step_prediction> step{};  ///< set by make_report, if a machine is given
};

namespace detail {

// A step that no machine could take is a mistake of its file.
inline void check_step_seconds(const cost::report& r, const report_context& context, std::string_view file,
                               file_errors& errors) {
  const training_input& t = *context.training;
  if (t.step_seconds <= 0 || !r.flops) return;
  constexpr double most = 1e9;  // times the peak; also keeps the printed figures within 64 bits
  const double ratio = r.flops->hardware_step.real() / t.step_seconds / (t.peak_tflops * 1e12) /
                       static_cast<double>(context.parallel.devices());
  if (ratio < most && t.peak_tflops < most) return;
  errors.add(std::string(file) + ": \"step_seconds\" is " + shown(t.step_seconds) + " and \"peak_tflops\" is " +
             shown(t.peak_tflops) + ", which are not those of a machine");
}
// What stands on each rank and is computed again; lists by stage are told in the context.
inline std::vector<cost::rank_layers> ranks_of(const cost::layer_list& list, report_context& context,
                                               std::string_view file, file_errors& errors) {
  const training_input& t = *context.training;
  auto ranks = value_of(cost::layers_of_ranks(list, context.parallel, {}, context.replay), file, errors);
  if (!errors.none() || (context.lists.whole.is_null() && context.lists.select.is_null())) return ranks;
  if (t.step.muon) errors.add(context.lists.file + ": recompute lists by stage do not go with \"optimizer\": \"muon\"");
  const cost::recompute_plan plan = read_lists(context.lists, ranks, context.replay, errors);
  if (!errors.none()) return ranks;
  ranks = value_of(cost::with_plan(std::move(ranks), plan), context.lists.file, errors);
  context.plan = value_of(cost::plan_rows(list, t.step, context.parallel, t.counted, ranks), file, errors);
  return ranks;
}

// What a step adds to the report of a model. The parameter count stays that of the published model: padding and
// prediction modules are memory and work.
inline cost::report report_of(const cost::layer_list& whole, const cost::report& published, report_context& context,
                              std::string_view file, const std::vector<cost::rank_layers>& ranks,
                              const std::vector<cost::held_share>& passes, file_errors& errors) {
  const training_input& t = *context.training;
  auto r = cost::make_report(whole, t.step, context.parallel, t.counted, ranks, passes);
  if (!r) errors.add(file, r.error());
  if (r) check_step_seconds(*r, context, file, errors);
  if (!errors.none()) return {};
  if (context.step)
    if (const auto ok = cost::add_step_lines(*r, whole, t.step, context.parallel, t.on->rates, ranks, *context.step);
        !ok)
      errors.add(file, ok.error());
  std::erase_if(r->lines, [](const cost::report_line& line) { return line.group.starts_with("parameters"); });
  r->lines.insert(r->lines.begin(), published.lines.begin(), published.lines.end());
  r->parameters = published.parameters;
  return *std::move(r);
}

}  // namespace detail

/// The report of a model, in `context` also what goes with it: of the step and its ranks, if there is a training.
[[nodiscard]] inline cost::report make_report(const cost::layer_list& list, report_context& context,
                                              std::string_view file, file_errors& errors) {
  cost::report published = value_of(cost::make_report(list), file, errors);
  if (!errors.none() || !context.training) return published;
  const training_input& t = *context.training;
  const cost::layer_list whole = padded(list, t, file, errors);
  if (const auto ok = cost::check(whole, t.step, context.parallel); !ok) errors.add(file, ok.error());
  if (!errors.none()) return published;
  const std::vector<cost::rank_layers> ranks = detail::ranks_of(whole, context, file, errors);
  if (t.on) need_rates(*t.on, has_experts(whole), context.parallel, file, errors);
  if (!errors.none()) return published;
  if (t.on) {
    auto step = planner::simulate_step(whole, t.step, context.parallel, t.on->rates, ranks);
    if (!step) errors.add(file, step.error());
    else context.step = *std::move(step);
  }
  if (!errors.none()) return published;
  return detail::report_of(whole, published, context, file, ranks, {}, errors);
}

/// The conventions in which MFU is told, next to the one given.
[[nodiscard]] inline std::vector<cost::convention> other_conventions(const cost::convention& own) {
  std::vector<cost::convention> out;
  for (const auto attention : {cost::attention_count::full, cost::attention_count::causal_half}) {
    cost::convention c = own;
    c.attention = attention;
    if (attention != own.attention) out.push_back(c);
  }
  return out;
}

/// FLOPs of a step by the other conventions.
[[nodiscard]] inline std::vector<cost::flop_count> other_counts(const cost::layer_list& list,
                                                                const report_context& context, std::string_view file,
                                                                file_errors& errors) {
  std::vector<cost::flop_count> out;
  const training_input& t = *context.training;
  for (const cost::convention& c : other_conventions(t.counted))
    if (auto count = cost::count_flops(list, t.step, context.parallel, c)) out.push_back(*count);
    else errors.add(file, count.error());
  return out;
}

/// A file: how messages call it, and what it says.
struct json_text {
  std::string name;
  nlohmann::json value;
};
/// The files of a cost report.
struct cost_files {
  json_text model;
  std::optional<json_text> training, parallel;  ///< parallel needs training
};
/// The report of these files, and what is printed around it.
struct cost_answer {
  cost::report report;
  report_context context;
  std::vector<cost::flop_count> counts{};  ///< a step by other conventions
};

/// The report of a model, or of a step of its training.
[[nodiscard]] inline cost_answer answer_of(const cost_files& files, file_errors& errors) {
  const std::string& name = files.model.name;
  cost_answer out;
  const model_input model = read_model(files.model.value, name, errors);
  if (!errors.none()) return out;
  out.context.title = name + " (" + model.architecture + ")";
  out.context.assumed = model.assumed;
  out.context.router_biases = cost::router_biases(model.layers);
  out.context.encoders = model.encoders;
  if (files.training)
    out.context.training =
        read_training(files.training->value, model.layers, files.training->name, "", &out.context.lists, true, errors);
  if (files.parallel)
    out.context.parallel =
        read_parallel(files.parallel->value, files.parallel->name, "", &out.context.replay, &out.context.lists, errors);
  if (!errors.none()) return out;
  const std::string& blamed = files.parallel ? files.parallel->name : files.training ? files.training->name : name;
  out.report = make_report(model.layers, out.context, blamed, errors);
  if (files.training && errors.none())
    out.counts = other_counts(padded(model.layers, *out.context.training, blamed, errors), out.context, blamed, errors);
  return out;
}

// NOLINTEND(bugprone-unchecked-optional-access)
}  // namespace hocket::inline HOCKET_ABI::interop
