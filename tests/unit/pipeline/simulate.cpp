// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/core/message.hpp>
#include <hocket/pipeline.hpp>
#include <hocket/text/schedule_csv.hpp>

#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "catch.hpp"

using namespace hocket::pipeline;
using hocket::errc;
using hocket::ticks;

namespace {

/// Lists written down, with any placement of stages: rank = placed[stage].
struct lists {
  std::vector<std::vector<stage_action>> rows;
  std::uint32_t stages, m, p;
  std::uint32_t slice_count = 1;
  std::uint32_t ranks() const { return p; }
  std::uint32_t chunks() const { return stages / p; }
  std::uint32_t micro_batches() const { return m; }
  std::uint32_t slices() const { return slice_count; }
  std::uint32_t size(std::uint32_t r) const { return static_cast<std::uint32_t>(rows[r].size()); }
  stage_action at(std::uint32_t r, std::uint32_t i) const { return rows[r][i]; }
  loop_placement placement() const { return {p}; }
};
static_assert(schedule<lists>);

lists copy_of(const schedule auto& plan) {
  lists l{{}, plan.ranks() * plan.chunks(), plan.micro_batches(), plan.ranks()};
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    l.rows.emplace_back();
    for (std::uint32_t i = 0; i < plan.size(r); ++i) l.rows[r].push_back(stage_action_at(plan, r, i));
  }
  return l;
}

struct uneven {  // a policy with an irregular duration per stage and micro-batch
  ticks duration(stage_action a) const {
    return a.kind() > action_kind::weight_grad
             ? 0
             : 1 + (a.stage() * 5 + a.micro_batch() * 3 + static_cast<ticks>(a.kind())) % 4;
  }
  ticks latency(std::uint32_t from, std::uint32_t to) const { return from < to ? 2 : 1; }
};

/// The same rules as an independent fixpoint: relax all start times until nothing changes.
std::map<std::tuple<action_kind, std::uint32_t, std::uint32_t>, ticks> ends_by_relaxation(const lists& l,
                                                                                          const uneven& c) {
  using key = std::tuple<action_kind, std::uint32_t, std::uint32_t>;
  std::map<key, ticks> end;
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& row : l.rows) {
      ticks clock = 0;
      for (const auto& a : row) {
        const std::uint32_t s = a.stage(), j = a.micro_batch(), r = s % l.p;
        ticks start = clock;
        const auto after = [&](action_kind kind, std::uint32_t stage) {
          const auto it = end.find(key{kind, stage, j});
          const ticks t = it == end.end() ? 0 : it->second;
          const ticks hop = stage % l.p == r ? 0 : c.latency(stage % l.p, r);
          start = start > t + hop ? start : t + hop;
        };
        if (a.kind() == action_kind::forward && s > 0) after(action_kind::forward, s - 1);
        if (a.kind() == action_kind::backward) after(action_kind::forward, s);
        if (a.kind() == action_kind::backward && s + 1 < l.stages) after(action_kind::backward, s + 1);
        clock = start + c.duration(a);
        ticks& e = end[key{a.kind(), s, j}];
        changed |= e != clock;
        e = clock;
      }
    }
  }
  return end;
}

struct collect {
  std::map<std::tuple<action_kind, std::uint32_t, std::uint32_t>, ticks> end;
  void on_action(std::uint32_t, std::uint32_t, stage_action a, ticks, ticks finish) {
    end[{a.kind(), a.stage(), a.micro_batch()}] = finish;
  }
  void on_blocked(const blocked&) {}
};

}  // namespace

TEST_CASE("the simulation agrees with a relaxation to the fixpoint", "[pipeline]") {
  workspace memory;
  for (std::int64_t p = 1; p <= 5; ++p)
    for (std::int64_t v = 1; v <= 3; ++v)
      for (std::int64_t m = 1; m <= 2 * p + 1; ++m) {
        const auto plan = copy_of(interleaved::make({p, v, m}).value());
        collect seen;
        const auto ran = run(plan, uneven{}, memory, seen);
        REQUIRE(ran.has_value());
        CHECK(seen.end == ends_by_relaxation(plan, uneven{}));
        CHECK(ran->lower_bound <= ran->makespan);
        ticks busy = 0, work = 0;
        for (const auto& lane : memory.lanes) {
          CHECK(lane.report.busy + lane.report.idle == ran->makespan);
          busy += lane.report.busy;
        }
        for (const auto& row : plan.rows)
          for (const auto a : row) work += uneven{}.duration(a);
        CHECK(busy == work);
      }
}

TEST_CASE("known makespans, peaks and idle times", "[pipeline]") {
  const auto plan = interleaved::make({4, 2, 8}).value();
  const auto ran = simulate(plan, costs{});
  REQUIRE(ran.has_value());
  CHECK(ran->makespan == 57);
  CHECK(ran->lower_bound == 57);
  const std::uint32_t peaks[] = {11, 9, 7, 5};
  for (std::size_t r = 0; r < 4; ++r) {
    CHECK(ran->ranks[r].peak_in_flight == peaks[r]);
    CHECK(ran->ranks[r].idle == 9);
    CHECK(ran->ranks[r].busy == 48);
  }
  CHECK(ran->bubble() > 0.157);
  CHECK(ran->bubble() < 0.158);
  // one hop of latency on a single chain: 3 hops there and 3 back
  const auto chain = one_f_one_b::make({.ranks = 4, .micro_batches = 1}).value();
  CHECK(simulate(chain, costs{.forward = 3, .backward = 5, .hop = 7})->makespan == 4 * 8 + 6 * 7);
  CHECK(simulate(chain, costs{.forward = 3, .backward = 5, .hop = 7})->lower_bound == 4 * 8 + 6 * 7);
}

TEST_CASE("stage costs: a heavy last stage moves the bound", "[pipeline]") {
  const auto plan = one_f_one_b::make({.ranks = 2, .micro_batches = 3}).value();
  const std::array<ticks, 2> f{1, 4}, b{2, 8};
  const auto ran = simulate(plan, stage_costs{.forward = f, .backward = b});
  CHECK(ran->lower_bound == 1 + 3 * 12 + 2);
  CHECK(ran->makespan == 39);
}

TEST_CASE("a deadlock comes back with the shortest cycle", "[pipeline]") {
  std::pmr::vector<blocked> cycle;
  const auto bad = interleaved::make({5, 2, 7}, groups::paper()).value();
  REQUIRE(outlook_of(bad) == interleaved_outlook::deadlocks);
  hocket::timeline drawn;
  const auto ran = simulate(bad, costs{1, 1}, {.into = &drawn}, &cycle);
  REQUIRE_FALSE(ran.has_value());
  CHECK(ran.error().code == errc::deadlock);
  CHECK(drawn.lane_count() == 0);  // a failed call changes nothing
  REQUIRE(cycle.size() == 2);
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const blocked& here = cycle[i];
    const blocked& next = cycle[(i + 1) % cycle.size()];
    CHECK(here.holder == next.rank);
    // what it needs stands behind the step at which the holder is blocked
    CHECK(bad.step_of(here.holder, action(here.needs.kind(), here.needs.stage() / 5, here.needs.micro_batch())) >
          next.step);
  }
  CHECK(hocket::message(ran.error()).find("the schedule deadlocks: rank ") == 0);
  CHECK(ran.error() == hocket::error{errc::deadlock, cycle[0].rank, cycle[0].step, cycle[0].needs.stage(),
                                     cycle[0].needs.micro_batch()});
  for (const blocked& b : cycle) CHECK(stage_action_at(bad, b.rank, b.step) == b.action);
}

TEST_CASE("a workspace in which a run failed is as good as new", "[pipeline]") {
  const auto bad = interleaved::make({5, 2, 7}, groups::paper()).value();
  workspace used;
  for (std::int64_t p = 1; p <= 4; ++p) {
    REQUIRE(!run(bad, costs{}, used));
    const auto plan = interleaved::make({p, 2, 5}).value();
    workspace fresh;
    const auto again = run(plan, costs{}, used), first = run(plan, costs{}, fresh);
    REQUIRE((again && first));
    CHECK(again->makespan == first->makespan);
    CHECK(again->lower_bound == first->lower_bound);
    for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
      CHECK(used.lanes[r].report.idle == fresh.lanes[r].report.idle);
      CHECK(used.lanes[r].report.peak_in_flight == fresh.lanes[r].report.peak_in_flight);
    }
  }
}

TEST_CASE("a deadlock names what it waits for as it is listed", "[pipeline]") {
  std::pmr::vector<blocked> cycle;
  const auto split = hocket::text::parse_schedule_csv("0F0,0W0,0I0\n").value();
  CHECK(check(split, &cycle).error().code == errc::deadlock);
  REQUIRE(cycle.size() == 1);
  CHECK(cycle[0].needs == stage_action(action_kind::input_grad, 0, 0));
  const auto whole = hocket::text::parse_schedule_csv("0F0,0B0\n1B0,1F0\n").value();
  CHECK(check(whole, &cycle).error().code == errc::deadlock);
  CHECK(cycle[0].needs == stage_action(action_kind::forward, 1, 0));
}

TEST_CASE("broken lists are refused with the reason", "[pipeline]") {
  workspace memory;
  const auto good = copy_of(one_f_one_b::make({.ranks = 3, .micro_batches = 4}).value());
  const auto code = [&](const lists& l) {
    const auto ran = run(l, costs{}, memory);
    return ran ? errc{} : ran.error().code;
  };
  CHECK(code(good) == errc{});
  auto missing = good;
  missing.rows[1].erase(missing.rows[1].begin());  // the forward that everyone downstream waits for
  CHECK(code(missing) == errc::incomplete_schedule);
  auto last = good;
  last.rows[0].pop_back();  // nobody waits for the last backward of the first rank
  CHECK(code(last) == errc::incomplete_schedule);
  auto twice = good;
  twice.rows[2].push_back(twice.rows[2][0]);
  CHECK(code(twice) == errc::duplicate_action);
  auto swapped = good;
  std::swap(swapped.rows[2][0], swapped.rows[2][1]);  // backward before forward of the same micro-batch
  CHECK(code(swapped) == errc::deadlock);
  auto crossed = good;
  std::swap(crossed.rows[1][1], crossed.rows[1][2]);  // rank 1 wants the first gradient before it sends what makes it
  CHECK(code(crossed) == errc{});
}

TEST_CASE("an action that no list can have is named with its numbers", "[pipeline]") {
  workspace memory;
  const auto good = copy_of(one_f_one_b::make({.ranks = 3, .micro_batches = 4}).value());
  const auto refusal = [&](std::uint32_t rank, std::uint32_t step, stage_action wrong) {
    lists l = good;
    l.rows[rank][step] = wrong;
    return message(run(l, costs{}, memory).error());
  };
  using kind = action_kind;
  CHECK(refusal(0, 0, {kind::forward, 3, 0}) == "stage is 3, but must lie in [0, 2]");
  CHECK(refusal(0, 0, {kind::forward, 0, 4}) == "micro-batch is 4, but must lie in [0, 3]");
  CHECK(refusal(0, 0, {kind::forward, 0, 0, 1}) == "slice is 1, but must lie in [0, 0]");
  CHECK(refusal(0, 0, {kind::forward, 0, 0, 0, 1}) == "direction is 1, but must lie in [0, 0]");
  const auto misplaced = message(hocket::error{errc::misplaced_action, 2, 0, 1, 3});
  CHECK(refusal(1, 2, {kind::forward, 0, 1}) == misplaced);

  const auto twice = [&](auto plan, stage_action again) {
    lists l = copy_of(plan);
    l.rows[2].push_back(again);
    return run(l, costs{}, memory).error().code;
  };
  const auto split = zero_bubble::make_h1({.ranks = 3, .micro_batches = 4}).value();
  CHECK(twice(one_f_one_b::make({.ranks = 3, .micro_batches = 4}).value(), {kind::backward, 2, 3}) ==
        errc::duplicate_action);
  CHECK(twice(split, {kind::input_grad, 2, 3}) == errc::duplicate_action);
  CHECK(twice(split, {kind::weight_grad, 2, 3}) == errc::duplicate_action);
}

TEST_CASE("slices go backwards from the last one", "[pipeline]") {
  using kind = action_kind;
  lists l{{{}}, 1, 1, 1, 2};
  l.rows[0] = {
      {kind::forward, 0, 0, 0}, {kind::forward, 0, 0, 1}, {kind::backward, 0, 0, 1}, {kind::backward, 0, 0, 0}};
  workspace memory;
  CHECK(run(l, costs{}, memory));
  std::swap(l.rows[0][2], l.rows[0][3]);
  CHECK(run(l, costs{}, memory).error().code == errc::deadlock);
}

TEST_CASE("a pair whose times or bytes do not fit 64 bits is refused", "[pipeline]") {
  using kind = action_kind;
  // F0, then F1 beside B0, then B1.
  lists l{{{}}, 1, 2, 1};
  l.rows[0] = {
      {kind::forward, 0, 0}, {kind::forward, 0, 1, 0, 0, true}, {kind::backward, 0, 0}, {kind::backward, 0, 1}};
  struct heavy {
    ticks pair_time = 1;
    std::int64_t pair_bytes = 1;
    ticks duration(stage_action a) const { return a.micro_batch() == (a.kind() == kind::forward) ? pair_time : 1; }
    ticks latency(std::uint32_t, std::uint32_t) const { return 0; }
    std::int64_t memory_change(stage_action a) const {
      if (a.kind() == kind::forward) return a.micro_batch() == 0 ? std::int64_t{1} << 62 : 0;
      return a.micro_batch() == 0 ? pair_bytes : 0;
    }
  };
  workspace memory;
  CHECK(run(l, heavy{}, memory));
  const auto late = run(l, heavy{.pair_time = (INT64_MAX / 2) + 1}, memory);
  REQUIRE(!late);
  CHECK(late.error().code == errc::overflow);
  CHECK(late.error().word() == "simulated time");
  const auto full = run(l, heavy{.pair_bytes = std::int64_t{1} << 62}, memory);
  REQUIRE(!full);
  CHECK(full.error().code == errc::overflow);
  CHECK(full.error().word() == "bytes held");
}

TEST_CASE("split backwards, pairs and slices", "[pipeline]") {
  workspace memory;
  // F0 I0 W0 on one stage after another: the weight gradient is off the critical path
  lists split{{{{action_kind::forward, 0, 0}, {action_kind::input_grad, 0, 0}, {action_kind::weight_grad, 0, 0}},
               {{action_kind::forward, 1, 0}, {action_kind::input_grad, 1, 0}, {action_kind::weight_grad, 1, 0}}},
              2,
              1,
              2};
  const auto ran = run(split, costs{.forward = 3, .backward = {4, 5}, .hop = 1}, memory);
  REQUIRE(ran.has_value());
  CHECK(ran->makespan == 3 + 1 + 3 + 4 + 1 + 4 + 5);
  CHECK(ran->lower_bound == ran->makespan);
  CHECK(memory.lanes[0].report.peak_in_flight == 1);
  split.rows[1].pop_back();
  CHECK(run(split, costs{}, memory).error().code == errc::incomplete_schedule);

  // a pair starts when both can and takes the sum, or what the policy says
  struct overlapping : costs {
    ticks joined(stage_action a, stage_action b) const {
      return (duration(a) > duration(b) ? duration(a) : duration(b)) + 1;
    }
  };
  lists pair{{{{action_kind::forward, 0, 0},
               {action_kind::forward, 0, 1, 0, 0, true},
               {action_kind::backward, 0, 0},
               {action_kind::backward, 0, 1}}},
             1,
             2,
             1};
  CHECK(run(pair, costs{}, memory)->makespan == 6);
  overlapping shorter;
  CHECK(run(pair, shorter, memory)->makespan == 6);
  shorter.forward = 2;
  CHECK(run(pair, shorter, memory)->makespan == 2 + 3 + 2);
  lists self{{{{action_kind::forward, 0, 0, 0, 0, true}, {action_kind::backward, 0, 0}}},
             1,
             1,
             1};  // each would have to end before the other
  CHECK(run(self, costs{}, memory).error().code == errc::deadlock);

  lists sliced{{{{action_kind::forward, 0, 0, 0},
                 {action_kind::forward, 0, 0, 1},
                 {action_kind::backward, 0, 0, 1},
                 {action_kind::backward, 0, 0, 0}}},
               1,
               1,
               1,
               2};
  CHECK(run(sliced, costs{}, memory)->makespan == 6);
  std::swap(sliced.rows[0][0], sliced.rows[0][1]);  // the second slice attends to the first
  CHECK(run(sliced, costs{}, memory).error().code == errc::deadlock);
}

TEST_CASE("times beyond 63 bits and runs beyond memory are refused", "[pipeline]") {
  workspace memory;
  const auto plan = one_f_one_b::make({.ranks = 2, .micro_batches = 4}).value();
  CHECK(run(plan, costs{.forward = INT64_MAX / 3}, memory).error().code == errc::overflow);
  const auto huge = one_f_one_b::make({.ranks = 65'536, .micro_batches = 2'097'152}).value();
  CHECK(run(huge, costs{}, memory).error().code == errc::limit_exceeded);
}

TEST_CASE("a simulation as a timeline", "[pipeline]") {
  hocket::timeline drawn;
  drawn.add_lane("before");
  const auto plan = interleaved::make({4, 2, 9}).value();
  const auto ran = simulate(plan, costs{1, 1}, {.into = &drawn});
  REQUIRE(ran.has_value());
  CHECK(drawn.lane_count() == 5);
  CHECK(drawn.lane_name(4) == "rank 3");
  CHECK(drawn.spans().size() == 4 * 36);
  CHECK(drawn.makespan() == 42);
  REQUIRE(drawn.marks().size() == 1);
  CHECK(drawn.marks()[0].at == 42);
  std::int64_t held = 0;
  for (const auto& c : drawn.changes()) held += c.by;
  CHECK(held == 0);
  std::vector<ticks> busy(5);
  for (const auto& s : drawn.spans()) busy[s.lane] += s.finish - s.start;
  for (std::size_t r = 0; r < 4; ++r) CHECK(busy[r + 1] == ran->ranks[r].busy);
  for (const auto& s : drawn.spans()) CHECK(s.chunk == plan.placement().chunk_of(static_cast<std::uint32_t>(s.id)));
  // Both directions of a rank are chunks of it.
  hocket::timeline both;
  REQUIRE(simulate(dual_pipe::make({4, 1, 8}).value(), costs{}, {.into = &both}));
  for (const auto& s : both.spans()) CHECK(s.chunk == (s.id == static_cast<std::int64_t>(s.lane) ? 0 : 1));
}

TEST_CASE("work besides forwards and backwards is no part of the window that the lower bound closes", "[pipeline]") {
  struct gathering {
    ticks duration(stage_action) const { return 10; }
    ticks latency(std::uint32_t, std::uint32_t) const { return 0; }
  };
  // Rank 1 gathers its weights while rank 0 runs its forward.
  const lists plan{{{{action_kind::forward, 0, 0}, {action_kind::backward, 0, 0}},
                    {{action_kind::unshard, 1, stage_action::no_micro_batch},
                     {action_kind::forward, 1, 0},
                     {action_kind::backward, 1, 0}}},
                   2,
                   1,
                   2};
  const auto ran = simulate(plan, gathering{});
  REQUIRE(ran.has_value());
  CHECK(ran->makespan == 40);
  CHECK(ran->lower_bound == 40);
  // Where that work is all there is to wait for, it still counts.
  const lists busy{{{{action_kind::unshard, 0, stage_action::no_micro_batch},
                     {action_kind::forward, 0, 0},
                     {action_kind::backward, 0, 0}}},
                   1,
                   1,
                   1};
  CHECK(simulate(busy, gathering{})->lower_bound == 30);
}
