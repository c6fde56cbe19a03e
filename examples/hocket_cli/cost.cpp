// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <memory>

#include "command.hpp"
#include "cost_fit.hpp"
#include "cost_input.hpp"
#include "json_fields.hpp"
#include "measured.hpp"

namespace hocket_cli {

namespace {

struct report_options {
  std::string model, training, parallel, machine, format = "text", out;
  measured_options measured;
};

void run_report(const report_options& o) {
  if (!o.parallel.empty() && o.training.empty()) throw failure{2, "cost report: --parallel needs --training"};
  cost_files files{{o.model, read_json_file(o.model)}, {}, {}};
  if (!o.training.empty()) files.training = {o.training, read_json_file(o.training)};
  if (!o.machine.empty()) {
    if (!files.training) throw failure{2, "cost report: --machine needs --training"};
    files.training->value["machine"] = machine_of_option(o.machine);
  }
  if (!o.parallel.empty()) files.parallel = {o.parallel, read_json_file(o.parallel)};
  const cost_answer answer = answer_of(files);
  const auto& [report, context, counts] = answer;
  const std::string format = form(o.format);
  std::string text = format == "json"  ? report_as_json(report, context)
                   : format == "latex" ? report_as_latex(report, context)
                                       : report_as_text(report, context);
  if (!o.measured.files.empty()) {
    if (format == "latex") throw failure{2, "cost report: --measured prints text or json"};
    const measured_report m = compare_measured(o.measured, report, context, 0, counts);
    text = format == "json" ? with_measured_json(std::move(text), m) : text + measured_as_text(m);
  }
  give(o.out, text, report_summary(report, context));
}

}  // namespace

void add_cost(CLI::App& app) {
  CLI::App* cost = app.add_subcommand("cost", "FLOPs, bytes and parameters, every term with its formula and source");
  cost->require_subcommand(1);
  CLI::App* report =
      cost->add_subcommand("report", "Parameters, FLOPs of a step, memory of every pipeline rank, and seconds");
  const auto o = std::make_shared<report_options>();
  report->add_option("model,--model", o->model, "Hugging Face config.json, as published")
      ->required()
      ->type_name("FILE");
  report
      ->add_option("training,--training", o->training,
                   "JSON: sequence, micro_batch, global_batch, types, attention_count, machine (for seconds), …")
      ->type_name("FILE");
  report
      ->add_option("parallel,--parallel", o->parallel,
                   "JSON: tp, pp, vp, dp, cp, cp_comm_type, ep, sequence_parallel, zero, recompute, replay, copies, …")
      ->type_name("FILE");
  add_machine(*report, o->machine);
  report->add_option("--format", o->format, "text, json or latex")->check(CLI::IsMember({"text", "json", "latex"}));
  add_measured(*report, o->measured);
  add_out(*report, o->out);
  report->callback([o] { run_report(*o); });
  add_cost_fit(*cost);
}

}  // namespace hocket_cli
