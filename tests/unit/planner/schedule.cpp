// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedules found by search: against exhaustive search where that ends, against other systems' lists, against bounds.
#include <hocket/core/message.hpp>
#include <hocket/pipeline/schedules/dual_pipe.hpp>
#include <hocket/pipeline/schedules/zbv.hpp>
#include <hocket/pipeline/simulate.hpp>
#include <hocket/planner/schedule/solve.hpp>
#include <hocket/text/schedule_csv.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"
#include "schedule_questions.hpp"

using namespace hocket::planner;
using hocket::errc;
using hocket::ticks;
namespace pipeline = hocket::pipeline;

namespace {

/// Lock step at unit times: every set of choices of every rank, waiting included, breadth first. No rule, no bound.
int exhaustive(int p, int v, int m, bool v_order, bool split, const std::vector<int>& cap) {
  constexpr int max_of_stages = 4;
  using state = std::array<signed char, 3 * max_of_stages>;  // by stage: forwards, backwards, weight gradients
  const int stages = p * v;
  REQUIRE(stages <= max_of_stages);
  const auto rank_of = [&](int s) { return v_order && (s / p) % 2 == 1 ? p - 1 - s % p : s % p; };
  std::vector<state> now{state{}};
  for (int t = 0; t < 200; ++t) {
    std::vector<state> next;
    for (const state& from : now) {
      const auto at = [&](const state& x, int s, int kind) { return x[static_cast<std::size_t>(3 * s + kind)]; };
      std::vector<state> partial{from};
      for (int r = 0; r < p; ++r) {
        std::vector<state> grown = partial;  // waiting
        int held = 0;
        for (int s = 0; s < stages; ++s)
          if (rank_of(s) == r) held += at(from, s, 0) - at(from, s, split ? 2 : 1);
        for (int s = 0; s < stages; ++s) {
          if (rank_of(s) != r) continue;
          const int f = at(from, s, 0), b = at(from, s, 1), w = at(from, s, 2);
          const bool can_f = f < m && (s == 0 || at(from, s - 1, 0) > f) && held < cap[static_cast<std::size_t>(r)];
          const bool can_b = b < f && (s + 1 == stages || at(from, s + 1, 1) > b);
          const bool can_w = split && w < b;
          for (const auto& [can, kind] : {std::pair{can_f, 0}, {can_b, 1}, {can_w, 2}})
            if (can)
              for (state x : partial) {
                ++x[static_cast<std::size_t>(3 * s + kind)];
                grown.push_back(x);
              }
        }
        partial = grown;
      }
      next.insert(next.end(), partial.begin(), partial.end());
    }
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    for (const state& x : next) {
      bool done = true;
      for (int s = 0; s < stages; ++s) {
        const auto i = static_cast<std::size_t>(3 * s);
        done = done && x[i] == m && x[i + 1] == m && (!split || x[i + 2] == m);
      }
      if (done) return t + 1;
    }
    now.swap(next);
  }
  return -1;
}

/// Complete, free of deadlock, within the caps, as long as it says.
template <class C>
bool keeps_its_word(const schedule_problem& q, const schedule_plan& found, const C& costs) {
  if (!pipeline::check(found.schedule)) return false;
  const auto ran = pipeline::simulate(found.schedule, costs);
  if (!ran || ran->makespan != found.makespan || found.lower_bound > found.makespan) return false;
  for (std::size_t r = 0; r < q.memory_cap.size(); ++r)
    if (ran->ranks[r].peak_in_flight > q.memory_cap[r]) return false;
  return found.proved == (found.makespan == found.lower_bound);
}

std::string file_text(const std::string& name) {
  std::ifstream file(std::string(HOCKET_TEST_DATA "/pipeline/") + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("found schedules equal exhaustive search, and all but one of forty are proved", "[planner][schedule]") {
  struct shape {
    int p, v, m;
  };
  int cases = 0;
  int proved = 0;
  for (const shape s : {shape{2, 1, 3}, {2, 1, 4}, {3, 1, 3}, {2, 2, 2}, {2, 2, 3}})
    for (const bool v_order : {false, true})
      for (const bool split : {false, true})
        for (int cap = s.v; cap <= s.v * s.p + 1; ++cap) {
          if ((v_order && s.v == 1) || (s.v == 2 && s.m == 3 && (split || cap % 2 == 1))) continue;
          const int best =
              exhaustive(s.p, s.v, s.m, v_order, split, std::vector<int>(static_cast<std::size_t>(s.p), cap));
          const std::vector<std::uint32_t> caps(static_cast<std::size_t>(s.p), static_cast<std::uint32_t>(cap));
          const schedule_problem q{.shape = {s.p, s.v, s.m},
                                   .order = v_order ? stage_order::v : stage_order::loop,
                                   .split_backward = split,
                                   .memory_cap = caps,
                                   .budget = 100'000};
          const pipeline::costs unit{.forward = 1, .backward = {1, 1, 1}};
          const auto found = solve(q, unit);
          INFO("p " << s.p << " v " << s.v << " m " << s.m << " V " << v_order << " split " << split << " cap " << cap);
          REQUIRE(found.has_value() == (best > 0));
          if (!found) continue;
          CHECK(found->makespan == best);
          proved += found->proved ? 1 : 0;
          CHECK(keeps_its_word(q, *found, unit));
          ++cases;
        }
  CHECK(cases == 40);
  CHECK(proved == 39);
}

TEST_CASE("the trade-off of memory and time, each point proved: up to 80 stages x micro-batches",
          "[planner][schedule]") {
  struct row {
    std::int64_t p, v, m;
    stage_order order;
    bool split;
    std::uint32_t cap;
    ticks makespan;
  };
  const auto loop = stage_order::loop, vee = stage_order::v;
  for (const row& x :
       {row{4, 2, 9, loop, false, 8, 42}, row{4, 2, 9, loop, false, 7, 44}, row{4, 2, 9, loop, false, 6, 46},
        row{4, 2, 10, loop, false, 8, 46}, row{4, 2, 10, loop, false, 7, 48}, row{3, 2, 4, vee, true, 6, 26},
        row{3, 2, 4, vee, true, 5, 27}, row{3, 2, 4, vee, true, 4, 29}, row{4, 2, 4, vee, true, 8, 27},
        row{4, 2, 4, vee, true, 7, 28}, row{4, 2, 4, vee, true, 6, 29}, row{4, 2, 8, vee, true, 6, 53},
        row{4, 2, 8, vee, true, 4, 59}, row{4, 2, 10, vee, true, 8, 63}, row{4, 2, 10, loop, true, 8, 63}}) {
    INFO("p " << x.p << " v " << x.v << " m " << x.m << " cap " << x.cap);
    const std::vector<std::uint32_t> caps(static_cast<std::size_t>(x.p), x.cap);
    const schedule_problem q{{x.p, x.v, x.m}, x.order, x.split, caps};
    const pipeline::costs unit{.forward = 1, .backward = {1, 1, 1}};
    const auto found = solve(q, unit);
    REQUIRE(found);
    CHECK(found->makespan == x.makespan);
    CHECK(found->proved);
    CHECK(keeps_its_word(q, *found, unit));
  }
}

TEST_CASE("never worse than another system's list under that list's own peaks", "[planner][schedule]") {
  int lists = 0;
  for (const char* name :
       {"zb__heuristic__p4_v1_m12_meminf.csv", "zb__heuristic__p4_v1_m8_mem1x1F1B.csv",
        "zb__heuristic__p4_v1_m8_meminf.csv", "zb__heuristic__p8_v1_m16_mem1x1F1B.csv",
        "zb__heuristic__p8_v1_m24_mem2x1F1B.csv", "zb__ZBV_heuristic__p4_v2_m8.csv", "zb__ZBV_heuristic__p4_v2_m12.csv",
        "zb__Vhalf__p2_v2_m4.csv", "zb__Vhalf__p4_v2_m8.csv", "zb__Vhalf__p4_v2_m12.csv", "zb__Vhalf__p5_v2_m10.csv",
        "zb__Vhalf__p8_v2_m16.csv", "zb__Vmin__p2_v2_m4.csv", "zb__Vmin__p4_v2_m8.csv", "zb__Vmin__p5_v2_m10.csv",
        "zb__Vmin__p8_v2_m16.csv"}) {
    INFO(name);
    const auto theirs = hocket::text::parse_schedule_csv(file_text(name));
    REQUIRE(theirs);
    const pipeline::costs costs{};
    const auto ran = pipeline::simulate(*theirs, costs);
    REQUIRE(ran);
    std::vector<std::uint32_t> caps;
    for (const auto& rank : ran->ranks) caps.push_back(rank.peak_in_flight);
    const schedule_problem q{.shape = pipeline::shape_of(*theirs),
                             .order = theirs->chunks() == 2 ? stage_order::v : stage_order::loop,
                             .memory_cap = caps,
                             .budget = 100'000};
    const auto found = solve(q, costs);
    REQUIRE(found);
    CHECK(found->makespan <= ran->makespan);
    CHECK(keeps_its_word(q, *found, costs));
    ++lists;
  }
  CHECK(lists == 16);
}

TEST_CASE("in V-Min's memory: as good as V-Min, and better where a better one exists", "[planner][schedule]") {
  const pipeline::costs unit{.forward = 1, .backward = {1, 1, 1}};
  int better = 0;
  for (const std::int64_t p : {4, 6, 8})
    for (const auto kind : {pipeline::v_memory::half, pipeline::v_memory::third}) {
      INFO("p " << p);
      const auto theirs = pipeline::simulate(pipeline::make_v_schedule({p, 2, p}, kind).value(), unit).value();
      std::vector<std::uint32_t> caps;
      for (const auto& rank : theirs.ranks) caps.push_back(rank.peak_in_flight);
      const schedule_problem q{.shape = {p, 2, p}, .order = stage_order::v, .memory_cap = caps};
      const auto found = solve(q, unit);
      REQUIRE(found);
      CHECK(found->proved);
      CHECK(found->makespan <= theirs.makespan);
      CHECK(keeps_its_word(q, *found, unit));
      better += found->makespan < theirs.makespan ? 1 : 0;
    }
  CHECK(better == 3);  // 34 to 29, 48 to 47, and of V-Min on eight ranks 75 to 71
}

TEST_CASE("uneven stages: never worse than a closed form under the same caps, gap told", "[planner][schedule]") {
  std::mt19937 random(11);
  for (int n = 0; n < 12; ++n) {
    const std::int64_t p = n % 2 == 0 ? 4 : 6, m = 8 + n % 5, v = 1 + n % 3 / 2;
    const auto stages = static_cast<std::size_t>(p * v);
    std::vector<ticks> f(stages), b(stages), i(stages), w(stages);
    for (std::size_t s = 0; s < stages; ++s) {
      const auto time = [&] { return ticks{700} + static_cast<ticks>(random() % 601); };
      f[s] = time();
      i[s] = time();
      w[s] = time();
      b[s] = i[s] + w[s];
    }
    const pipeline::stage_costs costs{.forward = f, .backward = b, .input_grad = i, .weight_grad = w};
    const auto closed = pipeline::interleaved::make({p, v, m}).value();
    const auto ran = pipeline::simulate(closed, costs).value();
    std::vector<std::uint32_t> caps;
    for (const auto& rank : ran.ranks) caps.push_back(rank.peak_in_flight);
    for (const bool split : {false, true}) {
      const schedule_problem q{{p, v, m}, stage_order::loop, split, caps, 10'000};
      const auto found = solve(q, costs);
      REQUIRE(found);
      CHECK(found->makespan <= ran.makespan);
      CHECK(keeps_its_word(q, *found, costs));
      CHECK(found->gap() < 0.08);
    }
  }
}

TEST_CASE("many chunks in little memory: periodic schedules, and closed forms for the mean of uneven times",
          "[planner][schedule]") {
  struct row {
    pipeline::shape s;
    std::uint32_t cap;
    bool split;
    double gap;  // the best of rules and closed forms: 22 %, 31 %, 27 %, 61 %, 73 %
  };
  for (const row& x : {row{{8, 4, 16}, 12, true, .18}, row{{8, 4, 16}, 12, false, .3}, row{{16, 4, 32}, 32, true, .12},
                       row{{16, 4, 32}, 32, false, .49}, row{{16, 4, 32}, 20, true, .28}}) {
    const std::vector<std::uint32_t> caps(static_cast<std::size_t>(x.s.ranks), x.cap);
    const schedule_problem q{x.s, stage_order::loop, x.split, caps, 10'000};
    const pipeline::costs costs{};
    const auto found = solve(q, costs);
    REQUIRE(found);
    INFO("cap " << x.cap << " split " << x.split << " gap " << found->gap());
    CHECK(keeps_its_word(q, *found, costs));
    CHECK(found->gap() <= x.gap);
  }
  std::mt19937 random(8);
  const pipeline::shape s{8, 4, 64};
  std::vector<ticks> f(32), b(32), i(32), w(32);
  for (std::size_t x = 0; x < f.size(); ++x) {
    const auto time = [&] { return ticks{70} + static_cast<ticks>(random() % 61); };
    f[x] = time();
    i[x] = time();
    w[x] = time();
    b[x] = i[x] + w[x];
  }
  const pipeline::stage_costs costs{.forward = f, .backward = b, .input_grad = i, .weight_grad = w};
  const auto sum = [](const std::vector<ticks>& times) {
    return std::accumulate(times.begin(), times.end(), ticks{0});
  };
  const std::vector<std::uint32_t> caps(8, 30);
  for (const bool split : {true, false}) {
    const auto closed = pipeline::interleaved::make(s, pipeline::groups::capped(30, sum(f), sum(b))).value();
    const schedule_problem q{s, stage_order::loop, split, caps, 0};
    const auto found = solve(q, costs);
    REQUIRE(found);
    CHECK(keeps_its_word(q, *found, costs));
    CHECK(found->makespan <= pipeline::simulate(closed, costs).value().makespan);
  }
}

TEST_CASE("where only hops take time, a cap of one activation makes a round trip of each micro-batch",
          "[planner][schedule]") {
  const std::vector<std::uint32_t> caps(3, 1);
  const pipeline::costs costs{.forward = 0, .backward = 0, .hop = 5};
  for (const bool split : {true, false}) {
    const auto found = solve({{3, 1, 4}, stage_order::loop, split, caps, 1'000}, costs);
    REQUIRE(found);
    CHECK(found->makespan == 4 * 4 * 5);
    CHECK(found->lower_bound <= found->makespan);
  }
}

TEST_CASE("no rank is asked where no memory is scarce", "[planner][schedule]") {
  std::vector<ticks> f(60), b(60);
  for (std::size_t x = 0; x < f.size(); ++x) {
    f[x] = static_cast<ticks>(70 + x * 37 % 61);
    b[x] = 2 * f[59 - x];
  }
  const pipeline::stage_costs costs{.forward = f, .backward = b};
  const auto found = solve({{20, 3, 29}, stage_order::loop, false, {}, 0}, costs);
  REQUIRE(found);
  CHECK(found->gap() < .1);
}

TEST_CASE("every closed form is looked at, also with no budget", "[planner][schedule]") {
  std::mt19937 random(5);
  for (int n = 0; n < 60; ++n) {
    const std::int64_t p = 2 + n % 4, m = 2 * p + n % 5;
    const auto stages = static_cast<std::size_t>(2 * p);
    std::vector<ticks> f(stages), b(stages), i(stages), w(stages);
    for (std::size_t s = 0; s < stages; ++s) {
      const auto time = [&] { return ticks{7} + static_cast<ticks>(random() % 7); };
      f[s] = time();
      i[s] = time();
      w[s] = time();
      b[s] = i[s] + w[s];
    }
    const pipeline::stage_costs costs{
        .forward = f, .backward = b, .input_grad = i, .weight_grad = w, .hop = ticks{n % 3 * 6}};
    const auto check = [&](const auto& closed, stage_order order) {
      REQUIRE(closed);
      const auto ran = pipeline::simulate(*closed, costs);
      if (!ran) return;  // an order that deadlocks
      std::vector<std::uint32_t> caps;
      for (const auto& rank : ran->ranks) caps.push_back(rank.peak_in_flight);
      const schedule_problem q{{p, 2, m}, order, true, caps, 0};
      const auto found = solve(q, costs);
      REQUIRE(found);
      CHECK(found->makespan <= ran->makespan);
      CHECK(keeps_its_word(q, *found, costs));
    };
    check(pipeline::dual_pipe_v::make({p, 2, m}), stage_order::v);
    check(pipeline::zbv::make({p, 2, m}), stage_order::v);
    using pipeline::groups;
    for (const groups& cut : {groups::paper(), groups::first(), groups::last()})
      check(pipeline::interleaved::make({p, 2, m}, cut), stage_order::loop);
  }
}

TEST_CASE("closed forms of one chunk are called by their names", "[planner][schedule]") {
  const auto name = [](const schedule_problem& q, const pipeline::costs& costs) {
    return solve(q, costs).value().found_by;
  };
  schedule_problem q{.shape = {4, 1, 8}, .split_backward = false, .memory_cap = {4, 3, 2, 1}, .budget = 0};
  CHECK(name(q, {.forward = 1, .backward = 2}) == "1f1b");
  q.memory_cap = {8, 6, 4, 2};
  CHECK(name(q, {.forward = 2, .backward = 4, .hop = 1}) == "eager-1f1b");
  q.split_backward = true;
  q.memory_cap = {4, 4, 4, 4};
  CHECK(name(q, {}) == "zb-h1");
}

TEST_CASE("closed forms are cut for the ratio of all times", "[planner][schedule]") {
  const pipeline::costs costs{.forward = 8, .backward = {2, 2, 4}};
  const schedule_problem q{.shape = {4, 2, 13}, .memory_cap = {8, 8, 8, 8}, .budget = 0};
  const auto cut = pipeline::interleaved::make(q.shape, pipeline::groups::capped(8, 8, 4)).value();
  using namespace hocket::planner::detail::scheduling;
  schedule_search<pipeline::costs, unwatched> search(q, costs, unwatched{});
  search.closed_forms();
  CHECK(search.makespan() == 342);
  CHECK(search.makespan() <= pipeline::simulate(cut, costs)->makespan);
}

TEST_CASE("a V with whole backwards under the cap of 1F1B: the bound knows the way there and back",
          "[planner][schedule]") {
  struct row {
    std::int64_t p, m;
    ticks bound, most;
  };
  for (const row& x : {row{4, 8, 60, 60}, row{4, 16, 108, 110}, row{8, 16, 124, 130}}) {
    const pipeline::costs costs{};
    const std::vector<std::uint32_t> caps(static_cast<std::size_t>(x.p), static_cast<std::uint32_t>(2 * x.p));
    const schedule_problem q{{x.p, 2, x.m}, stage_order::v, false, caps, 100'000};
    const auto found = solve(q, costs);
    REQUIRE(found);
    CHECK(keeps_its_word(q, *found, costs));
    CHECK(found->lower_bound >= x.bound);
    CHECK(found->makespan <= x.most);
  }
}

TEST_CASE("closed forms are looked at in a V of one chunk, and with small groups", "[planner][schedule]") {
  {  // 1F1B keeps these caps
    const std::vector<ticks> f{3, 5, 0}, i{0, 5, 1}, w{3, 1, 1}, b{3, 6, 2};
    const std::vector<std::uint32_t> cap{3, 2, 3};
    const pipeline::stage_costs costs{f, b, i, w, 4};
    const auto found = solve({{3, 1, 7}, stage_order::v, true, cap, 0}, costs);
    REQUIRE(found);
    CHECK(found->makespan <= 101);
  }
  {  // two groups of two
    const std::vector<ticks> two(9, 2), four(9, 4);
    const std::vector<std::uint32_t> cap{11, 6, 8};
    const pipeline::stage_costs costs{two, four, two, two, 1};
    const auto found = solve({{3, 3, 4}, stage_order::loop, true, cap, 50}, costs);
    REQUIRE(found);
    CHECK(found->makespan <= 96);
  }
}

TEST_CASE("greedy rules that run into a dead end are followed by others", "[planner][schedule]") {
  const std::vector<ticks> five(9, 5), four(9, 4), nine(9, 9);
  const pipeline::stage_costs costs{five, nine, four, five};
  const std::vector<std::uint32_t> cap{3, 12, 10};
  const schedule_problem q{{3, 3, 4}, stage_order::loop, true, cap, 2'000};
  const auto found = solve(q, costs);
  REQUIRE(found);
  CHECK(keeps_its_word(q, *found, costs));
}

TEST_CASE("scarce caps at uneven times: near the bound, and a larger budget buys more", "[planner][schedule]") {
  std::mt19937 random(4);
  ticks found_small = 0, found_large = 0, bounds = 0;
  for (int n = 0; n < 3; ++n) {
    const std::int64_t p = 5 + n;
    const auto stages = static_cast<std::size_t>(2 * p);
    std::vector<ticks> f(stages), b(stages), i(stages), w(stages);
    for (std::size_t s = 0; s < stages; ++s) {
      const auto time = [&] { return ticks{700} + static_cast<ticks>(random() % 601); };
      f[s] = time();
      i[s] = time();
      w[s] = time();
      b[s] = i[s] + w[s];
    }
    const pipeline::stage_costs costs{.forward = f, .backward = b, .input_grad = i, .weight_grad = w};
    std::vector<std::uint32_t> caps;
    for (int r = 0; r < p; ++r) caps.push_back(5 + static_cast<std::uint32_t>(random() % 7));
    const schedule_problem q{{p, 2, 8}, n % 2 == 0 ? stage_order::loop : stage_order::v, n == 2, caps, 2'000};
    const auto small = solve(q, costs);
    REQUIRE(small);
    CHECK(keeps_its_word(q, *small, costs));
    schedule_problem more = q;
    more.budget = 20'000;
    const auto large = solve(more, costs);
    REQUIRE(large);
    CHECK(keeps_its_word(more, *large, costs));
    CHECK(large->makespan <= small->makespan);
    found_small += small->makespan;
    found_large += large->makespan;
    bounds += large->lower_bound;
  }
  INFO(found_small << " " << found_large << " " << bounds);
  CHECK(found_large < found_small);
  CHECK(100 * found_large < 107 * bounds);
}

TEST_CASE("every cap of at least a rank's chunks can be kept", "[planner][schedule]") {
  const std::vector<std::uint32_t> three(4, 3), odd{5, 4, 6, 4, 4, 7, 4, 4}, bowl{8, 7, 6, 5, 5, 6, 7, 8};
  const pipeline::costs costs{};
  for (const auto& q : {schedule_problem{{4, 3, 12}, stage_order::v, true, three, 0},
                        schedule_problem{{8, 4, 16}, stage_order::loop, true, odd, 100},
                        schedule_problem{{8, 4, 32}, stage_order::loop, false, bowl, 100}}) {
    const auto found = solve(q, costs);
    REQUIRE(found);
    CHECK(keeps_its_word(q, *found, costs));
  }
}

TEST_CASE("where transfers occupy links: never worse than a closed form", "[planner][schedule]") {
  constexpr std::int64_t bytes[] = {2, 2, 2, 2};
  for (const std::int64_t m : {4, 12}) {
    const pipeline::shape shape{4, 1, m};
    const pipeline::with_links<pipeline::costs> costs{{.backward = 2}, bytes};
    const auto found = solve({.shape = shape, .split_backward = false, .budget = 1000}, costs);
    const auto closed = pipeline::interleaved::make(shape, pipeline::groups::balanced());
    REQUIRE((found && closed));
    const auto ran = pipeline::simulate(*closed, costs), own = pipeline::simulate(found->schedule, costs);
    REQUIRE((ran && own));
    CHECK(found->makespan == own->makespan);
    CHECK(found->makespan <= ran->makespan);
    CHECK_FALSE(found->found_by.empty());
  }
}

TEST_CASE("bad questions are refused with a reason", "[planner][schedule]") {
  const pipeline::costs costs{};
  const auto code = [&](const schedule_problem& q) {
    const auto found = solve(q, costs);
    return found ? errc{} : found.error().code;
  };
  for (const ticks hop : {ticks{1} << 58, (std::numeric_limits<ticks>::max)()})
    CHECK(solve({.shape = {4, 2, 4}}, pipeline::costs{.hop = hop}).error().code == errc::limit_exceeded);
  CHECK(solve({.shape = {4, 2, 4}}, pipeline::costs{.hop = -1}).error().code == errc::invalid_argument);
  const ticks f[] = {1, 1, 1, 1}, b[] = {2, 2, 2, 2};
  const pipeline::stage_costs untimed{.forward = f};
  const auto refused = solve({.shape = {4, 1, 4}}, untimed);
  CHECK((!refused && message(refused.error()) == "the costs have no time for an input gradient of stage 0"));
  const pipeline::stage_costs whole{.forward = f, .backward = b};
  CHECK(solve({.shape = {4, 1, 4}}, whole)->makespan == solve({.shape = {4, 1, 4}}, costs)->makespan);
  CHECK(solve({.shape = {4, 1, 4}, .split_backward = false}, whole)->proved);
  CHECK(solve({.shape = {5, 1, 4}, .split_backward = false}, whole).error().code == errc::untimed_action);
  const std::vector<std::uint32_t> one{1};
  const std::vector<std::uint32_t> two{1, 1};
  CHECK(code({.shape = {0, 1, 1}}) == errc::bad_shape);
  CHECK(code({.shape = {2, 1, 1}, .memory_cap = one}) == errc::bad_shape);
  for (const std::size_t rank : {std::size_t{0}, std::size_t{1}}) {
    std::vector<std::uint32_t> caps{2, 2};
    caps[rank] = 1;
    CHECK(hocket::message(solve({.shape = {2, 2, 1}, .memory_cap = caps}, costs).error()) ==
          "rank " + std::to_string(rank) +
              " has a cap of 1, but needs at least 2: an activation for each of its chunks");
  }
  CHECK(code({.shape = {2, 1, 1}, .budget = -1}) == errc::invalid_argument);
  CHECK(code({.shape = {2, 1, 1}, .memory_cap = two, .budget = (std::numeric_limits<std::int64_t>::max)()}) == errc{});
  CHECK(code({.shape = {64, 64, 4096}}) == errc::limit_exceeded);
  const auto zero = solve({.shape = {2, 1, 2}, .split_backward = false}, pipeline::costs{.forward = 0, .backward = 0});
  REQUIRE(zero);
  CHECK(zero->makespan == 0);
}

TEST_CASE("bounds forbid no schedule that exists, and a budget of 200,000 finds one as short", "[planner][schedule]") {
  struct question {
    pipeline::shape shape;
    stage_order order;
    std::vector<std::uint32_t> cap;
    std::vector<ticks> forward, input_grad, weight_grad;
    ticks hop, exists;
  };
  const question questions[] = {
      {{4, 2, 5},
       stage_order::loop,
       {5, 5, 5, 4},
       {1, 6, 17, 11, 14, 1, 16, 13},
       {18, 8, 14, 14, 7, 2, 13, 4},
       {19, 5, 5, 3, 14, 13, 4, 11},
       1,
       447},
      {{3, 2, 3},
       stage_order::v,
       {4, 5, 3},
       {19, 18, 16, 11, 7, 6},
       {16, 19, 4, 13, 1, 7},
       {7, 8, 3, 4, 19, 15},
       0,
       261},
  };
  for (const question& x : questions) {
    std::vector<ticks> backward;
    for (std::size_t s = 0; s < x.forward.size(); ++s) backward.push_back(x.input_grad[s] + x.weight_grad[s]);
    const pipeline::stage_costs costs{.forward = x.forward,
                                      .backward = backward,
                                      .input_grad = x.input_grad,
                                      .weight_grad = x.weight_grad,
                                      .hop = x.hop};
    for (const std::int64_t budget : {20'000, 200'000}) {
      const schedule_problem q{x.shape, x.order, true, x.cap, budget};
      const auto found = solve(q, costs);
      REQUIRE(found);
      CHECK(keeps_its_word(q, *found, costs));
      CHECK(found->lower_bound <= x.exists);
      if (budget == 200'000) CHECK(found->makespan <= x.exists);
      else CHECK(100 * found->makespan <= 102 * x.exists);
    }
  }
}

TEST_CASE("the bound of each rank forbids no recorded schedule, and is as near as it was", "[planner][schedule]") {
  using namespace hocket::planner::detail::scheduling;
  double sum = 0;
  const auto questions = recorded::schedule_questions(HOCKET_TEST_DATA);
  for (const recorded::schedule_question& x : questions) {
    const pipeline::stage_costs costs = x.costs();
    ticks unit = 0;
    const search_input in = make_search_input(x.problem, costs, unit);
    const window_bound windows(in);
    rank_bound of_rank(in, windows);
    ticks bound = windows();
    std::int64_t steps = 500'000;
    for (std::uint32_t r = 0; r < in.ranks; ++r)
      if (in.is_scarce(r)) bound = of_rank(r, bound, x.makespan / unit * 21 / 20, steps);
    INFO(x.column << " " << in.ranks << " x " << in.stages << " x " << in.micro_batches);
    CHECK(bound * unit <= x.makespan);
    sum += static_cast<double>(bound * unit) / static_cast<double>(x.makespan);
  }
  const double mean = sum / static_cast<double>(questions.size());
  INFO("mean " << mean);
  CHECK(mean >= 0.9881);
}

TEST_CASE("plans are as near to the recorded ones as they were, 5 % at worst", "[planner][schedule]") {
  constexpr std::size_t every = 4;  // some of the questions, with a twentieth of the budget of the record
  const auto questions = recorded::schedule_questions(HOCKET_TEST_DATA);
  REQUIRE(questions.size() == 70);
  double sum = 0;
  int asked = 0;
  for (std::size_t row = 0; row < questions.size(); row += every) {
    const recorded::schedule_question& x = questions[row];
    schedule_problem problem = x.problem;
    problem.budget = 20'000;
    const pipeline::stage_costs costs = x.costs();
    const auto found = solve(problem, costs);
    REQUIRE(found);
    CHECK(keeps_its_word(problem, *found, costs));
    INFO("question " << row << " of " << x.column);
    CHECK(found->lower_bound <= x.makespan);
    CHECK(100 * found->makespan <= 105 * x.makespan);
    sum += static_cast<double>(found->makespan) / static_cast<double>(x.makespan);
    ++asked;
  }
  CHECK(asked == 18);
  INFO("mean " << sum / asked);
  CHECK(sum <= 1.0013 * asked);  // today
}

TEST_CASE("with no budget, closed forms, rules and periods are near the recorded plans", "[planner][schedule]") {
  double sum = 0;
  double worst = 0;
  const auto questions = recorded::schedule_questions(HOCKET_TEST_DATA);
  for (const recorded::schedule_question& x : questions) {
    schedule_problem problem = x.problem;
    problem.budget = 0;
    const pipeline::stage_costs costs = x.costs();
    const auto found = solve(problem, costs);
    REQUIRE(found);
    CHECK(keeps_its_word(problem, *found, costs));
    CHECK(found->expansions == 0);
    const double part = static_cast<double>(found->makespan) / static_cast<double>(x.makespan);
    sum += part;
    worst = std::max(worst, part);
  }
  const double mean = sum / static_cast<double>(questions.size());
  INFO("mean " << mean << " worst " << worst);
  CHECK(mean < 1.042);
  CHECK(worst < 1.7);
}

TEST_CASE("zbv with few micro-batches is within 3 % of the shortest that its memory allows", "[planner]") {
  for (std::int64_t p = 2; p <= 8; ++p)
    for (std::int64_t m = 1; m < 2 * p - 1; ++m) {
      INFO("p " << p << " m " << m);
      schedule_problem q{.shape = {p, 2, m}, .order = stage_order::v, .budget = 0};
      q.memory_cap.assign(static_cast<std::size_t>(p), static_cast<std::uint32_t>(2 * p));
      const auto found = solve(q, pipeline::costs{}).value();
      const ticks ours = simulate(pipeline::zbv::make({p, 2, m}).value(), pipeline::costs{})->makespan;
      CHECK(100 * ours <= 103 * found.lower_bound);
      if (m <= p + 1) CHECK(ours == found.lower_bound);
    }
}

TEST_CASE("a watch sees how far a search is, and ends it with the best so far", "[planner][schedule]") {
  schedule_problem problem{.shape = {8, 2, 16}, .budget = 20'000};  // its bound is not met
  problem.memory_cap.assign(8, 10);
  const pipeline::costs times{};
  const auto whole = solve(problem, times);
  REQUIRE(whole);
  REQUIRE_FALSE(whole->stopped);
  REQUIRE_FALSE(whole->proved);
  INFO("expansions " << whole->expansions);
  CHECK(whole->expansions > problem.budget);  // a budget is spent, on beams and on moves
  CHECK(whole->expansions <= 4 * problem.budget);

  int looks = 0;
  std::int64_t spent = 0;
  const auto watched = solve(problem, times, [&](search_progress at) {
    ++looks;
    CHECK(at.done >= spent);
    CHECK(at.done <= at.all);
    spent = at.done;
    return true;
  });
  REQUIRE(watched);
  CHECK(looks > 100);
  CHECK(spent > 0);
  CHECK_FALSE(watched->stopped);
  CHECK(watched->makespan == whole->makespan);
  CHECK(watched->lower_bound == whole->lower_bound);
  CHECK(watched->expansions == whole->expansions);

  ticks before = hocket::planner::detail::scheduling::never;
  for (const int last : {0, 1, 5, 30, 100, looks}) {
    int n = 0;
    const auto some = solve(problem, times, [&](search_progress) { return n++ < last; });
    REQUIRE(some);
    INFO("stopped at look " << last);
    CHECK(n <= last + 1);  // once it has said no it is not asked again
    CHECK(some->stopped == (last < looks));
    CHECK(pipeline::check(some->schedule));
    const auto run = pipeline::simulate(some->schedule, times);
    REQUIRE(run);
    CHECK(run->makespan == some->makespan);
    for (const auto& rank : run->ranks) CHECK(rank.peak_in_flight <= 10);
    CHECK(some->lower_bound <= whole->makespan);
    CHECK(some->makespan >= whole->makespan);
    CHECK(some->makespan <= before);  // more time never harms
    before = some->makespan;
  }
}
