// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numeric traps that implementations of the published rule fall into, one by one.
#include <hocket/core.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

#include "catch.hpp"
#include "golden.hpp"

using namespace golden;
using tiling::flag;

TEST_CASE("the text's minimum contradicts its own example; the maximum reproduces it", "[tiling]") {
  const auto p = problem(0, 4096, 3072, 8192);
  CHECK(tiling::solve(p, {.policy = tiling::policy::documented})->as_two_runs().value() ==
        tiling::two_runs{512, 1, 896, 4});
  CHECK(tiling::solve(p, {.policy = tiling::policy::documented_min})->as_two_runs().value() ==
        tiling::two_runs{256, 1, 384, 10});
  // Published by hand: 1283 us without contention for the example, 1580 us for the letter of the text.
  auto calm = p;
  std::get<1>(calm.phases).overlap = 1;
  CHECK(std::llround(us(tiling::solve(calm, {.policy = tiling::policy::documented})->predicted)) == 1283);
  CHECK(std::llround(us(tiling::solve(calm, {.policy = tiling::policy::documented_min})->predicted)) == 1580);
  CHECK(std::fabs(us(tiling::solve(p, {.policy = tiling::policy::documented})->predicted) - 1453.9) < 0.05);
}

TEST_CASE("the jump at 8 MiB belongs to the upper piece", "[tiling]") {
  CHECK(std::fabs(reduce_mib.time(std::nextafter(8.0, 0)) - 169.1986) < 1e-4);
  CHECK(std::fabs(reduce_mib.time(8) - 170.1876) < 1e-4);
  CHECK(curve::inverse(reduce_mib, 170, {0, 64}) == std::nextafter(8.0, 0));
}

TEST_CASE("an axis no longer than the short tile is one tile", "[tiling]") {
  for (const std::int64_t m : {1, 57, 128, 384}) {
    const auto plan = tiling::solve(problem(0, m, 3072, 8192), {.policy = tiling::policy::documented});
    REQUIRE(plan);
    CHECK(plan->tiles().size() == 1);
    CHECK(plan->flags.has(flag::short_covers_all));
  }
}

TEST_CASE("no division by a count of zero, no tile of zero rows", "[tiling]") {
  int zero_counts = 0, vanished = 0, raised = 0, inverted = 0, capped = 0;
  for (std::int64_t m = 1; m <= 33000; m += m < 600 ? 1 : 611) {
    for (const std::int64_t k : {512, 2752, 5504, 14336}) {
      for (const auto which : {tiling::policy::documented, tiling::policy::documented_min}) {
        const auto plan = tiling::solve(problem(0, m, k, 4096), {.policy = which});
        if (!plan) {
          CHECK(plan.error().code == hocket::errc::too_many_tiles);
          continue;
        }
        std::int64_t sum = 0;
        for (const std::int64_t rows : plan->tiles()) {
          CHECK(rows > 0);
          sum += rows;
        }
        CHECK(sum == m);
        zero_counts += plan->flags.has(flag::single_long_tile);
        vanished += plan->flags.has(flag::long_tile_vanished);
        raised += plan->flags.has(flag::long_tile_raised);
        inverted += plan->flags.has(flag::short_is_longest);
        capped += plan->flags.has(flag::max_tiles_exceeded);
      }
    }
  }
  CHECK(zero_counts > 0);
  CHECK(vanished > 0);
  CHECK(raised > 0);
  CHECK(inverted > 0);
  CHECK(capped > 0);
}

TEST_CASE("where the rule loses to not cutting, the solver does not", "[tiling]") {
  // llama 70b down projection, tp 8, 32768 rows: 127 tiles by the rule.
  const auto p = problem(1, 32768, 3584, 8192);
  const auto rule = tiling::solve(p, {.policy = tiling::policy::documented}), best = tiling::solve(p);
  CHECK(rule->tiles().size() > 16);
  CHECK(rule->flags.has(flag::max_tiles_exceeded));
  CHECK(rule->predicted > rule->serial);
  CHECK(best->predicted < best->serial);
  CHECK(best->tiles().size() <= 16);
}

TEST_CASE("the solver does not jump where compute and communication are about equal", "[tiling]") {
  // Around the balance the rule flips from short-first to short-last; the better of both is never more than one step
  // worse.
  hocket::picoseconds before{0};
  for (std::int64_t m = 1024; m <= 8192; m += 128) {
    const auto t = tiling::solve(problem(0, m, 3584, 8192))->predicted;
    CHECK(t >= before - before / 200);
    before = t;
  }
}

TEST_CASE("ragged rows stay at the end that was asked for", "[tiling]") {
  for (const std::int64_t m : {129, 511, 513, 3000, 5000, 8193, 12345}) {
    auto p = problem(1, m, 3584, 8192);
    for (const auto rest : {tiling::remainder::first, tiling::remainder::last}) {
      p.axis.rest = rest;
      for (const auto by : {tiling::policy::automatic, tiling::policy::one_plus_n, tiling::policy::uniform}) {
        const auto plan = tiling::solve(p, {.policy = by});
        REQUIRE(plan);
        const auto tiles = plan->tiles();
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < tiles.size(); ++i) {
          const bool may_be_ragged =
              tiles.size() == 1 || i == (rest == tiling::remainder::first ? 0 : tiles.size() - 1);
          CHECK((may_be_ragged || tiles[i] % 128 == 0));
          sum += tiles[i];
        }
        CHECK(sum == m);
      }
    }
  }
}

TEST_CASE("sizes near the limits are answered or refused, never wrapped", "[tiling]") {
  const auto big =
      tiling::problem({.rows = tiling::max_rows, .align = 1}, {.k = tiling::max_rows, .n = tiling::max_rows},
                      tiling::compute(curve::affine{.fixed = 1, .per_size = 1e-8}),
                      tiling::comm(curve::affine{.fixed = 1, .per_size = 2e-8}));
  CHECK(tiling::solve(big, {.policy = tiling::policy::documented}).error().code == hocket::errc::too_many_tiles);
  for (const auto by : {tiling::policy::automatic, tiling::policy::uniform, tiling::policy::none}) {
    const auto plan = tiling::solve(big, {.policy = by});
    REQUIRE(plan);
    std::int64_t sum = 0;
    for (const std::int64_t rows : plan->tiles()) sum += rows;
    CHECK(sum == tiling::max_rows);
    CHECK(plan->predicted.count() > 0);
    CHECK(plan->predicted <= plan->serial);
    CHECK(plan->bound == tiling::bound_kind::none);  // it would read every length
    CHECK(plan->lower_bound.count() == 0);
  }
}

TEST_CASE("costs beyond any time are refused before they become integers", "[tiling]") {
  for (const double fixed : {1.0, 9e18, 1e300}) {
    for (const double least : {0.0, 1e308}) {
      for (const std::int64_t align : {std::int64_t{1}, tiling::max_rows / 4}) {
        const curve::affine cost{.fixed = fixed, .per_size = 1e300, .least = least};
        const auto p = tiling::problem({.rows = tiling::max_rows, .align = align}, {.k = 3072, .n = 8192},
                                       tiling::compute(cost), tiling::comm(cost, tiling::max_overlap));
        for (std::size_t by = 0; by < tiling::policy_count; ++by)
          CHECK_FALSE(tiling::solve(p, {.policy = static_cast<tiling::policy>(by)}));
      }
    }
  }
  // Every tile is a time, but contention makes their sum none.
  const curve::affine slow{.fixed = 2e9};
  auto p = tiling::problem({.rows = 4, .align = 1}, tiling::compute(slow, tiling::max_overlap),
                           tiling::comm(slow, tiling::max_overlap));
  p.slowdown = tiling::contention::while_both;
  CHECK(tiling::makespan(p, std::vector<std::int64_t>{1, 1, 1, 1}).error().code == hocket::errc::limit_exceeded);
}

// The first thing that is wrong is told: a cost that is none, though later ones lead beyond any time.
TEST_CASE("a cost that is none is told before contention beyond any time", "[tiling]") {
  struct holed {
    [[nodiscard]] double time(double rows) const noexcept { return rows == 1 ? -1 : 2e9; }
  };
  tiling::problem<std::vector<tiling::phase<holed>>> p;
  p.axis = {.rows = 7, .align = 1};
  p.phases = {{tiling::phase_kind::compute, {}, tiling::max_overlap},
              {tiling::phase_kind::comm, {}, tiling::max_overlap}};
  p.slowdown = tiling::contention::while_both;
  CHECK(tiling::makespan(p, std::vector<std::int64_t>{2, 3, 2}).error().code == hocket::errc::limit_exceeded);
  CHECK(tiling::makespan(p, std::vector<std::int64_t>{1, 2, 2, 2}).error() ==
        hocket::error{hocket::errc::bad_cost, 1}.with("phase"));
}

TEST_CASE("a table is not trusted outside of what was measured", "[tiling]") {
  const auto measured = curve::table::make(std::vector<double>{256, 512, 1024}, std::vector<double>{20, 30, 50});
  tiling::any_problem p;
  p.axis = {.rows = 4096};
  p.phases = {tiling::compute(curve::any_curve(*measured)), tiling::comm(curve::any_curve(*measured))};
  CHECK(tiling::solve(p, {.policy = tiling::policy::none})->flags.has(flag::extrapolated));
  p.axis.rows = 1024;
  CHECK(!tiling::solve(p, {.policy = tiling::policy::none})->flags.has(flag::extrapolated));
}

TEST_CASE("units: MiB of rows, rows, multiply-accumulates", "[tiling]") {
  // 64 rows of 8192 two-byte numbers are one MiB; the document's "x in bytes" would be 2^20 times as much.
  CHECK(curve::mib_of_rows(curve::affine{.per_size = 1}, 8192 * 2).time(64) == 1);
  CHECK(std::fabs(comm_curve(8192).time(384) - 142.2) < 0.1);
  // a = 4 * 1024^3 multiply-accumulates, not bytes: the least a with a K N of at least that.
  const auto s = tiling::detail::documented_short_tiles({.k = 3072, .n = 8192});
  CHECK(s.a * 3072 * 8192 >= std::int64_t{4} << 30);
  CHECK((s.a - 1) * 3072 * 8192 < std::int64_t{4} << 30);
}

TEST_CASE("the short tile absorbs less than one unit for each long tile", "[tiling]") {
  for (std::int64_t m = 700; m < 20000; m += 333) {
    const auto plan = tiling::solve(problem(0, m, 3072, 8192), {.policy = tiling::policy::documented});
    if (!plan || plan->tiles().size() < 2 || plan->flags.bits() != 0) continue;
    const auto runs = plan->as_two_runs().value();
    const std::int64_t count = runs.tile_count == 1 ? runs.tail_count : runs.tile_count;
    const std::int64_t absorbed = (runs.tile_count == 1 ? runs.tile_rows : runs.tail_rows) - 384;
    CHECK(absorbed >= 0);
    CHECK(absorbed <= 127 * count + 127);
  }
}

TEST_CASE("no makespan falls when a cost grows, and ranks that round alike decide alike", "[tiling]") {
  const std::vector<std::int64_t> tiles{256, 640, 1280, 1920};
  hocket::picoseconds before{0};
  for (double factor = 0.5; factor < 2; factor += 0.01) {
    auto p = problem(1, 4096, 3072, 8192);
    std::get<1>(p.phases).overlap = factor;
    const auto t = tiling::makespan(p, tiles).value();
    CHECK(t >= before);
    before = t;
    CHECK(tiling::solve(p)->fingerprint() == tiling::solve(p)->fingerprint());
  }
  // A difference far below a picosecond is rounded away before anything is decided.
  const auto exact_cost = [](double rows) { return 3 + rows * 0.125; };
  const auto noisy_cost = [](double rows) { return (3 + rows * 0.125) * (1 + 1e-15); };
  const auto solve_with = [](auto cost) {
    return tiling::solve(tiling::problem({.rows = 3000, .align = 8}, tiling::compute(cost), tiling::comm(cost, 1.25)));
  };
  CHECK(solve_with(exact_cost)->fingerprint() == solve_with(noisy_cost)->fingerprint());
}
