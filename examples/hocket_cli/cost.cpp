// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <iostream>
#include <memory>

#include "command.hpp"
#include "cost_input.hpp"
#include "cost_layers.hpp"
#include "json_fields.hpp"
#include "measured.hpp"

namespace hocket_cli {

namespace {

struct report_options {
  std::string model, training, parallel, format = "text", out;
  measured_options measured;
};

void run_report(const report_options& o) {
  const auto file = read_json_file(o.model);
  const auto list = read_layer_config(file, o.model);
  hocket::hugging_face::reading config;
  if (list) {
    value_or_fail(hocket::cost::count_parameters(list->layers), o.model);
    config.model = hocket::cost::windowed_ends_of(list->layers);
    config.architecture = list->architecture;
    config.assumed = list->assumed;
  } else {
    config = read_model_config(file, o.model);
    value_or_fail(hocket::cost::count_parameters(config.model),
                  o.model);  // what is wrong with it is not the step's fault
  }
  report_context context;
  context.title = o.model + " (" + config.architecture + ")";
  context.assumed = config.assumed;
  if (!o.training.empty())
    context.training = read_training(read_json_file(o.training), config.model, o.training, "", &context.lists);
  if (!o.parallel.empty()) {
    if (o.training.empty()) throw failure{2, "cost report: --parallel needs --training"};
    context.parallel = read_parallel(read_json_file(o.parallel), o.parallel, "", &context.replay, &context.lists);
  }
  const std::string& blamed = !o.parallel.empty() ? o.parallel : !o.training.empty() ? o.training : o.model;
  if (list && !o.measured.files.empty()) fail(o.model + ": --measured is for models of equal layers only");
  const auto report = list ? make_report(list->layers, context, blamed) : make_report(config.model, context, blamed);
  std::string text = o.format == "json"  ? report_as_json(report, context)
                   : o.format == "latex" ? report_as_latex(report, context)
                                         : report_as_text(report, context);
  if (!o.measured.files.empty()) {
    if (o.format == "latex") throw failure{2, "cost report: --measured prints text or json"};
    const measured_report m = compare_measured(o.measured, report, context);
    text = o.format == "json" ? with_measured_json(std::move(text), m) : text + measured_as_text(m);
  }
  write_file(o.out, text);
  std::cerr << report_summary(report, context) << '\n';
}

}  // namespace

void add_cost(CLI::App& app) {
  CLI::App* cost = app.add_subcommand("cost", "FLOPs, bytes and parameters, every term with its formula and source");
  cost->require_subcommand(1);
  CLI::App* report =
      cost->add_subcommand("report", "Parameters, FLOPs of a step, memory of every pipeline rank, and seconds");
  const auto o = std::make_shared<report_options>();
  report->add_option("--model", o->model, "Hugging Face config.json, as published")->required()->type_name("FILE");
  report
      ->add_option("--training", o->training,
                   "JSON: sequence, micro_batch, global_batch, types, attention_count, machine (for seconds), …")
      ->type_name("FILE");
  report
      ->add_option("--parallel", o->parallel,
                   "JSON: tp, pp, vp, dp, cp, cp_comm_type, ep, sequence_parallel, zero, recompute, replay, copies, …")
      ->type_name("FILE");
  report->add_option("--format", o->format, "text, json or latex")->check(CLI::IsMember({"text", "json", "latex"}));
  add_measured(*report, o->measured);
  add_out(*report, o->out);
  report->callback([o] { run_report(*o); });
}

}  // namespace hocket_cli
