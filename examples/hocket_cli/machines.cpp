// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket machines: the machines that --machine knows by name.
#include "machines.hpp"

#include <hocket/cost/machines.hpp>

#include <cctype>
#include <cstdio>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "closest.hpp"
#include "command.hpp"

namespace hocket_cli {
namespace {

namespace machines = hocket::cost::machines;

struct short_name {
  std::string_view word, machine;
};
constexpr short_name short_names[] = {
    {"a100", "a100_sxm_80"},      {"a100_80", "a100_sxm_80"}, {"a100_80gb", "a100_sxm_80"}, {"a100_40", "a100_sxm_40"},
    {"a100_40gb", "a100_sxm_40"}, {"h100", "h100_sxm"},       {"h100_sxm5", "h100_sxm"},    {"h200_sxm", "h200"},
    {"gb200", "gb200_nvl72"},     {"gb300", "gb300_nvl72"},   {"mi300", "mi300x"},          {"910b", "ascend_910b"},
    {"910c", "ascend_910c"}};

void list_machines(const std::string& out) {
  std::string text = "machine       TFLOP/s  GiB  node  name, and what its rates are fitted to\n";
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const machines::named_machine& x : machines::all) {
    const double tflops = x.data.rates.gemm_flops / 1e12;
    const std::int64_t node = machines::node_of(x.data.rates);
    const std::string gib = x.memory_gib == 0 ? "-" : std::to_string(x.memory_gib);
    char line[64];
    std::snprintf(line, sizeof line, "%-13s %7.0f %4s %5lld  ", std::string(x.key).c_str(), tflops, gib.c_str(),
                  static_cast<long long>(node));
    text += line + std::string(x.data.name) + ": " + std::string(x.data.source) + '\n';
    all.push_back({{"machine", x.key},
                   {"name", x.data.name},
                   {"gemm_tflops", tflops},
                   {"memory_gib", x.memory_gib},
                   {"devices_per_node", node},
                   {"source", x.data.source}});
    if (x.memory_gib == 0) all.back()["memory_gib"] = nullptr;
  }
  const nlohmann::ordered_json object = {{"version", 1}, {"machines", std::move(all)}};
  give(out, this_run().json ? object.dump(2) + '\n' : text, "machines=" + std::to_string(std::size(machines::all)));
}

}  // namespace

std::string machine_named(const std::string& word) {
  std::string meant;
  for (const char c : word)
    meant += c == '-' || c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const short_name& each : short_names)
    if (each.word == meant) return std::string(each.machine);
  return machines::find(meant) != nullptr ? meant : word;
}

std::string machines_near(const std::string& word) {
  std::vector<std::string> names;
  for (const machines::named_machine& each : machines::all) names.emplace_back(each.key);
  return did_you_mean(closest(machine_named(word), names));
}

void add_machines(CLI::App& app) {
  const auto out = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("machines", "The machines that --machine knows by name");
  add_out(*command, *out);
  command->footer(
      "TFLOP/s: what bf16 products reach. GiB: of a device, as its driver reports it. node: devices that the fast link "
      "joins.");
  command->callback([out] { list_machines(*out); });
}

}  // namespace hocket_cli
