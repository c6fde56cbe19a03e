// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "planner.hpp"

#include <cstdint>
#include <string>

namespace hocket_cli {

hocket::cost::device_memory memory_option::memory() const {
  const auto whole = [](double size) { return hocket::bytes(static_cast<std::int64_t>(size * bytes_per_gib)); };
  if (reserve_gib >= gib)
    fail("--reserve-gib is " + fixed(reserve_gib, 3) + ", which leaves nothing of --memory-gib " + fixed(gib, 3));
  return {.capacity = whole(gib), .reserve = whole(reserve_gib)};
}

CLI::Option* add_memory(CLI::App& command, memory_option& memory, const std::string& description) {
  CLI::Option* const whole = command.add_option("--memory-gib", memory.gib, description)
                                 ->type_name("GIB")
                                 ->check(is_number(0.001, 1e6, "number of GiB from 0.001 to 10^6"));
  command
      .add_option("--reserve-gib", memory.reserve_gib,
                  "What of it is not for training: driver, communicators, allocator (2)")
      ->type_name("GIB")
      ->check(is_number(0, 1e6, "number of GiB from 0 to 10^6"))
      ->needs(whole);
  return whole;
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
