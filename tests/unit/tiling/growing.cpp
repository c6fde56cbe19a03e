// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The steps of the search for lots, each against its sentence: tiles that grow, and the descent that improves them.
#include <hocket/core.hpp>
#include <hocket/tiling.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "catch.hpp"

namespace curve = hocket::curve;
namespace tiling = hocket::tiling;
using hocket::ticks;

namespace tiling_growing {
namespace {

struct generator {
  std::mt19937_64 random;
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); }
  tiling::any_problem any(std::int64_t most_units) {
    tiling::any_problem p;
    p.axis.align = 1 + below(4);
    p.axis.rows = 1 + below(most_units * p.axis.align);
    p.axis.max_tiles = 1 + below(9);
    p.axis.least_tile = below(2) == 0 ? (std::min)(p.axis.rows, 1 + below(6 * p.axis.align)) : 1;
    const std::int64_t phases = 2 + below(3);
    for (std::int64_t i = 0; i < phases; ++i) {
      const curve::affine f{.fixed = static_cast<double>(below(40)) / 4,
                            .per_size = static_cast<double>(below(64) + 1) / 16,
                            .least = static_cast<double>(below(3) * below(8))};
      const auto kind = i % 2 == 0 ? tiling::phase_kind::compute : tiling::phase_kind::comm;
      const double ready = below(3) == 0 ? static_cast<double>(below(40)) / 4 : 0;
      p.phases.push_back({kind, f, below(2) == 0 ? 1.0 : 1.25, hocket::microseconds(ready)});
    }
    return p;
  }
};

// Times in 1/64 us, exact: costs are sixteenths, factors 1 or 5/4.
struct plain_clock {
  const tiling::any_problem& p;
  std::vector<double> done;

  explicit plain_clock(const tiling::any_problem& of) : p(of) {
    for (const auto& f : p.phases) done.push_back(f.ready.count() * 64);
  }
  // When a tile would leave phase `last`, without it having passed.
  [[nodiscard]] double leaves(std::int64_t rows, std::size_t last) const {
    double at = 0;
    for (std::size_t q = 0; q <= last; ++q)
      at = (std::max)(at, done[q]) + p.phases[q].cost.time(static_cast<double>(rows)) * p.phases[q].overlap * 64;
    return at;
  }
  void pass(std::int64_t rows) {
    std::vector<double> after;
    for (std::size_t q = 0; q < done.size(); ++q) after.push_back(leaves(rows, q));
    done = after;
  }
};

// The sentence of tile_grower::grow by trying every length; empty if there are no such tiles.
std::vector<std::int64_t> grown(const tiling::any_problem& p, std::size_t critical, std::int64_t first,
                                bool first_ragged, bool last_ragged) {
  const tiling::row_axis& a = p.axis;
  const std::int64_t units = (a.rows + a.align - 1) / a.align, shortage = units * a.align - a.rows;
  const auto rows_of = [&](std::int64_t u, bool ragged) { return u * a.align - (ragged ? shortage : 0); };
  if (a.max_tiles < 2 || first >= units || rows_of(first, first_ragged) < a.least_tile) return {};
  std::vector<std::int64_t> tiles{rows_of(first, first_ragged)};
  plain_clock clock(p);
  clock.pass(tiles[0]);
  for (std::int64_t left = units - first; left > 0;) {
    const auto in_time = [&](std::int64_t u) {
      return clock.leaves(rows_of(u, false), critical - 1) <= clock.done[critical];
    };
    // All that is left, if it is in time or cannot be two tiles; else the longest in time, or the shortest.
    std::int64_t taken = left;
    if (static_cast<std::int64_t>(tiles.size()) + 1 < (std::min)(a.max_tiles, units) && !in_time(left))
      for (std::int64_t u = left - 1; u >= 1; --u) {
        if (rows_of(u, false) < a.least_tile || rows_of(left - u, last_ragged) < a.least_tile) continue;
        taken = u;
        if (in_time(u)) break;
      }
    left -= taken;
    tiles.push_back(rows_of(taken, left == 0 && last_ragged));
    if (tiles.back() < a.least_tile) return {};
    clock.pass(tiles.back());
  }
  return tiles;
}

// Whether a tile can give a unit to another, and less time is needed.
template <class Clock>
bool one_step_gains(const tiling::detail::grid& axis, Clock& timer, const tiling::detail::incumbent& best) {
  const std::size_t count = best.tiles.count;
  for (std::size_t from = 0; from < count; ++from)
    for (std::size_t to = 0; to < count; ++to) {
      std::vector<std::int64_t> moved(best.tiles.span().begin(), best.tiles.span().end());
      moved[from] -= axis.align;
      moved[to] += axis.align;
      const bool allowed = moved[from] >= axis.least && moved[from] > 0;
      if (from != to && allowed && timer.makespan(moved) < best.time) return true;
    }
  return false;
}

}  // namespace

TEST_CASE("grown tiles are each the longest that are in time", "[tiling]") {
  generator g{std::mt19937_64(51)};
  int found = 0, cut_often = 0;
  for (int round = 0; round < 2000; ++round) {
    INFO("round " << round);
    const tiling::any_problem p = g.any(24);
    const tiling::detail::grid axis(p.axis);
    const bool ragged = axis.shortage != 0;
    const bool first_ragged = ragged && g.below(2) == 0, last_ragged = ragged && !first_ragged;
    for (std::size_t critical = 1; critical < p.phases.size(); ++critical) {
      tiling::detail::clock timer(p.phases);
      tiling::detail::tile_grower grower(axis, timer, critical, first_ragged, last_ragged);
      for (std::int64_t first = 1; first <= axis.units; ++first) {
        const auto wanted = grown(p, critical, first, first_ragged, last_ragged);
        tiling::detail::tile_list tiles;
        REQUIRE(grower.grow(first, tiles) == !wanted.empty());
        if (wanted.empty()) continue;
        REQUIRE(std::vector<std::int64_t>(tiles.span().begin(), tiles.span().end()) == wanted);
        ++found;
        cut_often += wanted.size() > 3 ? 1 : 0;
      }
    }
  }
  CHECK(found > 10'000);
  CHECK(cut_often > 1000);
}

TEST_CASE("behind the descent no tile gains by giving a unit to another", "[tiling]") {
  generator g{std::mt19937_64(52)};
  int improved = 0;
  for (int round = 0; round < 1000; ++round) {
    INFO("round " << round);
    const tiling::any_problem p = g.any(40);
    const tiling::detail::grid axis(p.axis);
    tiling::detail::clock timer(p);
    tiling::detail::incumbent best(axis, timer);
    tiling::detail::offer_uniform(axis, timer, best);
    const ticks before = best.time;
    const std::size_t count = best.tiles.count;
    tiling::detail::allowance all{tiling::detail::unlimited};
    tiling::detail::descend(axis, timer, all, best);
    CHECK(best.time <= before);
    CHECK(best.tiles.count == count);
    CHECK(axis.allows(best.tiles.span()));
    CHECK(best.time == timer.makespan(best.tiles.span()));
    improved += best.time < before ? 1 : 0;
    CHECK_FALSE(one_step_gains(axis, timer, best));
  }
  CHECK(improved > 300);
}

TEST_CASE("a pinned plan has as many tiles as its length gives, and no more than are allowed", "[tiling]") {
  const curve::affine f{.fixed = 5, .per_size = 0.1};
  const tiling::matmul_shape shape{.k = 3072, .n = 8192};
  generator g{std::mt19937_64(53)};
  int refused = 0, joined = 0;
  for (int round = 0; round < 2000; ++round) {
    const tiling::row_axis a{.rows = 1 + g.below(4000), .align = 128, .max_tiles = 1 + g.below(11)};
    auto p = tiling::problem(a, shape, tiling::compute(f), tiling::comm(f));
    p.axis.least_tile = (std::min)(p.axis.rows, 1 + g.below(300));
    const std::int64_t length = tiling::detail::pinned_length(shape, 128, p.axis.least_tile);
    std::vector<std::int64_t> wanted;
    for (std::int64_t left = p.axis.rows; left > 0; left -= wanted.back()) wanted.push_back((std::min)(left, length));
    if (wanted.size() > 1 && wanted.back() < p.axis.least_tile) {
      const std::int64_t rest = wanted.back();
      wanted.pop_back();
      wanted.back() += rest;
      ++joined;
    }
    const auto plan = tiling::solve(p, {.policy = tiling::policy::pinned});
    const auto count = static_cast<std::int64_t>(wanted.size());
    REQUIRE(plan.has_value() == (count <= a.max_tiles));
    if (plan) {
      CHECK(std::equal(wanted.begin(), wanted.end(), plan->tiles().begin(), plan->tiles().end()));
    } else {
      CHECK(plan.error().code == hocket::errc::too_many_tiles);
      CHECK(plan.error().values[0] == count);
      ++refused;
    }
  }
  CHECK(refused > 100);
  CHECK(joined > 100);
}

TEST_CASE("sorted tiles are offered where only an order is allowed, the ragged one where it was", "[tiling]") {
  generator g{std::mt19937_64(54)};
  int ragged = 0;
  for (int round = 0; round < 1000; ++round) {
    tiling::any_problem p = g.any(60);
    p.axis.least_tile = 1;
    p.axis.max_tiles = 8;
    p.axis.shorter = round % 2 == 0 ? tiling::short_end::first : tiling::short_end::last;
    const tiling::detail::grid axis(p.axis);
    if (axis.units < 4) continue;
    tiling::detail::clock timer(p);
    tiling::detail::tile_list tiles;
    for (std::int64_t left = axis.units; left > 0;) {
      const std::int64_t u = tiles.count == 7 ? left : (std::min)(left, 1 + g.below(axis.units / 3));
      tiles.push(u * axis.align);
      left -= u;
    }
    const bool first = g.below(2) == 0;
    if (tiles.count < 2) continue;
    tiles.rows[first ? 0 : tiles.count - 1] -= axis.shortage;
    std::vector<std::int64_t> sorted(tiles.span().begin(), tiles.span().end());
    const auto begin = sorted.begin() + (axis.shortage != 0 && first ? 1 : 0);
    const auto end = sorted.end() - (axis.shortage != 0 && !first ? 1 : 0);
    std::sort(begin, end);
    if (round % 2 != 0) std::reverse(begin, end);
    tiling::detail::incumbent best(axis, timer);
    best.time = tiling::detail::infeasible;
    tiling::detail::offer_sorted(axis, timer, tiles, best);
    const bool admitted = axis.admits(sorted);
    CHECK((best.time != tiling::detail::infeasible) == admitted);
    if (!admitted) continue;
    CHECK(std::equal(sorted.begin(), sorted.end(), best.tiles.span().begin(), best.tiles.span().end()));
    CHECK(best.time == timer.makespan(sorted));
    ragged += axis.shortage != 0 ? 1 : 0;
  }
  CHECK(ragged > 50);
}

TEST_CASE("under contention by rate equal tiles and those of fixed factors are improved by rate", "[tiling]") {
  generator g{std::mt19937_64(55)};
  int cut = 0;
  for (int round = 0; round < 400; ++round) {
    INFO("round " << round);
    tiling::any_problem p = g.any(40);
    for (auto& f : p.phases) f.overlap = 1 + static_cast<double>(g.below(8)) / 4;
    tiling::any_problem by_rate = p;
    by_rate.slowdown = tiling::contention::while_both;
    const tiling::detail::grid axis(p.axis);
    tiling::detail::clock timer(by_rate);
    tiling::detail::clock fixed(p);
    for (const tiling::policy by : {tiling::policy::lot_streaming, tiling::policy::automatic}) {
      tiling::detail::incumbent best(axis, timer), found(axis, fixed);
      tiling::detail::allowance all{tiling::detail::unlimited};
      tiling::detail::offer_uniform(axis, timer, best);
      tiling::detail::search_by_rate(by_rate, by, axis, timer, all, best);
      found.time = tiling::detail::infeasible;
      tiling::detail::count_bounds bounds(axis, fixed);
      tiling::detail::offer_uniform(axis, fixed, bounds, found);
      tiling::detail::search(by, axis, fixed, bounds, tiling::detail::unlimited, found);
      found.time = timer.makespan(found.tiles.span());
      tiling::detail::descend(axis, timer, all, found);
      CHECK(best.time <= found.time);
      CHECK(best.time == timer.makespan(best.tiles.span()));
      cut += best.tiles.count > 1 ? 1 : 0;
      CHECK_FALSE(one_step_gains(axis, timer, best));
    }
  }
  CHECK(cut > 100);
}

TEST_CASE("the documented rule takes matrices from one by one on", "[tiling]") {
  const curve::affine f{.fixed = 5, .per_size = 0.1};
  for (const std::int64_t k : {0, 1, 2})
    for (const std::int64_t n : {0, 1, 2}) {
      const auto p = tiling::problem({.rows = 512}, {.k = k, .n = n}, tiling::compute(f), tiling::comm(f));
      CHECK(tiling::detail::documented_applies(p) == (k > 0 && n > 0));
    }
}

}  // namespace tiling_growing
