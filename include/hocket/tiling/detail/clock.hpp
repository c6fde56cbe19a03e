// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/tiling/problem.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

namespace hocket::inline HOCKET_ABI::tiling::detail {

/// `count` equal tiles in a row.
struct tile_run {
  std::int64_t rows = 0;
  std::int64_t count = 0;
  friend constexpr bool operator==(const tile_run&, const tile_run&) = default;
};

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
  /// sink(tile, phase, start, finish) for every tile in every phase. Throws what the sink throws.
  template <class Sink>
  constexpr void trace(std::span<const std::int64_t> tiles, Sink&& sink) {
    if (tiles.size() > 1 && slowdown_ == contention::while_both) {
      contended(tiles, sink);
      return;
    }
    tick_row done = start();
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      const tick_row t = times(tiles[i], tiles.size() > 1);
      pass(done, t);
      for (std::size_t q = 0; q < count_; ++q) sink(i, q, done[q] - t[q], done[q]);
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
    tick_row done = start();
    for (const tile_run& r : runs) {
      if (r.count == 0) continue;
      const tick_row t = times(r.rows, true);
      for (std::int64_t i = 0; i < r.count; ++i) pass(done, t);
    }
    return done[count_ - 1];
  }

 private:
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
    const std::span<phase_state> all(states.data(), count_);
    const tick_row ready = start();
    for_each_phase(*phases_, [&](std::size_t i, const auto& each) {
      states[i].slow = each.overlap;
      states[i].ready = static_cast<double>(ready[i]);
    });
    double now = 0;
    while (all.back().passed < tiles.size()) {
      std::size_t working = 0;
      double next = std::numeric_limits<double>::infinity();  // until the next event
      for (std::size_t q = 0; q < count_; ++q) {
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
      for (std::size_t q = 0; q < count_; ++q) {
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
  std::size_t count_;
  std::int64_t bad_rows_ = 0;
  std::int64_t too_long_us_ = 0;
  bool reversed_;
  contention slowdown_;
};

}  // namespace hocket::inline HOCKET_ABI::tiling::detail
