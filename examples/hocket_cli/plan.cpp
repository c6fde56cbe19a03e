// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

namespace hocket_cli {

void add_plan(CLI::App& app) { add_not_yet(app, "plan", "The main job: all of it for one training step"); }

}  // namespace hocket_cli
