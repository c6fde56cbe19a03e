// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/curve/cost_curve.hpp>

namespace hocket::inline HOCKET_ABI::curve {

/// factor * f: contention, a slower clock. Precondition: factor > 0 and finite.
template <cost_curve F>
struct scaled {
  F curve;
  double factor = 1;
  [[nodiscard]] constexpr double time(double size) const noexcept { return factor * curve.time(size); }
  [[nodiscard]] constexpr double inverse(double t) const noexcept
    requires invertible_curve<F>
  {
    return curve.inverse(t / factor);
  }
  [[nodiscard]] constexpr interval domain() const noexcept { return hocket::curve::domain(curve); }
  [[nodiscard]] constexpr double error_bound() const noexcept { return hocket::curve::error_bound(curve); }
};
template <class F>
scaled(F, double) -> scaled<F>;

/// f of another unit: time(rows) = f.time(rows * units). Turns a curve over MiB or bytes into one over rows.
/// Precondition: units > 0 and finite.
///
///     // the time of a curve over MiB as a function of rows of 8192 two-byte numbers
///     constexpr auto f = hocket::curve::per_row{hocket::curve::affine{.per_size = 64}, 8192 * 2 / 1048576.0};
///     static_assert(f.time(64) == 64);
template <cost_curve F>
struct per_row {
  F curve;
  double units = 1;
  [[nodiscard]] constexpr double time(double rows) const noexcept { return curve.time(rows * units); }
  [[nodiscard]] constexpr double inverse(double t) const noexcept
    requires invertible_curve<F>
  {
    const double size = curve.inverse(t);
    return size < 0 ? no_size : size / units;
  }
  [[nodiscard]] constexpr interval domain() const noexcept {
    const interval d = hocket::curve::domain(curve);
    return {d.least / units, d.most / units};
  }
  [[nodiscard]] constexpr double error_bound() const noexcept { return hocket::curve::error_bound(curve); }
};
template <class F>
per_row(F, double) -> per_row<F>;

/// A curve over MiB as a curve over rows of `bytes` bytes each.
template <cost_curve F>
[[nodiscard]] constexpr per_row<F> mib_of_rows(F f, double bytes) noexcept {
  return {static_cast<F&&>(f), bytes / 1048576.0};
}

/// f + us: a launch or a handshake before the work. Precondition: us >= 0 and finite.
template <cost_curve F>
struct delayed {
  F curve;
  double us = 0;
  [[nodiscard]] constexpr double time(double size) const noexcept { return us + curve.time(size); }
  [[nodiscard]] constexpr double inverse(double t) const noexcept
    requires invertible_curve<F>
  {
    return curve.inverse(t - us);
  }
  [[nodiscard]] constexpr interval domain() const noexcept { return hocket::curve::domain(curve); }
  [[nodiscard]] constexpr double error_bound() const noexcept { return hocket::curve::error_bound(curve); }
};
template <class F>
delayed(F, double) -> delayed<F>;

}  // namespace hocket::inline HOCKET_ABI::curve
