// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/curve/combinators.hpp>
#include <hocket/curve/isotonic.hpp>
#include <hocket/curve/piecewise_polynomial.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::curve {

/// The form that fit_segments gives: up to 8 straight pieces.
using segmented = piecewise_polynomial<8, 2>;

/// A fitted piecewise line and how well it meets its samples. Errors are relative, as fractions.
struct segment_fit {
  segmented curve;
  interval domain;  ///< from the least measured size to the largest; `bounded()` carries it along
  double mean_error = 0, worst_error = 0;
  double leave_one_out_error = 0;  ///< mean over inner sizes, each predicted by a fit without it; 0 below 4 sizes
  std::pmr::vector<repair> repairs{};
  std::pmr::vector<double> residuals{};  ///< fitted / measured - 1 for each size, ascending

  /// The curve as the cost of a phase: with its domain, so that plans with tiles outside of what was measured say so
  /// (tiling::flag::extrapolated).
  [[nodiscard]] bounded_to<segmented> bounded() const noexcept { return {curve, domain}; }
};

/// Sizes that fit_segments accepts: it looks at every pair of them.
inline constexpr std::size_t max_segment_sizes = 2000;

namespace detail {

struct fitted_line {
  double fixed = 0, per_size = 0, error = 0;  // sum of squared relative errors
  bool levelled = false;
};

/// The least-squares lines of all ranges of points, by prefix sums of the weighted moments.
class range_fitter {
 public:
  range_fitter(std::span<const pooled_point> points, std::pmr::memory_resource* memory) : sums_(memory) {
    sums_.resize(points.size() + 1);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto& [x, y, weight] = points[i];
      const double w = weight / (y * y);
      sums_[i + 1] = sums_[i];
      const double terms[6] = {w, w * x, w * y, w * x * x, w * x * y, w * y * y};
      for (std::size_t j = 0; j < 6; ++j) sums_[i + 1][j] += terms[j];
    }
  }
  /// Over points [first, last); neither falling nor negative at size 0 if it is the first piece.
  [[nodiscard]] fitted_line operator()(std::size_t first, std::size_t last) const noexcept {
    double s[6];
    for (std::size_t j = 0; j < 6; ++j) s[j] = sums_[last][j] - sums_[first][j];
    const auto [w, x, y, xx, xy, yy] = s;
    fitted_line f;
    const double spread = w * xx - x * x;
    f.per_size = spread > 1e-12 * w * xx ? (w * xy - x * y) / spread : 0;
    if (!(f.per_size >= 0)) {
      f.per_size = 0;
      f.levelled = true;
    }
    f.fixed = (y - f.per_size * x) / w;
    if (first == 0 && f.fixed < 0) {
      f.fixed = 0;
      f.per_size = xy / xx;
    }
    const double e = yy - 2 * f.fixed * y - 2 * f.per_size * xy + f.fixed * f.fixed * w + 2 * f.fixed * f.per_size * x +
                     f.per_size * f.per_size * xx;
    f.error = e > 0 ? e : 0;
    return f;
  }

 private:
  std::pmr::vector<std::array<double, 6>> sums_;
};

/// Pieces of two points or more by dynamic programming: least(k, n) = the least error of the first n points in k
/// pieces.
class piece_fitter {
 public:
  /// Preconditions: two points or more, max_pieces from 1 to 8.
  piece_fitter(std::span<const pooled_point> measured, std::size_t max_pieces, std::pmr::memory_resource* memory)
      : points_(pooled(measured, memory)),
        line_of_(points_, memory),
        most_((std::min)(max_pieces, points_.size() / 2)),
        least_((points_.size() + 1) * (most_ + 1), (std::numeric_limits<double>::infinity)(), memory),
        from_(least_.size(), 0, memory) {
    least_[0] = 0;
    for (std::size_t last = 2; last <= points_.size(); ++last)
      for (std::size_t first = 0; first + 2 <= last; ++first) join(first, last);
  }

  /// The points as they are fitted: none is faster than a smaller one.
  [[nodiscard]] std::span<const pooled_point> points() const& noexcept { return points_; }
  std::span<const pooled_point> points() const&& = delete;

  /// The curve of so many pieces, or of as many as there are points for.
  [[nodiscard]] result<segmented> curve_of(std::size_t pieces, std::pmr::vector<repair>* repairs) const {
    pieces = (std::min)(pieces, most_);
    std::array<segmented::piece, 8> out{};
    std::size_t last = points_.size();
    for (std::size_t k = pieces; k > 0; --k) {
      const std::size_t first = from_[last * (most_ + 1) + k];
      const fitted_line f = line_of_(first, last);
      if (repairs != nullptr && f.levelled)
        repairs->push_back({repair_kind::slope, points_[first].size, f.fixed, f.fixed});
      out[k - 1].coefficients = {f.fixed, f.per_size};
      // A piece ends where the next one's first point is.
      if (last != points_.size()) out[k - 1].below = points_[last].size;
      last = first;
    }
    const auto all = std::span(out).first(pieces);
    lift_joints(all, repairs);
    return segmented::make(all);
  }

 private:
  [[nodiscard]] static std::pmr::vector<pooled_point> pooled(std::span<const pooled_point> measured,
                                                             std::pmr::memory_resource* memory) {
    const std::pmr::vector<double> level = pool(measured, memory);
    std::pmr::vector<pooled_point> points(measured.begin(), measured.end(), memory);
    for (std::size_t i = 0; i < points.size(); ++i) points[i].us = level[i];
    return points;
  }
  // Tries the points [first, last) as a last piece.
  void join(std::size_t first, std::size_t last) noexcept {
    const double error = line_of_(first, last).error;
    const std::size_t before = first * (most_ + 1), after = last * (most_ + 1);
    for (std::size_t k = 1; k <= most_; ++k) {
      const double e = least_[before + k - 1] + error;
      if (!(e < least_[after + k])) continue;
      least_[after + k] = e;
      from_[after + k] = first;
    }
  }
  // No piece begins below the end of the one before it.
  static void lift_joints(std::span<segmented::piece> pieces, std::pmr::vector<repair>* repairs) {
    for (std::size_t k = 1; k < pieces.size(); ++k) {
      const auto& [fixed_before, slope_before] = pieces[k - 1].coefficients;
      auto& [fixed, slope] = pieces[k].coefficients;
      const double joint = pieces[k - 1].below, end = slope_before * joint + fixed_before;
      const double start = slope * joint + fixed;
      if (!(start < end)) continue;
      if (repairs != nullptr) repairs->push_back({repair_kind::joint, joint, start, end});
      fixed += end - start;
      while (slope * joint + fixed < end) fixed = std::nextafter(fixed, (std::numeric_limits<double>::infinity)());
    }
  }

  std::pmr::vector<pooled_point> points_;
  range_fitter line_of_;
  std::size_t most_;
  std::pmr::vector<double> least_;      // of n points in k pieces, at n * (most_ + 1) + k
  std::pmr::vector<std::size_t> from_;  // where the last of these pieces begins
};

/// How well 1, 2, … pieces predict a size that the fit has not seen: the mean relative error over at most 64 sizes,
/// evenly spread. 0 below 4 sizes.
[[nodiscard]] inline result<std::array<double, 8>> unseen_errors(std::span<const pooled_point> points,
                                                                 std::size_t max_pieces,
                                                                 std::pmr::memory_resource* memory) {
  std::array<double, 8> errors{};
  const std::size_t step = points.size() / 64 + 1;
  std::size_t tried = 0;
  for (std::size_t i = 1; i + 1 < points.size() && points.size() > 3; i += step) {
    std::pmr::vector<pooled_point> others(points.begin(), points.end(), memory);
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const piece_fitter without(others, max_pieces, memory);
    for (std::size_t k = 1; k <= max_pieces; ++k) {
      const result<segmented> curve = without.curve_of(k, nullptr);
      if (!curve) return curve.error();
      errors[k - 1] += relative(curve->time(points[i].size), points[i].us);
    }
    ++tried;
  }
  for (double& e : errors) e /= static_cast<double>((std::max)(tried, std::size_t{1}));
  return errors;
}

}  // namespace detail

/// The never-falling curve of a few straight pieces through measurements: medians, isotonic regression, breakpoints by
/// dynamic programming, then joints that do not fall. Where `fit_isotonic` follows every point, this smooths noise away
/// and extrapolates by the last piece's rate; it is constexpr to evaluate and has few numbers to write down.
/// @param max_pieces  at least 1, at most 8; as many are taken as lower the leave-one-out error, each by a hundredth
/// Errors: as `fit_isotonic`, and errc::out_of_range beyond max_segment_sizes sizes or for max_pieces.
/// O(sizes^2 * pieces), times the sizes for the leave-one-out error, which is taken at 64 evenly spread sizes at most.
[[nodiscard]] inline result<segment_fit> fit_segments(
    std::span<const sample> samples, std::int64_t max_pieces = 4,
    std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  if (max_pieces < 1 || max_pieces > 8) return error{errc::out_of_range, max_pieces, 1, 8}.with("number of pieces");
  const auto most = static_cast<std::size_t>(max_pieces);
  std::pmr::vector<repair> repairs(memory);
  auto merged = detail::medians(samples, repairs, memory);
  if (!merged) return merged.error();
  const std::pmr::vector<detail::pooled_point>& points = *merged;
  if (points.size() > max_segment_sizes)
    return error{errc::out_of_range, static_cast<std::int64_t>(points.size()), 2,
                 static_cast<std::int64_t>(max_segment_sizes)}
        .with("number of different sizes");
  const auto unseen = detail::unseen_errors(points, most, memory);
  if (!unseen) return unseen.error();
  std::size_t pieces = 1;
  for (std::size_t k = 2; k <= most; ++k)
    if ((*unseen)[k - 1] < 0.99 * (*unseen)[pieces - 1]) pieces = k;
  const detail::piece_fitter fitter(points, pieces, memory);
  for (std::size_t i = 0; i < points.size(); ++i)
    if (const double us = fitter.points()[i].us; us != points[i].us)
      repairs.push_back({repair_kind::pooled, points[i].size, points[i].us, us});
  auto fitted = fitter.curve_of(pieces, &repairs);
  if (!fitted) return fitted.error();
  std::sort(repairs.begin(), repairs.end(), detail::in_order);
  segment_fit out{std::move(fitted).value(), {points.front().size, points.back().size}};
  out.repairs = std::move(repairs);
  out.residuals = std::pmr::vector<double>(memory);
  for (const detail::pooled_point& p : points) {
    const double found = out.curve.time(p.size), e = detail::relative(found, p.us);
    out.residuals.push_back(found / p.us - 1);
    out.mean_error += e / static_cast<double>(points.size());
    if (e > out.worst_error) out.worst_error = e;
  }
  out.leave_one_out_error = (*unseen)[pieces - 1];
  return out;
}

/// Which sizes to measure next: writes up to out.size() whole sizes within `wanted`, the most telling one first.
/// Between two measured sizes a never-falling time is only known to lie between theirs, so the gap with the largest
/// ratio of times is halved first (at the geometric middle); of equal ones, the one of the smallest sizes. Beyond what
/// was measured, time is taken to grow like the size. Without samples: the ends, then the middles. Sizes whose
/// neighbours are whole are left alone.
/// @return how many were written; errc::invalid_argument unless 1 <= wanted.least < wanted.most < 2^53; errors of
/// samples as in `fit_isotonic`. O(n log n + out.size() * (n + out.size())).
[[nodiscard]] inline result<std::size_t> sizes_to_measure(
    std::span<const sample> samples, interval wanted, std::span<double> out,
    std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  if (!(wanted.least >= 1 && wanted.least < wanted.most && wanted.most < 9007199254740992.0))
    return error{errc::invalid_argument}.with("range of sizes to measure");
  struct known {
    double size, us;
  };
  std::pmr::vector<known> points(memory);
  if (samples.size() >= 2) {
    auto fitted = fit_isotonic(samples, memory);
    if (!fitted) return fitted.error();
    const table_view t = fitted->curve.view();
    for (std::size_t i = 0; i < t.sizes().size(); ++i) points.push_back({t.sizes()[i], t.us()[i]});
  }
  const bool blank = points.empty();
  std::size_t written = 0;
  const auto add = [&](double size, bool is_measured) {
    const auto at =
        std::lower_bound(points.begin(), points.end(), size, [](const known& a, double x) { return a.size < x; });
    if (at != points.end() && at->size == size) return;
    double us = size;  // nothing known: like the size
    if (!blank) {
      if (at == points.end()) us = points.back().us * (size / points.back().size);
      else if (at == points.begin()) us = at->us * (size / at->size);
      else us = std::sqrt((at - 1)->us * at->us);
    }
    points.insert(at, {size, us});
    if (is_measured && written < out.size()) out[written++] = size;
  };
  const double low = std::ceil(wanted.least), high = std::floor(wanted.most);
  if (blank || points.front().size > low) add(low, true);
  if (points.back().size < high) add(high, true);
  while (written < out.size()) {
    double widest = 0, middle = 0;
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
      const double a = (std::max)(points[i].size, low), b = (std::min)(points[i + 1].size, high);
      const double between = std::floor(std::sqrt(a * b) + 0.5);
      if (!(between > a && between < b)) continue;
      const double ratio = points[i + 1].us / points[i].us;
      if (ratio > widest) {
        widest = ratio;
        middle = between;
      }
    }
    if (widest == 0) break;
    add(middle, true);
  }
  return written;
}

}  // namespace hocket::inline HOCKET_ABI::curve
