// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/cost/formula/evaluate.hpp>

namespace hocket::inline HOCKET_ABI::cost {

/// A value and how fast it changes with one symbol.
struct slope {
  double value = 0;
  double derivative = 0;
  bool kink = false;  ///< min, max or a rounded quotient is exactly at its corner: the derivative is the one-sided one
};

namespace detail {
// Forward-mode dual numbers: the formula itself is evaluated, over pairs (value, d value / d Key).
template <class Key>
struct dual {
  double value = 0, change = 0;
  bool kink = false;
};
template <class Key>
constexpr dual<Key> operator+(const dual<Key>& a, const dual<Key>& b) noexcept {
  return {a.value + b.value, a.change + b.change, a.kink || b.kink};
}
template <class Key>
constexpr dual<Key> operator-(const dual<Key>& a, const dual<Key>& b) noexcept {
  return {a.value - b.value, a.change - b.change, a.kink || b.kink};
}
template <class Key>
constexpr dual<Key> operator*(const dual<Key>& a, const dual<Key>& b) noexcept {
  return {a.value * b.value, a.change * b.value + a.value * b.change, a.kink || b.kink};
}
template <class Key>
constexpr dual<Key> operator/(const dual<Key>& a, const dual<Key>& b) noexcept {
  return {a.value / b.value, (a.change * b.value - a.value * b.change) / (b.value * b.value), a.kink || b.kink};
}
template <class Key>
constexpr dual<Key> divided_up(const dual<Key>& a, const dual<Key>& b) noexcept {
  const double q = a.value / b.value, up = divided_up(a.value, b.value);
  return {up, 0, a.kink || b.kink || up == q};
}
template <class Key>
constexpr bool operator<(const dual<Key>& a, const dual<Key>& b) noexcept {
  return a.value < b.value;
}
template <class Key>
struct make_number<dual<Key>> {
  static constexpr dual<Key> from_literal(std::int64_t n) noexcept { return {static_cast<double>(n), 0, false}; }
  template <class Found, class T>
  static constexpr dual<Key> from_symbol(T value) noexcept {
    return {static_cast<double>(value), std::is_same_v<Found, Key> ? 1.0 : 0.0, false};
  }
  static constexpr dual<Key> undefined() noexcept { return from_literal(0) / from_literal(0); }
};
// At a corner both sides are equal; it is a kink only if their slopes differ.
template <class Key>
constexpr dual<Key> pick(const dual<Key>& chosen, const dual<Key>& other) noexcept {
  const bool corner = chosen.value == other.value && chosen.change != other.change;
  return {chosen.value, chosen.change, chosen.kink || corner};
}
}  // namespace detail

/// The partial derivative of a formula with respect to one of its symbols, at the given numbers.
/// Answers "what does one more micro-batch cost" without a second formula. Complexity: that of the value, twice.
///
///     partial(2 * FLOP * b * s * h * V, s, numbers).derivative      // 2 b h V
template <formula E, class Letter, class U, class... Configs>
[[nodiscard]] constexpr slope partial(const E& e, symbol<Letter, U>, const environment<Configs...>& numbers) noexcept {
  const auto d = detail::eval<detail::dual<typename Letter::key>>(e, numbers);
  return {d.value, d.change, d.kink};
}

}  // namespace hocket::inline HOCKET_ABI::cost
