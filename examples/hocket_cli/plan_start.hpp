// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A first plan: from a model's config.json and a few options, with the rest assumed and said.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"

namespace hocket_cli {

/// What the options of `hocket plan` say in place of a file.
struct plan_wishes {
  std::string machine, precision;
  std::optional<std::int64_t> devices, sequence, global_batch;
  std::optional<double> memory_gib;
};
/// Adds --machine, --devices, --memory-gib, --sequence, --global-batch and --precision.
void add_plan_wishes(CLI::App& command, plan_wishes& wishes);

/// What nobody said.
struct assumed_value {
  std::string name, value, how_to_say;
};
struct started_plan {
  nlohmann::json plan;                 ///< in the form of a plan file
  std::vector<assumed_value> assumed;  ///< empty for a plan file
};
/// The plan of a file, which is a plan, or the config.json of a model; the options replace what the file says. Ends the
/// command if the file cannot be read, or if devices or machine of a config.json are not said.
started_plan start_plan(const std::string& file, const plan_wishes& wishes);
/// "Assumed" and a line for each value; empty if there are none.
std::string assumed_as_text(const std::vector<assumed_value>& assumed);
/// The JSON object with a member "assumed" in front.
std::string with_assumed_json(std::string json, const std::vector<assumed_value>& assumed);

/// Writes plan.json, and a config.json if none is named or there, into a folder; never over an older file.
/// @param config  a model's config.json; empty: that of the folder, or one of an example
void write_first_files(const std::string& config, const plan_wishes& wishes, const std::string& folder);

}  // namespace hocket_cli
