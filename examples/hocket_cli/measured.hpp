// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `--measured FILE…` of `hocket cost report` and `hocket plan`: what was predicted beside what was measured.
#pragma once
#include <hocket/cost/model/list_cost.hpp>
#include <hocket/interop/measured_step.hpp>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command.hpp"
#include "cost_input.hpp"

namespace hocket_cli {

struct measured_options {
  std::vector<std::string> files;
  std::int64_t rank = 0;   ///< pipeline rank that was measured
  double peak_tflops = 0;  ///< of a device; 0: as in the training file, if it says
};
void add_measured(CLI::App& command, measured_options& options);

/// One file of the option, read.
struct measured_file {
  std::string name;
  hocket::measured_step step;
};

/// The comparison, ready to print.
struct measured_report {
  std::vector<measured_file> files;
  std::vector<hocket::cost::compared_value> values;
  /// MFU and HFU of the measured step, each with its convention; empty without a step time or a peak.
  std::vector<std::string> utilizations;
  std::vector<double> ratios;
  std::string why_no_utilization;
};
/// Reads the files and compares. Ends the command with one sentence for a file that tells nothing of a step, for one
/// of another global batch, and for files of different numbers of steps.
/// @param makespan_seconds  of the simulated pipeline, where no machine predicts a step; 0: none
/// @param counts  of a list of layers: FLOPs of a step by other conventions; of a model they are counted here
measured_report compare_measured(const measured_options& options, const hocket::cost::report& report,
                                 const report_context& context, double makespan_seconds = 0,
                                 const std::vector<hocket::cost::flop_count>& counts = {});

std::string measured_as_text(const measured_report& m);
nlohmann::ordered_json measured_as_json(const measured_report& m);
/// The report's JSON with a field "measured" at its end.
std::string with_measured_json(std::string report_json, const measured_report& m);

}  // namespace hocket_cli
