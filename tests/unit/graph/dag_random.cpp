// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/graph/dag.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"

using hocket::node_id;
using hocket::graph::dag;
using hocket::graph::edge;
using hocket::graph::edge_status;
using hocket::testing::broken_law;
using hocket::testing::graph_oracle;
using hocket::testing::random_source;

namespace {

void shuffle(std::vector<node_id>& v, random_source& random) {
  for (std::size_t i = v.size(); i > 1; --i) std::swap(v[i - 1], v[random.below(i)]);
}

// Random edges over a hidden order of the nodes, so that ids say nothing about direction.
std::vector<edge> random_edges(node_id nodes, std::size_t count, random_source& random) {
  std::vector<node_id> hidden(nodes);
  for (node_id n = 0; n < nodes; ++n) hidden[n] = n;
  shuffle(hidden, random);
  std::vector<edge> edges;
  for (std::size_t i = 0; i < count; ++i) {
    const node_id x = random.below(nodes), y = random.below(nodes);
    if (x != y) edges.push_back({hidden[std::min(x, y)], hidden[std::max(x, y)]});
  }
  return edges;
}

}  // namespace

// Up to 150 nodes: rows of several words, of different widths, widened by late edges.
TEST_CASE("random graphs: late edges, one build, and edges after a build agree with the oracle", "[graph]") {
  random_source random(7);
  for (int round = 0; round < 60; ++round) {
    const node_id nodes = 2 + random.below(150);
    const std::vector<edge> edges = random_edges(nodes, random.below(4 * nodes), random);
    const graph_oracle oracle(nodes, edges);

    dag<> one_by_one;
    for (node_id n = 0; n < nodes; ++n) (void)one_by_one.append({});
    for (const edge& e : edges) REQUIRE(holds(one_by_one.add_edge(e.source, e.target)));
    if (const std::string law = broken_law(one_by_one, oracle); !law.empty()) FAIL(law);

    dag<> at_once;
    REQUIRE(at_once.assign(nodes, edges));
    if (const std::string law = broken_law(at_once, oracle); !law.empty()) FAIL(law);

    dag<> half;
    REQUIRE(half.assign(nodes, std::span(edges).first(edges.size() / 2)));
    for (std::size_t i = edges.size() / 2; i < edges.size(); ++i)
      REQUIRE(holds(half.add_edge(edges[i].source, edges[i].target)));
    CHECK(half.edges() == at_once.edges());
  }
}

TEST_CASE("appending to a graph whose ids are in no topological order stays exact", "[graph]") {
  random_source random(8);
  for (int round = 0; round < 100; ++round) {
    node_id nodes = 2 + random.below(60);
    std::vector<edge> edges = random_edges(nodes, random.below(3 * nodes), random);
    dag<> g;
    REQUIRE(g.assign(nodes, edges));
    for (int more = 0; more < 10; ++more, ++nodes) {
      std::vector<node_id> preds;
      for (std::uint32_t k = random.below(6); k-- > 0;) preds.push_back(random.below(nodes));
      for (const node_id p : preds) edges.push_back({p, nodes});
      REQUIRE(g.append(preds).value() == nodes);
    }
    if (const std::string law = broken_law(g, graph_oracle(nodes, edges)); !law.empty()) FAIL(law);
  }
}

TEST_CASE("copies are independent, moves leave an empty graph, clear allows a new start", "[graph]") {
  dag<> g;
  const std::vector<edge> edges{{2, 0}, {0, 1}, {2, 1}};
  REQUIRE(g.assign(3, edges));
  dag<> copy = g;
  CHECK(copy.add_edge(1, 2) == edge_status::cycle);
  (void)copy.append(std::vector<node_id>{1});
  CHECK(copy.node_count() == 4);
  CHECK(g.node_count() == 3);
  dag<> moved = std::move(g);
  CHECK(moved.edge_count() == 2);
  CHECK(g.node_count() == 0);
  CHECK(g.edge_count() == 0);
  g = moved;
  CHECK(g.edges() == moved.edges());
  g.clear();
  CHECK(g.append({}).value() == 0);
  CHECK(broken_law(moved, graph_oracle(3, edges)).empty());
}

TEST_CASE("a predecessor that is no earlier node is refused and nothing changes", "[graph]") {
  dag<> g;
  (void)g.append({});
  const auto r = g.append(std::vector<node_id>{0, 1});
  REQUIRE_FALSE(r);
  CHECK(r.error() == hocket::error{hocket::errc::bad_order, 1, 1});
  CHECK(g.node_count() == 1);
  CHECK(g.downstream(0).empty());
  const std::vector<edge> outside{{0, 3}}, self{{1, 1}};
  CHECK(g.assign(3, outside).error() == hocket::error{hocket::errc::unknown_node, 3, 3});
  std::pmr::vector<node_id> cycle;
  CHECK(g.assign(3, self, &cycle).error() == hocket::error{hocket::errc::self_edge, 1});
  CHECK(cycle == std::pmr::vector<node_id>{1});
  CHECK(g.node_count() == 1);
}
