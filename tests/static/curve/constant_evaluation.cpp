// SPDX-License-Identifier: Apache-2.0
#include <hocket/curve.hpp>

#include <array>

namespace curve = hocket::curve;
using hocket::errc;

// The concept sees a host's own class, and no more than it has.
struct host_copy {
  [[nodiscard]] constexpr double time(double mib) const noexcept { return 3 + 20 * mib; }
};
struct not_a_curve {};
static_assert(curve::cost_curve<host_copy> && !curve::invertible_curve<host_copy>);
static_assert(!curve::cost_curve<not_a_curve> && !curve::cost_curve<double>);
static_assert(curve::domain(host_copy{}) == curve::interval{} && curve::error_bound(host_copy{}) == 0);
static_assert(curve::invertible_curve<curve::any_curve>);

// Affine.
constexpr curve::affine matmul{.fixed = 6, .per_size = 0.25, .least = 128};
static_assert(matmul.time(100) == 38 && matmul.time(256) == 70 && matmul.inverse(70) == 256);
static_assert(matmul.inverse(38) == 128 && matmul.inverse(37.9) == curve::no_size);
static_assert(check(matmul) && !check(curve::affine{.per_size = -1}));

// Piecewise: the all-reduce of the document over MiB. A piece holds below its bound, the next from it on.
using fit = curve::piecewise_polynomial<2, 3>;
constexpr auto reduce = fit::make({{8, {14.769, 27.0622573, -0.9698202}}, {fit::unbounded, {61.508333, 13.58491263}}});
static_assert(reduce->time(8) == 61.508333 + 13.58491263 * 8);
static_assert(reduce->time(7.999999) < 169.1986 && reduce->time(8) > 170.1876);
static_assert(reduce->inverse(169.5) == 8 && reduce->inverse(14.7) == curve::no_size);
static_assert(reduce->inverse(reduce->time(6)) > 5.999999999 && reduce->inverse(reduce->time(6)) < 6.000000001);
static_assert(reduce->inverse(reduce->time(40)) > 39.99999999 && reduce->inverse(reduce->time(40)) < 40.00000001);

// The quadratic alone bends down beyond 13.95 MiB: not a cost.
static_assert(fit::make({{fit::unbounded, {14.769, 27.0622573, -0.9698202}}}).error().code == errc::decreasing_cost);
static_assert(fit::make({{14, {14.769, 27.0622573, -0.9698202}}, {fit::unbounded, {300}}}).error().code ==
              errc::decreasing_cost);
static_assert(fit::make({{13.9, {14.769, 27.0622573, -0.9698202}}, {fit::unbounded, {300}}}).has_value());

// A table over arrays that live in the program.
constexpr std::array<double, 3> sizes{1, 2, 4}, us{10, 10, 30};
constexpr auto measured = curve::table_view::make(sizes, us);
static_assert(measured->time(0) == 10 && measured->time(3) == 20 && measured->time(8) == 70);
static_assert(measured->inverse(10) == 2 && measured->inverse(20) == 3 && measured->inverse(9) == curve::no_size);

// Combinators keep what they combine invertible.
constexpr auto rows = curve::delayed{curve::scaled{curve::per_row{curve::affine{.per_size = 64}, 1.0 / 64}, 1.5}, 2.0};
static_assert(curve::invertible_curve<decltype(rows)> && rows.time(10) == 17 && rows.inverse(17) == 10);
static_assert(!curve::invertible_curve<curve::scaled<host_copy>>);
static_assert(curve::largest(curve::affine{.per_size = 2}, 9.0, 1, 100) == 4);
static_assert(curve::largest(host_copy{}, 63.0, 1, 100) == 3 && curve::largest(host_copy{}, 1.0, 1, 100) == 0);
