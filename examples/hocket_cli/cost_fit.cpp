// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `hocket cost fit`: runs that happened beside what is predicted of them, and a machine fitted to them.
#include "cost_fit.hpp"

#include <hocket/cost/fit_machine.hpp>
#include <hocket/cost/fit_parts.hpp>
#include <hocket/cost/machines.hpp>
#include <hocket/planner/plan/simulated_step.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>

#include "command.hpp"
#include "cost_input.hpp"
#include "json_fields.hpp"
#include "machines.hpp"

namespace hocket_cli {
namespace {

namespace cost = hocket::cost;
namespace planner = hocket::planner;
using nlohmann::json;
using nlohmann::ordered_json;

struct fit_options {
  std::string runs, machine, rates, out;
  bool by_machine = false, held_out = false;
};

/// A run of the file with its machine.
struct measured_run {
  std::string model, source;
  cost::measured_step step;
  machine_input on;
};

/// Models are read once each.
class model_files {
 public:
  explicit model_files(const std::string& runs) : folder_(std::filesystem::path(runs).parent_path()) {}
  const model_input& model(const std::string& name) {
    const auto known = models_.find(name);
    if (known != models_.end()) return known->second;
    const std::string path = (folder_ / name).string();
    return models_.emplace(name, read_model(read_json_file(path), path)).first->second;
  }

 private:
  std::filesystem::path folder_;
  std::map<std::string, model_input> models_;
};

measured_run read_run(const json& value, const std::string& file, std::size_t at, model_files& models,
                      const machine_input* instead) {
  const std::string path = "runs[" + std::to_string(at) + "]";
  const json_object in(value, file, path,
                       {"model", "training", "parallel", "step_seconds", "tokens_per_second_per_device", "source"});
  measured_run out;
  out.model = in.line_or("model", "");
  if (out.model.empty()) in.fail_at("model", "is missing or empty: name a config.json");
  out.source = in.line_or("source", "");
  const model_input& model = models.model(out.model);
  training_input training = read_training(in.at("training"), model.layers, file, path + ".training");
  if (instead != nullptr) training.on = *instead;
  if (!training.on) in.fail_at("training", "has no \"machine\": name one here or with --machine");
  const cost::parallel p = read_parallel(in.at("parallel"), file, path + ".parallel");
  cost::measured_step& step = out.step;
  step.model = padded(model.layers, training, file);
  step.training = training.step;
  step.parallel = p;
  need_rates(*training.on, has_experts(step.model), p, file);
  const bool by_rate = in.has("tokens_per_second_per_device");
  if (by_rate == in.has("step_seconds"))
    in.fail_at("step_seconds", "or \"tokens_per_second_per_device\" must be given, one of the two");
  const double tokens = static_cast<double>(training.step.global_batch) * static_cast<double>(training.step.sequence);
  step.step_time =
      hocket::seconds(by_rate ? tokens / in.positive("tokens_per_second_per_device") / static_cast<double>(p.devices())
                              : in.positive("step_seconds"));
  out.on = *training.on;
  return out;
}

std::vector<measured_run> read_runs(const fit_options& o) {
  const json text = read_json_file(o.runs);
  const json_object in(text, o.runs, "", {"version", "note", "runs"});
  const json& list = in.at("runs");
  constexpr std::size_t most_runs = 100'000;
  if (!list.is_array() || list.empty() || list.size() > most_runs)
    in.fail_at("runs", "must be a list of 1 to " + std::to_string(most_runs) + " runs");
  std::optional<machine_input> instead;
  if (!o.machine.empty()) instead = read_machine(machine_of_option(o.machine), o.machine, "");
  model_files models(o.runs);
  std::vector<measured_run> out;
  for (std::size_t at = 0; at < list.size(); ++at)
    out.push_back(read_run(list[at], o.runs, at, models, instead ? &*instead : nullptr));
  return out;
}

/// The rates that --rates names.
std::vector<cost::machine_rate> rates_of(const std::string& names) {
  struct known_rate {
    std::string_view name;
    cost::machine_rate rate;
  };
  static const known_rate known[] = {
      {"gemm_flops", &cost::machine::gemm_flops},           {"fp8_flops", &cost::machine::fp8_flops},
      {"mxfp8_flops", &cost::machine::mxfp8_flops},         {"nvfp4_flops", &cost::machine::nvfp4_flops},
      {"attention_flops", &cost::machine::attention_flops}, {"memory_bytes", &cost::machine::memory_bytes},
      {"tensor_bytes", &cost::machine::tensor_bytes},       {"expert_bytes", &cost::machine::expert_bytes},
      {"pipeline_bytes", &cost::machine::pipeline_bytes},   {"data_bytes", &cost::machine::data_bytes},
      {"links[0]", cost::machine_rate::of_link(0)},         {"links[1]", cost::machine_rate::of_link(1)},
      {"links[2]", cost::machine_rate::of_link(2)},         {"links[3]", cost::machine_rate::of_link(3)}};
  std::vector<cost::machine_rate> out;
  std::istringstream in(names);
  for (std::string name; std::getline(in, name, ',');) {
    const auto* const found =
        std::find_if(std::begin(known), std::end(known), [&](const known_rate& x) { return x.name == name; });
    if (found != std::end(known)) {
      out.push_back(found->rate);
      continue;
    }
    std::string all;
    for (const known_rate& x : known) all += (all.empty() ? "" : ", ") + std::string(x.name);
    throw failure{2, "cost fit: --rates has " + shown(name) + ", which is none of " + all};
  }
  return out;
}

/// A cell of a CSV file.
std::string in_csv(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

/// Errors of a set of runs.
struct error_sum {
  double sum = 0, worst = 0;
  int runs = 0;
  void add(double error) {
    sum += std::abs(error);
    worst = (std::max)(worst, std::abs(error));
    ++runs;
  }
  [[nodiscard]] std::string percent(const char* name) const {
    const double mean = runs > 0 ? 100 * sum / runs : 0;
    return " " + std::string(name) + "_runs=" + std::to_string(runs) + " " + name + "_mean_percent=" + fixed(mean, 1) +
           " " + name + "_worst_percent=" + fixed(100 * worst, 1);
  }
};

/// One line a run, or one a machine and kind of model.
void compare(const fit_options& o, const std::vector<measured_run>& runs) {
  std::string csv = "machine,precision,model,devices,tp,pp,vp,dp,cp,ep,measured_s,predicted_s,error_percent,source\n";
  error_sum dense, mixtures;
  std::map<std::string, error_sum> by_machine;
  for (const measured_run& run : runs) {
    const double error =
        value_or_fail(cost::prediction_error(run.step, run.on.rates, planner::simulated_seconds), o.runs);
    const bool mixture = has_experts(run.step.model);
    (mixture ? mixtures : dense).add(error);
    by_machine[in_csv(run.on.name) + (mixture ? ",mixture" : ",dense")].add(error);
    const cost::parallel& p = run.step.parallel;
    const double measured = run.step.step_time.count();
    csv += in_csv(run.on.name) + "," + std::string(to_string(run.step.training.precision)) + "," + in_csv(run.model);
    for (const std::int64_t size : {p.devices(), p.tp, p.pp, p.vp, p.dp, p.cp, p.ep}) csv += "," + std::to_string(size);
    csv += "," + fixed(measured, 4) + "," + fixed(measured * (1 + error), 4) + "," + fixed(100 * error, 1) + "," +
           in_csv(run.source) + "\n";
  }
  if (o.by_machine) {
    csv = "machine,model,runs,mean_error_percent,worst_error_percent\n";
    for (const auto& [key, errors] : by_machine)
      csv += key + "," + std::to_string(errors.runs) + "," + fixed(100 * errors.sum / errors.runs, 1) + "," +
             fixed(100 * errors.worst, 1) + "\n";
  }
  give(o.out, csv, "runs=" + std::to_string(runs.size()) + dense.percent("dense") + mixtures.percent("mixture"));
}

/// Runs of one family of devices, with their data sheets.
struct family_runs {
  std::vector<cost::sheet_step> steps;
  std::vector<const measured_run*> runs;
};
std::map<std::string, family_runs> by_family(const std::vector<measured_run>& runs) {
  std::map<std::string, family_runs> out;
  for (const measured_run& run : runs)
    for (const cost::machines::sheet_of_machine& each : cost::machines::fitted_sheets) {
      if (!(cost::machines::find(each.key)->rates == run.on.rates)) continue;
      family_runs& to = out[std::string(each.family)];
      to.steps.push_back({run.step, each.sheet});
      to.runs.push_back(&run);
    }
  return out;
}

/// Each model's runs by parts that were fitted to all other models of its family, from the middle of their ranges: the
/// error that a run of another model has to expect.
void hold_out(const fit_options& o, const std::vector<measured_run>& runs) {
  std::string csv = "family,model,runs,mean_error_percent,worst_error_percent,mean_error_of_shipped_percent\n";
  error_sum dense, mixtures;
  std::size_t judged = 0;
  for (const auto& [family, of] : by_family(runs)) {
    std::map<std::string, std::vector<std::size_t>> by_model;
    for (std::size_t i = 0; i < of.runs.size(); ++i) by_model[of.runs[i]->model].push_back(i);
    const bool sends_once = of.runs.front()->on.rates.sends_once;
    for (const auto& [model, held] : by_model) {
      std::vector<cost::sheet_step> others;
      for (std::size_t i = 0; i < of.steps.size(); ++i)
        if (of.runs[i]->model != model) others.push_back(of.steps[i]);
      if (others.empty()) continue;
      const cost::machines::reached_parts parts = cost::fit_parts(others, cost::middle_parts(sends_once));
      error_sum here, shipped;
      for (const std::size_t i : held) {
        const cost::machine on = cost::machines::machine_of(of.steps[i].sheet, parts);
        const double error =
            value_or_fail(cost::prediction_error(of.steps[i].step, on, planner::simulated_seconds), o.runs);
        here.add(error);
        shipped.add(value_or_fail(
            cost::prediction_error(of.steps[i].step, of.runs[i]->on.rates, planner::simulated_seconds), o.runs));
        (has_experts(of.steps[i].step.model) ? mixtures : dense).add(error);
        ++judged;
      }
      csv += in_csv(family) + "," + in_csv(model) + "," + std::to_string(here.runs) + "," +
             fixed(100 * here.sum / here.runs, 1) + "," + fixed(100 * here.worst, 1) + "," +
             fixed(100 * shipped.sum / shipped.runs, 1) + "\n";
    }
  }
  if (judged == 0) fail(o.runs + ": no two models ran on one family of devices whose data sheet is known");
  give(o.out, csv, "held_out_runs=" + std::to_string(judged) + dense.percent("dense") + mixtures.percent("mixture"));
}

ordered_json machine_as_json(const cost::machine& on, const std::string& name, const std::string& source) {
  ordered_json out{{"name", name}, {"source", source}};
  for (const hocket::interop::machine_number& x : hocket::interop::machine_numbers)
    if (on.*x.member != 0) out[x.key] = on.*x.member;
  out["sends_once"] = on.sends_once;
  for (const cost::link_level& level : on.links)
    if (level.ranks > 0)
      out["links"].push_back({{"ranks", level.ranks}, {"bytes", level.bytes}, {"seconds", level.seconds}});
  return out;
}

void fit(const fit_options& o, const std::vector<measured_run>& runs) {
  const std::vector<cost::machine_rate> rates = rates_of(o.rates);
  const cost::machine& start = runs.front().on.rates;
  std::vector<cost::measured_step> steps;
  for (const measured_run& run : runs) {
    if (!(run.on.rates == start))
      fail(o.runs + ": the runs are of several machines (" + runs.front().on.name + ", " + run.on.name +
           "): a fit is of one, named with --machine");
    steps.push_back(run.step);
  }
  const cost::machine_data found =
      value_or_fail(cost::fit_machine(steps, rates, start, planner::simulated_seconds), o.runs);
  const std::string name = runs.front().on.name + ", fitted";
  const std::string source = "hocket cost fit: " + o.rates + " from " + std::to_string(runs.size()) +
                             " runs, mean error " + fixed(100 * found.mean_error, 1) + " %, worst " +
                             fixed(100 * found.worst_error, 1) + " %";
  give(o.out, machine_as_json(found.rates, name, source).dump(2) + "\n",
       "runs=" + std::to_string(runs.size()) + " mean_error_percent=" + fixed(100 * found.mean_error, 1) +
           " worst_error_percent=" + fixed(100 * found.worst_error, 1));
}

}  // namespace

json machine_of_option(const std::string& option) {
  if (const std::string name = machine_named(option); cost::machines::find(name) != nullptr) return name;
  if (option.find_first_of("./\\") != std::string::npos) return read_json_file(option);
  std::string names;
  for (const cost::machines::named_machine& each : cost::machines::all)
    names += (names.empty() ? "" : ", ") + std::string(each.key);
  throw failure{2, "--machine: " + shown(option) + " is neither a file nor one of " + names + machines_near(option)};
}

json with_machine(json training, const std::string& option) {
  if (!option.empty() && training.is_object()) training["machine"] = machine_of_option(option);
  return training;
}

void add_machine(CLI::App& command, std::string& option) {
  command
      .add_option("--machine", option, "The machine, in place of the file's: a name such as h100_sxm, or a JSON file")
      ->type_name("NAME|FILE");
}

void add_cost_fit(CLI::App& cost) {
  CLI::App* c = cost.add_subcommand(
      "fit", "Runs that happened beside what is predicted of them; with --rates a machine fitted to them");
  const auto o = std::make_shared<fit_options>();
  c->add_option("runs,--runs", o->runs,
                "JSON: runs, each with model, training, parallel, and step_seconds or "
                "tokens_per_second_per_device")
      ->required()
      ->type_name("FILE");
  add_machine(*c, o->machine);
  c->add_option("--rates", o->rates, "what to fit, with commas between: gemm_flops, memory_bytes, links[0], …");
  c->add_flag("--by-machine", o->by_machine, "one line for each machine and kind of model, not for each run");
  c->add_flag("--hold-out", o->held_out,
              "one line for each model: its runs by parts of the data sheet that were fitted to the other models");
  add_out(*c, o->out);
  c->callback([o] {
    if (o->by_machine && !o->rates.empty()) throw failure{2, "cost fit: --by-machine prints no fit: leave out --rates"};
    if (o->held_out && (o->by_machine || !o->rates.empty() || !o->machine.empty()))
      throw failure{2, "cost fit: --hold-out fits by itself: leave out --by-machine, --rates and --machine"};
    const std::vector<measured_run> runs = read_runs(*o);
    if (o->held_out) return hold_out(*o, runs);
    o->rates.empty() ? compare(*o, runs) : fit(*o, runs);
  });
}

}  // namespace hocket_cli
