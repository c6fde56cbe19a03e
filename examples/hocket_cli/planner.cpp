// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "planner.hpp"

#include <string>

namespace hocket_cli {

CLI::Option* add_memory_gib(CLI::App& command, double& gib, const std::string& description) {
  return command.add_option("--memory-gib", gib, description)
      ->type_name("GIB")
      ->check(is_number(0.001, 1e6, "number of GiB from 0.001 to 10^6"));
}

void add_planner(CLI::App& app) {
  CLI::App* planner = app.add_subcommand("planner", "Choices: stage split, recompute, layout, strategy, micro-batches");
  planner->require_subcommand(1);
  add_planner_split(*planner);
  add_planner_search(*planner);
  add_planner_layout(*planner);
  add_planner_batches(*planner);
  add_planner_offload(*planner);
}

}  // namespace hocket_cli
