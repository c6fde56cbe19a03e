// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Default values of options from a file (docs/file_forms.md, "Default values"), a small part of TOML:
//
//     json = true              # every command that has --json
//     [pipeline.search]        # one command; [pipeline] would be all of its own
//     budget = 100000
//     placement = "v"
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"

namespace hocket_cli {

/// One line of the file.
struct default_value {
  std::string file;
  std::size_t line = 0;
  std::string section, key;         ///< "pipeline search", "budget"
  std::vector<std::string> values;  ///< one; several of an array
};

/// The file that with_defaults read.
struct defaults_file {
  std::string text;  ///< its name, or what is wrong with it; empty: there is none
  bool is_bad = false;
};
defaults_file& file_of_this_run();

/// The words of the command line, without --config FILE, and behind them the defaults that apply: those of the command
/// whose option is neither given nor excluded by one that is. Ends the command for a file that cannot be understood, or
/// that names what is no command or no option, with file and line. Help and the version do not look at the file;
/// doctor, manual and completion run without a bad one, and file_of_this_run() has what is wrong with it.
/// @param used  takes those that were added
std::vector<std::string> with_defaults(const CLI::App& app, std::vector<std::string> words,
                                       std::vector<default_value>& used);
/// "FILE:LINE: " of the default whose option a complaint names; else empty.
std::string place_of(std::string_view complaint, const std::vector<default_value>& used);

}  // namespace hocket_cli
