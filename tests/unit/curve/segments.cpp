// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/core.hpp>
#include <hocket/curve.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"

namespace curve = hocket::curve;
using hocket::errc;

namespace curve_segments {
namespace {

std::map<std::string, std::vector<curve::sample>> tables() {
  std::ifstream file(std::string(HOCKET_TEST_DATA) + "/tiling/allreduce_measured.csv");
  std::map<std::string, std::vector<curve::sample>> out;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream in(line);
    std::string algorithm, size, us;
    std::getline(in, algorithm, ',');
    std::getline(in, size, ',');
    std::getline(in, us, ',');
    out[algorithm].push_back({std::stod(size), std::stod(us)});
  }
  return out;
}

template <class F>
void never_falls(const F& f, double top) {
  double before = 0;
  for (double x = 0; x < top; x += top / 4000) {
    const double t = f.time(x);
    if (t < before) CHECK(t >= before);
    before = t;
  }
}

}  // namespace

TEST_CASE("pieces are found where the rate changes", "[curve]") {
  std::mt19937_64 random(2);
  std::vector<curve::sample> samples;
  for (double x = 1; x <= 64; x += 1) {
    const double us = x < 20 ? 10 + 2 * x : 80 + 0.5 * x;
    samples.push_back({x, us * (0.998 + static_cast<double>(random() % 1000) * 4e-6), 3});
  }
  const auto fit = curve::fit_segments(samples);
  REQUIRE(fit);
  CHECK(fit->curve.size() == 2);
  CHECK(fit->mean_error < 0.002);
  CHECK(fit->leave_one_out_error < 0.02);
  CHECK(fit->residuals.size() == samples.size());
  CHECK(fit->domain == curve::interval{1, 64});
  CHECK(fit->curve.time(19.9) < 51);
  CHECK(fit->curve.time(20) > 88);
  CHECK(std::fabs(fit->curve.time(128) - 144) < 2);
  CHECK(curve::fit_segments(samples, 1)->curve.size() == 1);
}

TEST_CASE("segments of published measurements never fall", "[curve]") {
  int better = 0;
  for (const auto& [algorithm, points] : tables()) {
    INFO(algorithm);
    const auto fit = curve::fit_segments(points);
    REQUIRE(fit);
    never_falls(fit->curve, 2 * points.back().size);
    const auto line = curve::fit_segments(points, 1);
    std::printf("%s: segments %zu, leave-one-out %.3f, one line %.3f, repairs %zu\n", algorithm.c_str(),
                fit->curve.size(), fit->leave_one_out_error, line->leave_one_out_error, fit->repairs.size());
    better += fit->leave_one_out_error <= line->leave_one_out_error ? 1 : 0;
  }
  CHECK(better >= 3);
}

TEST_CASE("segments of noise never fall either, and every repair is told", "[curve]") {
  std::mt19937_64 random(9);
  bool joints = false, pooled = false;
  for (int round = 0; round < 300; ++round) {
    std::vector<curve::sample> samples;
    const auto count = 2 + random() % 30;
    double x = 0;
    for (std::size_t i = 0; i < count; ++i) {
      x += 1 + static_cast<double>(random() % 100) / 10;
      samples.push_back(
          {x, 1 + static_cast<double>(random() % 1000) / 10, static_cast<std::int64_t>(1 + random() % 5)});
    }
    const auto fit = curve::fit_segments(samples, static_cast<std::int64_t>(1 + random() % 8));
    REQUIRE(fit);
    never_falls(fit->curve, 2 * x);
    for (const auto& r : fit->repairs) {
      joints = joints || r.kind == curve::repair_kind::joint;
      pooled = pooled || r.kind == curve::repair_kind::pooled;
    }
  }
  CHECK(pooled);
  CHECK(joints);
  CHECK(curve::fit_segments(std::vector<curve::sample>{{1, 1}, {2, 2}}, 0).error().code == errc::out_of_range);
  CHECK(curve::fit_segments(std::vector<curve::sample>{{1, 1}}).error().code == errc::out_of_range);
  CHECK(curve::fit_segments(std::vector<curve::sample>{{1, 1}, {2, -2}}).error().code == errc::bad_sample);
}

TEST_CASE("the next size to measure lies in the gap that says least", "[curve]") {
  double sizes[5];
  // Nothing known: the ends, then geometric middles.
  REQUIRE(curve::sizes_to_measure({}, {256, 4096}, sizes).value() == 5);
  CHECK(std::vector<double>(sizes, sizes + 5) == std::vector<double>{256, 4096, 1024, 512, 2048});
  // A jump between 512 and 1024, flat elsewhere.
  const std::vector<curve::sample> samples{{256, 10}, {512, 11}, {1024, 40}, {2048, 42}};
  REQUIRE(curve::sizes_to_measure(samples, {256, 2048}, std::span(sizes, 1)).value() == 1);
  CHECK(sizes[0] == 724);
  REQUIRE(curve::sizes_to_measure(samples, {256, 8192}, std::span(sizes, 1)).value() == 1);
  CHECK(sizes[0] == 8192);
  CHECK(curve::sizes_to_measure(std::vector<curve::sample>{{1, 1}, {2, 2}}, {1, 2}, sizes).value() == 0);  // all known
  // Between 1.9 and 2 there is no whole size: only the ends that were not measured are left.
  REQUIRE(curve::sizes_to_measure(std::vector<curve::sample>{{1.9, 10}, {2, 20}}, {1, 2}, sizes).value() == 1);
  CHECK(sizes[0] == 1);
  REQUIRE(curve::sizes_to_measure(std::vector<curve::sample>{{2, 10}, {2.1, 20}}, {2, 3}, sizes).value() == 1);
  CHECK(sizes[0] == 3);
  CHECK(curve::sizes_to_measure({}, {0, 5}, sizes).error().code == errc::invalid_argument);
  CHECK(curve::sizes_to_measure({}, {6, 5}, sizes).error().code == errc::invalid_argument);
}

TEST_CASE("a matrix product in waves", "[curve]") {
  // 4 column blocks on 10 cores: 2 rows of blocks fit a wave and a half.
  constexpr curve::matmul_roofline f{.launch_us = 1, .wave_us = 10, .column_blocks = 4, .cores = 10, .block_rows = 128};
  static_assert(f.time(256) == 11 && f.time(257) == 21 && f.time(640) == 21 && f.time(641) == 31);
  static_assert(curve::largest(f, 11, 1, 5000) == 256 && curve::largest(f, 30.9, 1, 5000) == 640);
  static_assert(curve::inverse(f, 0.5, {0, 5000}) == curve::no_size);
  for (double us = 1; us < 200; us += 1.7) {
    const auto rows = static_cast<double>(curve::largest(f, us, 1, 5000));
    if (rows > 0 && rows < 5000) CHECK((f.time(rows) <= us && f.time(rows + 1) > us));
  }
  CHECK(check(curve::matmul_roofline{.cores = 0}).error().code == errc::bad_cost);
  // Bound by memory: one row of 4096 x 4096 weights at 1 TB/s.
  const auto thin = curve::matmul_roofline::of(4096, 4096, 2, {.tflops = 1000, .gb_per_s = 1000, .cores = 100});
  CHECK(std::fabs(thin.time(1) - (4096.0 * 4096 * 2 + 2 * 8192) / 1e6) < 1e-9);
  const auto ring = curve::ring_all_reduce(8, 1.5, 100);
  CHECK(std::fabs(ring.time(1e6) - (21 + 17.5)) < 1e-9);
  CHECK(check(curve::alpha_beta{.gb_per_s = 0}).error().code == errc::bad_cost);
  const curve::function steps{[](double x) { return x < 3 ? 1.0 : 2.0; }};
  CHECK(curve::inverse(steps, 5, {0, 10}) == 10);
  CHECK(curve::inverse(steps, 1.5, {0, 10}) < 3);
  CHECK(curve::inverse(steps, 0.5, {0, 10}) == curve::no_size);
}

}  // namespace curve_segments
