// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "planner.hpp"

namespace hocket_cli {

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
