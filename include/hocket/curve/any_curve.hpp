// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/curve/affine.hpp>
#include <hocket/curve/alpha_beta.hpp>
#include <hocket/curve/combinators.hpp>
#include <hocket/curve/cost_curve.hpp>
#include <hocket/curve/matmul_roofline.hpp>
#include <hocket/curve/piecewise_polynomial.hpp>
#include <hocket/curve/table.hpp>

#include <cstdint>
#include <utility>
#include <variant>

namespace hocket::inline HOCKET_ABI::curve {

/// The piecewise polynomial that files may hold: up to 16 pieces of degree up to 5.
using stored_polynomial = piecewise_polynomial<16, 6>;

namespace detail {

/// f of what a variant of curves holds. Not std::visit, which wants exceptions.
template <class First, class... Others, class F>
[[nodiscard]] auto visit_curve(const std::variant<First, Others...>& held, F&& f) noexcept {
  decltype(f(std::declval<const First&>())) out{};
  const auto attempt = [&](const auto* curve) {
    if (curve != nullptr) out = f(*curve);
  };
  attempt(std::get_if<First>(&held));
  (attempt(std::get_if<Others>(&held)), ...);
  return out;
}

}  // namespace detail

/// One of the curves that a file can describe, chosen at run time: affine, piecewise polynomial, table, matrix product
/// by the roofline, or latency and bandwidth; over rows. An owning value without virtual functions. Implicit from each
/// of them, so that it takes their place.
///
///     hocket::curve::any_curve link{hocket::curve::alpha_beta{.alpha_us = 4, .gb_per_s = 50}, 16384};
///     assert(link.time(1000) == 4 + 16384e3 / 50e3);
class any_curve {
 public:
  using variant = std::variant<affine, stored_polynomial, table, matmul_roofline, alpha_beta>;

  any_curve(const affine& f) noexcept : held_(f) {}
  /// @param units_per_row  what one row is in the unit of the polynomial: bytes_per_row / 2^20 for one over MiB
  any_curve(const stored_polynomial& f, double units_per_row = 1) noexcept : held_(f), units_(units_per_row) {}
  any_curve(table f) noexcept : held_(std::move(f)) {}
  any_curve(const matmul_roofline& f) noexcept : held_(f) {}
  any_curve(const alpha_beta& f, double bytes_per_row = 1) noexcept : held_(f), units_(bytes_per_row) {}

  /// The same work on so many equal groups of the rows, one after the other: the experts of a mixture, each with its
  /// own weights. Precondition: groups >= 1.
  [[nodiscard]] any_curve in_groups(std::int64_t groups) const {
    HOCKET_ASSERT(groups >= 1);
    any_curve out = *this;
    out.units_ /= static_cast<double>(groups);
    out.times_ *= static_cast<double>(groups);
    out.good_ = {good_.least * static_cast<double>(groups), good_.most * static_cast<double>(groups)};
    return out;
  }
  /// The same curve, good for these numbers of rows only: outside of the sizes that a fit has seen it extrapolates, and
  /// plans say so (tiling::flag::extrapolated). What a table knows by itself is narrowed, never widened.
  ///
  ///     any_curve(fitted.curve).within(fitted.domain)
  [[nodiscard]] any_curve within(interval rows) const {
    any_curve out = *this;
    out.good_ = good_.within(rows);
    return out;
  }

  /// Microseconds for so many rows.
  [[nodiscard]] double time(double rows) const noexcept {
    const double size = rows * units_;
    return times_ * detail::visit_curve(held_, [&](const auto& f) { return f.time(size); });
  }
  /// The numbers of rows it is good for: what the curve knows by itself, and `within`.
  [[nodiscard]] interval domain() const noexcept {
    const interval d = detail::visit_curve(held_, [](const auto& f) { return hocket::curve::domain(f); });
    return good_.within({d.least / units_, d.most / units_});
  }

 private:
  variant held_;
  double units_ = 1, times_ = 1;
  interval good_;  // of rows
};

}  // namespace hocket::inline HOCKET_ABI::curve
