// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/curve.hpp>

#include <cmath>
#include <cstdint>
#include <random>

#include "catch.hpp"

namespace curve = hocket::curve;

namespace {

template <class F>
std::int64_t by_scan(const F& f, double t, std::int64_t first, std::int64_t last) {
  std::int64_t found = first - 1;
  for (std::int64_t x = first; x <= last; ++x)
    if (f.time(static_cast<double>(x)) <= t) found = x;
  return found;
}

template <class F>
void compare(const F& f, std::mt19937_64& random, double top) {
  std::uniform_real_distribution<double> time(-0.1 * top, top);
  for (int i = 0; i < 300; ++i) {
    // Half of the times are exactly those of a size, where a rounding of the inverse would show.
    const auto first = static_cast<std::int64_t>(random() % 40);
    const auto last = first + static_cast<std::int64_t>(random() % 300);
    const double t = i % 2 == 0 ? time(random) : f.time(static_cast<double>(random() % 400));
    INFO("t " << t << " in [" << first << ", " << last << "]");
    CHECK(curve::largest(f, t, first, last) == by_scan(f, t, first, last));
  }
}

}  // namespace

TEST_CASE("largest() finds what a scan finds", "[curve]") {
  std::mt19937_64 random(3);
  using fit = curve::piecewise_polynomial<2, 3>;
  const auto reduce = *fit::make({{8, {14.769, 27.0622573, -0.9698202}}, {fit::unbounded, {61.508333, 13.58491263}}});
  compare(curve::affine{.fixed = 0.1, .per_size = 0.3, .least = 17}, random, 120);
  compare(curve::mib_of_rows(reduce, 100'000), random, 600);
  compare(curve::per_row{curve::scaled{reduce, 1.15}, 0.1}, random, 600);
  compare(curve::function{[](double x) { return 6 + std::ceil(x / 37) * 2.5; }}, random, 40);  // steps
  compare(curve::any_curve{*curve::table::make(std::vector<double>{3, 50, 51, 200}, std::vector<double>{1, 1, 4, 20})},
          random, 40);
}
