// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/detail/alternation.hpp>
#include <hocket/pipeline/rank_view.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace hocket::inline HOCKET_ABI::pipeline {

/// 1F1B: one chunk per rank; rank r runs p - 1 - r forwards, then forward and backward in turn. The least makespan of
/// any schedule with one chunk, at min(m, p - r) activations, for every m >= 1, also m < p.
/// With `kappa` 2 the warm-up is twice as long (Eager 1F1B): the same makespan without latency, more of the latency
/// hidden, at up to p - 1 - r activations more.
/// Source: PipeDream-Flush (Narayanan et al. 2021, arXiv:2006.09503); docs/pipeline.md.
///
///     constexpr auto plan = hocket::pipeline::one_f_one_b::make({.ranks = 4, .micro_batches = 8}).value();
///     static_assert(plan.rank(0).size() == 16 && plan.counts(0).warm_up == 3 && plan.peak_in_flight(0) == 4);
class one_f_one_b {
 public:
  constexpr one_f_one_b() noexcept = default;

  /// @param kappa  1, or 2 for Eager 1F1B
  /// Errors: errc::bad_shape if chunks != 1 or the shape is out of range; errc::out_of_range for kappa.
  [[nodiscard]] static constexpr result<one_f_one_b> make(const shape& s, std::uint32_t kappa = 1) noexcept {
    if (const auto ok = check(s); !ok) return ok.error();
    if (s.chunks != 1)
      return error{errc::bad_shape, s.ranks, s.chunks, s.micro_batches}.with("1f1b has one chunk per rank");
    if (kappa < 1 || kappa > 2) return error{errc::out_of_range, kappa, 1, 2}.with("kappa");
    one_f_one_b plan;
    plan.ranks_ = static_cast<std::uint32_t>(s.ranks);
    plan.micro_batches_ = static_cast<std::uint32_t>(s.micro_batches);
    plan.kappa_ = kappa;
    return plan;
  }

  [[nodiscard]] constexpr std::uint32_t ranks() const noexcept { return ranks_; }
  [[nodiscard]] constexpr std::uint32_t chunks() const noexcept { return 1; }
  [[nodiscard]] constexpr std::uint32_t micro_batches() const noexcept { return micro_batches_; }
  [[nodiscard]] constexpr loop_placement placement() const noexcept { return {ranks_}; }

  /// Activations that the rank holds at most.
  [[nodiscard]] constexpr std::uint32_t peak_in_flight(std::uint32_t rank) const noexcept { return beat(rank).peak(); }

  /// Steps of warm-up, steady state and drain. The warm-up is min(m, kappa (p - 1 - rank)).
  [[nodiscard]] constexpr step_counts counts(std::uint32_t rank) const noexcept { return beat(rank).counts(); }

  [[nodiscard]] constexpr std::uint32_t size(std::uint32_t) const noexcept { return 2 * micro_batches_; }
  /// Preconditions: rank < ranks(), step < size(rank). O(1).
  [[nodiscard]] constexpr action at(std::uint32_t rank, std::uint32_t step) const noexcept {
    const auto place = beat(rank).at(step);
    return {place.kind, 0, place.index};
  }
  /// The step at which the rank runs `a`, or size(rank) if it never does. O(1).
  [[nodiscard]] constexpr std::uint32_t step_of(std::uint32_t rank, action a) const noexcept {
    if (a.kind() > action_kind::backward || a.chunk() != 0 || a.micro_batch() >= micro_batches_) return size(rank);
    return a.kind() == action_kind::forward ? beat(rank).step_of_forward(a.micro_batch())
                                            : beat(rank).step_of_backward(a.micro_batch());
  }
  /// The list of one rank. Precondition: rank < ranks().
  [[nodiscard]] constexpr rank_view<one_f_one_b> rank(std::uint32_t rank) const noexcept { return {*this, rank}; }

  /// Writes steps from `first` on, as many as fit and are left; returns how many.
  constexpr std::size_t fill(std::uint32_t rank, std::span<action> out, std::uint32_t first) const noexcept {
    return beat(rank).regions().fill(out, first, [this](action_kind kind, std::uint32_t index) {
      return detail::action_run<action>{{kind, 0, index}, 1, micro_batches_ - index};
    });
  }

  friend constexpr bool operator==(const one_f_one_b&, const one_f_one_b&) = default;

 private:
  [[nodiscard]] constexpr detail::alternation beat(std::uint32_t rank) const noexcept {
    HOCKET_ASSERT(rank < ranks_);
    const std::uint32_t w = kappa_ * (ranks_ - 1 - rank);
    return {.count = micro_batches_, .warm_up = w < micro_batches_ ? w : micro_batches_};
  }
  std::uint32_t ranks_ = 1;
  std::uint32_t micro_batches_ = 1;
  std::uint32_t kappa_ = 1;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
