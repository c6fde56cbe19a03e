// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

namespace hocket_cli {

void add_pipeline(CLI::App& app) {
  CLI::App* pipeline = app.add_subcommand("pipeline", "pipeline");
  pipeline->require_subcommand(1);
  add_not_yet(*pipeline, "list", "list");
  add_not_yet(*pipeline, "simulate", "simulate");
  add_not_yet(*pipeline, "check", "check");
  add_not_yet(*pipeline, "draw", "draw");
  add_not_yet(*pipeline, "search", "search");
}

}  // namespace hocket_cli
