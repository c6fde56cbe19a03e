// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/formula/evaluate.hpp>

#include <cstdint>
#include <string_view>

namespace hocket::inline HOCKET_ABI::cost {

/// A value and how fast it changes with one symbol.
struct slope {
  double value = 0;
  double derivative = 0;
  bool kink = false;  ///< min, max or a rounded quotient is exactly at its corner: the derivative is the one-sided one
};

namespace detail {
// Forward-mode dual numbers: the formula itself is evaluated, over pairs (value, d value / d symbol).
struct dual {
  double value = 0, change = 0;
  bool kink = false;
};
constexpr dual operator+(const dual& a, const dual& b) noexcept {
  return {a.value + b.value, a.change + b.change, a.kink || b.kink};
}
constexpr dual operator-(const dual& a, const dual& b) noexcept {
  return {a.value - b.value, a.change - b.change, a.kink || b.kink};
}
constexpr dual operator*(const dual& a, const dual& b) noexcept {
  return {a.value * b.value, a.change * b.value + a.value * b.change, a.kink || b.kink};
}
constexpr dual operator/(const dual& a, const dual& b) noexcept {
  return {a.value / b.value, (a.change * b.value - a.value * b.change) / (b.value * b.value), a.kink || b.kink};
}
constexpr bool operator<(const dual& a, const dual& b) noexcept { return a.value < b.value; }
constexpr dual divided_up(const dual& a, const dual& b) noexcept {
  const double up = divided_up(a.value, b.value);
  return {up, 0, a.kink || b.kink || up == a.value / b.value};
}
// At a corner both sides are equal; it is a kink only if their slopes differ.
constexpr dual pick(const dual& chosen, const dual& other) noexcept {
  const bool corner = chosen.value == other.value && chosen.change != other.change;
  return {chosen.value, chosen.change, chosen.kink || corner};
}
struct slope_leaves {
  using number_type = dual;
  numbers_view numbers;
  std::string_view by;  ///< literal
  [[nodiscard]] constexpr dual literal(std::int64_t n) const noexcept { return {static_cast<double>(n), 0, false}; }
  [[nodiscard]] constexpr dual symbol(formula_view e) const noexcept {
    return {real_leaves{numbers}.symbol(e), e.key() == by ? 1.0 : 0.0, false};
  }
  [[nodiscard]] constexpr dual undefined() const noexcept { return {real_leaves{numbers}.undefined(), 0, false}; }
};
}  // namespace detail

/// The partial derivative of a formula with respect to one of its symbols, at the given numbers.
/// Answers "what does one more micro-batch cost" without a second formula. Complexity: that of the value, twice.
/// Preconditions: `by` is a symbol; the configs have a member for every symbol.
///
///     partial(2 * FLOP * b * s * h * V, s, numbers).derivative      // 2 b h V
[[nodiscard]] constexpr slope partial(formula_view e, formula_view by, const numbers_view& numbers) noexcept {
  HOCKET_ASSERT(by.what() == formula_kind::symbol);
  const detail::dual d = detail::eval(e, detail::slope_leaves{numbers, by.key()});
  return {d.value, d.change, d.kink};
}

}  // namespace hocket::inline HOCKET_ABI::cost
