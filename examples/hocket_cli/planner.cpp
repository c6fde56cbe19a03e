// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

namespace hocket_cli {

void add_planner(CLI::App& app) {
  CLI::App* planner = app.add_subcommand("planner", "Choices: stage split, recompute, strategy");
  planner->require_subcommand(1);
  add_not_yet(*planner, "split", "Stage split and recompute choice");
  add_not_yet(*planner, "search", "Strategies that fit, ranked");
}

}  // namespace hocket_cli
