// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/fingerprint.hpp>
#include <hocket/pipeline/rank_view.hpp>
#include <hocket/pipeline/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>

namespace hocket::inline HOCKET_ABI::pipeline {

/// How many steps of a rank's list belong to which part of the run.
struct step_counts {
  std::uint32_t warm_up = 0;  ///< forwards that fill the pipeline
  std::uint32_t steady = 0;   ///< forwards and backwards in turn
  std::uint32_t drain = 0;    ///< backwards that empty it
  [[nodiscard]] constexpr std::uint32_t size() const noexcept { return warm_up + steady + drain; }
  friend constexpr bool operator==(const step_counts&, const step_counts&) = default;
};

/// Warm-up, steady state and drain of a rank. What the schedule says (`counts(rank)`); else the steps before the first
/// backward, those after the last forward, and the ones between, by reading the list: O(size).
///
///     constexpr auto plan = hocket::pipeline::one_f_one_b::make({.ranks = 4, .micro_batches = 8}).value();
///     static_assert(counts_of(plan, 0) == hocket::pipeline::step_counts{3, 10, 3});
template <schedule S>
[[nodiscard]] constexpr step_counts counts_of(const S& plan, std::uint32_t rank) noexcept {
  if constexpr (requires { plan.counts(rank); }) {
    return plan.counts(rank);
  } else {
    const std::uint32_t size = plan.size(rank);
    std::uint32_t first = size, last = 0, step = 0;
    for (const stage_action a : stage_list(plan, rank)) {
      if (a.kind() == action_kind::forward) last = step + 1;
      else if (is_compute(a.kind()) && first == size) first = step;
      ++step;
    }
    if (last < first) first = last;
    return {first, last - first, size - last};
  }
}

/// The step at which a rank runs `a`, or size(rank) if it never does. O(1) where the schedule knows its inverse, else
/// by reading the list. @param a  in the form that the schedule's `at` returns; its joining flag does not matter
template <schedule S, class Action>
[[nodiscard]] constexpr std::uint32_t step_of(const S& plan, std::uint32_t rank, Action a) noexcept {
  if constexpr (requires { plan.step_of(rank, a); }) {
    return plan.step_of(rank, a);
  } else {
    constexpr auto joined = [] {
      if constexpr (std::is_same_v<Action, stage_action>) return stage_action(action_kind::forward, 0, 0, 0, 0, true);
      else return action(action_kind::forward, 0, 0, true);
    }();
    const std::uint32_t size = plan.size(rank);
    for (std::uint32_t i = 0; i < size; ++i)
      if ((plan.at(rank, i).bits() & ~joined.bits()) == (a.bits() & ~joined.bits())) return i;
    return size;
  }
}

/// Activations that a rank holds at most. O(1) where the schedule has a formula (`peak_in_flight(rank)`), else by
/// reading the list.
template <schedule S>
[[nodiscard]] constexpr std::uint32_t peak_of(const S& plan, std::uint32_t rank) noexcept {
  if constexpr (requires { plan.peak_in_flight(rank); }) {
    return plan.peak_in_flight(rank);
  } else {
    std::int64_t held = 0, most = 0, leaving = 0;
    bool half = false;  // of a pair, which lets go when both are done
    for (const stage_action a : stage_list(plan, rank)) {
      if (a.kind() == action_kind::forward) ++held;
      if (held > most) most = held;
      if (ends_activation(a.kind())) ++leaving;
      half = a.joined() && !half;
      if (half) continue;
      held -= leaving;
      leaving = 0;
    }
    return static_cast<std::uint32_t>(most);
  }
}

/// Writes the actions of a rank from step `first` on into `out`, as many as fit and are left, and returns how many: in
/// the form that the schedule stores, or any schedule's as stage_actions. For those who want many at once; who goes
/// through a list once may as well walk its view. Quick where the schedule has its own `fill(rank, out, first)`.
///
///     hocket::pipeline::action list[16];
///     const std::size_t n = fill(plan, rank, std::span(list), 0);
template <schedule S, class Action, std::size_t Extent>
constexpr std::size_t fill(const S& plan, std::uint32_t rank, std::span<Action, Extent> out,
                           std::uint32_t first) noexcept {
  const std::uint32_t size = plan.size(rank);
  if (first >= size) return 0;
  const std::size_t left = size - first, count = out.size() < left ? out.size() : left;
  if constexpr (!std::is_same_v<Action, detail::action_of<S>>) {
    detail::action_of<S> block[64];
    for (std::size_t done = 0; done < count;) {
      const std::size_t room = count - done < std::size(block) ? count - done : std::size(block);
      const std::size_t filled =
          pipeline::fill(plan, rank, std::span(block, room), first + static_cast<std::uint32_t>(done));
      for (std::size_t i = 0; i < filled; ++i) out[done + i] = to_stage_action(plan, rank, block[i]);
      done += filled;
    }
  } else if constexpr (requires { plan.fill(rank, out, first); }) {
    return plan.fill(rank, out, first);
  } else {
    for (std::size_t i = 0; i < count; ++i) out[i] = plan.at(rank, first + static_cast<std::uint32_t>(i));
  }
  return count;
}

/// A digest of all lists, by which ranks make sure that they follow the same plan. O(actions).
template <schedule S>
[[nodiscard]] constexpr std::uint64_t fingerprint_of(const S& plan) noexcept {
  fingerprint print;
  print.add(plan.ranks()).add(plan.chunks()).add(plan.micro_batches()).add(slices_of(plan));
  if (directions_of(plan) > 1) print.add(directions_of(plan));
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    print.add(plan.size(r));
    for (const stage_action a : stage_list(plan, r)) print.add(a.bits());
  }
  return print.value();
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
