// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs too large for the oracle: the reduction is unique, so two indexes that share no code must agree on everything.
#include <hocket/graph/dag.hpp>
#include <hocket/graph/detail/bit_tries.hpp>
#include <hocket/graph/persistent_index.hpp>
#include <hocket/testing/dense_index.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include "catch.hpp"

using hocket::node_id;
using hocket::graph::dag;
using hocket::graph::edge;
using hocket::graph::persistent_index;
using hocket::testing::dense_index;
using hocket::testing::random_source;

namespace {

template <class X, class Y>
bool same(const dag<X>& x, const dag<Y>& y, random_source& random) {
  if (x.node_count() != y.node_count() || x.edge_count() != y.edge_count() || x.edges() != y.edges()) return false;
  if (x.reachable_pairs() != y.reachable_pairs()) return false;
  for (int i = 0; i < 200'000; ++i) {
    const node_id a = random.below(x.node_count()), b = random.below(x.node_count());
    if (x.reaches(a, b) != y.reaches(a, b)) return false;
  }
  for (node_id b = 0; b < x.node_count(); b += 97)
    if (x.ancestor_count(b) != y.ancestor_count(b)) return false;
  return true;
}

// Predecessors mostly near, sometimes anywhere: sets that share a lot and differ in several places.
std::vector<node_id> random_preds(node_id b, random_source& random) {
  std::vector<node_id> preds;
  if (b == 0 || random.below(20) == 0) return preds;
  for (std::uint32_t k = 1 + random.below(3); k-- > 0;)
    preds.push_back(random.below(8) == 0 ? random.below(b) : b - 1 - random.below(std::min<node_id>(b, 30)));
  return preds;
}

}  // namespace

TEST_CASE("program order, then late edges", "[graph]") {
  random_source random(41);
  constexpr node_id nodes = 3500;
  dag<dense_index> dense;
  dag<persistent_index> persistent;
  for (node_id b = 0; b < nodes; ++b) {
    const std::vector<node_id> preds = random_preds(b, random);
    REQUIRE(dense.append(preds));
    REQUIRE(persistent.append(preds));
    if (b == 1000) {  // edges against the numbering
      for (int i = 0; i < 50; ++i) {
        const node_id x = random.below(b), y = random.below(b);
        const auto status = dense.add_edge(x, y);
        REQUIRE(persistent.add_edge(x, y) == status);
      }
    }
  }
  CHECK(same(dense, persistent, random));
  std::size_t added = 0;
  for (int i = 0; i < 200; ++i) {
    const node_id x = random.below(nodes), y = random.below(nodes);
    const auto status = dense.add_edge(x, y);
    added += status == hocket::graph::edge_status::added ? 1u : 0u;
    REQUIRE(persistent.add_edge(x, y) == status);
  }
  CHECK(added > 0);
  CHECK(same(dense, persistent, random));

  const dag<persistent_index> copy = persistent;
  CHECK(same(copy, persistent, random));
  persistent.clear();
  REQUIRE(persistent.append({}));
  CHECK(copy.edge_count() == dense.edge_count());
}

TEST_CASE("one build of shuffled edges over shuffled ids", "[graph]") {
  random_source random(42);
  for (const node_id nodes : {node_id{600}, node_id{9000}}) {
    std::vector<node_id> hidden(nodes);
    for (node_id n = 0; n < nodes; ++n) hidden[n] = n;
    for (std::size_t i = nodes; i > 1; --i) std::swap(hidden[i - 1], hidden[random.below(i)]);
    std::vector<edge> edges;
    for (node_id b = 0; b < nodes; ++b)
      for (const node_id a : random_preds(b, random)) edges.push_back({hidden[a], hidden[b]});
    for (std::size_t i = edges.size(); i > 1; --i) std::swap(edges[i - 1], edges[random.below(i)]);
    dag<dense_index> dense;
    dag<persistent_index> persistent;
    REQUIRE(dense.assign(nodes, edges));
    REQUIRE(persistent.assign(nodes, edges));
    CHECK(same(dense, persistent, random));
  }
}

// Ancestors at both ends of a numbering of 200,000: three levels of inner blocks, sets of different heights united.
TEST_CASE("sets of every height", "[graph]") {
  constexpr node_id nodes = 200'000;
  dag<persistent_index> g;
  g.reserve(nodes);
  for (node_id b = 0; b < nodes; ++b) {
    std::vector<node_id> preds;
    if (b % 1000 == 999) preds = {b / 2, b - 1000 < b ? b - 1000 : 0, b % 777};
    preds.erase(std::remove_if(preds.begin(), preds.end(), [&](node_id p) { return p >= b; }), preds.end());
    REQUIRE(g.append(preds));
  }
  // A plain search backwards as the oracle.
  for (node_id b = 999; b < nodes; b += 39'000) {
    std::vector<bool> before(nodes);
    std::vector<node_id> stack{b};
    while (!stack.empty()) {
      const node_id x = stack.back();
      stack.pop_back();
      for (const node_id a : g.upstream(x))
        if (!before[a]) {
          before[a] = true;
          stack.push_back(a);
        }
    }
    std::size_t wrong = 0, count = 0;
    for (node_id a = 0; a < nodes; ++a) {
      wrong += g.reaches(a, b) != before[a] ? 1u : 0u;
      count += before[a] ? 1u : 0u;
    }
    CHECK(wrong == 0);
    CHECK(g.ancestor_count(b) == count);
    CHECK(count > 2);
  }
}

// More than one word of them, and 64 or 128 nodes exactly.
TEST_CASE("descendants are listed once, ascending, in graphs of any size", "[graph]") {
  hocket::testing::random_source random(24);
  for (const node_id nodes : {1u, 63u, 64u, 65u, 127u, 128u, 129u, 300u}) {
    hocket::graph::dag<> g;
    for (node_id b = 0; b < nodes; ++b)
      REQUIRE(g.append(b < 2 ? std::vector<node_id>{} : std::vector<node_id>{random.below(b), random.below(b)}));
    for (node_id a = 0; a < nodes; ++a) {
      std::vector<node_id> expected, listed;
      for (node_id b = 0; b < nodes; ++b)
        if (g.reaches(a, b)) expected.push_back(b);
      g.for_each_descendant(a, [&](node_id b) { listed.push_back(b); });
      CHECK(listed == expected);
      CHECK(g.descendant_count(a) == expected.size());
    }
  }
}

// Leaves and inner blocks have numbers of their own: that of a low trie may be that of a high one.
TEST_CASE("tries of different heights with the same number unite", "[graph]") {
  hocket::graph::detail::bit_tries tries(std::pmr::get_default_resource());
  tries.begin_set();
  const auto low = tries.insert({}, 5);
  tries.begin_set();
  const auto high = tries.insert({}, 600);
  REQUIRE((low.block == high.block && low.height < high.height));
  for (const bool low_first : {true, false}) {
    tries.begin_set();
    const auto both = low_first ? tries.merge(low, high) : tries.merge(high, low);
    CHECK((tries.has(both, 5) && tries.has(both, 600) && tries.count(both) == 2));
  }
}
