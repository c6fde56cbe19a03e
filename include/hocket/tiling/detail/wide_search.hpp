// SPDX-License-Identifier: Apache-2.0
// The wide search: any number of phases, any costs. It needs nothing but the times of tiles.
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/tiling/detail/candidates.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

namespace hocket::inline HOCKET_ABI::tiling::detail {

inline constexpr ticks infeasible = (std::numeric_limits<ticks>::max)();

/// Tiles that grow so that the critical phase never pauses: after a first tile of `first` units, each is the longest
/// whose earlier phases are through before the critical phase has finished the tile before. The last takes the rest.
template <class Phases>
constexpr ticks grow(const grid& axis, clock<Phases>& timer, std::size_t critical, std::int64_t first,
                     bool first_ragged, bool last_ragged, tile_list& out) noexcept {
  out.count = 0;
  tick_row done = timer.start();
  std::int64_t used = first;
  if (axis.length(first, first_ragged) < axis.least || first >= axis.units || axis.max_tiles < 2) return infeasible;
  out.push(axis.length(first, first_ragged));
  timer.pass(done, timer.times(out.rows[0], true));
  const std::int64_t fewest = axis.fewest(false), fewest_last = axis.fewest(last_ragged);
  while (used < axis.units) {
    const std::int64_t rest = axis.units - used;
    std::int64_t u = rest;
    if (static_cast<std::int64_t>(out.count) + 1 < axis.max_tiles && rest >= fewest + fewest_last) {
      const auto in_time = [&](std::int64_t units) {
        const tick_row t = timer.times(axis.length(units, false), true);
        ticks ready = 0;
        for (std::size_t earlier = 0; earlier < critical; ++earlier)
          ready = (done[earlier] > ready ? done[earlier] : ready) + t[earlier];
        return ready <= done[critical];
      };
      std::int64_t low = fewest, high = rest;  // low is taken even if late; high is not a growing tile but the rest
      if (in_time(high)) {
        low = high;
      } else {
        while (high - low > 1) {
          const std::int64_t middle = low + (high - low) / 2;
          if (in_time(middle)) low = middle;
          else high = middle;
        }
        if (rest - low < fewest_last) low = rest - fewest_last;
      }
      u = low;
    }
    used += u;
    const bool last = used == axis.units;
    const std::int64_t rows = axis.length(u, last && last_ragged);
    if (rows < axis.least) return infeasible;
    out.push(rows);
    timer.pass(done, timer.times(rows, true));
  }
  return done[timer.phases() - 1];
}

/// Offers growing tiles for every critical phase behind the first, over first tiles of 1, 2, 3, 4, 6, 8, 12, … units
/// and those around the best. Grown against the reversed clock it offers shrinking tiles, which keep an early phase
/// busy; all are timed forwards.
template <class Phases>
constexpr void offer_growing(const grid& axis, const Phases& phases, bool reversed, clock<Phases>& forwards,
                             incumbent& best) noexcept {
  clock<Phases> timer(phases, reversed);
  axis.for_each_end([&](bool first_ragged, bool last_ragged) {
    if (reversed) std::swap(first_ragged, last_ragged);
    for (std::size_t critical = 1; critical < timer.phases(); ++critical) {
      ticks least = (std::numeric_limits<ticks>::max)();
      std::int64_t at = 0;
      tile_list tiles;
      const auto attempt = [&](std::int64_t first) {
        if (grow(axis, timer, critical, first, first_ragged, last_ragged, tiles) == infeasible) return;
        if (reversed) tiles.reverse();
        const ticks t = forwards.makespan(tiles.span());
        if (t < least) least = t, at = first;
        best.offer(t, tiles);
      };
      std::int64_t step = 1;
      for (std::int64_t first = 1; first < axis.units; first += step) {
        attempt(first);
        if ((first & (first - 1)) == 0 && first >= 4) step = first / 2;
      }
      for (step = at / 2; step >= 1; step /= 2) {
        const std::int64_t middle = at;
        if (middle > step) attempt(middle - step);
        if (middle + step < axis.units) attempt(middle + step);
      }
    }
  });
}

/// Moves units between tiles as long as that helps, in steps from an eighth of the axis down to one unit. Stops after
/// `rounds` sweeps over all pairs, a count and not a time, so that every rank stops at the same tiling.
template <class Phases>
constexpr void descend(const grid& axis, clock<Phases>& timer, incumbent& best, int rounds = 24) noexcept {
  if (best.tiles.count < 2 || best.tiles.count > 64) return;
  tile_list tiles = best.tiles;
  ticks now = best.time;
  std::array<tick_row, 64> times{};
  const bool stepwise = timer.slowdown() == contention::fixed;
  if (stepwise)
    for (std::size_t i = 0; i < tiles.count; ++i) times[i] = timer.times(tiles.rows[i], true);
  const tick_row start = timer.start();
  const auto makespan = [&] {
    if (!stepwise) return timer.makespan(tiles.span());
    tick_row done = start;
    for (std::size_t i = 0; i < tiles.count; ++i) timer.pass(done, times[i]);
    return done[timer.phases() - 1];
  };
  std::int64_t step = axis.units / 8 > 0 ? axis.units / 8 : 1;
  for (int round = 0; round < rounds; ++round) {
    bool moved = false;
    for (std::size_t from = 0; from < tiles.count; ++from) {
      for (std::size_t to = 0; to < tiles.count; ++to) {
        const std::int64_t rows = step * axis.align;
        if (from == to || tiles.rows[from] - rows < axis.least) continue;
        const tick_row old_from = times[from], old_to = times[to];
        tiles.rows[from] -= rows, tiles.rows[to] += rows;
        if (stepwise) times[from] = timer.times(tiles.rows[from], true), times[to] = timer.times(tiles.rows[to], true);
        const ticks t = makespan();
        if (t < now && axis.admits(tiles.span())) {
          now = t, moved = true;
          continue;
        }
        tiles.rows[from] += rows, tiles.rows[to] -= rows;
        times[from] = old_from, times[to] = old_to;
      }
    }
    if (moved) continue;
    if (step == 1) break;
    step /= 2;
  }
  best.offer(now, tiles);
}

/// Offers the tiles in ascending or descending order where only that is allowed.
template <class Phases>
constexpr void offer_sorted(const grid& axis, clock<Phases>& timer, const tile_list& found, incumbent& best) noexcept {
  if (axis.shorter == short_end::either || found.count < 2) return;
  // The ragged tile stays where it is; the others are whole units and are sorted around it.
  tile_list tiles = found;
  const bool first = tiles.rows[0] % axis.align != 0, last = tiles.rows[tiles.count - 1] % axis.align != 0;
  const auto begin = tiles.rows.begin() + (first ? 1 : 0);
  const auto end = tiles.rows.begin() + static_cast<std::ptrdiff_t>(tiles.count) - (last ? 1 : 0);
  std::sort(begin, end);
  if (axis.shorter == short_end::last) std::reverse(begin, end);
  best.offer(timer.makespan(tiles.span()), tiles);
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

/// What the descents begin with: equal, growing and shrinking tiles, each improved.
template <class Phases>
constexpr void offer_lots(const problem<Phases>& p, const grid& axis, clock<Phases>& timer, incumbent& best) noexcept {
  const auto improve = [&](incumbent& found) {
    best.offer(found.time, found.tiles);
    descend(axis, timer, found);
    best.offer(found.time, found.tiles);
    offer_sorted(axis, timer, found.tiles, best);
  };
  grid free = axis;
  free.format = tile_format::any, free.shorter = short_end::either;
  incumbent equal(free, timer);
  offer_uniform(axis, timer, equal);
  improve(equal);
  for (const bool reversed : {false, true}) {
    incumbent lots(free, timer);
    offer_growing(axis, p.phases, reversed, timer, lots);
    improve(lots);
  }
  if (!axis.is_free()) descend(axis, timer, best);
}

/// Everything that a problem's format allows, without help from affine forms.
template <class Phases>
constexpr void search_widely(const problem<Phases>& p, const grid& axis, clock<Phases>& timer,
                             incumbent& best) noexcept {
  offer_uniform(axis, timer, best);
  if (axis.format == tile_format::uniform) return;
  if (axis.format == tile_format::any) offer_lots(p, axis, timer, best);
  offer_one_plus_n(axis, timer, best);
  if (axis.format == tile_format::two_runs) offer_every_two_runs(axis, timer, best);
  if (axis.format == tile_format::any) descend(axis, timer, best);
}

}  // namespace hocket::inline HOCKET_ABI::tiling::detail
