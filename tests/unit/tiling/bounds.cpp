// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of the lower bound, each against a slow oracle: a bound that is merely lower than it could be breaks
// nothing elsewhere.
#include <hocket/tiling.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "catch.hpp"

namespace tiling = hocket::tiling;
namespace detail = hocket::tiling::detail;
using hocket::ticks;

namespace {

struct point {
  std::int64_t x;
  ticks y;
};

/// The least value at sum / k of any line between two of the points; beyond the ends, that of the end. By all pairs.
double least_line(const std::vector<point>& points, double at) {
  const auto by_x = [](const point& a, const point& b) { return a.x != b.x ? a.x < b.x : a.y < b.y; };
  const point first = *std::min_element(points.begin(), points.end(), by_x);
  const std::int64_t end = std::max_element(points.begin(), points.end(), by_x)->x;
  if (at <= static_cast<double>(first.x)) return static_cast<double>(first.y);
  double least = HUGE_VAL;
  for (const point& a : points)
    for (const point& b : points) {
      const double ax = static_cast<double>(a.x), bx = static_cast<double>(b.x);
      const double ay = static_cast<double>(a.y), by = static_cast<double>(b.y);
      if (a.x == end && at >= ax) least = std::min(least, ay);
      if (ax < at && at < bx) least = std::min(least, ay + (by - ay) * ((at - ax) / (bx - ax)));
      if (ax == at) least = std::min(least, ay);
    }
  return least;
}

/// Any cost at all, by lookup.
struct lookup {
  std::vector<double> us;
  [[nodiscard]] double time(double rows) const noexcept { return us[static_cast<std::size_t>(rows)]; }
};
using instance = tiling::problem<std::vector<tiling::phase<lookup>>>;

instance any_problem(std::mt19937_64& random, std::int64_t units) {
  instance p;
  p.axis.align = 1 + static_cast<std::int64_t>(random() % 3);
  p.axis.rows = units * p.axis.align - static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(p.axis.align));
  p.axis.least_tile = 1 + static_cast<std::int64_t>(random() % 4);
  for (std::size_t q = 1 + random() % hocket::tiling::max_phases; q > 0; --q) {
    lookup f;
    for (std::int64_t r = 0; r <= p.axis.rows; ++r) f.us.push_back(1 + static_cast<double>(random() % 1'000));
    p.phases.push_back({tiling::phase_kind::compute, f, random() % 2 == 0 ? 1.0 : 0.5});
    p.phases.back().ready = std::chrono::microseconds(random() % 3 == 0 ? random() % 2'000 : 0);
  }
  return p;
}

}  // namespace

TEST_CASE("the lower hull is below every line between two points, and on the least of them", "[tiling]") {
  std::mt19937_64 random(61);
  for (int round = 0; round < 1'000; ++round) {
    std::vector<point> points;
    std::int64_t x = static_cast<std::int64_t>(random() % 3);
    for (std::size_t n = 1 + random() % 9; n > 0; --n) {
      points.push_back({x, static_cast<ticks>(random() % 20)});
      x += static_cast<std::int64_t>(random() % 4);  // now and then several of one x, also at the ends
    }
    detail::lower_hull hull;
    for (const point& p : points) hull.add(p.x, p.y);
    for (std::int64_t k = 1; k <= 4; ++k)
      for (std::int64_t sum = 0; sum <= k * (x + 2); ++sum) {
        INFO("round " << round << " k " << k << " sum " << sum);
        const double at = static_cast<double>(sum) / static_cast<double>(k);
        const double wanted = static_cast<double>(k) * least_line(points, at);
        CHECK(static_cast<double>(hull.times_at_mean(k, sum)) == std::ceil(wanted - 1e-6));
        const auto [fixed, slope] = hull.tangent_at_mean(k, sum);
        for (const point& p : points)
          CHECK(fixed + slope * static_cast<double>(p.x) <= static_cast<double>(p.y) + 1e-6);
        if (at < static_cast<double>(points.front().x) || at > static_cast<double>(points.back().x)) continue;
        CHECK(std::fabs(static_cast<double>(k) * (fixed + slope * at) - wanted) < 1e-6);
      }
  }
}

TEST_CASE("what all tile lengths say about the phases, by going through them", "[tiling]") {
  std::mt19937_64 random(62);
  for (int round = 0; round < 120; ++round) {
    const std::int64_t units = round % 6 == 5 ? 129 + static_cast<std::int64_t>(random() % 600)
                                              : 2 + static_cast<std::int64_t>(random() % (round % 6 == 4 ? 127 : 20));
    const instance p = any_problem(random, units);
    INFO("round " << round << " units " << units << " rows " << p.axis.rows);
    const detail::grid axis(p.axis);
    detail::clock<decltype(p.phases)> timer(p);
    detail::length_facts<decltype(p.phases)> facts;
    facts.read(axis, timer);
    const std::size_t phases = timer.phases();
    const auto ready = timer.start();
    std::vector<std::vector<point>> points(phases);
    std::vector<ticks> before(phases, detail::length_facts<decltype(p.phases)>::unset), behind(before);
    // The whole axis is no tile of several; in blocks it may be taken for one, which only lowers the bound.
    const std::int64_t block = (units + 127) / 128;
    const std::int64_t last = block == 1 ? units - 1 : units - ((units - 1) % block == 0 ? 1 : 0);
    for (std::int64_t u = 1; u <= last; ++u)
      for (const std::int64_t rows : {u * p.axis.align - axis.shortage, u * p.axis.align}) {
        if (rows < p.axis.least_tile || rows > p.axis.rows) continue;
        const auto t = timer.least_times(rows);
        for (std::size_t q = 0; q < phases; ++q) {
          points[q].push_back({rows, t[q]});
          ticks head = 0, tail = 0;
          for (std::size_t i = 0; i < q; ++i) head = std::max(head, ready[i]) + t[i];
          for (std::size_t i = q + 1; i < phases; ++i) tail += t[i];
          before[q] = std::min(before[q], std::max(head, ready[q]));
          behind[q] = std::min(behind[q], tail);
        }
      }
    CHECK(facts.any() == !points[0].empty());
    for (std::size_t q = 0; q < phases && facts.any(); ++q) {
      CHECK(facts.before[q] == before[q]);
      CHECK(facts.behind[q] == behind[q]);
      for (const point& each : points[q]) {
        if (block > 1) CHECK(facts.hull[q].times_at_mean(1, each.x) <= each.y);
        else
          CHECK(static_cast<double>(facts.hull[q].times_at_mean(1, each.x)) ==
                std::ceil(least_line(points[q], static_cast<double>(each.x)) - 1e-6));
      }
    }
  }
}

TEST_CASE("of two tiles one-plus-n finds the best, where it looks at a sample of the lengths too", "[tiling]") {
  namespace curve = hocket::curve;
  std::mt19937_64 random(63);
  const auto any = [&](std::uint64_t below) { return static_cast<double>(random() % below) / 16; };
  for (int round = 0; round < 60; ++round) {
    const auto rows = static_cast<std::int64_t>(round % 2 == 0 ? 200 + random() % 120 : 1'000 + random() % 9'000);
    const curve::affine slow{.fixed = any(20), .per_size = 1 + any(64)}, fast{.fixed = any(200), .per_size = any(16)};
    // The slow phase wants the other's tile to be as short as can be: the ends of the lengths count.
    const bool computes = random() % 2 == 0;
    const auto p = tiling::problem({.rows = rows, .align = 1, .max_tiles = 2}, tiling::compute(computes ? slow : fast),
                                   tiling::comm(computes ? fast : slow));
    auto least = tiling::serial_time(p).value();
    for (std::int64_t u = 1; u < rows; ++u)
      least = std::min(least, tiling::makespan(p, std::vector<std::int64_t>{u, rows - u}).value());
    INFO("round " << round << " rows " << rows);
    CHECK(tiling::solve(p, {.policy = tiling::policy::one_plus_n})->predicted == least);
  }
}

TEST_CASE("an axis has the defaults that the documents tell", "[tiling]") {
  const tiling::row_axis a{};
  CHECK((a.rows == 0 && a.align == 128));
  CHECK(a.max_tiles == 16);
  CHECK(a.least_tile == 1);
  CHECK(a.rest == tiling::remainder::either);
  CHECK(a.format == tiling::tile_format::any);
  CHECK(a.shorter == tiling::short_end::either);
  const tiling::matmul_shape shape;
  CHECK((shape.k == 0 && shape.n == 0 && shape.element_bytes == 2));
}

TEST_CASE("a bound is computed for 2^20 units, and for no more", "[tiling]") {
  namespace curve = hocket::curve;
  for (const std::int64_t more : {0, 1}) {
    const auto p = tiling::problem({.rows = (std::int64_t{1} << 20) + more, .align = 1, .max_tiles = 2},
                                   tiling::compute(curve::affine{.fixed = 10, .per_size = 0.01}),
                                   tiling::comm(curve::affine{.fixed = 10, .per_size = 0.01}));
    const auto plan = tiling::solve(p, {.policy = tiling::policy::uniform});
    REQUIRE(plan);
    CHECK((plan->lower_bound.count() > 0) == (more == 0));
    CHECK(plan->bound == (more == 0 ? tiling::bound_kind::envelope : tiling::bound_kind::none));
  }
}

TEST_CASE("a makespan of 2,048 tiles, and of no more", "[tiling]") {
  namespace curve = hocket::curve;
  const auto p = tiling::problem({.rows = 4'096, .align = 1}, tiling::compute(curve::affine{.fixed = 1, .per_size = 1}),
                                 tiling::comm(curve::affine{.fixed = 1, .per_size = 1}));
  std::vector<std::int64_t> tiles(2'048, 2);
  CHECK(tiling::makespan(p, tiles).has_value());
  tiles.back() = 1;
  tiles.push_back(1);
  CHECK(tiling::makespan(p, tiles).error() == hocket::error{hocket::errc::too_many_tiles, 2'049, 2'048});
}
