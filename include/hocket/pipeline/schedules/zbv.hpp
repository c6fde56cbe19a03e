// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/detail/phases.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::pipeline {

/// ZB-V, "zero bubble in a V": two chunks per rank whose stages run down the ranks and back up, so that the first rank
/// holds the first stage and the last; backwards split. No rank idles
/// between its first and its last action at equal times, with the activations of 1F1B: 2p chunks.
/// With m >= 2p - 1 the lists are those of PyTorch's ScheduleZBVZeroBubble. With fewer, PyTorch's are that of 2p - 1
/// without what does not exist, and long; these are lists of our own. At equal times they are the shortest there are
/// for m <= p + 1 (proved by search up to p = 8), else at most (3p - 1 - 2m) / 2, rounded up, above the bound. Source:
/// Qi et al. 2024, arXiv:2405.15362; docs/pipeline.md, "V schedules".
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

  static constexpr auto f = action_kind::forward, i = action_kind::input_grad, w = action_kind::weight_grad;

  /// The list of one rank as its phases.
  [[nodiscard]] constexpr detail::phase_list phases(std::uint32_t rank) const noexcept {
    if (micro_batches_ >= 2 * ranks_ - 1) return many(rank, micro_batches_);
    if (micro_batches_ > ranks_ + 1) return many(rank, 2 * ranks_ - 1);
    return micro_batches_ > ranks_ ? one_more(rank) : few(rank);
  }

  /// The list for n >= 2p - 1 micro-batches, without those that do not exist: some at the end, and some at the start if
  /// 2m < 3p - 1, so that what fills and what drains the pipeline are cut alike.
  [[nodiscard]] constexpr detail::phase_list many(std::uint32_t r, std::uint32_t n) const noexcept {
    const std::uint32_t p = ranks_, m = micro_batches_;
    // Micro-batches that both chunks have finished, chunk by chunk, as the phases go by.
    const std::uint32_t lead = 2 * (p - r) - 1;      // first forwards of chunk 0
    const std::uint32_t turn = p - r;                // whole rounds of chunk 1 before chunk 0 turns back
    const std::uint32_t steady = n - 2 * p + r + 1;  // rounds in which nothing is added
    const std::uint32_t tail = p - r - 1;
    detail::phase_list list(m, n > m && 2 * m < 3 * p - 1 ? (3 * p - 1 - 2 * m) / 2 : 0);
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

  /// m <= p: each micro-batch two times behind the one before it, and weight gradients where nothing else can run.
  /// With equal times, chunk 1 turns back on rank 0 at 2p - 1. Every second time of a rank has a forward of chunk 1, is
  /// free (p - m of them), or has a backward of chunk 0; the times between have the backwards of chunk 1.
  [[nodiscard]] constexpr detail::phase_list few(std::uint32_t r) const noexcept {
    const std::uint32_t p = ranks_, m = micro_batches_;
    const std::uint32_t lead = least(m, 2 * (p - r) - 1);   // forwards of chunk 0 before one of chunk 1 is there
    const std::uint32_t met = least(m, r + 1);              // forwards of chunk 1 before its first backward
    const std::uint32_t back = least(m, p - r);             // backwards of chunk 1 before the first of chunk 0
    const std::uint32_t gap = p - (m > r + 1 ? m : r + 1);  // free times beside backwards of chunk 1 ...
    const std::uint32_t rest = m + r < p ? p - r - m : 0;   // ... and behind the last of them
    const std::uint32_t pairs = least(back + met - m, gap);
    const std::uint32_t early = least(m, gap + rest);  // weight gradients in all these
    detail::phase_list list;
    list.add(lead, {{f, 0, 0}});
    list.add(2 * (m - lead), {{f, 1, 0}, {f, 0, lead}});
    list.add(met + lead - m, {{f, 1, m - lead}});
    list.add(2 * (m - met), {{i, 1, 0}, {f, 1, met}});
    list.add(2 * pairs, {{i, 1, m - met}, {w, 1, 0}});
    list.add(back + met - m - pairs, {{i, 1, m - met + pairs}});
    list.add(early - pairs, {{w, 1, pairs}});
    list.add(2 * (m - back), {{i, 0, 0}, {i, 1, back}});
    finish(list, m - back, early);
    return list;
  }

  /// m = p + 1: the same, but one micro-batch more than may be held. It passes the turn of chunk 1 behind the first
  /// weight gradients. Precondition: p >= 3.
  [[nodiscard]] constexpr detail::phase_list one_more(std::uint32_t r) const noexcept {
    const std::uint32_t p = ranks_, m = p + 1;
    const bool is_last = r + 1 == p;
    const std::uint32_t lead = least(m, 2 * (p - r) - 1);
    const std::uint32_t beside = is_last ? p - 1 : m - lead;  // forwards of chunk 0 beside those of chunk 1
    detail::phase_list list;
    list.add(lead, {{f, 0, 0}});
    list.add(2 * beside, {{f, 1, 0}, {f, 0, lead}});
    list.add(r + 1 - beside, {{f, 1, beside}});
    if (is_last) {
      list.add(6, {{i, 1, 0}, {i, 0, 0}, {w, 1, 0}, {w, 0, 0}, {f, 0, p}, {f, 1, p}});
      list.add(2 * p, {{i, 1, 1}, {i, 0, 1}});
      list.add(p, {{w, 1, 1}});
      list.add(p, {{w, 0, 1}});
      return list;
    }
    const std::uint32_t c = p - 2 - r;
    list.add(2 * c, {{i, 1, 0}, {f, 1, r + 1}});
    list.add(6, {{i, 1, c}, {w, 1, 0}, {f, 1, p - 1}, {i, 0, 0}, {i, 1, c + 1}, {w, 1, 1}});
    if (r == 0) {
      list.add(3, {{w, 1, 2}, {f, 1, p}, {i, 1, p}});
    } else {
      list.add(2, {{i, 1, c + 2}, {f, 1, p}});
      list.add(2 * (r - 1), {{i, 1, c + 3}, {i, 0, 1}});
      list.add(3, {{w, 1, 2}, {i, 0, r}, {i, 1, p}});
    }
    finish(list, r + 1, 3);
    return list;
  }

  /// The backwards of chunk 0 from the `done`-th on, a weight gradient behind each, and all other weight gradients.
  /// @param weights  weight gradients so far, all of chunk 1
  constexpr void finish(detail::phase_list& list, std::uint32_t done, std::uint32_t weights) const noexcept {
    const std::uint32_t m = micro_batches_, of_1 = least(m - done, m - weights), of_0 = m - done - of_1;
    list.add(2 * of_1, {{i, 0, done}, {w, 1, weights}});
    list.add(2 * of_0, {{i, 0, done + of_1}, {w, 0, 0}});
    list.add(m - weights - of_1, {{w, 1, weights + of_1}});
    list.add(m - of_0, {{w, 0, of_0}});
  }
  [[nodiscard]] static constexpr std::uint32_t least(std::uint32_t a, std::uint32_t b) noexcept {
    return a < b ? a : b;
  }

  std::uint32_t ranks_ = 1;
  std::uint32_t micro_batches_ = 1;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
