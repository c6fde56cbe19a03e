// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/curve/cost_curve.hpp>

#include <cstdint>

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
  [[nodiscard]] constexpr line affine_form(interval over) const noexcept
    requires bounded_curve<F>
  {
    const line f = curve.affine_form(over);
    return {factor * f.fixed, factor * f.per_size};
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
  [[nodiscard]] constexpr line affine_form(interval over) const noexcept
    requires bounded_curve<F>
  {
    const line f = curve.affine_form({over.least * units, over.most * units});
    return {f.fixed, f.per_size * units};
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
  [[nodiscard]] constexpr line affine_form(interval over) const noexcept
    requires bounded_curve<F>
  {
    const line f = curve.affine_form(over);
    return {us + f.fixed, f.per_size};
  }
  [[nodiscard]] constexpr interval domain() const noexcept { return hocket::curve::domain(curve); }
  [[nodiscard]] constexpr double error_bound() const noexcept { return hocket::curve::error_bound(curve); }
};
template <class F>
delayed(F, double) -> delayed<F>;

/// f, good for the sizes in `sizes` only: beyond what was measured it extrapolates, and whoever asks is told. Times
/// stay.
///
///     constexpr hocket::curve::bounded_to f{hocket::curve::affine{.per_size = 2}, {128, 4096}};
///     static_assert(f.time(8192) == 16384 && !hocket::curve::domain(f).contains(8192));
template <cost_curve F>
struct bounded_to {
  F curve;
  interval sizes;
  [[nodiscard]] constexpr double time(double size) const noexcept { return curve.time(size); }
  [[nodiscard]] constexpr double inverse(double t) const noexcept
    requires invertible_curve<F>
  {
    return curve.inverse(t);
  }
  [[nodiscard]] constexpr line affine_form(interval over) const noexcept
    requires bounded_curve<F>
  {
    return curve.affine_form(over);
  }
  [[nodiscard]] constexpr interval domain() const noexcept {
    const interval d = hocket::curve::domain(curve);
    return {d.least > sizes.least ? d.least : sizes.least, d.most < sizes.most ? d.most : sizes.most};
  }
  [[nodiscard]] constexpr double error_bound() const noexcept { return hocket::curve::error_bound(curve); }
};
template <class F>
bounded_to(F, interval) -> bounded_to<F>;

/// The least whole number that is not below x. For x >= 0; beyond 2^53 every double is one.
[[nodiscard]] constexpr double round_up(double x) noexcept {
  if (!(x < 9007199254740992.0)) return x;
  const auto whole = static_cast<double>(static_cast<std::int64_t>(x));
  return whole < x ? whole + 1 : whole;
}

/// f of the size rounded up to a multiple of `step`: work in whole blocks. Precondition: step > 0 and finite, and f
/// does not fall.
///
///     constexpr hocket::curve::rounded_up f{hocket::curve::affine{.per_size = 2}, 128.0};
///     static_assert(f.time(1) == 256 && f.time(128) == 256 && f.time(129) == 512 && f.inverse(300) == 128);
template <cost_curve F>
struct rounded_up {
  F curve;
  double step = 1;
  [[nodiscard]] constexpr double time(double size) const noexcept { return curve.time(round_up(size / step) * step); }
  [[nodiscard]] constexpr double inverse(double t) const noexcept
    requires invertible_curve<F>
  {
    const double size = curve.inverse(t);
    if (!(size >= 0 && size / step < 9007199254740992.0)) return size;
    return static_cast<double>(static_cast<std::int64_t>(size / step)) * step;
  }
  [[nodiscard]] constexpr line affine_form(interval over) const noexcept
    requires bounded_curve<F>
  {
    return curve.affine_form({over.least, round_up(over.most / step) * step});  // f does not fall
  }
  [[nodiscard]] constexpr interval domain() const noexcept { return hocket::curve::domain(curve); }
  [[nodiscard]] constexpr double error_bound() const noexcept { return hocket::curve::error_bound(curve); }
};
template <class F>
rounded_up(F, double) -> rounded_up<F>;

namespace detail {

[[nodiscard]] constexpr interval both(const interval& a, const interval& b) noexcept {
  return {a.least > b.least ? a.least : b.least, a.most < b.most ? a.most : b.most};
}

}  // namespace detail

/// f + g: one after the other, such as a quantisation before a copy. Relative errors do not add: the larger holds.
template <cost_curve F, cost_curve G>
struct sum_of {
  F first;
  G second;
  [[nodiscard]] constexpr double time(double size) const noexcept { return first.time(size) + second.time(size); }
  [[nodiscard]] constexpr line affine_form(interval over) const noexcept
    requires(bounded_curve<F> && bounded_curve<G>)
  {
    const line f = first.affine_form(over), g = second.affine_form(over);
    return {f.fixed + g.fixed, f.per_size + g.per_size};
  }
  [[nodiscard]] constexpr interval domain() const noexcept {
    return detail::both(hocket::curve::domain(first), hocket::curve::domain(second));
  }
  [[nodiscard]] constexpr double error_bound() const noexcept {
    const double f = hocket::curve::error_bound(first), g = hocket::curve::error_bound(second);
    return f < g ? g : f;
  }
};
template <class F, class G>
sum_of(F, G) -> sum_of<F, G>;

/// The larger of f and g: two resources that work at the same time, such as arithmetic and memory.
template <cost_curve F, cost_curve G>
struct max_of {
  F first;
  G second;
  [[nodiscard]] constexpr double time(double size) const noexcept {
    const double f = first.time(size), g = second.time(size);
    return f < g ? g : f;
  }
  [[nodiscard]] constexpr double inverse(double t) const noexcept
    requires(invertible_curve<F> && invertible_curve<G>)
  {
    const double f = first.inverse(t), g = second.inverse(t);
    return f < g ? f : g;  // no_size is below every size
  }
  /// Of the two lines, the one that is higher in the middle.
  [[nodiscard]] constexpr line affine_form(interval over) const noexcept
    requires(bounded_curve<F> && bounded_curve<G>)
  {
    const line f = first.affine_form(over), g = second.affine_form(over);
    const double middle = over.least + (over.most - over.least) / 2;
    return f(middle) < g(middle) ? g : f;
  }
  [[nodiscard]] constexpr interval domain() const noexcept {
    return detail::both(hocket::curve::domain(first), hocket::curve::domain(second));
  }
  [[nodiscard]] constexpr double error_bound() const noexcept {
    const double f = hocket::curve::error_bound(first), g = hocket::curve::error_bound(second);
    return f < g ? g : f;
  }
};
template <class F, class G>
max_of(F, G) -> max_of<F, G>;

}  // namespace hocket::inline HOCKET_ABI::curve
