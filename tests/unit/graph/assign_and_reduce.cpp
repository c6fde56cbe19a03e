// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/core/message.hpp>
#include <hocket/graph/assign_streams.hpp>
#include <hocket/graph/compare.hpp>
#include <hocket/graph/reachability_rows.hpp>
#include <hocket/graph/transitive_reduction.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "catch.hpp"

using hocket::node_id;
using hocket::stream_id;
using hocket::graph::dag;
using hocket::graph::edge;
using hocket::testing::graph_oracle;
using hocket::testing::random_source;

// 700 nodes: two windows of sources, so that a path may leave one window and come back in another.
TEST_CASE("the reduction without an index is that of the dag, in any order of ids", "[graph]") {
  random_source random(31);
  for (int round = 0; round < 6; ++round) {
    const node_id nodes = round < 3 ? 700 : 1 + random.below(90);
    std::vector<node_id> hidden(nodes);
    for (node_id n = 0; n < nodes; ++n) hidden[n] = n;
    if (round % 2 == 1)
      for (std::size_t i = nodes; i > 1; --i) std::swap(hidden[i - 1], hidden[random.below(i)]);
    std::vector<edge> edges;
    for (std::size_t i = 0; i < 3 * std::size_t{nodes}; ++i) {
      const node_id x = random.below(nodes), y = random.below(nodes);
      if (x != y) edges.push_back({hidden[std::min(x, y)], hidden[std::max(x, y)]});
    }
    const auto reduced = hocket::graph::transitive_reduction(nodes, edges);
    REQUIRE(reduced);
    dag<> g;
    REQUIRE(g.assign(nodes, edges));
    CHECK(reduced->kept == g.edges());
    std::uint64_t pairs = 0;
    for (node_id b = 0; b < nodes; ++b) pairs += g.ancestor_count(b);
    CHECK(reduced->reachable_pairs == pairs);
    if (nodes < 100) CHECK(reduced->kept == graph_oracle(nodes, edges).reduction());
  }
  std::pmr::vector<node_id> cycle;
  const std::vector<edge> bad{{3, 1}, {1, 2}, {2, 3}, {0, 3}};
  CHECK(hocket::graph::transitive_reduction(4, bad, &cycle).error().code == hocket::errc::cycle);
  CHECK(hocket::testing::is_cycle(cycle, bad));
  CHECK(hocket::graph::transitive_reduction(3, bad).error().code == hocket::errc::unknown_node);
  CHECK(hocket::graph::transitive_reduction(0, {})->kept.empty());
}

// 5,000 nodes, each after three of any age: sets that share nothing, so the index is given up halfway.
TEST_CASE("a reduction that gives its index up starts anew", "[graph]") {
  random_source random(32);
  constexpr node_id nodes = 5'000;
  std::vector<edge> edges;
  for (node_id b = 1; b < nodes; ++b)
    for (int k = 0; k < 3; ++k) edges.push_back({random.below(b), b});
  const auto reduced = hocket::graph::transitive_reduction(nodes, edges);
  REQUIRE(reduced);
  CHECK(reduced->bytes == nodes * std::size_t{4 + 4 + 8 + 64});  // rows of 512 bits, and no index
  dag<> g;
  REQUIRE(g.assign(nodes, edges));
  CHECK(reduced->kept == g.edges());
  CHECK(reduced->reachable_pairs == g.reachable_pairs());

  std::pmr::vector<node_id> cycle{7, 7};
  CHECK(hocket::graph::transitive_reduction(3, std::vector<edge>{{0, 1}, {2, 2}}, &cycle).error().code ==
        hocket::errc::self_edge);
  CHECK(cycle == std::pmr::vector<node_id>{2});
}

TEST_CASE("assigned streams: a chain stays on one, independent ops spread, the number is a bound", "[graph]") {
  dag<> chain, apart;
  for (node_id n = 0; n < 10; ++n) {
    (void)chain.append(n == 0 ? std::vector<node_id>{} : std::vector<node_id>{n - 1});
    (void)apart.append({});
  }
  CHECK(hocket::graph::assign_streams(chain, 4).value() == std::vector<stream_id>(10, 0));
  CHECK(hocket::graph::assign_streams(apart, 4).value() == std::vector<stream_id>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1});
  CHECK(hocket::graph::assign_streams(apart, 1).value() == std::vector<stream_id>(10, 0));
  CHECK(hocket::graph::assign_streams(apart, 0).error().code == hocket::errc::out_of_range);
  const std::vector<edge> backwards{{1, 0}};
  dag<> g;
  REQUIRE(g.assign(2, backwards));
  CHECK(hocket::graph::assign_streams(g, 2).error().code == hocket::errc::bad_order);
}

TEST_CASE("rows of reachability say what reaches does", "[graph]") {
  for (std::size_t nodes = 0; nodes < 200; ++nodes) {
    const std::size_t words = hocket::graph::words_of_row(nodes);
    CHECK((64 * words >= nodes && 64 * words < nodes + 64));
  }
  hocket::testing::random_source random(45);
  for (int round = 0; round < 150; ++round) {
    const node_id nodes = random.below(150);
    hocket::graph::dag<> g;
    for (node_id i = 0; i < nodes; ++i) REQUIRE(g.append({}));
    for (node_id i = 0; i < 2 * nodes; ++i)  // in any direction, so that ids are no topological order
      static_cast<void>(g.add_edge(random.below(nodes), random.below(nodes)));
    if (nodes > 2) static_cast<void>(g.contract(std::vector<node_id>{0, random.below(nodes)}));
    const std::size_t words = hocket::graph::words_of_row(nodes);
    std::vector<std::uint64_t> rows(nodes * words, ~std::uint64_t{0});
    hocket::graph::reachability_rows(g, rows);
    std::size_t wrong = 0;
    for (node_id a = 0; a < nodes; ++a)
      for (node_id b = 0; b < 64 * words; ++b) {
        const bool bit = (rows[a * words + b / 64] >> (b % 64) & 1u) != 0;
        wrong += bit != (b < nodes && g.reaches(a, b)) ? 1u : 0u;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("edges may be pairs, tuples or arrays of integers", "[graph]") {
  const std::vector<edge> edges{{0, 1}, {1, 2}, {0, 2}};
  const std::vector<std::pair<int, int>> pairs{{0, 1}, {1, 2}, {0, 2}};
  const std::vector<std::tuple<std::size_t, unsigned>> tuples{{0, 1}, {1, 2}, {0, 2}};
  const std::array<std::array<std::int64_t, 2>, 3> arrays{{{0, 1}, {1, 2}, {0, 2}}};
  const auto expected = dag<>::make(3, edges).value();
  CHECK(dag<>::make(3, pairs).value().edges() == expected.edges());
  CHECK(dag<>::make(3, tuples).value().edges() == expected.edges());
  CHECK(dag<>::make(3, arrays).value().edges() == expected.edges());
  CHECK(hocket::graph::transitive_reduction(3, pairs)->kept == expected.edges());
  CHECK(hocket::graph::compare(expected, pairs)->missing == 0);
  dag<> g;
  REQUIRE(g.assign(3, pairs));
  CHECK(g.edges() == expected.edges());

  // What does not fit an id is refused, not cut off; and the graph is what it was.
  using wide = std::vector<std::pair<std::int64_t, std::int64_t>>;
  const auto wrong = g.assign(3, wide{{0, 1}, {(std::int64_t{1} << 32) + 1, 2}});
  CHECK(hocket::message(wrong.error()) == "node 4294967297 does not exist: the graph has 3 nodes");
  CHECK(hocket::message(dag<>::make(3, wide{{0, -1}}).error()) == "node -1 does not exist: the graph has 3 nodes");
  CHECK(g.edges() == expected.edges());
  std::pmr::vector<node_id> cycle;
  CHECK(dag<>::make(2, wide{{0, 1}, {1, 0}}, &cycle).error().code == hocket::errc::cycle);
  CHECK(cycle == std::pmr::vector<node_id>{0, 1});
}
