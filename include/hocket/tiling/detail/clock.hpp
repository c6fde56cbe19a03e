// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/tiling/problem.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <type_traits>

namespace hocket::inline HOCKET_ABI::tiling::detail {

/// `count` equal tiles in a row.
struct tile_run {
  std::int64_t rows = 0;
  std::int64_t count = 0;
  friend constexpr bool operator==(const tile_run&, const tile_run&) = default;
};

/// A time for each phase, with room for just as many where their number is known while compiling.
template <class Phases>
struct row_of_phases {
  using type = std::array<ticks, max_phases>;
};
template <class... Each>
struct row_of_phases<std::tuple<Each...>> {
  using type = std::array<ticks, sizeof...(Each)>;
};
template <class Phases>
using tick_row = typename row_of_phases<Phases>::type;

struct no_sink {
  constexpr void operator()(std::size_t, std::size_t, ticks, ticks) const noexcept {}
};

/// Times tiles of one problem. Remembers the first bad cost instead of returning it from every call; the caller asks
/// once at the end. A search also lets it remember the times of lengths, of which it asks for few and often.
template <class Phases>
class clock {
 public:
  using row = tick_row<Phases>;

  constexpr explicit clock(const Phases& phases, contention slowdown = contention::fixed) noexcept
      : phases_(&phases), slowdown_(slowdown) {
    for_each_phase(phases, [&](std::size_t i, const auto& each) {
      start_[i] = static_cast<ticks>(each.ready.count() * static_cast<double>(ticks_per_us) + 0.5);
    });
  }
  constexpr explicit clock(const problem<Phases>& p) noexcept : clock(p.phases, p.slowdown) {}

  /// From now on the time of a length is computed once, as long as no other needs its place. Up to 256 units of `align`
  /// rows have places of their own: their odd part times 1, 2, 3, … never meets modulo a power of two. Lengths that are
  /// not whole have a place next to those.
  constexpr void remember(std::int64_t align, std::int64_t units) noexcept {
    shift_ = std::countr_zero(static_cast<std::uint64_t>(align));
    places_ = (std::min)(std::bit_ceil(static_cast<std::uint64_t>(units)), std::uint64_t{capacity});
    for (std::uint64_t i = 0; i < 2 * places_; ++i) known_[i].rows = 0;
  }

  [[nodiscard]] constexpr std::size_t phases() const noexcept { return phase_count(*phases_); }
  [[nodiscard]] constexpr contention slowdown() const noexcept { return slowdown_; }
  [[nodiscard]] constexpr bool failed() const noexcept { return bad_rows_ != 0; }
  [[nodiscard]] constexpr hocket::error error() const noexcept {
    if (too_long_us_ != 0)
      return hocket::error{errc::limit_exceeded, too_long_us_, max_tile_time.count() / ticks_per_us}.with(
          "microseconds of one tile");
    return hocket::error{errc::bad_cost, bad_rows_}.with("phase");
  }

  /// The time of a tile in one phase as ticks; 0 for what is no cost, which is remembered.
  constexpr ticks to_ticks(double us, std::int64_t rows) noexcept {
    constexpr double max_us = static_cast<double>(max_tile_time.count()) / static_cast<double>(ticks_per_us);
    if (!(us >= 0 && us <= max_us)) [[unlikely]] {
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
  constexpr row times(std::int64_t rows, bool cut) noexcept {
    if (places_ == 0 || !cut) return evaluated(rows, cut);
    known_length& place = known_[place_of(static_cast<std::uint64_t>(rows))];
    if (place.rows != rows) {
      place.times = evaluated(rows, true);
      place.rows = rows;
    }
    return place.times;
  }

  /// The least time that a tile of several can take in each phase: under contention by rate, a factor below 1 speeds a
  /// phase up while another works, and one above 1 may never come to bear.
  constexpr row least_times(std::int64_t rows) noexcept {
    row t = times(rows, true);
    if (slowdown_ == contention::fixed) return t;
    for_each_phase(*phases_, [&](std::size_t i, const auto& each) {
      if (each.overlap >= 1) return;
      t[i] = static_cast<ticks>(static_cast<double>(t[i]) * each.overlap);
    });
    return t;
  }

  /// done[p]: when phase p becomes free. One more tile passes through. O(phases).
  constexpr void pass(row& done, const row& t) const noexcept {
    ticks ready = 0;
    for (std::size_t p = 0; p < phases(); ++p) ready = done[p] = (done[p] > ready ? done[p] : ready) + t[p];
  }
  /// `count` equal tiles pass through. The path that ends in phase p enters at some phase q with the first tile, and
  /// all further tiles are passed in the slowest phase between them. O(phases^2).
  constexpr void pass(row& done, const row& t, std::int64_t count) const noexcept {
    row after = done;
    for (std::size_t p = 0; p < phases(); ++p) {
      ticks sum = 0, slowest = 0, latest = 0;
      for (std::size_t q = p + 1; q-- > 0;) {
        sum += t[q];
        slowest = (std::max)(slowest, t[q]);
        latest = (std::max)(latest, done[q] + sum + (count - 1) * slowest);
      }
      after[p] = latest;
    }
    done = after;
  }

  /// When each phase may start.
  [[nodiscard]] constexpr const row& start() const noexcept { return start_; }

  constexpr ticks uncut(std::int64_t rows) noexcept {
    row done = start();
    pass(done, times(rows, false));
    return done[phases() - 1];
  }
  constexpr ticks makespan(std::span<const std::int64_t> tiles) noexcept {
    if (tiles.size() == 1) return uncut(tiles[0]);
    if (slowdown_ == contention::while_both) return contended(tiles);
    row done = start();
    for (const std::int64_t rows : tiles) pass(done, times(rows, true));
    return done[phases() - 1];
  }
  /// sink(tile, phase, start, finish) for every tile in every phase. Throws what the sink throws.
  template <class Sink>
  constexpr void trace(std::span<const std::int64_t> tiles, Sink&& sink) {
    if (tiles.size() > 1 && slowdown_ == contention::while_both) {
      contended(tiles, sink);
      return;
    }
    row done = start();
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      const row t = times(tiles[i], tiles.size() > 1);
      pass(done, t);
      for (std::size_t q = 0; q < phases(); ++q) sink(i, q, done[q] - t[q], done[q]);
    }
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
    row done = start();
    for (const tile_run& r : runs) {
      if (r.count == 0) continue;
      const row t = times(r.rows, true);
      pass(done, t, r.count);
    }
    return done[phases() - 1];
  }

 private:
  static constexpr std::size_t capacity = 256;
  struct known_length {
    std::int64_t rows;  ///< 0: none yet
    row times;
  };

  [[nodiscard]] constexpr std::uint64_t place_of(std::uint64_t rows) const noexcept {
    const std::uint64_t whole = rows >> shift_;
    return 2 * (whole & (places_ - 1)) + (whole << shift_ == rows ? 0 : 1);
  }
  constexpr row evaluated(std::int64_t rows, bool cut) noexcept {
    row t{};
    for_each_phase(*phases_, [&](std::size_t i, const auto& each) {
      double us = static_cast<double>(each.cost.time(static_cast<double>(rows)));
      if (cut && slowdown_ == contention::fixed) us *= each.overlap;
      t[i] = to_ticks(us, rows);
    });
    return t;
  }

  /// Contention by rate: from event to event, a phase that works beside another works at 1 / overlap of its speed.
  /// O(tiles * phases^2). Throws what the sink throws.
  template <class Sink = no_sink>
  constexpr ticks contended(std::span<const std::int64_t> tiles,
                            Sink&& sink = {}) noexcept(std::is_same_v<Sink, no_sink>) {
    struct phase_state {
      double slow = 1;         // factor on its times while another phase works
      double ready = 0;        // before which it cannot start
      double left = 0;         // of the tile at work, in ticks when alone; 0: none is at work
      double began = 0;        // the tile at work
      std::size_t passed = 0;  // tiles that have left the phase
      bool works = false;
    };
    std::array<phase_state, max_phases> states{};
    const std::span<phase_state> all(states.data(), phases());
    const row ready = start();
    for_each_phase(*phases_, [&](std::size_t i, const auto& each) {
      states[i].slow = each.overlap;
      states[i].ready = static_cast<double>(ready[i]);
    });
    double now = 0;
    while (all.back().passed < tiles.size()) {
      std::size_t working = 0;
      double next = std::numeric_limits<double>::infinity();  // until the next event
      for (std::size_t q = 0; q < phases(); ++q) {
        phase_state& s = all[q];
        const std::size_t entered = q == 0 ? tiles.size() : all[q - 1].passed;
        s.works = s.passed < entered && s.ready <= now;
        if (s.passed < entered && !s.works && s.ready - now < next) next = s.ready - now;
        if (!s.works) continue;
        if (s.left <= 0) s.began = now;
        if (s.left <= 0) s.left = static_cast<double>(times(tiles[s.passed], true)[q]);
        ++working;
      }
      const auto whole = [&](const phase_state& s) { return s.left * (working > 1 ? s.slow : 1); };
      for (const phase_state& s : all)
        if (s.works && whole(s) < next) next = whole(s);
      for (std::size_t q = 0; q < phases(); ++q) {
        phase_state& s = all[q];
        if (!s.works) continue;
        if (whole(s) > next) {
          s.left -= next / (working > 1 ? s.slow : 1);
          continue;
        }
        sink(s.passed, q, rounded(s.began), rounded(now + next));
        s.left = 0;
        ++s.passed;
      }
      now += next;
    }
    return rounded(now);
  }

  /// A time of contention as ticks: large factors may lead beyond what 64 bits hold, which is remembered.
  constexpr ticks rounded(double t) noexcept {
    constexpr ticks max_ticks = ticks{1} << 61;
    if (t < static_cast<double>(max_ticks)) return static_cast<ticks>(t + 0.5);
    if (!failed()) too_long_us_ = max_ticks / ticks_per_us;
    bad_rows_ = 1;
    return max_ticks;
  }

  const Phases* phases_;
  std::int64_t bad_rows_ = 0;
  std::int64_t too_long_us_ = 0;
  contention slowdown_;
  row start_{};
  int shift_ = 0;
  std::uint64_t places_ = 0;                      // 0: nothing is remembered
  std::array<known_length, 2 * capacity> known_;  // unset until `remember`
};

}  // namespace hocket::inline HOCKET_ABI::tiling::detail
