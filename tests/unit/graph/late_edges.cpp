// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Edges that come one by one, in any order: the answers against bit rows and the oracle, the memory against an index
// that is built at once.
#include <hocket/graph/dag.hpp>
#include <hocket/testing/dense_index.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "catch.hpp"

using hocket::node_id;
using hocket::graph::dag;
using hocket::graph::edge;
using hocket::graph::persistent_index;
using hocket::testing::broken_law;
using hocket::testing::dense_index;
using hocket::testing::graph_oracle;
using hocket::testing::random_source;

namespace {

template <class T>
void shuffle(std::vector<T>& list, random_source& random) {
  for (std::size_t i = list.size(); i > 1; --i)
    std::swap(list[i - 1], list[random.below(static_cast<std::uint32_t>(i))]);
}

// Edges of a program: mostly from the op before, some from anywhere. Shuffled; with `renamed`, its ids are, too.
std::vector<edge> late_program(node_id nodes, bool renamed, random_source& random) {
  std::vector<edge> edges;
  for (node_id b = 1; b < nodes; ++b) {
    edges.push_back({b - 1 - (b > 1 && random.below(4) == 0 ? 1 : 0), b});
    if (random.below(2) == 0) edges.push_back({random.below(b), b});
  }
  if (renamed) {
    std::vector<node_id> name(nodes);
    for (node_id n = 0; n < nodes; ++n) name[n] = n;
    shuffle(name, random);
    for (edge& e : edges) e = {name[e.source], name[e.target]};
  }
  shuffle(edges, random);
  return edges;
}

template <class Index>
dag<Index> one_by_one(node_id nodes, std::span<const edge> edges) {
  dag<Index> g;
  for (node_id n = 0; n < nodes; ++n) (void)g.append({});
  for (const edge& e : edges) (void)g.add_edge(e.source, e.target);
  return g;
}

}  // namespace

TEST_CASE("late edges in random orders: every law", "[graph]") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    random_source random(seed);
    const node_id nodes = 20 + random.below(80);
    const std::vector<edge> edges = late_program(nodes, seed % 2 == 0, random);
    const graph_oracle oracle(nodes, edges);
    CHECK(broken_law(one_by_one<persistent_index>(nodes, edges), oracle).empty());
    CHECK(broken_law(one_by_one<dense_index>(nodes, edges), oracle).empty());
  }
}

TEST_CASE("an index without nodes can be cut to none", "[graph]") {
  persistent_index i;
  i.truncate(0);
  CHECK(i.size() == 0);
  CHECK(i.check_invariants());
}

TEST_CASE("late edges between appends, over several windows", "[graph]") {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    random_source random(seed);
    dag<dense_index> dense;
    dag<persistent_index> persistent;
    std::size_t wrong = 0;
    for (node_id b = 0; b < 1'400; ++b) {
      std::vector<node_id> preds;
      for (std::uint32_t k = b == 0 ? 0 : random.below(3); k != 0; --k)
        preds.push_back(b - 1 - random.below(random.below(5) == 0 ? b : (b < 9 ? b : 9)));
      REQUIRE(dense.append(preds));
      REQUIRE(persistent.append(preds));
      for (std::uint64_t k = seed % 3; k != 0 && b > 0; --k) {
        const node_id x = random.below(b + 1), y = random.below(b + 1);
        wrong += dense.add_edge(x, y) != persistent.add_edge(x, y) ? 1u : 0u;
      }
    }
    CHECK(persistent.index().check_invariants());
    CHECK(dense.edges() == persistent.edges());
    CHECK(dense.reachable_pairs() == persistent.reachable_pairs());
    for (int i = 0; i < 100'000; ++i) {
      const node_id a = random.below(1'400), b = random.below(1'400);
      wrong += dense.reaches(a, b) != persistent.reaches(a, b) ? 1u : 0u;
    }
    CHECK(wrong == 0);
  }
}

// Without a dag nobody rebuilds: the index must be right all the same when its bits for late edges are used up.
TEST_CASE("late edges: an index that nobody rebuilds", "[graph]") {
  random_source random(3);
  constexpr node_id nodes = 700;
  dense_index dense;
  persistent_index persistent;
  for (node_id b = 0; b < nodes; ++b) {
    (void)dense.reduce(b, {});
    dense.commit(b);
    (void)persistent.reduce(b, {});
    persistent.commit(b);
  }
  std::size_t links = 0, wrong = 0;
  for (int i = 0; i < 900; ++i) {
    const node_id a = random.below(nodes), b = random.below(nodes);
    if (a == b || dense.reaches(a, b) || dense.reaches(b, a)) continue;
    std::vector<node_id> affected;
    for (node_id d = 0; d < nodes; ++d)
      if ((d == b || dense.reaches(b, d)) && !dense.reaches(a, d)) affected.push_back(d);
    dense.link(a, affected);
    persistent.link(a, affected);
    ++links;
  }
  for (node_id a = 0; a < nodes; ++a)
    for (node_id b = 0; b < nodes; ++b) wrong += dense.reaches(a, b) != persistent.reaches(a, b) ? 1u : 0u;
  CHECK(wrong == 0);
  CHECK(links > 2 * persistent_index::late_edge_limit);
  CHECK(persistent.wants_rebuild());
  CHECK(persistent.check_invariants());
  CHECK(dense.reachable_pairs() == persistent.reachable_pairs());
}

TEST_CASE("late edges take at most twice the memory of an index built at once", "[graph]") {
  for (const bool renamed : {false, true}) {
    random_source random(9);
    constexpr node_id nodes = 3'501;
    const std::vector<edge> edges = late_program(nodes, renamed, random);
    const dag<persistent_index> late = one_by_one<persistent_index>(nodes, edges);
    const dag<persistent_index> at_once = dag<persistent_index>::make(nodes, edges).value();
    CHECK(late.edges() == at_once.edges());
    CHECK(late.reachable_pairs() == at_once.reachable_pairs());
    CHECK(late.index().bytes() <= 2 * at_once.index().bytes());
    const dag<persistent_index> copy = late;
    CHECK(copy.index().bytes() <= 2 * at_once.index().bytes());
  }
}

TEST_CASE("late edges after a build take at most twice the memory", "[graph]") {
  random_source random(10);
  constexpr node_id nodes = 8'000;
  dag<persistent_index> g = dag<persistent_index>::make(nodes, late_program(nodes, false, random)).value();
  std::vector<edge> all = g.edges();
  for (int i = 0; i < 10'000; ++i) {
    const node_id b = 1 + random.below(nodes - 1), a = random.below(b);
    (void)g.add_edge(a, b);
    all.push_back({a, b});
  }
  const dag<persistent_index> at_once = dag<persistent_index>::make(nodes, all).value();
  CHECK(g.edges() == at_once.edges());
  CHECK(g.index().bytes() <= 2 * at_once.index().bytes());
}
