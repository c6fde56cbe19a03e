// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/detail/phases.hpp>

#include <algorithm>
#include <cstdint>

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
class seq_1f1b : public detail::phased<seq_1f1b, stage_action> {
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

  /// Steps of warm-up, steady state and drain. The warm-up is p - 2 - rank + slices, at most all.
  [[nodiscard]] constexpr step_counts counts(std::uint32_t rank) const noexcept {
    return detail::alternation_counts(count(), warm_up(rank));
  }

  [[nodiscard]] constexpr std::uint32_t size(std::uint32_t) const noexcept { return 2 * count(); }
  friend constexpr bool operator==(const seq_1f1b&, const seq_1f1b&) = default;

 private:
  friend class detail::phased<seq_1f1b, stage_action>;

  [[nodiscard]] constexpr std::uint32_t count() const noexcept { return micro_batches_ * slices_; }
  [[nodiscard]] constexpr std::uint32_t warm_up(std::uint32_t rank) const noexcept {
    return (std::min)(ranks_ - rank - 1 + (slices_ - 1), count());
  }
  [[nodiscard]] constexpr detail::phase_list phases(std::uint32_t rank) const noexcept {
    return detail::alternation(count(), warm_up(rank));
  }
  /// The slices of a micro-batch from one on; of whole micro-batches, those.
  [[nodiscard]] constexpr detail::action_run<stage_action> run_from(std::uint32_t rank,
                                                                    const detail::phase_list::lane& lane,
                                                                    std::uint32_t index) const noexcept {
    const std::uint32_t j = index / slices_, t = index % slices_;
    if (slices_ == 1) return {{lane.kind, rank, j}};
    if (lane.kind == action_kind::forward) return {{lane.kind, rank, j, t}, 1, slices_ - t};
    return {{lane.kind, rank, j, slices_ - 1 - t}, ~std::uint64_t{0}, slices_ - t};
  }
  [[nodiscard]] constexpr detail::phase_list::place place_of(std::uint32_t rank, stage_action a) const noexcept {
    if (a.stage() != rank || a.slice() >= slices_ || a.direction() != 0) return {};
    const std::uint32_t t = a.kind() == action_kind::forward ? a.slice() : slices_ - 1 - a.slice();
    return {a.kind(), 0, a.micro_batch() * slices_ + t};
  }
  std::uint32_t ranks_ = 1;
  std::uint32_t micro_batches_ = 1;
  std::uint32_t slices_ = 1;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
