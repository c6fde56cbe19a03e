// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Formats, orders, ready times, contention by rate, pinned lengths: each against trying everything.
#include <hocket/core.hpp>
#include <hocket/tiling.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <vector>

#include "catch.hpp"

namespace curve = hocket::curve;
namespace tiling = hocket::tiling;
using hocket::errc;
using hocket::microseconds;
using hocket::picoseconds;

namespace tiling_forms {
namespace {

constexpr picoseconds step(62'500);  // a sixteenth of a microsecond

// Any costs, also falling ones.
struct lookup {
  std::vector<double> us;
  [[nodiscard]] double time(double rows) const noexcept { return us[static_cast<std::size_t>(rows)]; }
};
using problem = tiling::problem<std::vector<tiling::phase<lookup>>>;

struct generator {
  std::mt19937_64 random;
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); }
  problem any(std::int64_t most, std::size_t phases) {
    problem p;
    p.axis = {.rows = 1 + below(most), .align = 1 + below(2), .max_tiles = 1 + below(6)};
    if (below(3) == 0) p.axis.least_tile = std::min<std::int64_t>(p.axis.rows, 2);
    p.axis.rest = static_cast<tiling::remainder>(below(3));
    for (std::size_t i = 0; i < phases; ++i) {
      lookup f;
      double sum = static_cast<double>(below(16)) / 4;
      const bool falls = below(4) == 0;
      for (std::int64_t r = 0; r <= p.axis.rows; ++r)
        f.us.push_back(falls ? static_cast<double>(below(60)) / 4 : sum += static_cast<double>(below(12)) / 4);
      p.phases.push_back({i % 2 == 0 ? tiling::phase_kind::compute : tiling::phase_kind::comm, f,
                          below(2) == 0 ? 1.0 : 1.25,
                          microseconds(below(3) == 0 ? static_cast<double>(below(20)) : 0.0)});
      if (below(8) == 0) p.phases.back().overlap = 0.5;  // one that the other speeds up, as by warming a cache
    }
    return p;
  }
};

template <class F>
void for_each_tiling(const tiling::row_axis& a, F&& f) {
  const std::int64_t units = (a.rows + a.align - 1) / a.align, shortage = units * a.align - a.rows;
  for (std::uint32_t cuts = 0; cuts < (1u << (units - 1)); ++cuts) {
    std::vector<std::int64_t> tiles{0};
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

// The words of the formats, on lengths in units.
bool is_allowed(const tiling::row_axis& a, std::vector<std::int64_t> t) {
  for (auto& rows : t) rows = (rows + a.align - 1) / a.align;
  if (a.shorter == tiling::short_end::first && !std::is_sorted(t.begin(), t.end())) return false;
  if (a.shorter == tiling::short_end::last && !std::is_sorted(t.rbegin(), t.rend())) return false;
  std::vector<std::pair<std::int64_t, int>> runs;
  for (const auto u : t) {
    if (runs.empty() || runs.back().first != u) runs.push_back({u, 0});
    ++runs.back().second;
  }
  switch (a.format) {
    case tiling::tile_format::any: return true;
    case tiling::tile_format::two_runs: return runs.size() <= 2;
    case tiling::tile_format::one_plus_n:
      return runs.size() == 1 || (runs.size() == 2 && (runs[0].second == 1 || runs[1].second == 1));
    case tiling::tile_format::uniform:
      return runs.size() == 1 || (runs.size() == 2 && std::abs(runs[0].first - runs[1].first) == 1);
  }
  return false;
}

// Contention by rate with a small fixed step, in units that all times of the generator are multiples of.
picoseconds simulate_by_rate(const problem& p, const std::vector<std::int64_t>& tiles) {
  const std::size_t phases = p.phases.size();
  // 1/20 of a quarter microsecond: a phase alone does 5 parts a step, one slowed by 1.25 does 4, one sped up by 0.5 10.
  std::vector<std::size_t> passed(phases, 0);
  std::vector<std::int64_t> left(phases, -1);
  std::int64_t steps = 0;
  const auto parts = [&](std::size_t q) {
    return static_cast<std::int64_t>(p.phases[q].cost.time(static_cast<double>(tiles[passed[q]])) * 4 * 20);
  };
  const auto parts_per_step = [&](std::size_t q) { return std::llround(5 / p.phases[q].overlap); };
  for (;;) {
    for (bool again = true; again;) {  // tiles without work pass at once
      again = false;
      for (std::size_t q = 0; q < phases; ++q) {
        const std::size_t entered = q == 0 ? tiles.size() : passed[q - 1];
        if (left[q] < 0 && passed[q] < entered && static_cast<double>(steps) >= p.phases[q].ready.count() * 16)
          left[q] = parts(q);
        if (left[q] == 0) {
          ++passed[q];
          left[q] = -1;
          again = true;
        }
      }
    }
    if (passed[phases - 1] == tiles.size()) return steps * step;
    int working = 0;
    for (const auto x : left) working += x > 0;
    for (std::size_t q = 0; q < phases; ++q)
      if (left[q] > 0) left[q] = std::max<std::int64_t>(0, left[q] - (working > 1 ? parts_per_step(q) : 5));
    ++steps;
  }
}

}  // namespace

TEST_CASE("exact is the best of every tiling that the format and the order allow", "[tiling]") {
  generator g{std::mt19937_64(31)};
  std::int64_t cases = 0, restricted = 0;
#if defined(__has_feature)
#define HOCKET_TEST_FEATURE(x) __has_feature(x)
#else
#define HOCKET_TEST_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || HOCKET_TEST_FEATURE(address_sanitizer) || HOCKET_TEST_FEATURE(thread_sanitizer)
  constexpr int rounds = 600;
#else
  constexpr int rounds = 8400;
#endif
  for (int round = 0; round < rounds; ++round) {
    problem p = g.any(8, static_cast<std::size_t>(1 + g.below(4)));
    // Every allowed tiling of every form at once.
    picoseconds best[4][3];
    for (auto& row : best)
      for (picoseconds& b : row) b = tiling::serial_time(p).value();
    for_each_tiling(p.axis, [&](const std::vector<std::int64_t>& tiles) {
      const picoseconds t = tiling::makespan(p, tiles).value();
      tiling::row_axis form = p.axis;
      for (int f = 0; f < 4; ++f)
        for (int s = 0; s < 3; ++s) {
          form.format = static_cast<tiling::tile_format>(f);
          form.shorter = static_cast<tiling::short_end>(s);
          if (t < best[f][s] && is_allowed(form, tiles)) best[f][s] = t;
        }
    });
    for (int f = 0; f < 4; ++f)
      for (int s = 0; s < 3; ++s) {
        p.axis.format = static_cast<tiling::tile_format>(f);
        p.axis.shorter = static_cast<tiling::short_end>(s);
        INFO("round " << round << " format " << f << " order " << s << " rows " << p.axis.rows);
        const auto proved = tiling::solve(p, {.policy = tiling::policy::exact});
        REQUIRE(proved);
        if (proved->predicted != best[f][s]) CHECK(proved->predicted == best[f][s]);
        const auto quick = tiling::solve(p);
        REQUIRE(quick);
        if (quick->predicted < best[f][s] || quick->predicted > proved->serial) CHECK(quick->predicted == best[f][s]);
        if (quick->lower_bound > best[f][s]) CHECK(quick->lower_bound <= best[f][s]);
        for (const auto& plan : {*proved, *quick})
          if (!is_allowed(p.axis, {plan.tiles().begin(), plan.tiles().end()})) FAIL("not of the format");
        ++cases;
        restricted += best[f][s] != best[0][0];
      }
  }
  std::printf("exact: %lld cases with formats and orders, %lld of them with another optimum\n",
              static_cast<long long>(cases), static_cast<long long>(restricted));
  CHECK(restricted * 40 > cases);
}

// Without what the other policies find: from the uncut operator, each end by itself.
TEST_CASE("the exact search alone is the best of every tiling, in every order", "[tiling]") {
  generator g{std::mt19937_64(33)};
  std::size_t cuts = 0;
  for (int round = 0; round < 1500; ++round) {
    problem p = g.any(8, static_cast<std::size_t>(1 + g.below(4)));
    p.axis.shorter = static_cast<tiling::short_end>(round % 3);
    picoseconds best = tiling::serial_time(p).value();
    std::size_t fewest = 1;
    for_each_tiling(p.axis, [&](const std::vector<std::int64_t>& tiles) {
      if (!is_allowed(p.axis, tiles)) return;
      const picoseconds t = tiling::makespan(p, tiles).value();
      if (t < best || (t == best && tiles.size() < fewest)) fewest = tiles.size();
      best = std::min(best, t);
    });
    const tiling::detail::grid axis(p.axis);
    tiling::detail::clock timer(p);
    tiling::detail::incumbent found(axis, timer);
    const tiling::detail::count_bounds bounds(axis, timer);
    tiling::detail::pareto_search search(axis, timer, {}, std::pmr::get_default_resource());
    axis.for_each_end([&](bool first, bool last) { CHECK(search.run(first, last, found)); });
    CHECK(picoseconds(found.time) == best);
    CHECK(found.tiles.count == fewest);
    CHECK(axis.allows(found.tiles.span()));
    cuts += fewest > 1 ? 1u : 0u;
  }
  CHECK(cuts > 300);
}

// Two units can be cut in one way, which is one step of the search.
TEST_CASE("the exact search does just as many steps as it may", "[tiling]") {
  problem p;
  p.axis = {.rows = 2, .align = 1};
  p.phases = {{tiling::phase_kind::compute, {{1, 1, 2}}}, {tiling::phase_kind::comm, {{1, 1, 2}}}};
  CHECK(p.phases[0].overlap == 1);  // of a phase of which nothing is said
  CHECK(tiling::solve(p, {.policy = tiling::policy::exact, .exact = {.steps = 1}})->tiles().size() == 2);
  CHECK(tiling::solve(p, {.policy = tiling::policy::exact, .exact = {.steps = 0}}).error().code ==
        errc::limit_exceeded);
}

TEST_CASE("contention by rate is what small steps of time give", "[tiling]") {
  generator g{std::mt19937_64(32)};
  std::int64_t tilings = 0;
  for (int round = 0; round < 400; ++round) {
    problem p = g.any(6, 2 + static_cast<std::size_t>(g.below(2)));
    p.slowdown = tiling::contention::while_both;
    problem fixed = p;
    fixed.slowdown = tiling::contention::fixed;
    picoseconds best = tiling::serial_time(p).value();
    for_each_tiling(p.axis, [&](const std::vector<std::int64_t>& tiles) {
      const picoseconds t = tiling::makespan(p, tiles).value();
      best = std::min(best, t);
      // The steps round each event up to 1/16 us.
      const picoseconds stepped = tiles.size() == 1 ? t : simulate_by_rate(p, tiles);
      const picoseconds slack = static_cast<std::int64_t>(tiles.size() * p.phases.size() * 2 + 2) * step;
      if (t > stepped + picoseconds(1) || t < stepped - slack) CHECK(t == stepped);
      const bool slows = std::all_of(p.phases.begin(), p.phases.end(), [](const auto& f) { return f.overlap >= 1; });
      if (slows && tiles.size() > 1 && t > tiling::makespan(fixed, tiles).value() + picoseconds(1))
        FAIL("slower than with fixed factors");
      ++tilings;
    });
    const auto plan = tiling::solve(p);
    REQUIRE(plan);
    CHECK(plan->predicted >= best);
    CHECK(plan->predicted <= plan->serial);
    CHECK(plan->predicted <= tiling::solve(p, {.policy = tiling::policy::uniform})->predicted);
    CHECK(plan->lower_bound <= best);
    CHECK(tiling::solve(p, {.policy = tiling::policy::none})->lower_bound <= best);
    const auto refused = tiling::solve(p, {.policy = tiling::policy::exact}).error();
    CHECK(message(refused) == "exact search: contention (0 is fixed) is 1, but must lie in [0, 0]");
  }
  CHECK(tilings > 1000);
}

TEST_CASE("a shard that is at hand lets the second phase start later, not never", "[tiling]") {
  // Gather, then a product; the own shard of 40 us keeps the product busy from the start.
  auto product = tiling::compute(curve::affine{.per_size = 0.1});
  product.ready = microseconds(40);
  const auto p =
      tiling::problem({.rows = 1024, .align = 128}, tiling::comm(curve::affine{.fixed = 5, .per_size = 0.1}), product);
  CHECK(tiling::serial_time(p).value().count() == std::llround((5 + 102.4 + 102.4) * 1e6));
  const std::vector<std::int64_t> halves{512, 512};
  // The first half arrives at 56.2, the second at 112.4; both are multiplied at 163.6.
  CHECK(tiling::makespan(p, halves).value().count() == std::llround((5 + 51.2 + 5 + 51.2 + 51.2) * 1e6));
  auto early = p;
  std::get<1>(early.phases).ready = microseconds(100);
  CHECK(tiling::makespan(early, halves).value().count() == std::llround((100 + 102.4) * 1e6));
  std::get<1>(early.phases).ready = microseconds(-1);
  CHECK(tiling::solve(early).error().code == errc::bad_cost);
}

TEST_CASE("exact tries every two runs", "[tiling]") {
  struct row_times {
    std::array<double, 16> us{};
    [[nodiscard]] double time(double rows) const noexcept { return us[static_cast<std::size_t>(rows)]; }
  };
  std::mt19937_64 random(7);
  for (int i = 0; i < 300; ++i) {
    const auto units = static_cast<std::int64_t>(6 + random() % 9);
    row_times first, second;
    for (double& us : first.us) us = static_cast<double>(random() % 64);
    for (double& us : second.us) us = static_cast<double>(random() % 64);
    const auto p = tiling::problem({.rows = units, .align = 1, .max_tiles = 8, .format = tiling::tile_format::two_runs},
                                   tiling::compute(first), tiling::comm(second, 1.25));
    picoseconds best = tiling::makespan(p, std::vector<std::int64_t>{units}).value();
    for (std::int64_t a = 1; a <= 8; ++a)
      for (std::int64_t b = 0; a + b <= 8; ++b)
        for (std::int64_t u = 1; a * u <= units; ++u) {
          const std::int64_t rest = units - a * u;
          if (b == 0 ? rest != 0 : rest == 0 || rest % b != 0) continue;
          std::vector<std::int64_t> tiles(static_cast<std::size_t>(a), u);
          if (b > 0) tiles.insert(tiles.end(), static_cast<std::size_t>(b), rest / b);
          best = std::min(best, tiling::makespan(p, tiles).value());
        }
    INFO(units << " units, case " << i);
    const auto found = tiling::solve(p, {.policy = tiling::policy::exact});
    CHECK(found->predicted == best);
    CHECK(found->lower_bound <= best);
    CHECK(tiling::solve(p)->lower_bound <= best);
  }
}

TEST_CASE("exact tries every length where the fast policies take samples of them", "[tiling]") {
  struct row_times {
    std::vector<double> us;
    [[nodiscard]] double time(double rows) const noexcept { return us[static_cast<std::size_t>(rows)]; }
  };
  std::mt19937_64 random(8);
  int sampled = 0;
  for (int i = 0; i < 12; ++i) {
    const auto units = static_cast<std::int64_t>(700 + random() % 300);
    row_times f;
    for (std::int64_t r = 0; r <= units; ++r) f.us.push_back(static_cast<double>(random() % 4096));
    const bool two_runs = i % 2 == 0;
    auto p = tiling::problem({.rows = units, .align = 1, .max_tiles = 4}, tiling::compute(f), tiling::comm(f, 1.25));
    p.axis.format = two_runs ? tiling::tile_format::two_runs : tiling::tile_format::one_plus_n;
    picoseconds best = tiling::makespan(p, std::vector<std::int64_t>{units}).value();
    for (std::int64_t a = 1; a <= 3; ++a)
      for (std::int64_t b = 1; a + b <= 4; ++b)
        for (std::int64_t u = 1; a * u < units; ++u) {
          if ((units - a * u) % b != 0 || (!two_runs && a != 1 && b != 1)) continue;
          std::vector<std::int64_t> tiles(static_cast<std::size_t>(a), u);
          tiles.insert(tiles.end(), static_cast<std::size_t>(b), (units - a * u) / b);
          best = std::min(best, tiling::makespan(p, tiles).value());
        }
    CHECK(tiling::solve(p, {.policy = tiling::policy::exact})->predicted == best);
    sampled += tiling::solve(p)->predicted > best ? 1 : 0;
  }
  CHECK(sampled > 0);
}

TEST_CASE("a bound of lines far below a curve gives way to one of times", "[tiling]") {
  const auto bent =
      *curve::piecewise_polynomial<1, 3>::make({{curve::piecewise_polynomial<1, 3>::unbounded, {0, 0, 3}}});
  const auto p =
      tiling::problem({.rows = 4096, .align = 128, .max_tiles = 16}, tiling::compute(curve::affine{.per_size = 0.2}),
                      tiling::comm(curve::mib_of_rows(bent, 16384.0)));
  CHECK(tiling::solve(p)->lower_bound > microseconds(819));  // computing alone
  const auto too_much = tiling::problem({.rows = 4096}, tiling::compute(curve::affine{.per_size = 0.2}, 1e12),
                                        tiling::comm(curve::affine{.per_size = 0.2}));
  CHECK(tiling::solve(too_much).error().code == errc::bad_cost);
}

TEST_CASE("pinned lengths do not depend on the rows", "[tiling]") {
  const curve::affine f{.fixed = 5, .per_size = 0.1};
  for (const std::int64_t k : {512, 3072, 14336})
    for (const std::int64_t n : {1024, 8192}) {
      const std::int64_t length = tiling::detail::pinned_length({.k = k, .n = n}, 128);
      CHECK(length % 128 == 0);
      for (const std::int64_t m : {1, 127, 384, 385, 4096, 5000, 20000}) {
        const auto plan = tiling::solve(
            tiling::problem({.rows = m, .max_tiles = 64}, {.k = k, .n = n}, tiling::compute(f), tiling::comm(f)),
            {.policy = tiling::policy::pinned});
        if (m > 64 * length) {
          CHECK(plan.error().code == errc::too_many_tiles);
          continue;
        }
        REQUIRE(plan);
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < plan->tiles().size(); ++i) {
          if (i + 1 < plan->tiles().size()) CHECK(plan->tiles()[i] == length);
          sum += plan->tiles()[i];
        }
        CHECK(sum == m);
        CHECK(plan->as_two_runs());
      }
    }
  const auto joined = tiling::solve(tiling::problem({.rows = 900, .align = 1, .least_tile = 200},
                                                    {.k = 3072, .n = 8192}, tiling::compute(f), tiling::comm(f)),
                                    {.policy = tiling::policy::pinned});
  REQUIRE(joined);
  CHECK(std::vector<std::int64_t>(joined->tiles().begin(), joined->tiles().end()) ==
        std::vector<std::int64_t>{384, 516});
}

}  // namespace tiling_forms
