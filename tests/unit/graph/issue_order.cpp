// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Orders against every order on every streams, by a simulator that shares nothing with the library.
#include <hocket/core/message.hpp>
#include <hocket/graph/dependencies.hpp>
#include <hocket/graph/issue_order.hpp>
#include <hocket/testing/random_source.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "issue_program.hpp"

using hocket::graph::dag;
using namespace issue_test;

namespace {

// The least over all permutations and all streams.
ticks best_of_all(const program& p, stream_id streams) {
  const std::vector<edge> edges = all_edges(p);
  std::vector<node_id> order(p.nodes);
  for (node_id b = 0; b < p.nodes; ++b) order[b] = b;
  ticks best = std::numeric_limits<ticks>::max();
  do {
    std::vector<stream_id> stream_of(p.nodes, 0);
    if (run(p, edges, order, stream_of) < 0) continue;
    bool more = true;
    while (more) {
      bool fits = true;
      for (node_id b = 0; b < p.pinned.size(); ++b)
        fits = fits && (p.pinned[b] == no_id || p.pinned[b] == stream_of[b]);
      if (fits) best = std::min(best, run(p, edges, order, stream_of));
      std::size_t digit = 0;
      while (digit < p.nodes && ++stream_of[digit] == streams) stream_of[digit++] = 0;
      more = digit < p.nodes;
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

hocket::graph::issue_order answer_of(const program& p, stream_id streams) {
  const auto g = dag<>::make(p.nodes, p.edges);
  REQUIRE(g);
  const auto answer = hocket::graph::choose_issue_order(*g, streams, p.durations, {p.pinned, p.chains});
  REQUIRE(answer);
  return *answer;
}

// What holds of every answer: all ops, each once, where they may be, and the times that it tells.
void check(const program& p, stream_id streams, const hocket::graph::issue_order& answer) {
  std::vector<node_id> sorted = answer.order;
  std::sort(sorted.begin(), sorted.end());
  REQUIRE(sorted.size() == p.nodes);
  for (node_id b = 0; b < p.nodes; ++b) {
    REQUIRE(sorted[b] == b);
    REQUIRE(answer.stream_of[b] < streams);
    if (!p.pinned.empty() && p.pinned[b] != no_id) REQUIRE(answer.stream_of[b] == p.pinned[b]);
  }
  std::vector<ticks> start(p.nodes);
  REQUIRE(run(p, all_edges(p), answer.order, answer.stream_of, &start) == answer.time);
  REQUIRE(start == answer.start);
  REQUIRE(answer.least_time <= answer.time);
  REQUIRE(answer.time <= answer.given_time);
}

}  // namespace

TEST_CASE("an order of a small program lies between its bound and the program's own order", "[graph]") {
  hocket::testing::random_source random(36);
  int programs = 0, best = 0;
  for (int round = 0; round < 150; ++round) {
    const std::size_t nodes = 1 + random.below(6);
    const stream_id streams = 1 + random.below(nodes < 6 ? 3u : 2u);
    const program p = random_program(random, nodes, streams);
    const auto answer = answer_of(p, streams);
    check(p, streams, answer);
    const ticks least = best_of_all(p, streams);
    CHECK(answer.least_time <= least);
    CHECK(least <= answer.time);
    ++programs;
    best += answer.time == least ? 1 : 0;
  }
  INFO(best << " of " << programs << " orders are the best");
  CHECK(best * 100 >= programs * 90);  // a heuristic: near all, and the bound tells of the rest
}

TEST_CASE("an order of a larger program keeps its rules, and is the same again", "[graph]") {
  hocket::testing::random_source random(37);
  for (int round = 0; round < 40; ++round) {
    const stream_id streams = 1 + random.below(5);
    const program p = random_program(random, 5 + random.below(60), streams);
    const auto answer = answer_of(p, streams);
    check(p, streams, answer);
    CHECK(answer_of(p, streams).order == answer.order);
    if (!p.pinned.empty() || !p.chains.empty()) continue;
    const auto g = dag<>::make(p.nodes, p.edges);
    const auto fixed = hocket::graph::assign_streams(*g, streams, p.durations);
    CHECK(answer.time <= *hocket::graph::time_on_streams(*g, *fixed, p.durations));
  }
}

// Two ranks that measured differently: what is in a chain comes in one order on both.
TEST_CASE("ranks with other durations agree on the order of a chain", "[graph]") {
  hocket::testing::random_source random(38);
  program p = random_program(random, 40, 3);
  p.pinned.clear();
  p.chains.assign(p.nodes, no_id);
  for (node_id b = 0; b < p.nodes; b += 3) p.chains[b] = 7;
  const auto collectives = [&p] {
    std::vector<node_id> out;
    for (const node_id b : answer_of(p, 3).order)
      if (p.chains[b] == 7) out.push_back(b);
    return out;
  };
  const std::vector<node_id> here = collectives();
  for (ticks& t : p.durations) t = random.below(100);
  CHECK(collectives() == here);
  CHECK(here.size() == 14);
}

TEST_CASE("two long chains behind each other in the program run side by side", "[graph]") {
  program p{6, {{0, 1}, {1, 2}, {3, 4}, {4, 5}}, {5, 5, 5, 5, 5, 5}, {}, {}};
  const auto answer = answer_of(p, 2);
  CHECK(answer.time == 15);
  CHECK(answer.is_proved());
  p.pinned.assign(6, 1);
  CHECK(answer_of(p, 2).time == 30);
  CHECK(answer_of(p, 2).least_time == 30);
}

TEST_CASE("an op that was fused away is where the op is that stands for it", "[graph]") {
  auto g = dag<>::make(4, std::vector<edge>{{0, 1}, {1, 3}, {2, 3}});
  REQUIRE(g);
  REQUIRE(g->contract(std::vector<node_id>{0, 1}));
  const auto answer = hocket::graph::choose_issue_order(*g, 2, std::vector<ticks>{4, 1, 4, 1});
  REQUIRE(answer);
  CHECK(answer->order.size() == 3);
  const node_id gone = g->fused_into(0) == 0 ? 1 : 0;
  CHECK(answer->stream_of[0] == answer->stream_of[1]);
  CHECK(std::find(answer->order.begin(), answer->order.end(), gone) == answer->order.end());
}

TEST_CASE("an order that cannot be is refused with what is wrong", "[graph]") {
  const auto g = dag<>::make(2, std::vector<edge>{{0, 1}});
  const std::vector<ticks> two{1, 1}, three{1, 1, 1}, negative{1, -1};
  const auto code = [&](stream_id streams, const std::vector<ticks>& d, const hocket::graph::issue_rules& rules = {}) {
    return hocket::graph::choose_issue_order(*g, streams, d, rules).error().code;
  };
  CHECK(code(0, two) == hocket::errc::out_of_range);
  CHECK(code(1, three) == hocket::errc::wrong_length);
  CHECK(code(1, negative) == hocket::errc::out_of_range);
  const std::vector<stream_id> pins{0, 3}, few{0};
  const std::vector<std::uint32_t> chain{0};
  CHECK(code(2, two, {.pinned = pins}) == hocket::errc::out_of_range);
  CHECK(code(2, two, {.pinned = few}) == hocket::errc::wrong_length);
  CHECK(code(2, two, {.chains = chain}) == hocket::errc::wrong_length);
  const auto back = dag<>::make(2, std::vector<edge>{{1, 0}});
  CHECK(hocket::graph::choose_issue_order(*back, 1, two).error().code == hocket::errc::bad_order);
  const auto none = hocket::graph::choose_issue_order(dag<>{}, 3, std::vector<ticks>{});
  REQUIRE(none);
  CHECK(none->order.empty());
  CHECK(none->time == 0);
}
