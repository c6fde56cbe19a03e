// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The heuristic is what its docstring says, word by word, on every small program and on random ones.
#include <hocket/core/message.hpp>
#include <hocket/graph/assign_streams.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <algorithm>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "stream_device.hpp"

using hocket::node_id;
using hocket::stream_id;
using hocket::graph::edge;

namespace {

// The rule again, with whole streams as lists and the reduction by its definition.
std::vector<stream_id> by_the_rule(std::size_t nodes, const std::vector<edge>& edges, std::size_t most) {
  const std::vector<edge> direct = hocket::testing::graph_oracle(nodes, edges).reduction();
  std::vector<std::vector<node_id>> streams;
  std::vector<stream_id> of;
  for (node_id b = 0; b < nodes; ++b) {
    const auto waits_for_last = [&](const std::vector<node_id>& ops) {
      return std::find(direct.begin(), direct.end(), edge{ops.back(), b}) != direct.end();
    };
    auto best = streams.end();
    for (auto s = streams.begin(); s != streams.end(); ++s)
      if (waits_for_last(*s) && (best == streams.end() || s->back() > best->back())) best = s;
    if (best == streams.end() && streams.size() < most) best = streams.insert(best, std::vector<node_id>{});
    if (best == streams.end())
      best = std::min_element(streams.begin(), streams.end(),
                              [](const auto& x, const auto& y) { return x.back() < y.back(); });
    best->push_back(b);
    of.push_back(static_cast<stream_id>(best - streams.begin()));
  }
  return of;
}

// The rule with durations again: where an op starts earliest, a free stream before a new one before a busy one. The
// stream whose last op it waits for is better.
std::vector<stream_id> by_the_rule(std::size_t nodes, const std::vector<edge>& edges, std::size_t most,
                                   const std::vector<hocket::ticks>& durations) {
  using hocket::ticks;
  const std::vector<edge> direct = hocket::testing::graph_oracle(nodes, edges).reduction();
  std::vector<ticks> done(nodes);
  std::vector<std::vector<node_id>> streams;
  std::vector<stream_id> of;
  for (node_id b = 0; b < nodes; ++b) {
    ticks ready = 0;
    for (const edge& e : direct)
      if (e.target == b) ready = std::max(ready, done[e.source]);
    const auto start_on = [&](std::size_t s) { return std::max(ready, done[streams[s].back()]); };
    std::size_t best = streams.size();  // a new one
    for (std::size_t s = streams.size(); s-- > 0;)
      if (start_on(s) == ready) best = s;
    if (best == streams.size() && streams.size() == most) {
      best = 0;
      for (std::size_t s = 1; s < streams.size(); ++s)
        if (start_on(s) < start_on(best)) best = s;
    }
    for (const edge& e : direct)  // by source: the latest such comes last
      if (e.target == b && streams[of[e.source]].back() == e.source) best = of[e.source];
    done[b] = (best == streams.size() ? ready : start_on(best)) + durations[b];
    if (best == streams.size()) streams.emplace_back();
    streams[best].push_back(b);
    of.push_back(static_cast<stream_id>(best));
  }
  return of;
}

}  // namespace

TEST_CASE("streams are assigned by the stated rule, durations included", "[graph]") {
  hocket::testing::random_source random(47);
  for (int round = 0; round < 500; ++round) {
    INFO(round);
    const node_id nodes = 1 + random.below(14);
    const stream_id most = 1 + random.below(4);
    const std::vector<edge> edges = hocket_test::random_edges(random, nodes, 1 + random.below(3));
    std::vector<hocket::ticks> durations(nodes);
    for (hocket::ticks& d : durations) d = random.below(10);
    const auto g = hocket_test::dag_of(nodes, edges);
    CHECK(hocket::graph::assign_streams(g, most, durations).value() == by_the_rule(nodes, edges, most, durations));
  }
  CHECK_FALSE(hocket::graph::assign_streams(hocket_test::dag_of(1, {}), 0).has_value());
  CHECK(hocket::graph::assign_streams(hocket_test::dag_of(1, {}), hocket::stream_limit).has_value());
  CHECK_FALSE(hocket::graph::assign_streams(hocket_test::dag_of(1, {}), hocket::stream_limit + 1).has_value());
}

TEST_CASE("streams are assigned by the stated rule", "[graph]") {
  for (unsigned mask = 0; mask < 1024; ++mask) {  // all programs of 5 ops
    std::vector<edge> edges;
    unsigned bits = mask;
    for (node_id b = 0; b < 5; ++b)
      for (node_id a = 0; a < b; ++a, bits >>= 1)
        if ((bits & 1u) != 0) edges.push_back({a, b});
    for (stream_id most = 1; most <= 5; ++most)
      if (hocket::graph::assign_streams(hocket_test::dag_of(5, edges), most).value() != by_the_rule(5, edges, most))
        FAIL("program " << mask << " on " << most);
  }
  hocket::testing::random_source random(41);
  for (int round = 0; round < 100; ++round) {
    const node_id nodes = 1 + random.below(50);
    const std::vector<edge> edges = hocket_test::random_edges(random, nodes, 3);
    const stream_id most = 1 + random.below(9);
    const auto streams = hocket::graph::assign_streams(hocket_test::dag_of(nodes, edges), most);
    REQUIRE(streams);
    CHECK(*streams == by_the_rule(nodes, edges, most));
    CHECK(*std::max_element(streams->begin(), streams->end()) < most);
  }
  CHECK(hocket::graph::assign_streams(hocket_test::dag_of(1, {}), hocket::stream_limit + 1).error().code ==
        hocket::errc::out_of_range);
}

TEST_CASE("ops that were fused away take up no stream", "[graph]") {
  auto g = hocket_test::dag_of(5, {{0, 1}, {1, 2}, {0, 3}, {2, 4}});
  const std::vector<node_id> group{2, 1};
  REQUIRE(g.contract(group).value() == 1);
  const auto streams = hocket::graph::assign_streams(g, 3);
  REQUIRE(streams);
  CHECK(*streams == std::vector<stream_id>{0, 0, 0, 1, 0});  // 4 waits for 1, which is the last of its stream
}

// Against the graph that never had these ops.
TEST_CASE("ops that were fused away change nothing for the others, with durations and without", "[graph]") {
  using hocket::ticks;
  hocket::testing::random_source random(47);
  std::size_t fused = 0;
  for (int round = 0; round < 400; ++round) {
    const node_id nodes = 2 + random.below(20);
    hocket::graph::dag<> g;
    std::vector<ticks> durations;
    for (node_id b = 0; b < nodes; ++b) {
      std::vector<node_id> preds;
      for (std::uint32_t k = b == 0 ? 0 : random.below(3); k != 0; --k) preds.push_back(random.below(b));
      REQUIRE(g.append(preds));
      durations.push_back(random.below(9));
    }
    for (int k = 0; k < 3; ++k) (void)g.contract(std::vector<node_id>{random.below(nodes), random.below(nodes)});
    std::vector<node_id> left, place(nodes);  // the others, and their numbers among themselves
    std::vector<ticks> left_durations;
    hocket::graph::dag<> alone;
    bool forward = true;
    for (node_id b = 0; b < nodes; ++b) {
      if (g.fused_into(b) != b) continue;
      place[b] = static_cast<node_id>(left.size());
      left.push_back(b);
      left_durations.push_back(durations[b]);
      REQUIRE(alone.append({}));
    }
    for (const edge& e : g.edges()) {
      forward = forward && e.source < e.target;
      (void)alone.add_edge(place[e.source], place[e.target]);
    }
    if (!forward) continue;  // refused, which others test
    fused += nodes - left.size();
    const stream_id most = 1 + random.below(4);
    for (const bool timed : {false, true}) {
      const auto all = timed ? hocket::graph::assign_streams(g, most, durations).value()
                             : hocket::graph::assign_streams(g, most).value();
      const auto others = timed ? hocket::graph::assign_streams(alone, most, left_durations).value()
                                : hocket::graph::assign_streams(alone, most).value();
      for (node_id b = 0; b < nodes; ++b) CHECK(all[b] == others[place[g.fused_into(b)]]);
      CHECK(hocket::graph::time_on_streams(g, all, durations).value() ==
            hocket::graph::time_on_streams(alone, others, left_durations).value());
    }
  }
  CHECK(fused > 300);
}

TEST_CASE("with durations: near the best assignment, never slower than one stream, few waits", "[graph]") {
  using hocket::ticks;
  using hocket::graph::time_on_streams;
  hocket::testing::random_source random(43);
  double ratio = 0;
  std::size_t waits = 0, waits_of_turns = 0;
  constexpr int rounds = 400;
  for (int round = 0; round < rounds; ++round) {
    const node_id nodes = 2 + random.below(7);
    const stream_id most = 2 + random.below(2);
    const auto g = hocket_test::dag_of(nodes, hocket_test::random_edges(random, nodes, 2));
    std::vector<ticks> durations(nodes);
    for (ticks& d : durations) d = random.below(10);
    const auto streams = hocket::graph::assign_streams(g, most, durations).value();
    const ticks reached = time_on_streams(g, streams, durations).value();
    CHECK(reached <= time_on_streams(g, std::vector<stream_id>(nodes, 0), durations).value());

    std::vector<stream_id> of(nodes, 0);
    ticks best = reached;
    for (bool more = true; more;) {  // all assignments
      best = std::min(best, time_on_streams(g, of, durations).value());
      node_id i = 0;
      while (i < nodes && ++of[i] == most) of[i++] = 0;
      more = i < nodes;
    }
    ratio += best == 0 ? 1 : static_cast<double>(reached) / static_cast<double>(best);
    for (node_id i = 0; i < nodes; ++i) of[i] = i % most;
    const auto plan = hocket::graph::stream_plan::make(g, streams).value();
    const auto in_turns = hocket::graph::stream_plan::make(g, of).value();
    waits += plan.waits().size();
    waits_of_turns += in_turns.waits().size();
  }
  CHECK(ratio / rounds < 1.05);
  CHECK(waits * 3 < waits_of_turns * 2);
}

TEST_CASE("a graph without ops takes no time on no streams", "[graph]") {
  const hocket::graph::dag<> none;
  CHECK(hocket::graph::time_on_streams(none, std::vector<stream_id>{}, std::vector<hocket::ticks>{}).value() == 0);
  CHECK(hocket::graph::assign_streams(none, 2, std::vector<hocket::ticks>{}).value().empty());
}

TEST_CASE("independent sequences on as many streams need no waits", "[graph]") {
  hocket::testing::random_source random(44);
  for (int round = 0; round < 200; ++round) {
    const stream_id sequences = 1 + random.below(4);
    hocket::graph::dag<> g;
    std::vector<hocket::ticks> durations;
    std::vector<node_id> last(sequences, hocket::no_id);
    for (node_id b = 0; b < 30; ++b) {
      const stream_id s = random.below(sequences);
      REQUIRE((last[s] == hocket::no_id ? g.append({}) : g.append({last[s]})));
      last[s] = b;
      durations.push_back(1 + random.below(20));
    }
    const auto streams = hocket::graph::assign_streams(g, sequences, durations).value();
    const auto plan = hocket::graph::stream_plan::make(g, streams).value();
    CHECK(plan.waits().empty());
  }
}

TEST_CASE("durations that are none are refused", "[graph]") {
  const auto g = hocket_test::dag_of(2, {{0, 1}});
  const std::vector<hocket::ticks> few{1}, negative{1, -1}, endless{1, std::numeric_limits<hocket::ticks>::max()};
  CHECK(message(hocket::graph::assign_streams(g, 2, few).error()) ==
        "1 durations are given, but 2 are needed: one for each op");
  CHECK(message(hocket::graph::assign_streams(g, 2, negative).error()) ==
        "duration of op 1 is -1, but must lie in [0, 9223372036854775807]");
  CHECK(message(hocket::graph::time_on_streams(g, std::vector<stream_id>{0, 1u << 16}, std::vector<hocket::ticks>{1, 2})
                    .error()) == "stream of op 1: 65536 exceeds the limit of 65535");
  CHECK(hocket::graph::assign_streams(g, 2, endless).error().code == hocket::errc::overflow);
  const std::vector<hocket::ticks> most{1, std::numeric_limits<hocket::ticks>::max() - 1};
  CHECK(hocket::graph::time_on_streams(g, hocket::graph::assign_streams(g, 2, most).value(), most).value() ==
        std::numeric_limits<hocket::ticks>::max());
  const std::vector<hocket::ticks> right{1, 2};
  CHECK(hocket::graph::assign_streams(g, 0, right).error().code == hocket::errc::out_of_range);
  CHECK(message(hocket::graph::time_on_streams(g, std::vector<stream_id>{0}, right).error()) ==
        "1 streams are given, but 2 are needed: one for each op");
  CHECK(hocket::graph::time_on_streams(g, std::vector<stream_id>{0, 1}, right).value() == 3);
}

// Each op where it is pinned; the others, by what stands on the streams before them, as without pins.
TEST_CASE("pinned ops are where they have to be, and the others where they start earliest", "[graph]") {
  using hocket::no_id;
  hocket::testing::random_source random(48);
  for (int round = 0; round < 300; ++round) {
    const node_id nodes = 1 + random.below(14);
    const stream_id most = 1 + random.below(4);
    const std::vector<edge> edges = hocket_test::random_edges(random, nodes, 1 + random.below(3));
    const std::vector<edge> direct = hocket::testing::graph_oracle(nodes, edges).reduction();
    std::vector<hocket::ticks> durations(nodes), done(nodes), free(most);
    std::vector<stream_id> pinned(nodes, no_id);
    for (hocket::ticks& d : durations) d = random.below(10);
    for (stream_id& s : pinned)
      if (random.below(3) == 0) s = random.below(most);
    const auto g = hocket_test::dag_of(nodes, edges);
    const auto timed = hocket::graph::assign_streams(g, most, durations, pinned).value();
    const auto blind = hocket::graph::assign_streams(g, most, pinned).value();
    std::vector<node_id> tail(most, no_id);
    for (node_id b = 0; b < nodes; ++b) {
      hocket::ticks ready = 0, earliest = std::numeric_limits<hocket::ticks>::max();
      node_id last = no_id;  // the latest that b waits for and that is the last of its stream
      for (const edge& e : direct) {
        if (e.target != b) continue;
        ready = std::max(ready, done[e.source]);
        if (tail[blind[e.source]] == e.source) last = e.source;
      }
      for (const hocket::ticks f : free) earliest = std::min(earliest, std::max(ready, f));
      const hocket::ticks start = std::max(ready, free[timed[b]]);
      if (pinned[b] != no_id) {
        REQUIRE(timed[b] == pinned[b]);
        REQUIRE(blind[b] == pinned[b]);
      } else {
        REQUIRE(start == earliest);
        if (last != no_id) REQUIRE(blind[b] == blind[last]);
        // no_id is the greatest number: an unused stream, if there is one, else the oldest.
        const bool unused = std::find(tail.begin(), tail.end(), no_id) != tail.end();
        if (last == no_id && unused) REQUIRE(tail[blind[b]] == no_id);
        if (last == no_id && !unused) REQUIRE(tail[blind[b]] == *std::min_element(tail.begin(), tail.end()));
      }
      done[b] = free[timed[b]] = start + durations[b];
      tail[blind[b]] = b;
    }
    CHECK(hocket::graph::assign_streams(g, most, durations, std::vector<stream_id>(nodes, no_id)).value() ==
          hocket::graph::assign_streams(g, most, durations).value());
  }
  const auto g = hocket_test::dag_of(2, {{0, 1}});
  const std::vector<stream_id> far{0, 2}, few{0};
  CHECK(message(hocket::graph::assign_streams(g, 2, far).error()) ==
        "pinned stream of op 1 is 2, but must lie in [0, 1]");
  CHECK(hocket::graph::assign_streams(g, 2, std::vector<hocket::ticks>{1, 1}, few).error().code ==
        hocket::errc::wrong_length);
}
