// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/run.hpp>
#include <hocket/pipeline/transfers.hpp>
#include <hocket/pipeline/workspace.hpp>

#include <cstdint>
#include <memory_resource>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline {

/// One action of a critical path.
struct path_step {
  std::uint32_t rank = 0;
  std::uint32_t step = 0;
  stage_action action;
  ticks start = 0;
  ticks finish = 0;
  friend constexpr bool operator==(const path_step&, const path_step&) = default;
};

namespace detail {

template <schedule S>
struct path_recorder {
  const S& plan;
  std::pmr::vector<path_step> steps;         // of all ranks, one list after another
  std::pmr::vector<std::uint64_t> first;     // where the list of each rank begins
  std::pmr::vector<std::uint64_t> producer;  // of each triple: its forward, its (input gradient of the) backward
  void on_action(std::uint32_t rank, std::uint32_t step, stage_action a, ticks start, ticks finish) {
    steps[first[rank] + step] = {rank, step, a, start, finish};
    if (computes(a.kind()) && a.kind() != op::weight_grad)
      producer[slot(a, a.stage(), a.slice(), a.kind() != op::forward)] = first[rank] + step;
  }
  void on_blocked(const blocked&) const noexcept {}
  [[nodiscard]] std::uint64_t slot(stage_action a, std::uint32_t stage, std::uint32_t slice, bool backward) const {
    const std::uint64_t stages = std::uint64_t{plan.ranks()} * plan.chunks();
    const std::uint64_t unit = std::uint64_t{a.micro_batch()} * slices_of(plan) + slice;
    const std::uint64_t triple =
        (a.direction() * stages + stage) * plan.micro_batches() * std::uint64_t{slices_of(plan)} + unit;
    return 2 * triple + (backward ? 1 : 0);
  }
};

}  // namespace detail

/// A chain of actions from the start of a run to its end, each of which could start only when the one before it was
/// done and its result had arrived: shorten any other action, and the makespan stays. Where several chains are as
/// long, the one that stays on a rank as long as it can, going back from the end.
/// @return the actions in order of time; gaps between them are transfers
/// Errors: those of `run`. Complexity: O(actions) time and memory.
///
///     const auto plan = hocket::pipeline::one_f_one_b::make({.ranks = 4, .micro_batches = 8}).value();
///     const auto path = critical_path(plan, hocket::pipeline::costs{});
///     path->front().start == 0 && path->back().finish == 33;
template <schedule S, cost_policy C>
[[nodiscard]] result<std::pmr::vector<path_step>> critical_path(
    const S& plan, const C& costs, std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  const auto units = detail::units_of(plan, "stages x micro-batches to simulate");
  if (!units) return units.error();
  detail::path_recorder<S> seen{plan, std::pmr::vector<path_step>(memory), std::pmr::vector<std::uint64_t>(memory),
                                std::pmr::vector<std::uint64_t>(2 * *units, 0, memory)};
  std::uint64_t total = 0;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) seen.first.push_back(total), total += plan.size(r);
  seen.steps.resize(total);
  workspace room{std::pmr::polymorphic_allocator<std::byte>(memory)};
  if (const auto ran = run(plan, costs, room, seen); !ran) return ran.error();

  std::pmr::vector<path_step> path(memory);
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < total; ++i)
    if (seen.steps[i].finish > seen.steps[at].finish) at = i;
  const std::uint32_t stages = plan.ranks() * plan.chunks();
  for (;;) {
    const path_step here = seen.steps[at];
    path.push_back(here);
    if (here.start == 0) break;
    const std::uint64_t begin = seen.first[here.rank];
    std::uint64_t before = at;  // on the same rank; the other of a pair started at the same time
    while (before > begin && seen.steps[before - 1].finish > here.start) --before;
    if (before > begin && seen.steps[before - 1].finish == here.start) {
      at = before - 1;
      continue;
    }
    // Else the last of what it, or the other of its pair, had to wait for.
    std::uint64_t best = at;
    ticks latest = -1;
    const auto wants = [&](stage_action a, std::uint32_t stage, std::uint32_t slice, bool backward) {
      const std::uint64_t x = seen.producer[seen.slot(a, stage, slice, backward)];
      if (seen.steps[x].finish <= here.start && seen.steps[x].rank != here.rank && seen.steps[x].finish > latest)
        best = x, latest = seen.steps[x].finish;
    };
    for (std::uint64_t i = before; i < seen.first[here.rank] + plan.size(here.rank); ++i) {
      const stage_action a = seen.steps[i].action;
      if (seen.steps[i].start != here.start) break;
      if (i > at && (i > at + 1 || before != at || !here.action.joined())) break;  // only started at the same time
      if (!computes(a.kind())) continue;
      if (a.kind() == op::forward && a.stage() > 0) wants(a, a.stage() - 1, a.slice(), false);
      if ((a.kind() == op::backward || a.kind() == op::input_grad) && a.stage() + 1 < stages)
        wants(a, a.stage() + 1, a.slice(), true);
    }
    if (best == at) break;
    at = best;
  }
  for (std::size_t i = 0, j = path.size(); i + 1 < j; ++i) {
    --j;
    if (i >= j) break;
    const path_step moved = path[i];
    path[i] = path[j], path[j] = moved;
  }
  return path;
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
