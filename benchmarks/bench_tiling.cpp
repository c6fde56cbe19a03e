// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The targets of tiling: 11 layers of published models, tp 2, 4, 8, 128 to 32,768 rows (297 shapes), under three cost
// models. Quality against the exact optimum, speed as ratios of what runs by turns in one process.
// bench_tiling [--benchmark_filter=REGEX]
#include <hocket/tiling.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <new>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "measure.hpp"

namespace {
std::size_t allocations = 0;
}
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace {

namespace curve = hocket::curve;
namespace tiling = hocket::tiling;
using hocket::picoseconds;
using hocket::ticks;

double now() { return bench::now() * 1e3; }  // microseconds

std::int64_t sink = 0;
std::regex wanted(".*");

void line(const char* name, const char* what, double measured, const char* unit, const char* must, const char* aim) {
  if (!std::regex_search(name, wanted)) return;
  std::printf("%-18s %-50s %10.5g %-4s must %-9s aim %s\n", name, what, measured, unit, must, aim);
  std::fflush(stdout);
}

struct ratio {
  double logs = 0, worst = 0;
  int count = 0;
  void add(double r) {
    logs += std::log(r);
    worst = std::max(worst, r);
    ++count;
  }
  [[nodiscard]] double mean() const { return std::exp(logs / count); }
};
ratio operator+(ratio a, const ratio& b) { return {a.logs + b.logs, std::max(a.worst, b.worst), a.count + b.count}; }

double quotient(picoseconds a, picoseconds b) {
  return static_cast<double>(a.count()) / static_cast<double>(b.count());
}

// ---- shapes and cost models ----------------------------------------------------------------------------------------

struct shape {
  std::int64_t m, k, n;
};
std::vector<shape> all_shapes() {
  std::ifstream file(HOCKET_TEST_DATA "/tiling/optimum.csv");
  std::set<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>> layers;
  std::string text;
  std::getline(file, text);
  while (std::getline(file, text)) {
    std::vector<std::string> cells;
    std::istringstream in(text);
    for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
    layers.insert({cells[1], std::stoll(cells[2]), std::stoll(cells[4]), std::stoll(cells[5])});
  }
  std::vector<shape> out;
  for (const auto& [layer, tp, k, n] : layers)
    for (std::int64_t m = 128; m <= 32768; m *= 2) out.push_back({m, k, n});
  return out;
}

using fit = curve::piecewise_polynomial<2, 3>;
constexpr auto reduce_mib =
    *fit::make({{8, {14.769, 27.0622573, -0.9698202}}, {fit::unbounded, {61.508333, 13.58491263}}});

template <int Truth>
auto compute_of(const shape& s) {
  const auto k = static_cast<double>(s.k), n = static_cast<double>(s.n);
  const double weights = 2 * n * k / 1.2e6;
  if constexpr (Truth == 0) {
    return curve::affine{.per_size = std::fmax(128, n) * std::fmax(128, k) / (4096 * 1843.2 * 20 * 0.85), .least = 128};
  } else if constexpr (Truth == 1) {
    const double row = 2 * n * k / (0.85 * 313e6);
    return curve::delayed{curve::max_of{curve::rounded_up{curve::affine{.fixed = 32 * row, .per_size = row}, 128.0},
                                        curve::affine{.fixed = weights}},
                          6.0};
  } else {
    return curve::matmul_roofline{.launch_us = 6,
                                  .wave_us = 20 * 2 * 128 * 256 * k / (0.90 * 313e6),
                                  .column_blocks = std::ceil(n / 256),
                                  .cores = 20,
                                  .weights_us = weights};
  }
}
template <int Truth>
auto problem_of(const shape& s, double compute_error = 1, double comm_error = 1) {
  return tiling::problem(
      {.rows = s.m, .align = 128, .max_tiles = 16}, {.k = s.k, .n = s.n},
      tiling::compute(curve::scaled{compute_of<Truth>(s), compute_error}, Truth == 0 ? 1.0 : 1.15),
      tiling::comm(curve::scaled{curve::mib_of_rows(reduce_mib, static_cast<double>(s.n) * 2), comm_error}, 1.15));
}

// ---- the searches of others, written anew -----------------------------------------------------------------------

template <class Phase>
ticks tile_time(const Phase& f, std::int64_t rows) {
  return static_cast<ticks>(f.cost.time(static_cast<double>(rows)) * f.overlap * 1e6 + 0.5);
}

/// Every a tiles of one length, then b of another, each priced in O(1).
template <class Problem>
picoseconds every_two_runs(const Problem& p) {
  const auto& [first, second] = p.phases;
  const std::int64_t units = (p.axis.rows + p.axis.align - 1) / p.axis.align, most = std::min(p.axis.max_tiles, units);
  ticks best = static_cast<ticks>(
      (first.cost.time(static_cast<double>(p.axis.rows)) + second.cost.time(static_cast<double>(p.axis.rows))) * 1e6);
  for (std::int64_t a = 1; a <= most; ++a) {
    for (std::int64_t b = 1; a + b <= most; ++b) {
      for (std::int64_t u = 1; a * u + b <= units; ++u) {
        if ((units - a * u) % b != 0) continue;
        const std::int64_t v = (units - a * u) / b;
        const ticks c1 = tile_time(first, u * p.axis.align), t1 = tile_time(second, u * p.axis.align);
        const ticks c2 = tile_time(first, v * p.axis.align), t2 = tile_time(second, v * p.axis.align);
        const ticks run = std::max(c1 + a * t1, a * c1 + t1), start = a * c1;
        best = std::min(best, std::max({run + b * t2, start + c2 + b * t2, start + b * c2 + t2}));
      }
    }
  }
  return picoseconds(best);
}

/// At most ten equal groups of rows and all 2^9 ways to join neighbours.
template <class Problem>
picoseconds ten_groups(const Problem& p) {
  const auto& [first, second] = p.phases;
  const std::int64_t units = (p.axis.rows + p.axis.align - 1) / p.axis.align,
                     groups = std::min<std::int64_t>(units, 10);
  ticks best = static_cast<ticks>(
      (first.cost.time(static_cast<double>(p.axis.rows)) + second.cost.time(static_cast<double>(p.axis.rows))) * 1e6);
  for (std::uint32_t cuts = 1; cuts < (1u << (groups - 1)); ++cuts) {
    ticks c = 0, t = 0;
    std::int64_t from = 0;
    for (std::int64_t g = 1; g <= groups; ++g) {
      if (g < groups && (cuts >> (g - 1) & 1u) == 0) continue;
      const std::int64_t to = units * g / groups, rows = (to - from) * p.axis.align;
      c += tile_time(first, rows);
      t = std::max(c, t) + tile_time(second, rows);
      from = to;
    }
    best = std::min(best, t);
  }
  return picoseconds(best);
}

/// The optimum by trying every tiling; for 16 units at most.
template <class Problem>
picoseconds every_tiling(const Problem& p) {
  const std::int64_t align = p.axis.align, units = p.axis.rows / align;
  picoseconds best = tiling::serial_time(p).value();
  std::vector<std::int64_t> tiles;
  for (std::uint32_t cuts = 1; cuts < (1u << (units - 1)); ++cuts) {
    tiles.assign(1, align);
    for (std::int64_t u = 0; u + 1 < units; ++u) {
      if ((cuts >> u & 1u) != 0) tiles.push_back(align);
      else tiles.back() += align;
    }
    best = std::min(best, tiling::makespan(p, tiles).value());
  }
  return best;
}

// ---- quality ----------------------------------------------------------------------------------------------------

struct quality {
  ratio automatic, one_n, rule, lots, groups, wrong[4], by_rate, by_rate_proved, gap;
  int slower = 0;
};

template <int Truth>
quality judge(const std::vector<shape>& shapes) {
  quality q;
  constexpr double errors[4][2] = {{0.8, 1}, {1.25, 1}, {1, 0.8}, {1, 1.25}};
  for (const shape& s : shapes) {
    const auto p = problem_of<Truth>(s);
    const auto best = tiling::solve(p).value(), proved = tiling::solve(p, {.policy = tiling::policy::exact}).value();
    const picoseconds optimum = proved.predicted;
    q.automatic.add(quotient(best.predicted, optimum));
    q.gap.add(1 + best.gap());
    auto of_form = p;
    of_form.axis.format = tiling::tile_format::one_plus_n;
    q.one_n.add(quotient(tiling::solve(p, {.policy = tiling::policy::one_plus_n})->predicted,
                         tiling::solve(of_form, {.policy = tiling::policy::exact})->predicted));
    of_form.axis.format = tiling::tile_format::uniform;
    const picoseconds even = tiling::solve(of_form, {.policy = tiling::policy::exact})->predicted;
    for (const auto by : {tiling::policy::automatic, tiling::policy::lot_streaming, tiling::policy::one_plus_n,
                          tiling::policy::uniform}) {
      const auto plan = tiling::solve(p, {.policy = by}).value();
      q.slower += plan.predicted > plan.serial || plan.predicted > even ? 1 : 0;
    }
    q.rule.add(quotient(tiling::solve(p, {.policy = tiling::policy::documented})->predicted, best.predicted));
    q.lots.add(quotient(tiling::solve(p, {.policy = tiling::policy::lot_streaming})->predicted, optimum));
    q.groups.add(quotient(ten_groups(p), optimum));
    for (int i = 0; i < 4; ++i) {
      const auto believed = tiling::solve(problem_of<Truth>(s, errors[i][0], errors[i][1])).value();
      q.wrong[i].add(quotient(tiling::makespan(p, believed.tiles()).value(), optimum));
    }
    // Contention by rate: no exact search; the best of the static optimum, the policy that knows the rate, and one that
    // ignores contention, all timed by rate.
    auto rate = p;
    rate.slowdown = tiling::contention::while_both;
    auto calm = p;
    std::get<0>(calm.phases).overlap = std::get<1>(calm.phases).overlap = 1;
    picoseconds least = tiling::makespan(rate, proved.tiles()).value();
    least = std::min(least, tiling::solve(rate)->predicted);
    least = std::min(least,
                     tiling::makespan(rate, tiling::solve(calm, {.policy = tiling::policy::exact})->tiles()).value());
    const picoseconds by_rate = tiling::makespan(rate, best.tiles()).value();
    q.by_rate.add(quotient(by_rate, least));
    if (s.m <= 2048) q.by_rate_proved.add(quotient(by_rate, every_tiling(rate)));
  }
  return q;
}

// ---- speed ------------------------------------------------------------------------------------------------------

struct times {
  std::vector<double> no_lines, automatic, one_n, lots, two_runs, groups, evaluation;
};

template <class F>
double once(F&& f, int calls) {
  const double start = now();
  for (int i = 0; i < calls; ++i) sink += f().count();
  return (now() - start) / calls;
}
double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}
double mean(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x;
  return sum / static_cast<double>(v.size());
}
double most(const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); }

template <int Truth>
void race(const std::vector<shape>& shapes, times& out) {
  for (const shape& s : shapes) {
    auto p = problem_of<Truth>(s);
    // The same costs as functions of a host, of which nothing is known.
    const auto [first, second] = p.phases;
    auto opaque =
        tiling::problem(p.axis, tiling::compute([f = first.cost](double m) { return f.time(m); }, first.overlap),
                        tiling::comm([f = second.cost](double m) { return f.time(m); }, second.overlap));
    std::vector<double> rounds[7];
    // The rows are read anew each time, so that nothing is computed once for all calls.
    volatile std::int64_t rows = s.m;
    for (int round = 0; round < 7; ++round) {
      const auto fresh = [&]() -> auto& {
        p.axis.rows = rows;
        return p;
      };
      rounds[0].push_back(once([&] { return tiling::solve(fresh())->predicted; }, 20));
      rounds[1].push_back(
          once([&] { return tiling::solve(fresh(), {.policy = tiling::policy::one_plus_n})->predicted; }, 20));
      rounds[2].push_back(
          once([&] { return tiling::solve(fresh(), {.policy = tiling::policy::lot_streaming})->predicted; }, 20));
      rounds[3].push_back(once([&] { return every_two_runs(fresh()); }, 3));
      rounds[4].push_back(once([&] { return ten_groups(fresh()); }, 3));
      std::int64_t at = 0;
      rounds[5].push_back(once(
          [&] {
            at = at + 128 > rows ? 128 : at + 128;
            return picoseconds(tile_time(std::get<0>(p.phases), at) + tile_time(std::get<1>(p.phases), at));
          },
          200));
      rounds[6].push_back(once(
          [&] {
            opaque.axis.rows = rows;
            return tiling::solve(opaque)->predicted;
          },
          1));
    }
    std::vector<double>* const kept[7] = {&out.automatic, &out.one_n,      &out.lots,    &out.two_runs,
                                          &out.groups,    &out.evaluation, &out.no_lines};
    for (int i = 0; i < 7; ++i) kept[i]->push_back(median(rounds[i]));
  }
}

void exact_at_32768(const std::vector<shape>& shapes) {
  std::vector<double> ms;
  for (const shape& s : shapes) {
    if (s.m != 32768) continue;
    const auto add = [&](const auto& p) {
      std::vector<double> rounds;
      for (int i = 0; i < 3; ++i)
        rounds.push_back(once([&] { return tiling::solve(p, {.policy = tiling::policy::exact})->predicted; }, 1) / 1e3);
      ms.push_back(median(rounds));
    };
    add(problem_of<0>(s));
    add(problem_of<1>(s));
    add(problem_of<2>(s));
  }
  line("tiling/exact", "32,768 rows, align 128: median", median(ms), "ms", "-", "<= 5");
  line("tiling/exact", "32,768 rows, align 128: worst", most(ms), "ms", "<= 50", "<= 5");
}

// ---- three phases -----------------------------------------------------------------------------------------------

void three_phases() {
  std::mt19937_64 random(5);
  const auto real = [&](double top) { return static_cast<double>(random() % 1'000'000) * top / 1e6; };
  ratio r;
  double sum = 0;
  std::vector<double> us;
  for (int round = 0; round < 400; ++round) {
    const auto units = static_cast<std::int64_t>(4 + random() % 11);
    auto last = tiling::compute(curve::affine{.fixed = real(10), .per_size = 1 + real(9)}, 1 + real(0.2));
    last.ready = hocket::microseconds(real(30));
    const auto p =
        tiling::problem({.rows = units, .align = 1, .max_tiles = 16},
                        tiling::compute(curve::affine{.fixed = real(10), .per_size = 1 + real(9)}, 1 + real(0.2)),
                        tiling::comm(curve::affine{.fixed = real(10), .per_size = 1 + real(9)}, 1 + real(0.2)), last);
    const double q = quotient(tiling::solve(p)->predicted, every_tiling(p));
    r.add(q);
    sum += q;
    auto fresh = p;
    volatile std::int64_t rows = units;
    us.push_back(once(
        [&] {
          fresh.axis.rows = rows;
          return tiling::solve(fresh)->predicted;
        },
        5));
  }
  line("tiling/three", "auto / brute force, mean", sum / r.count, "x", "<= 1.005", "-");
  line("tiling/three", "auto / brute force, worst", r.worst, "x", "-", "-");
  line("tiling/three", "auto, median", median(us), "us", "-", "-");
  line("tiling/three", "auto, worst", most(us), "us", "-", "-");
}

void qualities(const std::vector<shape>& shapes) {
  std::printf("# %zu shapes, 3 cost models\n", shapes.size());
  const quality each[3] = {judge<0>(shapes), judge<1>(shapes), judge<2>(shapes)};
  const auto over = [&](auto member) { return member(each[0]) + member(each[1]) + member(each[2]); };
  const auto two = [&](const char* what, auto member, const char* must, const char* aim, const char* must_worst,
                       const char* aim_worst) {
    const ratio r = over(member);
    line("tiling/quality", (std::string(what) + ", geometric mean").c_str(), r.mean(), "x", must, aim);
    line("tiling/quality", (std::string(what) + ", worst").c_str(), r.worst, "x", must_worst, aim_worst);
  };
  two(
      "auto / exact optimum", [](const quality& q) { return q.automatic; }, "<= 1.002", "<= 1.0005", "<= 1.035",
      "<= 1.01");
  two("one_plus_n / exact best one+n", [](const quality& q) { return q.one_n; }, "<= 1.001", "1.000", "-", "-");
  two("documented(max) / auto", [](const quality& q) { return q.rule; }, "-", "-", "-", "-");
  const char* const wrong[4] = {"compute believed x0.8 / optimum", "compute believed x1.25 / optimum",
                                "comm believed x0.8 / optimum", "comm believed x1.25 / optimum"};
  for (int i = 0; i < 4; ++i)
    two(wrong[i], [i](const quality& q) { return q.wrong[i]; }, "<= 1.04", "<= 1.02", "-", "-");
  two("contention is by rate / best known", [](const quality& q) { return q.by_rate; }, "<= 1.04", "<= 1.02", "-", "-");
  two(
      "by rate / every tiling (to 2,048 rows)", [](const quality& q) { return q.by_rate_proved; }, "<= 1.04", "<= 1.02",
      "-", "-");
  line("tiling/quality", "plans slower than serial or best uniform", each[0].slower + each[1].slower + each[2].slower,
       "", "0", "0");
  two("optimum known within (plan / lower bound)", [](const quality& q) { return q.gap; }, "-", "-", "-", "-");
  two("lot streaming / exact optimum", [](const quality& q) { return q.lots; }, "better", "-", "-", "-");
  two("10 groups / exact optimum", [](const quality& q) { return q.groups; }, "-", "-", "-", "-");
}

void speeds(const std::vector<shape>& shapes) {
  times t;
  race<0>(shapes, t);
  race<1>(shapes, t);
  race<2>(shapes, t);
  line("tiling/speed", "one_plus_n / every two runs, mean time", mean(t.one_n) / mean(t.two_runs), "x", "<= 0.05",
       "<= 0.02");
  line("tiling/speed", "lot streaming / 10 groups, mean time", mean(t.lots) / mean(t.groups), "x", "<= 0.1",
       "<= 0.033");
  line("tiling/speed", "every two runs, mean", mean(t.two_runs), "us", "-", "-");
  line("tiling/speed", "10 groups, mean", mean(t.groups), "us", "-", "-");
  line("tiling/speed", "one_plus_n, mean", mean(t.one_n), "us", "-", "-");
  line("tiling/speed", "lot streaming, mean", mean(t.lots), "us", "-", "-");
  line("tiling/speed", "auto, median", median(t.automatic), "us", "<= 20", "-");
  line("tiling/speed", "auto, worst", most(t.automatic), "us", "<= 1000", "-");
  line("tiling/speed", "auto, costs as lambdas: median", median(t.no_lines), "us", "-", "-");
  line("tiling/speed", "auto, costs as lambdas: worst", most(t.no_lines), "us", "-", "-");
  std::vector<double> multiples;
  for (std::size_t i = 0; i < t.automatic.size(); ++i) multiples.push_back(t.automatic[i] / t.evaluation[i]);
  line("tiling/speed", "one evaluation of both curves, median", median(t.evaluation) * 1e3, "ns", "-", "-");
  line("tiling/speed", "auto, in evaluations: median", median(multiples), "x", "-", "-");
  line("tiling/speed", "auto, in evaluations: worst", most(multiples), "x", "-", "-");
  const std::size_t before = allocations;
  for (const shape& s : shapes)
    sink += (tiling::solve(problem_of<0>(s))->predicted + tiling::solve(problem_of<1>(s))->predicted +
             tiling::solve(problem_of<2>(s))->predicted)
                .count();
  line("tiling/speed", "auto, allocations", static_cast<double>(allocations - before), "", "0", "0");
}

// ---- which engine pays ------------------------------------------------------------------------------------------

struct random_costs {
  std::mt19937_64 random{7};
  double real(double top) { return static_cast<double>(random() % 1'000'000) * top / 1e6; }
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); }

  curve::any_curve table(std::int64_t rows) {
    std::vector<double> sizes, us;
    double size = 1, time = real(20);
    while (size < static_cast<double>(rows) || sizes.empty()) {
      sizes.push_back(size);
      us.push_back(time);
      size += 1 + real(static_cast<double>(rows) / 4);
      time += below(3) == 0 ? 0 : real(30);
    }
    return *curve::table::make(sizes, us);
  }
  curve::any_curve waves() {
    return curve::matmul_roofline{.launch_us = real(4),
                                  .wave_us = 0.5 + real(3),
                                  .column_blocks = static_cast<double>(1 + below(9)),
                                  .cores = static_cast<double>(1 + below(12)),
                                  .block_rows = 1,
                                  .weights_us = real(3),
                                  .us_per_row = real(0.05)};
  }
  curve::any_curve affine() { return curve::affine{.fixed = real(20), .per_size = real(2), .least = real(3)}; }
  /// 0: affine, 1: table, 2: staircase, else one of them.
  curve::any_curve of_kind(std::int64_t kind, std::int64_t rows) {
    const std::int64_t which = kind < 3 ? kind : below(3);
    return which == 0 ? affine() : which == 1 ? table(rows) : waves();
  }
};

/// Each engine added to those before it, as mean and worst distance above the best known: the optimum, or under
/// contention by rate the best of everything.
void engines() {
  constexpr int problems = 150;
  const char* const kinds[] = {"affine", "table", "staircase", "mixed", "three phases", "while both"};
  for (int kind = 0; kind < 6; ++kind) {
    random_costs costs;
    constexpr const char* names[] = {"no cut", "+ equal tiles", "+ one and n", "+ growing tiles", "+ descents (auto)"};
    double sum[5] = {}, worst[5] = {};
    for (int round = 0; round < problems; ++round) {
      tiling::any_problem p;
      p.axis = {.rows = 4 + costs.below(36), .align = 1, .max_tiles = 2 + costs.below(15)};
      p.slowdown = kind == 5 ? tiling::contention::while_both : tiling::contention::fixed;
      for (int i = 0; i < (kind == 4 ? 3 : 2); ++i) {
        const auto cost = costs.of_kind(kind, p.axis.rows);
        const double overlap = 1 + costs.real(0.3);
        p.phases.push_back(i % 2 == 0 ? tiling::compute(cost, overlap) : tiling::comm(cost, overlap));
      }
      const tiling::detail::grid axis(p.axis);
      tiling::detail::clock timer(p);
      tiling::detail::incumbent found(axis, timer);
      picoseconds after[5] = {picoseconds(found.time)};
      tiling::detail::count_bounds bounds(axis, timer);
      offer_uniform(axis, timer, bounds, found);
      after[1] = picoseconds(found.time);
      offer_one_plus_n(axis, timer, bounds, found);
      after[2] = picoseconds(found.time);
      for (const bool reversed : {false, true}) offer_growing(axis, reversed, timer, bounds, found);
      after[3] = picoseconds(found.time);
      after[4] = tiling::solve(p)->predicted;
      auto fixed = p;
      fixed.slowdown = tiling::contention::fixed;
      const auto proved = tiling::solve(fixed, {.policy = tiling::policy::exact}).value();
      picoseconds best = tiling::makespan(p, proved.tiles()).value();
      if (kind == 5) best = std::min({best, after[3], after[4]});
      for (int i = 0; i < 5; ++i) {
        const double above = 100 * (quotient(after[i], best) - 1);
        sum[i] += above / problems;
        worst[i] = std::max(worst[i], above);
      }
    }
    for (int i = 0; i < 5; ++i) {
      line("tiling/engines", (std::string(kinds[kind]) + ": " + names[i] + ", mean").c_str(), sum[i], "%", "-", "-");
      line("tiling/engines", (std::string(kinds[kind]) + ": " + names[i] + ", worst").c_str(), worst[i], "%", "-", "-");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option.rfind("--benchmark_filter=", 0) == 0) wanted = std::regex(option.substr(19));
    else {
      std::fprintf(stderr, "usage: %s [--benchmark_filter=REGEX]\n", argv[0]);
      return 2;
    }
  }
  const auto is_wanted = [](const char* name) { return std::regex_search(std::string(name), wanted); };
  const std::vector<shape> shapes = all_shapes();
  if (is_wanted("tiling/quality")) qualities(shapes);
  if (is_wanted("tiling/speed")) speeds(shapes);
  if (is_wanted("tiling/exact")) exact_at_32768(shapes);
  if (is_wanted("tiling/three")) three_phases();
  if (is_wanted("tiling/engines")) engines();
  return sink == 42 ? 1 : 0;  // the sums are read
}
