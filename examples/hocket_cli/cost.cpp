// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

namespace hocket_cli {

void add_cost(CLI::App& app) {
  CLI::App* cost = app.add_subcommand("cost", "cost");
  cost->require_subcommand(1);
  add_not_yet(*cost, "report", "report");
}

}  // namespace hocket_cli
