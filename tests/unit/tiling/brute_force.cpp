// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small problems with arbitrary costs, judged by trying everything with a simulator that shares no code with the
// library.
#include <hocket/core.hpp>
#include <hocket/tiling.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "catch.hpp"

namespace curve = hocket::curve;
namespace tiling = hocket::tiling;
using hocket::picoseconds;

namespace {

// Cost of `rows` rows by lookup: any numbers at all, also falling ones.
struct lookup {
  std::vector<double> us;
  [[nodiscard]] double time(double rows) const noexcept { return us[static_cast<std::size_t>(rows)]; }
};
using instance = tiling::problem<std::vector<tiling::phase<lookup>>>;

struct generator {
  std::mt19937_64 random;
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); }

  // Whole and quarter microseconds, so that ties are frequent.
  lookup costs(std::int64_t rows) {
    lookup f;
    const auto kind = below(4);
    const double fixed = static_cast<double>(below(40)) / 4, rate = static_cast<double>(below(12) + 1) / 4;
    const auto step = static_cast<double>(below(3) + 2);
    double sum = 0;
    for (std::int64_t r = 0; r <= rows; ++r) {
      const auto x = static_cast<double>(r);
      if (kind == 0) f.us.push_back(fixed + rate * x);
      if (kind == 1)
        f.us.push_back(fixed + rate * step * static_cast<double>(static_cast<std::int64_t>((x + step - 1) / step)));
      if (kind == 2) f.us.push_back(static_cast<double>(below(100)) / 4);  // anything
      if (kind == 3) f.us.push_back(sum += static_cast<double>(below(16)) / 4);
    }
    return f;
  }
  instance any(std::int64_t most_units, std::size_t phases) {
    instance p;
    p.axis.align = 1 + below(3);
    p.axis.rows = 1 + below(most_units * p.axis.align);
    p.axis.max_tiles = 1 + below(6);
    p.axis.least_tile = below(3) == 0 ? std::min<std::int64_t>(p.axis.rows, 1 + below(2 * p.axis.align)) : 1;
    p.axis.rest = static_cast<tiling::remainder>(below(3));
    for (std::size_t i = 0; i < phases; ++i)
      p.phases.push_back({i % 2 == 0 ? tiling::phase_kind::compute : tiling::phase_kind::comm, costs(p.axis.rows),
                          below(2) == 0 ? 1.0 : 1.25});
    return p;
  }
};

// In 1/16 us, exact: costs are quarters, factors 1 or 5/4.
std::int64_t sixteenths(const tiling::phase<lookup>& f, std::int64_t rows, bool cut) {
  return static_cast<std::int64_t>(f.cost.time(static_cast<double>(rows)) * (cut ? f.overlap : 1) * 16);
}

// start(i, p) = max(end(i, p - 1), end(i - 1, p)), written as a table.
std::int64_t simulate(const instance& p, const std::vector<std::int64_t>& tiles) {
  const std::size_t phases = p.phases.size();
  if (tiles.size() == 1) {
    std::int64_t sum = 0;
    for (const auto& f : p.phases) sum += sixteenths(f, tiles[0], false);
    return sum;
  }
  std::vector<std::vector<std::int64_t>> end(tiles.size() + 1, std::vector<std::int64_t>(phases + 1, 0));
  for (std::size_t i = 1; i <= tiles.size(); ++i)
    for (std::size_t q = 1; q <= phases; ++q)
      end[i][q] = std::max(end[i - 1][q], end[i][q - 1]) + sixteenths(p.phases[q - 1], tiles[i - 1], true);
  return end[tiles.size()][phases];
}
picoseconds to_time(std::int64_t s) { return s * picoseconds(62'500); }  // of sixteenths of a microsecond

// Every tiling that the problem allows.
template <class F>
void for_each_tiling(const instance& p, F&& f) {
  const tiling::row_axis& a = p.axis;
  const std::int64_t units = (a.rows + a.align - 1) / a.align, shortage = units * a.align - a.rows;
  for (std::uint32_t cuts = 0; cuts < (1u << (units - 1)); ++cuts) {
    std::vector<std::int64_t> lengths{0};
    for (std::int64_t u = 0; u < units; ++u) {
      lengths.back() += a.align;
      if (u + 1 < units && (cuts >> u & 1u) != 0) lengths.push_back(0);
    }
    if (static_cast<std::int64_t>(lengths.size()) > a.max_tiles) continue;
    for (const bool first : {true, false}) {
      if (shortage != 0 && a.rest != tiling::remainder::either && first != (a.rest == tiling::remainder::first))
        continue;
      std::vector<std::int64_t> tiles = lengths;
      (first ? tiles.front() : tiles.back()) -= shortage;
      const bool allowed = std::all_of(tiles.begin(), tiles.end(), [&](std::int64_t r) { return r >= a.least_tile; });
      if (allowed) f(tiles);
      if (shortage == 0) break;
    }
  }
}

bool allowed(const instance& p, std::span<const std::int64_t> tiles) {
  bool found = false;
  for_each_tiling(p, [&](const std::vector<std::int64_t>& t) {
    found = found || std::equal(t.begin(), t.end(), tiles.begin(), tiles.end());
  });
  return found;
}

bool is_one_plus_n(const std::vector<std::int64_t>& t) {
  const bool head = std::adjacent_find(t.begin() + 1, t.end(), std::not_equal_to<>()) == t.end();
  const bool tail = std::adjacent_find(t.begin(), t.end() - 1, std::not_equal_to<>()) == t.end() - 1;
  return t.size() == 1 || head || tail;
}

}  // namespace

TEST_CASE("makespan, bound and policies against every tiling of small problems", "[tiling]") {
  generator g{std::mt19937_64(11)};
  std::int64_t tilings = 0, met = 0, cases = 0;
  for (int round = 0; round < 3000; ++round) {
    const instance p = g.any(9, static_cast<std::size_t>(1 + g.below(4)));
    INFO("round " << round << " rows " << p.axis.rows << " align " << p.axis.align);
    std::int64_t optimum = -1, one_n = -1;
    std::size_t fewest = 0;  // tiles of the optimum
    for_each_tiling(p, [&](const std::vector<std::int64_t>& tiles) {
      const std::int64_t t = simulate(p, tiles);
      if (tiling::makespan(p, tiles).value() != to_time(t)) FAIL("makespan differs from the simulator");
      if (optimum < 0 || t < optimum || (t == optimum && tiles.size() < fewest)) fewest = tiles.size();
      if (optimum < 0 || t < optimum) optimum = t;
      if (p.axis.rows % p.axis.align == 0 && is_one_plus_n(tiles) && (one_n < 0 || t < one_n)) one_n = t;
      ++tilings;
    });
    REQUIRE(optimum >= 0);
    const auto serial = tiling::serial_time(p).value();
    for (const tiling::policy by : {tiling::policy::none, tiling::policy::uniform, tiling::policy::one_plus_n,
                                    tiling::policy::lot_streaming, tiling::policy::automatic}) {
      const auto plan = tiling::solve(p, {.policy = by});
      REQUIRE(plan);
      CHECK(plan->predicted >= to_time(optimum));
      CHECK(plan->predicted <= serial);
      CHECK(plan->lower_bound <= to_time(optimum));
      CHECK(plan->predicted == to_time(simulate(p, {plan->tiles().begin(), plan->tiles().end()})));
      CHECK(allowed(p, plan->tiles()));
      if (plan->flags.has(tiling::flag::optimal)) CHECK(plan->predicted == to_time(optimum));
      if (by == tiling::policy::one_plus_n && one_n >= 0) CHECK(plan->predicted <= to_time(one_n));
    }
    const auto best = tiling::solve(p);
    CHECK(best->predicted <= tiling::solve(p, {.policy = tiling::policy::one_plus_n})->predicted);
    CHECK(best->predicted <= tiling::solve(p, {.policy = tiling::policy::lot_streaming})->predicted);
    const auto proved = tiling::solve(p, {.policy = tiling::policy::exact});
    REQUIRE(proved);
    CHECK(proved->predicted == to_time(optimum));
    CHECK(proved->tiles().size() == fewest);
    CHECK(proved->bound == tiling::bound_kind::proved);
    CHECK(proved->lower_bound == proved->predicted);
    CHECK(allowed(p, proved->tiles()));
    met += best->predicted == to_time(optimum) ? 1 : 0;
    ++cases;
  }
  std::printf("brute force: %lld tilings of %lld problems with arbitrary costs; auto met the optimum in %lld\n",
              static_cast<long long>(tilings), static_cast<long long>(cases), static_cast<long long>(met));
  CHECK(tilings > 50'000);
  CHECK(met * 10 > cases * 8);
}

TEST_CASE("reversing the phases reverses the tiles", "[tiling]") {
  generator g{std::mt19937_64(12)};
  for (int round = 0; round < 500; ++round) {
    const instance p = g.any(8, static_cast<std::size_t>(1 + g.below(4)));
    instance q = p;
    std::reverse(q.phases.begin(), q.phases.end());
    for_each_tiling(p, [&](const std::vector<std::int64_t>& tiles) {
      const std::vector<std::int64_t> back(tiles.rbegin(), tiles.rend());
      if (tiling::makespan(p, tiles).value() != tiling::makespan(q, back).value()) FAIL("not symmetric");
    });
  }
}

TEST_CASE("ties go to fewer tiles, then to the lexicographically smaller lengths", "[tiling]") {
  // Free communication: every tiling takes the same time.
  const auto p = tiling::problem({.rows = 12, .align = 1}, tiling::compute(curve::affine{.per_size = 2}),
                                 tiling::comm(curve::affine{}));
  for (const tiling::policy by : {tiling::policy::uniform, tiling::policy::one_plus_n, tiling::policy::lot_streaming,
                                  tiling::policy::automatic}) {
    const auto plan = tiling::solve(p, {.policy = by});
    CHECK(plan->tiles().size() == 1);
    CHECK(plan->flags.has(tiling::flag::uncut));
    CHECK(plan->gap() < 1e-6);  // bounds from lines leave room for rounding
  }
  // Two tiles are clearly better and 1 + 3 ties with 3 + 1.
  const auto q = tiling::problem({.rows = 4, .align = 1, .max_tiles = 2},
                                 tiling::compute(curve::function{[](double r) { return r == 2 ? 9.0 : r; }}),
                                 tiling::comm(curve::function{[](double r) { return r == 2 ? 9.0 : r; }}));
  const auto plan = tiling::solve(q);
  REQUIRE(plan->tiles().size() == 2);
  CHECK(plan->tiles()[0] == 1);
}

TEST_CASE("optimal for costs within e is within (1 + e) / (1 - e) for the true costs", "[tiling]") {
  generator g{std::mt19937_64(13)};
  for (int round = 0; round < 300; ++round) {
    const instance truth = g.any(7, 2);
    instance believed = truth;
    for (auto& f : believed.phases)
      for (double& us : f.cost.us) us *= g.below(2) == 0 ? 1.25 : 0.75;
    const auto best = [](const instance& p) {
      auto least = picoseconds::max();
      std::vector<std::int64_t> at;
      for_each_tiling(p, [&](const std::vector<std::int64_t>& t) {
        const auto time = tiling::makespan(p, t).value();
        if (time < least) {
          least = time;
          at = t;
        }
      });
      return at;
    };
    const auto chosen = tiling::makespan(truth, best(believed)).value(),
               optimum = tiling::makespan(truth, best(truth)).value();
    CHECK(static_cast<double>(chosen.count()) <= static_cast<double>(optimum.count()) * (1.25 / 0.75) * (1 + 1e-9));
  }
}
