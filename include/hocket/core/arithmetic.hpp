// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <concepts>

namespace hocket::inline HOCKET_ABI {

/// a + b into `out`; false, with `out` untouched, if that does not fit.
template <std::integral Integer>
[[nodiscard]] constexpr bool checked_add(Integer a, Integer b, Integer& out) noexcept {
  Integer sum{};
  if (__builtin_add_overflow(a, b, &sum)) return false;
  out = sum;
  return true;
}

/// a * b into `out`; false, with `out` untouched, if that does not fit.
template <std::integral Integer>
[[nodiscard]] constexpr bool checked_multiply(Integer a, Integer b, Integer& out) noexcept {
  Integer product{};
  if (__builtin_mul_overflow(a, b, &product)) return false;
  out = product;
  return true;
}

/// ⌈a / b⌉ for a >= 0, b > 0, without overflow near the limit.
template <std::integral Integer>
[[nodiscard]] constexpr Integer ceil_div(Integer a, Integer b) noexcept {
  HOCKET_ASSERT(a >= 0 && b > 0);
  return a / b + (a % b != 0 ? 1 : 0);
}

}  // namespace hocket::inline HOCKET_ABI
