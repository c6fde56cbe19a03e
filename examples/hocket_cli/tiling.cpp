// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

namespace hocket_cli {

void add_tiling(CLI::App& app) {
  CLI::App* tiling = app.add_subcommand("tiling", "tiling");
  tiling->require_subcommand(1);
  add_not_yet(*tiling, "solve", "solve");
  add_not_yet(*tiling, "fit", "fit");
}

}  // namespace hocket_cli
