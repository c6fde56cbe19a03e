// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cost_texts.hpp"

#include "cost_layers.hpp"
#include "failure.hpp"
#include "json_fields.hpp"

namespace hocket_cli {

cost_answer answer_of(const cost_files& files) {
  const std::string& name = files.model.name;
  const model_input model = read_model(files.model.value, name);
  cost_answer out;
  out.context.title = name + " (" + model.architecture + ")";
  out.context.assumed = model.assumed;
  out.context.router_biases = hocket::cost::router_biases(model.layers);
  out.context.encoders = model.encoders;
  if (files.training)
    out.context.training =
        read_training(files.training->value, model.layers, files.training->name, "", &out.context.lists, true);
  if (files.parallel)
    out.context.parallel =
        read_parallel(files.parallel->value, files.parallel->name, "", &out.context.replay, &out.context.lists);
  const std::string& blamed = files.parallel ? files.parallel->name : files.training ? files.training->name : name;
  out.report = make_report(model.layers, out.context, blamed);
  if (files.training)
    out.counts = other_counts(padded(model.layers, *out.context.training, blamed), out.context, blamed);
  return out;
}

std::string cost_report_of(std::string_view model, std::optional<std::string_view> training,
                           std::optional<std::string_view> parallel, std::string_view format) {
  if (parallel && !training) fail("parallel needs training");
  const auto read = [](std::string_view text, const char* name) {
    return json_text{name, parse_json_file(text, name)};
  };
  cost_files files{read(model, "model"), {}, {}};
  if (training) files.training = read(*training, "training");
  if (parallel) files.parallel = read(*parallel, "parallel");
  const cost_answer answer = answer_of(files);
  if (format == "json") return report_as_json(answer.report, answer.context);
  return format == "latex" ? report_as_latex(answer.report, answer.context)
                           : report_as_text(answer.report, answer.context);
}

}  // namespace hocket_cli
