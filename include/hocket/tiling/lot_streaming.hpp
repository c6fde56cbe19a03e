// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/tiling/finish.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace hocket::inline HOCKET_ABI::tiling {

namespace detail {

/// Tiles that grow so that the critical phase never pauses: after a first tile of `first` units, each is the longest
/// whose earlier phases are through before the critical phase has finished the tile before. The last takes the rest.
template <class Phases>
constexpr ticks grow(const grid& axis, clock<Phases>& timer, std::size_t critical, std::int64_t first,
                     bool first_ragged, bool last_ragged, tile_list& out) noexcept {
  constexpr ticks infeasible = (std::numeric_limits<ticks>::max)();
  out.count = 0;
  tick_row done{};
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
/// and those around the best. Called with a reversed clock it offers shrinking tiles, which keep an early phase busy.
template <class Phases>
constexpr void offer_growing(const grid& axis, const Phases& phases, bool reversed, incumbent& best) noexcept {
  clock<Phases> timer(phases, reversed);
  axis.for_each_end([&](bool first_ragged, bool last_ragged) {
    if (reversed) std::swap(first_ragged, last_ragged);
    for (std::size_t critical = 1; critical < timer.phases(); ++critical) {
      ticks least = (std::numeric_limits<ticks>::max)();
      std::int64_t at = 0;
      tile_list tiles;
      const auto attempt = [&](std::int64_t first) {
        const ticks t = grow(axis, timer, critical, first, first_ragged, last_ragged, tiles);
        if (t < least) least = t, at = first;
        if (t > best.time) return;
        if (reversed) tiles.reverse();
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

/// Moves units between tiles as long as that helps, in steps from an eighth of the axis down to one unit; also drops a
/// tile that gives all it has. Stops after `rounds` sweeps over all pairs, a count and not a time, so that every rank
/// stops at the same tiling.
template <class Phases>
constexpr void descend(const grid& axis, clock<Phases>& timer, incumbent& best, int rounds = 24) noexcept {
  if (best.tiles.count < 2 || best.tiles.count > 64) return;
  tile_list tiles = best.tiles;
  std::array<tick_row, 64> times{};
  for (std::size_t i = 0; i < tiles.count; ++i) times[i] = timer.times(tiles.rows[i], true);
  ticks now = best.time;
  const auto makespan = [&] {
    tick_row done{};
    for (std::size_t i = 0; i < tiles.count; ++i) timer.pass(done, times[i]);
    return done[timer.phases() - 1];
  };
  std::int64_t step = axis.units / 8 > 0 ? axis.units / 8 : 1;
  for (int round = 0; round < rounds; ++round) {
    bool moved = false;
    for (std::size_t from = 0; from < tiles.count; ++from) {
      for (std::size_t to = 0; to < tiles.count && tiles.count > 1; ++to) {
        const std::int64_t rows = step * axis.align;
        if (from == to || tiles.rows[from] - rows < axis.least) continue;
        const tick_row old_from = times[from], old_to = times[to];
        tiles.rows[from] -= rows, tiles.rows[to] += rows;
        times[from] = timer.times(tiles.rows[from], true), times[to] = timer.times(tiles.rows[to], true);
        const ticks t = makespan();
        if (t < now) {
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

/// Offers what a descent from the best growing, shrinking and equal tiles finds.
template <class Phases>
constexpr void search_lots(const problem<Phases>& p, const grid& axis, clock<Phases>& timer, incumbent& best) noexcept {
  incumbent equal(axis, timer);
  offer_uniform(axis, timer, equal);
  best.offer(equal.time, equal.tiles);
  descend(axis, timer, equal);
  best.offer(equal.time, equal.tiles);
  for (const bool reversed : {false, true}) {
    incumbent lots(axis, timer);
    offer_growing(axis, p.phases, reversed, lots);
    descend(axis, timer, lots);
    best.offer(lots.time, lots.tiles);
  }
}

}  // namespace detail

/// Growing or shrinking tiles: the phase that is the bottleneck never pauses, and the first (or last) tile is as short
/// as pays. Known in scheduling as lot streaming with consistent sublots (Potts and Baker 1989), here with any cost
/// curve; the candidates are then improved by moving units between tiles. Never worse than `none` and `uniform`.
/// Errors: as `check`; errc::bad_cost. O(max_tiles^3 * phases + max_tiles * log^2 units) evaluations at most, plus the
/// lower bound.
template <class Phases>
[[nodiscard]] constexpr result<plan> lot_streaming(const problem<Phases>& p) noexcept {
  return detail::best_of(p, policy::lot_streaming, &detail::search_lots<Phases>);
}

}  // namespace hocket::inline HOCKET_ABI::tiling
