// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Groups that stay together, and streams for pinned ops alone.
#include <hocket/core/message.hpp>
#include <hocket/graph/issue_order.hpp>
#include <hocket/graph/no_index.hpp>
#include <hocket/testing/random_source.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "issue_program.hpp"

namespace graph = hocket::graph;
using graph::dag;
using namespace issue_test;

namespace {

// The program with the ops of each group as one op, in numbers of their own; empty if they would wait for themselves.
program grouped(const program& p, const std::vector<std::uint32_t>& groups, std::vector<node_id>& unit_of) {
  program out;
  unit_of.assign(p.nodes, no_id);
  for (node_id b = 0; b < p.nodes; ++b) {
    for (node_id a = 0; a < b; ++a)
      if (groups[b] != no_id && groups[a] == groups[b]) unit_of[b] = unit_of[a];
    if (unit_of[b] == no_id) unit_of[b] = static_cast<node_id>(out.durations.size());
    if (unit_of[b] == out.durations.size()) out.durations.push_back(0);
    out.durations[unit_of[b]] += p.durations[b];
  }
  out.nodes = out.durations.size();
  for (const edge& e : p.edges)
    if (unit_of[e.source] != unit_of[e.target]) out.edges.push_back({unit_of[e.source], unit_of[e.target]});
  return out;
}

}  // namespace

TEST_CASE("the ops of a group follow each other on one stream", "[graph]") {
  hocket::testing::random_source random(44);
  int ran = 0, cycles = 0;
  for (int round = 0; round < 100; ++round) {
    const stream_id streams = 1 + random.below(3);
    program p = random_program(random, 3 + random.below(12), streams);
    p.pinned.clear();
    p.chains.clear();
    std::vector<std::uint32_t> groups(p.nodes, no_id);
    for (std::uint32_t& each : groups)
      if (random.below(4) == 0) each = random.below(2);
    const auto g = dag<>::make(p.nodes, p.edges);
    REQUIRE(g);
    const auto answer = graph::choose_issue_order(*g, streams, p.durations, {.groups = groups});
    std::vector<node_id> unit_of;
    const program units = grouped(p, groups, unit_of);
    if (!answer) {
      CHECK(answer.error().code == hocket::errc::group_closes_cycle);
      CHECK(!dag<>::make(units.nodes, units.edges));
      ++cycles;
      continue;
    }
    ++ran;
    REQUIRE(answer->order.size() == p.nodes);
    std::vector<node_id> order;  // of units
    std::vector<stream_id> stream_of(units.nodes);
    std::vector<ticks> start(units.nodes), expected(units.nodes), used(units.nodes);
    for (const node_id b : answer->order) {
      const node_id unit = unit_of[b];
      if (std::find(order.begin(), order.end(), unit) == order.end()) {
        order.push_back(unit);
        stream_of[unit] = answer->stream_of[b];
        start[unit] = answer->start[b];
      }
      REQUIRE(order.back() == unit);  // nothing between
      REQUIRE(answer->stream_of[b] == stream_of[unit]);
      REQUIRE(answer->start[b] == start[unit] + used[unit]);
      used[unit] += p.durations[b];
    }
    REQUIRE(run(units, units.edges, order, stream_of, &expected) == answer->time);
    REQUIRE(expected == start);
  }
  CHECK(ran > 20);
  CHECK(cycles > 10);
}

// Three copies on a copy engine, each before a kernel; the program has the copies where they are needed.
TEST_CASE("a copy engine works while kernels do", "[graph]") {
  std::vector<edge> edges;
  std::vector<ticks> durations;
  std::vector<stream_id> pinned;
  for (node_id k = 0; k < 3; ++k) {
    durations.insert(durations.end(), {10, 10});
    pinned.insert(pinned.end(), {1, no_id});
    edges.push_back({2 * k, 2 * k + 1});
    if (k != 0) edges.push_back({2 * k - 1, 2 * k + 1});
  }
  const auto g = dag<>::make(6, edges);
  REQUIRE(g);
  const auto answer = graph::choose_issue_order(*g, 1, durations, {.pinned = pinned, .lanes = 1});
  REQUIRE(answer);
  CHECK(answer->time == 40);
  CHECK(answer->is_proved());
  for (node_id b = 0; b < 6; ++b) CHECK(answer->stream_of[b] == (b % 2 == 0 ? 1 : 0));
  // Ops that are not pinned stay off the engine, however free it is.
  const auto two =
      graph::choose_issue_order(*dag<>::make(2, std::vector<edge>{}), 1, std::vector<ticks>{5, 5}, {.lanes = 3});
  REQUIRE(two);
  CHECK(two->time == 10);
  CHECK(two->least_time == 10);
}

// A collective between two kernels that nothing else keeps waiting: it starts after the first, the second waits for it,
// and other kernels run in the meantime. Ranks with other durations keep the order of the communicator.
TEST_CASE("collectives of a communicator run beside kernels, in one order on every rank", "[graph]") {
  // 0 -> 1* -> 2, 3 -> 4* -> 5, where * runs on the communicator.
  const std::vector<edge> edges{{0, 1}, {1, 2}, {3, 4}, {4, 5}};
  const auto g = dag<>::make(6, edges);
  const std::vector<stream_id> pinned{no_id, 1, no_id, no_id, 1, no_id};
  const std::vector<std::uint32_t> chains{no_id, 0, no_id, no_id, 0, no_id};
  const graph::issue_rules rules{.pinned = pinned, .chains = chains, .lanes = 1};
  const auto one = graph::choose_issue_order(*g, 1, std::vector<ticks>{4, 6, 4, 4, 6, 4}, rules);
  REQUIRE(one);
  CHECK(one->start == std::vector<ticks>{0, 4, 10, 4, 10, 16});
  CHECK(one->time == 20);
  CHECK(one->is_proved());
  // Here the second would better go first, and still does not.
  const auto other = graph::choose_issue_order(*g, 1, std::vector<ticks>{9, 1, 1, 1, 9, 9}, rules);
  REQUIRE(other);
  CHECK(other->start[4] >= other->start[1] + 1);
}

TEST_CASE("rules that cannot hold are refused with what is wrong", "[graph]") {
  const auto g = dag<>::make(3, std::vector<edge>{{0, 1}, {1, 2}});
  const std::vector<ticks> d{1, 1, 1};
  const auto refused = [&](const graph::issue_rules& rules) {
    const auto answer = graph::choose_issue_order(*g, 2, d, rules);
    return answer ? std::string() : hocket::message(answer.error());
  };
  const std::vector<std::uint32_t> around{5, no_id, 5}, both{5, 5, no_id}, few{1};
  const std::vector<stream_id> apart{0, 1, no_id}, far{4, no_id, no_id};
  CHECK(refused({.groups = around}) ==
        "op 0 waits for a group of ops that waits for it: the group cannot stay together");
  CHECK(refused({.pinned = apart, .groups = both}) ==
        "ops 0 and 1 are one group, but the first is pinned to stream 0 and the second to stream 1");
  CHECK(refused({.groups = few}) == "1 groups are given, but 3 are needed: one for each op");
  CHECK(refused({.pinned = far, .lanes = 2}) == "pinned stream of op 0 is 4, but must lie in [0, 3]");
  CHECK(refused({.pinned = far, .lanes = 3}).empty());
  CHECK(refused({.lanes = 65'535}) == "lanes is 65535, but must lie in [0, 65534]");
}

// Without an index a dag keeps edges that others imply: another list of edges, and the same order.
TEST_CASE("an order without an index keeps the same dependencies", "[graph]") {
  hocket::testing::random_source random(46);
  for (int round = 0; round < 40; ++round) {
    const program p = random_program(random, 2 + random.below(30), 3);
    const auto bare = dag<graph::no_index>::make(p.nodes, p.edges);
    const auto indexed = dag<>::make(p.nodes, p.edges);
    REQUIRE((bare && indexed));
    CHECK(bare->edge_count() == p.edges.size());
    CHECK(indexed->edge_count() <= p.edges.size());
    const auto answer = graph::choose_issue_order(*bare, 3, p.durations);
    REQUIRE(answer);
    REQUIRE(answer->order.size() == p.nodes);
    std::vector<ticks> start(p.nodes);
    CHECK(run(p, p.edges, answer->order, answer->stream_of, &start) == answer->time);
    CHECK(start == answer->start);
    CHECK(answer->least_time == graph::choose_issue_order(*indexed, 3, p.durations)->least_time);
  }
}
