// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Growing and shrinking tiles, and the descent that improves them: any number of phases, any costs. Both need nothing
// but the times of tiles.
#pragma once
#include <hocket/tiling/detail/candidates.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace hocket::inline HOCKET_ABI::tiling::detail {

inline constexpr ticks infeasible = (std::numeric_limits<ticks>::max)();

/// Grows tiles so that the critical phase never pauses.
template <class Phases>
class tile_grower {
 public:
  constexpr tile_grower(const grid& axis, clock<Phases>& timer, std::size_t critical, bool first_ragged,
                        bool last_ragged) noexcept
      : axis_(axis), timer_(timer), critical_(critical), first_ragged_(first_ragged), last_ragged_(last_ragged) {}

  /// After a first tile of `first` units, each is the longest whose earlier phases are through before the critical
  /// phase has finished the tile before; the last takes the rest. False if there are no such tiles.
  constexpr bool grow(std::int64_t first, tile_list& out) noexcept {
    out.count = 0;
    done_ = timer_.start();
    if (first >= axis_.units || axis_.max_tiles < 2 || !add(first, first_ragged_, out)) return false;
    for (std::int64_t used = first; used < axis_.units;) {
      const std::int64_t rest = axis_.units - used;
      const bool is_last = static_cast<std::int64_t>(out.count) + 1 == axis_.max_tiles ||
                           rest < axis_.fewest(false) + axis_.fewest(last_ragged_);
      const std::int64_t u = is_last ? rest : longest_in_time(rest);
      used += u;
      if (!add(u, used == axis_.units && last_ragged_, out)) return false;
    }
    return true;
  }

 private:
  constexpr bool add(std::int64_t units, bool ragged, tile_list& out) noexcept {
    const std::int64_t rows = axis_.length(units, ragged);
    if (rows < axis_.least) return false;
    out.push(rows);
    timer_.pass(done_, timer_.times(rows, true));
    return true;
  }
  constexpr bool is_in_time(std::int64_t units) noexcept {
    const tick_row t = timer_.times(axis_.length(units, false), true);
    ticks ready = 0;
    for (std::size_t earlier = 0; earlier < critical_; ++earlier) ready = larger(done_[earlier], ready) + t[earlier];
    return ready <= done_[critical_];
  }
  /// The shortest tile is taken even if it is late, and a last tile must be left over.
  constexpr std::int64_t longest_in_time(std::int64_t rest) noexcept {
    if (is_in_time(rest)) return rest;
    std::int64_t low = axis_.fewest(false), high = rest;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (is_in_time(middle) ? low : high) = middle;
    }
    const std::int64_t most = rest - axis_.fewest(last_ragged_);
    return low < most ? low : most;
  }

  const grid& axis_;
  clock<Phases>& timer_;
  std::size_t critical_;
  bool first_ragged_, last_ragged_;
  tick_row done_{};
};

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
      tile_grower<Phases> grower(axis, timer, critical, first_ragged, last_ragged);
      ticks least = infeasible;
      std::int64_t at = 0;
      tile_list tiles;
      const auto attempt = [&](std::int64_t first) {
        if (!grower.grow(first, tiles)) return;
        if (reversed) tiles.reverse();
        const ticks t = forwards.makespan(tiles.span());
        if (t < least) at = first;
        least = lesser(least, t);
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

/// Tiles between which rows are moved. The times of tiles are kept, unless contention by rate has none.
template <class Phases>
class tile_mover {
 public:
  static constexpr std::size_t capacity = 64;  // beyond, sweeps over all pairs take too long

  constexpr tile_mover(const grid& axis, clock<Phases>& timer, const incumbent& from) noexcept
      : axis_(axis), timer_(timer), tiles_(from.tiles), time_(from.time) {
    for (std::size_t i = 0; i < tiles_.count; ++i) times_[i] = timer_.times(tiles_.rows[i], true);
  }
  [[nodiscard]] constexpr ticks time() const noexcept { return time_; }
  [[nodiscard]] constexpr const tile_list& tiles() const noexcept { return tiles_; }

  /// Moves rows from every tile to every other where that helps; true if it did somewhere.
  constexpr bool sweep(std::int64_t rows) noexcept {
    bool moved = false;
    for (std::size_t from = 0; from < tiles_.count; ++from)
      for (std::size_t to = 0; to < tiles_.count; ++to)
        if (from != to && tiles_.rows[from] - rows >= axis_.least && move(from, to, rows)) moved = true;
    return moved;
  }

 private:
  constexpr bool move(std::size_t from, std::size_t to, std::int64_t rows) noexcept {
    const tick_row old_from = times_[from], old_to = times_[to];
    shift(from, to, rows);
    times_[from] = timer_.times(tiles_.rows[from], true);
    times_[to] = timer_.times(tiles_.rows[to], true);
    const ticks t = makespan();
    if (t < time_ && axis_.admits(tiles_.span())) {
      time_ = t;
      return true;
    }
    shift(to, from, rows);
    times_[from] = old_from;
    times_[to] = old_to;
    return false;
  }
  constexpr void shift(std::size_t from, std::size_t to, std::int64_t rows) noexcept {
    tiles_.rows[from] -= rows;
    tiles_.rows[to] += rows;
  }
  constexpr ticks makespan() noexcept {
    if (timer_.slowdown() != contention::fixed) return timer_.makespan(tiles_.span());
    tick_row done = timer_.start();
    for (std::size_t i = 0; i < tiles_.count; ++i) timer_.pass(done, times_[i]);
    return done[timer_.phases() - 1];
  }

  const grid& axis_;
  clock<Phases>& timer_;
  tile_list tiles_;
  ticks time_;
  std::array<tick_row, capacity> times_{};
};

/// Moves units between the tiles of the incumbent as long as that helps, in steps from an eighth of the axis down to
/// one unit. Stops after `max_sweeps`, a count and not a time, so that every rank stops at the same tiling.
template <class Phases>
constexpr void descend(const grid& axis, clock<Phases>& timer, incumbent& best) noexcept {
  constexpr int max_sweeps = 24;
  if (best.tiles.count < 2 || best.tiles.count > tile_mover<Phases>::capacity) return;
  tile_mover<Phases> mover(axis, timer, best);
  std::int64_t step = axis.units / 8 > 0 ? axis.units / 8 : 1;
  for (int sweep = 0; sweep < max_sweeps; ++sweep) {
    if (mover.sweep(step * axis.align)) continue;
    if (step == 1) break;
    step /= 2;
  }
  best.offer(mover.time(), mover.tiles());
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
  free.shorter = short_end::either;
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

}  // namespace hocket::inline HOCKET_ABI::tiling::detail
