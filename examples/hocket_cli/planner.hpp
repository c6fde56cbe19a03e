// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sub-commands of the planner, one file each.
#pragma once
#include "command.hpp"

#include <string>

namespace hocket_cli {

/// Adds `--memory-gib GIB` to a sub-command.
CLI::Option* add_memory_gib(CLI::App& command, double& gib, const std::string& description);

void add_pipeline_search(CLI::App& pipeline_command);
void add_planner_offload(CLI::App& planner_command);
void add_planner_batches(CLI::App& planner_command);
void add_planner_layout(CLI::App& planner_command);
void add_planner_search(CLI::App& planner_command);
void add_planner_split(CLI::App& planner_command);

}  // namespace hocket_cli
