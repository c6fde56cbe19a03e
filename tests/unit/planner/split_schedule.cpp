// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Splits whose step is simulated: against brute force on small questions, and against a real MILP on its own problems.
#include <hocket/pipeline/any_schedule.hpp>
#include <hocket/pipeline/simulate.hpp>
#include <hocket/planner/split/solve_schedule.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "split_plain.hpp"

namespace {

namespace planner = hocket::planner;
namespace pipeline = hocket::pipeline;
namespace detail = hocket::planner::detail;
using hocket::bytes;
using hocket::ticks;
using std::chrono::nanoseconds;

constexpr int cases = plain::optimised ? 40 : 10;

planner::in_flight_profile held_by(const pipeline::any_schedule& schedule) {
  if (schedule.directions() == 2) return planner::in_flight_profile::make_pairs(schedule).value();
  return planner::in_flight_profile::make(schedule).value();
}

/// A schedule of any name with some ranks, two chunks where it takes them.
pipeline::any_schedule some_schedule(std::string_view name, std::int64_t ranks, std::int64_t micro_batches) {
  const std::int64_t fixed = pipeline::default_chunks(name);
  const bool loops = name == "interleaved" || name == "looped-bfs" || name == "interleaved-zb";
  pipeline::any_schedule_options options;
  if (name == "seq-1f1b") options.slices = 2;
  return pipeline::any_schedule::make(name, {ranks, loops ? 2 : fixed, micro_batches}, options).value();
}

/// A small question with everything in it: unequal layers, levels, rooms, hops, times besides.
struct question {
  pipeline::any_schedule schedule;
  planner::split_problem problem;
  planner::split_run how;

  question(std::string_view name, std::int64_t ranks, std::int64_t layers, unsigned seed)
      : schedule(some_schedule(name, ranks, 2 * ranks)) {
    plain::draws draw(seed);
    problem.in_flight = held_by(schedule);
    problem.micro_batches = schedule.micro_batches();
    const int kinds = draw(1, 3);
    std::vector<planner::layer> kind;
    for (int k = 0; k < kinds; ++k) {
      const int time = draw(20, 60);
      kind.push_back({nanoseconds(time),
                      bytes(draw(0, 9)),
                      {{bytes(draw(6, 12)), nanoseconds(0)}, {bytes(1), nanoseconds(draw(1, time / 2))}}});
    }
    for (std::int64_t i = 0; i < layers; ++i)
      problem.layers.push_back({kind[static_cast<std::size_t>(draw(0, kinds - 1))], 1});
    how.hop = nanoseconds(draw(0, 9));
    how.beside.assign(problem.in_flight.stages(), nanoseconds(0));
    how.beside.front() = nanoseconds(draw(0, 20));
    how.beside.back() += nanoseconds(draw(0, 50));
    how.forward_parts = draw(1, 2);
    how.whole_parts = 5;
    for (std::uint32_t r = 0; r < problem.in_flight.ranks(); ++r)
      problem.ranks.push_back({bytes(draw(40, 160)), bytes(draw(0, 5)), nanoseconds(0)});
    for (std::uint32_t s = 0; s < problem.in_flight.stages(); ++s)
      problem.ranks[problem.in_flight.rank_of(s)].time += how.beside[s];
  }
};

/// Whether levels by layer fit the room of every rank, from the problem alone.
bool fits(const planner::split_problem& q, const std::vector<std::int64_t>& cuts, std::uint64_t choice) {
  for (std::uint32_t r = 0; r < q.ranks.size(); ++r) {
    std::int64_t besides = q.ranks[r].fixed.count();
    std::vector<std::int64_t> kept(q.in_flight.chunks(), 0);
    for (std::uint32_t s = 0; s < q.in_flight.stages(); ++s) {
      if (q.in_flight.rank_of(s) != r) continue;
      for (std::int64_t i = cuts[s]; i < cuts[s + 1]; ++i) {
        const planner::layer& x = q.layers[static_cast<std::size_t>(i)].each;
        besides += x.weights.count();
        kept[q.in_flight.chunk_of(s)] += x.levels[static_cast<std::uint32_t>(choice >> i & 1)].kept.count();
      }
    }
    for (std::uint32_t k = 0; k < q.in_flight.times(r); ++k) {
      std::int64_t sum = besides;
      for (std::uint32_t c = 0; c < kept.size(); ++c) sum += q.in_flight.at(r, k)[c] * kept[c];
      if (sum > q.ranks[r].capacity.count()) return false;
    }
  }
  return true;
}

/// The makespan of a choice, by the simulator, from the problem alone.
ticks simulated(const question& x, const std::vector<std::int64_t>& cuts, std::uint64_t choice) {
  std::vector<ticks> forward, backward, input_grad, weight_grad;
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    const auto share = [&](ticks time) { return time * x.how.forward_parts / x.how.whole_parts; };
    ticks f = share(x.how.beside[s].count());
    ticks all = x.how.beside[s].count();
    for (std::int64_t i = cuts[s]; i < cuts[s + 1]; ++i) {
      const planner::layer& each = x.problem.layers[static_cast<std::size_t>(i)].each;
      f += share(each.time.count());
      all += each.time.count() + each.levels[static_cast<std::uint32_t>(choice >> i & 1)].extra.count();
    }
    forward.push_back(f);
    backward.push_back(all - f);
    weight_grad.push_back(f);
    input_grad.push_back(all - 2 * f);
  }
  const pipeline::stage_costs costs{.forward = forward,
                                    .backward = backward,
                                    .input_grad = input_grad,
                                    .weight_grad = weight_grad,
                                    .hop = x.how.hop.count()};
  return pipeline::simulate(x.schedule, costs).value().makespan;
}

/// The least makespan over all cuts and levels.
ticks brute_force(const question& x) {
  const auto layers = static_cast<std::int64_t>(x.problem.layers.size());
  const auto stages = static_cast<std::int64_t>(x.problem.in_flight.stages());
  ticks least = std::numeric_limits<ticks>::max();
  std::vector<std::int64_t> cuts;
  for (std::uint64_t at = 0; at < std::uint64_t{1} << (layers - 1); ++at) {
    cuts = {0};
    for (std::int64_t i = 1; i < layers; ++i)
      if (at >> (i - 1) & 1) cuts.push_back(i);
    cuts.push_back(layers);
    if (static_cast<std::int64_t>(cuts.size()) != stages + 1) continue;
    for (std::uint64_t choice = 0; choice < std::uint64_t{1} << layers; ++choice)
      if (fits(x.problem, cuts, choice)) least = std::min(least, simulated(x, cuts, choice));
  }
  return least;
}

}  // namespace

TEST_CASE("a run as a graph takes what the simulator says, and so does its longest path", "[planner][split]") {
  plain::draws draw(7);
  for (const std::string_view name : pipeline::schedule_names) {
    INFO(name);
    const pipeline::any_schedule schedule = some_schedule(name, 4, 8);
    for (int n = 0; n < cases; ++n) {
      const ticks hop = draw(0, 5);
      auto graph = detail::run_graph::make(schedule, hop).value();
      std::vector<detail::stage_run> stages;
      planner::split_times times;
      times.hop = hop;
      for (std::uint32_t s = 0; s < schedule.ranks() * schedule.chunks(); ++s) {
        const ticks forward = draw(0, 20);
        const ticks whole = 2 * forward + draw(0, 40);
        stages.push_back({forward, whole});
        times.forward.push_back(forward);
        times.backward.push_back(whole - forward);
        times.input_grad.push_back(whole - 2 * forward);
        times.weight_grad.push_back(forward);
      }
      const ticks makespan = graph.makespan(stages);
      CHECK(makespan == pipeline::simulate(schedule, times.costs()).value().makespan);
      detail::run_path path;
      graph.longest_path(path);
      CHECK(path.length(stages) == makespan);
    }
  }
}

TEST_CASE("simulated splits of small questions are the best there are", "[planner][split]") {
  constexpr std::string_view names[] = {"1f1b", "gpipe", "interleaved", "zbv", "zb-h1", "seq-1f1b", "dualpipe"};
  int proved = 0, asked = 0;
  for (const std::string_view name : names) {
    for (int n = 0; n < cases / 4; ++n) {
      INFO(name << ", question " << n);
      const bool two = name == "interleaved" || name == "zbv";
      const question x(name, two ? 2 : name == "dualpipe" ? 4 : 3, two ? 7 : 6, static_cast<unsigned>(n));
      const auto plan = planner::solve(x.problem, x.schedule, x.how);
      const ticks least = brute_force(x);
      if (!plan) {
        CHECK(plan.error().code == hocket::errc::does_not_fit);
        CHECK(least == std::numeric_limits<ticks>::max());
        continue;
      }
      ++asked;
      proved += plan->proved ? 1 : 0;
      CHECK(plan->step_time.count() == least);
      CHECK(plan->lower_bound.count() <= least);
      CHECK(plan->proved == (plan->lower_bound == plan->step_time));
      const planner::split_times times = planner::times_of(x.problem, *plan, x.how);
      CHECK(pipeline::simulate(x.schedule, times.costs()).value().makespan == plan->step_time.count());
    }
  }
  CHECK(asked > 30 * cases / 40);
  CHECK(proved > 0);
}

TEST_CASE("a given split gets the levels with the shortest run", "[planner][split]") {
  for (int n = 0; n < cases / 2; ++n) {
    INFO("question " << n);
    question x("interleaved", 2, 7, static_cast<unsigned>(100 + n));
    x.problem.split = {2, 1, 3, 1};
    const auto plan = planner::solve(x.problem, x.schedule, x.how);
    ticks least = std::numeric_limits<ticks>::max();
    for (std::uint64_t choice = 0; choice < 128; ++choice)
      if (fits(x.problem, {0, 2, 3, 6, 7}, choice)) least = std::min(least, simulated(x, {0, 2, 3, 6, 7}, choice));
    if (!plan) {
      CHECK(least == std::numeric_limits<ticks>::max());
      continue;
    }
    CHECK(plan->step_time.count() == least);
    CHECK(plan->lower_bound.count() <= least);
  }
}

TEST_CASE("splits of a MILP's own problems are no worse than the MILP's", "[planner][split]") {
  std::ifstream file(HOCKET_TEST_DATA "/planner/milp_splits.csv");
  std::string line;
  REQUIRE(std::getline(file, line));
  int rows = 0;
  while (std::getline(file, line)) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream in(line);
    std::string name;
    std::int64_t ranks = 0, chunks = 0, micro_batches = 0, first = 0, middle = 0, last = 0, head = 0, parts = 0;
    std::int64_t objective = 0;
    in >> name >> ranks >> chunks >> micro_batches >> first >> middle >> last >> head >> parts >> objective;
    INFO(name);
    planner::split_problem q;
    for (int k = 0; k < 2; ++k) {
      std::int64_t count = 0, time = 0, weights = 0, kept = 0, lean = 0, extra = 0;
      in >> count >> time >> weights >> kept >> lean >> extra;
      q.layers.push_back({{nanoseconds(time * 1000),
                           bytes(weights),
                           {{bytes(kept), nanoseconds(0)}, {bytes(lean), nanoseconds(extra * 1000)}}},
                          count});
    }
    REQUIRE(in);
    const auto schedule =
        pipeline::any_schedule::make(chunks > 1 ? "interleaved" : "1f1b", {ranks, chunks, micro_batches}).value();
    q.in_flight = held_by(schedule);
    q.micro_batches = micro_batches;
    q.ranks.assign(static_cast<std::size_t>(ranks), {bytes(middle)});
    q.ranks.front() = {bytes(first)};
    q.ranks.back() = {bytes(last), bytes(), nanoseconds(head * 1000)};
    // In the MILP's own times its objective is the measure; half a unit of its last digit is rounding.
    const auto own = planner::solve(q, schedule, {.forward_parts = 1000, .whole_parts = parts});
    REQUIRE(own);
    CHECK(own->step_time <= std::chrono::microseconds(objective + 5'000));
    CHECK(own->lower_bound <= own->step_time);
    // With a third as the forward its own splits run for up to 0.7 % longer or shorter.
    const auto thirds = planner::solve(q, schedule);
    REQUIRE(thirds);
    CHECK(thirds->step_time <= std::chrono::microseconds(objective + objective / 500));
    ++rows;
  }
  CHECK(rows >= 4);
}

TEST_CASE("a run that does not go with the problem is refused in a sentence", "[planner][split]") {
  question x("1f1b", 3, 6, 1);
  const auto refused = [&](const planner::split_run& how) {
    return planner::solve(x.problem, x.schedule, how).error();
  };
  CHECK(refused({.hop = nanoseconds(-1)}).code == hocket::errc::out_of_range);
  CHECK(refused({.forward_parts = 2, .whole_parts = 3}).code == hocket::errc::out_of_range);
  CHECK(refused({.whole_parts = 5000}).code == hocket::errc::out_of_range);
  CHECK(refused({.beside = {nanoseconds(0)}}).code == hocket::errc::out_of_range);
  x.problem.ranks[1].time = nanoseconds(9);
  CHECK(refused(x.how).code == hocket::errc::invalid_argument);
  CHECK(refused(x.how).values[0] == 1);
  const auto other = some_schedule("1f1b", 4, 8);
  CHECK(planner::solve(x.problem, other).error().code == hocket::errc::out_of_range);
}

TEST_CASE("more memory buys a shorter simulated step, or nothing", "[planner][split]") {
  nanoseconds bought{0};
  for (unsigned seed = 0; seed < 4; ++seed) {
    question x("interleaved", 2, 7, seed);
    for (planner::rank_room& room : x.problem.ranks) room.capacity = bytes(70);
    const auto plan = planner::solve(x.problem, x.schedule, x.how);
    if (!plan) continue;
    const auto price = planner::price_of_memory(x.problem, x.schedule, x.how, *plan, bytes(25)).value();
    for (std::size_t r = 0; r <= x.problem.ranks.size(); ++r) {
      INFO("question " << seed << ", rank " << r);
      question richer = x;
      for (std::size_t k = 0; k < x.problem.ranks.size(); ++k)
        if (r == k || r == x.problem.ranks.size()) richer.problem.ranks[k].capacity = bytes(95);
      const ticks saved = plan->step_time.count() - brute_force(richer);
      CHECK(saved == (r == x.problem.ranks.size() ? price.everywhere : price.on_one_rank[r]).count());
    }
    bought += price.everywhere;
  }
  CHECK(bought > nanoseconds(0));
}

TEST_CASE("thousands of layers in runs of two kinds have a bound near their plan", "[planner][split]") {
  const planner::layer small{nanoseconds(1000), bytes(2), {{bytes(3)}}};
  const planner::layer large{nanoseconds(1500), bytes(1), {{bytes(5)}}};
  const auto schedule = some_schedule("1f1b", 8, 16);
  planner::split_problem problem;
  for (int run = 0; run < 32; ++run) problem.layers.push_back({run % 2 == 0 ? small : large, 64});
  problem.ranks.assign(8, {bytes(1 << 20)});
  problem.in_flight = held_by(schedule);
  problem.micro_batches = 16;
  problem.budget = 1000;
  const auto plan = planner::solve(problem, schedule, {}).value();
  CHECK(plan.step_time.count() <= 7'360'000);
  CHECK(plan.lower_bound.count() >= 6'980'000);  // the mean of the ranks alone is 6,613,334
}
