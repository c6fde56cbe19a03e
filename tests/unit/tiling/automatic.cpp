// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `automatic` promises to be no slower than any other policy whose tiles the problem allows, whatever is asked of it.
#include <hocket/core.hpp>
#include <hocket/tiling.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "catch.hpp"

namespace tiling = hocket::tiling;
using tiling::policy;

namespace tiling_automatic {
namespace {

// Affine, in steps, with a floor, with a knee: us over rows.
struct cost {
  std::int64_t kind;
  double fixed, rate, knee, step;
  [[nodiscard]] double time(double rows) const noexcept {
    const double units = rows / 128;
    switch (kind) {
      case 0: return fixed + rate * units;
      case 1: return fixed + rate * step * std::ceil(units / step);
      case 2: return fixed + rate * std::fmax(units, knee);
      default: return std::fmax(fixed, rate * units) + (units > knee ? rate * (units - knee) : 0);
    }
  }
};
using instance = tiling::problem<std::vector<tiling::phase<cost>>>;

struct generator {
  std::mt19937_64 random;
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); }
  double real(std::int64_t n) { return static_cast<double>(below(n)); }

  cost any_cost() { return {below(4), real(400) / 4, (real(60) + 1) / 8, real(20) + 1, real(5) + 1}; }
  instance any() {
    instance p;
    const std::int64_t units = below(3) == 0 ? 100 + below(3000) : 2 + below(40);
    p.axis.align = 128;
    p.axis.rows = units * 128 - (below(3) == 0 ? below(128) : 0);
    p.axis.max_tiles = 2 + below(14);
    p.axis.rest = static_cast<tiling::remainder>(below(3));
    if (below(2) == 0) p.axis.format = static_cast<tiling::tile_format>(below(4));
    if (below(2) == 0) p.axis.shorter = static_cast<tiling::short_end>(below(3));
    if (below(3) == 0) p.axis.least_tile = std::min(p.axis.rows, 1 + below(512));
    p.shape = {64 + below(8192), 64 + below(8192), 2};
    if (below(2) == 0) p.slowdown = tiling::contention::while_both;
    const std::int64_t phases = below(3) == 0 ? 1 + below(4) : 2;
    for (std::int64_t i = 0; i < phases; ++i) {
      const double overlap = below(3) == 0 ? 1 : 1 + real(60) / 100;
      const double ready = below(5) == 0 ? real(100) : 0;
      const auto kind = i % 2 == 0 ? tiling::phase_kind::compute : tiling::phase_kind::comm;
      p.phases.push_back({kind, any_cost(), overlap, hocket::microseconds(ready)});
    }
    return p;
  }
};

std::int64_t units_of(const instance& p, std::int64_t rows) { return (rows + p.axis.align - 1) / p.axis.align; }

// The rules of row_axis, written anew.
bool is_allowed(const instance& p, std::span<const std::int64_t> tiles) {
  const tiling::row_axis& a = p.axis;
  const std::size_t n = tiles.size();
  if (n == 1) return true;
  if (static_cast<std::int64_t>(n) > a.max_tiles) return false;
  std::size_t ragged = 0, runs = 1;
  bool rises = false, falls = false;
  std::int64_t low = units_of(p, tiles[0]), high = low;
  for (std::size_t i = 0; i < n; ++i) {
    if (tiles[i] < a.least_tile) return false;
    low = std::min(low, units_of(p, tiles[i]));
    high = std::max(high, units_of(p, tiles[i]));
    if (tiles[i] % a.align != 0) {
      ++ragged;
      if (i != 0 && i + 1 != n) return false;
      if (i == 0 && a.rest == tiling::remainder::last) return false;
      if (i + 1 == n && a.rest == tiling::remainder::first) return false;
    }
    if (i == 0) continue;
    rises = rises || units_of(p, tiles[i]) > units_of(p, tiles[i - 1]);
    falls = falls || units_of(p, tiles[i]) < units_of(p, tiles[i - 1]);
    runs += units_of(p, tiles[i]) != units_of(p, tiles[i - 1]) ? 1 : 0;
  }
  if (ragged > 1) return false;
  if ((a.shorter == tiling::short_end::first && falls) || (a.shorter == tiling::short_end::last && rises)) return false;
  const bool single =
      units_of(p, tiles[0]) != units_of(p, tiles[1]) || units_of(p, tiles[n - 1]) != units_of(p, tiles[n - 2]);
  switch (a.format) {
    case tiling::tile_format::any: return true;
    case tiling::tile_format::two_runs: return runs <= 2;
    case tiling::tile_format::one_plus_n: return runs == 1 || (runs == 2 && single);
    case tiling::tile_format::uniform: return runs <= 2 && high - low <= 1;
  }
  return false;
}

}  // namespace

TEST_CASE("which tiles a problem allows", "[tiling]") {
  generator g{std::mt19937_64(7)};
  int yes = 0, no = 0;
  for (int i = 0; i < 20'000; ++i) {
    instance p = g.any();
    p.axis.rows = 1 + g.below(12 * 128);
    p.axis.max_tiles = 1 + g.below(6);
    p.axis.least_tile = 1 + g.below(200);
    std::vector<std::int64_t> tiles;
    for (std::int64_t rest = p.axis.rows; rest > 0; rest -= tiles.back()) {
      const std::int64_t whole = 128 * (1 + g.below(3));
      tiles.push_back(std::min(rest, g.below(8) == 0 ? 1 + g.below(300) : whole));
    }
    if (g.below(2) == 0) std::reverse(tiles.begin(), tiles.end());
    // One ragged tile is as short as the rows demand, so a tile that is not whole needs no further rule.
    const bool allowed = is_allowed(p, tiles);
    (allowed ? yes : no) += 1;
    CHECK(tiling::detail::grid(p.axis).allows(tiles) == allowed);
  }
  CHECK(yes > 1000);
  CHECK(no > 1000);
}

TEST_CASE("the gap of a plan is relative to its bound", "[tiling]") {
  tiling::plan plan;
  plan.predicted = hocket::picoseconds(150);
  plan.lower_bound = hocket::picoseconds(100);
  CHECK(plan.gap() == 0.5);
  plan.lower_bound = hocket::picoseconds(0);
  CHECK(plan.gap() == std::numeric_limits<double>::infinity());
  plan.predicted = hocket::picoseconds(0);
  CHECK(plan.gap() == 0);
}

TEST_CASE("automatic is never slower than another policy whose tiles the problem allows", "[tiling]") {
  generator g{std::mt19937_64(20260)};
  int compared = 0;
  for (int i = 0; i < 400; ++i) {
    INFO("problem " << i);
    const instance p = g.any();
    const auto best = tiling::solve(p);
    REQUIRE(best);
    CHECK(is_allowed(p, best->tiles()));
    CHECK(tiling::makespan(p, best->tiles()).value() == best->predicted);
    for (const policy other : {policy::none, policy::uniform, policy::one_plus_n, policy::lot_streaming,
                               policy::documented, policy::documented_min, policy::pinned}) {
      const auto plan = tiling::solve(p, {.policy = other});
      if (!plan || !is_allowed(p, plan->tiles())) continue;
      INFO(to_string(other));
      ++compared;
      CHECK(best->predicted <= plan->predicted);
    }
  }
  CHECK(compared > 1600);
}

// Costs with a hole at the pinned length, which no search would guess; just as many tiles as are allowed.
TEST_CASE("automatic finds the pinned lengths where they are the best", "[tiling]") {
  struct hole {
    double at;
    [[nodiscard]] double time(double rows) const noexcept { return rows == at ? 1 : 1'000 + rows; }
  };
  for (const std::int64_t count : {2, 3, 5}) {
    tiling::problem<std::vector<tiling::phase<hole>>> p;
    p.shape = {.k = 4096, .n = 4096};
    p.axis = {.rows = 1, .align = 1, .max_tiles = count};
    const std::int64_t length = tiling::detail::pinned_length(p.shape, p.axis.align, p.axis.least_tile);
    p.axis.rows = (count - 1) * length + 1;
    p.phases = {{tiling::phase_kind::compute, hole{static_cast<double>(length)}},
                {tiling::phase_kind::comm, hole{static_cast<double>(length)}}};
    const auto pinned = tiling::solve(p, {.policy = policy::pinned});
    REQUIRE(pinned);
    REQUIRE(static_cast<std::int64_t>(pinned->tiles().size()) == count);
    CHECK(tiling::solve(p)->predicted <= pinned->predicted);
  }
}

TEST_CASE("more evaluations never give a slower plan, and the same ones the same plan", "[tiling]") {
  generator g{std::mt19937_64(20261)};
  int improved = 0;
  for (int i = 0; i < 200; ++i) {
    INFO("problem " << i);
    const instance p = g.any();
    for (const policy by : {policy::automatic, policy::lot_streaming}) {
      hocket::picoseconds before{0};
      for (const std::int64_t evaluations : {0, 1, 30, 100, 512, 1500, 3000, 8192, 100'000}) {
        const tiling::solve_options options{.policy = by, .evaluations = evaluations};
        const auto plan = tiling::solve(p, options).value();
        CHECK(plan.fingerprint() == tiling::solve(p, options)->fingerprint());
        if (evaluations > 0) CHECK(plan.predicted <= before);
        improved += evaluations > 0 && plan.predicted < before ? 1 : 0;
        before = plan.predicted;
        CHECK(tiling::solve(p, {.evaluations = evaluations})->predicted <= plan.predicted);
      }
    }
  }
  CHECK(improved > 30);
  CHECK(tiling::solve(g.any(), {.evaluations = -1}).error().code == hocket::errc::invalid_argument);
}

TEST_CASE("descents look at no more than they may", "[tiling]") {
  tiling::detail::allowance left{10};
  CHECK(left.take(4));
  CHECK(left.take(6));
  CHECK(left.left == 0);
  CHECK_FALSE(left.take(1));
  left.left = 3;
  CHECK_FALSE(left.take(4));
  CHECK(left.left == 0);
}

}  // namespace tiling_automatic
