// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the policies share: the axis in whole units, the best tiling so far, and the tie rule.
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/tiling/detail/clock.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

namespace hocket::inline HOCKET_ABI::tiling::detail {

[[nodiscard]] constexpr ticks lesser(ticks a, ticks b) noexcept { return b < a ? b : a; }
[[nodiscard]] constexpr ticks larger(ticks a, ticks b) noexcept { return a < b ? b : a; }

/// The axis counted in units of `align` rows. When the rows are no multiple, one end tile is `shortage` rows shorter
/// than its units say: the ragged one.
struct grid {
  std::int64_t rows, align, units, shortage, least, max_tiles;
  remainder rest;
  tile_format format;
  short_end shorter;

  constexpr explicit grid(const row_axis& a) noexcept
      : rows(a.rows),
        align(a.align),
        units(ceil_div(a.rows, a.align)),
        shortage(units * a.align - a.rows),
        least(a.least_tile),
        max_tiles(a.max_tiles < units ? a.max_tiles : units),
        rest(a.rest),
        format(a.format),
        shorter(a.shorter) {}

  /// Every tile vector will do, as far as format and order go.
  [[nodiscard]] constexpr bool is_free() const noexcept {
    return format == tile_format::any && shorter == short_end::either;
  }
  /// Whether tiles follow each other as the format and the order say.
  [[nodiscard]] constexpr bool admits(std::span<const std::int64_t> tiles) const noexcept {
    if (is_free() || tiles.size() < 2) return true;
    const auto units_of = [&](std::size_t i) { return ceil_div(tiles[i], align); };
    std::size_t changes = 0, first_change = 0, last_change = 0;
    std::int64_t low = units_of(0), high = low;
    for (std::size_t i = 1; i < tiles.size(); ++i) {
      const std::int64_t before = units_of(i - 1), u = units_of(i);
      if (u < low) low = u;
      if (u > high) high = u;
      if (u == before) continue;
      if (u < before && shorter == short_end::first) return false;
      if (u > before && shorter == short_end::last) return false;
      if (changes++ == 0) first_change = i;
      last_change = i;
    }
    switch (format) {
      case tile_format::any: return true;
      case tile_format::two_runs: return changes <= 1;
      case tile_format::one_plus_n:
        return changes == 0 || (changes == 1 && (first_change == 1 || last_change + 1 == tiles.size()));
      case tile_format::uniform: return changes <= 1 && high - low <= 1;
    }
    return false;
  }

  /// Whether the problem allows these tiles, which add up to the rows.
  [[nodiscard]] constexpr bool allows(std::span<const std::int64_t> tiles) const noexcept {
    if (tiles.size() == 1) return true;
    if (static_cast<std::int64_t>(tiles.size()) > max_tiles || !admits(tiles)) return false;
    bool at_end = false;
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      if (tiles[i] < least) return false;
      if (tiles[i] % align == 0) continue;
      if (at_end) return false;  // the second that is not whole
      at_end = (i == 0 && rest != remainder::last) || (i + 1 == tiles.size() && rest != remainder::first);
      if (!at_end) return false;
    }
    return true;
  }

  [[nodiscard]] constexpr std::int64_t length(std::int64_t u, bool ragged) const noexcept {
    return u * align - (ragged ? shortage : 0);
  }
  /// The fewest units of a tile.
  [[nodiscard]] constexpr std::int64_t fewest(bool ragged) const noexcept {
    return ceil_div(least + (ragged ? shortage : 0), align);
  }
  /// f(first is ragged, last is ragged) for every allowed end; once with (false, false) if nothing is left over.
  template <class F>
  constexpr void for_each_end(F&& f) const {
    if (shortage == 0) return f(false, false);
    if (rest != remainder::last) f(true, false);
    if (rest != remainder::first) f(false, true);
  }
};

/// Whether tiling a comes before b: less time, then fewer tiles, then lexicographically smaller lengths.
[[nodiscard]] constexpr bool comes_before(ticks time_a, std::span<const std::int64_t> a, ticks time_b,
                                          std::span<const std::int64_t> b) noexcept {
  if (time_a != time_b) return time_a < time_b;
  if (a.size() != b.size()) return a.size() < b.size();
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

/// Tile lengths in a fixed buffer, which is set and copied as far as it is used: searches make many.
struct tile_list {
  std::array<std::int64_t, tile_capacity> rows;
  std::size_t count = 0;
  constexpr tile_list() noexcept {}
  constexpr tile_list(const tile_list& other) noexcept { *this = other; }
  constexpr tile_list& operator=(const tile_list& other) noexcept {
    count = other.count;
    for (std::size_t i = 0; i < count; ++i) rows[i] = other.rows[i];
    return *this;
  }
  ~tile_list() = default;
  constexpr void push(std::int64_t length) noexcept { rows[count++] = length; }
  [[nodiscard]] constexpr std::span<const std::int64_t> span() const noexcept { return {rows.data(), count}; }
  friend constexpr bool operator==(const tile_list& a, const tile_list& b) noexcept {
    return std::equal(a.rows.begin(), a.rows.begin() + static_cast<std::ptrdiff_t>(a.count), b.rows.begin(),
                      b.rows.begin() + static_cast<std::ptrdiff_t>(b.count));
  }
  constexpr void reverse() noexcept { std::reverse(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count)); }
};

/// The best tiling seen so far. Starts as "no cut", which every search therefore contains.
struct incumbent {
  ticks time = 0;
  tile_list tiles;
  const grid* axis;

  template <class Phases>
  constexpr incumbent(const grid& g, clock<Phases>& timer) noexcept : time(timer.uncut(g.rows)), axis(&g) {
    tiles.push(g.rows);
  }
  constexpr void offer(ticks t, const tile_list& candidate) noexcept {
    if (t > time || !axis->admits(candidate.span())) return;
    if (!comes_before(t, candidate.span(), time, tiles.span())) return;
    time = t;
    tiles = candidate;
  }
  /// The same for runs; they are only written out if they are not slower.
  constexpr void offer(ticks t, std::span<const tile_run> runs) noexcept {
    if (t > time) return;
    tile_list written;
    for (const tile_run& r : runs)
      for (std::int64_t i = 0; i < r.count; ++i) written.push(r.rows);
    offer(t, written);
  }
};

/// Offers `count_a` tiles of a units and then `count_b` of b units, the end tile ragged as said, if all are long
/// enough.
template <class Phases>
constexpr void offer_two_runs(const grid& axis, clock<Phases>& timer, incumbent& best, std::int64_t a,
                              std::int64_t count_a, std::int64_t b, std::int64_t count_b, bool first_ragged,
                              bool last_ragged) noexcept {
  std::array<tile_run, 4> runs;
  std::size_t used = 0;
  const auto add = [&](std::int64_t units, bool ragged, std::int64_t count) {
    if (count > 0) runs[used++] = {axis.length(units, ragged), count};
  };
  add(a, true, first_ragged ? 1 : 0);
  add(a, false, count_a - (first_ragged ? 1 : 0));
  add(b, false, count_b - (last_ragged ? 1 : 0));
  add(b, true, last_ragged ? 1 : 0);
  const std::span<const tile_run> all(runs.data(), used);
  for (const tile_run& r : all)
    if (r.rows < axis.least) return;
  best.offer(timer.makespan_of_runs(all), all);
}

/// Offers k equal tiles; where units do not divide, some tiles are one unit longer, at either end. O(phases^2).
template <class Phases>
constexpr void offer_equal(const grid& axis, clock<Phases>& timer, std::int64_t k, incumbent& best) noexcept {
  const std::int64_t each = axis.units / k, longer = axis.units % k;
  axis.for_each_end([&](bool first, bool last) {
    if (longer == 0) {
      // One run; told as two where both ends matter.
      const std::int64_t ahead = first || last ? 1 : 0;
      offer_two_runs(axis, timer, best, each, ahead, each, k - ahead, first, last);
    } else {
      offer_two_runs(axis, timer, best, each + 1, longer, each, k - longer, first, last);
      offer_two_runs(axis, timer, best, each, k - longer, each + 1, longer, first, last);
    }
  });
}
/// Offers every number of equal tiles. O(max_tiles * phases^2).
template <class Phases>
constexpr void offer_uniform(const grid& axis, clock<Phases>& timer, incumbent& best) noexcept {
  for (std::int64_t k = 2; k <= axis.max_tiles; ++k) offer_equal(axis, timer, k, best);
}

/// Offers every a tiles of one length and then b of another, if they are few; else of each a and b those lengths that
/// are spread evenly. O(max_tiles^2 * lengths * phases^2).
template <class Phases>
constexpr void offer_every_two_runs(const grid& axis, clock<Phases>& timer, incumbent& best,
                                    std::int64_t lengths = 256) noexcept {
  axis.for_each_end([&](bool first, bool last) {
    for (std::int64_t a = 1; a < axis.max_tiles; ++a) {
      for (std::int64_t b = 1; a + b <= axis.max_tiles; ++b) {
        const std::int64_t longest = (axis.units - b) / a;
        // Lengths for which b divides the rest come in this period.
        const std::int64_t period = b / std::gcd(a, b);
        std::int64_t start = 1;
        while (start <= period && (axis.units - a * start) % b != 0) ++start;
        if (start > period) continue;
        const std::int64_t step = period * ceil_div(ceil_div(longest, period), lengths);
        for (std::int64_t u = start; u <= longest; u += step)
          offer_two_runs(axis, timer, best, u, a, (axis.units - a * u) / b, b, first, last);
      }
    }
  });
}

}  // namespace hocket::inline HOCKET_ABI::tiling::detail
