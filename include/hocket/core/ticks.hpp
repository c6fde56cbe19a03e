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
template <std::integral I>
[[nodiscard]] constexpr bool checked_add(I a, I b, I& out) noexcept {
  I sum{};
  if (__builtin_add_overflow(a, b, &sum)) return false;
  out = sum;
  return true;
}

/// a * b into `out`; false, with `out` untouched, if that does not fit.
template <std::integral I>
[[nodiscard]] constexpr bool checked_multiply(I a, I b, I& out) noexcept {
  I product{};
  if (__builtin_mul_overflow(a, b, &product)) return false;
  out = product;
  return true;
}

/// ⌈a / b⌉ for a >= 0, b > 0, without overflow near the limit.
template <std::integral I>
[[nodiscard]] constexpr I ceil_div(I a, I b) noexcept {
  HOCKET_ASSERT(a >= 0 && b > 0);
  return a / b + (a % b != 0 ? 1 : 0);
}

}  // namespace hocket::inline HOCKET_ABI
