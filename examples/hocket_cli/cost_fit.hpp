// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace CLI {
class App;
}

namespace hocket_cli {

/// What --machine says, a name or the file of a machine, as the "machine" of a training or cluster file.
nlohmann::json machine_of_option(const std::string& option);
/// A training file, or the "training" of a plan, with the machine of --machine in place of its own.
nlohmann::json with_machine(nlohmann::json training, const std::string& option);
/// Adds --machine to a command.
void add_machine(CLI::App& command, std::string& option);

void add_cost_fit(CLI::App& cost);

}  // namespace hocket_cli
