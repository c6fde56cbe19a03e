// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "defaults.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "tree.hpp"

namespace hocket_cli {
namespace {

std::string place(const std::string& file, std::size_t line) { return file + ":" + std::to_string(line) + ": "; }
[[noreturn]] void refuse(const default_value& at, const std::string& why) { fail(place(at.file, at.line) + why); }

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// The line without its comment: a # that is in no quotes.
std::string_view without_comment(std::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quote == 0 && line[i] == '#') return line.substr(0, i);
    if (quote == 0 && (line[i] == '"' || line[i] == '\'')) quote = line[i];
    else if (line[i] == quote) quote = 0;
  }
  return line;
}

/// A bare word, or text in quotes; both end before they hold a quote of that kind.
std::string one_value(const default_value& at, std::string_view text) {
  text = trimmed(text);
  if (text.empty()) refuse(at, "\"" + at.key + "\" has no value");
  if (text[0] == '"' || text[0] == '\'') {
    const std::string_view inside = text.substr(1, text.size() < 2 ? 0 : text.size() - 2);
    if (text.size() < 2 || text.back() != text[0] || inside.find(text[0]) != std::string_view::npos)
      refuse(at, "the value of \"" + at.key + "\" has a quote that does not end it");
    if (inside.find('\\') != std::string_view::npos && text[0] == '"')
      refuse(at, "the value of \"" + at.key + "\" has a backslash: write it in single quotes");
    if (inside.empty()) refuse(at, "the value of \"" + at.key + "\" is empty");
    return std::string(inside);
  }
  if (text.find_first_of("\"'[]{}, \t") != std::string_view::npos)
    refuse(at, "the value of \"" + at.key + "\" must be a number, true, false, or text in quotes");
  return std::string(text);
}

std::vector<std::string> values_of(const default_value& at, std::string_view text) {
  text = trimmed(text);
  if (!text.starts_with('[')) return {one_value(at, text)};
  if (!text.ends_with(']')) refuse(at, "the list of \"" + at.key + "\" must end on its line");
  std::vector<std::string> all;
  const std::string_view inside = text.substr(1, text.size() - 2);
  for (std::size_t from = 0; from <= inside.size();) {
    const std::size_t to = std::min(inside.find(',', from), inside.size());
    all.push_back(one_value(at, inside.substr(from, to - from)));
    from = to + 1;
  }
  return all;
}

const CLI::App* find_command(const CLI::App& app, std::string_view path) {
  const CLI::App* at = &app;
  while (at != nullptr && !path.empty()) {
    const std::size_t end = std::min(path.find(' '), path.size());
    at = child_of(*at, path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return at;
}

const CLI::Option* find_option(const CLI::App& command, const std::string& key) {
  for (const CLI::Option* option : options_of(command))
    for (const std::string& name : option->get_lnames())
      if (name == key) return option;
  return nullptr;
}

bool has_option_below(const CLI::App& app, const std::string& key) {
  if (key == "help" || key == "version" || key == "config") return false;
  if (find_option(app, key) != nullptr) return true;
  for (const CLI::App* below : app.get_subcommands([](const CLI::App* x) { return !x->get_name().empty(); }))
    if (has_option_below(*below, key)) return true;
  return false;
}

/// "[pipeline.search]" as "pipeline search".
std::string section_of(const CLI::App& app, const default_value& at, std::string_view line) {
  if (!line.ends_with(']')) refuse(at, "a section must end with ]");
  std::string path(trimmed(line.substr(1, line.size() - 2)));
  std::replace(path.begin(), path.end(), '.', ' ');
  if (path.empty() || find_command(app, path) == nullptr) refuse(at, std::string(line) + " is no command");
  return path;
}

std::vector<default_value> read_defaults(const CLI::App& app, const std::string& file) {
  const std::string text = read_file(file);
  std::vector<default_value> all;
  default_value at{file, 0, "", "", {}};
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = std::min(text.find('\n', from), text.size());
    const std::string_view line = trimmed(without_comment(std::string_view(text).substr(from, to - from)));
    from = to + 1;
    ++at.line;
    if (line.empty()) continue;
    if (line[0] == '[') {
      at.section = section_of(app, at, line);
      continue;
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) refuse(at, "must be [command], option = value, or a comment");
    at.key = trimmed(line.substr(0, equals));
    if (!has_option_below(*find_command(app, at.section), at.key))
      refuse(at, "\"" + at.key + "\" is no option of " + (at.section.empty() ? "any command" : at.section));
    for (const default_value& other : all)
      if (other.section == at.section && other.key == at.key)
        refuse(at, "\"" + at.key + "\" stands in line " + std::to_string(other.line) + ", too");
    at.values = values_of(at, line.substr(equals + 1));
    all.push_back(at);
  }
  return all;
}

/// The file of --config, taken out of the words; else the user's own, if there is one.
std::string take_file(std::vector<std::string>& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  for (auto at = words.begin(); at != end; ++at) {
    if (at->starts_with("--config=")) {
      const std::string file = at->substr(9);
      words.erase(at);
      return file;
    }
    if (*at != "--config") continue;
    if (at + 1 == end) throw failure{2, "--config needs a file"};
    const std::string file = *(at + 1);
    words.erase(at, at + 2);
    return file;
  }
  const char* const home = std::getenv("HOME");
  const char* const set = std::getenv("XDG_CONFIG_HOME");
  std::filesystem::path folder = set != nullptr ? set : "";
  if (!folder.is_absolute() && home != nullptr) folder = std::filesystem::path(home) / ".config";
  if (!folder.is_absolute()) return {};
  const std::filesystem::path file = folder / "hocket" / "config.toml";
  std::error_code none;
  return std::filesystem::exists(file, none) ? file.string() : std::string();
}

bool is_given(const std::vector<std::string>& words, const CLI::Option& option) {
  for (const std::string& name : option.get_lnames())
    for (const std::string& word : words)
      if (word == "--" + name || word.starts_with("--" + name + "=")) return true;
  return false;
}

/// The words that say what the line says.
std::vector<std::string> words_of(const default_value& value, const CLI::Option& option) {
  const std::string name = "--" + value.key;
  if (option.get_items_expected_max() == 0) {
    if (value.values.size() != 1 || (value.values[0] != "true" && value.values[0] != "false"))
      refuse(value, "\"" + value.key + "\" must be true or false");
    return value.values[0] == "true" ? std::vector{name} : std::vector<std::string>{};
  }
  std::vector<std::string> words{name + "=" + value.values[0]};
  // An option of one word splits it at its commas by itself: --memory-cap 8,8.
  const char comma =
      option.get_delimiter() == '\0' && option.get_items_expected_max() == 1 ? ',' : option.get_delimiter();
  for (std::size_t i = 1; i < value.values.size(); ++i)
    if (comma != '\0') words[0] += comma + value.values[i];
    else words.push_back(value.values[i]);
  return words;
}

/// Whether the words ask for help or the version, which have no defaults.
bool asks_for_help(const std::vector<std::string>& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::any_of(words.begin(), end, [](const std::string& word) {
    return word == "-h" || word == "--help" || word == "-V" || word == "--version";
  });
}

/// Whether the words name a command that tells of the tool itself, as one that helps must run on a bad file, too.
bool is_about_the_tool(const std::vector<std::string>& words) {
  return !words.empty() && (words[0] == "doctor" || words[0] == "manual" || words[0] == "completion");
}

/// The words, and behind them the defaults of the file that apply.
std::vector<std::string> with_defaults_of(const std::string& file, const CLI::App& app, std::vector<std::string> words,
                                          std::vector<default_value>& used) {
  const std::vector<default_value> all = read_defaults(app, file);
  std::string path;
  const CLI::App* command = &app;
  for (const std::string& word : words) {
    const CLI::App* below = child_of(*command, word);
    if (below == nullptr) break;
    command = below;
    path += (path.empty() ? "" : " ") + word;
  }
  std::vector<std::string> added;
  const auto add = [&](const default_value& value, const CLI::Option& option) {
    for (const CLI::Option* other : option.get_excludes())
      if (is_given(words, *other)) return;
    const auto more = words_of(value, option);
    added.insert(added.end(), more.begin(), more.end());
    used.push_back(value);
  };
  // What is said of the command itself goes before what is said of all.
  std::vector<const default_value*> order;
  for (const default_value& value : all)
    if (value.section.empty() || value.section == path || path.starts_with(value.section + " "))
      order.push_back(&value);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    const std::size_t x = a->section.size(), y = b->section.size();
    return x != y ? x > y : a->line < b->line;
  });
  for (const default_value* value : order) {
    const CLI::Option* const option = find_option(*command, value->key);
    const bool said = std::any_of(used.begin(), used.end(), [&](const auto& x) { return x.key == value->key; });
    if (option != nullptr && !said && !is_given(words, *option)) add(*value, *option);
  }
  words.insert(std::find(words.begin(), words.end(), "--"), added.begin(), added.end());
  return words;
}

}  // namespace

std::vector<std::string> with_defaults(const CLI::App& app, std::vector<std::string> words,
                                       std::vector<default_value>& used) {
  const std::string file = take_file(words);
  if (file.empty() || asks_for_help(words)) return words;
  file_of_this_run() = {file, false};
  try {
    return with_defaults_of(file, app, words, used);
  } catch (const failure& f) {
    if (!is_about_the_tool(words)) throw;
    file_of_this_run() = {f.sentence, true};
    return words;
  }
}

defaults_file& file_of_this_run() {
  static defaults_file file;
  return file;
}

std::string place_of(std::string_view complaint, const std::vector<default_value>& used) {
  for (const default_value& value : used) {
    const std::string name = "--" + value.key;
    const std::size_t at = complaint.find(name);
    if (at == std::string_view::npos) continue;
    const std::size_t behind = at + name.size();
    const bool whole = behind == complaint.size() ||
                       !(complaint[behind] == '-' || std::isalnum(static_cast<unsigned char>(complaint[behind])) != 0);
    if (whole) return place(value.file, value.line);
  }
  return {};
}

}  // namespace hocket_cli
