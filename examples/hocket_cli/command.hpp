// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the sub-commands of the tool share. One source file per component keeps the build parallel and each file short.
#pragma once
#include <hocket/core.hpp>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "failure.hpp"
#include "output.hpp"

namespace hocket_cli {

/// The whole file, "-" for standard input. Fails with one sentence if it cannot be read or is larger than 1 GiB.
std::string read_file(const std::string& path);

/// What holds for the whole run of the tool.
struct run_options {
  bool json = false;              ///< --json
  const CLI::App* app = nullptr;  ///< the tree of commands
};
run_options& this_run();
/// The form of the data: that of --format, or "json" with --json.
std::string form(const std::string& format);
/// Data as a terminal may get it: what names from files bring along that is a command to it, another direction or a new
/// kind of line. It becomes \u009b and the like in JSON, where that is the same text, and '?' elsewhere. O(bytes).
std::string without_controls(std::string_view data);
/// Ends a command well: its data to the file or to standard output, its summary line to standard error. With --json the
/// data is one JSON object, which also holds the numbers of the summary (docs/file_forms.md, "What --json prints").
/// @param data     a JSON object, or a CSV with a header
/// @param summary  key=value words, without the end of the line
void give(const std::string& out, std::string_view data, std::string_view summary);

/// The numbers of an option such as 8,8,6,6, each in [least, most]; ends the command at the first word that is none.
/// @param must  what the option must be, for that sentence
std::vector<std::int64_t> number_list(const std::string& option, std::string_view words, std::int64_t least,
                                      std::int64_t most, const std::string& must);
/// A check of an option: the library behind the command line takes what does not fit 64 bits as the largest that does.
std::string fits_64_bits(const std::string& word);
/// A check of an option: a number in [least, most], and not nan, which CLI::Range takes.
/// @param what  what it must be, for the sentence: "number from 0 to 10^9"
std::function<std::string(const std::string&)> is_number(double least, double most, const std::string& what);

/// A check of an option that names a file to write: fails as write_file would if there is no folder for it, and if
/// another option names the same file. Before the work, not after it.
std::string has_folder(const std::string& path);
/// Adds `--out FILE`, `-o` for short, to a sub-command; write_file(path, …) takes the result.
inline void add_out_alone(CLI::App& command, std::string& path) {
  command.add_option("-o,--out", path, "Write the data to FILE instead of standard output")
      ->type_name("FILE")
      ->check(has_folder);
}
/// Adds `--json` to a sub-command that ends in give().
inline void add_json(CLI::App& command) {
  command.add_flag("--json", this_run().json, "The data and the summary as one JSON object");
}
/// Adds `--out FILE` and `--json` to a sub-command; give(path, …) takes the result.
inline void add_out(CLI::App& command, std::string& path) {
  add_out_alone(command, path);
  add_json(command);
}

void add_graph(CLI::App& app);
void add_pipeline(CLI::App& app);
void add_pipeline_buffers(CLI::App& group);
void add_pipeline_prefill(CLI::App& group);
void add_pipeline_ranks(CLI::App& group);
void add_pipeline_compare(CLI::App& group);
void add_pipeline_schedules(CLI::App& group);
void add_tiling(CLI::App& app);
void add_ranks(CLI::App& app);
void add_ranks_hang(CLI::App& group);
void add_cost(CLI::App& app);
void add_planner(CLI::App& app);
void add_plan(CLI::App& app);
void add_ir(CLI::App& app);
void add_profile(CLI::App& app);
void add_machines(CLI::App& app);
void add_doctor(CLI::App& app);
void add_completion(CLI::App& app);
void add_manual(CLI::App& app);

}  // namespace hocket_cli
