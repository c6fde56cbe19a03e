// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What every cost curve must obey, tried at many sizes: so that a host can test a curve of its own in its own project,
// with any test framework.
#pragma once
#include <hocket/curve/cost_curve.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

namespace hocket::inline HOCKET_ABI::testing {

struct curve_law_options {
  /// For a curve that does fall: the solvers of tiling still take it, but their bounds are no longer proofs.
  bool may_fall = false;
  std::int64_t points = 1000;  ///< evenly spread sizes, besides powers of two, whole sizes, bounds and their neighbours
};

namespace detail {

/// The shortest form that reads back as the same number.
[[nodiscard]] inline std::string number(double x) {
  char letters[32];
  const auto [end, failed] = std::to_chars(letters, letters + sizeof letters, x);
  return failed == std::errc() ? std::string(letters, end) : "a number";
}

template <curve::cost_curve F>
class curve_laws {
 public:
  curve_laws(const F& f, curve::interval over, const curve_law_options& options) : f_(f), over_(over) {
    add_breakpoints();
    const double width = over.most - over.least;
    const auto steps = static_cast<double>(options.points);
    for (double i = 0; i <= steps; ++i) add(over.least + width * (i / steps));
    for (double x = 1; x <= over.most; x *= 2) add(x);
    for (double x = std::ceil(over.least), last = x + 256; x <= over.most && x < last; ++x) add(x);
    std::sort(sizes_.begin(), sizes_.end());
    sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
  }

  /// Finite, not negative, the same when asked again, and short enough for 64 bits of picoseconds.
  [[nodiscard]] std::string times() const {
    constexpr double longest_us = 9.2e12;  // 2^63 picoseconds are 106 days
    for (const double x : sizes_) {
      const double us = f_.time(x);
      if (!(us >= 0)) return "time(" + number(x) + ") is " + number(us);
      if (us > longest_us) return "time(" + number(x) + ") is " + number(us) + " us, beyond 64 bits of picoseconds";
      if (f_.time(x) != us) return "time(" + number(x) + ") is another one when asked again";
    }
    return {};
  }

  /// Never falling by more than rounding does, between any two sizes that were tried.
  [[nodiscard]] std::string rises() const {
    for (std::size_t i = 1; i < sizes_.size(); ++i)
      if (const double a = f_.time(sizes_[i - 1]), b = f_.time(sizes_[i]); b < a * (1 - rounding))
        return "it falls: time(" + number(sizes_[i - 1]) + ") is " + number(a) + ", time(" + number(sizes_[i]) +
               ") is " + number(b);
    return {};
  }

  /// The largest size that takes at most the time of a size is that size, or a larger one that takes as long.
  [[nodiscard]] std::string inverse() const {
    for (const double x : sizes_) {
      const double us = f_.time(x), size = curve::inverse(f_, us * (1 + rounding), over_), there = f_.time(size);
      if (size < x || there > us * (1 + rounding) || there < us * (1 - rounding))
        return "its inverse disagrees: time(" + number(x) + ") is " + number(us) + ", the largest size for it is " +
               number(size) + " with time " + number(there);
    }
    return {};
  }

  [[nodiscard]] std::string domain() const {
    const curve::interval d = hocket::curve::domain(f_);
    if (!(d.least >= 0 && d.least <= d.most)) return "domain() is " + number(d.least) + " to " + number(d.most);
    if (hocket::curve::domain(f_) != d) return "domain() is another one when asked again";
    return {};
  }

  /// A table returns what it holds; pieces ascend and evaluate to their polynomials.
  [[nodiscard]] std::string breakpoints() const {
    if constexpr (requires { f_.sizes()[0] + f_.us()[0]; }) {
      const auto sizes = f_.sizes();
      const auto us = f_.us();
      if (sizes.size() != us.size())
        return "it holds " + std::to_string(sizes.size()) + " sizes and " + std::to_string(us.size()) + " times";
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (i > 0 && !(sizes[i - 1] < sizes[i])) return "its sizes do not ascend at index " + std::to_string(i);
        if (const double t = f_.time(sizes[i]); t != us[i])
          return "time(" + number(sizes[i]) + ") is " + number(t) + ", but it holds " + number(us[i]);
      }
    }
    if constexpr (requires { f_.all_pieces()[0].coefficients; }) {
      double low = 0;
      for (std::size_t i = 0; i < f_.size(); ++i) {
        const auto piece = f_.all_pieces()[i];
        if (!(piece.below > low)) return "the bound of piece " + std::to_string(i) + " is " + number(piece.below);
        const double x = std::isinf(piece.below) ? 2 * low + 1 : low + (piece.below - low) / 2;
        double us = 0, power = 1, scale = 0;
        for (const double c : piece.coefficients) {
          us += c * power;
          scale += std::abs(c * power);
          power *= x;
        }
        if (std::abs(f_.time(x) - us) > scale * rounding)
          return "time(" + number(x) + ") is " + number(f_.time(x)) + ", but piece " + std::to_string(i) + " says " +
                 number(us);
        low = piece.below;
      }
    }
    return {};
  }

 private:
  static constexpr double rounding = 1e-12;  // relative: far above that of a few operations, far below a picosecond

  void add(double x) {
    if (over_.contains(x)) sizes_.push_back(x);
  }
  void add_with_neighbours(double x) {
    add(std::nextafter(x, 0.0));
    add(x);
    add(std::nextafter(x, 2 * x));
  }
  void add_breakpoints() {
    const curve::interval d = hocket::curve::domain(f_);
    add_with_neighbours(d.least);
    add_with_neighbours(d.most);
    if constexpr (requires { f_.sizes()[0]; })
      for (const double x : f_.sizes()) add_with_neighbours(x);
    if constexpr (requires { f_.all_pieces()[0].below; })
      for (std::size_t i = 0; i < f_.size(); ++i) add_with_neighbours(f_.all_pieces()[i].below);
  }

  const F& f_;
  curve::interval over_;
  std::vector<double> sizes_;  // ascending, all within over_
};

}  // namespace detail

/// Whether a cost curve may be given to a solver: finite, not negative, repeatable, never falling (or it says that it
/// may), within the range of the integers in which tiles are planned; domain, breakpoints and inverse agree with it.
/// A law that holds at every size that was tried is not proved for those between.
/// @param over  the sizes that will be asked for; both ends finite
/// @return an empty string, or the first law that is broken with the sizes and times. Complexity: O(points · 60).
///
///     CHECK(hocket::testing::broken_law(my_all_reduce{8}, {0, 1 << 20}) == "");
template <curve::cost_curve F>
[[nodiscard]] std::string broken_law(const F& f, curve::interval over, const curve_law_options& options = {}) {
  if (!(over.least >= 0 && over.least <= over.most && std::isfinite(over.most)) || options.points < 1)
    return "these laws need sizes from 0 on with a finite end, and at least one point";
  const detail::curve_laws<F> laws(f, over, options);
  std::string broken = laws.domain();
  if (broken.empty()) broken = laws.times();
  if (broken.empty()) broken = laws.breakpoints();
  if (broken.empty() && !options.may_fall) broken = laws.rises();
  if (broken.empty() && !options.may_fall) broken = laws.inverse();
  return broken;
}

// Not a curve: the member that is missing in place of "no matching function".
template <class F>
  requires(!curve::cost_curve<F>)
std::string broken_law(const F&, curve::interval, const curve_law_options& = {}) {
  static_assert(curve::is_cost_curve<F>());
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::testing
