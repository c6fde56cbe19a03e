// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tool's commands and options as plain values: what shell completion, the manual page and default values are made
// of.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"

namespace hocket_cli {

struct option_entry {
  std::vector<std::string> names;    ///< "--out", "-h,--help" apart; empty: positional
  std::string value;                 ///< what stands behind it, as help says; empty: a flag
  std::string text;                  ///< what it does
  std::vector<std::string> choices;  ///< all that it may be; empty: anything
  bool takes_file = false, takes_folder = false;
  bool required = false;
  bool positional = false;  ///< may stand without a name
};
struct command_entry {
  std::string path;  ///< "" for the tool itself, "graph", "graph prune"
  std::string text, footer;
  std::vector<option_entry> options;
  std::vector<std::string> subcommands;
};

/// The options of a command, those of its groups of options behind the others.
std::vector<const CLI::Option*> options_of(const CLI::App& command);
/// The words with blanks between them.
std::string joined(const std::vector<std::string>& words);
/// The command of that name directly below another; null if there is none.
const CLI::App* child_of(const CLI::App& command, std::string_view name);
/// Every command, a parent in front of its own.
std::vector<command_entry> commands_of(const CLI::App& app);

}  // namespace hocket_cli
