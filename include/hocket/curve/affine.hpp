// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/curve/cost_curve.hpp>

namespace hocket::inline HOCKET_ABI::curve {

/// True for a time that a cost may have: finite and not negative. (x - x is 0 unless x is infinite or not a number.)
[[nodiscard]] constexpr bool is_cost(double us) noexcept { return us >= 0 && us - us == 0; }

/// fixed + per_size * max(size, least): a latency, a rate, and the size below which hardware does not get faster.
/// An aggregate, so that it can be written in place; `check` says whether its numbers make sense.
///
///     constexpr hocket::curve::affine matmul{.fixed = 6, .per_size = 0.25, .least = 128};
///     static_assert(matmul.time(100) == 38 && matmul.time(256) == 70);
struct affine {
  double fixed = 0;     ///< us
  double per_size = 0;  ///< us per unit of size
  double least = 0;     ///< sizes below cost as much as this one

  [[nodiscard]] constexpr double time(double size) const noexcept {
    return fixed + per_size * (size < least ? least : size);
  }
  friend constexpr bool operator==(const affine&, const affine&) = default;
};

/// errc::bad_cost unless all three numbers are finite and not negative.
[[nodiscard]] constexpr result<void> check(const affine& f) noexcept {
  if (!is_cost(f.fixed) || !is_cost(f.per_size) || !is_cost(f.least)) return error{errc::bad_cost}.with("affine curve");
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::curve
