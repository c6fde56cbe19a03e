// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

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
    std::uint32_t first = size, last = 0;
    for (std::uint32_t i = 0; i < size; ++i) {
      const action_kind kind = plan.at(rank, i).kind();
      if (kind == action_kind::forward) last = i + 1;
      else if (is_compute(kind) && first == size) first = i;
    }
    if (last < first) first = last;
    return {first, last - first, size - last};
  }
}

/// Which part of the run a stretch of steps belongs to.
enum class run_phase : std::uint8_t { warm_up, steady, drain };

/// Calls use(phase, first, count) for warm-up, steady state and drain, those that are not empty. For hosts that run
/// the three by loops of their own. O(1) where the schedule knows its counts.
///
///     for_each_phase(plan, rank, [&](auto phase, std::uint32_t first, std::uint32_t count) { … });
template <schedule S, class Use>
constexpr void for_each_phase(const S& plan, std::uint32_t rank, Use&& use) {
  const step_counts n = counts_of(plan, rank);
  if (n.warm_up != 0) use(run_phase::warm_up, std::uint32_t{0}, n.warm_up);
  if (n.steady != 0) use(run_phase::steady, n.warm_up, n.steady);
  if (n.drain != 0) use(run_phase::drain, n.warm_up + n.steady, n.drain);
}

/// The step at which a rank runs `a`, or size(rank) if it never does. O(1) where the schedule knows its inverse, else
/// by reading the list. @param a  in the form that the schedule's `at` returns; its joining flag does not matter
template <schedule S, class Action>
[[nodiscard]] constexpr std::uint32_t step_of(const S& plan, std::uint32_t rank, Action a) noexcept {
  if constexpr (requires { plan.step_of(rank, a); }) {
    return plan.step_of(rank, a);
  } else {
    constexpr Action flag = [] {
      if constexpr (std::is_same_v<Action, stage_action>) return stage_action(action_kind::forward, 0, 0, 0, 0, true);
      else return action(action_kind::forward, 0, 0, true);
    }();
    const std::uint32_t size = plan.size(rank);
    for (std::uint32_t i = 0; i < size; ++i)
      if ((plan.at(rank, i).bits() & ~flag.bits()) == (a.bits() & ~flag.bits())) return i;
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
    for (std::uint32_t i = 0, size = plan.size(rank); i < size; ++i) {
      const auto a = plan.at(rank, i);
      if (a.kind() == action_kind::forward && ++held > most) most = held;
      if (a.kind() == action_kind::backward || a.kind() == action_kind::weight_grad) ++leaving;
      half = a.joined() && !half;
      if (!half) held -= leaving, leaving = 0;
    }
    return static_cast<std::uint32_t>(most);
  }
}

/// Writes the actions of a rank from step `first` on into `out`, as many as fit and are left, and returns how many.
/// Faster than step by step where the schedule writes in bulk itself (`fill(rank, out, first)`).
///
///     hocket::pipeline::action list[16];
///     const std::size_t n = fill(plan, rank, std::span(list), 0);
template <schedule S, class Action, std::size_t Extent>
constexpr std::size_t fill(const S& plan, std::uint32_t rank, std::span<Action, Extent> out,
                           std::uint32_t first) noexcept {
  if (first >= plan.size(rank)) return 0;
  if constexpr (requires { plan.fill(rank, out, first); }) {
    return plan.fill(rank, out, first);
  } else {
    const std::size_t left = plan.size(rank) - first;
    const std::size_t count = out.size() < left ? out.size() : left;
    for (std::size_t i = 0; i < count; ++i) out[i] = plan.at(rank, first + static_cast<std::uint32_t>(i));
    return count;
  }
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
