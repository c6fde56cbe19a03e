// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/result.hpp>

#include <concepts>
#include <cstdint>

namespace hocket::inline HOCKET_ABI {

/// Time as an integer in a unit the caller chooses (often nanoseconds). Decisions are made in ticks, so that every rank
/// and machine decides alike; real-valued curves are rounded once, at the border.
using ticks = std::int64_t;

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
