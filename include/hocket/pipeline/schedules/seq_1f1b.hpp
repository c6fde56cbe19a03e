// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/detail/alternation.hpp>
#include <hocket/pipeline/rank_view.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace hocket::inline HOCKET_ABI::pipeline {

/// The largest number of sequence slices that the encoding of an action holds.
inline constexpr std::uint32_t max_slices = 65'536;

/// Seq1F1B: 1F1B whose unit is a slice of the sequence instead of a whole micro-batch, for contexts so long that few
/// micro-batches are left to fill the pipeline. Causal attention lets slice t run forward after slice t - 1 of the same
/// micro-batch on the same stage, and makes the backwards go from the last slice to the first. Actions are
/// `stage_action`s, because the 32 bits of `action` have no room for a slice.
/// Source: Sun et al. 2024, arXiv:2406.03488; docs/pipeline.md.
///
///     constexpr auto plan = hocket::pipeline::seq_1f1b::make({.ranks = 4, .micro_batches = 4}, 2).value();
///     static_assert(plan.rank(3)[1] == hocket::pipeline::stage_action(hocket::pipeline::action_kind::forward, 3, 0,
///     1));
class seq_1f1b {
 public:
  constexpr seq_1f1b() noexcept = default;

  /// @param slices  per micro-batch; with 1 this is 1F1B
  /// Errors: errc::bad_shape if chunks != 1 or the shape is out of range; errc::out_of_range for slices, and if there
  /// are more than max_micro_batches slices in all.
  [[nodiscard]] static constexpr result<seq_1f1b> make(const shape& s, std::int64_t slices) noexcept {
    if (const auto ok = check(s); !ok) return ok.error();
    if (s.chunks != 1)
      return error{errc::bad_shape, s.ranks, s.chunks, s.micro_batches}.with("seq-1f1b has one chunk per rank");
    if (slices < 1 || slices > max_slices) return error{errc::out_of_range, slices, 1, max_slices}.with("slices");
    if (slices > max_micro_batches / s.micro_batches)
      return error{errc::out_of_range, slices, 1, max_micro_batches / s.micro_batches}.with("slices");
    seq_1f1b plan;
    plan.ranks_ = static_cast<std::uint32_t>(s.ranks);
    plan.micro_batches_ = static_cast<std::uint32_t>(s.micro_batches);
    plan.slices_ = static_cast<std::uint32_t>(slices);
    return plan;
  }

  [[nodiscard]] constexpr std::uint32_t ranks() const noexcept { return ranks_; }
  [[nodiscard]] constexpr std::uint32_t chunks() const noexcept { return 1; }
  [[nodiscard]] constexpr std::uint32_t micro_batches() const noexcept { return micro_batches_; }
  [[nodiscard]] constexpr std::uint32_t slices() const noexcept { return slices_; }
  [[nodiscard]] constexpr loop_placement placement() const noexcept { return {ranks_}; }

  /// Slices whose activations the rank holds at most: one micro-batch has slices() of them.
  [[nodiscard]] constexpr std::uint32_t peak_in_flight(std::uint32_t rank) const noexcept { return beat(rank).peak(); }

  /// Steps of warm-up, steady state and drain. The warm-up is p - 2 - rank + slices, at most all.
  [[nodiscard]] constexpr step_counts counts(std::uint32_t rank) const noexcept { return beat(rank).counts(); }

  [[nodiscard]] constexpr std::uint32_t size(std::uint32_t) const noexcept { return 2 * count(); }
  /// Preconditions: rank < ranks(), step < size(rank). O(1).
  [[nodiscard]] constexpr stage_action at(std::uint32_t rank, std::uint32_t step) const noexcept {
    const auto place = beat(rank).at(step);
    return run_from(rank, place.kind, place.index).first;
  }
  /// The step at which the rank runs `a`, or size(rank) if it never does. O(1).
  [[nodiscard]] constexpr std::uint32_t step_of(std::uint32_t rank, stage_action a) const noexcept {
    if (a.kind() > action_kind::backward || a.stage() != rank || a.micro_batch() >= micro_batches_ ||
        a.slice() >= slices_ || a.direction() != 0)
      return size(rank);
    const std::uint32_t k = a.micro_batch() * slices_;
    return a.kind() == action_kind::forward ? beat(rank).step_of_forward(k + a.slice())
                                            : beat(rank).step_of_backward(k + slices_ - 1 - a.slice());
  }
  /// The list of one rank. Precondition: rank < ranks().
  [[nodiscard]] constexpr rank_view<seq_1f1b> rank(std::uint32_t rank) const noexcept { return {*this, rank}; }

  /// Writes steps from `first` on, as many as fit and are left; returns how many.
  constexpr std::size_t fill(std::uint32_t rank, std::span<stage_action> out, std::uint32_t first) const noexcept {
    return beat(rank).regions().fill(
        out, first, [&](action_kind kind, std::uint32_t index) { return run_from(rank, kind, index); });
  }

  friend constexpr bool operator==(const seq_1f1b&, const seq_1f1b&) = default;

 private:
  [[nodiscard]] constexpr std::uint32_t count() const noexcept { return micro_batches_ * slices_; }
  /// The slices of a micro-batch from one on; of whole micro-batches, those.
  [[nodiscard]] constexpr detail::action_run<stage_action> run_from(std::uint32_t rank, action_kind kind,
                                                                    std::uint32_t index) const noexcept {
    const std::uint32_t j = index / slices_, t = index % slices_;
    if (slices_ == 1) return {{kind, rank, j}, stage_action::next_micro_batch, micro_batches_ - j};
    if (kind == action_kind::forward) return {{kind, rank, j, t}, 1, slices_ - t};
    return {{kind, rank, j, slices_ - 1 - t}, ~std::uint64_t{0}, slices_ - t};
  }
  [[nodiscard]] constexpr detail::alternation beat(std::uint32_t rank) const noexcept {
    HOCKET_ASSERT(rank < ranks_);
    const std::uint32_t w = ranks_ - rank - 1 + (slices_ - 1);
    return {.count = count(), .warm_up = w < count() ? w : count()};
  }
  std::uint32_t ranks_ = 1;
  std::uint32_t micro_batches_ = 1;
  std::uint32_t slices_ = 1;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
