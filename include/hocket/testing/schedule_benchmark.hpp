// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What there is to measure about a schedule and a cost policy, as functions without a framework: a host runs them on
// its own types, with any driver. benchmarks/bench_google.cpp is a driver.
#pragma once
#include <hocket/pipeline/costs.hpp>
#include <hocket/pipeline/rank_view.hpp>
#include <hocket/pipeline/run.hpp>
#include <hocket/pipeline/schedule.hpp>
#include <hocket/pipeline/workspace.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::testing {

/// The list of a rank, written down: what the floor reads.
template <pipeline::schedule S>
[[nodiscard]] std::vector<pipeline::stage_action> written_list(const S& plan, std::uint32_t rank) {
  std::vector<pipeline::stage_action> list;
  for (const pipeline::stage_action a : pipeline::stage_list(plan, rank)) list.push_back(a);
  return list;
}

/// The floor: a loop over a list that is in memory already.
/// @return a sum that keeps the loop. O(actions).
[[nodiscard]] inline std::uint64_t read_list(std::span<const pipeline::stage_action> list) {
  std::uint64_t sum = 0;
  for (const pipeline::stage_action a : list) sum += a.bits();
  return sum;
}

/// From a schedule to the actions of one rank, as an executor's loop reads them.
/// @return the same sum as the floor. O(actions).
template <pipeline::schedule S>
[[nodiscard]] std::uint64_t walk_list(const S& plan, std::uint32_t rank) {
  std::uint64_t sum = 0;
  for (const pipeline::stage_action a : pipeline::stage_list(plan, rank)) sum += a.bits();
  return sum;
}

/// The floor of a simulation: every action is read and timed, and nothing waits.
/// @return the time of the busiest rank. O(actions).
template <pipeline::schedule S, pipeline::cost_policy C>
[[nodiscard]] ticks busiest_rank(const S& plan, const C& costs) {
  ticks most = 0;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    ticks busy = 0;
    for (const pipeline::stage_action a : pipeline::stage_list(plan, r)) busy += costs.duration(a);
    most = busy > most ? busy : most;
  }
  return most;
}

/// A simulation with its checks, in memory of an earlier one: what a search over schedules repeats.
/// @return the makespan; 0 if the schedule or the costs are refused
template <pipeline::schedule S, pipeline::cost_policy C>
[[nodiscard]] ticks simulate_run(const S& plan, const C& costs, pipeline::workspace& memory) {
  const auto ran = pipeline::run(plan, costs, memory);
  return ran ? ran->makespan : 0;
}

}  // namespace hocket::inline HOCKET_ABI::testing
