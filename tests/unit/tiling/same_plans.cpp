// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every machine plans alike, so plans of fixed contention are decided in whole numbers. Digests of many of them notice
// any change of a search, wanted or not: after a wanted one look at the means, then take over what the test prints.
#include <hocket/core/fingerprint.hpp>
#include <hocket/tiling.hpp>
#include <hocket/tiling/timeline.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "catch.hpp"

namespace tiling_same_plans {
namespace {

namespace curve = hocket::curve;
namespace tiling = hocket::tiling;
using hocket::picoseconds;

struct generator {
  std::mt19937_64 random;
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); }

  /// Quarters and eighths of microseconds, whose products are exact.
  curve::any_curve costs(std::int64_t rows) {
    const double fixed = static_cast<double>(below(160)) / 4, rate = static_cast<double>(below(64) + 1) / 1024;
    switch (below(4)) {
      case 0: return curve::affine{.fixed = fixed, .per_size = rate};
      case 1: return curve::affine{.fixed = fixed, .per_size = rate, .least = static_cast<double>(below(512))};
      case 2: {
        std::vector<double> sizes, us;
        double at = fixed;
        for (std::int64_t x = 1; x < 2 * rows; x *= 2) {
          sizes.push_back(static_cast<double>(x));
          us.push_back(at += static_cast<double>(below(200)) / 4 * (x > 256 ? 2 : 0.25));
        }
        return curve::table::make(sizes, us).value();
      }
      default: {
        using fit = curve::stored_polynomial;
        const double turn = static_cast<double>(64 << below(6));
        std::vector<fit::piece> pieces(2);
        pieces[0].below = turn;
        pieces[0].coefficients[0] = fixed;
        pieces[0].coefficients[1] = 2 * rate;
        pieces[1].coefficients[0] = fixed + rate * turn;
        pieces[1].coefficients[1] = rate;
        return fit::make(pieces).value();
      }
    }
  }
  tiling::any_problem any() {
    tiling::any_problem p;
    const std::int64_t aligns[] = {1, 16, 100, 128};
    p.axis.align = aligns[below(4)];
    p.axis.rows = 1 + below((1 + below(300)) * p.axis.align);
    p.axis.max_tiles = below(8) == 0 ? 60 + below(12) : 1 + below(20);
    p.axis.least_tile = below(4) == 0 ? (std::min)(p.axis.rows, 1 + below(3 * p.axis.align)) : 1;
    p.axis.rest = static_cast<tiling::remainder>(below(3));
    if (below(3) == 0) p.axis.format = static_cast<tiling::tile_format>(below(4));
    if (below(4) == 0) p.axis.shorter = static_cast<tiling::short_end>(below(3));
    const std::int64_t phases = 1 + below(4);
    for (std::int64_t i = 0; i < phases; ++i)
      p.phases.push_back({below(2) == 0 ? tiling::phase_kind::compute : tiling::phase_kind::comm, costs(p.axis.rows),
                          below(2) == 0 ? 1.0 : 1.25,
                          hocket::microseconds(below(3) == 0 ? static_cast<double>(below(80)) / 4 : 0)});
    return p;
  }
};

}  // namespace

TEST_CASE("plans are the same everywhere", "[tiling]") {
  generator g{std::mt19937_64(41)};
  hocket::fingerprint plans, bounds;
  double gaps = 0;
  int bounded = 0;
  for (int round = 0; round < 600; ++round) {
    const tiling::any_problem p = g.any();
    for (const tiling::policy by : {tiling::policy::uniform, tiling::policy::one_plus_n, tiling::policy::lot_streaming,
                                    tiling::policy::automatic}) {
      const auto plan = tiling::solve(p, {.policy = by});
      REQUIRE(plan);
      for (const std::int64_t rows : plan->tiles()) plans.add(static_cast<std::uint64_t>(rows));
      plans.add(static_cast<std::uint64_t>(plan->predicted.count()))
          .add(static_cast<std::uint64_t>(plan->serial.count()));
      for (std::size_t i = 0; i < tiling::flag_count; ++i)
        plans.add(plan->flags.has(static_cast<tiling::flag>(1u << i)) ? 1u : 0u);
      plans.add(static_cast<std::uint64_t>(plan->bound));
      if (by != tiling::policy::automatic) continue;
      bounds.add(static_cast<std::uint64_t>(plan->lower_bound.count()));
      if (plan->lower_bound.count() == 0) continue;
      gaps += plan->gap();
      ++bounded;
    }
  }
  std::printf("plans %#llx bounds %#llx mean gap %.5f of %d\n", static_cast<unsigned long long>(plans.value()),
              static_cast<unsigned long long>(bounds.value()), gaps / bounded, bounded);
  CHECK(plans.value() == 0x14911032a1c9bf4);
  CHECK(bounds.value() == 0x50e450eab84675d8);
}

TEST_CASE("uncut, no phase slows another; tiles outside of what was measured are told", "[tiling]") {
  generator g{std::mt19937_64(43)};
  for (int round = 0; round < 100; ++round) {
    tiling::any_problem p = g.any();
    for (auto& phase : p.phases) phase.overlap = 1.5;
    const std::int64_t whole[1] = {p.axis.rows};
    const auto run = tiling::predicted_timeline(p, whole);
    REQUIRE(run);
    CHECK(run->end() == tiling::serial_time(p).value().count());
    const auto plan = tiling::solve(p).value();
    const auto [least, most] = std::minmax_element(plan.tiles().begin(), plan.tiles().end());
    const double shortest = static_cast<double>(*least), longest = static_cast<double>(*most);
    for (const curve::interval measured : {curve::interval{shortest, longest}, curve::interval{shortest + 0.5, longest},
                                           curve::interval{shortest, longest - 0.5}}) {
      if (measured.least > measured.most) continue;
      tiling::any_problem q = p;
      for (auto& phase : q.phases) phase.cost = phase.cost.within(measured);
      const auto again = tiling::solve(q).value();
      CHECK(std::equal(again.tiles().begin(), again.tiles().end(), plan.tiles().begin(), plan.tiles().end()));
      CHECK(again.flags.has(tiling::flag::extrapolated) == (measured.least > shortest || measured.most < longest));
    }
  }
}

TEST_CASE("under contention by rate each tile does its work, in order, and as fast as its neighbours let it",
          "[tiling]") {
  generator g{std::mt19937_64(42)};
  for (int round = 0; round < 300; ++round) {
    INFO(round);
    tiling::any_problem p = g.any();
    p.slowdown = tiling::contention::while_both;
    p.axis.format = tiling::tile_format::any;
    p.axis.shorter = tiling::short_end::either;
    for (auto& phase : p.phases) phase.overlap = 1 + static_cast<double>(g.below(5)) / 4;
    const auto plan = tiling::solve(p, {.policy = tiling::policy::lot_streaming});
    REQUIRE(plan);
    if (plan->tiles().size() < 2) continue;
    const auto run = tiling::predicted_timeline(p, plan->tiles());
    REQUIRE(run);
    const std::size_t tiles = plan->tiles().size(), phases = p.phases.size();
    REQUIRE(run->spans().size() == tiles * phases);
    std::vector<std::vector<hocket::timeline::span>> at(phases, std::vector<hocket::timeline::span>(tiles));
    for (const auto& s : run->spans()) at[s.lane][s.id] = s;
    hocket::ticks last = 0;
    for (std::size_t q = 0; q < phases; ++q)
      for (std::size_t i = 0; i < tiles; ++i) {
        const auto& s = at[q][i];
        last = (std::max)(last, s.finish);
        // A tile begins as soon as its phase is free and ready, and the phase before is through with it.
        double begin = p.phases[q].ready.count() * 1e6;
        if (i > 0) begin = (std::max)(begin, static_cast<double>(at[q][i - 1].finish));
        if (q > 0) begin = (std::max)(begin, static_cast<double>(at[q - 1][i].finish));
        CHECK(std::fabs(static_cast<double>(s.start) - begin) <= 2);
        // It works at full speed alone and at 1 / overlap beside another phase.
        double beside = 0;
        for (std::size_t other = 0; other < phases; ++other)
          for (std::size_t k = 0; k < tiles && other != q; ++k) {
            // Phases that work at one time are counted once: cut the tile at every boundary below instead, if three do.
            const auto& o = at[other][k];
            beside += static_cast<double>(
                (std::max)(hocket::ticks{0}, (std::min)(s.finish, o.finish) - (std::max)(s.start, o.start)));
          }
        const double length = static_cast<double>(s.finish - s.start);
        const double alone = p.phases[q].cost.time(static_cast<double>(plan->tiles()[i])) * 1e6;
        if (phases == 2) CHECK(std::fabs(length - beside + beside / p.phases[q].overlap - alone) <= 1e-6 * alone + 8);
        else CHECK((length >= alone - 4 && length <= alone * p.phases[q].overlap + 8));
      }
    CHECK(std::fabs(static_cast<double>(last - plan->predicted.count())) <= 2);
  }
}

}  // namespace tiling_same_plans
