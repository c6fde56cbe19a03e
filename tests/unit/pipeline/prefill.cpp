// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forward-only pipelines: runs against a recurrence written anew and against `simulate`, plans against all sizes there
// are.
#include <hocket/core/message.hpp>
#include <hocket/pipeline/prefill.hpp>
#include <hocket/pipeline/simulate.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "../../catch.hpp"

using namespace hocket;
using namespace hocket::pipeline;

namespace {

using sizes_list = std::vector<std::int64_t>;

/// One chunk per rank: when each request ends, by the recurrence of a flow shop.
template <class C>
std::vector<ticks> ends_by_hand(const prefill_problem& a, const C& costs, const sizes_list& sizes) {
  const std::uint32_t stages = a.stages();
  std::vector<ticks> free(stages, 0), link(stages, 0), ends;
  std::size_t i = 0;
  for (std::uint32_t r = 0; r < a.requests.size(); ++r) {
    ticks end = 0;
    for (std::int64_t done = 0; done < a.requests[r].tokens; done += sizes[i++]) {
      const bool last = done + sizes[i] == a.requests[r].tokens;
      const prefill_piece x{r, last, a.requests[r].cached + done, sizes[i]};
      ticks t = a.requests[r].arrival;
      for (std::uint32_t s = 0; s < stages; ++s) {
        t = std::max(t, free[s]) + costs.duration(s, x);
        if (s + 1 == stages) t += costs.tail(x);
        free[s] = t;
        link[s] = std::max(link[s], t) + costs.transfer(s, x);
        if (s + 1 < stages) t = link[s] + costs.latency(s);
      }
      end = t;
    }
    ends.push_back(end);
  }
  return ends;
}

/// Calls f with every list of sizes that the problem allows.
void for_all_sizes(const prefill_problem& a, const std::function<void(const sizes_list&)>& f) {
  sizes_list now;
  const std::function<void(std::size_t, std::int64_t)> cut = [&](std::size_t r, std::int64_t done) {
    if (r == a.requests.size()) return f(now);
    const std::int64_t left = a.requests[r].tokens - done;
    const std::int64_t most = a.sizes.greatest > 0 ? a.sizes.greatest : left;
    for (std::int64_t x = 1; x <= std::min(left, most); ++x) {
      if (x < std::min(a.sizes.least, a.requests[r].tokens)) continue;
      if (x < left && x % a.sizes.align != 0) continue;
      now.push_back(x);
      if (x == left) cut(r + 1, 0);
      else cut(r, done + x);
      now.pop_back();
    }
  };
  cut(0, 0);
}

/// A random problem with few ways to cut it.
struct small_problem {
  std::vector<prefill_request> requests;
  std::vector<prefill_times> stages;
  prefill_problem problem;
  prefill_costs costs;

  small_problem(std::mt19937& random, int most_requests, std::int64_t chunks) {
    const auto upto = [&](int n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n + 1)); };
    problem.ranks = 1 + upto(3);
    problem.chunks = chunks;
    problem.placement = upto(1) == 0 ? prefill_placement::loop : prefill_placement::v;
    problem.goal = upto(1) == 0 ? prefill_goal::last_end : prefill_goal::mean_end;
    problem.sizes = {.align = 1 + upto(3), .least = 1 + upto(2)};
    const auto count = 1 + upto(most_requests - 1);
    const std::int64_t places = count == 1 ? 10 : 5;
    ticks arrival = 0;
    for (std::int64_t r = 0; r < count; ++r) {
      arrival += upto(2) * 50;
      requests.push_back({1 + upto(static_cast<int>(places * problem.sizes.align) - 1), arrival, upto(1) * upto(30)});
    }
    if (upto(2) == 0) problem.sizes.greatest = 3 * (problem.sizes.align + problem.sizes.least);
    const bool alike = upto(1) == 0;
    for (std::uint32_t s = 0; s < (alike ? 1 : problem.stages()); ++s)
      stages.push_back({static_cast<double>(upto(40)), static_cast<double>(upto(2)) / 2,
                        static_cast<double>(upto(30)) / 3, static_cast<double>(upto(10)) / 20});
    costs = {.stages = stages,
             .hop = upto(1) * upto(20),
             .hop_per_token = static_cast<double>(upto(1) * upto(9)),
             .head = upto(30)};
    problem.requests = requests;
  }
  small_problem(const small_problem&) = delete;
};

double goal_of(const prefill_problem& a, ticks last_end, double mean_wait) {
  return a.goal == prefill_goal::last_end ? static_cast<double>(last_end) : mean_wait;
}

}  // namespace

TEST_CASE("a run is the recurrence of a flow shop, and so is the search's own way to it") {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    const small_problem a(random, 3, 1);
    for_all_sizes(a.problem, [&](const sizes_list& sizes) {
      const auto run = run_prefill(a.problem, a.costs, sizes).value();
      const auto ends = ends_by_hand(a.problem, a.costs, sizes);
      REQUIRE(std::equal(run.ends.begin(), run.ends.end(), ends.begin(), ends.end()));
    });
  }
}

TEST_CASE("plans of small problems are the best of all sizes") {
  std::mt19937 random(2);
  int proved = 0, at_once = 0;
  for (int i = 0; i < 1500; ++i) {
    const small_problem a(random, 2, 1);
    double best = 1e300, best_end = 1e300, best_wait = 1e300;
    for_all_sizes(a.problem, [&](const sizes_list& sizes) {
      const auto ends = ends_by_hand(a.problem, a.costs, sizes);
      double wait = 0;
      for (std::size_t r = 0; r < ends.size(); ++r)
        wait += static_cast<double>(ends[r] - a.requests[r].arrival) / static_cast<double>(ends.size());
      best_end = std::min(best_end, static_cast<double>(*std::max_element(ends.begin(), ends.end())));
      best_wait = std::min(best_wait, wait);
      best = std::min(best, goal_of(a.problem, static_cast<ticks>(best_end), best_wait));
    });
    CAPTURE(i, a.problem.ranks, a.problem.sizes.align, a.problem.sizes.least, a.problem.sizes.greatest);
    const auto plan = solve_prefill(a.problem, a.costs);
    if (best == 1e300) {
      REQUIRE(plan.error().code == errc::no_feasible_pieces);
      continue;
    }
    const auto quick = solve_prefill(a.problem, a.costs, {.budget = 0}).value();
    REQUIRE(plan.value().proved);
    REQUIRE(std::abs(goal_of(a.problem, plan->last_end, plan->mean_wait) - best) <= 1e-9 * best);
    REQUIRE(static_cast<double>(plan->lower_bound) <= best_end);
    REQUIRE(plan->least_mean_wait <= best_wait * (1 + 1e-12));
    REQUIRE(static_cast<double>(quick.lower_bound) <= best_end);
    REQUIRE(quick.least_mean_wait <= best_wait * (1 + 1e-12));
    proved += 1;
    at_once += quick.proved ? 1 : 0;
  }
  REQUIRE(proved > 1000);
  REQUIRE(at_once > 200);
}

TEST_CASE("several chunks: no sizes in either order beat the plan of a small problem, nor its bound") {
  std::mt19937 random(3);
  for (int i = 0; i < 400; ++i) {
    const small_problem a(random, 2, 2 + static_cast<std::int64_t>(random() % 2));
    const auto plan = solve_prefill(a.problem, a.costs);
    if (!plan) continue;
    ticks best_end = plan->last_end;
    double best_wait = plan->mean_wait;
    for_all_sizes(a.problem, [&](const sizes_list& sizes) {
      for (const auto order : {prefill_order::deepest_first, prefill_order::shallowest_first}) {
        const auto run = run_prefill(a.problem, a.costs, sizes, order).value();
        best_end = std::min(best_end, run.last_end());
        best_wait = std::min(best_wait, run.mean_wait());
      }
    });
    REQUIRE(plan->lower_bound <= best_end);
    REQUIRE(plan->least_mean_wait <= best_wait * (1 + 1e-12));
    const double ours = goal_of(a.problem, plan->last_end, plan->mean_wait);
    REQUIRE(ours <= goal_of(a.problem, best_end, best_wait) * (1 + 1e-12));
  }
}

namespace {

/// Times of pieces for `simulate`, which wants backwards: they take no time, and nor does the way back.
struct simulated_times {
  const prefill_run& run;
  const prefill_costs& prefill;
  [[nodiscard]] ticks duration(stage_action a) const {
    if (a.kind() != action_kind::forward) return 0;
    const std::size_t i = std::size_t{a.micro_batch()} * run.stages + a.stage();
    return run.finishes[i] - run.starts[i];
  }
  [[nodiscard]] ticks latency(std::uint32_t from, std::uint32_t to) const { return from < to ? prefill.hop : 0; }
  [[nodiscard]] ticks transfer(stage_action a, std::uint32_t, std::uint32_t) const {
    return a.kind() == action_kind::forward ? prefill.transfer(a.stage(), run.pieces[a.micro_batch()]) : 0;
  }
};

/// The lists of a run, with a backward for each forward at the end.
table_schedule with_backwards(const prefill_run& run) {
  const auto lists = lists_of(run).value();
  std::vector<stage_action> actions;
  std::vector<std::uint32_t> ends;
  for (std::uint32_t r = 0; r < lists.ranks(); ++r) {
    for (const stage_action a : lists.rank(r)) actions.push_back(a);
    for (std::uint32_t k = 0; k < lists.micro_batches(); ++k)
      for (std::uint32_t s = run.stages; s-- > 0;)
        if (run.rank_of[s] == r) actions.push_back({action_kind::backward, s, k});
    ends.push_back(static_cast<std::uint32_t>(actions.size()));
  }
  return table_schedule::make(actions, ends).value();
}

/// Measured times that follow no formula, without any of the optional members.
struct measured {
  [[nodiscard]] ticks duration(std::uint32_t stage, const prefill_piece& x) const {
    return 7 + 3 * static_cast<ticks>(stage) + x.tokens * 2 + x.tokens * x.before / 5 + (x.tokens > 5 ? 4 : 0);
  }
  [[nodiscard]] ticks transfer(std::uint32_t, const prefill_piece&) const { return 0; }
  [[nodiscard]] ticks latency(std::uint32_t) const { return 2; }
  [[nodiscard]] ticks tail(const prefill_piece& x) const { return x.last ? 9 : 0; }
};

const prefill_times usual[] = {{.fixed = 20e6, .per_token = 30e3, .per_pair = 0.4}};  // in nanoseconds

}  // namespace

TEST_CASE("simulate runs the lists of a run in the same time") {
  std::mt19937 random(4);
  for (int i = 0; i < 200; ++i) {
    small_problem a(random, 1, 1 + static_cast<std::int64_t>(random() % 2));
    a.requests[0].arrival = 0;
    if (a.problem.chunks > 1) a.costs.hop = 0;
    if (a.problem.chunks > 1) a.costs.hop_per_token = 0;
    const auto plan = solve_prefill(a.problem, a.costs);
    if (!plan) continue;
    const auto run = run_prefill(a.problem, a.costs, plan->sizes, plan->order).value();
    REQUIRE(run.last_end() == plan->last_end);
    REQUIRE(simulate(with_backwards(run), simulated_times{run, a.costs}).value().makespan == run.last_end());
    timeline drawn;
    draw(run, drawn);
    REQUIRE(drawn.makespan() == run.last_end());
    ticks busy = 0, bars = 0;
    for (std::uint32_t r = 0; r < run.ranks; ++r) busy += run.busy(r);
    for (const auto& x : drawn.spans()) bars += x.finish - x.start;
    REQUIRE(busy == bars);
  }
}

TEST_CASE("a host's own times, without the optional members") {
  const prefill_request prompt[] = {{.tokens = 24}, {.tokens = 9, .arrival = 100}};
  prefill_problem a{.ranks = 3, .requests = prompt, .sizes = {.align = 3}};
  const auto plan = solve_prefill(a, measured{}).value();
  ticks best = plan.last_end;
  for_all_sizes(a, [&](const sizes_list& sizes) {
    const auto ends = ends_by_hand(a, measured{}, sizes);
    best = std::min(best, ends.back());
  });
  REQUIRE(plan.proved);
  REQUIRE(plan.last_end == best);
  const auto quick = solve_prefill(a, measured{}, {.budget = 0}).value();
  REQUIRE(quick.lower_bound <= best);
  REQUIRE(quick.lower_bound * 2 > best);
}

TEST_CASE("a long prompt: sizes obey the limits, the bound is near, rules are not better") {
  const prefill_times latent[] = {{.fixed = 20e6, .per_token_before = 300, .per_token = 30e3, .per_pair = 0.4}};
  const prefill_request prompt[] = {{.tokens = 131'072 - 5}};
  for (const auto* stage : {usual, latent}) {
    for (const std::int64_t ranks : {2, 4, 8, 16}) {
      for (const std::int64_t align : {64, 256}) {
        prefill_problem a{
            .ranks = ranks, .requests = prompt, .sizes = {.align = align, .least = 512, .greatest = 20'000}};
        const prefill_costs costs{.stages = std::span(stage, 1), .hop = 50'000, .hop_per_token = 20, .head = 3'000'000};
        const auto plan = solve_prefill(a, costs).value();
        CAPTURE(ranks, align, plan.last_end, plan.lower_bound, plan.sizes.size());
        REQUIRE(std::accumulate(plan.sizes.begin(), plan.sizes.end(), std::int64_t{0}) == prompt[0].tokens);
        for (std::size_t i = 0; i < plan.sizes.size(); ++i) {
          REQUIRE((plan.sizes[i] >= 512 && plan.sizes[i] <= 20'000));
          if (i + 1 < plan.sizes.size()) REQUIRE(plan.sizes[i] % align == 0);
        }
        REQUIRE(ends_by_hand(a, costs, {plan.sizes.begin(), plan.sizes.end()}).back() == plan.last_end);
        REQUIRE(plan.lower_bound <= plan.last_end);
        REQUIRE(static_cast<double>(plan.last_end) <= 1.01 * static_cast<double>(plan.lower_bound));
        REQUIRE(plan.peers.size() == 3);
        for (const prefill_peer& x : plan.peers)
          if (x.allowed) REQUIRE(plan.last_end <= x.last_end);
      }
    }
  }
}

TEST_CASE("the rules of production") {
  const prefill_costs costs{.stages = usual};
  const prefill_request prompt{.tokens = 16'384};
  sizes_list equal, times, smoothed;
  append_by_rule(prompt, {.align = 64}, costs, prefill_rule::equal, 5000, 1, equal);
  REQUIRE(equal == sizes_list{4992, 4992, 4992, 1408});
  append_by_rule(prompt, {.align = 64}, costs, prefill_rule::equal_times, 4096, 1, times);
  append_by_rule(prompt, {.align = 64}, costs, prefill_rule::smoothed, 4096, 0.65, smoothed);
  const auto time = [&](std::int64_t before, std::int64_t x) {
    return costs.duration(0, {.before = before, .tokens = x});
  };
  std::int64_t done = 0;
  for (std::size_t i = 0; i + 1 < times.size(); ++i) {  // the longest that are no longer than the first
    REQUIRE(time(done, times[i]) <= time(0, 4096));
    REQUIRE(time(done, times[i] + 64) > time(0, 4096));
    done += times[i];
  }
  REQUIRE(times.front() == 4096);
  REQUIRE(smoothed.front() == 4096);
  REQUIRE(times[1] < smoothed[1]);
  REQUIRE(smoothed[1] < 4096);
  for (const auto& x : {equal, times, smoothed})
    REQUIRE(std::accumulate(x.begin(), x.end(), std::int64_t{0}) == prompt.tokens);
  sizes_list none;  // factor 0 is equal sizes, 1 equal times
  append_by_rule(prompt, {.align = 64}, costs, prefill_rule::smoothed, 4096, 1, none);
  REQUIRE(none == times);
}

TEST_CASE("layers of stages: as good as the best of all splits, but for a few") {
  std::mt19937 random(5);
  int uneven = 0, exact = 0;
  for (int i = 0; i < 150; ++i) {
    const auto upto = [&](int n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n + 1)); };
    const prefill_request prompt[] = {{.tokens = 40 + upto(40)}};
    const prefill_problem a{.ranks = 2 + upto(2), .requests = prompt};
    const prefill_layers with{.layers = a.ranks + 1 + upto(7),
                              .layer = {.fixed = static_cast<double>(upto(9)), .per_token = 3, .per_pair = 0.05},
                              .first = {.per_token = static_cast<double>(upto(4))},
                              .hop = upto(9),
                              .head = upto(60)};
    const sizes_list sizes{20, 20, prompt[0].tokens - 40};
    const sizes_list wanted = prompt[0].tokens == 40 ? sizes_list{20, 20} : sizes;
    const auto split = split_prefill_layers(a, with, wanted).value();
    ticks best = split.last_end;
    sizes_list counts;
    std::pmr::vector<prefill_times> times;
    const std::function<void(std::int64_t)> next = [&](std::int64_t left) {
      const auto more = a.ranks - static_cast<std::int64_t>(counts.size());
      if (more == 0) {
        times_of_stages(with, counts, times);
        const prefill_costs costs{std::span<const prefill_times>(times), with.hop, with.hop_per_token, with.head};
        best = std::min(best, ends_by_hand(a, costs, wanted).back());
        return;
      }
      for (std::int64_t n = more == 1 ? left : 1; n <= left - (more - 1); ++n) {
        counts.push_back(n);
        next(left - n);
        counts.pop_back();
      }
    };
    next(with.layers);
    REQUIRE(std::accumulate(split.layers.begin(), split.layers.end(), std::int64_t{0}) == with.layers);
    REQUIRE(static_cast<double>(split.last_end) <= 1.02 * static_cast<double>(best));
    exact += split.last_end == best ? 1 : 0;
    uneven += split.layers.front() != split.layers.back() ? 1 : 0;
  }
  REQUIRE(uneven > 50);
  REQUIRE(exact >= 148);
}

TEST_CASE("decoding: the steady state of rounds that are run one by one") {
  std::mt19937 random(6);
  int full = 0;
  for (int i = 0; i < 500; ++i) {
    const auto upto = [&](int n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n + 1)); };
    std::vector<ticks> stages(1 + static_cast<std::size_t>(upto(5))), links(stages.size());
    for (ticks& t : stages) t = 1 + upto(20);
    for (ticks& t : links) t = upto(1) * upto(25);
    const decode_problem a{.stages = stages, .transfers = links, .hop = upto(9), .micro_batches = 1 + upto(9)};
    const auto found = decode_steady_state(a).value();
    std::vector<ticks> rank(stages.size(), 0), link(stages.size(), 0);
    std::vector<ticks> back(static_cast<std::size_t>(a.micro_batches), 0);
    const std::int64_t settled = 400, more = 60;
    ticks then = 0;
    for (std::int64_t round = 0; round < settled + more; ++round) {
      for (ticks& t : back) {
        for (std::size_t s = 0; s < stages.size(); ++s) {
          t = std::max(t, rank[s]) + stages[s];
          rank[s] = t;
          t = std::max(t, link[s]) + links[s];
          link[s] = t;
          t += a.hop;
        }
      }
      if (round + 1 == settled) then = back.back();
    }
    REQUIRE(back.back() - then == more * found.round);
    REQUIRE((a.micro_batches >= found.enough) == (found.busy == 1));
    full += found.busy == 1 ? 1 : 0;
  }
  REQUIRE((full > 50 && full < 450));
  const ticks stages[] = {10, 10, 12, 10};
  const auto four = decode_steady_state({.stages = stages, .hop = 1, .micro_batches = 4}).value();
  REQUIRE((four.round == 48 && four.latency == 46 && four.enough == 4));
  REQUIRE(four.tokens_per_second(4, 32, 1000) == 4 * 32 * 1000 / 48.0);
}

TEST_CASE("memory of a run") {
  const prefill_times stage[] = {{.per_token = 1}};
  const prefill_request prompts[] = {{.tokens = 10}, {.tokens = 6, .cached = 2}};
  const prefill_problem a{.ranks = 2, .requests = prompts};
  const std::int64_t sizes[] = {6, 4, 6}, cache[] = {100, 10}, activation[] = {7};
  const auto run = run_prefill(a, prefill_costs{.stages = stage}, sizes).value();
  // rank 0: 0-6, 6-10, 10-16; rank 1: 6-12, 12-16, 16-22. The first request ends at 16.
  const auto bytes = prefill_memory(run, {.cache = cache, .activation = activation, .border = 1}).value();
  REQUIRE(bytes[0] == prefill_rank_bytes{.cache = (10 + 6 + 2) * 100, .activation = 42, .waiting = 0});
  REQUIRE(bytes[1] == prefill_rank_bytes{.cache = 10 * 10, .activation = 42, .waiting = 10});
  REQUIRE(prefill_memory(run, {.border = -1}).error().code == errc::out_of_range);
  const std::int64_t three[] = {1, 2, 3};
  REQUIRE(prefill_memory(run, {.cache = three}).error().code == errc::out_of_range);
  const std::int64_t huge[] = {INT64_MAX};
  REQUIRE(prefill_memory(run, {.cache = huge}).error().code == errc::overflow);
}

TEST_CASE("what cannot be solved is refused in a sentence") {
  const prefill_costs costs{.stages = usual};
  const prefill_request prompt[] = {{.tokens = 100}}, late[] = {{.tokens = 100, .arrival = -1}};
  const auto code = [&](const prefill_problem& a) { return solve_prefill(a, costs).error().code; };
  REQUIRE(code({.requests = {}}) == errc::out_of_range);
  REQUIRE(code({.ranks = 0, .requests = prompt}) == errc::bad_shape);
  REQUIRE(code({.requests = late}) == errc::out_of_range);
  REQUIRE(code({.requests = prompt, .sizes = {.align = 0}}) == errc::out_of_range);
  REQUIRE(code({.requests = prompt, .sizes = {.least = 30, .greatest = 20}}) == errc::out_of_range);
  const prefill_problem tight{.requests = prompt, .sizes = {.least = 60, .greatest = 70}};
  REQUIRE(code(tight) == errc::no_feasible_pieces);
  REQUIRE(message(solve_prefill(tight, costs).error()) ==
          "a request of 100 tokens cannot be cut into pieces of 60 to 70 tokens that are multiples of 1");
  REQUIRE(solve_prefill({.requests = prompt}, costs, {.smooth_factor = 2}).error().code == errc::out_of_range);
  const std::int64_t wrong[] = {60, 41}, short_of[] = {60}, none[] = {100, 5};
  for (const auto sizes : {std::span(wrong), std::span(none)})
    REQUIRE(run_prefill({.requests = prompt}, costs, sizes).error().code == errc::out_of_range);
  REQUIRE(run_prefill({.requests = prompt}, costs, short_of).error().code == errc::out_of_range);
  const prefill_times negative[] = {{.per_token = -1}}, endless[] = {{.fixed = 1e30}};
  REQUIRE(solve_prefill({.requests = prompt}, prefill_costs{.stages = negative}).error().code == errc::out_of_range);
  const prefill_request cached[] = {{.tokens = 9, .cached = 50}};
  REQUIRE(solve_prefill({.requests = cached}, prefill_costs{.stages = negative}).error().code == errc::out_of_range);
  REQUIRE(solve_prefill({.requests = prompt}, prefill_costs{.stages = endless}).error().code == errc::out_of_range);
}
