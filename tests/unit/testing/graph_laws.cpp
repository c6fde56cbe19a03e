// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For each law of a dag there is a graph, or an index, that breaks it, and is told so.
#include <hocket/testing/graph_laws.hpp>

#include <hocket/testing/dense_index.hpp>

#include <array>
#include <string>
#include <vector>

#include "catch.hpp"

namespace wrong_dag {
namespace {

using hocket::node_id;
using hocket::graph::dag;
using hocket::graph::edge;
using hocket::testing::broken_law;
using hocket::testing::graph_oracle;
using hocket::testing::is_cycle;
using edges = std::vector<edge>;

/// Wrong about one pair.
struct lying_index : hocket::testing::dense_index {
  using dense_index::dense_index;
  static inline std::array<node_id, 2> wrong{};

  [[nodiscard]] bool reaches(node_id a, node_id b) const noexcept {
    return dense_index::reaches(a, b) != (a == wrong[0] && b == wrong[1]);
  }
};
/// Counts one ancestor too many for a node.
struct miscounting_index : hocket::testing::dense_index {
  using dense_index::dense_index;
  static inline node_id wrong = hocket::no_id;

  [[nodiscard]] std::size_t ancestor_count(node_id b) const noexcept {
    return dense_index::ancestor_count(b) + (b == wrong ? 1 : 0);
  }
};

template <class Index = hocket::testing::dense_index>
dag<Index> built(std::size_t nodes, const edges& offered) {
  dag<Index> g;
  REQUIRE(g.assign(nodes, offered));
  return g;
}

}  // namespace
}  // namespace wrong_dag

using namespace wrong_dag;

TEST_CASE("a dag is compared with the edges that were offered to it", "[testing]") {
  const edges diamond{{0, 1}, {0, 2}, {1, 3}, {2, 3}};
  const auto g = built(4, diamond);
  CHECK(broken_law(g, graph_oracle(4, diamond)).empty());
  CHECK(broken_law(g, graph_oracle(4, edges{{0, 1}, {0, 2}, {1, 3}, {2, 3}, {0, 3}})).empty());  // a redundant one
  CHECK(broken_law(g, graph_oracle(5, diamond)) == "node_count is 4");
  CHECK(broken_law(g, graph_oracle(4, edges{{0, 1}, {0, 2}, {1, 3}})) ==
        "kept, but redundant or never offered: 2 -> 3");
  CHECK(broken_law(g, graph_oracle(4, edges{{0, 1}, {1, 2}, {2, 3}})) ==
        "kept, but redundant or never offered: 0 -> 2");
  CHECK(broken_law(built(4, {{0, 1}, {0, 2}, {1, 3}}), graph_oracle(4, diamond)) ==
        "an edge of the transitive reduction is missing, or edges() is not sorted");
}

TEST_CASE("an index that is wrong about a pair is found", "[testing]") {
  const edges chain{{0, 1}, {1, 2}, {2, 3}};
  const auto g = built<lying_index>(4, chain);
  const graph_oracle truth(4, chain);
  const auto told = [&](node_id a, node_id b) {
    lying_index::wrong = {a, b};
    const std::string law = broken_law(g, truth);
    lying_index::wrong = {0, 0};
    return law;
  };
  CHECK(broken_law(g, truth) == "false order 0 -> 0");
  lying_index::wrong = {hocket::no_id, 0};
  CHECK(broken_law(g, truth).empty());
  CHECK(told(1, 2) == "the invariants of the graph's lists or index");  // the order of a kept edge
  CHECK(told(0, 2) == "ordered 2 -> 0");
  CHECK(told(3, 1) == "false order 3 -> 1");
  CHECK(told(3, 3) == "false order 3 -> 3");

  const edges downwards{{3, 2}, {2, 1}, {1, 0}};
  const auto h = built<lying_index>(4, downwards);
  lying_index::wrong = {3, 0};
  CHECK(broken_law(h, graph_oracle(4, downwards)) == "missing order 3 -> 0");
}

TEST_CASE("an index that counts wrongly is found", "[testing]") {
  const edges chain{{0, 1}, {1, 2}};
  const auto g = built<miscounting_index>(3, chain);
  CHECK(broken_law(g, graph_oracle(3, chain)).empty());
  miscounting_index::wrong = 2;
  CHECK(broken_law(g, graph_oracle(3, chain)) == "ancestor_count of 2");
  miscounting_index::wrong = hocket::no_id;
}

TEST_CASE("a cycle is told from what is none", "[testing]") {
  const edges offered{{0, 1}, {1, 2}, {2, 0}, {2, 1}};
  const auto is = [&](std::vector<node_id> nodes) { return is_cycle(nodes, offered); };
  CHECK(is({0, 1, 2}));
  CHECK(is({1, 2}));
  CHECK_FALSE(is({}));
  CHECK_FALSE(is({1, 2, 0}));     // the smallest is not in front
  CHECK_FALSE(is({0, 2, 1}));     // against the edges
  CHECK_FALSE(is({0, 1}));        // no edge back
  CHECK_FALSE(is({1, 2, 1, 2}));  // round twice
}
