// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The targets of the planner, each beside what was measured, in processor time of this thread.
//   bench_planner [--benchmark_filter=REGEX]
#include <hocket/pipeline/bound.hpp>
#include <hocket/planner.hpp>
#include <hocket/planner/strategy/solve.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <regex>
#include <string>
#include <vector>

#if defined(__unix__)
#include <sys/resource.h>
#endif

#include "../tests/data/cost/published_shapes.hpp"
#include "../tests/unit/planner/guide_cluster.hpp"
#include "../tests/unit/planner/schedule_questions.hpp"
#include "../tests/unit/planner/split_questions.hpp"
#include "measure.hpp"

namespace {

using namespace hocket;
using namespace hocket::planner;

using bench::now;

/// The median of several runs, in milliseconds.
template <class F>
double median(int runs, F&& f) {
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const double start = now();
    f();
    times.push_back(now() - start);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

std::string filter;
bool wanted(const char* name) { return filter.empty() || std::regex_search(name, std::regex(filter)); }
void print(const char* name, const char* what, double value, const char* unit, const char* must, const char* aim) {
  std::printf("%-28s %-48s %10.4g %-8s must %-10s aim %s\n", name, what, value, unit, must, aim);
}

using std::chrono::microseconds;

/// Equal layers of three levels.
layer some_layer(std::int64_t weights, std::int64_t kept, std::int64_t half, std::int64_t least) {
  return {microseconds(57),
          bytes(weights),
          {{bytes(kept), microseconds(0)}, {bytes(half), microseconds(2)}, {bytes(least), microseconds(19)}}};
}

void splits() {
  if (!wanted("planner/split")) return;
  split_problem q{.layers = {{some_layer(2'000, 4'400, 2'400, 300), 128}},
                  .ranks = {},
                  .in_flight = in_flight_profile::make_one_f_one_b(16, 64).value()};
  double worst = 0;
  for (const std::int64_t capacity : {100'000, 200'000, 300'000, 500'000})
    for (const objective goal : {objective::slowest_rank, objective::step_time})
      for (const std::int64_t m : {4, 64}) {
        q.ranks.assign(16, rank_room{bytes(capacity)});
        q.ranks.front() = {bytes(capacity), bytes(20'000), microseconds(6)};
        q.ranks.back() = {bytes(capacity), bytes(20'000), microseconds(50)};
        q.goal = goal;
        q.micro_batches = m;
        worst = std::max(worst, median(31, [&] {
                           if (!solve(q)) std::abort();
                         }));
      }
  print("planner/split", "128 layers, 16 stages, 3 levels: worst of 16", worst, "ms", "<= 1", "-");
}

/// Percent above something, of many questions.
struct percents {
  void add(ticks value, ticks from) {
    const double above = 100 * (static_cast<double>(value) / static_cast<double>(from) - 1);
    worst = n == 0 ? above : std::max(worst, above);
    sum += above;
    ++n;
  }
  [[nodiscard]] double mean() const { return n > 0 ? sum / n : 0; }
  double sum = 0;
  double worst = 0;
  int n = 0;
};

/// Prints a row of a table in docs/planner.md.
void print_row(const char* name, const std::vector<percents>& row) {
  std::printf("| %s |", name);
  for (const percents& x : row) std::printf(" %.2f / %.1f %% |", x.mean(), x.worst);
  std::printf("\n");
}

/// What the stage split minimises in the better of two simple plans: stages of equal numbers of layers, and of equal
/// times. 0 if neither fits.
ticks even_split(const planner::split_problem& problem) {
  namespace detail = planner::detail;
  const detail::split_numbers q(problem);
  detail::segment_fronts fronts(problem.layers);
  detail::rank_levels choose(q, fronts);
  detail::cut_moves moves(q, fronts, choose);
  detail::cut_moves::plan best;
  for (const auto& cuts : {detail::even_cuts(fronts.layers(), q.in_flight.stages()), detail::even_times(q, fronts)})
    moves(cuts, 0, 0, best, [](const auto&) { return false; });
  return best.cuts.empty() ? 0 : q.value(best.slowest, detail::base_time(q, fronts) + best.extra);
}
/// The bound that needs no prices.
ticks bound_by_work(const planner::split_problem& problem) {
  namespace detail = planner::detail;
  const detail::split_numbers q(problem);
  const detail::segment_fronts fronts(problem.layers);
  const ticks extra = fronts.quickest(0, fronts.layers()).extra;
  return q.value(detail::least_slowest(q, fronts), detail::base_time(q, fronts) + extra);
}

/// The table of docs/planner.md: how far plans are above those of the larger search, and above bounds.
void split_table() {
  if (!wanted("planner/split_table")) return;
  std::ifstream file(HOCKET_TEST_DATA "/planner/split_plans.csv");
  std::string line;
  std::getline(file, line);
  constexpr std::size_t columns = split_questions::columns.size();
  std::vector<percents> even(columns);
  std::vector<percents> plans(columns);
  std::vector<percents> work(columns);
  std::vector<percents> prices(columns);
  std::vector<int> proved(columns, 0);
  for (int i = 0; i < split_questions::count && std::getline(file, line); ++i) {
    const auto question = split_questions::make(i);
    const std::size_t c = question.column;
    const auto problem = question.problem();
    const auto plan = solve(problem);
    if (!plan) std::abort();
    const ticks recorded = std::stoll(line.substr(line.find(',', line.find(',') + 1) + 1));
    const ticks value = plan->value(problem.goal).count();
    if (const ticks simple = even_split(problem); simple > 0) even[c].add(simple, recorded);
    plans[c].add(value, recorded);
    work[c].add(value, bound_by_work(problem));
    prices[c].add(value, plan->lower_bound.count());
    proved[c] += plan->proved ? 1 : 0;
  }
  std::printf("| mean / worst |");
  for (const std::string_view column : split_questions::columns) std::printf(" %s |", std::string(column).c_str());
  std::printf("\n|---|---|---|---|---|---|---|---|---|\n");
  print_row("even stages, where they fit, above the record", even);
  print_row("plans above the record", plans);
  print_row("plans above the bound by work", work);
  print_row("plans above the bound", prices);
  std::printf("| proved, of %d |", split_questions::per_column);
  for (const int n : proved) std::printf(" %d |", n);
  std::printf("\n");
}

/// What is known of one question after each engine of the search has run, in the order of solve().
struct search_steps {
  static constexpr const char* names[] = {"closed forms and greedy rules", "and periodic schedules", "and moves",
                                          "and beams"};
  static constexpr const char* bounds[] = {"bound by work, memory time and the way there and back", "and windows",
                                           "and each rank alone"};
  ticks makespan[4];
  ticks bound[3];
};
search_steps steps_of(const schedule_problem& problem, const pipeline::stage_costs& costs) {
  const planner::unwatched watch;
  planner::detail::scheduling::schedule_search search(problem, costs, watch);
  search_steps x{};
  x.bound[0] = search.bound();
  search.closed_forms();
  search.greedy();
  x.makespan[0] = search.makespan();
  search.periodic();
  x.makespan[1] = search.makespan();
  search.windows();
  x.bound[1] = search.bound();
  search.ranks_alone();
  x.bound[2] = search.bound();
  search.moves();
  x.makespan[2] = search.makespan();
  search.beams();
  x.makespan[3] = search.makespan();
  return x;
}

/// The table of docs/planner.md: how far plans are above the recorded ones, and above bounds, engine by engine.
void schedule_table() {
  if (!wanted("planner/schedule_table")) return;
  constexpr std::int64_t budget = 400'000;  // of the record
  constexpr std::size_t plans = std::size(search_steps::names);
  constexpr std::size_t bounds = std::size(search_steps::bounds);
  std::vector<std::string> columns;
  std::vector<std::vector<percents>> rows(plans + bounds);
  percents all;
  for (recorded::schedule_question& x : recorded::schedule_questions(HOCKET_TEST_DATA)) {
    if (columns.empty() || columns.back() != x.column) {
      columns.push_back(x.column);
      for (auto& row : rows) row.emplace_back();
    }
    x.problem.budget = budget;
    const search_steps found = steps_of(x.problem, x.costs());
    const ticks plan = found.makespan[plans - 1];
    for (std::size_t i = 0; i < plans; ++i) rows[i].back().add(found.makespan[i], x.makespan);
    for (std::size_t i = 0; i < bounds; ++i) rows[plans + i].back().add(plan, found.bound[i]);
    all.add(plan, x.makespan);
  }
  std::printf("| above the record, mean / worst |");
  for (const std::string& column : columns) std::printf(" %s |", column.c_str());
  std::printf("\n|---|---|---|---|---|---|\n");
  for (std::size_t i = 0; i < rows.size(); ++i)
    print_row(i < plans ? search_steps::names[i] : search_steps::bounds[i - plans], rows[i]);
  print("planner/schedule_table", "70 questions, above the record, mean", all.mean(), "%", "<= 1", "-");
  print("planner/schedule_table", "70 questions, above the record, worst", all.worst, "%", "<= 5", "-");
}

void schedules() {
  if (!wanted("planner/schedule")) return;
  const pipeline::costs unit{.forward = 1, .backward = 1};
  const auto time = [&](const char* what, const schedule_problem& q, const char* must) {
    bool proved = false;
    std::int64_t expansions = 0;
    const double ms = median(3, [&] {
      const auto found = solve(q, unit);
      if (!found) std::abort();
      proved = found->proved;
      expansions = found->expansions;
    });
    print("planner/schedule", (std::string(what) + (proved ? ": proved" : ": not proved")).c_str(), ms * 1e-3, "s",
          must, "-");
  };
  const std::vector<std::uint32_t> seven(4, 7), four(4, 4), eight(4, 8);
  time("p4 v2 m10 loop, whole, cap 7", {{4, 2, 10}, stage_order::loop, false, seven}, "<= 10");
  time("p4 v2 m8 V, split, cap 4", {{4, 2, 8}, stage_order::v, true, four}, "<= 10");
  time("p4 v2 m10 V, split, cap 8", {{4, 2, 10}, stage_order::v, true, eight}, "<= 10");
}

void strategies() {
  if (!wanted("planner/strategy")) return;
  using namespace published;
  struct row {
    const char* name;
    const cost::model& m;
    std::int64_t devices, batch;
    const char* must;
    const char* aim;
  };
  for (const row& x :
       {row{"7B on 8", llama_7b, 8, 64, "-", "-"}, row{"13B on 16", llama_13b, 16, 2048, "-", "-"},
        row{"70B on 64", llama_70b, 64, 512, "-", "-"}, row{"70B on 1,024", llama_70b, 1024, 2048, "<= 20", "<= 5"},
        row{"DeepSeek-V3 on 2,048", deepseek_v3, 2048, 8192, "-", "-"},
        row{"70B on 16,384", llama_70b, 16384, 16384, "-", "-"}}) {
    const cost::training t{.sequence = 4096, .global_batch = x.batch};
    const cluster on = cluster_of(x.devices);
    std::int64_t evaluated = 0;
    strategy best;
    const double ms = median(9, [&] {
      const auto found = solve(strategy_problem{x.m, t, on});
      if (!found || found->front.empty()) std::abort();
      evaluated = found->evaluated;
      best = found->front.front().of;
    });
    // The same formulas without sharing: one strategy at a time.
    const double one = median(9,
                              [&] {
                                for (int i = 0; i < 20; ++i)
                                  if (!price_of_strategy({x.m, t, on}, best)) std::abort();
                              }) /
                       20;
    print("planner/strategy", (std::string(x.name) + ": time to the certified best").c_str(), ms, "ms", x.must, x.aim);
    print("planner/strategy", (std::string(x.name) + ": strategies a second").c_str(),
          static_cast<double>(evaluated) / ms * 1e3, "/s", ">= 1e6", ">= 1e7");
    print("planner/strategy", (std::string(x.name) + ": / one at a time").c_str(),
          static_cast<double>(evaluated) / ms * one, "x", "-", "-");
  }
}

void scale() {
  if (!wanted("planner/scale")) return;
  const auto report = [](const char* what, double ms) { print("planner/scale", what, ms * 1e-3, "s", "<= 2", "-"); };
  // 16,384 ranks: 256 pipelines of 64 ranks with 8 chunks, or 64 of 256 ranks.
  struct row {
    std::int64_t p, m;
  };
  for (const auto& [p, m] : {row{64, 512}, row{256, 1024}, row{256, 4096}}) {
    const std::string name = "p" + std::to_string(p) + " v8 m" + std::to_string(m) + ": ";
    const pipeline::shape s{p, 8, m};
    const auto plan = pipeline::interleaved::make(s).value();
    in_flight_profile held;
    report((name + "what every rank holds").c_str(), median(1, [&] { held = in_flight_profile::make(plan).value(); }));
    report((name + "makespan and peaks, closed form").c_str(), median(1, [&] {
             std::int64_t most = 0;
             for (std::uint32_t r = 0; r < plan.ranks(); ++r)
               most = std::max<std::int64_t>(most, plan.peak_in_flight(r));
             if (pipeline::makespan_bound(s, 3, 6).value() != 9 * (8 * m + p - 1) || most != 9 * p - 1) std::abort();
           }));
    for (const std::int64_t percent : {100, 40}) {
      const split_problem q{
          .layers = {{some_layer(2, 400, 200, 100), 16 * p}},
          .ranks = std::vector<rank_room>(static_cast<std::size_t>(p), rank_room{bytes(8 * p * 10 * percent)}),
          .in_flight = held,
          .micro_batches = m};
      bool proved = false;
      const double ms = median(1, [&] {
        const auto found = solve(q);
        if (!found) std::abort();
        proved = found->proved;
      });
      report((name + "split, " + (percent == 100 ? "ample" : "tight") + " memory" + (proved ? ", proved" : "")).c_str(),
             ms);
    }
  }
  const split_problem plain{.layers = {{some_layer(2'000, 4, 2, 1), 2048}},
                            .ranks = std::vector<rank_room>(256, rank_room{bytes(25'000)}),
                            .in_flight = in_flight_profile::make_one_f_one_b(256, 4096).value(),
                            .micro_batches = 4096};
  report("2,048 layers on p256 v1 m4096: the split", median(1, [&] {
           if (!solve(plain)) std::abort();
         }));
#if defined(__unix__)
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  print("planner/scale", "largest memory of this process", static_cast<double>(use.ru_maxrss) / 1048576.0, "GiB",
        "<= 2", "-");
#endif
}

}  // namespace

int main(int argc, char** argv) {
  constexpr char option[] = "--benchmark_filter=";
  for (int i = 1; i < argc; ++i)
    if (std::strncmp(argv[i], option, sizeof option - 1) == 0) filter = argv[i] + sizeof option - 1;
  splits();
  split_table();
  schedules();
  schedule_table();
  strategies();
  scale();
}
