// SPDX-License-Identifier: Apache-2.0
// The sub-commands of the planner, one file each.
#pragma once
#include "command.hpp"

namespace hocket_cli {

void add_planner_split(CLI::App& planner_command);

}  // namespace hocket_cli
