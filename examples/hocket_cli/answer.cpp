// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a command ends: data, summary line, and both as one JSON object with --json.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"

namespace hocket_cli {
namespace {

std::string in_quotes(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Whether the word is a number as JSON writes it.
bool is_number(std::string_view word) {
  if (word.empty() || (word[0] != '-' && (word[0] < '0' || word[0] > '9'))) return false;
  return nlohmann::json::accept(word);
}

/// A cell or a word of a summary line as a JSON value, digit by digit the same.
std::string value_of(std::string_view word) {
  if (word.empty() || word == "inf" || word == "nan" || word == "-nan") return "null";  // JSON has no such numbers
  if (word == "yes") return "true";
  if (word == "no") return "false";
  return is_number(word) ? std::string(word) : in_quotes(word);
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> words;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = (std::min)(text.find(at, from), text.size());
    words.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return words;
}

/// The words key=value of a summary line.
std::string summary_object(std::string_view summary) {
  std::string members;
  for (const std::string_view word : split(summary, ' ')) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = word.substr(0, equals), value = word.substr(equals + 1);
    // Hexadecimal: by chance it may hold no letter.
    members += (members.empty() ? "" : ",") + in_quotes(key) + ':' +
               (key == "fingerprint" ? in_quotes(value) : value_of(value));
  }
  return '{' + members + '}';
}

/// The rows of a CSV as objects named by its header.
std::string rows_array(std::string_view csv) {
  std::vector<std::string_view> lines = split(csv, '\n');
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  if (lines.empty()) return "[]";
  std::vector<std::string> keys;
  for (const std::string_view name : split(lines[0], ',')) keys.push_back(in_quotes(name) + ':');
  std::string rows;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string_view> cells = split(lines[i], ',');
    rows += i == 1 ? "\n{" : ",\n{";
    for (std::size_t c = 0; c < keys.size(); ++c)
      rows += (c == 0 ? "" : ",") + keys[c] + (c < cells.size() ? value_of(cells[c]) : "null");
    rows += '}';
  }
  return '[' + rows + ']';
}

std::string command_name(const CLI::App& app) {
  std::string name;
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    name += (name.empty() ? "" : " ") + at->get_name();
  }
  return name;
}

/// One object: the command, the data, the summary. Text is put together, not parsed: numbers keep their digits.
std::string as_object(std::string_view data, std::string_view summary) {
  const std::string command = "\"command\":" + in_quotes(command_name(*this_run().app));
  const std::string behind = ",\n\"summary\":" + summary_object(summary) + "}\n";
  const std::size_t begin = data.find_first_not_of(" \n");
  if (begin == std::string_view::npos || data[begin] != '{')
    return "{\"version\":1," + command + ",\n\"rows\":" + rows_array(data) + behind;
  std::string_view members = data.substr(begin + 1, data.find_last_of('}') - begin - 1);
  while (!members.empty() && (members.back() == ' ' || members.back() == '\n')) members.remove_suffix(1);
  return '{' + command + (members.empty() ? "" : ",") + std::string(members) + behind;
}

}  // namespace

run_options& this_run() {
  static run_options options;
  return options;
}

std::string form(const std::string& format) { return this_run().json ? "json" : format; }

std::string without_controls(std::string_view data) {
  const auto is_plain = [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t'; };
  const bool is_json = data.starts_with('{');
  std::string out;
  while (!data.empty()) {
    const auto next = std::find_if_not(data.begin(), data.end(), is_plain);
    const auto count = static_cast<std::size_t>(next - data.begin());
    out += data.substr(0, count);
    data.remove_prefix(count);
    if (data.empty()) break;
    if (data.starts_with("\r\n")) {  // the lines of PyTorch's schedules
      out += "\r\n";
      data.remove_prefix(2);
      continue;
    }
    const hocket::utf8_character c = hocket::first_character(data);
    const bool is_control = c.length > 0 && hocket::is_control_character(c.code);
    char escaped[12] = "?";
    if (is_control && is_json) std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c.code));
    out += is_control || c.length == 0 ? std::string_view(escaped) : data.substr(0, c.length);
    data.remove_prefix(c.length == 0 ? 1 : c.length);
  }
  return out;
}

void give(const std::string& out, std::string_view data, std::string_view summary) {
  write_file(out, without_controls(this_run().json ? as_object(data, summary) : std::string(data)));
  std::cerr << hocket::to_printable(summary) << '\n';
}

}  // namespace hocket_cli
