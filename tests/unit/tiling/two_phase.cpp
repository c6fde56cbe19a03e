// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two phases of staircases, waves and tables, against every tiling of small problems.
#include <hocket/core.hpp>
#include <hocket/tiling.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "catch.hpp"

namespace curve = hocket::curve;
namespace tiling = hocket::tiling;
using hocket::picoseconds;

namespace tiling_two_phase {
namespace {

struct generator {
  std::mt19937_64 random;
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); }
  double real(double top) { return static_cast<double>(below(1'000'000)) * top / 1e6; }
  curve::any_curve table(std::int64_t rows) {
    std::vector<double> sizes, us;
    double x = 1, t = real(20);
    while (x < static_cast<double>(rows) || sizes.empty()) {
      sizes.push_back(x);
      us.push_back(t);
      x += 1 + real(static_cast<double>(rows) / 3);
      t += below(3) == 0 ? 0 : real(30);
    }
    return *curve::table::make(sizes, us);
  }
  auto steps(std::int64_t align) {
    return curve::delayed{
        curve::max_of{
            curve::rounded_up{curve::affine{.fixed = real(3), .per_size = real(1) / static_cast<double>(align)},
                              static_cast<double>(align * (1 + below(3)))},
            curve::affine{.fixed = real(4), .per_size = real(0.2)}},
        real(5)};
  }
  curve::matmul_roofline waves(std::int64_t align) {
    return {.launch_us = real(4),
            .wave_us = 0.5 + real(3),
            .column_blocks = static_cast<double>(1 + below(9)),
            .cores = static_cast<double>(1 + below(12)),
            .block_rows = static_cast<double>(align),
            .weights_us = real(3),
            .us_per_row = real(0.05)};
  }
  tiling::row_axis axis(std::int64_t most_units) {
    tiling::row_axis a{.rows = 0, .align = 1 + below(5)};
    a.rows = 1 + below(most_units * a.align);
    a.max_tiles = 1 + below(8);
    a.least_tile = below(3) == 0 ? std::min<std::int64_t>(a.rows, 1 + below(2 * a.align)) : 1;
    a.rest = static_cast<tiling::remainder>(below(3));
    const auto format = below(4);
    if (format == 1) a.format = tiling::tile_format::one_plus_n;
    if (format == 2) a.format = tiling::tile_format::uniform;
    return a;
  }
};

template <class F>
void for_each_tiling(const tiling::row_axis& a, F&& f) {
  const std::int64_t units = (a.rows + a.align - 1) / a.align, shortage = units * a.align - a.rows;
  std::vector<std::int64_t> tiles;
  for (std::uint32_t cuts = 0; cuts < (1u << (units - 1)); ++cuts) {
    tiles.assign(1, 0);
    for (std::int64_t u = 0; u < units; ++u) {
      tiles.back() += a.align;
      if (u + 1 < units && (cuts >> u & 1u) != 0) tiles.push_back(0);
    }
    if (static_cast<std::int64_t>(tiles.size()) > a.max_tiles) continue;
    for (const bool first : {true, false}) {
      if (shortage != 0 && a.rest != tiling::remainder::either && first != (a.rest == tiling::remainder::first))
        continue;
      (first ? tiles.front() : tiles.back()) -= shortage;
      if (std::all_of(tiles.begin(), tiles.end(), [&](std::int64_t r) { return r >= a.least_tile; })) f(tiles);
      (first ? tiles.front() : tiles.back()) += shortage;
      if (shortage == 0) break;
    }
  }
}

struct tally {
  std::int64_t problems = 0, tilings = 0;
  double auto_over_best = 0, worst = 1;
};

// The words of the formats, on lengths in units.
bool is_of(tiling::tile_format format, const tiling::row_axis& a, std::span<const std::int64_t> t) {
  std::vector<std::pair<std::int64_t, int>> runs;
  for (const std::int64_t rows : t) {
    const std::int64_t u = (rows + a.align - 1) / a.align;
    if (runs.empty() || runs.back().first != u) runs.push_back({u, 0});
    ++runs.back().second;
  }
  if (format == tiling::tile_format::any || runs.size() == 1) return true;
  if (runs.size() > 2) return false;
  if (format == tiling::tile_format::one_plus_n) return runs[0].second == 1 || runs[1].second == 1;
  return std::abs(runs[0].first - runs[1].first) == 1;
}

template <class Problem>
void judge(const Problem& p, tally& sum) {
  picoseconds best = tiling::serial_time(p).value(), even = best;
  for_each_tiling(p.axis, [&](const std::vector<std::int64_t>& tiles) {
    if (!is_of(p.axis.format, p.axis, tiles)) return;
    const picoseconds t = tiling::makespan(p, tiles).value();
    best = std::min(best, t);
    if (is_of(tiling::tile_format::uniform, p.axis, tiles)) even = std::min(even, t);
    ++sum.tilings;
  });
  for (const auto by : {tiling::policy::automatic, tiling::policy::lot_streaming, tiling::policy::one_plus_n,
                        tiling::policy::uniform, tiling::policy::none}) {
    const auto plan = tiling::solve(p, {.policy = by});
    REQUIRE(plan);
    INFO(to_string(by) << " rows " << p.axis.rows << " align " << p.axis.align << " tiles " << p.axis.max_tiles);
    CHECK(tiling::makespan(p, plan->tiles()).value() == plan->predicted);
    CHECK(plan->predicted >= best);
    CHECK(plan->lower_bound <= best);
    if (by != tiling::policy::none) CHECK(plan->predicted <= even);
    if (by == tiling::policy::uniform) CHECK(plan->predicted == even);
    CHECK(static_cast<std::int64_t>(plan->tiles().size()) <= p.axis.max_tiles);
    CHECK(is_of(p.axis.format, p.axis, plan->tiles()));
    for (const std::int64_t rows : plan->tiles()) CHECK(rows >= p.axis.least_tile);
    if (plan->flags.has(tiling::flag::optimal)) CHECK(plan->predicted == best);
    if (by != tiling::policy::automatic || best.count() == 0) continue;
    const double r = static_cast<double>(plan->predicted.count()) / static_cast<double>(best.count());
    sum.auto_over_best += r;
    sum.worst = std::max(sum.worst, r);
  }
  ++sum.problems;
}

}  // namespace

TEST_CASE("two phases: bounds hold, and what searches is never worse than equal tiles", "[tiling]") {
  generator g{std::mt19937_64(21)};
  tally sum;
  for (int round = 0; round < 1500; ++round) {
    const tiling::row_axis a = g.axis(9);
    const double f = 1 + g.real(0.3), h = 1 + g.real(0.3);
    auto comm = tiling::comm(curve::affine{.fixed = g.real(5), .per_size = g.real(0.6)}, h);
    if (g.below(4) == 0) comm.ready = hocket::microseconds(g.real(8));
    judge(tiling::problem(a, tiling::compute(g.steps(a.align), f), comm), sum);
    judge(tiling::problem(a, comm, tiling::compute(g.waves(a.align), f)), sum);
    judge(tiling::problem(a, tiling::compute(g.table(a.rows), f), tiling::comm(g.table(a.rows), h)), sum);
  }
  std::printf("two phases: %lld problems, %lld tilings, auto / optimum mean %.5f worst %.4f\n",
              static_cast<long long>(sum.problems), static_cast<long long>(sum.tilings),
              sum.auto_over_best / static_cast<double>(sum.problems), sum.worst);
  CHECK(sum.auto_over_best / static_cast<double>(sum.problems) < 1.001);
}

}  // namespace tiling_two_phase
