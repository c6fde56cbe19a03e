// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/int128.hpp>
#include <hocket/core/result.hpp>

#include <cstdint>
#include <limits>
#include <string>

namespace hocket::inline HOCKET_ABI::cost {

/// A 128-bit integer: the FLOPs of one training step of a large model do not fit 64 bits.
using integer = int128;

/// The digits of `n`, with a leading '-' if negative.
///
///     to_string(hocket::cost::integer{1} << 70) == "1180591620717411303424"
[[nodiscard]] inline std::string to_string(integer n) {
  std::string digits;
  integer rest = n;  // stays negative if it is: the least number has no counterpart
  do {
    const int digit = static_cast<int>(rest % 10);
    digits.insert(digits.begin(), static_cast<char>('0' + (digit < 0 ? -digit : digit)));
    rest /= 10;
  } while (rest != 0);
  if (n < 0) digits.insert(digits.begin(), '-');
  return digits;
}

namespace detail {
inline constexpr integer max_integer = ((integer{1} << 126) - 1) + (integer{1} << 126);
constexpr integer magnitude(integer n) noexcept { return n < 0 ? -n : n; }
// Not __builtin_mul_overflow: for 128 bits clang calls a function of its own runtime library that may not be linked.
constexpr bool multiply(integer a, integer b, integer& out) noexcept {
  constexpr integer half = integer{1} << 62;
  if (magnitude(a) >= half || magnitude(b) >= half) {
    if (a != 0 && magnitude(b) > max_integer / magnitude(a)) return false;
  }
  out = a * b;
  return true;
}
constexpr bool add(integer a, integer b, integer& out) noexcept {
  if (b > 0 ? a > max_integer - b : a < -max_integer - b) return false;
  out = a + b;
  return true;
}
// Precondition: b >= 0.
constexpr integer gcd(integer a, integer b) noexcept {
  a = magnitude(a);
  while (b != 0) {
    const integer rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}
}  // namespace detail

/// An exact fraction of two 128-bit integers, in lowest terms. An operation that overflows or divides by zero gives a
/// number that is not `ok()`, and so does everything computed from it: check once, at the end.
///
///     constexpr auto third = hocket::cost::rational(1) / hocket::cost::rational(3);
///     static_assert((third + third + third).num() == 1 && (third + third + third).is_whole());
class rational {
 public:
  constexpr rational() = default;
  constexpr rational(std::int64_t n) noexcept : num_(n) {}  // NOLINT(google-explicit-constructor): every integer is one
  [[nodiscard]] static constexpr rational whole(integer n) noexcept { return make(n, 1); }

  [[nodiscard]] constexpr bool ok() const noexcept { return den_ != 0; }
  [[nodiscard]] constexpr bool is_whole() const noexcept { return den_ == 1; }
  [[nodiscard]] constexpr integer num() const noexcept { return num_; }
  [[nodiscard]] constexpr integer den() const noexcept { return den_; }
  [[nodiscard]] constexpr double real() const noexcept { return static_cast<double>(num_) / static_cast<double>(den_); }

  friend constexpr rational operator+(const rational& a, const rational& b) noexcept {
    integer n = 0;
    if (a.den_ == 1 && b.den_ == 1) return detail::add(a.num_, b.num_, n) ? make(n, 1) : bad();
    integer left = 0, right = 0, d = 0;
    if (!a.ok() || !b.ok() || !detail::multiply(a.num_, b.den_, left) || !detail::multiply(b.num_, a.den_, right) ||
        !detail::add(left, right, n) || !detail::multiply(a.den_, b.den_, d))
      return bad();
    return reduced(n, d);
  }
  friend constexpr rational operator-(const rational& a, const rational& b) noexcept {
    return a + make(-b.num_, b.den_);
  }
  friend constexpr rational operator*(const rational& a, const rational& b) noexcept {
    integer n = 0, d = 0;
    if (a.den_ == 1 && b.den_ == 1) return detail::multiply(a.num_, b.num_, n) ? make(n, 1) : bad();
    if (!a.ok() || !b.ok()) return bad();
    // Cancel crosswise first: the product of lowest terms is then in lowest terms, and overflows only if it must.
    const integer x = detail::gcd(a.num_, b.den_), y = detail::gcd(b.num_, a.den_);
    if (x == 0 || y == 0) return rational(0);
    if (!detail::multiply(a.num_ / x, b.num_ / y, n) || !detail::multiply(a.den_ / y, b.den_ / x, d)) return bad();
    return make(n, d);
  }
  friend constexpr rational operator/(const rational& a, const rational& b) noexcept {
    if (!a.ok() || !b.ok() || b.num_ == 0) return bad();
    return a * (b.num_ < 0 ? make(-b.den_, -b.num_) : make(b.den_, b.num_));
  }
  /// Precondition: both ok(). (Order by cross-multiplication; differences of huge fractions fall back to double.)
  friend constexpr bool operator<(const rational& a, const rational& b) noexcept {
    HOCKET_ASSERT(a.ok() && b.ok());
    const rational d = a - b;
    return d.ok() ? d.num_ < 0 : a.real() < b.real();
  }
  friend constexpr bool operator==(const rational& a, const rational& b) noexcept {
    return a.num_ == b.num_ && a.den_ == b.den_;
  }

  /// The least integer that is not below it. Precondition: ok().
  [[nodiscard]] constexpr rational ceiling() const noexcept {
    HOCKET_ASSERT(ok());
    return make(num_ / den_ + (num_ % den_ > 0 ? 1 : 0), 1);
  }

 private:
  static constexpr rational make(integer n, integer d) noexcept {
    rational r;
    r.num_ = n;
    r.den_ = d;
    return r;
  }
  static constexpr rational bad() noexcept { return make(0, 0); }
  static constexpr rational reduced(integer n, integer d) noexcept {
    const integer g = detail::gcd(n, d);
    return g > 1 ? make(n / g, d / g) : make(n, d);
  }

  integer num_ = 0;
  integer den_ = 1;
};

/// Digits of a whole number, "n/d" of a fraction, "undefined" of one that is not ok().
[[nodiscard]] inline std::string to_string(const rational& r) {
  if (!r.ok()) return "undefined";
  return r.is_whole() ? to_string(r.num()) : to_string(r.num()) + "/" + to_string(r.den());
}

}  // namespace hocket::inline HOCKET_ABI::cost
