// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/core/int128.hpp>
#include <hocket/tiling/detail/candidates.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>

namespace hocket::inline HOCKET_ABI::tiling::detail {

/// fixed + slope * rows, in ticks.
struct tangent {
  double fixed = 0, slope = 0;
};

/// The largest convex function below a set of points, given in ascending order of x; Andrew's monotone chain, in whole
/// numbers, so that the bound is the same on every machine. Preconditions: 0 <= x <= max_rows, |y| <= max_tile_time.
class lower_hull {
 public:
  constexpr void add(std::int64_t x, ticks y) noexcept {
    if (count_ > 0 && x_[count_ - 1] == x) {
      if (y >= y_[count_ - 1]) return;
      --count_;
    }
    while (count_ >= 2 && int128{y_[count_ - 1] - y_[count_ - 2]} * (x - x_[count_ - 1]) >=
                              int128{y - y_[count_ - 1]} * (x_[count_ - 1] - x_[count_ - 2]))
      --count_;
    x_[count_] = x;
    y_[count_] = y;
    ++count_;
  }
  /// The least whole number that is not below k times the value at sum / k; beyond the ends, the value at the end.
  [[nodiscard]] constexpr ticks times_at_mean(std::int64_t k, std::int64_t sum) const noexcept {
    if (sum <= k * x_[0]) return k * y_[0];
    if (sum >= k * x_[count_ - 1]) return k * y_[count_ - 1];
    const std::size_t i = edge_at_mean(k, sum);
    const std::int64_t run = x_[i] - x_[i - 1];
    const int128 rise = int128{y_[i] - y_[i - 1]} * (sum - k * x_[i - 1]);
    const int128 whole = rise / run;
    return k * y_[i - 1] + static_cast<ticks>(whole + (rise > whole * run ? 1 : 0));
  }

  /// The line through the edge at sum / k, which is nowhere above the function; level where there is but one point.
  [[nodiscard]] constexpr tangent tangent_at_mean(std::int64_t k, std::int64_t sum) const noexcept {
    if (count_ < 2) return {static_cast<double>(y_[0]), 0};
    const std::size_t i = edge_at_mean(k, sum);
    const double slope = static_cast<double>(y_[i] - y_[i - 1]) / static_cast<double>(x_[i] - x_[i - 1]);
    return {static_cast<double>(y_[i]) - slope * static_cast<double>(x_[i]), slope};
  }

 private:
  /// The right end of the edge at sum / k; the first or the last edge for what lies beyond them.
  [[nodiscard]] constexpr std::size_t edge_at_mean(std::int64_t k, std::int64_t sum) const noexcept {
    std::size_t low = 0, high = count_ - 1;
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      (k * x_[middle] < sum ? low : high) = middle;
    }
    return high;
  }

  static constexpr std::size_t capacity = 260;  // two points of each block of lengths
  std::array<std::int64_t, capacity> x_;        // set up to count_
  std::array<ticks, capacity> y_;
  std::size_t count_ = 0;
};

/// Above so many units no bound is computed: it reads every possible tile length once.
inline constexpr std::int64_t bound_units = std::int64_t{1} << 20;

/// f(rows, times) for every length that a tile of several may have, ascending; times are the least that it can take.
template <class Phases, class F>
constexpr void for_each_length(const grid& axis, clock<Phases>& timer, std::int64_t first, std::int64_t last, F&& f) {
  for (std::int64_t u = first; u <= last; ++u) {
    for (const bool ragged : {true, false}) {
      const std::int64_t rows = axis.length(u, ragged);
      if ((ragged && axis.shortage == 0) || rows < axis.least || rows > axis.rows) continue;
      f(rows, timer.least_times(rows));
    }
  }
}

/// What all tile lengths together say about the phases: each phase's convex envelope, and the least time of a tile in
/// the phases before and behind it.
template <class Phases>
struct length_facts {
  using row = tick_row<Phases>;
  static constexpr ticks unset = max_tile_time.count() * static_cast<ticks>(max_phases);
  std::array<lower_hull, std::tuple_size_v<row>> hull;
  row before{}, behind{};

  /// Reads every length once. Where they are many, a block of them shares two points of the hull, which has a fixed
  /// capacity: its ends, both at the least time within it.
  constexpr void read(const grid& axis, clock<Phases>& timer) noexcept {
    constexpr std::int64_t blocks = 128;
    const std::int64_t block = ceil_div(axis.units, blocks);
    const std::size_t phases = timer.phases();
    const row ready = timer.start();
    before.fill(unset);
    behind.fill(unset);
    for (std::int64_t low = 1; low < axis.units; low += block) {
      const std::int64_t high = low + block - 1 < axis.units ? low + block - 1 : axis.units;
      row least{};
      least.fill(unset);
      std::int64_t shortest = 0, longest = 0;
      for_each_length(axis, timer, low, high, [&](std::int64_t rows, const row& t) {
        if (shortest == 0) shortest = rows;
        longest = rows;
        ticks head = 0, tail = 0;
        for (std::size_t p = 0; p < phases; ++p) {
          head = larger(head, ready[p]);
          before[p] = lesser(before[p], head);
          head += t[p];
          const std::size_t q = phases - 1 - p;
          behind[q] = lesser(behind[q], tail);
          tail += t[q];
          least[p] = lesser(least[p], t[p]);
          if (block == 1) hull[p].add(rows, t[p]);
        }
      });
      for (std::size_t p = 0; p < phases && shortest != 0 && block > 1; ++p) {
        hull[p].add(shortest, least[p]);
        hull[p].add(longest, least[p]);
      }
    }
  }
  /// Some length is allowed beside the whole axis.
  [[nodiscard]] constexpr bool any() const noexcept { return before[0] != unset; }
};

/// What k tiles take at least in two phases whose costs are nowhere below two lines, for one k after the other.
/// The makespan is the longest of k paths: path j computes tiles 1 to j and then communicates tiles j to k. Weigh them
/// with w_j, w_(j+1) = w_j c.slope / t.slope, sum 1. In the weighted sum every tile's length then has the same factor
/// c.slope + t.slope w_1, so the sum depends on the total length alone, and the longest path is at least as long.
class weighted_paths {
 public:
  /// The bound of k tiles; 0 where nothing can be said. O(1) where the ratio of the slopes is that of k - 1, else O(k).
  [[nodiscard]] constexpr ticks bound(const tangent& c, const tangent& t, std::int64_t k, std::int64_t rows) noexcept {
    if (!(c.slope > 0 && t.slope > 0)) return 0;
    weigh(c.slope / t.slope, k);
    constexpr double far = 1e100;  // weights beyond say nothing more
    if (!(sum_ < far)) return 0;
    const double middle = crossing_ / sum_;
    const double bound = (c.slope + t.slope / sum_) * static_cast<double>(rows) + c.fixed * middle +
                         t.fixed * (static_cast<double>(k) + 1 - middle);
    constexpr double rounding = 1e-9;      // far more than these sums can be off
    constexpr double max_makespan = 2e18;  // no makespan is longer
    const double safe = bound * (1 - rounding) - 4;
    return safe > 0 ? static_cast<ticks>(safe < max_makespan ? safe : max_makespan) : 0;
  }

 private:
  constexpr void weigh(double ratio, std::int64_t k) noexcept {
    if (ratio != ratio_ || k < count_) {
      ratio_ = ratio;
      count_ = 1;
      weight_ = sum_ = crossing_ = 1;
    }
    while (count_ < k) {
      ++count_;
      weight_ *= ratio_;
      sum_ += weight_;
      crossing_ += static_cast<double>(count_) * weight_;
    }
  }

  std::int64_t count_ = 0;
  double ratio_ = 0, weight_ = 1, sum_ = 1;
  double crossing_ = 1;  // the weighted sum of the tiles at which paths cross over
};

/// How fast k tiles can be at best, for every k: what a search need not look at, and how far its answer can be from the
/// optimum. With k tiles, phase p is busy for at least k * envelope_p(rows / k), by Jensen's inequality on the convex
/// envelope of its costs. Before it starts, some tile has passed the phases before p; after it ends, some tile has to
/// pass those behind p. Two phases are bounded by weighted paths too. The largest of these bounds k tiles. Costs may be
/// of any form, also falling.
template <class Phases>
class count_bounds {
 public:
  /// Reads the lengths. O(units * phases).
  constexpr count_bounds(const grid& axis, clock<Phases>& timer) noexcept
      : rows_(axis.rows),
        max_tiles_(axis.max_tiles),
        most_(max_tiles_),
        phases_(timer.phases()),
        start_(timer.start()[0]) {
    lower_ = timer.uncut(axis.rows);
    if (most_ == 1) return;
    if (axis.units > bound_units) lower_ = 0;
    else facts_.read(axis, timer);
    is_known_ = axis.units <= bound_units && facts_.any();
  }

  /// Bounds k tiles, given the time of a tiling that is known; false if neither they nor more can be faster. To be
  /// asked for 2, 3, … tiles until it says so. O(phases * log hull points), and O(k) where the lines change.
  constexpr bool look_at(std::int64_t k, ticks known) noexcept {
    if (!is_known_) return true;
    ticks bound = 0;
    bool is_rising = false;
    for (std::size_t p = 0; p < phases_; ++p) {
      const ticks busy = facts_.hull[p].times_at_mean(k, rows_) + facts_.before[p] + facts_.behind[p];
      if (busy < bound) continue;
      bound = busy;
      // Each tile adds at least what the tangent costs at no rows, and shorter tiles have tangents that cost more
      // there.
      const double less = of_more_tiles(line(p, k)).fixed;
      is_rising = busy > known && (less >= 0 || busy + static_cast<ticks>(less) > known);
    }
    if (phases_ == 2 && bound <= known) bound = larger(bound, start_ + paths_.bound(line(0, k), line(1, k), k, rows_));
    of_[static_cast<std::size_t>(k)] = bound;
    lower_ = lesser(lower_, bound);
    if (is_rising) most_ = k - 1;
    return !is_rising;
  }

  /// No tiling of the problem takes less; 0 if the axis has too many units to say.
  [[nodiscard]] constexpr ticks lower() const noexcept { return lower_; }
  /// With more tiles, none is as fast as what was known.
  [[nodiscard]] constexpr std::int64_t most() const noexcept { return most_; }
  /// No k tiles take less; 0 if nothing can be said. Precondition: 2 <= k <= most().
  [[nodiscard]] constexpr ticks of(std::int64_t k) const noexcept {
    return is_known_ ? of_[static_cast<std::size_t>(k)] : 0;
  }
  [[nodiscard]] constexpr bool are_known() const noexcept { return is_known_; }
  /// The same line for any number of tiles together: what one tile costs at no rows counts for all where it takes off.
  [[nodiscard]] constexpr tangent of_more_tiles(const tangent& one) const noexcept {
    return {one.fixed < 0 ? one.fixed * static_cast<double>(max_tiles_) - 1 : one.fixed, one.slope};
  }
  /// A line that is nowhere above the costs of a phase, and touches their envelope at rows / k. Precondition: known.
  [[nodiscard]] constexpr tangent line(std::size_t phase, std::int64_t k) const noexcept {
    return facts_.hull[phase].tangent_at_mean(k, rows_);
  }
  /// The least that some tile takes in the phases before this one, or in those after it. Precondition: known.
  [[nodiscard]] constexpr ticks least_beside(std::size_t phase, bool before) const noexcept {
    return before ? facts_.before[phase] : facts_.behind[phase];
  }

 private:
  length_facts<Phases> facts_;
  weighted_paths paths_;
  std::int64_t rows_, max_tiles_, most_;
  std::size_t phases_;
  ticks start_, lower_ = 0;
  bool is_known_ = false;
  std::array<ticks, tile_capacity + 1> of_;  // set from 2 to most_ where known
};

/// Offers every number of equal tiles that can be better than what is known, and looks at the bounds of as many.
template <class Phases>
constexpr void offer_uniform(const grid& axis, clock<Phases>& timer, count_bounds<Phases>& bounds,
                             incumbent& best) noexcept {
  for (std::int64_t k = 2; k <= axis.max_tiles; ++k) {
    offer_equal(axis, timer, k, best);
    if (!bounds.look_at(k, best.time)) return;
  }
}

}  // namespace hocket::inline HOCKET_ABI::tiling::detail
