// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "guesses.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "closest.hpp"
#include "tree.hpp"

namespace hocket_cli {
namespace {

struct other_name {
  std::string_view word, option;
};
// Options of Megatron, PyTorch and launchers, and the tool's option of that meaning.
constexpr other_name other_names[] = {{"microbatches", "micro-batches"},
                                      {"num-microbatches", "micro-batches"},
                                      {"num-micro-batches", "micro-batches"},
                                      {"n-microbatches", "micro-batches"},
                                      {"pp", "ranks"},
                                      {"pp-size", "ranks"},
                                      {"num-ranks", "ranks"},
                                      {"pipeline-parallel-size", "ranks"},
                                      {"pipeline-model-parallel-size", "ranks"},
                                      {"vp", "chunks"},
                                      {"vpp", "chunks"},
                                      {"virtual-pipeline-model-parallel-size", "chunks"},
                                      {"num-virtual-stages-per-pipeline-rank", "chunks"},
                                      {"gpus", "devices"},
                                      {"num-gpus", "devices"},
                                      {"ngpus", "devices"},
                                      {"world-size", "devices"},
                                      {"gpu", "machine"},
                                      {"hardware", "machine"},
                                      {"seq-length", "sequence"},
                                      {"seq-len", "sequence"},
                                      {"sequence-length", "sequence"},
                                      {"global-batch-size", "global-batch"},
                                      {"gbs", "global-batch"},
                                      {"dtype", "precision"},
                                      {"output", "out"},
                                      {"csv", "table"}};
// Sizes of a layout, which stand in a file.
constexpr std::array<std::string_view, 10> sizes = {"--tp",
                                                    "--pp",
                                                    "--vp",
                                                    "--dp",
                                                    "--cp",
                                                    "--ep",
                                                    "--zero",
                                                    "--tensor-model-parallel-size",
                                                    "--pipeline-model-parallel-size",
                                                    "--context-parallel-size"};

struct reached {
  const CLI::App* command;
  std::size_t next;  ///< of the words, after the command's own
  std::string path;
};

/// The command that the words name: what comes before its first word that is no command of its own.
reached command_in(const CLI::App& app, const std::vector<std::string>& words) {
  reached at{&app, 0, ""};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (at.command == &app && word == "--config") ++i;
    if (word.starts_with("-")) continue;
    const CLI::App* const below = child_of(*at.command, word);
    if (below == nullptr) break;
    at = {below, i + 1, at.path + (at.path.empty() ? "" : " ") + word};
  }
  return at;
}

/// The command that was parsed.
reached parsed(const CLI::App& app) {
  reached at{&app, 0, ""};
  while (!at.command->get_subcommands().empty()) {
    at.command = at.command->get_subcommands().front();
    at.path += (at.path.empty() ? "" : " ") + at.command->get_name();
  }
  return at;
}

bool has_option(const CLI::App& command, const std::string& name) {
  return command.get_option_no_throw("--" + name) != nullptr;
}

/// "--micro_batches=8" as "--micro-batches=8", where the command has that option and not this one.
std::string option_as_meant(const CLI::App& command, const std::string& word) {
  const std::size_t end = (std::min)(word.find('='), word.size());
  std::string name = word.substr(2, end - 2);
  if (name.empty() || has_option(command, name)) return word;
  for (char& c : name) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const other_name& other : other_names)
    if (other.word == name && !has_option(command, name) && has_option(command, std::string(other.option)))
      name = other.option;
  return has_option(command, name) ? "--" + name + word.substr(end) : word;
}

bool is_file(const std::string& word) {
  std::error_code none;
  return std::filesystem::exists(word, none);
}
bool names_file(const std::string& word) { return word.find_first_of("./\\") != std::string::npos || word == "-"; }

/// Whole words that other tools have for what this one calls otherwise.
void translate_words(std::vector<std::string>& words) {
  if (words.empty()) words = {"--help"};
  if (words[0] == "help") {
    words.erase(words.begin());
    words.erase(std::remove_if(words.begin(), words.end(), [](const auto& x) { return x.starts_with("-"); }),
                words.end());
    words.emplace_back("--help");
  }
  if (words[0] == "version") words[0] = "--version";
  if (words[0] == "--list") words[0] = "--help";
  if (words[0] == "completions") words[0] = "completion";
  if (words.size() > 1 && words[0] == "plan" && words[1] == "init" && !is_file("init")) words[1] = "--init";
}

/// The commands without others below them, by their last word: "hocket pipeline simulate".
std::vector<std::string> commands_ending_in(const CLI::App& app, const std::string& word) {
  std::vector<std::string> found;
  for (const command_entry& each : commands_of(app))
    if (each.subcommands.empty() && each.path.ends_with(" " + word)) found.push_back("hocket " + each.path);
  return found;
}

std::string near_option(const CLI::App& command, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  if (has_option(command, "parallel") && std::find(sizes.begin(), sizes.end(), name) != sizes.end())
    return "; sizes of a layout stand in the JSON file of --parallel: {\"tp\": 2, \"pp\": 4}";
  constexpr std::size_t shortest = 4;  // every -x is near every -y
  if (name.size() < shortest) return {};
  std::vector<std::string> names;
  for (const CLI::Option* option : options_of(command))
    for (const std::string& each : option->get_lnames())
      if (!option->get_group().empty()) names.push_back("--" + each);
  return did_you_mean(closest(name, names));
}

std::string near_command(const CLI::App& app, const CLI::App& command, const std::string& path,
                         const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* below : command.get_subcommands([](const CLI::App* x) { return !x->get_name().empty(); }))
    names.push_back(below->get_name());
  std::vector<std::string> near = closest(word, names);
  for (std::string& each : near) each = "hocket " + path + (path.empty() ? "" : " ") + each;
  if (near.empty()) near = commands_ending_in(app, word);
  if (!near.empty() || path.empty()) return did_you_mean(near);
  std::string all = "; hocket " + path + " needs one of";
  for (const std::string& each : names) all += (each == names.front() ? " " : ", ") + each;
  return names_file(word) ? all + ": hocket " + path + ' ' + names.front() + ' ' + word : all;
}

}  // namespace

std::vector<std::string> as_meant(const CLI::App& app, std::vector<std::string> words) {
  translate_words(words);
  const reached at = command_in(app, words);
  const auto end = std::find(words.begin() + static_cast<std::ptrdiff_t>(at.next), words.end(), "--");
  for (auto word = words.begin() + static_cast<std::ptrdiff_t>(at.next); word != end; ++word) {
    if (word->starts_with("--")) *word = option_as_meant(*at.command, *word);
    const bool names_a_form = *word == "-o" && word + 1 != end && (*(word + 1) == "json" || *(word + 1) == "yaml");
    if (names_a_form && has_option(*at.command, "json"))
      throw failure{2, "-o " + *(word + 1) + ": -o names a file to write; --json prints JSON"};
  }
  const bool has_word = at.next < words.size() && !words[at.next].starts_with("--");
  const bool takes_table = at.path.starts_with("pipeline ") && at.command->get_option_no_throw("schedule") != nullptr;
  if (has_word && takes_table && has_option(*at.command, "table") && names_file(words[at.next]))
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(at.next), "--table");
  return words;
}

std::string call_without_files(const CLI::App& app) {
  if (parsed(app).path != "planner search") return {};
  return "; with the model alone: hocket plan config.json --devices 64 --machine h100_sxm";
}

std::string not_understood(const CLI::App& app) {
  const reached at = parsed(app);
  const CLI::App* const command = at.command;
  const std::string& path = at.path;
  const std::vector<std::string> unknown = app.remaining(true);
  const bool is_group = !command->get_subcommands([](const CLI::App* x) { return !x->get_name().empty(); }).empty();
  if (unknown.empty()) return is_group ? "A subcommand is required" + near_command(app, *command, path, "") : "";
  const std::string& first = unknown.front();
  const std::string all = (is_group ? "not understood: " + first
                                    : (unknown.size() > 1 ? "The following arguments were not expected: "
                                                          : "The following argument was not expected: ") +
                                          joined(unknown));
  if (first.starts_with("-")) return all + near_option(*command, first);
  return is_group ? all + near_command(app, *command, path, first) : all;
}

}  // namespace hocket_cli
