// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the files of a cost report to the report: for `hocket cost report` and for the library for C.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "cost_input.hpp"

namespace hocket_cli {

/// A file: how messages call it, and what it says.
struct json_text {
  std::string name;
  nlohmann::json value;
};
struct cost_files {
  json_text model;
  std::optional<json_text> training, parallel;  ///< parallel needs training
};
struct cost_answer {
  hocket::cost::report report;
  report_context context;
  std::vector<hocket::cost::flop_count> counts{};  ///< of a list of layers: a step by other conventions
};
/// Ends the command with one sentence that names the file and the field if that cannot be.
cost_answer answer_of(const cost_files& files);

/// The same from texts to a text: format is json, latex or text.
std::string cost_report_of(std::string_view model, std::optional<std::string_view> training,
                           std::optional<std::string_view> parallel, std::string_view format);

}  // namespace hocket_cli
