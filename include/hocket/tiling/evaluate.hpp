// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/tiling/problem.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace hocket::inline HOCKET_ABI::tiling {

/// `count` equal tiles in a row.
struct tile_run {
  std::int64_t rows = 0;
  std::int64_t count = 0;
  friend constexpr bool operator==(const tile_run&, const tile_run&) = default;
};

namespace detail {

using tick_row = std::array<ticks, max_phases>;

struct no_sink {
  constexpr void operator()(std::size_t, std::size_t, ticks, ticks) const noexcept {}
};

/// Times tiles of one problem, forwards or in reverse (phases in opposite order: makespan(C, T, v) equals
/// makespan(T, C, reversed v), so a solver needs one direction only). Remembers the first bad cost instead of returning
/// it from every call; the caller asks once at the end.
template <class Phases>
class clock {
 public:
  constexpr explicit clock(const Phases& phases, bool reversed = false,
                           contention slowdown = contention::fixed) noexcept
      : phases_(&phases), count_(phase_count(phases)), reversed_(reversed), slowdown_(slowdown) {}
  constexpr explicit clock(const problem<Phases>& p) noexcept : clock(p.phases, false, p.slowdown) {}

  [[nodiscard]] constexpr std::size_t phases() const noexcept { return count_; }
  [[nodiscard]] constexpr contention slowdown() const noexcept { return slowdown_; }
  [[nodiscard]] constexpr bool failed() const noexcept { return bad_rows_ != 0; }
  [[nodiscard]] constexpr hocket::error error() const noexcept {
    if (too_long_us_ != 0)
      return hocket::error{errc::limit_exceeded, too_long_us_, longest_tile.count() / ticks_per_us}.with(
          "microseconds of one tile");
    return hocket::error{errc::bad_cost, bad_rows_}.with("phase");
  }

  /// The time of a tile in one phase as ticks; 0 for what is no cost, which is remembered.
  constexpr ticks to_ticks(double us, std::int64_t rows) noexcept {
    constexpr double most = static_cast<double>(longest_tile.count()) / static_cast<double>(ticks_per_us);
    if (!(us >= 0 && us <= most)) [[unlikely]] {
      if (!failed()) {
        bad_rows_ = rows;
        if (curve::is_cost(us))
          too_long_us_ = us < 9e18 ? static_cast<std::int64_t>(us) : (std::numeric_limits<std::int64_t>::max)();
      }
      us = 0;
    }
    return static_cast<ticks>(us * static_cast<double>(ticks_per_us) + 0.5);
  }
  /// The time of a tile in each phase; with the overlap factors if it is one of several.
  constexpr tick_row times(std::int64_t rows, bool cut) noexcept {
    tick_row t{};
    for_each_phase(*phases_, [&](std::size_t i, const auto& each) {
      double us = static_cast<double>(each.cost.time(static_cast<double>(rows)));
      if (cut && slowdown_ == contention::fixed) us *= each.overlap;
      t[reversed_ ? count_ - 1 - i : i] = to_ticks(us, rows);
    });
    return t;
  }

  /// The least time that a tile of several can take in each phase: under contention by rate, a factor below 1 speeds a
  /// phase up while another works, and one above 1 may never come to bear.
  constexpr tick_row least_times(std::int64_t rows) noexcept {
    tick_row t = times(rows, true);
    if (slowdown_ == contention::fixed) return t;
    for_each_phase(*phases_, [&](std::size_t i, const auto& each) {
      if (each.overlap >= 1) return;
      ticks& least = t[reversed_ ? count_ - 1 - i : i];
      least = static_cast<ticks>(static_cast<double>(least) * each.overlap);
    });
    return t;
  }

  /// done[p]: when phase p becomes free. One more tile passes through. O(phases).
  constexpr void pass(tick_row& done, const tick_row& t) const noexcept {
    ticks ready = 0;
    for (std::size_t p = 0; p < count_; ++p) ready = done[p] = (done[p] > ready ? done[p] : ready) + t[p];
  }

  /// n equal tiles pass through, in O(phases^2) whatever n: among paths that enter at phase q and leave at phase p,
  /// the longest visits every phase between once and spends the other n - 1 steps in the slowest of them.
  constexpr void pass(tick_row& done, const tick_row& t, std::int64_t n) const noexcept {
    tick_row after{};
    for (std::size_t p = 0; p < count_; ++p) {
      ticks path = 0, slowest = 0;
      for (std::size_t q = p + 1; q-- > 0;) {
        path += t[q];
        if (t[q] > slowest) slowest = t[q];
        const ticks end = done[q] + path + (n - 1) * slowest;
        if (end > after[p]) after[p] = end;
      }
    }
    done = after;
  }

  /// When each phase may start. Read backwards in time there is no such thing: callers time what they find forwards.
  [[nodiscard]] constexpr tick_row start() const noexcept {
    tick_row ready{};
    if (reversed_) return ready;
    for_each_phase(*phases_, [&](std::size_t i, const auto& each) {
      ready[i] = static_cast<ticks>(each.ready.count() * static_cast<double>(ticks_per_us) + 0.5);
    });
    return ready;
  }

  constexpr ticks uncut(std::int64_t rows) noexcept {
    tick_row done = start();
    pass(done, times(rows, false));
    return done[count_ - 1];
  }
  constexpr ticks makespan(std::span<const std::int64_t> tiles) noexcept {
    if (tiles.size() == 1) return uncut(tiles[0]);
    if (slowdown_ == contention::while_both) return contended(tiles);
    tick_row done = start();
    for (const std::int64_t rows : tiles) pass(done, times(rows, true));
    return done[count_ - 1];
  }
  /// The makespan, and sink(tile, phase, start, finish) for every tile in every phase.
  template <class Sink>
  constexpr ticks trace(std::span<const std::int64_t> tiles, Sink&& sink) noexcept {
    if (tiles.size() > 1 && slowdown_ == contention::while_both) return contended(tiles, sink);
    tick_row done = start();
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      const tick_row t = times(tiles[i], tiles.size() > 1);
      pass(done, t);
      for (std::size_t q = 0; q < count_; ++q) sink(i, q, done[q] - t[q], done[q]);
    }
    return done[count_ - 1];
  }
  /// The same for runs of equal tiles; empty runs are skipped. Precondition: two tiles or more, at most tile_capacity.
  constexpr ticks makespan_of_runs(std::span<const tile_run> runs) noexcept {
    if (slowdown_ == contention::while_both) {
      std::array<std::int64_t, tile_capacity> tiles{};
      std::size_t count = 0;
      for (const tile_run& r : runs)
        for (std::int64_t i = 0; i < r.count; ++i) tiles[count++] = r.rows;
      return contended({tiles.data(), count});
    }
    tick_row done = start();
    for (const tile_run& r : runs)
      if (r.count > 0) pass(done, times(r.rows, true), r.count);
    return done[count_ - 1];
  }

 private:
  /// Contention by rate: from event to event, a phase that works beside another works at 1 / overlap of its speed.
  /// O(tiles * phases^2).
  template <class Sink = no_sink>
  constexpr ticks contended(std::span<const std::int64_t> tiles, Sink&& sink = {}) noexcept {
    std::array<double, max_phases> slow{}, left{}, began{};
    for_each_phase(*phases_, [&](std::size_t i, const auto& each) { slow[i] = each.overlap; });
    const tick_row ready = start();
    std::array<std::size_t, max_phases> passed{};  // tiles that have left the phase
    double now = 0;
    while (passed[count_ - 1] < tiles.size()) {
      std::size_t working = 0;
      std::array<bool, max_phases> works{};
      double next = -1;  // until the next event; -1: none yet
      for (std::size_t q = 0; q < count_; ++q) {
        const std::size_t entered = q == 0 ? tiles.size() : passed[q - 1];
        if (passed[q] == entered) continue;
        const double wait = static_cast<double>(ready[q]) - now;
        if (wait > 0) {
          if (next < 0 || wait < next) next = wait;
          continue;
        }
        if (left[q] <= 0) left[q] = static_cast<double>(times(tiles[passed[q]], true)[q]), began[q] = now;
        works[q] = true, ++working;
      }
      for (std::size_t q = 0; q < count_; ++q) {
        if (!works[q]) continue;
        const double end = left[q] * (working > 1 ? slow[q] : 1);
        if (next < 0 || end < next) next = end;
      }
      for (std::size_t q = 0; q < count_; ++q) {
        if (!works[q]) continue;
        const double whole = left[q] * (working > 1 ? slow[q] : 1);
        if (whole <= next) {
          sink(passed[q], q, static_cast<ticks>(began[q] + 0.5), static_cast<ticks>(now + next + 0.5));
          left[q] = 0, ++passed[q];
        } else {
          left[q] -= next / (working > 1 ? slow[q] : 1);
        }
      }
      now += next;
    }
    return static_cast<ticks>(now + 0.5);
  }

  const Phases* phases_;
  std::size_t count_;
  std::int64_t bad_rows_ = 0;
  std::int64_t too_long_us_ = 0;
  bool reversed_;
  contention slowdown_;
};

}  // namespace detail

/// The time of the operator without cutting: one phase after the other, from its ready time on.
/// Errors: as `check`; errc::bad_cost for a time that is negative or not finite, errc::limit_exceeded above 37 minutes.
/// O(phases).
template <class Phases>
[[nodiscard]] constexpr result<picoseconds> serial_time(const problem<Phases>& p) noexcept {
  if (auto sound = check(p); !sound) return sound.error();
  detail::clock clock(p);
  const ticks t = clock.uncut(p.axis.rows);
  if (clock.failed()) return clock.error();
  return picoseconds(t);
}

/// The time that any tiles take, in execution order: a tile enters a phase when it has left the one before and the
/// phase has finished the tile before. One tile is the plain sum; from two on, each time is multiplied by its overlap
/// factor. The tiles need not respect alignment, least tile or most tiles: measured or foreign tilings can be timed
/// too. Errors: as `serial_time`; errc::invalid_argument for a tile below 1 row or lengths that do not add up to the
/// rows. Complexity: O(tiles * phases) evaluations, no allocation.
///
///     constexpr std::int64_t tiles[] = {512, 896, 896, 896, 896};
///     auto t = hocket::tiling::makespan(p, tiles);
template <class Phases>
[[nodiscard]] constexpr result<picoseconds> makespan(const problem<Phases>& p,
                                                     std::span<const std::int64_t> tiles) noexcept {
  if (auto sound = check(p); !sound) return sound.error();
  std::int64_t rest = p.axis.rows;
  for (const std::int64_t rows : tiles) {
    if (rows < 1 || rows > rest) return error{errc::invalid_argument, rows}.with("tile length");
    rest -= rows;
  }
  if (rest != 0) return error{errc::invalid_argument, rest}.with("rows left over by the tiles");
  if (tiles.size() > std::size_t{1} << 11)  // the sum could leave 64 bits
    return error{errc::too_many_tiles, static_cast<std::int64_t>(tiles.size()), 1 << 11};
  detail::clock clock(p);
  const ticks t = clock.makespan(tiles);
  if (clock.failed()) return clock.error();
  return picoseconds(t);
}

}  // namespace hocket::inline HOCKET_ABI::tiling
