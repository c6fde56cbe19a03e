// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/detail/phases.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::pipeline {

/// ZB-V, "zero bubble in a V": two chunks per rank whose stages run down the ranks and back up, so that the first rank
/// holds the first stage and the last; backwards split. No rank idles
/// between its first and its last action at equal times, with the activations of 1F1B: 2p chunks, for every m >= 1.
/// A rank's list is nine phases; with m < 2p - 1 it is the list of 2p - 1 micro-batches without the ones that do not
/// exist, as in PyTorch's ScheduleZBVZeroBubble.
/// Source: Qi et al. 2024, arXiv:2405.15362; docs/pipeline.md, "V schedules".
///
///     constexpr auto plan = hocket::pipeline::zbv::make({.ranks = 4, .chunks = 2, .micro_batches = 8}).value();
///     static_assert(plan.size(0) == 48 && plan.peak_in_flight(0) == 8);
class zbv : public detail::phased<zbv> {
 public:
  constexpr zbv() noexcept = default;

  /// Errors: errc::bad_shape if chunks != 2 or the shape is out of range.
  [[nodiscard]] static constexpr result<zbv> make(const shape& s) noexcept {
    if (const auto ok = check(s); !ok) return ok.error();
    if (s.chunks != 2) return error{errc::bad_shape, s.ranks, s.chunks, s.micro_batches}.with("zbv has two chunks");
    zbv plan;
    plan.ranks_ = static_cast<std::uint32_t>(s.ranks);
    plan.micro_batches_ = static_cast<std::uint32_t>(s.micro_batches);
    return plan;
  }

  [[nodiscard]] constexpr std::uint32_t ranks() const noexcept { return ranks_; }
  [[nodiscard]] constexpr std::uint32_t chunks() const noexcept { return 2; }
  [[nodiscard]] constexpr std::uint32_t micro_batches() const noexcept { return micro_batches_; }
  [[nodiscard]] constexpr v_placement placement() const noexcept { return {ranks_}; }

  [[nodiscard]] constexpr std::uint32_t size(std::uint32_t) const noexcept { return 6 * micro_batches_; }
  friend constexpr bool operator==(const zbv&, const zbv&) = default;

 private:
  friend class detail::phased<zbv>;

  /// The list of one rank as its phases.
  [[nodiscard]] constexpr detail::phase_list phases(std::uint32_t rank) const noexcept {
    constexpr auto f = action_kind::forward, i = action_kind::input_grad, w = action_kind::weight_grad;
    const std::uint32_t p = ranks_, r = rank, least = 2 * p - 1;
    const std::uint32_t n = micro_batches_ < least ? least : micro_batches_;
    // Micro-batches that both chunks have finished, chunk by chunk, as the phases go by.
    const std::uint32_t lead = 2 * (p - r) - 1;      // first forwards of chunk 0
    const std::uint32_t turn = p - r;                // whole rounds of chunk 1 before chunk 0 turns back
    const std::uint32_t steady = n - 2 * p + r + 1;  // rounds in which nothing is added
    const std::uint32_t tail = p - r - 1;
    detail::phase_list list(micro_batches_);
    list.add(lead, {{f, 0, 0}});
    list.add(2 * r, {{f, 1, 0}, {f, 0, lead}});
    list.add(3 * turn, {{f, 1, r}, {i, 1, 0}, {w, 1, 0}});
    list.add(6 * steady, {{f, 0, lead + r}, {i, 0, 0}, {w, 0, 0}, {f, 1, r + turn}, {i, 1, turn}, {w, 1, turn}});
    const std::uint32_t one = turn + steady;  // backwards of chunk 1 so far
    list.add(5 * tail, {{i, 0, steady}, {w, 0, steady}, {f, 1, r + one}, {i, 1, one}, {w, 1, one}});
    list.add(2 * r, {{i, 0, steady + tail}, {i, 1, one + tail}});
    list.add(2 * turn, {{i, 0, steady + tail + r}, {w, 0, steady + tail}});
    list.add(r, {{w, 1, one + tail}});
    list.add(r, {{w, 0, steady + tail + turn}});
    return list;
  }
  std::uint32_t ranks_ = 1;
  std::uint32_t micro_batches_ = 1;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
