// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/borrowed.hpp>
#include <hocket/curve/cost_curve.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::curve {

/// factor * f: contention, a slower clock. Precondition: factor > 0 and finite.
template <class F>
struct scaled {
  static_assert(is_cost_curve<F>());
  F curve;
  double factor = 1;
  [[nodiscard]] constexpr double time(double size) const noexcept { return factor * curve.time(size); }
  [[nodiscard]] constexpr interval domain() const noexcept { return hocket::curve::domain(curve); }
};
template <class F>
scaled(F, double) -> scaled<F>;

/// f of another unit: time(rows) = f.time(rows * units). Turns a curve over MiB or bytes into one over rows.
/// Precondition: units > 0 and finite.
///
///     // the time of a curve over MiB as a function of rows of 8192 two-byte numbers
///     constexpr auto f = hocket::curve::per_row{hocket::curve::affine{.per_size = 64}, 8192 * 2 / 1048576.0};
///     static_assert(f.time(64) == 64);
template <class F>
struct per_row {
  static_assert(is_cost_curve<F>());
  F curve;
  double units = 1;
  [[nodiscard]] constexpr double time(double rows) const noexcept { return curve.time(rows * units); }
  [[nodiscard]] constexpr interval domain() const noexcept {
    const interval d = hocket::curve::domain(curve);
    return {d.least / units, d.most / units};
  }
};
template <class F>
per_row(F, double) -> per_row<F>;

/// A curve over MiB as a curve over rows of `bytes` bytes each.
template <class F>
[[nodiscard]] constexpr per_row<F> mib_of_rows(F f, double bytes) noexcept {
  return {static_cast<F&&>(f), bytes / 1048576.0};
}

/// f + us: a launch or a handshake before the work. Precondition: us >= 0 and finite.
template <class F>
struct delayed {
  static_assert(is_cost_curve<F>());
  F curve;
  double us = 0;
  [[nodiscard]] constexpr double time(double size) const noexcept { return us + curve.time(size); }
  [[nodiscard]] constexpr interval domain() const noexcept { return hocket::curve::domain(curve); }
};
template <class F>
delayed(F, double) -> delayed<F>;

/// f, good for the sizes in `sizes` only: beyond what was measured it extrapolates, and whoever asks is told. Times
/// stay.
///
///     constexpr hocket::curve::bounded_to f{hocket::curve::affine{.per_size = 2}, {128, 4096}};
///     static_assert(f.time(8192) == 16384 && !hocket::curve::domain(f).contains(8192));
template <class F>
struct bounded_to {
  static_assert(is_cost_curve<F>());
  F curve;
  interval sizes;
  [[nodiscard]] constexpr double time(double size) const noexcept { return curve.time(size); }
  [[nodiscard]] constexpr interval domain() const noexcept { return hocket::curve::domain(curve).within(sizes); }
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
///     static_assert(f.time(1) == 256 && f.time(128) == 256 && f.time(129) == 512);
template <class F>
struct rounded_up {
  static_assert(is_cost_curve<F>());
  F curve;
  double step = 1;
  [[nodiscard]] constexpr double time(double size) const noexcept { return curve.time(round_up(size / step) * step); }
  [[nodiscard]] constexpr interval domain() const noexcept { return hocket::curve::domain(curve); }
};
template <class F>
rounded_up(F, double) -> rounded_up<F>;

/// f + g: one after the other, such as a quantisation before a copy. Relative errors do not add: the larger holds.
template <class F, class G>
struct sum_of {
  static_assert(is_cost_curve<F>() && is_cost_curve<G>());
  F first;
  G second;
  [[nodiscard]] constexpr double time(double size) const noexcept { return first.time(size) + second.time(size); }
  [[nodiscard]] constexpr interval domain() const noexcept {
    return hocket::curve::domain(first).within(hocket::curve::domain(second));
  }
};
template <class F, class G>
sum_of(F, G) -> sum_of<F, G>;

/// The larger of f and g: two resources that work at the same time, such as arithmetic and memory.
template <class F, class G>
struct max_of {
  static_assert(is_cost_curve<F>() && is_cost_curve<G>());
  F first;
  G second;
  [[nodiscard]] constexpr double time(double size) const noexcept {
    const double f = first.time(size), g = second.time(size);
    return f < g ? g : f;
  }
  [[nodiscard]] constexpr interval domain() const noexcept {
    return hocket::curve::domain(first).within(hocket::curve::domain(second));
  }
};
template <class F, class G>
max_of(F, G) -> max_of<F, G>;

/// f on each of `groups` equal parts of the size, one after the other: a grouped matrix product over the experts of a
/// mixture, when a router spreads rows evenly. Each group pays f's fixed part and rounds to its own blocks.
/// Precondition: groups >= 1.
///
///     constexpr hocket::curve::grouped experts{hocket::curve::affine{.fixed = 2, .per_size = 1}, 8};
///     static_assert(experts.time(80) == 8 * (2 + 10));
template <class F>
struct grouped {
  static_assert(is_cost_curve<F>());
  F curve;
  std::int64_t groups = 1;
  [[nodiscard]] constexpr double time(double size) const noexcept {
    const auto n = static_cast<double>(groups);
    return n * curve.time(size / n);
  }
  [[nodiscard]] constexpr interval domain() const noexcept {
    const interval d = hocket::curve::domain(curve);
    return {d.least * static_cast<double>(groups), d.most * static_cast<double>(groups)};
  }
};
template <class F, class Count>
grouped(F, Count) -> grouped<F>;

/// f on parts of the size that are not equal: shares of the rows by expert, as a router was measured to spread them.
/// It does not own the shares, and takes no temporary ones. Preconditions: shares not negative, finite.
///
///     constexpr double shares[] = {0.5, 0.25, 0.25};
///     constexpr hocket::curve::shared_out experts{hocket::curve::affine{.fixed = 2, .per_size = 1}, shares};
///     static_assert(experts.time(80) == 3 * 2 + 80);
template <class F>
struct shared_out {
  static_assert(is_cost_curve<F>());
  F curve;
  borrowed<double> shares;
  [[nodiscard]] constexpr double time(double size) const noexcept {
    double us = 0;
    for (const double share : shares) us += curve.time(size * share);
    return us;
  }
};
template <class F>
shared_out(F, borrowed<double>) -> shared_out<F>;

}  // namespace hocket::inline HOCKET_ABI::curve
