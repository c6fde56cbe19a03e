// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/tiling/detail/candidates.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace hocket::inline HOCKET_ABI::tiling::detail {

__extension__ using wide = __int128;  // products of times and lengths; -Wpedantic wants the mark

/// The largest convex function below a set of points, given in ascending order of x; Andrew's monotone chain, in whole
/// numbers, so that the bound is the same on every machine. Preconditions: 0 <= x <= max_rows, |y| <= longest_tile.
class lower_hull {
 public:
  constexpr void add(std::int64_t x, ticks y) noexcept {
    if (count_ > 0 && x_[count_ - 1] == x) {
      if (y >= y_[count_ - 1]) return;
      --count_;
    }
    while (count_ >= 2 && wide{y_[count_ - 1] - y_[count_ - 2]} * (x - x_[count_ - 2]) >=
                              wide{y - y_[count_ - 2]} * (x_[count_ - 1] - x_[count_ - 2]))
      --count_;
    x_[count_] = x, y_[count_] = y, ++count_;
  }
  /// The least whole number that is not below k times the value at sum / k; beyond the ends, the value at the end.
  [[nodiscard]] constexpr ticks times_at_mean(std::int64_t k, std::int64_t sum) const noexcept {
    if (sum <= k * x_[0]) return k * y_[0];
    if (sum >= k * x_[count_ - 1]) return k * y_[count_ - 1];
    std::size_t i = 1;
    while (k * x_[i] < sum) ++i;
    const std::int64_t run = x_[i] - x_[i - 1];
    const wide rise = wide{y_[i] - y_[i - 1]} * (sum - k * x_[i - 1]);
    const wide whole = rise / run;
    return k * y_[i - 1] + static_cast<ticks>(whole + (rise > whole * run ? 1 : 0));
  }

 private:
  static constexpr std::size_t capacity = 260;
  std::array<std::int64_t, capacity> x_{};
  std::array<ticks, capacity> y_{};
  std::size_t count_ = 0;
};

/// Above so many units no bound is computed: it reads every possible tile length once.
inline constexpr std::int64_t bound_units = std::int64_t{1} << 16;

/// A time that no tiling of the problem undercuts, 0 if the axis has too many units.
/// With k tiles, phase p is busy for at least k * envelope_p(rows / k), by Jensen's inequality on the convex envelope
/// of its costs; before it starts, some tile has passed the phases before p, and after it ends some tile has to pass
/// those after p. The bound is the least over k of the largest over p; k = 1 is the serial time itself. Costs may be of
/// any form, also falling. O(units * phases + max_tiles * phases * hull points).
template <class Phases>
constexpr ticks lower_bound(const grid& axis, clock<Phases>& timer) noexcept {
  const ticks serial = timer.uncut(axis.rows);
  if (axis.max_tiles == 1) return serial;
  if (axis.units > bound_units) return 0;
  constexpr std::int64_t blocks = 128;
  const std::int64_t block = ceil_div(axis.units, blocks);
  const std::size_t phases = timer.phases();
  std::array<lower_hull, max_phases> hull{};
  constexpr ticks unset = longest_tile.count() * static_cast<ticks>(max_phases);
  tick_row before{}, after{};  // the least time of one tile in all phases before p, after p
  before.fill(unset), after.fill(unset);
  const tick_row ready = timer.start();
  // Many lengths share two points of the hull: the ends of their block at the least time within it.
  for (std::int64_t low = 1; low < axis.units; low += block) {
    const std::int64_t high = low + block - 1 < axis.units ? low + block - 1 : axis.units;
    tick_row least{};
    least.fill(unset);
    std::int64_t shortest = 0, longest = 0;
    for (std::int64_t u = low; u <= high; ++u) {
      for (const bool ragged : {true, false}) {
        const std::int64_t rows = axis.length(u, ragged);
        if ((ragged && axis.shortage == 0) || rows < axis.least || rows > axis.rows) continue;
        const tick_row t = timer.least_times(rows);
        if (shortest == 0) shortest = rows;
        longest = rows;
        ticks head = 0, tail = 0;
        for (std::size_t p = 0; p < phases; ++p) {
          if (head < ready[p]) head = ready[p];
          if (head < before[p]) before[p] = head;
          head += t[p];
          const std::size_t q = phases - 1 - p;
          if (tail < after[q]) after[q] = tail;
          tail += t[q];
          if (t[p] < least[p]) least[p] = t[p];
        }
      }
    }
    if (shortest == 0) continue;
    for (std::size_t p = 0; p < phases; ++p) {
      hull[p].add(shortest, least[p]);
      hull[p].add(longest, least[p]);
    }
  }
  if (before[0] == unset) return serial;  // nothing shorter than the axis is allowed
  ticks bound = serial;
  for (std::int64_t k = 2; k <= axis.max_tiles; ++k) {
    ticks of_k = 0;
    for (std::size_t p = 0; p < phases; ++p) {
      const ticks t = hull[p].times_at_mean(k, axis.rows) + before[p] + after[p];
      if (t > of_k) of_k = t;
    }
    if (of_k < bound) bound = of_k;
  }
  return bound;
}

}  // namespace hocket::inline HOCKET_ABI::tiling::detail
