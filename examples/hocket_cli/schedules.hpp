// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The schedules that the tool knows by name, as `hocket pipeline schedules` lists them.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket_cli {

struct schedule_entry {
  std::string_view name;  ///< literal
  std::string_view what;  ///< literal; one line
  std::int64_t chunks;    ///< of a rank; 0: two or more, as one likes
};
/// All of them, in the order of hocket::pipeline::schedule_names.
std::span<const schedule_entry> schedule_entries();

/// What `hocket pipeline compare SCHEDULE…` compares.
struct schedule_comparison_options {
  std::vector<std::string> names;  ///< "all" is every schedule
  std::vector<std::int64_t> ranks, chunks, micro_batches;
  std::int64_t forward = 0, backward = 0, hop = 0;  ///< ticks of a rank's part of the model
  std::string out;
};
/// Makespan, activations and bubble of schedules that run the same model: writes a CSV, or ends the command.
void compare_named_schedules(const schedule_comparison_options& o);

}  // namespace hocket_cli
