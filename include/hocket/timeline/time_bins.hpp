// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/int128.hpp>
#include <hocket/timeline/detail/rows.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI {

/// What a lane does in one stretch of time: ticks by activity. `wait` is not among them: it is idle, like time without
/// a span. Where spans of the lane overlap, the time is that of the one that began first.
struct time_bin {
  std::array<ticks, activity_count> spent{};  ///< by activity

  /// Ticks in which the lane does something. The rest of the stretch is idle.
  [[nodiscard]] constexpr ticks busy() const noexcept {
    ticks sum = 0;
    for (const ticks t : spent) sum += t;
    return sum;
  }
  friend constexpr bool operator==(const time_bin&, const time_bin&) = default;
};

namespace detail {

/// Where bin `i` of `count` begins, of bins as equal as whole ticks allow. Preconditions: to >= from, i <= count.
[[nodiscard]] constexpr ticks bin_edge(ticks from, ticks to, std::size_t count, std::size_t i) noexcept {
  return from + static_cast<ticks>(int128{to - from} * static_cast<std::int64_t>(i) / static_cast<std::int64_t>(count));
}

/// Adds the spans of one lane to the bins of [from, to). @param spans  of rows_of, in their order
/// Complexity: O(spans + bins).
inline void fill_bins(std::span<const span_rows::placed> spans, ticks from, ticks to, std::span<time_bin> bins) {
  const auto edge = [&](std::size_t i) { return bin_edge(from, to, bins.size(), i); };
  std::size_t at = 0;  // the bin that holds `clock`
  ticks clock = from;  // everything before is told
  for (const span_rows::placed& p : spans) {
    if (p.span.kind == activity::wait) continue;
    ticks start = p.span.start > clock ? p.span.start : clock;
    const ticks finish = p.span.finish < to ? p.span.finish : to;
    while (start < finish) {
      while (edge(at + 1) <= start) ++at;
      const ticks until = edge(at + 1) < finish ? edge(at + 1) : finish;
      bins[at].spent[static_cast<std::size_t>(p.span.kind)] += until - start;
      start = until;
    }
    clock = finish > clock ? finish : clock;
  }
}

}  // namespace detail

/// How lanes spend their time, at any level of detail: what a picture needs where bars would be narrower than its
/// pixels. Bins are cut in time and not in numbers of spans, so idle time stays idle however many spans are in one.
/// The timeline is copied: it may change or go.
///
///     hocket::timeline t;
///     t.add_lane("rank 0");
///     t.add({.start = 0, .finish = 3, .lane = 0, .kind = hocket::activity::forward});
///     t.add({.start = 9, .finish = 10, .lane = 0, .kind = hocket::activity::backward});
///     hocket::time_bins(t).of_lane(0, 0, 10, 2)[0].busy() == 3;  // of the 5 ticks of the first half
class time_bins {
 public:
  /// O(s log s) for s spans.
  explicit time_bins(const timeline& t, std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : rows_(detail::rows_of(t, memory)) {}

  /// `count` bins over [from, to), as equal as whole ticks allow: bin i begins at from + floor(i (to - from) / count).
  /// Their ticks add up to the time that the lane is busy in [from, to), exactly.
  /// Preconditions: the lane exists, to >= from, count >= 1. Complexity: O(spans of the lane + count).
  [[nodiscard]] std::pmr::vector<time_bin> of_lane(
      std::uint32_t lane, ticks from, ticks to, std::size_t count,
      std::pmr::memory_resource* memory = std::pmr::get_default_resource()) const {
    HOCKET_ASSERT(lane < rows_.row_count.size() && to >= from && count >= 1);
    std::pmr::vector<time_bin> bins(count, memory);
    detail::fill_bins(spans_of(lane), from, to, bins);
    return bins;
  }

 private:
  [[nodiscard]] std::span<const detail::span_rows::placed> spans_of(std::uint32_t lane) const noexcept {
    return std::span(rows_.spans).subspan(rows_.first[lane], rows_.first[lane + 1] - rows_.first[lane]);
  }
  detail::span_rows rows_;
};

}  // namespace hocket::inline HOCKET_ABI
