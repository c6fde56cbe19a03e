// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tree.hpp"

#include <hocket/pipeline/any_schedule.hpp>

#include <algorithm>
#include <string_view>

namespace hocket_cli {
namespace {

// CLI11 says of a list of choices "TEXT:{a,b,c}".
std::vector<std::string> choices_of(const std::string& type) {
  std::vector<std::string> words;
  const std::size_t begin = type.find(":{"), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return words;
  for (std::size_t from = begin + 2; from <= end;) {
    const std::size_t to = (std::min)(type.find(',', from), end);
    words.push_back(type.substr(from, to - from));
    from = to + 1;
  }
  return words;
}

option_entry entry_of(const CLI::Option& option) {
  option_entry out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  out.text = option.get_description();
  out.required = option.get_required();
  out.positional = option.get_positional();
  if (option.get_items_expected_max() == 0) return out;  // a flag
  const std::string type = option.get_type_name();
  out.choices = choices_of(type);
  out.value = type.substr(0, type.find(':'));
  if (out.value == "SCHEDULE")
    out.choices.assign(std::begin(hocket::pipeline::schedule_names), std::end(hocket::pipeline::schedule_names));
  for (const char* const name : {"FILE", "FILE...", "CONFIG", "DUMP"}) out.takes_file |= out.value == name;
  out.takes_folder = out.value == "DIR";
  return out;
}

void add(const CLI::App& app, const std::string& path, std::vector<command_entry>& all) {
  command_entry out{path, app.get_description(), app.get_footer(), {}, {}};
  for (const CLI::Option* option : options_of(app))
    if (!option->get_group().empty()) out.options.push_back(entry_of(*option));  // older names have no group
  const auto below = app.get_subcommands([](const CLI::App* x) { return !x->get_name().empty(); });
  for (const CLI::App* x : below) out.subcommands.push_back(x->get_name());
  all.push_back(std::move(out));
  for (const CLI::App* x : below) add(*x, path.empty() ? x->get_name() : path + ' ' + x->get_name(), all);
}

}  // namespace

std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  const auto any = [](const CLI::Option* /*x*/) { return true; };
  std::vector<const CLI::Option*> all = command.get_options(any);
  // Groups of options are sub-commands without a name.
  for (const CLI::App* group : command.get_subcommands([](const CLI::App* x) { return x->get_name().empty(); })) {
    const auto more = group->get_options(any);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

const CLI::App* child_of(const CLI::App& command, std::string_view name) {
  const auto found = command.get_subcommands([&](const CLI::App* x) { return !name.empty() && x->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::vector<command_entry> commands_of(const CLI::App& app) {
  std::vector<command_entry> all;
  add(app, "", all);
  return all;
}

}  // namespace hocket_cli
