// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sub-commands of the planner, one file each.
#pragma once
#include <hocket/cost/device_memory.hpp>
#include <hocket/interop/files/fixed.hpp>

#include "command.hpp"

#include <string>

namespace hocket_cli {

using hocket::interop::bytes_per_gib, hocket::interop::fixed;

/// The memory of a device, as the command line says it.
struct memory_option {
  double gib = 0;  ///< 0: not given
  double reserve_gib = static_cast<double>(hocket::cost::usual_reserve.count()) / bytes_per_gib;
  [[nodiscard]] bool given() const noexcept { return gib > 0; }
  /// Ends the command if the reserve leaves nothing.
  [[nodiscard]] hocket::cost::device_memory memory() const;
};
/// Adds `--memory-gib GIB` and `--reserve-gib GIB` to a sub-command; returns the former.
CLI::Option* add_memory(CLI::App& command, memory_option& memory, const std::string& description);

void add_pipeline_search(CLI::App& pipeline_command);
void add_planner_offload(CLI::App& planner_command);
void add_planner_batches(CLI::App& planner_command);
void add_planner_layout(CLI::App& planner_command);
void add_planner_search(CLI::App& planner_command);
void add_planner_split(CLI::App& planner_command);

}  // namespace hocket_cli
