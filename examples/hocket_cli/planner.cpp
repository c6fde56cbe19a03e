// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "planner.hpp"

#include <charconv>
#include <system_error>

namespace hocket_cli {

std::string sentence_unless_gib(const std::string& text) {
  double value = 0;
  const auto [end, why] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = why == std::errc{} && end == text.data() + text.size() && value >= 0.001 && value <= 1e6;
  return good ? std::string() : text + " is not a number of GiB from 0.001 to 10^6";
}

void add_planner(CLI::App& app) {
  CLI::App* planner = app.add_subcommand("planner", "Choices: stage split, recompute, layout, strategy, micro-batches");
  planner->require_subcommand(1);
  add_planner_split(*planner);
  add_planner_search(*planner);
  add_planner_layout(*planner);
  add_planner_batches(*planner);
  add_planner_offload(*planner);
}

}  // namespace hocket_cli
