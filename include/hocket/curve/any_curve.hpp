// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/curve/affine.hpp>
#include <hocket/curve/piecewise_polynomial.hpp>
#include <hocket/curve/table.hpp>

#include <cstdint>
#include <utility>
#include <variant>

namespace hocket::inline HOCKET_ABI::curve {

/// The piecewise polynomial that files may hold: up to 16 pieces of degree up to 5.
using stored_polynomial = piecewise_polynomial<16, 6>;

/// One of the curves that a file can describe, chosen at run time: affine, piecewise polynomial or table, over rows.
/// An owning value without virtual functions. Implicit from each of the three, so that it takes their place.
class any_curve {
 public:
  any_curve(const affine& f) noexcept : held_(f) {}
  /// @param units_per_row  what one row is in the unit of the polynomial: bytes_per_row / 2^20 for one over MiB
  any_curve(const stored_polynomial& f, double units_per_row = 1) noexcept : held_(f), units_(units_per_row) {}
  any_curve(table f) noexcept : held_(std::move(f)) {}

  /// The same work on so many equal groups of the rows, one after the other: the experts of a mixture, each with its
  /// own weights. Precondition: groups >= 1.
  [[nodiscard]] any_curve in_groups(std::int64_t groups) const {
    HOCKET_ASSERT(groups >= 1);
    any_curve out = *this;
    out.units_ /= static_cast<double>(groups);
    out.times_ *= static_cast<double>(groups);
    return out;
  }

  /// Microseconds for so many rows.
  [[nodiscard]] double time(double rows) const noexcept {
    const double size = rows * units_;
    if (const auto* f = std::get_if<affine>(&held_)) return times_ * f->time(size);
    if (const auto* f = std::get_if<stored_polynomial>(&held_)) return times_ * f->time(size);
    return times_ * std::get_if<table>(&held_)->time(size);
  }
  /// The largest number of rows that takes at most t us, infinity if every one does, no_size if none does.
  [[nodiscard]] double inverse(double t) const noexcept {
    double size = 0;
    t /= times_;
    if (const auto* f = std::get_if<affine>(&held_)) size = f->inverse(t);
    else if (const auto* g = std::get_if<stored_polynomial>(&held_)) size = g->inverse(t);
    else size = std::get_if<table>(&held_)->inverse(t);
    return size < 0 ? no_size : size / units_;
  }
  /// A line that the curve is nowhere below between two numbers of rows.
  [[nodiscard]] line affine_form(interval over) const noexcept {
    over = {over.least * units_, over.most * units_};
    line out;
    if (const auto* f = std::get_if<affine>(&held_)) out = f->affine_form(over);
    else if (const auto* g = std::get_if<stored_polynomial>(&held_)) out = g->affine_form(over);
    else out = std::get_if<table>(&held_)->affine_form(over);
    return {out.fixed * times_, out.per_size * units_ * times_};
  }
  [[nodiscard]] interval domain() const noexcept {
    const auto* t = std::get_if<table>(&held_);
    if (t == nullptr) return {};
    const interval d = t->domain();
    return {d.least / units_, d.most / units_};
  }
  /// The curve inside, for writers of files and for drawing.
  [[nodiscard]] const std::variant<affine, stored_polynomial, table>& held() const noexcept { return held_; }
  [[nodiscard]] double units_per_row() const noexcept { return units_; }

 private:
  std::variant<affine, stored_polynomial, table> held_;
  double units_ = 1, times_ = 1;
};

}  // namespace hocket::inline HOCKET_ABI::curve
