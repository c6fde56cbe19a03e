// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Orders within caps of bytes and of time, against every schedule that there is.
#include <hocket/core/message.hpp>
#include <hocket/graph/dependencies.hpp>
#include <hocket/graph/issue_order.hpp>
#include <hocket/testing/random_source.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "catch.hpp"
#include "issue_program.hpp"

namespace graph = hocket::graph;
using graph::dag;
using graph::issue_values;
using graph::value_life;
using namespace issue_test;

namespace {

constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();

// All start times and streams, also those with ops that wait for nothing: by time, the fewest bytes that it takes.
class every_schedule {
 public:
  every_schedule(const program& p, const issue_values& values, stream_id streams)
      : p_(p), values_(values), edges_(all_edges(p)), streams_(streams), start_(p.nodes), stream_of_(p.nodes) {
    for (const ticks t : p.durations) last_ += t;
    look(0);
  }
  // The least time within a cap, or -1.
  [[nodiscard]] ticks time(std::int64_t cap) const {
    for (const auto& [time, bytes] : bytes_)
      if (bytes <= cap) return time;
    return -1;
  }
  // The fewest bytes within a time; `any` if there is no such schedule.
  [[nodiscard]] std::int64_t bytes(ticks time) const {
    std::int64_t least = any;
    for (const auto& [t, b] : bytes_)
      if (t <= time) least = std::min(least, b);
    return least;
  }

 private:
  void look(node_id b) {
    if (b == p_.nodes) return keep();
    for (stream_of_[b] = 0; stream_of_[b] < streams_; ++stream_of_[b]) {
      if (!p_.pinned.empty() && p_.pinned[b] != no_id && p_.pinned[b] != stream_of_[b]) continue;
      for (start_[b] = 0; start_[b] + p_.durations[b] <= last_; ++start_[b])
        if (fits(b)) look(b + 1);
    }
  }
  [[nodiscard]] bool fits(node_id b) const {
    for (const edge& e : edges_)
      if (e.target == b && start_[e.source] + p_.durations[e.source] > start_[b]) return false;
    for (node_id a = 0; a < b; ++a) {
      const bool apart = start_[a] + p_.durations[a] <= start_[b] || start_[b] + p_.durations[b] <= start_[a];
      if (stream_of_[a] == stream_of_[b] && !apart) return false;
    }
    return true;
  }
  void keep() {
    std::vector<node_id> order(p_.nodes);
    ticks end = 0;
    for (node_id b = 0; b < p_.nodes; ++b) {
      order[b] = b;
      end = std::max(end, start_[b] + p_.durations[b]);
    }
    std::sort(order.begin(), order.end(),
              [&](node_id x, node_id y) { return start_[x] != start_[y] ? start_[x] < start_[y] : x < y; });
    const auto [at, fresh] = bytes_.try_emplace(end, any);
    at->second = std::min(at->second, peak(values_, order, start_, p_.durations));
  }

  const program& p_;
  const issue_values& values_;
  std::vector<edge> edges_;
  stream_id streams_;
  std::vector<ticks> start_;
  std::vector<stream_id> stream_of_;
  ticks last_ = 0;
  std::map<ticks, std::int64_t> bytes_;
};

// What holds of every answer: all ops in an order that may be, that runs as it says, with the bytes that it says.
void check(const program& p, const issue_values& values, stream_id streams, const graph::issue_order& answer) {
  std::vector<node_id> sorted = answer.order;
  std::sort(sorted.begin(), sorted.end());
  REQUIRE(sorted.size() == p.nodes);
  for (node_id b = 0; b < p.nodes; ++b) {
    REQUIRE(sorted[b] == b);
    REQUIRE(answer.stream_of[b] < streams);
    if (!p.pinned.empty() && p.pinned[b] != no_id) REQUIRE(answer.stream_of[b] == p.pinned[b]);
  }
  std::vector<edge> edges = all_edges(p);
  edges.insert(edges.end(), answer.holds.begin(), answer.holds.end());
  std::vector<ticks> start(p.nodes);
  REQUIRE(run(p, edges, answer.order, answer.stream_of, &start) == answer.time);
  REQUIRE(start == answer.start);
  REQUIRE(peak(values, answer.order, answer.start, p.durations) == answer.peak_bytes);
  REQUIRE(answer.least_time <= answer.time);
  REQUIRE(answer.least_bytes <= answer.peak_bytes);
}

graph::issue_rules rules(const program& p) { return {.pinned = p.pinned, .chains = p.chains}; }

dag<> graph_of(const program& p) {
  auto g = dag<>::make(p.nodes, p.edges);
  REQUIRE(g);
  return std::move(*g);
}

}  // namespace

TEST_CASE("within any cap a small program's order is the best of all schedules, and proved", "[graph]") {
  hocket::testing::random_source random(39);
  int refused = 0, delayed = 0;
  for (int round = 0; round < 60; ++round) {
    const stream_id streams = 1 + random.below(2);
    program p = random_program(random, 1 + random.below(4), streams);
    for (ticks& t : p.durations) t = 1 + t % 3;
    const issue_values values = random_values(random, p);
    const auto g = graph_of(p);
    const every_schedule all(p, values, streams);
    const auto free = graph::choose_issue_order(g, streams, p.durations, values, any, rules(p));
    REQUIRE(free);
    CHECK(free->time == all.time(any));
    for (std::int64_t cap = 0; cap <= free->peak_bytes + 1; ++cap) {
      const auto answer = graph::choose_issue_order(g, streams, p.durations, values, cap, rules(p));
      const ticks best = all.time(cap);
      REQUIRE(answer.has_value() == (best >= 0));
      if (!answer) {
        ++refused;
        CHECK(answer.error().code == hocket::errc::cap_below_bytes);
        CHECK(answer.error().values[1] == all.bytes(any));
        CHECK(answer.error().values[2] == all.bytes(any));
        continue;
      }
      check(p, values, streams, *answer);
      CHECK(answer->peak_bytes <= cap);
      CHECK(answer->time == best);
      CHECK(answer->is_proved());
      delayed += answer->time > free->time ? 1 : 0;
    }
  }
  CHECK(refused > 100);
  CHECK(delayed > 20);
}

TEST_CASE("within any time a small program's order needs the fewest bytes of all schedules, and proved", "[graph]") {
  hocket::testing::random_source random(40);
  int refused = 0;
  for (int round = 0; round < 60; ++round) {
    const stream_id streams = 1 + random.below(2);
    program p = random_program(random, 1 + random.below(4), streams);
    for (ticks& t : p.durations) t = 1 + t % 3;
    const issue_values values = random_values(random, p);
    const auto g = graph_of(p);
    const every_schedule all(p, values, streams);
    for (ticks most = 0; most < 12; ++most) {
      const auto answer = graph::smallest_issue_order(g, streams, p.durations, values, most, rules(p));
      const std::int64_t best = all.bytes(most);
      REQUIRE(answer.has_value() == (best != any));
      if (!answer) {
        ++refused;
        CHECK(answer.error().code == hocket::errc::cap_below_time);
        CHECK(answer.error().values[1] == all.time(any));
        continue;
      }
      check(p, values, streams, *answer);
      CHECK(answer->time <= most);
      CHECK(answer->peak_bytes == best);
      CHECK(answer->is_smallest());
    }
  }
  CHECK(refused > 100);
}

TEST_CASE("the fewest bytes of one op after the other are those of the best permutation", "[graph]") {
  hocket::testing::random_source random(41);
  for (int round = 0; round < 60; ++round) {
    program p = random_program(random, 2 + random.below(6), 1);
    p.chains.clear();
    p.pinned.clear();
    const issue_values values = random_values(random, p);
    std::vector<node_id> order(p.nodes);
    for (node_id b = 0; b < p.nodes; ++b) order[b] = b;
    std::int64_t best = any;
    do {
      std::vector<ticks> start(p.nodes);
      if (run(p, p.edges, order, std::vector<stream_id>(p.nodes, 0), &start) < 0) continue;
      for (std::size_t i = 0; i < p.nodes; ++i) start[order[i]] = static_cast<ticks>(i);
      best = std::min(best, peak(values, order, start, std::vector<ticks>(p.nodes, 1)));
    } while (std::next_permutation(order.begin(), order.end()));
    const auto answer = graph::smallest_issue_order(graph_of(p), 1, p.durations, values, any, rules(p));
    REQUIRE(answer);
    CHECK(answer->peak_bytes == best);
    CHECK(answer->is_smallest());
  }
}

// Over all sets of ops that may have run before an op: those that it waits for are in, those that wait for it are not.
TEST_CASE("the cut at an op is the least over all that may have run before it", "[graph]") {
  hocket::testing::random_source random(45);
  std::int64_t above = 0;
  for (int round = 0; round < 60; ++round) {
    program p = random_program(random, 2 + random.below(7), 1);
    const issue_values given = random_values(random, p);
    std::vector<node_id> ops(p.nodes);
    for (node_id b = 0; b < p.nodes; ++b) ops[b] = b;
    const auto values = graph::detail::make_live_values(given, ops);
    REQUIRE(values);
    const graph::detail::flat_lists ups(p.nodes, p.edges, true), downs(p.nodes, p.edges, false);
    graph::detail::byte_bound sides(ups, downs, *values, p.nodes);
    for (node_id x = 0; x < p.nodes; ++x) {
      std::int64_t least = any;
      for (unsigned done = 0; done < 1u << p.nodes; ++done) {
        const unsigned with = done | 1u << x;
        bool may = (done >> x & 1u) == 0;
        for (const edge& e : p.edges) may = may && ((with >> e.target & 1u) == 0 || (done >> e.source & 1u) != 0);
        if (!may) continue;
        std::int64_t alive = 0;
        for (std::size_t v = 0; v < given.size(); ++v) {
          bool begun = given.life(v) == value_life::from_before, over = given.life(v) != value_life::to_the_end;
          for (const node_id b : given.ops(v)) {
            begun = begun || (with >> b & 1u) != 0;
            over = over && (done >> b & 1u) != 0;
          }
          if (given.life(v) == value_life::always || (begun && !over)) alive += given.bytes(v);
        }
        least = std::min(least, alive);
      }
      CHECK(graph::detail::least_bytes_at(ups, *values, ops, p.nodes, x) == least);
      CHECK(sides.at(x) <= least);
      above += least - sides.at(x);
    }
  }
  CHECK(above > 0);  // the cut says more than a search from both sides
}

TEST_CASE("orders of larger programs keep their caps, and are no worse than the program's own", "[graph]") {
  hocket::testing::random_source random(42);
  int faster = 0, smaller = 0;
  for (int round = 0; round < 40; ++round) {
    const stream_id streams = 1 + random.below(4);
    const program p = random_program(random, 13 + random.below(60), streams);
    const issue_values values = random_values(random, p);
    const auto g = graph_of(p);
    const auto free = graph::choose_issue_order(g, streams, p.durations, values, any, rules(p));
    REQUIRE(free);
    check(p, values, streams, *free);
    CHECK(free->time <= free->given_time);
    const auto small = graph::smallest_issue_order(g, streams, p.durations, values, free->given_time, rules(p));
    REQUIRE(small);
    check(p, values, streams, *small);
    CHECK(small->time <= free->given_time);
    CHECK(small->peak_bytes <= free->given_bytes);
    smaller += small->peak_bytes < free->given_bytes ? 1 : 0;
    for (std::int64_t cap = free->least_bytes; cap <= free->given_bytes; cap += 1 + free->given_bytes / 8) {
      const auto answer = graph::choose_issue_order(g, streams, p.durations, values, cap, rules(p));
      if (!answer) {
        CHECK(answer.error().values[1] > cap);
        CHECK(answer.error().values[2] <= answer.error().values[1]);
        continue;
      }
      check(p, values, streams, *answer);
      CHECK(answer->peak_bytes <= cap);
      CHECK(graph::choose_issue_order(g, streams, p.durations, values, cap, rules(p))->order == answer->order);
    }
    const auto same = graph::choose_issue_order(g, streams, p.durations, values, free->given_bytes, rules(p));
    REQUIRE(same);
    CHECK(same->peak_bytes <= free->given_bytes);
    CHECK(same->time <= free->given_time);
    faster += same->time < free->given_time ? 1 : 0;
  }
  CHECK(faster > 10);
  CHECK(smaller > 10);
}

TEST_CASE("a front has orders that are faster or smaller, one of them no worse than the program's own", "[graph]") {
  hocket::testing::random_source random(43);
  std::size_t most = 0;
  for (int round = 0; round < 20; ++round) {
    const stream_id streams = 1 + random.below(4);
    const program p = random_program(random, 5 + random.below(60), streams);
    const issue_values values = random_values(random, p);
    const auto g = graph_of(p);
    const auto front = graph::issue_front(g, streams, p.durations, values, rules(p));
    REQUIRE(front);
    REQUIRE(!front->empty());
    bool no_worse = false;
    for (std::size_t i = 0; i < front->size(); ++i) {
      const graph::issue_order& each = (*front)[i];
      check(p, values, streams, each);
      if (i != 0) CHECK(each.time > (*front)[i - 1].time);
      if (i != 0) CHECK(each.peak_bytes < (*front)[i - 1].peak_bytes);
      no_worse = no_worse || (each.time <= each.given_time && each.peak_bytes <= each.given_bytes);
    }
    CHECK(no_worse);
    CHECK(front->front().time == graph::choose_issue_order(g, streams, p.durations, values, any, rules(p))->time);
    most = std::max(most, front->size());
  }
  CHECK(most >= 4);
}

// Two branches that need 10 bytes each while they run, on two streams: side by side within 20, else one after the
// other.
TEST_CASE("a cap makes an op wait for memory, and the wait is told", "[graph]") {
  const program p{4, {{0, 1}, {2, 3}}, {4, 4, 4, 4}, {}, {}};
  issue_values values;
  values.add(10, std::vector<node_id>{0, 1});
  values.add(10, std::vector<node_id>{2, 3});
  const auto g = graph_of(p);
  CHECK(graph::choose_issue_order(g, 2, p.durations, values, 20)->time == 8);
  CHECK(graph::choose_issue_order(g, 2, p.durations, values, 20)->holds.empty());
  const auto tight = graph::choose_issue_order(g, 2, p.durations, values, 19);
  REQUIRE(tight);
  CHECK(tight->time == 16);
  CHECK(tight->peak_bytes == 10);
  const auto low = graph::choose_issue_order(g, 2, p.durations, values, 9);
  REQUIRE(!low);
  CHECK(hocket::message(low.error()) ==
        "a cap of 9 bytes is too low: the smallest order found needs 10, and none less than 10");
  const auto quick = graph::smallest_issue_order(g, 2, p.durations, values, 7);
  REQUIRE(!quick);
  CHECK(hocket::message(quick.error()) ==
        "a cap of 7 is too short: the fastest order found takes 8, and none less than 8");
}

TEST_CASE("values that cannot be are refused with what is wrong", "[graph]") {
  const auto g = dag<>::make(2, std::vector<edge>{{0, 1}});
  const std::vector<ticks> d{1, 1};
  const auto code = [&](std::int64_t bytes, node_id op) {
    issue_values values;
    values.add(5, std::vector<node_id>{0});
    values.add(bytes, std::vector<node_id>{op});
    return graph::choose_issue_order(*g, 1, d, values, any).error().code;
  };
  CHECK(code(-1, 0) == hocket::errc::out_of_range);
  CHECK(code(1, 2) == hocket::errc::out_of_range);
  CHECK(code(any, 1) == hocket::errc::overflow);
  CHECK(graph::issue_front(*g, 1, d, issue_values{}, {}, 1).error().code == hocket::errc::out_of_range);
  issue_values weights;
  weights.add(7, std::vector<node_id>{}, value_life::always);
  weights.add(3, std::vector<node_id>{1}, value_life::from_before);
  const auto answer = graph::choose_issue_order(dag<>::make(2, std::vector<edge>{{0, 1}}), 1, d, weights, 10);
  REQUIRE(answer);
  CHECK(answer->peak_bytes == 10);
  CHECK(answer->is_smallest());
}

TEST_CASE("an order with a changed figure is refused", "[graph][issue]") {
  dag<> g;
  REQUIRE(g.assign(6, std::vector<edge>{{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 5}, {4, 5}}));
  const std::vector<ticks> durations{2, 5, 3, 1, 4, 2};
  issue_values values;
  values.add(10, std::vector<node_id>{0, 1, 2});
  values.add(7, std::vector<node_id>{1, 3});
  values.add(5, std::vector<node_id>{4, 5}, value_life::to_the_end);
  values.add(3, std::vector<node_id>{2, 5}, value_life::always);
  const std::vector<stream_id> pinned{no_id, no_id, no_id, no_id, 2, no_id};
  const std::vector<std::uint32_t> chains{no_id, 4, no_id, 4, no_id, no_id};
  const std::vector<std::uint32_t> groups{no_id, no_id, no_id, 1, no_id, 1};
  const graph::issue_rules rules{.pinned = pinned, .chains = chains, .groups = groups, .lanes = 1};
  const auto found = graph::choose_issue_order(g, 2, durations, values, 30, rules);
  REQUIRE(found);
  const graph::detail::issue_check<graph::persistent_index> check(g, 2, durations, values, rules);
  const auto after = [&](auto&& change, std::int64_t most_bytes = 30, ticks most_time = 100) {
    graph::issue_order out = *found;
    change(out);
    const auto ok = check(out, most_bytes, most_time);
    if (ok) return std::string("right");
    CHECK(ok.error().code == hocket::errc::wrong_answer);
    const std::string text = hocket::message(ok.error());
    return text.substr(text.find(": ") + 2, text.find(" is ") - text.find(": ") - 2);
  };
  CHECK(after([](graph::issue_order&) {}) == "right");
  CHECK(after([](graph::issue_order& x) { x.order.pop_back(); }) == "the number of ops");
  CHECK(after([](graph::issue_order& x) { x.order[1] = x.order[0]; }) == "whether an op may run here");
  CHECK(after([](graph::issue_order& x) { x.order[1] = 6; }) == "an op of an order");
  CHECK(after([](graph::issue_order& x) { x.start.pop_back(); }) == "the number of starts");
  CHECK(after([](graph::issue_order& x) { x.stream_of.pop_back(); }) == "the number of streams");
  CHECK(after([](graph::issue_order& x) { ++x.start[5]; }) == "the start of an op of a group");
  CHECK(after([](graph::issue_order& x) { x.stream_of[5] = 1 - x.stream_of[3]; }) == "the stream of a group");
  CHECK(after([](graph::issue_order& x) { x.stream_of[4] = 0; }) == "the stream of an op");
  CHECK(after([](graph::issue_order& x) { x.stream_of[0] = 2; }) == "the stream of an op");
  CHECK(after([](graph::issue_order& x) { x.stream_of[1] = x.stream_of[2]; }) == "the start of an op on its stream");
  CHECK(after([](graph::issue_order& x) { std::swap(x.order[0], *std::find(x.order.begin(), x.order.end(), 1u)); }) !=
        "right");
  CHECK(after([](graph::issue_order& x) { ++x.time; }) == "the time of an order");
  CHECK(after([](graph::issue_order&) {}, 30, found->time - 1) == "the time of an order");
  CHECK(after([](graph::issue_order& x) { x.least_time = x.time + 1; }) == "the least time");
  CHECK(after([](graph::issue_order& x) { --x.peak_bytes; }) == "the bytes of an order");
  CHECK(after([](graph::issue_order&) {}, found->peak_bytes - 1) == "the bytes of an order");
  CHECK(after([](graph::issue_order& x) { x.least_bytes = x.peak_bytes + 1; }) == "the least bytes");
}

TEST_CASE("an op that starts before what it waits for is done is refused, also on another stream", "[graph][issue]") {
  dag<> g;
  REQUIRE(g.assign(2, std::vector<edge>{{0, 1}}));
  const std::vector<ticks> durations{2, 3};
  auto found = graph::choose_issue_order(g, 2, durations);
  REQUIRE(found);
  const issue_values none;
  const graph::issue_rules no_rules;
  const graph::detail::issue_check<graph::persistent_index> check(g, 2, durations, none, no_rules);
  found->stream_of = {0, 1};
  CHECK(check(*found, 0, 5));
  found->start[1] = 1;
  CHECK(hocket::message(check(*found, 0, 5).error()).find("the start of an op is 1") != std::string::npos);
  found->start[1] = 2;
  std::swap(found->order[0], found->order[1]);
  CHECK(hocket::message(check(*found, 0, 5).error()).find("the place of an op is 0") != std::string::npos);
}
