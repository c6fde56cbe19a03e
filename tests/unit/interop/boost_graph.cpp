// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A graph library as a host: vertices that are integers, and vertices that are pointers.
#include <hocket/graph/dag.hpp>
#include <hocket/interop/boost_graph.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <vector>

#include "catch.hpp"

using hocket::graph::edge;

TEST_CASE("a Boost graph with vertices in a vector", "[graph]") {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> g(4);
  add_edge(3, 0, g);
  add_edge(3, 1, g);
  add_edge(0, 1, g);
  add_edge(0, 1, g);
  const auto d = hocket::graph::dag<>::make(g);
  REQUIRE(d);
  const std::vector<edge> edges{{3, 0}, {3, 1}, {0, 1}};
  CHECK(hocket::testing::broken_law(*d, hocket::testing::graph_oracle(4, edges)).empty());
}

TEST_CASE("a Boost graph with vertices in a list and an index of its own", "[graph]") {
  using graph = boost::adjacency_list<boost::listS, boost::listS, boost::bidirectionalS,
                                      boost::property<boost::vertex_index_t, std::size_t>>;
  graph g;
  const auto a = add_vertex(0, g), b = add_vertex(1, g), c = add_vertex(2, g);
  add_edge(a, b, g);
  add_edge(b, c, g);
  add_edge(a, c, g);
  const auto d = hocket::graph::dag<>::make(g);
  REQUIRE(d);
  CHECK(d->edges() == std::vector<edge>{{0, 1}, {1, 2}});
  add_edge(c, a, g);
  CHECK(hocket::graph::dag<>::make(g).error().code == hocket::errc::cycle);
}
