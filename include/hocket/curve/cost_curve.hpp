// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
  /// The sizes that are in both.
  [[nodiscard]] constexpr interval within(const interval& other) const noexcept {
    return {least > other.least ? least : other.least, most < other.most ? most : other.most};
  }
  friend constexpr bool operator==(const interval&, const interval&) = default;
};

/// What `inverse` says when no size takes at most the given time.
inline constexpr double no_size = -1;

/// Time as a function of size: what a cost measurement, a fit or a formula gives to a solver.
/// `f.time(size)` is in microseconds, a real number, and should be finite, not negative and not falling. The size is in
/// any unit that both sides agree on (rows, MiB). A class of the host qualifies by that one const member. A member
/// `domain()` that returns an interval is used if present.
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
  static_assert(has_time, "hocket: a cost curve needs a member double time(double size) const, in microseconds");
  static_assert(is_const || !has_time, "hocket: time(size) of a cost curve must be const");
  static_assert(cost_curve<F> || !is_const, "hocket: time(size) of a cost curve must return microseconds, a number");
  constexpr bool has_domain = requires(F& f) { f.domain(); };
  constexpr bool is_usable = requires(const F& f) {
    { f.domain() } -> std::convertible_to<interval>;
  };
  static_assert(!has_domain || is_usable,
                "hocket: domain() of a cost curve must be const and return a curve::interval");
  return true;
}

/// The sizes the curve is good for; every size from 0 on if it does not say. O(1).
template <cost_curve F>
[[nodiscard]] constexpr interval domain(const F& f) noexcept {
  if constexpr (requires {
                  { f.domain() } -> std::convertible_to<interval>;
                })
    return f.domain();
  else return {};
}

/// The largest whole size in [first, last] that takes at most t, or first - 1 if none does.
/// Precondition: first <= last, and the curve does not fall between them.
/// Complexity: O(log(last - first)) evaluations.
///
///     static_assert(hocket::curve::largest(hocket::curve::affine{.per_size = 2}, 9.0, 1, 100) == 4);
template <cost_curve F>
[[nodiscard]] constexpr std::int64_t largest(const F& f, double t, std::int64_t first, std::int64_t last) noexcept {
  HOCKET_ASSERT(first <= last);
  std::int64_t low = first - 1, high = last + 1;  // low takes at most t, high does not
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    if (f.time(static_cast<double>(middle)) <= t) low = middle;
    else high = middle;
  }
  return low;
}

/// The largest size of `over` that takes at most t, by bisection to neighbouring numbers; no_size if its least size
/// takes longer. Precondition: `over` is finite, and the curve does not fall within.
///
///     constexpr hocket::curve::function steps{[](double x) { return x < 3 ? 1.0 : 2.0; }};
///     static_assert(hocket::curve::inverse(steps, 5, {0, 10}) == 10);
template <cost_curve F>
[[nodiscard]] constexpr double inverse(const F& f, double t, interval over) noexcept {
  if (!(f.time(over.least) <= t)) return no_size;
  if (f.time(over.most) <= t) return over.most;
  double low = over.least, high = over.most;
  for (;;) {
    const double middle = low + (high - low) / 2;
    if (!(middle > low && middle < high)) return low;
    if (f.time(middle) <= t) low = middle;
    else high = middle;
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
