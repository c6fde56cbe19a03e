// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/curve/cost_curve.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace hocket::inline HOCKET_ABI::curve {

/// f on each of `groups` equal parts of the size, one after the other: a grouped matrix product over the experts of a
/// mixture, when a router spreads rows evenly. Each group pays f's fixed part and rounds to its own blocks.
/// Precondition: groups >= 1.
///
///     constexpr hocket::curve::grouped experts{hocket::curve::affine{.fixed = 2, .per_size = 1}, 8};
///     static_assert(experts.time(80) == 8 * (2 + 10) && experts.inverse(96) == 80);
template <cost_curve F>
struct grouped {
  F curve;
  std::int64_t groups = 1;
  [[nodiscard]] constexpr double time(double size) const noexcept {
    const auto n = static_cast<double>(groups);
    return n * curve.time(size / n);
  }
  [[nodiscard]] constexpr double inverse(double t) const noexcept
    requires invertible_curve<F>
  {
    const auto n = static_cast<double>(groups);
    const double size = curve.inverse(t / n);
    return size < 0 ? no_size : size * n;
  }
  [[nodiscard]] constexpr line affine_form(interval over) const noexcept
    requires bounded_curve<F>
  {
    const auto n = static_cast<double>(groups);
    const line f = curve.affine_form({over.least / n, over.most / n});
    return {f.fixed * n, f.per_size};
  }
  [[nodiscard]] constexpr interval domain() const noexcept {
    const interval d = hocket::curve::domain(curve);
    return {d.least * static_cast<double>(groups), d.most * static_cast<double>(groups)};
  }
  [[nodiscard]] constexpr double error_bound() const noexcept { return hocket::curve::error_bound(curve); }
};
template <class F, class Count>
grouped(F, Count) -> grouped<F>;

/// f on parts of the size that are not equal: shares of the rows by expert, as a router was measured to spread them.
/// Does not own the shares. Preconditions: shares not negative, finite.
///
///     constexpr double shares[] = {0.5, 0.25, 0.25};
///     constexpr hocket::curve::shared_out experts{hocket::curve::affine{.fixed = 2, .per_size = 1}, shares};
///     static_assert(experts.time(80) == 3 * 2 + 80);
template <cost_curve F>
struct shared_out {
  F curve;
  std::span<const double> shares;
  [[nodiscard]] constexpr double time(double size) const noexcept {
    double us = 0;
    for (const double share : shares) us += curve.time(size * share);
    return us;
  }
  [[nodiscard]] constexpr line affine_form(interval over) const noexcept
    requires bounded_curve<F>
  {
    line sum;
    for (const double share : shares) {
      const line f = curve.affine_form({over.least * share, over.most * share});
      sum.fixed += f.fixed, sum.per_size += f.per_size * share;
    }
    return sum;
  }
  [[nodiscard]] constexpr double error_bound() const noexcept { return hocket::curve::error_bound(curve); }
};
template <class F, std::size_t Count>
shared_out(F, const double (&)[Count]) -> shared_out<F>;
template <class F>
shared_out(F, std::span<const double>) -> shared_out<F>;

}  // namespace hocket::inline HOCKET_ABI::curve
