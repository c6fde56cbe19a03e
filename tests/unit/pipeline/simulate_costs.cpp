// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What costs can say, and what a run says about them: links, bytes, idle time by cause, critical path, directions.
#include <hocket/pipeline.hpp>
#include <hocket/text/schedule_csv.hpp>
#include <hocket/timeline.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "catch.hpp"

using namespace hocket::pipeline;
using hocket::ticks;

namespace {

table_schedule load(const std::string& name) {
  std::ifstream file(HOCKET_TEST_DATA "/pipeline/" + name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return hocket::text::parse_schedule_csv(text).value();
}

struct irregular {  // durations, latencies, transfers and bytes that differ everywhere
  ticks duration(stage_action a) const {
    if (!is_compute(a.kind())) return 0;
    return 1 + (a.stage() * 5 + a.micro_batch() * 3 + a.slice() * 7 + a.direction() + static_cast<ticks>(a.kind())) % 4;
  }
  ticks latency(std::uint32_t from, std::uint32_t to) const { return from < to ? 2 : 1; }
  ticks joined(stage_action a, stage_action b) const { return (std::max)(duration(a), duration(b)) + 1; }
  ticks transfer(stage_action a, std::uint32_t from, std::uint32_t) const {
    return (a.micro_batch() + from) % 3 + (a.kind() == action_kind::forward ? 1 : 0);
  }
  std::int64_t memory_change(stage_action a) const {
    if (a.kind() == action_kind::forward) return 10 + a.stage();
    return a.kind() == action_kind::backward || a.kind() == action_kind::weight_grad ? -10 - std::int64_t{a.stage()}
                                                                                     : 0;
  }
};

using key = std::tuple<std::uint32_t, action_kind, std::uint32_t, std::uint32_t, std::uint32_t>;
key key_of(stage_action a, std::uint32_t stage, std::uint32_t slice, bool backward) {
  return {a.direction(), backward ? action_kind::backward : action_kind::forward, stage, a.micro_batch(), slice};
}

struct reference {
  ticks makespan = 0;
  std::vector<ticks> busy, peak;
  std::vector<std::vector<std::pair<ticks, ticks>>> times;  // by rank and step
};

/// The same rules as a fixpoint: walk all lists again and again with the arrivals of the walk before, until nothing
/// changes. A link carries what its sender's list sends over it, in that order.
reference relax(const table_schedule& plan, const irregular& c) {
  const std::uint32_t stages = plan.ranks() * plan.chunks();
  std::map<key, ticks> arrival;
  reference out;
  for (bool changed = true; changed;) {
    changed = false;
    out = {};
    for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
      ticks clock = 0, busy = 0, held = 0, peak = 0;
      std::map<std::uint32_t, ticks> link;
      out.times.emplace_back();
      const auto list = plan.rank(r);
      for (std::size_t i = 0; i < list.size(); ++i) {
        std::vector<stage_action> now{list[i]};
        if (list[i].joined()) now.push_back(list[++i]);
        ticks start = clock;
        for (const stage_action a : now) {
          const auto after = [&](const key& k) { start = (std::max)(start, arrival[k]); };
          const bool backward = a.kind() == action_kind::backward || a.kind() == action_kind::input_grad;
          if (a.kind() == action_kind::forward && a.stage() > 0) after(key_of(a, a.stage() - 1, a.slice(), false));
          if (backward && a.stage() + 1 < stages) after(key_of(a, a.stage() + 1, a.slice(), true));
        }
        const ticks time = now.size() == 2 ? c.joined(now[0], now[1]) : c.duration(now[0]);
        clock = start + time;
        busy += time;
        for (const stage_action a : now) {
          out.times.back().push_back({start, clock});
          held += c.memory_change(a);
          peak = (std::max)(peak, held);
          if (a.kind() == action_kind::weight_grad || !is_compute(a.kind())) continue;
          const bool backward = a.kind() != action_kind::forward;
          if (backward ? a.stage() == 0 : a.stage() + 1 == stages) continue;
          const std::uint32_t to =
              rank_of(plan.placement(), plan.ranks(), backward ? a.stage() - 1 : a.stage() + 1, a.direction());
          ticks here = clock;
          if (to != r) {
            link[to] = (std::max)(link[to], clock) + c.transfer(a, r, to);
            here = link[to] + c.latency(r, to);
          }
          ticks& known = arrival[key_of(a, a.stage(), a.slice(), backward)];
          changed |= known != here;
          known = here;
        }
      }
      out.makespan = (std::max)(out.makespan, clock);
      out.busy.push_back(busy);
      out.peak.push_back(peak);
    }
  }
  return out;
}

struct collect_times {
  std::vector<std::vector<std::pair<ticks, ticks>>> times;
  void on_action(std::uint32_t rank, std::uint32_t step, stage_action, ticks start, ticks finish) {
    if (times.size() <= rank) times.resize(rank + 1);
    if (times[rank].size() <= step) times[rank].resize(step + 1);
    times[rank][step] = {start, finish};
  }
  void on_blocked(const blocked&) {}
};

void agrees_with_fixpoint(const table_schedule& plan) {
  const irregular c;
  const reference expected = relax(plan, c);
  workspace memory;
  collect_times seen;
  const auto ran = run(plan, c, memory, seen);
  REQUIRE(ran.has_value());
  CHECK(ran->makespan == expected.makespan);
  CHECK(seen.times == expected.times);
  CHECK(ran->lower_bound <= ran->makespan);
  CHECK(ran->lower_bound == ran->bounds.largest());
  for (std::size_t r = 0; r < memory.lanes.size(); ++r) {
    const rank_report& x = memory.lanes[r].report;
    CHECK(x.busy == expected.busy[r]);
    CHECK(x.peak_bytes == expected.peak[r]);
    CHECK(x.idle_by.warm_up + x.idle_by.steady + x.idle_by.drain == x.idle);
    CHECK(x.idle_by.dependency + x.idle_by.communication == x.idle);
  }
  const auto path = critical_path(plan, c);
  REQUIRE(path.has_value());
  CHECK(path->front().start == 0);
  CHECK(path->back().finish == ran->makespan);
  for (std::size_t i = 0; i + 1 < path->size(); ++i) CHECK((*path)[i].finish <= (*path)[i + 1].start);
}

}  // namespace

TEST_CASE("runs with links, bytes, slices, pairs and two directions agree with a fixpoint", "[pipeline]") {
  for (const char* const file :
       {"dualpipe__DualPipe__p2_m4.csv", "dualpipe__DualPipe__p4_m8.csv", "dualpipe__DualPipe__p4_m10.csv",
        "zb__Seq1F1B__p4_v1_m4_s2.csv", "zb__Seq1F1B__p4_v1_m8_s2.csv", "torch__DualPipeV__p4_v2_m8.csv",
        "torch__ZBVZeroBubble__p4_v2_m8.csv", "torch__ZBVZeroBubble__p4_v2_m8.comms.csv", "zb__Vhalf__p4_v2_m8.csv",
        "zb__Vmin__p5_v2_m10.csv", "paddle__dy_interleave_best_unbalanced__p4_v3_m13.csv"}) {
    INFO(file);
    agrees_with_fixpoint(load(file));
  }
  for (std::int64_t p = 1; p <= 4; ++p)
    for (std::int64_t m = 1; m <= 2 * p + 1; m += 2) {
      agrees_with_fixpoint(table_schedule::make_copy(interleaved::make({p, 3, m}).value()).value());
      agrees_with_fixpoint(table_schedule::make_copy(gpipe::make_looped_bfs({p, 2, m}).value()).value());
      agrees_with_fixpoint(table_schedule::make_copy(zero_bubble::make_interleaved({p, 2, m}).value()).value());
    }
}

namespace {

/// Times without any on links, and latencies that differ; one action may take half as long.
struct faster {
  stage_action one;
  ticks duration(stage_action a) const { return irregular{}.duration(a) / (a == one ? 2 : 1); }
  ticks latency(std::uint32_t from, std::uint32_t to) const { return (from * 5 + to * 3) % 7; }
  ticks joined(stage_action a, stage_action b) const { return (std::max)(duration(a), duration(b)) + 1; }
};
struct faster_on_links : faster {
  ticks transfer(stage_action a, std::uint32_t from, std::uint32_t to) const {
    return 2 * irregular{}.transfer(a, from, to);
  }
};

/// What stands on no critical path may be shorter, and the run is as long; one of a pair stands for both.
template <class C>
void only_the_path_matters(const table_schedule& plan) {
  const auto path = critical_path(plan, C{}).value();
  std::vector<std::vector<bool>> on(plan.ranks());
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) on[r].resize(plan.size(r) + 1);
  for (const path_step& x : path) {
    on[x.rank][x.step] = true;
    if (x.action.joined()) on[x.rank][x.step + 1] = true;
    if (x.step > 0 && plan.at(x.rank, x.step - 1).joined()) on[x.rank][x.step - 1] = true;
  }
  workspace memory;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r)
    for (std::uint32_t i = 0; i < plan.size(r); ++i) {
      if (on[r][i]) continue;
      C costs;
      costs.one = plan.at(r, i);
      CHECK(run(plan, costs, memory)->makespan == path.back().finish);
    }
}

}  // namespace

TEST_CASE("a run is shorter only if its critical path is", "[pipeline]") {
  const auto pairs = interleaved::make({4, 2, 8}, groups::balanced(), {.extra = 1}).value();
  const table_schedule plans[] = {lower(one_f_one_b::make({4, 1, 9}, 2).value(), {.overlap = true}).value(),
                                  lower(pairs, {.overlap = true}).value(),
                                  table_schedule::make_copy(zbv::make({4, 2, 8}).value()).value(),
                                  load("dualpipe__DualPipe__p4_m10.csv"), load("zb__Seq1F1B__p4_v1_m8_s2.csv")};
  for (const table_schedule& plan : plans) {
    only_the_path_matters<faster>(plan);
    only_the_path_matters<faster_on_links>(plan);
  }
}

TEST_CASE("stages that disagree about the order of micro-batches", "[pipeline]") {
  // The last rank runs its backwards in another order than the rank before it wants them, over more micro-batches than
  // any pipe holds at first.
  constexpr std::uint32_t m = 200;
  std::vector<stage_action> all;
  std::vector<std::uint32_t> ends;
  for (std::uint32_t r = 0; r < 2; ++r) {
    for (std::uint32_t j = 0; j < m; ++j) all.emplace_back(action_kind::forward, r, r == 0 ? j : (j * 7) % m);
    for (std::uint32_t j = 0; j < m; ++j) all.emplace_back(action_kind::backward, r, r == 0 ? j : (j * 11 + 5) % m);
    ends.push_back(static_cast<std::uint32_t>(all.size()));
  }
  agrees_with_fixpoint(table_schedule::make(all, ends).value());
  all.back() = all[all.size() - 2];
  const auto twice = table_schedule::make(all, ends).value();
  CHECK(check(twice).error().code == hocket::errc::duplicate_action);
}

TEST_CASE("idle time by cause", "[pipeline]") {
  // 4 ranks, one micro-batch: rank 3 waits for three forwards and three hops, then for three of each at the end.
  const auto chain = one_f_one_b::make({.ranks = 4, .micro_batches = 1}).value();
  const auto ran = simulate(chain, costs{.forward = 3, .backward = 5, .hop = 7});
  const rank_report& last = ran->ranks[3];
  CHECK(last.idle_by == idle_split{.warm_up = 30, .drain = 36, .dependency = 59, .communication = 7});
  const rank_report& first = ran->ranks[0];
  CHECK(first.idle_by.steady == 0);
  CHECK(first.idle_by.communication == 7);
  // without latency nothing is communication
  const auto ideal = simulate(interleaved::make({4, 2, 8}).value(), costs{1, 1});
  for (const rank_report& r : ideal->ranks) {
    CHECK(r.idle_by.communication == 0);
    CHECK(r.idle_by.dependency == 6);
  }
}

TEST_CASE("a slow link is the bottleneck, and the report says so", "[pipeline]") {
  const auto plan = one_f_one_b::make({.ranks = 2, .micro_batches = 16}).value();
  const std::int64_t bytes[] = {640, 0};
  const with_links<costs> slow{costs{.forward = 1, .backward = 2, .hop = 1}, bytes, 64};
  const auto ran = simulate(plan, slow);
  REQUIRE(ran.has_value());
  CHECK(ran->makespan > 16 * 10);  // 16 transfers of 10 ticks each way
  ticks waiting = 0, idle = 0;
  for (const rank_report& r : ran->ranks) {
    waiting += r.idle_by.communication;
    idle += r.idle;
  }
  CHECK(waiting * 2 > idle);
  const with_links<costs> fast{costs{.forward = 1, .backward = 2, .hop = 1}, bytes, 1 << 20};
  CHECK(simulate(plan, fast)->makespan < ran->makespan);

  // Bytes for one stage of two, or links that carry nothing, are refused.
  const with_links<costs> few{costs{}, hocket::borrowed<std::int64_t>(std::span<const std::int64_t>(bytes).first(1)),
                              64};
  CHECK(message(simulate(plan, few).error()) == "the costs have no time for forward of stage 1");
  CHECK(message(simulate(plan, with_links<costs>{costs{}, bytes, 0}).error()) ==
        "the costs have no time for forward of stage 0");

  // One micro-batch, nothing to overlap: there and back is the bound.
  const std::int64_t boundaries[] = {640, 64, 128, 0};
  for (const char* const name : {"gpipe", "zb-h1"}) {
    const auto one = any_schedule::make(name, {4, 1, 1}).value();
    const auto alone = simulate(one, with_links<costs>{costs{.hop = 3}, boundaries, 64});
    CHECK(alone->makespan == 4 * (1 + 2) + 2 * (10 + 1 + 2 + 3 * 3) - (one.name() == "zb-h1" ? 3 : 0));
    CHECK(alone->lower_bound == alone->makespan);
  }
}

namespace {

struct windows {
  ticks link = 0, stage = 0, rank = 0;
};
/// What a link must carry, between the least that comes before its first and after its last transfer, from the way of
/// every micro-batch written down step by step; and what stages and ranks must do. For lists in which all backwards of
/// a stage are of one kind.
template <class Costs>
windows windows_of(const table_schedule& plan, const Costs& c) {
  struct carried {
    ticks work = 0, head = 1'000'000, tail = 1'000'000;
    void add(ticks time, ticks before, ticks after) {
      work += time;
      head = (std::min)(head, before);
      tail = (std::min)(tail, after);
    }
  };
  const std::uint32_t stages = plan.ranks() * plan.chunks();
  bool split = false;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r)
    for (const stage_action a : plan.rank(r)) split |= a.kind() == action_kind::weight_grad;
  std::map<std::pair<std::uint32_t, std::uint32_t>, carried> links, of_stage;  // by ends; by direction and stage
  std::map<std::uint32_t, carried> of_rank;
  for (std::uint32_t d = 0; d < plan.directions(); ++d)
    for (std::uint32_t j = 0; j < plan.micro_batches(); ++j)
      for (std::uint32_t t = 0; t < plan.slices(); ++t) {
        std::vector<stage_action> way;
        for (std::uint32_t s = 0; s < stages; ++s) way.push_back({action_kind::forward, s, j, t, d});
        for (std::uint32_t s = stages; s-- > 0;)
          way.push_back({split ? action_kind::input_grad : action_kind::backward, s, j, t, d});
        if (split) way.push_back({action_kind::weight_grad, 0, j, t, d});
        const auto rank_at = [&](std::size_t i) {
          return rank_of(plan.placement(), plan.ranks(), way[i].stage(), way[i].direction());
        };
        std::vector<ticks> done, arrived;  // after each step, and after the transfer that follows it
        ticks now = 0;
        for (std::size_t i = 0; i < way.size(); ++i) {
          now += c.duration(way[i]);
          done.push_back(now);
          const std::uint32_t from = rank_at(i), to = i + 1 < way.size() ? rank_at(i + 1) : from;
          if (from != to) now += c.transfer(way[i], from, to);
          arrived.push_back(now);
          if (from != to) now += c.latency(from, to);
        }
        for (std::size_t i = 0; i + 1 < way.size(); ++i)
          if (rank_at(i) != rank_at(i + 1))
            links[{rank_at(i), rank_at(i + 1)}].add(arrived[i] - done[i], done[i], now - arrived[i]);
        for (std::uint32_t s = 0; s < stages; ++s) {
          const std::size_t there = s, back = 2 * std::size_t{stages} - 1 - s;
          const ticks time = c.duration(way[there]) + c.duration(way[back]);
          const ticks head = done[there] - c.duration(way[there]), tail = now - done[back];
          of_stage[{d, s}].add(time, head, tail);
          const ticks later = split ? c.duration({action_kind::weight_grad, s, j, t, d}) : 0;
          of_rank[rank_at(there)].add(time + later, head, split ? 0 : tail);
        }
      }
  windows most;
  for (const auto& [ends, link] : links)
    if (link.work > 0) most.link = (std::max)(most.link, link.head + link.work + link.tail);
  for (const auto& [at, x] : of_stage) most.stage = (std::max)(most.stage, x.head + x.work + x.tail);
  for (const auto& [at, x] : of_rank) most.rank = (std::max)(most.rank, x.head + x.work + x.tail);
  return most;
}

}  // namespace

TEST_CASE("the bounds of a run are those written down from the way of every micro-batch", "[pipeline]") {
  const auto agrees = [](const auto& plan) {
    const auto table = table_schedule::make_copy(plan).value();
    const std::vector<std::int64_t> bytes(std::size_t{table.ranks()} * table.chunks(), 300);
    const with_links<costs> even{{costs{.forward = 3, .backward = {2, 4, 5}, .hop = 7}}, bytes, 64};
    const auto same = simulate(table, even), other = simulate(table, irregular{});
    const auto are = [](const auto& bounds, const windows& x) {
      CHECK(bounds.link_window == x.link);
      CHECK(bounds.stage_window == x.stage);
      CHECK(bounds.rank_window == x.rank);
    };
    are(same->bounds, windows_of(table, even));
    are(other->bounds, windows_of(table, irregular{}));
    CHECK(same->lower_bound >= same->bounds.link_window);
    CHECK(same->gap() >= 0);
    CHECK(other->gap() >= 0);
  };
  for (std::int64_t p = 1; p <= 4; ++p)
    for (std::int64_t m = 1; m <= 2 * p + 1; ++m) {
      agrees(interleaved::make({p, 3, m}).value());
      agrees(gpipe::make({p, 1, m}).value());
      agrees(seq_1f1b::make({p, 1, m}, 3).value());
      agrees(zero_bubble::make_interleaved({p, 2, m}).value());
      if (p > 1) agrees(zbv::make({p, 2, 2 * p + m}).value());
    }
}

TEST_CASE("no order of the actions is shorter than the bound of links", "[pipeline]") {
  // Every order of every rank's actions: p ranks, v chunks, m micro-batches. Deadlocks are left out.
  const auto best_of_all = [](const shape& s, const auto& c) {
    const auto start = table_schedule::make_copy(interleaved::make(s).value()).value();
    std::vector<std::vector<stage_action>> lists;
    std::vector<std::uint32_t> ends;
    for (std::uint32_t r = 0; r < start.ranks(); ++r) {
      lists.emplace_back(start.rank(r).begin(), start.rank(r).end());
      ends.push_back((ends.empty() ? 0 : ends.back()) + start.size(r));
    }
    const auto less = [](stage_action a, stage_action b) {
      return std::tuple(a.kind(), a.stage(), a.micro_batch()) < std::tuple(b.kind(), b.stage(), b.micro_batch());
    };
    for (auto& list : lists) std::sort(list.begin(), list.end(), less);
    workspace memory;
    ticks best = 1'000'000, bound = 0;
    bool reached = false;
    for (bool more = true; more;) {
      std::vector<stage_action> all;
      for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
      if (const auto ran = run(table_schedule::make(all, ends).value(), c, memory)) {
        best = (std::min)(best, ran->makespan);
        bound = (std::max)(bound, ran->lower_bound);
        reached |= ran->lower_bound == ran->bounds.link_window;
      }
      more = false;
      for (auto& list : lists)
        if (std::next_permutation(list.begin(), list.end(), less)) {
          more = true;
          break;
        }
    }
    CHECK(bound <= best);
    return std::tuple(best, bound, reached);
  };
  for (const std::int64_t size : {0, 64, 200, 900}) {
    const std::int64_t bytes[] = {size, size / 2, size};
    for (const ticks hop : {0, 3}) {
      const with_links<costs> c{costs{.forward = 2, .backward = 3, .hop = hop}, bytes, 64};
      for (const shape& s : {shape{2, 1, 2}, shape{2, 2, 1}, shape{3, 1, 2}}) {
        if (s.chunks == 2 && size > 0) {
          const std::int64_t more[] = {size, size, size, size};
          best_of_all(s, with_links<costs>{c, more, 64});
          continue;
        }
        const auto [best, bound, by_link] = best_of_all(s, c);
        if (size < 900 || s.ranks != 2) continue;
        CHECK(by_link);  // the link is the reason, and the bound is reached
        CHECK(bound == best);
      }
    }
  }
  for (const shape& s : {shape{2, 1, 2}, shape{2, 2, 1}, shape{3, 1, 2}}) best_of_all(s, irregular{});
}

TEST_CASE("bytes held: per stage, with recompute, with offload", "[pipeline]") {
  const auto plan = one_f_one_b::make({.ranks = 3, .micro_batches = 6}).value();
  const std::int64_t bytes[] = {100, 10, 1}, kept[] = {7, 5, 1};
  const with_memory<costs> weigh{costs{}, bytes};
  hocket::timeline drawn;
  const auto ran = simulate(plan, weigh, {.into = &drawn});
  REQUIRE(ran.has_value());
  for (std::size_t r = 0; r < 3; ++r) CHECK(ran->ranks[r].peak_bytes == bytes[r] * ran->ranks[r].peak_in_flight);
  const auto uses = hocket::lane_uses(drawn);
  for (std::size_t r = 0; r < 3; ++r) CHECK(uses[r].peak == ran->ranks[r].peak_bytes);

  const auto again = lower(plan, {.recompute = true}).value();
  const auto less = simulate(again, with_memory<costs>{costs{}, bytes, kept});
  CHECK(less->ranks[0].peak_bytes == 2 * 7 + 100);
  const auto away = lower(plan, {.offload = 1}).value();
  const auto least = simulate(away, weigh);
  CHECK(least->ranks[0].peak_bytes < ran->ranks[0].peak_bytes);
}

TEST_CASE("a pair lets go of memory when both are done, whichever stands first", "[pipeline]") {
  const std::int64_t bytes[] = {100};
  for (const char* const list : {"0F0,(0B0;0F1)OVERLAP_F_B,0B1\n", "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n"}) {
    const auto plan = hocket::text::parse_schedule_csv(list).value();
    hocket::timeline drawn;
    const auto ran = simulate(plan, with_memory<costs>{costs{}, bytes}, {.into = &drawn});
    REQUIRE(ran.has_value());
    CHECK(ran->ranks[0].peak_in_flight == 2);
    CHECK(ran->ranks[0].peak_bytes == 200);
    CHECK(hocket::lane_uses(drawn)[0].peak == 200);
    CHECK(peak_of(plan, 0) == 2);
  }
  const auto split = hocket::text::parse_schedule_csv("0F0,0F1,0I0,(0W0;0F2)OVERLAP_F_B,0B1,0B2\n").value();
  CHECK(simulate(split)->ranks[0].peak_in_flight == 3);
  CHECK(peak_of(split, 0) == 3);
}

TEST_CASE("without costs, forward and both halves of the backward take one tick", "[pipeline]") {
  const auto plan = zero_bubble::make_h1({.ranks = 4, .micro_batches = 8}).value();
  CHECK(simulate(plan)->makespan == simulate(plan, costs{1, 2, 0})->makespan);
}

TEST_CASE("a backward has its halves, and halves have their sum, whichever is given", "[pipeline]") {
  using namespace std::chrono_literals;
  using in_microseconds = costs_in<std::chrono::microseconds>;
  const stage_action b{action_kind::backward, 0, 0}, i{action_kind::input_grad, 0, 0},
      w{action_kind::weight_grad, 0, 0};
  for (ticks whole = 0; whole < 9; ++whole) {
    const costs c{.backward = whole};
    CHECK(c.duration(b) == whole);
    CHECK(c.duration(i) + c.duration(w) == whole);
    CHECK(c.duration(i) - c.duration(w) == whole % 2);  // the input gradient takes the odd tick
    const in_microseconds with_unit{.backward = std::chrono::microseconds(whole)};
    for (const stage_action a : {b, i, w}) CHECK(with_unit.duration(a) == c.duration(a));
  }
  CHECK(costs{.backward = {3, 4}}.duration(b) == 7);
  CHECK(costs{.backward = {3, 4, 6}}.duration(b) == 6);
  CHECK(in_microseconds{.backward = {3ms, 4us}}.duration(b) == 3004);
  constexpr ticks max_ticks = (std::numeric_limits<ticks>::max)();
  CHECK(costs{.backward = {max_ticks, 1}}.duration(b) == max_ticks);
  const auto split = zero_bubble::make_h1({.ranks = 4, .micro_batches = 8}).value();
  const auto fused = one_f_one_b::make({.ranks = 4, .micro_batches = 8}).value();
  CHECK(simulate(split, costs{.forward = 5, .backward = 11})->makespan ==
        simulate(split, costs{.forward = 5, .backward = {6, 5}})->makespan);
  CHECK(simulate(fused, costs{.forward = 5, .backward = {6, 5}})->makespan ==
        simulate(fused, costs{.forward = 5, .backward = 11})->makespan);
}

TEST_CASE("lists of times follow from each other in the same way", "[pipeline]") {
  const ticks f[] = {1, 2, 3, 4}, whole[] = {3, 4, 5, 8}, halves[2][4] = {{2, 2, 3, 4}, {1, 2, 2, 4}};
  const stage_costs full{.forward = f, .backward = whole, .input_grad = halves[0], .weight_grad = halves[1]};
  const stage_costs from_whole{.forward = f, .backward = whole};
  const stage_costs from_halves{.forward = f, .input_grad = halves[0], .weight_grad = halves[1]};
  const unit_costs by_unit{.forward = f, .backward = whole, .micro_batches = 2};
  const stage_costs one_half{.forward = f, .input_grad = halves[0]};
  using enum action_kind;
  for (std::uint32_t s = 0; s < 4; ++s)
    for (const action_kind kind : {forward, backward, input_grad, weight_grad, recompute}) {
      const stage_action a(kind, s, 0), unit(kind, s / 2, s % 2);
      CHECK(from_whole.duration(a) == full.duration(a));
      CHECK(from_halves.duration(a) == full.duration(a));
      CHECK(by_unit.duration(unit) == full.duration(a));
      for (const stage_costs& c : {full, from_whole, from_halves}) CHECK(c.knows(a));
      CHECK(one_half.knows(a) == (kind != backward && kind != weight_grad));
    }
  for (const stage_costs& c : {full, from_whole, from_halves}) CHECK_FALSE(c.knows({forward, 4, 0}));
}

TEST_CASE("lists that are too short are refused in a sentence, also in a pair", "[pipeline]") {
  const ticks f[] = {1, 2, 3, 4}, b[] = {3, 4, 5};
  const auto plan = one_f_one_b::make({4, 1, 4}).value();
  const auto no_backward = simulate(plan, stage_costs{.forward = f});
  REQUIRE(!no_backward);
  CHECK(message(no_backward.error()) == "the costs have no time for backward of stage 3");
  CHECK(simulate(plan, stage_costs{.forward = f, .backward = b}).error() == no_backward.error());
  CHECK(simulate(plan, unit_costs{.forward = f, .backward = f, .micro_batches = 4}).error().code ==
        hocket::errc::untimed_action);
  const auto halves = zero_bubble::make_h1({4, 1, 4}).value();
  CHECK(simulate(halves, stage_costs{.forward = f, .input_grad = f, .weight_grad = f}));
  CHECK(simulate(halves, stage_costs{.forward = f, .backward = f}));
  for (const stage_costs& c :
       {stage_costs{.forward = b, .input_grad = f, .weight_grad = f},
        stage_costs{.forward = f, .input_grad = b, .weight_grad = f},
        stage_costs{.forward = f, .input_grad = f, .weight_grad = b}, stage_costs{.forward = f, .backward = b}})
    CHECK(simulate(halves, c).error().code == hocket::errc::untimed_action);
  const auto pairs = dual_pipe_v::make({4, 2, 8}).value();
  CHECK(simulate(pairs, stage_costs{.forward = f, .backward = f}).error().code == hocket::errc::untimed_action);
}

TEST_CASE("overlapped pairs take a share of the sum", "[pipeline]") {
  const costs c{.forward = 3, .backward = 5, .overlap = 75};
  const stage_action f{action_kind::forward, 0, 1}, b{action_kind::backward, 0, 0};
  CHECK(c.joined(f, b) == 6);
  CHECK(costs{.forward = 3, .backward = 5, .overlap = 10}.joined(f, b) == 5);
  CHECK(costs{.forward = 3, .backward = 5}.joined(f, b) == 8);
  using std::chrono::nanoseconds;
  CHECK(costs_in<nanoseconds>{.forward = nanoseconds(3), .backward = nanoseconds(5)}.joined(f, b) == 8);
  const auto pairs = dual_pipe_v::make({4, 2, 8}).value();
  CHECK(simulate(pairs, costs{.forward = 4, .backward = 8, .overlap = 75})->makespan <
        simulate(pairs, costs{.forward = 4, .backward = 8})->makespan);
}

TEST_CASE("costs with a unit are ticks of that unit, and a timeline takes it over", "[pipeline]") {
  using namespace std::chrono_literals;
  using in_microseconds = costs_in<std::chrono::microseconds>;
  const auto plan = one_f_one_b::make({.ranks = 4, .micro_batches = 8}).value();
  const in_microseconds measured{.forward = 26ms, .backward = 52ms, .hop = 849us};
  const costs same{.forward = 26'000, .backward = 52'000, .hop = 849};
  hocket::timeline drawn;
  drawn.ticks_per_second = 7;
  const auto ran = simulate(plan, measured, {.into = &drawn});
  REQUIRE(ran);
  CHECK(ran->makespan == simulate(plan, same)->makespan);
  CHECK(drawn.ticks_per_second == 1'000'000);

  const std::int64_t bytes[] = {4, 4, 4, 4};
  const with_links<in_microseconds> linked{measured, bytes, 1};
  REQUIRE(simulate(plan, linked, {.into = &drawn}));  // below the first, in the same unit
  CHECK(drawn.lane_count() == 8);
  const costs_in<std::chrono::nanoseconds> finer{.forward = 26ms, .backward = 52ms};
  CHECK(simulate(plan, finer, {.into = &drawn}).error().code == hocket::errc::invalid_argument);
  CHECK(drawn.lane_count() == 8);
  REQUIRE(simulate(plan, same, {.into = &drawn}));  // without a unit: that of the timeline
  CHECK(drawn.ticks_per_second == 1'000'000);
}

TEST_CASE("times of every piece by itself", "[pipeline]") {
  const auto plan = one_f_one_b::make({.ranks = 2, .micro_batches = 2}).value();
  const ticks forward[] = {1, 10, 1, 10}, backward[] = {2, 20, 2, 20};
  const auto ran = simulate(plan, unit_costs{.forward = forward, .backward = backward, .micro_batches = 2});
  // rank 0: F0 F1 | rank 1: F0 B0 | F1 B1 | rank 0: B1
  CHECK(ran->makespan == 1 + 10 + 10 + 20 + 20);
}

TEST_CASE("memory of a run is linear in ranks and stages", "[pipeline]") {
  workspace memory;
  const auto room = [&](const auto& plan) {
    REQUIRE(run(plan, costs{}, memory).has_value());
    return memory.entries.size() * sizeof(memory.entries[0]) + memory.words.size() * 8;
  };
  const auto flat = [&](auto&& make, std::size_t stages) {
    const std::size_t few = room(make(512)), many = room(make(2048));
    CHECK(few == many);
    CHECK(many <= stages * 1024);
  };
  flat([](std::int64_t m) { return interleaved::make({32, 4, m}).value(); }, 128);
  flat([](std::int64_t m) { return interleaved::make({32, 4, m}, groups::least_memory()).value(); }, 128);
  flat([](std::int64_t m) { return one_f_one_b::make({64, 1, m}).value(); }, 64);
  flat([](std::int64_t m) { return zero_bubble::make_interleaved({32, 2, m}).value(); }, 64);
  flat([](std::int64_t m) { return zbv::make({32, 2, m}).value(); }, 64);
}
