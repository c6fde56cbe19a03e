// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/core.hpp>
#include <hocket/curve.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include "catch.hpp"

namespace curve = hocket::curve;
using hocket::errc;

namespace {
constexpr double inf = std::numeric_limits<double>::infinity();
const double not_a_number = std::nan("");
}  // namespace

TEST_CASE("an affine curve refuses what is not a cost", "[curve]") {
  for (const double bad : {-1.0, not_a_number, inf}) {
    CHECK((check(curve::affine{.fixed = bad}).error().code == errc::bad_cost));
    CHECK((check(curve::affine{.per_size = bad}).error().code == errc::bad_cost));
    CHECK((check(curve::affine{.least = bad}).error().code == errc::bad_cost));
  }
  CHECK(curve::inverse(curve::affine{.fixed = 3}, 3, {0, 1e6}) == 1e6);
  CHECK(curve::inverse(curve::affine{.fixed = 3, .per_size = 1}, not_a_number, {0, 1e6}) == curve::no_size);
}

TEST_CASE("a piecewise polynomial refuses what is not a cost", "[curve]") {
  using f = curve::piecewise_polynomial<3, 4>;
  const auto code = [](const auto& r) { return r ? errc{} : r.error().code; };
  CHECK(code(f::make({{f::unbounded, {1, not_a_number}}})) == errc::bad_cost);
  CHECK(code(f::make({{f::unbounded, {inf}}})) == errc::bad_cost);
  CHECK(code(f::make({{f::unbounded, {-1, 5}}})) == errc::bad_cost);
  CHECK(code(f::make({{f::unbounded, {1, -1e-9}}})) == errc::decreasing_cost);
  CHECK(code(f::make({{f::unbounded, {1, 1, 0, -1e-15}}})) == errc::decreasing_cost);     // falls, but only far out
  CHECK(code(f::make({{f::unbounded, {1, 3, -3, 1}}})) == errc{});                        // (x - 1)^3 + 2, flat at 1
  CHECK(code(f::make({{f::unbounded, {3, 2, -3, 1}}})) == errc::decreasing_cost);         // dips between 0.4 and 1.6
  CHECK(code(f::make({{8, {10, 1}}, {f::unbounded, {17, 0.5}}})) == errc{});              // 18 -> 21: a jump up is fine
  CHECK(code(f::make({{8, {10, 1}}, {f::unbounded, {9, 1}}})) == errc::decreasing_cost);  // 18 -> 17
  CHECK(code(f::make({{8, {1}}, {4, {2}}, {f::unbounded, {3}}})) == errc::invalid_argument);  // bounds out of order
  CHECK(code(f::make({{8, {1}}, {8, {2}}, {f::unbounded, {3}}})) == errc::invalid_argument);  // an empty piece
  CHECK(code(f::make({{8, {1}}})) == errc::invalid_argument);                                 // the last is unbounded
  CHECK(code(f::make({{not_a_number, {1}}, {f::unbounded, {3}}})) == errc::invalid_argument);
  CHECK(code(f::make(std::span<const f::piece>{})) == errc::out_of_range);
  CHECK(message(f::make({{f::unbounded, {5, -1}}}).error()).find("falls between size 0 and size") != std::string::npos);
}

TEST_CASE("a piecewise polynomial gives back its pieces", "[curve]") {
  using f = curve::piecewise_polynomial<3, 2>;
  const std::vector<f::piece> pieces{{4, {1, 2}}, {8, {3, 4}}, {f::unbounded, {5, 6}}};
  for (std::size_t count = 1; count <= 3; ++count) {
    const std::vector<f::piece> last(pieces.end() - static_cast<std::ptrdiff_t>(count), pieces.end());
    const auto made = f::make(last);
    REQUIRE(made);
    REQUIRE(made->size() == count);
    const auto again = made->all_pieces();
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(again[i].below == last[i].below);
      CHECK(again[i].coefficients == last[i].coefficients);
    }
    for (std::size_t i = count; i < 3; ++i) CHECK(again[i].coefficients == std::array<double, 2>{});
  }
}

TEST_CASE("the inverse of a piecewise polynomial is the largest size that fits", "[curve]") {
  using f = curve::piecewise_polynomial<4, 4>;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> number(0, 3);
  int steps = 0;
  for (int round = 0; round < 200; ++round) {
    // Never-falling pieces, each of them convex, each starting at or above the end of the one before.
    std::vector<f::piece> pieces(1 + random() % 4);
    double bound = 0, end = number(random);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      auto& c = pieces[i].coefficients;
      const std::size_t degree = random() % 4;
      for (std::size_t j = 1; j <= degree; ++j) c[j] = number(random);
      const double start = c[1] * bound + c[2] * bound * bound + c[3] * bound * bound * bound;
      c[0] = end - start + number(random) + 1e-9 * (1 + start);
      if (c[0] < 0) {
        c[0] = 0;
        c[1] = c[2] = c[3] = 0;
        c[0] = end + 1;
      }
      bound += 0.5 + number(random);
      if (i + 1 < pieces.size()) pieces[i].below = bound;
      end = c[0] + c[1] * bound + c[2] * bound * bound + c[3] * bound * bound * bound;
    }
    const auto made = f::make(pieces);
    REQUIRE(made);
    for (int probe = 0; probe < 50; ++probe) {
      const double t = number(random) * end / 2;
      const double x = curve::inverse(*made, t, {0, 1e6});
      INFO("round " << round << " t " << t << " x " << x);
      if (x == curve::no_size) {
        CHECK(made->time(0) > t);
      } else if (x == 1e6) {
        CHECK(made->time(1e6) <= t);
      } else {
        ++steps;
        CHECK(made->time(x * (1 - 1e-9)) <= t * (1 + 1e-9));
        CHECK(made->time(x * (1 + 1e-9) + 1e-12) > t * (1 - 1e-9));
      }
    }
  }
  CHECK(steps > 3000);
}

TEST_CASE("a table gives back what was measured and can be inverted", "[curve]") {
  const std::vector<double> sizes{0.5, 1, 2, 4, 8, 16}, us{7, 8, 8, 11, 17, 26.3};
  const auto t = curve::table::make(sizes, us);
  REQUIRE(t);
  for (std::size_t i = 0; i < sizes.size(); ++i) CHECK(t->time(sizes[i]) == us[i]);
  CHECK(t->time(0) == 7);
  CHECK(t->time(32) > 26.3);
  CHECK(std::fabs(curve::inverse(*t, 8, {0, 100}) - 2) < 1e-9);  // the plateau ends there
  CHECK(curve::inverse(*t, 6.9, {0, 100}) == curve::no_size);
  for (double x = 2.1; x < 40; x += 0.37) CHECK(std::fabs(curve::inverse(*t, t->time(x), {0, 100}) - x) < 1e-9);
  CHECK(t->domain() == curve::interval{0.5, 16});
  const auto flat = curve::table::make(std::vector<double>{4}, std::vector<double>{3});
  CHECK(flat->time(100) == 3);
  CHECK(curve::inverse(*flat, 3, {0, 100}) == 100);
}

TEST_CASE("a table refuses what is not a cost", "[curve]") {
  const auto code = [](std::vector<double> sizes, std::vector<double> us) {
    const auto r = curve::table::make(sizes, us);
    return r ? errc{} : r.error().code;
  };
  CHECK(code({}, {}) == errc::invalid_argument);
  CHECK(code({1, 2}, {1}) == errc::invalid_argument);
  CHECK(code({1, 1}, {1, 2}) == errc::invalid_argument);
  CHECK(code({2, 1}, {1, 2}) == errc::invalid_argument);
  CHECK(code({not_a_number}, {1}) == errc::invalid_argument);
  CHECK(code({1, 2}, {1, not_a_number}) == errc::bad_cost);
  CHECK(code({1, 2}, {-1, 2}) == errc::bad_cost);
  CHECK(code({1, 2}, {1, inf}) == errc::bad_cost);
  CHECK(code({1, 2, 3}, {29, 24, 25}) == errc::decreasing_cost);  // as measured all-reduce tables do
}

TEST_CASE("sizes and coefficients at the ends of a double are refused without undefined behaviour", "[curve]") {
  const auto table = [](std::vector<double> sizes, std::vector<double> us) {
    const auto r = curve::table::make(sizes, us);
    return r ? hocket::error{} : r.error();
  };
  CHECK(table({-1e300, 1}, {1, 2}).code == errc::invalid_argument);
  CHECK(table({1, 1e300}, {1, inf}).values[0] == std::numeric_limits<std::int64_t>::max());
  const auto falls = table({1e299, 1e300}, {2, 1});
  CHECK(falls.code == errc::decreasing_cost);
  CHECK(falls.values[0] == std::numeric_limits<std::int64_t>::max());
  // 1 - 1e300 x + 1e-300 x^5 turns where the ratio of its coefficients is infinite as a double.
  using fit = curve::piecewise_polynomial<1, 6>;
  const auto wide = fit::make({{fit::unbounded, {1, -1e300, 0, 0, 0, 1e-300}}});
  REQUIRE_FALSE(wide);
  CHECK(wide.error().code == errc::bad_cost);
}
