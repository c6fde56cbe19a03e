// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/curve.hpp>

#include <vector>

#include "catch.hpp"

namespace curve = hocket::curve;

TEST_CASE("a curve chosen at run time is the curve that was put in", "[curve]") {
  const curve::affine a{.fixed = 2, .per_size = 0.25, .least = 16};
  const auto p = *curve::stored_polynomial::make(
      {{8, {14.769, 27.0622573, -0.9698202}}, {curve::stored_polynomial::unbounded, {61.508333, 13.58491263}}});
  const auto t = *curve::table::make(std::vector<double>{128, 256, 1024}, std::vector<double>{10, 12, 40});
  const std::vector<curve::any_curve> curves{a, {p, 1.0 / 64}, t};
  for (double rows = 1; rows < 3000; rows += 7) {
    CHECK(curves[0].time(rows) == a.time(rows));
    CHECK(curves[1].time(rows) == p.time(rows / 64));
    CHECK(curves[2].time(rows) == t.time(rows));
  }
  CHECK(curve::domain(curves[0]) == curve::interval{});
  CHECK(curve::domain(curves[2]) == curve::interval{128, 1024});
}

TEST_CASE("matrix products and links take their place too, in groups as well", "[curve]") {
  const auto product = curve::matmul_roofline::of(4096, 1024, 2, {.tflops = 300, .launch_us = 2, .cores = 20});
  const curve::alpha_beta link{.alpha_us = 4, .gb_per_s = 50};
  const std::vector<curve::any_curve> curves{product, {link, 2048}};
  const auto grouped = curves[0].in_groups(8);
  for (double rows = 1; rows < 3000; rows += 7) {
    CHECK(curves[0].time(rows) == product.time(rows));
    CHECK(curves[1].time(rows) == link.time(rows * 2048));
    CHECK(grouped.time(rows) == 8 * product.time(rows / 8));
  }
}

TEST_CASE("a domain is carried along and never widened", "[curve]") {
  const curve::any_curve f = curve::affine{.fixed = 2, .per_size = 0.25};
  CHECK(curve::domain(f.within({128, 4096})) == curve::interval{128, 4096});
  CHECK(curve::domain(f.within({128, 4096}).within({1, 1024})) == curve::interval{128, 1024});
  CHECK(curve::domain(f.within({128, 4096}).in_groups(4)) == curve::interval{512, 16384});
  CHECK(curve::domain(curve::any_curve{curve::alpha_beta{}, 0.1}.within({3, 7})) == curve::interval{3, 7});
  const auto t = *curve::table::make(std::vector<double>{128, 256, 1024}, std::vector<double>{10, 12, 40});
  CHECK(curve::domain(curve::any_curve{t}.within({1, 512})) == curve::interval{128, 512});
  CHECK(f.within({128, 4096}).time(10000) == f.time(10000));

  const curve::sample samples[] = {{128, 20, 1}, {256, 30, 1}, {512, 52, 1}, {1024, 99, 1}};
  const auto fitted = *curve::fit_segments(samples);
  const auto b = fitted.bounded();
  CHECK(curve::domain(b) == curve::interval{128, 1024});
  CHECK(curve::domain(curve::scaled{b, 2.0}) == curve::interval{128, 1024});
  for (const double size : {1.0, 200.0, 5000.0}) CHECK(b.time(size) == fitted.curve.time(size));
}
