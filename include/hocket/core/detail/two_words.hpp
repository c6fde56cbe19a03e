// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <bit>
#include <compare>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace hocket::inline HOCKET_ABI::detail {

/// What __int128 is where the compiler has none: a signed whole number in two's complement, as two words of 64 bits.
/// It has the operations that hocket uses, and they mean what they mean for int64_t: division cuts towards zero, >>
/// keeps the sign. What exceeds 128 bits wraps around.
///
///     value = high * 2^64 + low,   -2^63 <= high < 2^63,   0 <= low < 2^64
class two_words {
 public:
  constexpr two_words() = default;
  template <std::integral Integer>
  constexpr two_words(Integer n) noexcept  // NOLINT(google-explicit-constructor): every integer is one
      : low_(static_cast<std::uint64_t>(n)) {
    if constexpr (std::is_signed_v<Integer>) high_ = n < 0 ? ~std::uint64_t{0} : 0;
  }
  [[nodiscard]] static constexpr two_words of(std::uint64_t high, std::uint64_t low) noexcept {
    two_words n;
    n.low_ = low;
    n.high_ = high;
    return n;
  }
  [[nodiscard]] constexpr std::uint64_t low() const noexcept { return low_; }
  [[nodiscard]] constexpr std::uint64_t high() const noexcept { return high_; }
  [[nodiscard]] constexpr bool is_negative() const noexcept { return (high_ >> 63) != 0; }

  template <std::integral Integer>
  constexpr explicit operator Integer() const noexcept {
    return static_cast<Integer>(low_);
  }
  /// The nearest double, of two equally near ones the even one.
  constexpr explicit operator double() const noexcept {
    if (is_negative()) return -unsigned_value(-*this);
    return unsigned_value(*this);
  }

  friend constexpr bool operator==(const two_words&, const two_words&) = default;
  friend constexpr std::strong_ordering operator<=>(const two_words& a, const two_words& b) noexcept {
    if (a.high_ != b.high_) return static_cast<std::int64_t>(a.high_) <=> static_cast<std::int64_t>(b.high_);
    return a.low_ <=> b.low_;
  }

  friend constexpr two_words operator-(const two_words& a) noexcept {
    return of(~a.high_ + (a.low_ == 0 ? 1 : 0), ~a.low_ + 1);
  }
  friend constexpr two_words operator+(const two_words& a, const two_words& b) noexcept {
    const std::uint64_t low = a.low_ + b.low_;
    return of(a.high_ + b.high_ + (low < a.low_ ? 1 : 0), low);
  }
  friend constexpr two_words operator-(const two_words& a, const two_words& b) noexcept { return a + -b; }
  friend constexpr two_words operator*(const two_words& a, const two_words& b) noexcept {
    const two_words low = product(a.low_, b.low_);
    return of(low.high_ + a.low_ * b.high_ + a.high_ * b.low_, low.low_);
  }
  /// Precondition: b is not 0.
  friend constexpr two_words operator/(const two_words& a, const two_words& b) noexcept {
    two_words rest;
    const two_words q = divide(magnitude(a), magnitude(b), rest);
    return a.is_negative() != b.is_negative() ? -q : q;
  }
  /// What is left has the sign of a. Precondition: b is not 0.
  friend constexpr two_words operator%(const two_words& a, const two_words& b) noexcept {
    two_words rest;
    (void)divide(magnitude(a), magnitude(b), rest);
    return a.is_negative() ? -rest : rest;
  }
  /// Precondition: 0 <= places < 128.
  friend constexpr two_words operator<<(const two_words& a, int places) noexcept {
    if (places == 0) return a;
    if (places >= 64) return of(a.low_ << (places - 64), 0);
    return of(a.high_ << places | a.low_ >> (64 - places), a.low_ << places);
  }
  /// Precondition: 0 <= places < 128.
  friend constexpr two_words operator>>(const two_words& a, int places) noexcept {
    if (places == 0) return a;
    const auto high = static_cast<std::int64_t>(a.high_);
    if (places >= 64)
      return of(static_cast<std::uint64_t>(high >> 63), static_cast<std::uint64_t>(high >> (places - 64)));
    return of(static_cast<std::uint64_t>(high >> places), a.low_ >> places | a.high_ << (64 - places));
  }

  constexpr two_words& operator+=(const two_words& b) noexcept { return *this = *this + b; }
  constexpr two_words& operator-=(const two_words& b) noexcept { return *this = *this - b; }
  constexpr two_words& operator*=(const two_words& b) noexcept { return *this = *this * b; }
  constexpr two_words& operator/=(const two_words& b) noexcept { return *this = *this / b; }

 private:
  [[nodiscard]] static constexpr two_words magnitude(const two_words& a) noexcept { return a.is_negative() ? -a : a; }

  /// All 128 bits of a * b, as four products of half words.
  [[nodiscard]] static constexpr two_words product(std::uint64_t a, std::uint64_t b) noexcept {
    constexpr std::uint64_t half = 0xffff'ffff;
    const std::uint64_t a_low = a & half, a_high = a >> 32, b_low = b & half, b_high = b >> 32;
    const std::uint64_t low = a_low * b_low;
    const std::uint64_t middle = a_high * b_low + (low >> 32);
    const std::uint64_t cross = a_low * b_high + (middle & half);
    return of(a_high * b_high + (middle >> 32) + (cross >> 32), cross << 32 | (low & half));
  }

  [[nodiscard]] static constexpr int bit_width(const two_words& a) noexcept {
    return a.high_ != 0 ? 64 + static_cast<int>(std::bit_width(a.high_)) : static_cast<int>(std::bit_width(a.low_));
  }
  [[nodiscard]] static constexpr bool is_below(const two_words& a, const two_words& b) noexcept {
    return a.high_ != b.high_ ? a.high_ < b.high_ : a.low_ < b.low_;
  }
  /// Both as unsigned numbers, as 2^127 is the magnitude of -2^127. Bit by bit, as at school, unless a word will do.
  [[nodiscard]] static constexpr two_words divide(const two_words& a, const two_words& b, two_words& rest) noexcept {
    HOCKET_ASSERT(b != two_words{});
    if (a.high_ == 0 && b.high_ == 0) {
      rest = a.low_ % b.low_;
      return a.low_ / b.low_;
    }
    two_words quotient;
    rest = a;
    for (int place = bit_width(a) - bit_width(b); place >= 0; --place) {
      const two_words part = b << place;
      if (is_below(rest, part)) continue;
      rest -= part;
      quotient += two_words{1} << place;
    }
    return quotient;
  }
  /// As an unsigned number: its first 64 bits, the last of which also stands for all that are cut off, round alike.
  [[nodiscard]] static constexpr double unsigned_value(const two_words& a) noexcept {
    if (a.high_ == 0) return static_cast<double>(a.low_);
    const int cut = static_cast<int>(std::bit_width(a.high_));
    const std::uint64_t first = cut == 64 ? a.high_ : a.high_ << (64 - cut) | a.low_ >> cut;
    const std::uint64_t lost = cut == 64 ? a.low_ : a.low_ << (64 - cut);
    double scale = 1;
    for (int i = 0; i < cut; ++i) scale *= 2;
    return static_cast<double>(first | (lost != 0 ? 1 : 0)) * scale;
  }

  std::uint64_t low_ = 0, high_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::detail
