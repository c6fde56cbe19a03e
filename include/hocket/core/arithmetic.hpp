// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <concepts>
#include <cstddef>
#if !HOCKET_HAS_OVERFLOW_BUILTINS
#include <limits>
#endif

namespace hocket::inline HOCKET_ABI {
namespace detail {

// Whether a + b and a * b fit; `out` is what a compiler's own arithmetic leaves there, if they do not.
#if HOCKET_HAS_OVERFLOW_BUILTINS
template <std::integral Integer>
[[nodiscard]] constexpr bool sum_fits(Integer a, Integer b, Integer& out) noexcept {
  return !__builtin_add_overflow(a, b, &out);
}
template <std::integral Integer>
[[nodiscard]] constexpr bool product_fits(Integer a, Integer b, Integer& out) noexcept {
  return !__builtin_mul_overflow(a, b, &out);
}
#else
template <std::integral Integer>
[[nodiscard]] constexpr bool sum_fits(Integer a, Integer b, Integer& out) noexcept {
  constexpr Integer most = (std::numeric_limits<Integer>::max)(), least = (std::numeric_limits<Integer>::min)();
  if (b > 0 ? a > most - b : a < least - b) return false;
  out = static_cast<Integer>(a + b);
  return true;
}
template <std::integral Integer>
[[nodiscard]] constexpr bool product_fits(Integer a, Integer b, Integer& out) noexcept {
  constexpr Integer most = (std::numeric_limits<Integer>::max)(), least = (std::numeric_limits<Integer>::min)();
  if (a > 0 && (b > 0 ? a > most / b : b < least / a)) return false;
  if (a < 0 && (b > 0 ? a < least / b : b < most / a)) return false;
  out = static_cast<Integer>(a * b);
  return true;
}
#endif

/// A number as a size, also where std::size_t has 32 bits. Precondition: it fits. (A template: of a cast to the type
/// that it has already, GCC would warn elsewhere.)
template <std::integral Integer>
[[nodiscard]] constexpr std::size_t to_size(Integer v) noexcept {
  return static_cast<std::size_t>(v);
}

}  // namespace detail

/// a + b into `out`; false, with `out` untouched, if that does not fit.
template <std::integral Integer>
[[nodiscard]] constexpr bool checked_add(Integer a, Integer b, Integer& out) noexcept {
  Integer sum{};
  if (!detail::sum_fits(a, b, sum)) return false;
  out = sum;
  return true;
}

/// a * b into `out`; false, with `out` untouched, if that does not fit.
template <std::integral Integer>
[[nodiscard]] constexpr bool checked_multiply(Integer a, Integer b, Integer& out) noexcept {
  Integer product{};
  if (!detail::product_fits(a, b, product)) return false;
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
