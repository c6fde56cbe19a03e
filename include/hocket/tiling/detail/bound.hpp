// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/core/int128.hpp>
#include <hocket/tiling/detail/candidates.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

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
    while (count_ >= 2 && int128{y_[count_ - 1] - y_[count_ - 2]} * (x - x_[count_ - 2]) >=
                              int128{y - y_[count_ - 2]} * (x_[count_ - 1] - x_[count_ - 2]))
      --count_;
    x_[count_] = x;
    y_[count_] = y;
    ++count_;
  }
  /// The least whole number that is not below k times the value at sum / k; beyond the ends, the value at the end.
  [[nodiscard]] constexpr ticks times_at_mean(std::int64_t k, std::int64_t sum) const noexcept {
    if (sum <= k * x_[0]) return k * y_[0];
    if (sum >= k * x_[count_ - 1]) return k * y_[count_ - 1];
    std::size_t i = 1;
    while (k * x_[i] < sum) ++i;
    const std::int64_t run = x_[i] - x_[i - 1];
    const int128 rise = int128{y_[i] - y_[i - 1]} * (sum - k * x_[i - 1]);
    const int128 whole = rise / run;
    return k * y_[i - 1] + static_cast<ticks>(whole + (rise > whole * run ? 1 : 0));
  }

  /// The line through the edge at sum / k, which is nowhere above the function; level where there is but one point.
  [[nodiscard]] constexpr tangent tangent_at_mean(std::int64_t k, std::int64_t sum) const noexcept {
    if (count_ < 2) return {static_cast<double>(y_[0]), 0};
    std::size_t i = 1;
    while (i + 1 < count_ && k * x_[i] < sum) ++i;
    const double slope = static_cast<double>(y_[i] - y_[i - 1]) / static_cast<double>(x_[i] - x_[i - 1]);
    return {static_cast<double>(y_[i]) - slope * static_cast<double>(x_[i]), slope};
  }

 private:
  static constexpr std::size_t capacity = 260;  // two points of each block of lengths
  std::array<std::int64_t, capacity> x_{};
  std::array<ticks, capacity> y_{};
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
struct length_facts {
  static constexpr ticks unset = max_tile_time.count() * static_cast<ticks>(max_phases);
  std::array<lower_hull, max_phases> hull{};
  tick_row before{}, behind{};

  /// Reads every length once. Where they are many, a block of them shares two points of the hull, which has a fixed
  /// capacity: its ends, both at the least time within it.
  template <class Phases>
  constexpr length_facts(const grid& axis, clock<Phases>& timer) noexcept {
    constexpr std::int64_t blocks = 128;
    const std::int64_t block = ceil_div(axis.units, blocks);
    const std::size_t phases = timer.phases();
    const tick_row ready = timer.start();
    before.fill(unset);
    behind.fill(unset);
    for (std::int64_t low = 1; low < axis.units; low += block) {
      const std::int64_t high = low + block - 1 < axis.units ? low + block - 1 : axis.units;
      tick_row least{};
      least.fill(unset);
      std::int64_t shortest = 0, longest = 0;
      for_each_length(axis, timer, low, high, [&](std::int64_t rows, const tick_row& t) {
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

/// What k tiles take at least in two phases whose costs are nowhere below c and t; 0 where nothing can be said.
/// The makespan is the longest of k paths: path j computes tiles 1 to j and then communicates tiles j to k. Weigh them
/// with w_j, w_(j+1) = w_j c.slope / t.slope, sum 1. In the weighted sum every tile's length then has the same factor
/// c.slope + t.slope w_1, so the sum depends on the total length alone, and the longest path is at least as long. O(k).
[[nodiscard]] constexpr ticks weighted_paths(const tangent& c, const tangent& t, std::int64_t k,
                                             std::int64_t rows) noexcept {
  if (!(c.slope > 0 && t.slope > 0)) return 0;
  const double ratio = c.slope / t.slope;
  double weight = 1, sum = 1, crossing = 1;  // crossing: the weighted sum of the tiles at which paths cross over
  for (std::int64_t j = 2; j <= k; ++j) {
    weight *= ratio;
    sum += weight;
    crossing += static_cast<double>(j) * weight;
  }
  constexpr double far = 1e100;  // weights beyond say nothing more
  if (!(sum < far)) return 0;
  const double middle = crossing / sum;
  const double bound = (c.slope + t.slope / sum) * static_cast<double>(rows) + c.fixed * middle +
                       t.fixed * (static_cast<double>(k) + 1 - middle);
  constexpr double rounding = 1e-9;      // far more than these sums can be off
  constexpr double max_makespan = 2e18;  // no makespan is longer
  const double safe = bound * (1 - rounding) - 4;
  return safe > 0 ? static_cast<ticks>(safe < max_makespan ? safe : max_makespan) : 0;
}

/// A time that no tiling of the problem undercuts, 0 if the axis has too many units.
/// With k tiles, phase p is busy for at least k * envelope_p(rows / k), by Jensen's inequality on the convex envelope
/// of its costs. Before it starts, some tile has passed the phases before p; after it ends, some tile has to pass those
/// behind p. Two phases are bounded by weighted paths too. The bound is the least over k of the largest of these;
/// k = 1 is the serial time itself. Costs may be of any form, also falling.
/// O(units * phases + max_tiles * phases * hull points).
template <class Phases>
constexpr ticks lower_bound(const grid& axis, clock<Phases>& timer) noexcept {
  const ticks serial = timer.uncut(axis.rows);
  if (axis.max_tiles == 1) return serial;
  if (axis.units > bound_units) return 0;
  const length_facts facts(axis, timer);
  if (!facts.any()) return serial;
  ticks bound = serial;
  for (std::int64_t k = 2; k <= axis.max_tiles; ++k) {
    ticks of_k = 0;
    if (timer.phases() == 2)
      of_k = timer.start()[0] + weighted_paths(facts.hull[0].tangent_at_mean(k, axis.rows),
                                               facts.hull[1].tangent_at_mean(k, axis.rows), k, axis.rows);
    for (std::size_t p = 0; p < timer.phases(); ++p)
      of_k = larger(of_k, facts.hull[p].times_at_mean(k, axis.rows) + facts.before[p] + facts.behind[p]);
    bound = lesser(bound, of_k);
  }
  return bound;
}

}  // namespace hocket::inline HOCKET_ABI::tiling::detail
