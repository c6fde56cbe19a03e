// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The policies against the exact optimum of 537 problems: 11 layers, tp 2, 4, 8, M 128 … 32768, three cost models.
#include <hocket/core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "catch.hpp"
#include "golden.hpp"

using namespace golden;

namespace {

constexpr double printed = 5.1e-6;  // the file has six significant digits

struct ratio {
  double log_sum = 0, worst = 0;
  int count = 0;
  void add(double r) {
    log_sum += std::log(r);
    if (r > worst) worst = r;
    ++count;
  }
  [[nodiscard]] double mean() const { return std::exp(log_sum / count); }
};

// The makespan of tiles in real numbers, written apart from the library's clock: what the file's six digits round.
template <class Problem>
double real_time(const Problem& p, std::span<const std::int64_t> tiles) {
  const auto& [compute, comm] = p.phases;
  const bool cut = tiles.size() > 1;
  double computed = 0, sent = 0;
  for (const std::int64_t rows : tiles) {
    const auto m = static_cast<double>(rows);
    computed += compute.cost.time(m) * (cut ? compute.overlap : 1);
    sent = std::fmax(computed, sent) + comm.cost.time(m) * (cut ? comm.overlap : 1);
  }
  return sent;
}

}  // namespace

TEST_CASE("policies against the exact optimum", "[tiling]") {
  const auto rows = read_csv("optimum.csv");
  REQUIRE(rows.size() == 537);
  ratio automatic, one_n, documented;
  int found = 0;
  for (const auto& r : rows) {
    INFO("cost model " << r[0] << ' ' << r[1] << " tp " << r[2] << " M " << r[3]);
    const auto p = problem(std::stoi(r[0]), std::stoll(r[3]), std::stoll(r[4]), std::stoll(r[5]));
    const double serial = std::stod(r[6]), optimum = std::stod(r[8]), one_short = std::stod(r[11]),
                 equal = std::stod(r[12]);

    // Our clock agrees with theirs on their tiles.
    CHECK(std::fabs(us(tiling::makespan(p, tiles_of(r[9])).value()) / optimum - 1) < printed);

    const auto best = tiling::solve(p), lots = tiling::solve(p, {.policy = tiling::policy::lot_streaming}),
               n = tiling::solve(p, {.policy = tiling::policy::one_plus_n});
    const auto even = tiling::solve(p, {.policy = tiling::policy::uniform}),
               uncut = tiling::solve(p, {.policy = tiling::policy::none}),
               rule = tiling::solve(p, {.policy = tiling::policy::documented});
    REQUIRE((best && lots && n && even && uncut && rule));
    CHECK(std::fabs(us(uncut->predicted) / serial - 1) < printed);
    for (const auto* each : {&*best, &*lots, &*n, &*even, &*uncut}) {
      CHECK(us(each->predicted) >= optimum * (1 - printed));  // below the optimum would be a wrong clock
      CHECK(us(each->lower_bound) <= optimum * (1 + printed));
      CHECK(tiling::makespan(p, each->tiles()).value() == each->predicted);
      CHECK(each->tiles().size() <= 16);
      for (const std::int64_t length : each->tiles()) CHECK(length % 128 == 0);
      CHECK(best->predicted <= each->predicted);
    }
    CHECK(lots->predicted <= even->predicted);
    CHECK(n->predicted <= even->predicted);
    CHECK(n->as_two_runs());
    CHECK(best->predicted <= rule->predicted);
    // The optimum is found again: in real numbers, its tiles take what the file's take, to 1e-9 and not to six digits.
    const auto theirs = tiles_of(r[9]);
    const double best_known = real_time(p, theirs);
    CHECK(std::fabs(best_known / optimum - 1) < printed);
    const auto proved = tiling::solve(p, {.policy = tiling::policy::exact});
    REQUIRE(proved);
    CHECK(std::fabs(real_time(p, proved->tiles()) / best_known - 1) <= 1e-9);
    CHECK(proved->predicted <= tiling::makespan(p, theirs).value());
    // The clock rounds each time once, to a picosecond.
    const auto roundings = static_cast<double>(theirs.size() + 1) * 0.5e-6;
    CHECK(std::fabs(us(tiling::makespan(p, theirs).value()) - best_known) <= roundings + 1e-9 * best_known);
    ++found;
    // Theirs put the longer tiles first only, and took equal tiles for a policy of their own.
    CHECK(us(even->predicted) <= equal * (1 + printed));
    CHECK(us(n->predicted) <= one_short * (1 + printed));

    automatic.add(us(best->predicted) / optimum);
    one_n.add(us(n->predicted) / optimum);
    documented.add(us(rule->predicted) / optimum);
  }
  std::printf(
      "tiling / optimum, geometric mean (worst): auto %.5f (%.4f), one-plus-n %.4f (%.4f), documented %.4f (%.4f)\n",
      automatic.mean(), automatic.worst, one_n.mean(), one_n.worst, documented.mean(), documented.worst);
  CHECK(automatic.mean() <= 1.002);
  CHECK(automatic.worst <= 1.035);
  CHECK(one_n.mean() <= 1.012);
  CHECK(found == 537);
}

// Deterministic: what a solve reads from its curves, whatever they are.
TEST_CASE("a solve reads each length of its curves about once", "[tiling]") {
  std::vector<std::int64_t> counts;
  for (const auto& r : read_csv("optimum.csv")) {
    const auto p = problem(std::stoi(r[0]), std::stoll(r[3]), std::stoll(r[4]), std::stoll(r[5]));
    const auto& [first, second] = p.phases;
    std::int64_t reads = 0;
    const auto counted = [&reads](const auto& cost) {
      return [&reads, &cost](double rows) {
        ++reads;
        return cost.time(rows);
      };
    };
    auto q = tiling::problem(p.axis, p.shape, tiling::compute(counted(first.cost), first.overlap),
                             tiling::comm(counted(second.cost), second.overlap));
    REQUIRE(tiling::solve(q)->predicted == tiling::solve(p)->predicted);
    reads = 0;
    REQUIRE(tiling::solve(q));
    counts.push_back(reads / 2);
    q.axis.rows -= 1;  // a ragged tile: two kinds of lengths
    reads = 0;
    REQUIRE(tiling::solve(q));
    CHECK(reads / 2 <= 2 * counts.back() + 60);
  }
  std::sort(counts.begin(), counts.end());
  std::printf("lengths read: median %lld, worst %lld\n", static_cast<long long>(counts[counts.size() / 2]),
              static_cast<long long>(counts.back()));
  CHECK(counts[counts.size() / 2] <= 24);
  CHECK(counts.back() <= 300);
}
