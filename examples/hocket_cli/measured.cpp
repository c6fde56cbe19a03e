// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measured.hpp"

#include <hocket/interop/ascend/parse_profile.hpp>
#include <hocket/interop/training_log.hpp>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cost_input.hpp"

namespace hocket_cli {
namespace {

namespace cost = hocket::cost;
using nlohmann::ordered_json;
using what = cost::step_quantity;

std::string printed(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}
std::string right(std::string text, std::size_t width) {
  text.insert(0, width > text.size() ? width - text.size() : 0, ' ');
  return text;
}
std::string value_text(what q, double value) {
  if (cost::unit_name(q) == "byte") {
    std::string digits = printed("%.0f", std::abs(value));
    for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
    return (value < 0 ? "-" : "") + digits + " bytes";
  }
  if (cost::unit_name(q) == "FLOP/s") return printed("%.4g", value / 1e12) + " TFLOP/s";
  return printed("%.6g", value * 1e3) + " ms";
}

// A file that is given twice would stand in the comparison twice.
void check_once(const std::vector<std::string>& names) {
  std::error_code none;
  for (std::size_t i = 0; i < names.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (names[i] == names[j] || std::filesystem::equivalent(names[i], names[j], none))
        fail(names[j] + " and " + names[i] + " are one file: give it once");
}

measured_file read_measured(const std::string& name) {
  const std::string text = read_file(name);
  const auto log = hocket::parse_training_log(text);
  if (log) return {name, hocket::measure_step(*log)};
  if (log.error().code != hocket::errc::truncated || log.error().values[1] > 0) fail(name, log.error());
  const auto profile = hocket::ascend::parse_profile(text);
  if (!profile && profile.error().code == hocket::errc::unknown_table)
    fail(name + ": neither a profiler's file nor a log with step times: " + message(profile.error()));
  if (!profile) fail(name, profile.error());
  measured_file out{name, hocket::measure_step(*profile)};
  if (out.step.values.empty())
    fail(name +
         ": it tells totals, and nothing of a step: give kernel_details.csv, step_trace_time.csv or a memory record");
  return out;
}

// Files of one run agree on their steps, and with the step that is predicted.
void check_same_step(const std::vector<measured_file>& files, const report_context& context) {
  const measured_file* first = nullptr;
  for (const measured_file& f : files) {
    const std::int64_t predicted = context.training->step.global_batch;
    if (f.step.global_batch != 0 && f.step.global_batch != predicted)
      fail(f.name + ": it measured steps of " + std::to_string(f.step.global_batch) +
           " sequences, and predicted is one of " + std::to_string(predicted));
    if (f.step.step_count == 0) continue;
    if (first == nullptr) first = &f;
    if (f.step.step_count != first->step.step_count)
      fail(f.name + ": it measured " + std::to_string(f.step.step_count) + " steps, and " + first->name + " " +
           std::to_string(first->step.step_count) + ": they are not of one run");
  }
}

std::vector<cost::step_value> predicted_seconds(const report_context& context, double makespan_seconds) {
  std::vector<cost::step_value> out;
  if (!context.step) {
    if (makespan_seconds > 0) out.push_back({what::step, makespan_seconds, "simulated pipeline alone"});
    return out;
  }
  const cost::step_parts& p = context.step->parts;
  const double computing = (p.forward_backward + p.optimizer + p.post_processing).count();
  out = {{what::step, p.total().count()},
         {what::computing, computing},
         {what::forward_backward, p.forward_backward.count()},
         {what::optimizer, (p.optimizer + p.post_processing).count()},
         {what::communication_exposed, p.communication_exposed.count()},
         {what::communication_hidden, p.communication_hidden.count()},
         {what::bubble, p.bubble.count()},
         {what::free, (p.scheduling + p.data_loading).count()},
         {what::data_loading, p.data_loading.count()},
         {what::scheduling, p.scheduling.count()}};
  return out;
}

// The peak of the measured rank; of a record without weights and optimizer states, what is left of it.
cost::step_value predicted_peak(const measured_options& o, const cost::report& report, const report_context& context,
                                bool without_states) {
  const auto r = static_cast<std::size_t>(o.rank);
  cost::step_value out{what::memory_peak, report.memory[r].peak.total_bytes().real()};
  if (!without_states) return out;
  cost::training states = context.training->step;
  states.gradient_bytes = 0;
  const auto bytes =
      value_or_fail(cost::static_bytes(report.memory[r].parameters, states, context.parallel), "--measured");
  out.value -= bytes.real();
  out.note = "without weights and optimizer states, " + value_text(what::memory_peak, bytes.real()) +
             ", which a CPU's record has not";
  return out;
}

void add_utilizations(const measured_options& o, const cost::report& report, const report_context& context,
                      const std::vector<cost::flop_count>& others, measured_report& out) {
  double seconds = 0;
  for (const cost::compared_value& v : out.values)
    if (v.what == what::step) seconds = v.measured;
  const double tflops = o.peak_tflops > 0 ? o.peak_tflops : context.training->peak_tflops;
  if (seconds <= 0) out.why_no_utilization = "no file tells the time of a step";
  else if (tflops <= 0) out.why_no_utilization = "give the peak of a device by --peak-tflops";
  if (!out.why_no_utilization.empty()) return;
  std::vector<cost::flop_count> counts{*report.flops};
  counts.insert(counts.end(), others.begin(), others.end());
  const auto time = hocket::seconds(seconds);
  const std::int64_t devices = context.parallel.devices();
  for (const cost::flop_count& one : counts) {
    const auto mfu = cost::utilization_of<cost::work::model>(one, devices, time, tflops * 1e12);
    out.utilizations.push_back(to_string(mfu));
    out.ratios.push_back(mfu.ratio_by_convention());
  }
  const auto hfu = cost::utilization_of<cost::work::hardware>(*report.flops, devices, time, tflops * 1e12);
  out.utilizations.push_back(to_string(hfu));
  out.ratios.push_back(hfu.ratio_by_convention());
}

}  // namespace

void add_measured(CLI::App& command, measured_options& options) {
  CLI::Option* files =
      command
          .add_option("--measured", options.files,
                      "Beside what is predicted: a profiler's files (kernel_details.csv, step_trace_time.csv, memory "
                      "record) or a log of MindFormers or Megatron")
          ->type_name("FILE...");
  command.add_option("--measured-rank", options.rank, "Pipeline rank that was measured")
      ->needs(files)
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000}))
      ->capture_default_str();
  command.add_option("--peak-tflops", options.peak_tflops, "Peak of a device, for MFU and HFU of the measured step")
      ->needs(files)
      ->check(is_number(1e-6, 1e9, "number from 10^-6 to 10^9"));
}

measured_report compare_measured(const measured_options& o, const cost::report& report, const report_context& context,
                                 double makespan_seconds, const std::vector<cost::flop_count>& counts) {
  if (!context.training) throw failure{2, "--measured needs --training: a step is measured"};
  if (static_cast<std::size_t>(o.rank) >= report.memory.size())
    throw failure{2, "--measured-rank " + std::to_string(o.rank) + ": there are " +
                         std::to_string(report.memory.size()) + " pipeline ranks, from 0"};
  measured_report out;
  check_once(o.files);
  for (const std::string& name : o.files) out.files.push_back(read_measured(name));
  check_same_step(out.files, context);
  for (const measured_file& f : out.files) {
    std::vector<cost::step_value> predicted = predicted_seconds(context, makespan_seconds);
    predicted.push_back(predicted_peak(o, report, context, f.step.without_states));
    if (report.flops && !predicted.empty() && predicted[0].what == what::step && predicted[0].value > 0)
      predicted.push_back({what::device_flops, report.flops->model_step.real() / predicted[0].value /
                                                   static_cast<double>(context.parallel.devices())});
    std::vector<cost::step_value> measured = f.step.values;
    for (cost::step_value& v : measured) v.note = f.name;
    const auto compared = cost::compare_values(predicted, measured);
    out.values.insert(out.values.end(), compared.begin(), compared.end());
  }
  cost::sort_by_difference(out.values);
  if (report.flops) add_utilizations(o, report, context, counts, out);
  return out;
}

std::string measured_as_text(const measured_report& m) {
  std::string out = "\npredicted beside measured, biggest difference first\n";
  for (const measured_file& f : m.files)
    out += "  " + f.name +
           (f.step.step_count > 0 ? ": one step, of " + std::to_string(f.step.step_count) : ": memory") + '\n';
  out += "  " + std::string(22, ' ') + right("predicted", 22) + right("measured", 22) + right("difference", 22) + '\n';
  for (const cost::compared_value& v : m.values) {
    std::string name(to_string(v.what));
    name.resize(std::max<std::size_t>(name.size(), 22), ' ');
    out += "  " + name + right(v.predicted ? value_text(v.what, *v.predicted) : "not predicted", 22) +
           right(value_text(v.what, v.measured), 22);
    if (v.predicted)
      out += right(value_text(v.what, v.difference()), 22) + right(printed("%+.1f", 100 * v.relative()), 8) + " %";
    out += '\n';
    if (!v.predicted_note.empty()) out += "    predicted: " + v.predicted_note + '\n';
  }
  out += "  difference: measured less predicted, and its share of what was measured\n";
  for (const std::string& u : m.utilizations) out += "  measured " + u + '\n';
  if (!m.why_no_utilization.empty()) out += "  no MFU: " + m.why_no_utilization + '\n';
  return out;
}

ordered_json measured_as_json(const measured_report& m) {
  ordered_json out;
  out["files"] = ordered_json::array();
  for (const measured_file& f : m.files)
    out["files"].push_back({{"file", f.name}, {"steps", f.step.step_count}, {"without_states", f.step.without_states}});
  out["compared"] = ordered_json::array();
  for (const cost::compared_value& v : m.values) {
    ordered_json one = {{"quantity", to_string(v.what)},
                        {"unit", cost::unit_name(v.what)},
                        {"predicted", v.predicted ? ordered_json(*v.predicted) : ordered_json()},
                        {"measured", v.measured},
                        {"file", v.note}};
    if (v.predicted) {
      one["difference"] = v.difference();
      one["relative"] = v.relative();
    }
    if (!v.predicted_note.empty()) one["predicted_note"] = v.predicted_note;
    out["compared"].push_back(std::move(one));
  }
  out["utilization"] = ordered_json::array();
  for (std::size_t i = 0; i < m.utilizations.size(); ++i)
    out["utilization"].push_back({{"text", m.utilizations[i]}, {"ratio", m.ratios[i]}});
  if (!m.why_no_utilization.empty()) out["why_no_utilization"] = m.why_no_utilization;
  return out;
}

std::string with_measured_json(std::string json, const measured_report& m) {
  const ordered_json out = measured_as_json(m);
  // The report prints its own JSON, because FLOPs of a step need more digits than a double has.
  json.erase(json.find_last_of('}'));
  while (json.back() == '\n' || json.back() == ' ') json.pop_back();
  return json + ",\n  \"measured\": " + out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n}\n";
}

}  // namespace hocket_cli
