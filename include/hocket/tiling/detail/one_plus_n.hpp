// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One tile and n equal ones: every length that can be the best, by lines below the costs.
#pragma once
#include <hocket/tiling/detail/bound.hpp>

#include <cstddef>
#include <cstdint>

namespace hocket::inline HOCKET_ABI::tiling::detail {

/// Up to so many units every length is tried.
inline constexpr std::int64_t every_length = 256;

/// Lengths in units, from `low` to `high`; none if `low` is above `high`.
struct length_range {
  std::int64_t low, high;
};

/// The sizes y at which a line fixed + slope * y is at most `limit`: cuts them out of [low, high].
constexpr void keep_below(double fixed, double slope, double limit, double& low, double& high) noexcept {
  const double room = limit - fixed;
  if (slope > 0) high = room / slope < high ? room / slope : high;
  if (slope < 0) low = room / slope > low ? room / slope : low;
  if (slope == 0 && room < 0) high = low - 1;
}

/// The lengths of n equal tiles next to a single one that may take no longer than `limit`, out of `within`.
/// `near` is below the costs of the phase that the single tile passes alone (the first phase if it goes first), `far`
/// below those of the other. The makespan is the longest of three paths that differ: they cross over at the single
/// tile, at the equal tile next to it, or at the last equal one. Each is linear in the equal length, because the single
/// tile has the rest of the rows. O(1).
[[nodiscard]] constexpr length_range worth_trying(const grid& axis, const tangent& near, const tangent& far,
                                                  std::int64_t n, ticks limit, length_range within) noexcept {
  constexpr double rounding = 1e-9;  // far more than these sums can be off
  const auto unit = static_cast<double>(axis.align), rows = static_cast<double>(axis.rows);
  const auto count = static_cast<double>(n);
  const double most = static_cast<double>(limit) * (1 + rounding) + 4;
  double low = static_cast<double>(within.low) * unit, high = static_cast<double>(within.high) * unit;
  const double base = near.fixed + near.slope * rows, fall = -count * near.slope;
  keep_below(base + far.fixed * (count + 1) + far.slope * rows, fall, most, low, high);
  keep_below(base + near.fixed + count * far.fixed, fall + near.slope + count * far.slope, most, low, high);
  keep_below(base + count * near.fixed + far.fixed, far.slope, most, low, high);
  if (!(low <= high)) return {1, 0};
  const auto first = static_cast<std::int64_t>(low / unit), last = static_cast<std::int64_t>(high / unit) + 1;
  return {first > within.low ? first : within.low, last < within.high ? last : within.high};
}

/// f(length) for every length of a range if there are at most `exhaustive`. Else for 64 evenly spread ones, and then
/// for others around the best until neighbours have been tried. f returns whether its length was better than all
/// before.
template <class F>
constexpr void try_lengths(length_range range, std::int64_t exhaustive, F&& f) noexcept {
  constexpr std::int64_t spread = 64;
  std::int64_t at = 0, step = 1;
  if (range.high - range.low >= exhaustive) step = (range.high - range.low + 1) / spread;
  for (std::int64_t length = range.low; length <= range.high; length += step)
    if (f(length)) at = length;
  while (at != 0 && step > 1) {
    step = ceil_div<std::int64_t>(step, 4);
    const std::int64_t low = at - range.low > 4 * step ? at - 4 * step : range.low;
    const std::int64_t high = range.high - at > 4 * step ? at + 4 * step : range.high;
    for (std::int64_t length = low; length <= high; length += step)
      if (f(length)) at = length;
  }
}

/// One end of the rows and the other: whether the first and the last tile may be ragged.
struct ragged_ends {
  bool first, last;
};

/// Offers one tile and n equal ones, out of `range`, with the single one first or last.
template <class Phases>
constexpr void offer_lengths(const grid& axis, clock<Phases>& timer, incumbent& best, std::int64_t exhaustive,
                             std::int64_t n, length_range range, bool single_first, ragged_ends ends) noexcept {
  try_lengths(range, exhaustive, [&](std::int64_t length) {
    const ticks before = best.time;
    const std::int64_t single = axis.units - n * length;
    if (single_first) offer_two_runs(axis, timer, best, single, 1, length, n, ends.first, ends.last);
    else offer_two_runs(axis, timer, best, length, n, single, 1, ends.first, ends.last);
    return best.time < before;
  });
}

/// Offers one tile and n equal ones in both orders: every such tiling that can be better than what is known, if there
/// are at most `exhaustive` lengths to try for an n; else those of try_lengths.
/// O(max_tiles * lengths * phases^2).
template <class Phases>
constexpr void offer_one_plus_n(const grid& axis, clock<Phases>& timer, const count_bounds<Phases>& bounds,
                                incumbent& best, std::int64_t exhaustive = every_length) noexcept {
  const bool has_lines = bounds.are_known() && timer.phases() == 2;
  const auto offer = [&](std::int64_t n, bool single_first, ragged_ends ends) {
    length_range range{1, (axis.units - 1) / n};  // at least one unit is left for the single tile
    const bool equal_is_ragged = single_first ? ends.last : ends.first;
    if (has_lines && !equal_is_ragged)
      range = worth_trying(axis, bounds.line(single_first ? 0 : 1, n + 1), bounds.line(single_first ? 1 : 0, n + 1), n,
                           best.time - timer.start()[0], range);
    offer_lengths(axis, timer, best, exhaustive, n, range, single_first, ends);
  };
  axis.for_each_end([&](bool first, bool last) {
    for (std::int64_t n = 1; n < bounds.most() && n < axis.units; ++n) {
      if (bounds.of(n + 1) > best.time) continue;
      offer(n, true, {first, last});
      offer(n, false, {first, last});
    }
  });
}

}  // namespace hocket::inline HOCKET_ABI::tiling::detail
