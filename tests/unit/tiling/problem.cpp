// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/core.hpp>
#include <hocket/curve.hpp>
#include <hocket/tiling.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <new>
#include <vector>

#include "catch.hpp"

namespace curve = hocket::curve;
namespace tiling = hocket::tiling;
using hocket::errc;

namespace {

constexpr curve::affine unit{.per_size = 1};
auto with(const tiling::row_axis& axis) { return tiling::problem(axis, tiling::compute(unit), tiling::comm(unit)); }
template <class R>
errc code(const R& r) {
  return r ? errc{} : r.error().code;
}

}  // namespace

TEST_CASE("impossible problems are errors with a sentence, for every policy", "[tiling]") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(),
                         least = std::numeric_limits<std::int64_t>::min();
  for (const tiling::policy by : {tiling::policy::automatic, tiling::policy::none, tiling::policy::uniform,
                                  tiling::policy::one_plus_n, tiling::policy::lot_streaming}) {
    for (const std::int64_t rows : {std::int64_t{0}, std::int64_t{-1}, most, least})
      CHECK(code(solve(with({.rows = rows}), {.policy = by})) == errc::out_of_range);
    for (const std::int64_t align : {std::int64_t{0}, std::int64_t{-128}, most, least})
      CHECK(code(solve(with({.rows = 512, .align = align}), {.policy = by})) == errc::out_of_range);
    for (const std::int64_t tiles : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{257}, most})
      CHECK(code(solve(with({.rows = 512, .max_tiles = tiles}), {.policy = by})) == errc::out_of_range);
    CHECK(code(solve(with({.rows = 512, .least_tile = 0}), {.policy = by})) == errc::out_of_range);
    CHECK(code(solve(with({.rows = 512, .least_tile = 513}), {.policy = by})) == errc::no_feasible_tiling);
    CHECK(code(solve(with({.rows = 512, .least_tile = 512}), {.policy = by})) == errc{});
  }
  CHECK(message(solve(with({.rows = 0})).error()) == "rows is 0, but must lie in [1, 9007199254740992]");
  tiling::problem<std::vector<tiling::phase<curve::affine>>> empty;
  empty.axis.rows = 5;
  CHECK(code(tiling::solve(empty, {.policy = tiling::policy::none})) == errc::out_of_range);
  empty.phases.assign(9, tiling::compute(unit));
  CHECK(code(tiling::solve(empty, {.policy = tiling::policy::none})) == errc::out_of_range);
  CHECK(code(solve(with({.rows = 512}), {.policy = tiling::policy::pinned})) == errc::out_of_range);  // no matrix
  CHECK(code(solve(with({.rows = 512}), {.policy = static_cast<tiling::policy>(99)})) == errc::invalid_argument);
}

TEST_CASE("costs that are not costs are errors, wherever they are met", "[tiling]") {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  for (const double bad : {nan, inf, -1.0, -1e-300}) {
    const curve::function everywhere{[=](double) { return bad; }};
    const curve::function uncut_only{[=](double rows) { return rows == 4096 ? bad : 1.0; }};
    const curve::function some{[=](double rows) { return rows == 256 ? bad : 10.0 + rows; }};
    const tiling::row_axis axis{.rows = 4096};
    CHECK(code(tiling::solve(tiling::problem(axis, tiling::compute(unit), tiling::comm(everywhere)),
                             {.policy = tiling::policy::none})) == errc::bad_cost);
    CHECK(code(tiling::solve(tiling::problem(axis, tiling::compute(uncut_only)), {.policy = tiling::policy::none})) ==
          errc::bad_cost);
    CHECK(code(tiling::solve(tiling::problem(axis, tiling::compute(unit), tiling::comm(some)))) == errc::bad_cost);
    CHECK(code(tiling::makespan(tiling::problem(axis, tiling::comm(some)), std::vector<std::int64_t>{256, 3840})) ==
          errc::bad_cost);
  }
  const auto endless = tiling::problem({.rows = 512}, tiling::compute(curve::affine{.fixed = 3e9}));
  CHECK(message(tiling::solve(endless, {.policy = tiling::policy::none}).error()) ==
        "microseconds of one tile: 3000000000 exceeds the limit of 2251799813");
  for (const double factor : {0.0, -1.0, nan, inf}) {
    const auto p = tiling::problem({.rows = 512}, tiling::compute(unit, factor), tiling::comm(unit));
    CHECK(code(tiling::solve(p, {.policy = tiling::policy::uniform})) == errc::bad_cost);
  }
  const auto r =
      tiling::solve(tiling::problem({.rows = 7}, tiling::compute(curve::function{[](double) { return -1.0; }})),
                    {.policy = tiling::policy::none});
  CHECK(message(r.error()) == "phase: a cost must be finite and not negative (at 7 rows)");
}

TEST_CASE("the exact search gives up at its limits, by count", "[tiling]") {
  const auto p = with({.rows = 4096, .align = 16});
  CHECK(code(tiling::solve(p, {.policy = tiling::policy::exact, .exact = {.units = 255}})) == errc::limit_exceeded);
  CHECK(code(tiling::solve(p, {.policy = tiling::policy::exact, .exact = {.states = 10}})) == errc::limit_exceeded);
  CHECK(message(tiling::solve(p, {.policy = tiling::policy::exact, .exact = {.states = 10}}).error()) ==
        "states of the exact search: 11 exceeds the limit of 10");
  CHECK(message(tiling::solve(p, {.policy = tiling::policy::exact, .exact = {.steps = 7}}).error()) ==
        "steps of the exact search: 8 exceeds the limit of 7");
  CHECK(tiling::solve(p, {.policy = tiling::policy::exact}));
  // One first tile is all that three units in two tiles leave to choose: of one unit, or of two.
  const auto small_one = with({.rows = 48, .align = 16, .max_tiles = 2});
  for (std::int64_t states = 0; states < 4; ++states)
    CHECK(tiling::solve(small_one, {.policy = tiling::policy::exact, .exact = {.states = states}}).has_value() ==
          (states >= 2));
}

TEST_CASE("tiles that are no tiling are errors", "[tiling]") {
  const auto p = with({.rows = 512});
  const auto time = [&](std::vector<std::int64_t> tiles) { return code(tiling::makespan(p, tiles)); };
  CHECK(time({512}) == errc{});
  CHECK(time({100, 412}) == errc{});  // foreign tilings need not be aligned
  CHECK(time({}) == errc::invalid_argument);
  CHECK(time({511}) == errc::invalid_argument);
  CHECK(time({256, 257}) == errc::invalid_argument);
  CHECK(time({512, 0}) == errc::invalid_argument);
  CHECK(time({-1, 513}) == errc::invalid_argument);
  CHECK(time({513, -1}) == errc::invalid_argument);
  CHECK(time({std::numeric_limits<std::int64_t>::max(), 513}) == errc::invalid_argument);
}

TEST_CASE("a plan converts to two runs, or says why not", "[tiling]") {
  const auto runs = [](std::vector<std::int64_t> tiles) {
    tiling::plan p;
    p.assign(tiles);
    return p.as_two_runs();
  };
  CHECK(runs({512, 896, 896, 896, 896}).value() == tiling::two_runs{512, 1, 896, 4});
  CHECK(runs({256, 256, 128}).value() == tiling::two_runs{256, 2, 128, 1});
  CHECK(runs({256, 256}).value() == tiling::two_runs{256, 2, 0, 0});
  CHECK(runs({1, 2, 1}).error().code == errc::invalid_argument);
  tiling::plan a, b;
  a.assign(std::vector<std::int64_t>{1, 2});
  b.assign(std::vector<std::int64_t>{2, 1});
  CHECK(a.fingerprint() != b.fingerprint());
  b.assign(std::vector<std::int64_t>{1, 2});
  CHECK(a.fingerprint() == b.fingerprint());
}

TEST_CASE("a problem whose phases are chosen at run time is solved alike", "[tiling]") {
  const auto typed = tiling::problem({.rows = 5000, .align = 128}, {.k = 3072, .n = 8192},
                                     tiling::compute(curve::affine{.fixed = 5, .per_size = 0.2}, 1.1),
                                     tiling::comm(curve::affine{.fixed = 30, .per_size = 0.25}, 1.15));
  tiling::any_problem read;
  read.axis = typed.axis;
  read.shape = typed.shape;
  read.phases = {tiling::compute(curve::any_curve(curve::affine{.fixed = 5, .per_size = 0.2}), 1.1),
                 tiling::comm(curve::any_curve(curve::affine{.fixed = 30, .per_size = 0.25}), 1.15)};
  for (int by = 0; by < static_cast<int>(tiling::policy::pinned); ++by) {
    const auto a = solve(typed, {.policy = static_cast<tiling::policy>(by)});
    const auto b = solve(read, {.policy = static_cast<tiling::policy>(by)});
    REQUIRE((a && b));
    CHECK(a->fingerprint() == b->fingerprint());
    CHECK(a->predicted == b->predicted);
    CHECK(a->lower_bound == b->lower_bound);
  }
}

TEST_CASE("the predicted timeline is what the makespan says", "[tiling]") {
  const auto p = tiling::problem({.rows = 8, .align = 1}, tiling::compute(curve::affine{.per_size = 1}),
                                 tiling::comm(curve::affine{.fixed = 1, .per_size = 1}));
  const std::vector<std::int64_t> tiles{3, 5};
  const auto t = tiling::predicted_timeline(p, tiles);
  REQUIRE(t);
  CHECK(t->lane_count() == 2);
  CHECK(t->spans().size() == 4);
  CHECK(t->makespan() == tiling::makespan(p, tiles).value().count());
  CHECK(t->spans()[3].start == 8'000'000);
}

TEST_CASE("a search without memory throws, it does not end the program", "[tiling]") {
  std::pmr::memory_resource* const before = std::pmr::set_default_resource(std::pmr::null_memory_resource());
  bool thrown = false;
  try {
    const auto plan = tiling::solve(with({.rows = 64, .align = 1}), {.policy = tiling::policy::exact});
    thrown = !plan;
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  std::pmr::set_default_resource(before);
  CHECK(thrown);
}

TEST_CASE("tiles outside of what a fit has seen are flagged", "[tiling]") {
  const curve::sample samples[] = {{128, 20, 1}, {256, 30, 1}, {512, 52, 1}, {1024, 99, 1}, {2048, 190, 1}};
  const auto fitted = curve::fit_segments(samples).value();
  const auto plan_of = [&](std::int64_t rows) {
    return tiling::solve(tiling::problem({.rows = rows}, tiling::compute(fitted.bounded()),
                                         tiling::comm(curve::affine{.fixed = 5, .per_size = 0.05})))
        .value();
  };
  CHECK(!plan_of(2048).flags.has(tiling::flag::extrapolated));
  CHECK(plan_of(100'000).flags.has(tiling::flag::extrapolated));
  CHECK(plan_of(64).flags.has(tiling::flag::extrapolated));
}

TEST_CASE("a plan with a changed figure is refused as a defect", "[tiling]") {
  using namespace hocket::tiling;
  const auto q = problem({.rows = 1000, .align = 100, .least_tile = 200, .max_tiles = 4},
                         compute(hocket::curve::affine{.fixed = 6, .per_size = 0.2}),
                         comm(hocket::curve::affine{.fixed = 20, .per_size = 0.25}));
  const auto found = solve(q);
  REQUIRE(found);
  const auto after = [&](auto&& change, policy asked) {
    plan changed = *found;
    change(changed);
    const auto ok = detail::check_answer(q, asked, changed);
    return ok ? hocket::errc{} : ok.error().code;
  };
  const auto tiles_of = [](std::vector<std::int64_t> rows) { return [=](plan& x) { x.assign(rows); }; };
  CHECK(after([](plan&) {}, policy::automatic) == hocket::errc{});
  CHECK(after([](plan& x) { ++x.predicted; }, policy::automatic) == hocket::errc::wrong_answer);
  CHECK(after([](plan& x) { x.lower_bound = x.predicted + hocket::picoseconds(1); }, policy::automatic) ==
        hocket::errc::wrong_answer);
  CHECK(after(tiles_of({500, 400}), policy::automatic) == hocket::errc::invalid_argument);
  const auto timed = [&](std::vector<std::int64_t> rows) {
    return [&, rows](plan& x) {
      x.assign(rows);
      x.predicted = *makespan(q, rows);
      x.lower_bound = hocket::picoseconds(0);
    };
  };
  CHECK(after(timed({500, 500}), policy::automatic) == hocket::errc{});
  CHECK(after(timed({900, 100}), policy::automatic) == hocket::errc::wrong_answer);
  CHECK(after(timed({550, 450}), policy::exact) == hocket::errc::wrong_answer);
  CHECK(after(timed({200, 200, 200, 200, 200}), policy::uniform) == hocket::errc::wrong_answer);
  CHECK(after(timed({200, 200, 200, 200, 200}), policy::pinned) == hocket::errc{});
}
