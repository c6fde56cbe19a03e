// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/run.hpp>
#include <hocket/pipeline/transfers.hpp>
#include <hocket/pipeline/workspace.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <utility>
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

template <schedule S, cost_policy C>
struct path_recorder {
  /// What became of a result: when it was there, and the action that it had to wait for. On a link that carries one
  /// transfer after another that is the first of those without a pause between them.
  struct result_of {
    std::size_t from = 0;
    ticks arrival = 0;
  };
  struct link {
    std::uint32_t to = 0;
    ticks free_from = 0;
    std::size_t first = 0;
  };
  const S& plan;
  const C& costs;
  std::pmr::memory_resource* memory;
  std::pmr::vector<path_step> steps{memory};               // of all ranks, one list after another
  std::pmr::vector<std::size_t> first{memory};             // where the list of each rank begins
  std::pmr::vector<result_of> results{memory};             // of each triple: of its forward, of its backward
  std::pmr::vector<std::pmr::vector<link>> links{memory};  // by sender; few
  static constexpr ticks max_ticks = (std::numeric_limits<ticks>::max)() / 2;

  void on_action(std::uint32_t rank, std::uint32_t step, stage_action a, ticks start, ticks finish) {
    const std::size_t at = first[rank] + step;
    steps[at] = {rank, step, a, start, finish};
    if (!is_compute(a.kind()) || a.kind() == action_kind::weight_grad) return;
    const stage_action send = send_of(a);
    if (!detail::goes_to_another_rank(plan, send)) return;
    const stage_action use = far_end(send);
    const std::uint32_t to = rank_of(plan.placement(), plan.ranks(), use.stage(), use.direction());
    result_of& made = results[slot(a, a.stage(), a.slice(), a.kind() != action_kind::forward)];
    made = {at, finish};
    if constexpr (linked_costs<C>) {
      link& l = link_to(rank, to);
      if (l.free_from <= finish) l = {to, finish, at};
      const ticks time = costs.transfer(a, rank, to);
      l.free_from = time > max_ticks - l.free_from ? max_ticks : l.free_from + time;
      made = {l.first, l.free_from};
    }
    const ticks hop = costs.latency(rank, to);
    made.arrival += hop > max_ticks ? max_ticks : hop;
  }
  void on_blocked(const blocked&) const noexcept {}
  [[nodiscard]] link& link_to(std::uint32_t rank, std::uint32_t to) {
    auto& mine = links[rank];
    for (link& l : mine)
      if (l.to == to) return l;
    return mine.emplace_back(link{to});
  }
  [[nodiscard]] std::size_t slot(stage_action a, std::uint32_t stage, std::uint32_t slice, bool backward) const {
    const std::size_t stages = std::size_t{plan.ranks()} * plan.chunks();
    const std::size_t unit = std::size_t{a.micro_batch()} * slices_of(plan) + slice;
    const std::size_t triple =
        (a.direction() * stages + stage) * plan.micro_batches() * std::size_t{slices_of(plan)} + unit;
    return 2 * triple + (backward ? 1 : 0);
  }
};

}  // namespace detail

/// A chain of actions from the start of a run to its end. Each could start only when the one before it was done and its
/// result had arrived (on a link that carries one transfer after another, the results right behind it too). Shorten any
/// other action, and the makespan stays. One of a pair stands for both. Where several chains are as long,
/// the one that stays on a rank as long as it can, going back from the end.
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
  detail::path_recorder<S, C> seen{plan, costs, memory};
  seen.results.resize(static_cast<std::size_t>(2 * *units));
  seen.links.resize(plan.ranks());
  std::size_t total = 0;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    seen.first.push_back(total);
    total += plan.size(r);
  }
  seen.steps.resize(total);
  workspace room{std::pmr::polymorphic_allocator<std::byte>(memory)};
  if (const auto ran = run(plan, costs, room, seen); !ran) return ran.error();

  std::pmr::vector<path_step> path(memory);
  std::size_t at = 0;
  for (std::size_t i = 0; i < total; ++i)
    if (seen.steps[i].finish > seen.steps[at].finish) at = i;
  for (;;) {
    const path_step here = seen.steps[at];
    path.push_back(here);
    if (here.start == 0) break;
    const std::size_t begin = seen.first[here.rank];
    std::size_t before = at;  // on the same rank; the other of a pair started at the same time
    while (before > begin && seen.steps[before - 1].finish > here.start) --before;
    if (before > begin && seen.steps[before - 1].finish == here.start) {
      at = before - 1;
      continue;
    }
    // Else what it, or the other of its pair, had to wait for.
    std::size_t best = at;
    const auto wants = [&](stage_action a) {
      if (!needs_receive(plan, a)) return;
      const stage_action made = producer_of(far_end(receive_of(a)));
      const auto& x = seen.results[seen.slot(a, made.stage(), a.slice(), a.kind() != action_kind::forward)];
      if (best == at && x.arrival == here.start) best = x.from;
    };
    for (std::size_t i = before; i < seen.first[here.rank] + plan.size(here.rank); ++i) {
      const stage_action a = seen.steps[i].action;
      if (seen.steps[i].start != here.start) break;
      if (i > at && (i > at + 1 || before != at || !here.action.joined())) break;  // only started at the same time
      wants(a);
    }
    if (best == at) break;
    at = best;
  }
  for (std::size_t i = 0, j = path.size(); i + 1 < j; ++i, --j) std::swap(path[i], path[j - 1]);
  return path;
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
