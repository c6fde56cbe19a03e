// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A tiling can be decided, and proved, while compiling.
#include <hocket/tiling.hpp>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace curve = hocket::curve;
namespace tiling = hocket::tiling;

using fit = curve::piecewise_polynomial<2, 3>;
constexpr auto reduce = fit::make({{8, {14.769, 27.0622573, -0.9698202}}, {fit::unbounded, {61.508333, 13.58491263}}});
constexpr double us_per_row = 3072.0 * 8192 / (4096 * 1843.2 * 20 * 0.85);
constexpr auto document = tiling::problem({.rows = 4096, .align = 128, .max_tiles = 16}, {.k = 3072, .n = 8192},
                                          tiling::compute(curve::affine{.per_size = us_per_row, .least = 128}),
                                          tiling::comm(curve::mib_of_rows(*reduce, 16384), 1.15));

constexpr bool same(std::span<const std::int64_t> tiles, std::initializer_list<std::int64_t> expected) {
  if (tiles.size() != expected.size()) return false;
  std::size_t i = 0;
  for (const std::int64_t rows : expected)
    if (tiles[i++] != rows) return false;
  return true;
}

// The document's own answer to its own example, and what its text to the letter would have said.
constexpr auto rule = tiling::solve(document, {.policy = tiling::policy::documented});
static_assert(same(rule->tiles(), {512, 896, 896, 896, 896}) && rule->flags == tiling::flag_set{});
static_assert(rule->as_two_runs().value() == tiling::two_runs{512, 1, 896, 4});
static_assert(same(tiling::solve(document, {.policy = tiling::policy::documented_min})->tiles(),
                   {256, 384, 384, 384, 384, 384, 384, 384, 384, 384, 384}));
static_assert(tiling::detail::documented_short_tiles(document.shape).a == 171 &&
              tiling::detail::documented_short_tiles(document.shape).b == 192);

// The solver is better, and says within what distance of the optimum it must be.
constexpr auto best = tiling::solve(document);
static_assert(best->predicted < rule->predicted &&
              best->predicted < tiling::solve(document, {.policy = tiling::policy::uniform})->predicted);
static_assert(best->lower_bound.count() > 0 && best->lower_bound <= best->predicted && best->gap() < 0.2);
static_assert(best->serial == tiling::solve(document, {.policy = tiling::policy::none})->predicted &&
              best->serial == tiling::serial_time(document).value());
static_assert(tiling::makespan(document, best->tiles()).value() == best->predicted);

// By hand: compute 3 + 5, communication 4 + 6 behind it.
constexpr auto two = tiling::problem({.rows = 8, .align = 1}, tiling::compute(curve::affine{.per_size = 1}),
                                     tiling::comm(curve::affine{.fixed = 1, .per_size = 1}));
constexpr std::int64_t three_five[] = {3, 5};
static_assert(tiling::makespan(two, three_five).value() == std::chrono::microseconds(14));
constexpr std::int64_t five_three[] = {5, 3};
static_assert(tiling::makespan(two, five_three).value() == std::chrono::microseconds(15));
