// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/config.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace hocket::inline HOCKET_ABI::curve {

/// The sizes for which a curve is backed by measurements or by an argument; outside of it, it extrapolates.
struct interval {
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
  [[nodiscard]] constexpr bool contains(double size) const noexcept { return size >= least && size <= most; }
  friend constexpr bool operator==(const interval&, const interval&) = default;
};

/// What `inverse` says when no size takes at most the given time.
inline constexpr double no_size = -1;

/// Time as a function of size: what a cost measurement, a fit or a formula gives to a solver.
/// `f.time(size)` is in microseconds and should be finite, not negative and not falling; the size is in any unit that
/// both sides agree on (rows, MiB). A class of the host qualifies by that one const member. These are used if present:
/// `inverse(t)`, the largest size that takes at most t, or no_size; `affine_form(over)`, a line that the curve is
/// nowhere below between two sizes; `domain()`, an interval; `error_bound()`, the largest relative error known, as a
/// fraction.
///
///     struct my_copy { double time(double mib) const noexcept { return 3 + 20 * mib; } };
///     static_assert(hocket::curve::cost_curve<my_copy>);
template <class F>
concept cost_curve = std::is_object_v<F> && requires(const F& f, double size) {
  { f.time(size) } -> std::convertible_to<double>;
};

/// The same, and where F is no cost curve the compiler says which member it should have: for
/// `static_assert(is_cost_curve<F>())`.
template <class F>
consteval bool is_cost_curve() {
  constexpr bool has_time = requires(F& f) { f.time(1.0); };
  constexpr bool is_const = requires(const F& f) { f.time(1.0); };
  static_assert(has_time, "a cost curve needs a member double time(double size) const, in microseconds");
  static_assert(is_const || !has_time, "time(size) of a cost curve must be const");
  static_assert(cost_curve<F> || !is_const, "time(size) of a cost curve must return microseconds, a number");
  return true;
}

/// A curve that inverts itself, faster than by bisection.
template <class F>
concept invertible_curve = cost_curve<F> && requires(const F& f, double t) {
  { f.inverse(t) } -> std::convertible_to<double>;
};

/// fixed + per_size * size: what `affine_form` answers.
struct line {
  double fixed = 0;     ///< us; may be negative
  double per_size = 0;  ///< us per unit of size
  [[nodiscard]] constexpr double operator()(double size) const noexcept { return fixed + per_size * size; }
  friend constexpr bool operator==(const line&, const line&) = default;
};

/// A curve that never falls and knows a line below it. `f.affine_form(over)` must not exceed `f.time(size)` for any
/// size in `over`, and should touch it: solvers bound whole families of sizes by it in place of reading each. Every
/// curve of this library has one; a host's function may leave it out and is then read size by size.
///
///     struct my_copy {
///       double time(double mib) const noexcept { return 3 + 20 * mib; }
///       hocket::curve::line affine_form(hocket::curve::interval) const noexcept { return {3, 20}; }
///     };
template <class F>
concept bounded_curve = cost_curve<F> && requires(const F& f, interval over) {
  { f.affine_form(over) } -> std::convertible_to<line>;
};

/// The sizes the curve is good for; every size from 0 on if it does not say. O(1).
template <cost_curve F>
[[nodiscard]] constexpr interval domain(const F& f) noexcept {
  if constexpr (requires {
                  { f.domain() } -> std::convertible_to<interval>;
                })
    return f.domain();
  else return {};
}

/// The largest relative error of the curve inside its domain, as a fraction; 0 if it does not say. A plan that is
/// optimal for costs within a relative error e is within (1 + e) / (1 - e) of the best for the true costs. O(1).
template <cost_curve F>
[[nodiscard]] constexpr double error_bound(const F& f) noexcept {
  if constexpr (requires {
                  { f.error_bound() } -> std::convertible_to<double>;
                })
    return f.error_bound();
  else return 0;
}

/// The largest whole size in [first, last] that takes at most t, or first - 1 if none does.
/// Precondition: first <= last, and the curve does not fall between them.
/// Complexity: O(1) for a curve with `inverse`, else O(log(last - first)) evaluations.
///
///     static_assert(hocket::curve::largest(hocket::curve::affine{.per_size = 2}, 9.0, 1, 100) == 4);
template <cost_curve F>
[[nodiscard]] constexpr std::int64_t largest(const F& f, double t, std::int64_t first, std::int64_t last) noexcept {
  HOCKET_ASSERT(first <= last);
  const auto fits = [&](std::int64_t size) { return f.time(static_cast<double>(size)) <= t; };
  if (!fits(first)) return first - 1;
  if (fits(last)) return last;
  std::int64_t low = first, high = last;  // low fits, high does not
  if constexpr (invertible_curve<F>) {
    // The inverse is exact up to rounding: a bracket of a few sizes around it closes the search at once.
    const double x = f.inverse(t);
    if (x >= static_cast<double>(low) && x <= static_cast<double>(high)) {
      const auto guess = static_cast<std::int64_t>(x);
      if (guess - 1 > low && fits(guess - 1)) low = guess - 1;
      if (guess + 2 < high && !fits(guess + 2)) high = guess + 2;
    }
  }
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/// The largest size of `over` that takes at most t, up to rounding; no_size if its least size takes longer.
/// By the curve's own inverse where it has one, else by bisection to neighbouring numbers. Precondition: `over` is
/// finite, and the curve does not fall within.
///
///     constexpr hocket::curve::function steps{[](double x) { return x < 3 ? 1.0 : 2.0; }};
///     static_assert(hocket::curve::inverse(steps, 5, {0, 10}) == 10);
template <cost_curve F>
[[nodiscard]] constexpr double inverse(const F& f, double t, interval over) noexcept {
  if (!(f.time(over.least) <= t)) return no_size;
  if (f.time(over.most) <= t) return over.most;
  if constexpr (invertible_curve<F>) {
    const double x = f.inverse(t);
    return x < over.least ? over.least : x < over.most ? x : over.most;
  } else {
    double low = over.least, high = over.most;
    for (;;) {
      const double middle = low + (high - low) / 2;
      if (!(middle > low && middle < high)) return low;
      if (f.time(middle) <= t) low = middle;
      else high = middle;
    }
  }
}

/// Makes a curve of any callable from size to microseconds.
///
///     constexpr auto copy = hocket::curve::function{[](double mib) { return 3 + 20 * mib; }};
template <class F>
struct function {
  F callable;
  [[nodiscard]] constexpr double time(double size) const noexcept { return callable(size); }
};
template <class F>
function(F) -> function<F>;

}  // namespace hocket::inline HOCKET_ABI::curve
