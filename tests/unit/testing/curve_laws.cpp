// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every curve of the library obeys the laws; for each law there is a curve that breaks it, and is told so.
#include <hocket/testing/curve_laws.hpp>

#include <hocket/curve.hpp>
#include <hocket/testing/random_source.hpp>

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "catch.hpp"

namespace wrong_curves {
namespace {

using namespace hocket::curve;
using hocket::testing::broken_law;

constexpr interval rows{0, 8192};

/// Obeys the laws under every combinator, too.
template <class F>
void check_laws(const F& f) {
  CHECK(broken_law(f, rows) == "");
  CHECK(broken_law(any_curve(f), rows) == "");
  CHECK(broken_law(scaled{f, 1.15}, rows) == "");
  CHECK(broken_law(per_row{f, 0.015625}, rows) == "");
  CHECK(broken_law(delayed{f, 3.5}, rows) == "");
  CHECK(broken_law(bounded_to{f, {128, 4096}}, rows) == "");
  CHECK(broken_law(rounded_up{f, 128.0}, rows) == "");
  CHECK(broken_law(sum_of{f, affine{.fixed = 1, .per_size = 0.1}}, rows) == "");
  CHECK(broken_law(max_of{f, affine{.fixed = 1, .per_size = 0.1}}, rows) == "");
  CHECK(broken_law(grouped{f, 8}, rows) == "");
  const std::vector<double> shares{0.5, 0.3, 0.2};
  CHECK(broken_law(shared_out{f, shares}, rows) == "");
}

struct pieces_that_lie {
  struct piece {
    double below;
    std::vector<double> coefficients;
  };
  std::vector<piece> held;
  [[nodiscard]] std::size_t size() const { return held.size(); }
  [[nodiscard]] const std::vector<piece>& all_pieces() const { return held; }
  [[nodiscard]] static double time(double x) { return 1 + x; }
};
struct points_that_lie {
  std::vector<double> at, took;
  [[nodiscard]] std::span<const double> sizes() const { return at; }
  [[nodiscard]] std::span<const double> us() const { return took; }
  [[nodiscard]] static double time(double x) { return 2 * x; }
};
struct moody {
  mutable int asked = 0;
  [[nodiscard]] double time(double) const { return ++asked; }
};
struct moody_domain {
  mutable double end = 10;
  [[nodiscard]] static double time(double) { return 1; }
  [[nodiscard]] interval domain() const { return {0, ++end}; }
};
struct backwards_domain {
  [[nodiscard]] static double time(double) { return 1; }
  [[nodiscard]] static interval domain() { return {9, 8}; }
};

}  // namespace
}  // namespace wrong_curves

TEST_CASE("the library's curves and combinators obey the laws", "[testing]") {
  using namespace wrong_curves;
  check_laws(affine{.fixed = 6, .per_size = 0.25, .least = 128});
  check_laws(alpha_beta{.alpha_us = 4, .gb_per_s = 50});
  check_laws(matmul_roofline::of(4096, 4096, 2, {.tflops = 300, .gb_per_s = 3000, .launch_us = 6, .cores = 20}));
  using fit = stored_polynomial;
  check_laws(fit::make({{8, {14.769, 27.0622573, -0.9698202}}, {fit::unbounded, {61.508333, 13.58491263}}}).value());
  const std::vector<double> sizes{64, 100, 1000, 5000}, us{3, 3, 40.7, 41};
  check_laws(table::make(sizes, us).value());
  CHECK(broken_law(table_view::make(sizes, us).value(), rows) == "");
  CHECK(broken_law(function{[](double x) { return std::sqrt(x); }}, rows) == "");
}

TEST_CASE("random fits obey the laws", "[testing]") {
  using namespace wrong_curves;
  hocket::testing::random_source random(7);
  for (int round = 0; round < 60; ++round) {
    std::vector<sample> measured;
    double size = 1, us = 1;
    for (std::uint32_t i = 0, n = 4 + random.below(12); i < n; ++i) {
      size += 1 + random.below(500);
      us += random.below(1000) / 100.0;
      measured.push_back({size, us * (1 + random.below(100) / 1000.0)});
    }
    const auto smooth = fit_segments(measured);
    const auto exact = fit_isotonic(measured);
    REQUIRE(smooth);
    REQUIRE(exact);
    CHECK(broken_law(smooth->curve, rows) == "");
    CHECK(broken_law(smooth->bounded(), rows) == "");
    CHECK(broken_law(exact->curve, rows) == "");
  }
}

TEST_CASE("a curve with times that cannot be", "[testing]") {
  using namespace wrong_curves;
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  CHECK(broken_law(function{[](double x) { return x - 5; }}, rows) == "time(0) is -5");
  CHECK(broken_law(function{[](double x) { return x == 4096 ? none : 1.0; }}, rows) == "time(4096) is nan");
  CHECK(broken_law(function{[](double x) { return x < 8192 ? 1.0 : 1 / 0.0; }}, rows) ==
        "time(8192) is inf us, beyond 64 bits of picoseconds");
  CHECK(broken_law(function{[](double x) { return x * 1e10; }}, rows) ==
        "time(925.696) is 9.25696e+12 us, beyond 64 bits of picoseconds");
  CHECK(broken_law(moody{}, rows) == "time(0) is another one when asked again");
}

TEST_CASE("a curve that falls, and one that says so", "[testing]") {
  using namespace wrong_curves;
  const function protocol{[](double x) { return x < 1000 ? 5 + x * 0.05 : 20 + x * 0.01; }};
  CHECK(broken_law(protocol, rows) == "it falls: time(999.424) is 54.9712, time(1007.616) is 30.07616");
  CHECK(broken_law(protocol, rows, {.may_fall = true}) == "");
  // Between the sizes that are tried: the bisection of the inverse comes across it.
  const function dip{[](double x) { return x > 3071.5 && x < 3072.5 ? x - 2000 : x; }};
  CHECK(broken_law(dip, {0, 4096}, {.points = 2}).substr(0, 32) == "its inverse disagrees: time(2048");
  const function peak{[](double x) { return x > 3071.5 && x < 3072.5 ? x + 2000 : x; }};
  CHECK(broken_law(peak, {0, 4096}, {.points = 8}).substr(0, 20) == "it falls: time(3072)");
  CHECK(broken_law(peak, {0, 4095}, {.points = 3}) == "");  // and what no size comes across is not seen
  CHECK(broken_law(peak, {0, 4095}, {.points = 8190}).substr(0, 20) == "it falls: time(3072)");
}

TEST_CASE("breakpoints and domains that disagree with the curve", "[testing]") {
  using namespace wrong_curves;
  CHECK(broken_law(points_that_lie{{1, 2, 3}, {2, 4, 6}}, rows) == "");
  CHECK(broken_law(points_that_lie{{1, 2, 3}, {2, 5, 6}}, rows) == "time(2) is 4, but it holds 5");
  CHECK(broken_law(points_that_lie{{1, 3, 2}, {2, 6, 4}}, rows) == "its sizes do not ascend at index 2");
  CHECK(broken_law(points_that_lie{{1, 2}, {2}}, rows) == "it holds 2 sizes and 1 times");
  CHECK(broken_law(pieces_that_lie{{{8, {1, 1}}, {1e9, {1, 1}}}}, rows) == "");
  CHECK(broken_law(pieces_that_lie{{{8, {1, 1}}, {1000, {0, 1}}}}, rows) == "time(504) is 505, but piece 1 says 504");
  CHECK(broken_law(pieces_that_lie{{{8, {1, 1}}, {8, {1, 1}}}}, rows) == "the bound of piece 1 is 8");
  CHECK(broken_law(moody_domain{}, rows) == "domain() is another one when asked again");
  CHECK(broken_law(backwards_domain{}, rows) == "domain() is 9 to 8");
  CHECK(broken_law(affine{}, {5, 4}) == "these laws need sizes from 0 on with a finite end, and at least one point");
  CHECK(broken_law(affine{}, {}) == "these laws need sizes from 0 on with a finite end, and at least one point");
}
