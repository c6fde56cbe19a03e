// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/core.hpp>
#include <hocket/curve.hpp>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"

namespace curve = hocket::curve;
using curve::sample;
using hocket::errc;

namespace {

// Leave-one-out over inner points of a latency and a rate, fitted by weighted least squares of relative errors.
double alpha_beta_error(const std::vector<sample>& points) {
  double sum = 0;
  for (std::size_t out = 1; out + 1 < points.size(); ++out) {
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (i == out) continue;
      const double weight = 1 / (points[i].us * points[i].us), x = points[i].size, y = points[i].us;
      w += weight;
      wx += weight * x;
      wy += weight * y;
      wxx += weight * x * x;
      wxy += weight * x * y;
    }
    const double rate = (w * wxy - wx * wy) / (w * wxx - wx * wx), fixed = (wy - rate * wx) / w;
    sum += std::fabs((fixed + rate * points[out].size) / points[out].us - 1);
  }
  return sum / static_cast<double>(points.size() - 2);
}

}  // namespace

TEST_CASE("measured all-reduce tables become curves that never fall, better than a latency and a rate", "[curve]") {
  std::ifstream file(std::string(HOCKET_TEST_DATA) + "/tiling/allreduce_measured.csv");
  std::map<std::string, std::vector<sample>> tables;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream in(line);
    std::string algorithm, size, us;
    std::getline(in, algorithm, ',');
    std::getline(in, size, ',');
    std::getline(in, us, ',');
    tables[algorithm].push_back({std::stod(size), std::stod(us)});
  }
  REQUIRE(tables.size() == 4);
  int better = 0;
  for (const auto& [algorithm, points] : tables) {
    INFO(algorithm);
    const auto fit = curve::fit_isotonic(points);
    REQUIRE(fit);
    double before = 0;
    for (double x = 0; x < 2 * points.back().size; x += points.back().size / 5000) {
      CHECK(fit->curve.time(x) >= before);
      before = fit->curve.time(x);
    }
    const double line_error = alpha_beta_error(points);
    better += fit->leave_one_out_error <= line_error ? 1 : 0;
    std::printf("%s: leave-one-out %.3f, latency and rate %.3f, pooled %lld\n", algorithm.c_str(),
                fit->leave_one_out_error, line_error, static_cast<long long>(fit->pooled));
  }
  CHECK(better >= 3);
}

TEST_CASE("isotonic regression by hand", "[curve]") {
  // 30, 20 at weights 1/900 and 1/400: (30/900 + 20/400) / (1/900 + 1/400) = 300/13.
  const auto fit = curve::fit_isotonic(std::vector<sample>{{4, 40}, {2, 20}, {1, 30}});
  REQUIRE(fit);
  CHECK(std::fabs(fit->curve.time(1) - 300.0 / 13) < 1e-12);
  CHECK(fit->curve.time(1) == fit->curve.time(2));
  CHECK(fit->curve.time(4) == 40);
  CHECK(fit->pooled == 2);
  CHECK(fit->merged == 0);
  // The median of repeated sizes, by weight.
  const auto median = curve::fit_isotonic(std::vector<sample>{{1, 10}, {1, 99}, {1, 11}, {2, 50, 1}, {2, 20, 5}});
  CHECK(median->curve.time(1) == 11);
  CHECK(median->curve.time(2) == 20);
  CHECK(median->merged == 3);
  REQUIRE(median->repairs.size() == 2);
  CHECK(median->repairs[0].kind == curve::repair_kind::merged);
  CHECK(median->repairs[0].before_us == 99);
  CHECK(median->repairs[0].after_us == 11);
  CHECK(fit->repairs.size() == 2);
  CHECK(fit->repairs[0].kind == curve::repair_kind::pooled);
  CHECK(median->worst_error == 0);
}

TEST_CASE("samples that are none are errors", "[curve]") {
  const auto code = [](std::vector<sample> s) {
    const auto r = curve::fit_isotonic(s);
    return r ? errc{} : r.error().code;
  };
  const double endless = std::numeric_limits<double>::infinity();
  CHECK(code({}) == errc::out_of_range);
  CHECK(code({{1, 2}}) == errc::out_of_range);
  CHECK(code({{1, 2}, {1, 3}}) == errc::out_of_range);
  for (const double bad : {0.0, -1.0, endless, std::nan("")}) {
    CHECK(code({{1, 2}, {bad, 3}}) == errc::bad_sample);
    CHECK(code({{1, 2}, {2, bad}}) == errc::bad_sample);
  }
  CHECK(code({{1, 2}, {2, 3, 0}}) == errc::invalid_argument);
  CHECK(message(curve::fit_isotonic(std::vector<sample>{{1, 2}, {2, std::nan("")}}).error()) ==
        "sample 2: its time must be finite and positive");
  CHECK(code({{1, 2}, {1, 9}, {2, 9}}) == errc::contradictory_samples);
  CHECK(code({{1, 2}, {1, 3}, {2, 9}}) == errc{});
  CHECK(code({{1, 2}, {1, 2}, {1, 900}, {2, 9}}) == errc{});  // one in three may be an outlier
}
