// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each engine of the schedule search alone, against all orders of small questions.
#include <hocket/planner/schedule/detail/beam_search.hpp>
#include <hocket/planner/schedule/detail/greedy_rules.hpp>
#include <hocket/planner/schedule/detail/path_moves.hpp>
#include <hocket/planner/schedule/detail/periodic_search.hpp>
#include <hocket/planner/schedule/detail/rank_bound.hpp>
#include <hocket/planner/schedule/detail/window_bound.hpp>
#include <hocket/planner/schedule/detail/work_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "catch.hpp"

using namespace hocket::planner::detail::scheduling;
using hocket::ticks;

namespace {

constexpr auto to_the_end = [] { return true; };

/// The least makespan over all orders, by enumeration in order of start; no rule, no bound but the best.
class every_order {
 public:
  explicit every_order(const search_input& in) : in_(in) { run(partial_schedule(in), 0); }
  [[nodiscard]] ticks best() const noexcept { return best_; }

 private:
  void run(const partial_schedule& plan, ticks from) {
    if (plan.finish() >= best_) return;
    if (plan.is_complete()) {
      best_ = plan.finish();
      return;
    }
    for (std::uint32_t t = 0; t < in_.tasks.size(); ++t) {
      const task& x = in_.tasks[t];
      if (x.holds > 0 && plan.held[x.rank] >= static_cast<std::int32_t>(in_.cap[x.rank])) continue;
      const ticks at = std::max(plan.ready(t), plan.free_at[x.rank]);
      if (at >= never || at < from) continue;
      partial_schedule more = plan;
      more.start(t, at);
      run(more, at);
    }
  }

  const search_input& in_;
  ticks best_ = never;
};

/// Two ranks or three, few micro-batches, any times, little room.
search_input small_question(int n, std::mt19937& random) {
  const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
  const std::uint32_t ranks = n % 6 == 5 ? 3 : 2;
  const std::uint32_t chunks = ranks == 2 && n % 3 > 0 ? 2 : 1;
  const std::uint32_t stages = ranks * chunks;
  const bool split = n % 2 == 0;
  const bool is_v = n % 4 < 2 && stages == 4;
  std::vector<std::uint32_t> rank_of;
  stage_times times;
  for (std::uint32_t s = 0; s < stages; ++s) {
    rank_of.push_back(is_v && s >= ranks ? stages - 1 - s : s % ranks);
    times.forward.push_back(1 + below(9));
    times.backward.push_back(1 + below(9));
    times.weight_grad.push_back(split ? 1 + below(9) : 0);
  }
  const ticks hop = below(3);
  std::vector<std::uint32_t> caps;
  for (std::uint32_t r = 0; r < ranks; ++r) caps.push_back(chunks + below(2));
  return {ranks, stages < 4 ? 3u : 2u, split, rank_of, times, hop, caps};
}

/// The makespan of a list, `never` if it does not run or does not keep the caps.
ticks length_of(const search_input& in, const std::vector<std::uint32_t>& list) {
  partial_schedule plan(in);
  const std::vector<std::uint32_t> order = run_in_order(in, list).list;
  for (const std::uint32_t a : order) {
    const task& x = in.task_of(a);
    if (x.holds > 0 && plan.held[x.rank] >= static_cast<std::int32_t>(in.cap[x.rank])) return never;
    plan.start(a / in.micro_batches, std::max(plan.ready(a / in.micro_batches), plan.free_at[x.rank]));
  }
  return plan.is_complete() ? plan.finish() : never;
}

}  // namespace

namespace {

/// How far an engine is from the best of all orders, all questions together.
struct distance {
  int met = 0;
  ticks sum = 0;
  void add(ticks value, ticks best) {
    met += value == best ? 1 : 0;
    sum += value < best ? best - value : value - best;
  }
};

}  // namespace

TEST_CASE("engines find schedules that exist, and bounds forbid none", "[planner][schedule]") {
  constexpr int questions = 108;
  std::mt19937 random(7);
  distance by_rules, by_moves, by_beams, by_periods, of_windows, of_ranks;
  for (int n = 0; n < questions; ++n) {
    const search_input in = small_question(n, random);
    const ticks best = every_order(in).best();
    INFO("case " << n << " best " << best);

    const partial_schedule greedy = greedy_run(in, {.lead = 1})();
    REQUIRE(greedy.is_complete());
    CHECK(length_of(in, greedy.list) == greedy.finish());
    CHECK(greedy.finish() >= best);
    by_rules.add(greedy.finish(), best);

    path_moves moves(in);
    CHECK(moves(greedy.list, 0, 0, to_the_end) == greedy.finish());
    const ticks moved = moves(greedy.list, 40'000, best, to_the_end);
    CHECK(length_of(in, moves.list()) == moved);
    CHECK(moved >= best);
    CHECK(moved <= greedy.finish());
    by_moves.add(moved, best);

    beam_search beam(in);
    const ticks built = beam(256, {}, to_the_end);
    REQUIRE(built < never);
    CHECK(length_of(in, beam.list()) == built);
    CHECK(built >= best);
    by_beams.add(built, best);
    const std::vector<std::uint32_t> begin(greedy.list.begin(), greedy.list.begin() + 4);
    if (beam(8, begin, to_the_end) < never) CHECK(std::equal(begin.begin(), begin.end(), beam.list().begin()));

    periodic_search periods(in);
    REQUIRE(periods(20'000));
    const ticks periodic = length_of(in, periods.list());
    REQUIRE(periodic < never);
    CHECK(periodic >= best);
    by_periods.add(periodic, best);

    const window_bound windows(in);
    CHECK(windows() <= best);
    of_windows.add(windows(), best);
    rank_bound of_rank(in, windows);
    ticks bound = windows();
    for (std::uint32_t r = 0; r < in.ranks; ++r) {
      CHECK(work_bound(in, r) <= best);
      std::int64_t steps = 1'000'000;
      for (const ticks high : {best, best + 9}) {
        const ticks least = of_rank(r, 0, high, steps);
        CHECK(least <= best);
        bound = std::max(bound, least);
      }
      std::int64_t no_steps = 0;
      CHECK(of_rank(r, 3, best + 4, no_steps) == 3);
    }
    of_ranks.add(bound, best);
  }
  // How often each meets the best of all orders today, and the ticks that it is off; an engine that gets worse is seen.
  const auto is_as_good_as = [](const distance& x, int met, ticks sum) {
    INFO(x.met << " met, off by " << x.sum);
    CHECK(x.met >= met);
    CHECK(x.sum <= sum);
  };
  is_as_good_as(by_rules, 85, 142);
  is_as_good_as(by_moves, 104, 14);
  is_as_good_as(by_beams, 96, 42);
  is_as_good_as(by_periods, 85, 146);
  is_as_good_as(of_windows, 66, 178);
  is_as_good_as(of_ranks, 94, 34);
}

namespace {

/// When a micro-batch that never waits starts a task, and ends it.
ticks start_alone(const search_input& in, std::uint32_t t) {
  const task& x = in.tasks[t];
  return x.need == none ? 0 : start_alone(in, x.need) + in.tasks[x.need].time + x.hop;
}
ticks end_alone(const search_input& in, work kind, std::uint32_t s) {
  const std::uint32_t t = in.task_number(kind, s);
  return start_alone(in, t) + in.tasks[t].time;
}

/// What docstrings of work_bound and way_bound say, activation by activation.
ticks plain_work_bound(const search_input& in, std::uint32_t r) {
  const std::uint32_t first = in.owned[r].front();
  const std::uint32_t last = in.owned[r].back();
  const ticks cap = in.cap[r];
  const ticks way = end_alone(in, work::backward, 0);
  const ticks head = start_alone(in, in.task_number(work::forward, first));
  const ticks tail = in.split ? 0 : way - end_alone(in, work::backward, first);
  ticks busy = 0;
  ticks lives = 0;
  std::vector<ticks> forwards, rests, ends;  // of all activations
  for (std::uint32_t k = 0; k < in.micro_batches; ++k)
    for (const std::uint32_t s : in.owned[r]) {
      forwards.push_back(in.times.forward[s]);
      rests.push_back(in.times.backward[s] + in.times.weight_grad[s]);
      ends.push_back(in.split ? in.times.weight_grad[s] : in.times.backward[s]);
      busy += forwards.back() + rests.back();
      lives += end_alone(in, work::backward, s) + in.times.weight_grad[s] -
               start_alone(in, in.task_number(work::forward, s));
    }
  if (cap >= static_cast<ticks>(forwards.size())) return head + busy + tail;
  for (auto* list : {&forwards, &rests, &ends}) std::sort(list->begin(), list->end(), std::greater<>());
  const ticks few = (forwards.back() + ends.back()) * (cap - 1) / 2;  // while fewer than the cap are held
  ticks held = 0;
  while (held * cap < lives) ++held;
  const auto longest = [&](const std::vector<ticks>& list) {
    return std::accumulate(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(cap), ticks{0});
  };
  const ticks before = start_alone(in, in.task_number(work::backward, last)) - longest(forwards);
  const ticks after = way - end_alone(in, work::forward, last) + in.times.weight_grad[0] - longest(rests);
  return std::max(
      {head + busy + tail, head + tail + held + few, busy + std::max(head, before) + std::max(tail, after)});
}

/// Longest paths between actions, and cutting them up on one rank, each by definition.
class plain_windows {
 public:
  explicit plain_windows(const search_input& in) : head(in.action_count(), 0), tail(in.action_count(), 0), in_(in) {
    for (std::uint32_t t = 0; t < in.tasks.size(); ++t)
      for (std::uint32_t k = 0; k < in.micro_batches; ++k) {
        if (k > 0) edges_.push_back({in.action(t, k - 1), in.action(t, k), 0});
        if (in.tasks[t].need != none)
          edges_.push_back({in.action(in.tasks[t].need, k), in.action(t, k), in.tasks[t].hop});
      }
    for (std::uint32_t r = 0; r < in.ranks; ++r) list_states(r);
    for (bool longer = true; longer;) {
      longer = false;
      for (const edge& x : edges_) {
        longer = raise(head[x.to], head[x.from] + time(x.from) + x.lag) || longer;
        longer = raise(tail[x.from], x.lag + time(x.to) + tail[x.to]) || longer;
      }
    }
  }
  /// Any set of actions of a rank takes its least head, its times and its least tail; no more where they may be cut.
  [[nodiscard]] ticks bound() const {
    ticks most = 0;
    for (std::uint32_t r = 0; r < in_.ranks; ++r) {
      std::vector<std::uint32_t> own;
      for (const std::uint32_t t : in_.tasks_of[r])
        for (std::uint32_t k = 0; k < in_.micro_batches; ++k) own.push_back(in_.action(t, k));
      for (const std::uint32_t a : own)
        for (const std::uint32_t b : own) {
          if (tail[a] < tail[b] || head[b] < head[a]) continue;
          ticks sum = head[a] + tail[b];
          for (const std::uint32_t c : own) sum += head[c] >= head[a] && tail[c] >= tail[b] ? time(c) : 0;
          most = std::max(most, sum);
        }
    }
    return most;
  }

  std::vector<ticks> head, tail;  // by action

 private:
  struct edge {
    std::uint32_t from, to;
    ticks lag;
  };
  static bool raise(ticks& x, ticks to) {
    if (to <= x) return false;
    x = to;
    return true;
  }
  [[nodiscard]] ticks time(std::uint32_t a) const { return in_.task_of(a).time; }

  /// Every count of forwards, backwards and weight gradients that a rank can have come to. What is at least so in all
  /// that leave room for a forward comes before it.
  void list_states(std::uint32_t r) {
    const auto& owned = in_.owned[r];
    const std::size_t chunks = owned.size();
    const std::uint32_t m = in_.micro_batches;
    std::vector<std::uint32_t> least_done(chunks * m * in_.tasks.size(), m);
    std::vector<std::uint32_t> done(in_.tasks.size(), 0);
    const auto look = [&] {
      std::int64_t held = 0;
      for (const std::uint32_t t : in_.tasks_of[r]) held += in_.tasks[t].holds * std::int64_t{done[t]};
      for (std::size_t c = 0; c < chunks && held < in_.cap[r]; ++c) {
        const std::uint32_t k = done[owned[c]];
        if (k == m || (c > 0 && done[owned[c - 1]] <= k)) continue;
        for (const std::uint32_t t : in_.tasks_of[r]) {
          std::uint32_t& least = least_done[(c * m + k) * in_.tasks.size() + t];
          least = std::min(least, done[t]);
        }
      }
    };
    const std::function<void(std::size_t)> count = [&](std::size_t i) {
      if (i == in_.tasks_of[r].size()) return look();
      const std::uint32_t t = in_.tasks_of[r][i];
      for (done[t] = 0; done[t] <= m; ++done[t])
        if (is_possible(r, t, done)) count(i + 1);
    };
    count(0);
    for (std::size_t c = 0; c < chunks; ++c)
      for (std::uint32_t k = 0; k < m; ++k)
        for (const std::uint32_t t : in_.tasks_of[r]) {
          const std::uint32_t least = least_done[(c * m + k) * in_.tasks.size() + t];
          if (in_.tasks[t].holds <= 0 && in_.tasks[t].kind != work::forward && least > 0)
            edges_.push_back({in_.action(t, least - 1), in_.action(owned[c], k), 0});
        }
  }
  /// Beside what was counted before it: forwards in model order, backwards the other way, weight gradients last.
  [[nodiscard]] bool is_possible(std::uint32_t r, std::uint32_t t, const std::vector<std::uint32_t>& done) const {
    const task& x = in_.tasks[t];
    if (x.kind == work::weight_grad) return done[t] <= done[in_.task_number(work::backward, x.stage)];
    if (x.kind == work::backward && done[t] > done[x.stage]) return false;
    for (const std::uint32_t s : in_.owned[r]) {
      if (s >= x.stage) break;
      const std::uint32_t before = in_.task_number(x.kind, s);
      if (x.kind == work::forward ? done[t] > done[before] : done[t] < done[before]) return false;
    }
    return true;
  }

  const search_input& in_;
  std::vector<edge> edges_;
};

/// Up to three ranks of up to three chunks, any times, none among them, and any room.
search_input any_question(int n, std::mt19937& random) {
  const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
  const std::uint32_t ranks = 1 + below(3);
  const std::uint32_t chunks = 1 + below(3);
  const std::uint32_t stages = ranks * chunks;
  const std::uint32_t micro_batches = chunks == 3 ? 2 : 2 + below(3);
  const bool split = n % 2 == 0;
  const bool is_v = n % 4 < 2;
  std::vector<std::uint32_t> rank_of;
  stage_times times;
  for (std::uint32_t s = 0; s < stages; ++s) {
    rank_of.push_back(is_v && s / ranks % 2 == 1 ? ranks - 1 - s % ranks : s % ranks);
    times.forward.push_back(below(9));
    times.backward.push_back(below(9));
    times.weight_grad.push_back(split ? below(9) : 0);
  }
  const ticks hop = below(4);
  std::vector<std::uint32_t> caps;
  for (std::uint32_t r = 0; r < ranks; ++r) caps.push_back(chunks + below(chunks * (micro_batches - 1) + 1));
  return {ranks, micro_batches, split, rank_of, times, hop, caps};
}

}  // namespace

TEST_CASE("bounds by work and by windows are what their definitions say", "[planner][schedule]") {
  std::mt19937 random(8);
  for (int n = 0; n < 300; ++n) {
    INFO("case " << n);
    const search_input in = any_question(n, random);
    for (std::uint32_t r = 0; r < in.ranks; ++r) CHECK(work_bound(in, r) == plain_work_bound(in, r));
    const window_bound windows(in);
    const plain_windows plain(in);
    for (std::uint32_t a = 0; a < in.action_count(); ++a) {
      CHECK(windows.head(a) == plain.head[a]);
      CHECK(windows.tail(a) == plain.tail[a]);
    }
    CHECK(windows() == plain.bound());
  }
}
