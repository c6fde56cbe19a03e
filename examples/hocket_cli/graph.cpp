// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

namespace hocket_cli {

void add_graph(CLI::App& app) {
  CLI::App* graph = app.add_subcommand("graph", "graph");
  graph->require_subcommand(1);
  add_not_yet(*graph, "prune", "prune");
  add_not_yet(*graph, "sync", "sync");
  add_not_yet(*graph, "reaches", "reaches");
  add_not_yet(*graph, "compare", "compare");
}

}  // namespace hocket_cli
