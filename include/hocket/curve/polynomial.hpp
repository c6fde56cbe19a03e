// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <array>
#include <cstddef>

namespace hocket::inline HOCKET_ABI::curve {

/// c[0] + c[1] x + … of degree below Size; just enough of it to judge a fitted curve, in constant expressions.
template <std::size_t Size>
struct polynomial {
  static_assert(Size >= 1);
  std::array<double, Size> c{};

  /// By Horner's rule: Size - 1 multiplications and additions.
  [[nodiscard]] constexpr double operator()(double x) const noexcept {
    double y = c[Size - 1];
    for (std::size_t i = Size - 1; i-- > 0;) y = y * x + c[i];
    return y;
  }
  [[nodiscard]] constexpr polynomial derivative() const noexcept {
    polynomial d;
    for (std::size_t i = 1; i < Size; ++i) d.c[i - 1] = c[i] * static_cast<double>(i);
    return d;
  }
  [[nodiscard]] constexpr std::size_t degree() const noexcept {
    std::size_t d = Size - 1;
    while (d > 0 && c[d] == 0) --d;
    return d;
  }
  /// A size beyond which the polynomial has no root and keeps its sign (Cauchy's bound). O(Size).
  [[nodiscard]] constexpr double root_bound() const noexcept {
    const std::size_t d = degree();
    double most = 0;
    for (std::size_t i = 0; i < d; ++i) {
      const double ratio = c[i] / c[d] < 0 ? -(c[i] / c[d]) : c[i] / c[d];
      if (ratio > most) most = ratio;
    }
    return 1 + most;
  }

  /// The points of [low, high] that cut it into stretches on which the polynomial is monotone: low, the turning points
  /// in ascending order, high. Writes at most Size + 1 numbers and returns how many. Precondition: low, high finite.
  constexpr std::size_t monotone_stretches(double low, double high, std::array<double, Size + 1>& out) const noexcept {
    std::size_t count = 0;
    out[count++] = low;
    if (degree() >= 2) {
      const polynomial slope = derivative();
      std::array<double, Size + 1> cuts{};
      const std::size_t n = slope.monotone_stretches(low, high, cuts);
      for (std::size_t i = 0; i + 1 < n; ++i) {
        const double a = slope(cuts[i]), b = slope(cuts[i + 1]);
        if ((a < 0 && b > 0) || (a > 0 && b < 0)) out[count++] = slope.root(cuts[i], cuts[i + 1]);
      }
    }
    out[count++] = high;
    return count;
  }

  /// The point of [low, high] where the polynomial passes 0, by bisection down to neighbouring numbers.
  /// Precondition: monotone there, with values of different signs at the ends.
  [[nodiscard]] constexpr double root(double low, double high) const noexcept {
    const bool is_rising = (*this)(low) < 0;
    for (;;) {
      const double middle = low + (high - low) / 2;
      if (!(middle > low && middle < high)) return low;
      if (((*this)(middle) < 0) == is_rising) low = middle;
      else high = middle;
    }
  }
};

}  // namespace hocket::inline HOCKET_ABI::curve
