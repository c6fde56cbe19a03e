// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the sub-commands of the tool share. One source file per component keeps the build parallel and each file short.
#pragma once
#include <hocket/core.hpp>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "failure.hpp"

namespace hocket_cli {

/// The same for a CSV: says what its first line must be, if that is what is wrong.
template <class T>
T table_or_fail(hocket::result<T>&& r, const std::string& file, std::string_view header) {
  if (!r && r.error().code == hocket::errc::malformed && r.error().values[0] == 1)
    fail(file + ": " + message(r.error()) + ": the first line must be " + std::string(header));
  return value_or_fail(std::move(r), file);
}

/// The whole file, "-" for standard input. Fails with one sentence if it cannot be read or is larger than 1 GiB.
std::string read_file(const std::string& path);
/// Writes data to the file, or to standard output if the path is empty.
void write_file(const std::string& path, std::string_view data);

/// The numbers of an option such as 8,8,6,6, each in [least, most]; ends the command at the first word that is none.
/// @param must  what the option must be, for that sentence
std::vector<std::int64_t> number_list(const std::string& option, std::string_view words, std::int64_t least,
                                      std::int64_t most, const std::string& must);
/// A check of an option: the library behind the command line takes what does not fit 64 bits as the largest that does.
std::string fits_64_bits(const std::string& word);

/// Fails as write_file would if there is no folder to write the file to: before the work, not after it.
std::string has_folder(const std::string& path);
/// Adds `--out FILE` to a sub-command; write_file(path, …) takes the result.
inline void add_out(CLI::App& command, std::string& path) {
  command.add_option("--out", path, "Write the data to FILE instead of standard output")
      ->type_name("FILE")
      ->check(has_folder);
}

/// A sub-command of DESIGN.md whose component is still to come: any arguments, exit 2 with "not yet".
void add_not_yet(CLI::App& parent, const std::string& name, const std::string& description);

void add_graph(CLI::App& app);
void add_pipeline(CLI::App& app);
void add_pipeline_compare(CLI::App& group);
void add_tiling(CLI::App& app);
void add_cost(CLI::App& app);
void add_planner(CLI::App& app);
void add_plan(CLI::App& app);
void add_ir(CLI::App& app);
void add_profile(CLI::App& app);

}  // namespace hocket_cli
