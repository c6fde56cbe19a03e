// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/curve.hpp>

#include <array>

namespace curve = hocket::curve;
using hocket::errc;

// The concept sees a host's own class, and no more than it has.
struct host_copy {
  [[nodiscard]] constexpr double time(double mib) const noexcept { return 3 + 20 * mib; }
};
struct not_a_curve {};
static_assert(curve::cost_curve<host_copy>);
static_assert(!curve::cost_curve<not_a_curve> && !curve::cost_curve<double>);
static_assert(curve::domain(host_copy{}) == curve::interval{});
static_assert(curve::cost_curve<curve::any_curve>);

// Affine.
constexpr curve::affine matmul{.fixed = 6, .per_size = 0.25, .least = 128};
static_assert(matmul.time(100) == 38 && matmul.time(256) == 70);
static_assert(curve::largest(matmul, 70, 1, 4096) == 256 && curve::largest(matmul, 38, 1, 4096) == 128);
static_assert(curve::inverse(matmul, 37.9, {0, 4096}) == curve::no_size);
static_assert(check(matmul) && !check(curve::affine{.per_size = -1}));

// Piecewise: the all-reduce of the document over MiB. A piece holds below its bound, the next from it on.
using fit = curve::piecewise_polynomial<2, 3>;
constexpr auto reduce = fit::make({{8, {14.769, 27.0622573, -0.9698202}}, {fit::unbounded, {61.508333, 13.58491263}}});
static_assert(reduce->time(8) == 61.508333 + 13.58491263 * 8);
static_assert(reduce->time(7.999999) < 169.1986 && reduce->time(8) > 170.1876);
static_assert(curve::inverse(*reduce, 169.5, {0, 64}) < 8 && curve::inverse(*reduce, 14.7, {0, 64}) == curve::no_size);
static_assert(curve::inverse(*reduce, reduce->time(6), {0, 64}) > 5.999999999 &&
              curve::inverse(*reduce, reduce->time(6), {0, 64}) < 6.000000001);

// The quadratic alone bends down beyond 13.95 MiB: not a cost.
static_assert(fit::make({{fit::unbounded, {14.769, 27.0622573, -0.9698202}}}).error().code == errc::decreasing_cost);
static_assert(fit::make({{14, {14.769, 27.0622573, -0.9698202}}, {fit::unbounded, {300}}}).error().code ==
              errc::decreasing_cost);
static_assert(fit::make({{13.9, {14.769, 27.0622573, -0.9698202}}, {fit::unbounded, {300}}}).has_value());

// A table over arrays that live in the program.
constexpr std::array<double, 3> sizes{1, 2, 4}, us{10, 10, 30};
constexpr auto measured = curve::table_view::make(sizes, us);
static_assert(measured->time(0) == 10 && measured->time(3) == 20 && measured->time(8) == 70);
static_assert(curve::largest(*measured, 10, 0, 9) == 2 && curve::largest(*measured, 20, 0, 9) == 3 &&
              curve::largest(*measured, 9, 0, 9) == -1);

// Combinators.
constexpr auto rows = curve::delayed{curve::scaled{curve::per_row{curve::affine{.per_size = 64}, 1.0 / 64}, 1.5}, 2.0};
static_assert(rows.time(10) == 17 && curve::largest(rows, 17, 0, 99) == 10);
static_assert(curve::largest(curve::affine{.per_size = 2}, 9.0, 1, 100) == 4);
static_assert(curve::largest(host_copy{}, 63.0, 1, 100) == 3 && curve::largest(host_copy{}, 1.0, 1, 100) == 0);
