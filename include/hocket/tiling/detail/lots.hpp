// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Growing and shrinking tiles, and the descent that improves them: any number of phases, any costs. Both need nothing
// but the times of tiles.
#pragma once
#include <hocket/tiling/detail/one_plus_n.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

namespace hocket::inline HOCKET_ABI::tiling::detail {

inline constexpr ticks infeasible = (std::numeric_limits<ticks>::max)();

inline constexpr std::int64_t unlimited = (std::numeric_limits<std::int64_t>::max)();

/// What descents may still look at, in times of tiles: a count, so that every rank stops at the same tiling.
struct allowance {
  std::int64_t left;
  /// Takes so many; false if there are not as many, and then there are none.
  constexpr bool take(std::int64_t count) noexcept {
    const bool enough = count <= left;
    left = enough ? left - count : 0;
    return enough;
  }
};

/// What is left to do at least when some tiles have passed: by lines below the costs, for each phase.
template <class Phases>
class remaining_times {
 public:
  constexpr remaining_times(const count_bounds<Phases>& bounds, std::size_t phases, bool reversed) noexcept
      : phases_(phases) {
    for (std::size_t i = 0; i < phases; ++i) {
      const std::size_t q = reversed ? phases - 1 - i : i;
      lines_[i] = bounds.line(q, 2);
      rest_[i] = bounds.of_more_tiles(lines_[i]);
      rest_[i].fixed += static_cast<double>(bounds.least_beside(q, reversed)) - 1;  // as lines are in real numbers
    }
  }
  /// When the last phase can be done with `rows` more. O(phases).
  [[nodiscard]] constexpr ticks least(const tick_row<Phases>& done, std::int64_t rows) const noexcept {
    ticks latest = 0;
    for (std::size_t i = 0; i < phases_; ++i)
      latest =
          larger(latest, done[i] + static_cast<ticks>(rest_[i].fixed + rest_[i].slope * static_cast<double>(rows)));
    return latest;
  }

  /// Whether a phase is busy about as long as the busiest: tiles are not grown to keep another one from pausing.
  [[nodiscard]] constexpr bool is_critical(std::size_t phase, std::int64_t rows) const noexcept {
    constexpr double about = 0.5;
    const auto busy = [&](std::size_t i) { return lines_[i].fixed + lines_[i].slope * static_cast<double>(rows); };
    double longest = 0;
    for (std::size_t i = 0; i < phases_; ++i) longest = busy(i) > longest ? busy(i) : longest;
    return busy(phase) >= about * longest;
  }
  /// About how many rows pass the phases before `critical` in the time that it is still busy.
  [[nodiscard]] constexpr double longest(const tick_row<Phases>& done, std::size_t critical) const noexcept {
    tangent before;
    for (std::size_t i = 0; i < critical; ++i) {
      before.fixed += lines_[i].fixed;
      before.slope += lines_[i].slope;
    }
    return (static_cast<double>(done[critical] - done[critical - 1]) - before.fixed) / before.slope;
  }

 private:
  using tangents = std::array<tangent, std::tuple_size_v<tick_row<Phases>>>;
  std::size_t phases_;
  tangents lines_{}, rest_{};
};

/// Grows tiles so that the critical phase never pauses. Reversed, phases and tiles are read backwards in time, where no
/// phase has a time before which it cannot start: makespan(C, T, v) equals makespan(T, C, reversed v).
template <class Phases>
class tile_grower {
 public:
  constexpr tile_grower(const grid& axis, clock<Phases>& timer, std::size_t critical, bool first_ragged,
                        bool last_ragged, bool reversed = false) noexcept
      : axis_(axis),
        timer_(timer),
        critical_(critical),
        first_ragged_(first_ragged),
        last_ragged_(last_ragged),
        reversed_(reversed) {}

  /// From now on, tiles that would take longer than `limit` are not grown to the end. Precondition: bounds known.
  constexpr void give_up(const remaining_times<Phases>& remaining, ticks limit) noexcept {
    remaining_ = &remaining;
    limit_ = limit;
  }

  /// After a first tile of `first` units, each is the longest whose earlier phases are through before the critical
  /// phase has finished the tile before; the last takes the rest. False if there are no such tiles.
  constexpr bool grow(std::int64_t first, tile_list& out) noexcept {
    out.count = 0;
    done_ = reversed_ ? row{} : timer_.start();
    if (first >= axis_.units || axis_.max_tiles < 2 || !add(first, first_ragged_, out)) return false;
    for (std::int64_t used = first; used < axis_.units;) {
      const std::int64_t rest = axis_.units - used;
      if (is_too_late(rest)) return false;
      const bool is_last = static_cast<std::int64_t>(out.count) + 1 == axis_.max_tiles ||
                           rest < axis_.fewest(false) + axis_.fewest(last_ragged_);
      const std::int64_t u = is_last ? rest : longest_in_time(rest);
      used += u;
      if (!add(u, used == axis_.units && last_ragged_, out)) return false;
    }
    return true;
  }

 private:
  using row = tick_row<Phases>;

  constexpr row times(std::int64_t rows) noexcept {
    row t = timer_.times(rows, true);
    if (reversed_) std::reverse(t.begin(), t.begin() + static_cast<std::ptrdiff_t>(timer_.phases()));
    return t;
  }
  constexpr bool add(std::int64_t units, bool ragged, tile_list& out) noexcept {
    const std::int64_t rows = axis_.length(units, ragged);
    if (rows < axis_.least) return false;
    out.push(rows);
    timer_.pass(done_, times(rows));
    return true;
  }
  [[nodiscard]] constexpr bool is_too_late(std::int64_t rest) const noexcept {
    return remaining_ != nullptr && remaining_->least(done_, axis_.length(rest, last_ragged_)) > limit_;
  }
  constexpr bool is_in_time(std::int64_t units) noexcept {
    const row t = times(axis_.length(units, false));
    ticks ready = 0;
    for (std::size_t earlier = 0; earlier < critical_; ++earlier) ready = larger(done_[earlier], ready) + t[earlier];
    return ready <= done_[critical_];
  }
  /// A length from low to high that is about as long as is in time: by the lines below the costs.
  [[nodiscard]] constexpr std::int64_t guess(std::int64_t low, std::int64_t high) const noexcept {
    if (remaining_ == nullptr) return high;
    const double units = remaining_->longest(done_, critical_) / static_cast<double>(axis_.align);
    if (!(units > static_cast<double>(low))) return low;
    return units < static_cast<double>(high) ? static_cast<std::int64_t>(units) : high;
  }
  /// The shortest tile is taken even if it is late, and a last tile must be left over, unless all that is left is in
  /// time.
  constexpr std::int64_t longest_in_time(std::int64_t rest) noexcept {
    std::int64_t low = axis_.fewest(false), high = rest + 1;
    // Outwards from the guess in steps that double, then halves of what is left between.
    std::int64_t at = guess(low + 1, rest);
    for (std::int64_t step = 1; low < at && at < high; step *= 2) {
      const bool in_time = is_in_time(at);
      (in_time ? low : high) = at;
      at += in_time ? step : -step;
    }
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (is_in_time(middle) ? low : high) = middle;
    }
    const std::int64_t most = rest - axis_.fewest(last_ragged_);
    return low == rest || low < most ? low : most;
  }

  const grid& axis_;
  clock<Phases>& timer_;
  std::size_t critical_;
  bool first_ragged_, last_ragged_, reversed_;
  const remaining_times<Phases>* remaining_ = nullptr;
  ticks limit_ = infeasible;
  row done_{};
};

/// f(critical phase, first is ragged, last is ragged), as the grower sees them, for each that can be.
template <class F>
constexpr void for_each_growth(const grid& axis, std::size_t phases, bool reversed, F&& f) {
  axis.for_each_end([&](bool first_ragged, bool last_ragged) {
    if (reversed) std::swap(first_ragged, last_ragged);
    for (std::size_t critical = 1; critical < phases; ++critical) f(critical, first_ragged, last_ragged);
  });
}

/// Offers growing tiles for every critical phase behind the first. Grown in reverse it offers shrinking tiles, which
/// keep an early phase busy; all are timed forwards. The first tiles have 1, 2, 3, 4, 6, 8, 12,
/// 16, 32, 64, … units, then those around the best.
/// What cannot beat the best known is not grown to the end.
template <class Phases>
constexpr void offer_growing(const grid& axis, bool reversed, clock<Phases>& timer, const count_bounds<Phases>& bounds,
                             incumbent& best) noexcept {
  std::optional<remaining_times<Phases>> remaining;
  if (bounds.are_known()) remaining.emplace(bounds, timer.phases(), reversed);
  for_each_growth(axis, timer.phases(), reversed, [&](std::size_t critical, bool first_ragged, bool last_ragged) {
    if (remaining && !remaining->is_critical(critical, axis.rows)) return;
    tile_grower<Phases> grower(axis, timer, critical, first_ragged, last_ragged, reversed);
    ticks least = infeasible;
    std::int64_t at = 0;
    tile_list tiles;
    const auto attempt = [&](std::int64_t first) {
      if (remaining) grower.give_up(*remaining, best.time);
      if (!grower.grow(first, tiles)) return;
      if (reversed) tiles.reverse();
      const ticks t = timer.makespan(tiles.span());
      if (t < least) at = first;
      least = lesser(least, t);
      best.offer(t, tiles);
    };
    for (const std::int64_t first : {1, 2, 3, 4, 6, 8, 12})
      if (first < axis.units) attempt(first);
    for (std::int64_t first = 16; first < axis.units; first *= 2) attempt(first);
    for (std::int64_t step = at / 2; step >= 1; step /= 2) {
      const std::int64_t middle = at;
      if (middle > step) attempt(middle - step);
      if (middle + step < axis.units) attempt(middle + step);
    }
  });
}

/// The same with each growth for itself, over first tiles of 1, 2, 3, 4, 6, 8, 12, … units and those around its best,
/// all grown to the end: what is worse may lead to what is better. Stops when nothing is left of the allowance.
template <class Phases>
constexpr void offer_all_growing(const grid& axis, bool reversed, clock<Phases>& timer, allowance& left,
                                 incumbent& best) noexcept {
  for_each_growth(axis, timer.phases(), reversed, [&](std::size_t critical, bool first_ragged, bool last_ragged) {
    tile_grower<Phases> grower(axis, timer, critical, first_ragged, last_ragged, reversed);
    ticks least = infeasible;
    std::int64_t at = 0;
    tile_list tiles;
    const auto attempt = [&](std::int64_t first) {
      if (!left.take(axis.max_tiles) || !grower.grow(first, tiles)) return;
      if (reversed) tiles.reverse();
      const ticks t = timer.makespan(tiles.span());
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
  });
}

/// Tiles between which rows are moved. The times of tiles are kept, unless contention by rate has none.
template <class Phases>
class tile_mover {
 public:
  static constexpr std::size_t capacity = 64;  // beyond, sweeps over all pairs take too long

  constexpr tile_mover(const grid& axis, clock<Phases>& timer, allowance& left, const incumbent& from) noexcept
      : axis_(axis), timer_(timer), left_(left), tiles_(from.tiles), time_(from.time) {
    before_[0] = timer_.start();
    for (std::size_t i = 0; i < tiles_.count; ++i) times_[i] = timer_.times(tiles_.rows[i], true);
    pass_from(0);
  }
  [[nodiscard]] constexpr ticks time() const noexcept { return time_; }
  [[nodiscard]] constexpr const tile_list& tiles() const noexcept { return tiles_; }

  /// Moves rows from every tile to every other where that helps; true if it did somewhere. Stops when nothing is left
  /// of the allowance.
  constexpr bool sweep(std::int64_t rows) noexcept {
    bool moved = false;
    for (std::size_t from = 0; from < tiles_.count; ++from)
      for (std::size_t to = 0; to < tiles_.count; ++to)
        if (from != to && tiles_.rows[from] - rows >= axis_.least && move(from, to, rows)) moved = true;
    return moved;
  }

 private:
  using row = tick_row<Phases>;

  constexpr bool move(std::size_t from, std::size_t to, std::int64_t rows) noexcept {
    const std::size_t changed = from < to ? from : to;
    const bool by_rate = timer_.slowdown() != contention::fixed;
    const std::size_t looks = tiles_.count - (by_rate ? 0 : changed);
    if (!left_.take(static_cast<std::int64_t>(looks))) return false;
    const row old_from = times_[from], old_to = times_[to];
    shift(from, to, rows);
    times_[from] = timer_.times(tiles_.rows[from], true);
    times_[to] = timer_.times(tiles_.rows[to], true);
    const ticks t = by_rate ? timer_.makespan(tiles_.span()) : makespan_from(changed);
    if (t < time_ && axis_.admits(tiles_.span())) {
      time_ = t;
      pass_from(changed);
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
  [[nodiscard]] constexpr ticks makespan_from(std::size_t changed) const noexcept {
    row done = before_[changed];
    for (std::size_t i = changed; i < tiles_.count; ++i) timer_.pass(done, times_[i]);
    return done[timer_.phases() - 1];
  }
  constexpr void pass_from(std::size_t changed) noexcept {
    for (std::size_t i = changed; i + 1 < tiles_.count; ++i) {
      before_[i + 1] = before_[i];
      timer_.pass(before_[i + 1], times_[i]);
    }
  }

  const grid& axis_;
  clock<Phases>& timer_;
  allowance& left_;
  tile_list tiles_;
  ticks time_;
  std::array<row, capacity> times_, before_;  // of each tile; when phases are free before it. Set up to the count
};

/// Moves units between the tiles of the incumbent as long as that helps, in steps from an eighth of the axis down to
/// one unit. Stops after `max_sweeps` or when nothing is left of the allowance: counts and not times, so that every
/// rank stops at the same tiling.
template <class Phases>
constexpr void descend(const grid& axis, clock<Phases>& timer, allowance& left, incumbent& best) noexcept {
  constexpr int max_sweeps = 24;
  if (best.tiles.count < 2 || best.tiles.count > tile_mover<Phases>::capacity || left.left == 0) return;
  tile_mover<Phases> mover(axis, timer, left, best);
  std::int64_t step = axis.units / 8 > 0 ? axis.units / 8 : 1;
  for (int sweep = 0; sweep < max_sweeps; ++sweep) {
    if (mover.sweep(step * axis.align)) continue;
    if (step == 1 || left.left == 0) break;
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

/// Growing and shrinking tiles, the best of them and of equal ones improved. If then something is left of what may be
/// looked at, equal, growing and shrinking tiles are each improved for themselves.
template <class Phases>
constexpr void offer_lots(const grid& axis, clock<Phases>& timer, const count_bounds<Phases>& bounds, allowance left,
                          incumbent& best) noexcept {
  grid free = axis;
  free.shorter = short_end::either;
  const auto improve = [&](incumbent& found) {
    best.offer(found.time, found.tiles);
    descend(free, timer, left, found);
    best.offer(found.time, found.tiles);
    offer_sorted(axis, timer, found.tiles, best);
  };
  incumbent lots = best;
  lots.axis = &free;
  for (const bool reversed : {false, true}) offer_growing(free, reversed, timer, bounds, lots);
  improve(lots);
  // With less, none of them would come far, except for a few units, where growing tiles are coarse.
  constexpr std::int64_t worth_it = 1024, few = 8;
  if (left.left < worth_it && axis.units > few) return;
  incumbent equal(free, timer);
  offer_uniform(free, timer, equal);
  improve(equal);
  for (const bool reversed : {false, true}) {
    incumbent grown(free, timer);
    offer_all_growing(free, reversed, timer, left, grown);
    improve(grown);
  }
  if (!axis.is_free()) descend(axis, timer, left, best);
}

}  // namespace hocket::inline HOCKET_ABI::tiling::detail
