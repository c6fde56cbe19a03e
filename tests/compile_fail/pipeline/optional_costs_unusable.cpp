// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Optional members that do not fit would be ignored without a word.
// deep: each of them is a mistake of its own, and they cannot all be in the first lines
// expect: hocket: joined of a cost policy must be `ticks joined(stage_action, stage_action) const`
// expect: hocket: transfer of a cost policy must be `ticks transfer(stage_action, std::uint32_t from_rank, std::uint32_t to_rank) const`
// expect: hocket: memory_change of a cost policy must be `std::int64_t memory_change(stage_action) const`
// expect: hocket: knows of a cost policy must be `bool knows(stage_action) const`
// expect: hocket: same_for_micro_batches of a cost policy must be a `static constexpr bool`
// expect: hocket: ticks_per_second of a cost policy must be a `static constexpr std::int64_t`
#include <hocket/pipeline/schedules/gpipe.hpp>
#include <hocket/pipeline/simulate.hpp>

using hocket::ticks, hocket::pipeline::stage_action;

struct measured {
  [[nodiscard]] ticks duration(stage_action) const { return 1; }
  [[nodiscard]] ticks latency(std::uint32_t, std::uint32_t) const { return 0; }
#ifdef CORRECTED
  [[nodiscard]] ticks joined(stage_action, stage_action) const { return 2; }
  [[nodiscard]] ticks transfer(stage_action, std::uint32_t, std::uint32_t) const { return 0; }
  [[nodiscard]] std::int64_t memory_change(stage_action) const { return 0; }
  [[nodiscard]] bool knows(stage_action) const { return true; }
  static constexpr bool same_for_micro_batches = true;
  static constexpr std::int64_t ticks_per_second = 1000;
#else
  [[nodiscard]] ticks joined(stage_action) const { return 2; }
  [[nodiscard]] ticks transfer(stage_action, std::uint32_t) const { return 0; }
  [[nodiscard]] std::int64_t memory_change(stage_action) { return 0; }
  [[nodiscard]] static bool knows(int*) { return true; }
  bool same_for_micro_batches = true;
  std::int64_t ticks_per_second = 1000;
#endif
};

void simulated(const hocket::pipeline::gpipe& plan, const measured& m) {
  static_cast<void>(hocket::pipeline::simulate(plan, m));
}
