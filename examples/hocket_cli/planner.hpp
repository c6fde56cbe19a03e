// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sub-commands of the planner, one file each.
#pragma once
#include "command.hpp"

#include <string>

namespace hocket_cli {

/// For CLI11, which takes a sentence for a refusal. Its own Range lets "nan" through.
std::string sentence_unless_gib(const std::string& text);

void add_pipeline_search(CLI::App& pipeline_command);
void add_planner_offload(CLI::App& planner_command);
void add_planner_batches(CLI::App& planner_command);
void add_planner_layout(CLI::App& planner_command);
void add_planner_search(CLI::App& planner_command);
void add_planner_split(CLI::App& planner_command);

}  // namespace hocket_cli
