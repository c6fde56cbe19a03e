// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What people type before they have read the help: other names for options, commands and schedules, and what to say
// where a word is unknown.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"

namespace hocket_cli {

/// The words of the command line in the tool's own names:
///   nothing, `help [command]`, `version`     --help of that command, --version
///   --microbatches, --pp, --micro_batches    the option of that meaning, where the command has it and not this name
///   pipeline simulate FILE.csv               --table FILE.csv
/// Words that mean something already stay as they are.
std::vector<std::string> as_meant(const CLI::App& app, std::vector<std::string> words);

/// What was not understood of a command line, with the right call if one is near; empty if all was. "Not expected:
/// --rank 4; did you mean --ranks?"
/// @param app  after it has parsed the words, and failed
std::string not_understood(const CLI::App& app);

/// Where a required file is missing that another command does without: "; with the model alone: hocket plan …", or
/// nothing.
std::string call_without_files(const CLI::App& app);

/// A schedule's own name for what people call it: `1F1B`, `GPipe`, `vpp`, PyTorch's ScheduleInterleaved1F1B. A name
/// that nothing is known of stays.
std::string schedule_named(std::string word);
/// "; did you mean …?" for a schedule that does not exist.
std::string schedules_near(const std::string& word);
/// Other names of a schedule, with commas and blanks between them.
std::string other_names_of(std::string_view schedule);

}  // namespace hocket_cli
