// SPDX-License-Identifier: Apache-2.0
#include <hocket/graph/stream_plan.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <array>
#include <string>
#include <vector>

#include "catch.hpp"

using hocket::node_id;
using hocket::stream_id;
using hocket::graph::dag;
using hocket::graph::edge;
using hocket::graph::stream_plan;
using hocket::testing::graph_oracle;

namespace {

// Edges of the order that streams enforce by themselves.
std::vector<edge> fifo(const std::vector<stream_id>& streams) {
  std::vector<edge> edges;
  for (node_id b = 0; b < streams.size(); ++b)
    for (node_id a = b; a-- > 0;)
      if (streams[a] == streams[b]) {
        edges.push_back({a, b});
        break;
      }
  return edges;
}

// Empty, or what is wrong with the plan: order neither missing nor added, and no wait can be left out.
std::string wrong(const stream_plan& plan, const std::vector<edge>& data, const std::vector<stream_id>& streams) {
  const std::size_t nodes = streams.size();
  std::vector<edge> wanted = fifo(streams);
  wanted.insert(wanted.end(), data.begin(), data.end());
  const graph_oracle truth(nodes, wanted);
  std::vector<edge> enforced = fifo(streams);
  for (const auto& w : plan.waits()) {
    if (w.record_stream != streams[w.recorder] || w.wait_stream != streams[w.waiter]) return "streams of a wait";
    if (w.record_stream == w.wait_stream) return "a wait within a stream";
    enforced.push_back({w.recorder, w.waiter});
  }
  for (std::size_t i = 1; i < plan.waits().size(); ++i) {
    const auto &x = plan.waits()[i - 1], &y = plan.waits()[i];
    if (x.waiter > y.waiter || (x.waiter == y.waiter && x.recorder >= y.recorder)) return "order of waits";
  }
  const graph_oracle order(nodes, enforced);
  for (node_id a = 0; a < nodes; ++a)
    for (node_id b = 0; b < nodes; ++b)
      if (order.reaches(a, b) != truth.reaches(a, b)) return order.reaches(a, b) ? "order added" : "order missing";
  for (std::size_t i = fifo(streams).size(); i < enforced.size(); ++i) {
    std::vector<edge> fewer = enforced;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (graph_oracle(nodes, fewer).reaches(enforced[i].source, enforced[i].target)) return "a wait too many";
  }
  return {};
}

// The least number of cross-stream pairs that enforce exactly the order, by trying all sets of them.
std::size_t least_waits(const std::vector<edge>& data, const std::vector<stream_id>& streams) {
  const std::size_t nodes = streams.size();
  std::vector<edge> wanted = fifo(streams), pairs;
  wanted.insert(wanted.end(), data.begin(), data.end());
  const graph_oracle truth(nodes, wanted);
  for (node_id a = 0; a < nodes; ++a)
    for (node_id b = a + 1; b < nodes; ++b)
      if (streams[a] != streams[b] && truth.reaches(a, b)) pairs.push_back({a, b});
  std::size_t best = pairs.size();
  for (unsigned mask = 0; mask < 1u << pairs.size(); ++mask) {
    std::vector<edge> enforced = fifo(streams);
    std::size_t count = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i)
      if ((mask >> i & 1u) != 0) enforced.push_back(pairs[i]), ++count;
    if (count >= best) continue;
    const graph_oracle order(nodes, enforced);
    bool equal = true;
    for (node_id a = 0; a < nodes && equal; ++a)
      for (node_id b = 0; b < nodes && equal; ++b) equal = order.reaches(a, b) == truth.reaches(a, b);
    if (equal) best = count;
  }
  return best;
}

}  // namespace

TEST_CASE("all programs of 4 ops on up to 4 streams get the fewest waits", "[graph]") {
  for (unsigned assignment = 0; assignment < 256; ++assignment) {
    const std::vector<stream_id> streams{assignment & 3, assignment >> 2 & 3, assignment >> 4 & 3, assignment >> 6};
    for (unsigned mask = 0; mask < 64; ++mask) {
      dag<> g;
      std::vector<edge> data;
      unsigned bits = mask;
      for (node_id b = 0; b < 4; ++b) {
        std::vector<node_id> preds;
        for (node_id a = 0; a < b; ++a, bits >>= 1)
          if ((bits & 1u) != 0) preds.push_back(a), data.push_back({a, b});
        (void)g.append(preds);
      }
      const auto plan = hocket::graph::plan_streams(g, streams);
      REQUIRE(plan);
      if (const std::string w = wrong(*plan, data, streams); !w.empty()) FAIL(w);
      if (plan->waits().size() != least_waits(data, streams)) FAIL("not the fewest waits");
    }
  }
}

TEST_CASE("random programs on few and on many streams", "[graph]") {
  hocket::testing::random_source random(11);
  for (int round = 0; round < 200; ++round) {
    const node_id nodes = 1 + random.below(40);
    const std::size_t count = round % 2 == 0 ? 1 + random.below(5) : 70 + random.below(30);  // clocks | dag
    dag<> g;
    std::vector<edge> data;
    std::vector<stream_id> streams;
    for (node_id b = 0; b < nodes; ++b) {
      std::vector<node_id> preds;
      for (std::uint32_t k = random.below(4); b != 0 && k-- > 0;) preds.push_back(random.below(b));
      for (const node_id a : preds) data.push_back({a, b});
      (void)g.append(preds);
      streams.push_back(random.below(count));
    }
    if (round % 2 == 1) streams.back() = 99;
    const auto plan = hocket::graph::plan_streams(g, streams);
    REQUIRE(plan);
    if (const std::string w = wrong(*plan, data, streams); !w.empty()) FAIL(w);
    for (node_id b = 0; b < nodes; ++b)
      for (const auto& w : plan->waits_of(b)) CHECK(w.waiter == b);
  }
}

TEST_CASE("a stream plan refuses what it cannot issue", "[graph]") {
  dag<> g;
  const std::array<edge, 1> backwards{edge{1, 0}};
  REQUIRE(g.build(2, backwards));
  const std::array<stream_id, 2> streams{0, 1};
  const auto late = hocket::graph::plan_streams(g, streams);
  REQUIRE_FALSE(late);
  CHECK(late.error() == hocket::error{hocket::errc::bad_order, 0, 1});
  CHECK(hocket::graph::plan_streams(g, std::span(streams).first(1)).error().code == hocket::errc::invalid_argument);
  const std::array<stream_id, 2> wild{0, 1u << 31};
  dag<> two;
  (void)two.append({});
  (void)two.append({});
  CHECK(hocket::graph::plan_streams(two, wild).error().code == hocket::errc::limit_exceeded);
  CHECK(hocket::graph::plan_streams(dag<>{}, std::span<const stream_id>{})->waits().empty());
}
