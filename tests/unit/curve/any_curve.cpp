// SPDX-License-Identifier: Apache-2.0
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
    const double us = rows / 40;
    CHECK(curves[0].inverse(us) == a.inverse(us));
    CHECK(curves[1].inverse(us) == (p.inverse(us) < 0 ? curve::no_size : p.inverse(us) * 64));
    CHECK(curves[2].inverse(us) == t.inverse(us));
  }
  CHECK(curve::domain(curves[0]) == curve::interval{});
  CHECK(curve::domain(curves[2]) == curve::interval{128, 1024});
}
