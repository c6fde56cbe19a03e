// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/core.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "catch.hpp"
#include "golden.hpp"

using namespace golden;
using tiling::flag;

namespace {

// The notes of the golden file and what we call them.
constexpr std::pair<const char*, flag> notes[] = {
    {"M<=m0", flag::short_covers_all},   {"m1<128", flag::long_tile_raised},
    {"count=0", flag::single_long_tile}, {"m1aligned=0", flag::long_tile_vanished},
    {"m0>m1", flag::short_is_longest},   {"tiles>16", flag::max_tiles_exceeded}};

void check_row(const tiling::plan& plan, const std::string& tiles, const std::string& note) {
  const auto expected = tiles_of(tiles);
  CHECK(std::vector<std::int64_t>(plan.tiles().begin(), plan.tiles().end()) == expected);
  for (const auto& [text, f] : notes) CHECK(plan.flags.has(f) == (note.find(text) != std::string::npos));
}

}  // namespace

TEST_CASE("the documented rule gives the golden tiles, to the row, with max and with min", "[tiling]") {
  const auto rows = read_csv("documented_rule.csv");
  REQUIRE(rows.size() == 327);
  for (const auto& r : rows) {
    INFO(r[0] << " tp " << r[1] << " M " << r[2]);
    const std::int64_t m = std::stoll(r[2]), k = std::stoll(r[3]), n = std::stoll(r[4]);
    const auto p = problem(0, m, k, n);
    const tiling::detail::short_tiles s = tiling::detail::documented_short_tiles(p.shape);
    CHECK(s.a == std::stoll(r[5]));
    CHECK(s.b == std::stoll(r[6]));
    CHECK(s.c == std::stoll(r[7]));
    CHECK(std::fabs(compute_curve{0, k, n}.time(static_cast<double>(m)) - std::stod(r[8])) < 0.00051);
    CHECK(std::fabs(comm_curve(n).time(static_cast<double>(m)) - std::stod(r[9])) < 0.00051);
    const auto smallest = tiling::solve(p, {.policy = tiling::policy::documented_min}),
               largest = tiling::solve(p, {.policy = tiling::policy::documented});
    REQUIRE(smallest);
    REQUIRE(largest);
    check_row(*smallest, r[11], r[12]);
    check_row(*largest, r[13], r[14]);
    CHECK(smallest->decided_by == tiling::policy::documented_min);
    CHECK(largest->decided_by == tiling::policy::documented);
  }
}

TEST_CASE("communication before compute is the mirror image", "[tiling]") {
  for (const auto& r : read_csv("documented_rule.csv")) {
    const std::int64_t m = std::stoll(r[2]), k = std::stoll(r[3]), n = std::stoll(r[4]);
    const auto gather = tiling::problem({.rows = m}, {.k = k, .n = n}, tiling::comm(comm_curve(n), 1.15),
                                        tiling::compute(compute_curve{0, k, n}));
    const auto forward = tiling::solve(problem(0, m, k, n), {.policy = tiling::policy::documented}),
               mirrored = tiling::solve(gather, {.policy = tiling::policy::documented});
    REQUIRE(mirrored);
    CHECK(std::vector<std::int64_t>(mirrored->tiles().rbegin(), mirrored->tiles().rend()) ==
          std::vector<std::int64_t>(forward->tiles().begin(), forward->tiles().end()));
    CHECK(mirrored->predicted == forward->predicted);
  }
}

TEST_CASE("the documented rule says what it cannot answer", "[tiling]") {
  const auto code = [](const auto& r) { return r ? hocket::errc{} : r.error().code; };
  auto p = problem(0, 4096, 3072, 8192);
  p.shape.k = 0;
  CHECK(code(tiling::solve(p, {.policy = tiling::policy::documented})) == hocket::errc::out_of_range);
  p.shape = {.k = 3072, .n = 0};
  CHECK(code(tiling::solve(p, {.policy = tiling::policy::documented})) == hocket::errc::out_of_range);
  const curve::affine a{.per_size = 1};
  const tiling::matmul_shape s{.k = 64, .n = 64};
  CHECK(code(tiling::solve(tiling::problem({.rows = 512}, s, tiling::compute(a)),
                           {.policy = tiling::policy::documented})) == hocket::errc::invalid_argument);
  CHECK(code(tiling::solve(tiling::problem({.rows = 512}, s, tiling::comm(a), tiling::comm(a)),
                           {.policy = tiling::policy::documented})) == hocket::errc::invalid_argument);
  // K N beyond 64 bits: still an answer, a = b = 1.
  constexpr std::int64_t huge = std::int64_t{1} << 50;
  CHECK(tiling::detail::documented_short_tiles({.k = huge, .n = huge}).a == 1);
  CHECK(tiling::detail::documented_short_tiles({.k = huge, .n = huge}).b == 1);
  // Balance lengths that collapse: 128-row tiles by the thousand do not fit a plan, and the sentence says how many.
  const auto r = tiling::solve(
      tiling::problem({.rows = 1 << 20}, {.k = 8192, .n = 8192}, tiling::compute(curve::affine{.per_size = 2}),
                      tiling::comm(curve::affine{.fixed = 800, .per_size = 1})),
      {.policy = tiling::policy::documented});
  REQUIRE(!r);
  CHECK(r.error().code == hocket::errc::too_many_tiles);
  CHECK(message(r.error()) == "8190 tiles are needed, but at most 256 can be held");
}
