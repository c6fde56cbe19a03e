// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cost_texts.hpp"

#include "cost_layers.hpp"
#include "failure.hpp"
#include "json_fields.hpp"

namespace hocket_cli {

cost_answer answer_of(const cost_files& files) {
  const std::string& model = files.model.name;
  const auto list = read_layer_config(files.model.value, model);
  hocket::hugging_face::reading config;
  if (list) {
    value_or_fail(hocket::cost::count_parameters(list->layers), model);
    config.model = hocket::cost::windowed_ends_of(list->layers);
    config.architecture = list->architecture;
    config.assumed = list->assumed;
  } else {
    config = read_model_config(files.model.value, model);
    value_or_fail(hocket::cost::count_parameters(config.model), model);  // what is wrong here is not the step's fault
  }
  cost_answer out;
  out.context.title = model + " (" + config.architecture + ")";
  out.context.assumed = config.assumed;
  if (files.training)
    out.context.training =
        read_training(files.training->value, config.model, files.training->name, "", &out.context.lists, true);
  if (files.parallel)
    out.context.parallel =
        read_parallel(files.parallel->value, files.parallel->name, "", &out.context.replay, &out.context.lists);
  const std::string& blamed = files.parallel ? files.parallel->name : files.training ? files.training->name : model;
  std::optional<hocket::cost::layer_list> layers;
  if (list) layers = list->layers;
  else if (files.training && out.context.training->step.muon) layers = hocket::cost::to_layers(config.model);
  out.report = layers ? make_report(*layers, out.context, blamed) : make_report(config.model, out.context, blamed);
  if (layers && files.training)
    out.counts = other_counts(padded(*layers, *out.context.training, blamed), out.context, blamed);
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
