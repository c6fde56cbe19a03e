// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several edges erased, several groups fused: as one after the other, and all or nothing.
#include <hocket/core/message.hpp>
#include <hocket/graph/dag.hpp>
#include <hocket/testing/dense_index.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <random>
#include <vector>

#include "catch.hpp"

using hocket::errc;
using hocket::node_id;
using hocket::graph::dag;
using hocket::graph::edge;

namespace {

/// Everything that can be asked of a dag.
template <class Dag>
bool are_same(const Dag& a, const Dag& b) {
  if (a.node_count() != b.node_count() || a.edge_count() != b.edge_count()) return false;
  if (a.dropped_edges() != b.dropped_edges()) return false;
  for (node_id x = 0; x < a.node_count(); ++x) {
    if (!std::ranges::equal(a.upstream(x), b.upstream(x)) || a.fused_into(x) != b.fused_into(x)) return false;
    for (node_id y = 0; y < a.node_count(); ++y)
      if (a.reaches(x, y) != b.reaches(x, y)) return false;
  }
  return true;
}

struct made {
  std::vector<edge> edges;
  std::uint32_t nodes;
};
made random_edges(std::mt19937& random) {
  made out{{}, static_cast<std::uint32_t>(2 + random() % 12)};
  std::vector<node_id> order(out.nodes);
  for (node_id n = 0; n < out.nodes; ++n) order[n] = n;
  std::shuffle(order.begin(), order.end(), random);
  for (node_id a = 0; a < out.nodes; ++a)
    for (node_id b = a + 1; b < out.nodes; ++b)
      if (random() % 3 == 0) out.edges.push_back({order[a], order[b]});
  return out;
}
template <class Index>
dag<Index> dag_of(const made& x, bool logs) {
  dag<Index> g;
  if (logs) g.log_dropped_edges();
  REQUIRE(g.assign(x.nodes, x.edges));
  return g;
}

/// Disjoint groups of random nodes.
std::vector<std::vector<node_id>> random_groups(std::mt19937& random, std::uint32_t nodes) {
  std::vector<std::vector<node_id>> groups(1 + random() % 3);
  for (node_id n = 0; n < nodes; ++n)
    if (const std::size_t g = random() % (groups.size() + 2); g < groups.size()) groups[g].push_back(n);
  std::erase_if(groups, [](const std::vector<node_id>& group) { return group.empty(); });
  for (auto& group : groups) std::shuffle(group.begin(), group.end(), random);
  return groups;
}

template <class Index>
void erase_at_once(std::mt19937& random) {
  const made x = random_edges(random);
  dag<Index> g = dag_of<Index>(x, true), one_by_one = dag_of<Index>(x, true);
  std::vector<edge> some;
  for (const edge& e : x.edges)
    if (random() % 2 == 0) some.push_back(e);
  std::shuffle(some.begin(), some.end(), random);
  const auto before = g.snapshot();
  std::vector<edge> wrong = some;
  const edge last{0, x.nodes + 7};
  wrong.push_back(random() % 2 == 0 || some.empty() ? last : some.front());
  const auto refused = g.erase_edges(wrong);
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == hocket::error{errc::no_such_edge, wrong.back().source, wrong.back().target});
  CHECK(are_same(g, one_by_one));
  REQUIRE(g.erase_edges(some));
  for (const edge& e : some) REQUIRE(one_by_one.erase_edge(e.source, e.target));
  CHECK(are_same(g, one_by_one));
  REQUIRE(g.rollback(before));
  CHECK(are_same(g, dag_of<Index>(x, true)));
}

/// @return whether the groups could be fused
template <class Index>
bool fuse_at_once(std::mt19937& random, bool logs) {
  const made x = random_edges(random);
  const auto groups = random_groups(random, x.nodes);
  dag<Index> g = dag_of<Index>(x, logs), one_by_one = dag_of<Index>(x, logs);
  bool possible = true;
  for (const auto& group : groups) possible = possible && one_by_one.contract(group).has_value();
  const auto before = g.snapshot();
  std::pmr::vector<node_id> cycle;
  const auto fused = g.contract_all(groups, &cycle);
  REQUIRE(fused.has_value() == possible);
  if (possible) {
    CHECK(are_same(g, one_by_one));
    REQUIRE(g.rollback(before));
  }
  CHECK(are_same(g, dag_of<Index>(x, logs)));
  if (possible) return true;
  CHECK(fused.error().code == errc::fusion_closes_cycle);
  const auto group_of = [&](node_id n) {
    for (const auto& group : groups)
      if (std::find(group.begin(), group.end(), n) != group.end()) return *std::min_element(group.begin(), group.end());
    return n;
  };
  const auto& said = fused.error().values;
  CHECK(said[0] != said[2]);
  CHECK(group_of(static_cast<node_id>(said[0])) == group_of(static_cast<node_id>(said[2])));
  REQUIRE(cycle.size() >= 2);
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const node_id here = cycle[i], next = cycle[(i + 1) % cycle.size()];
    CHECK(group_of(here) == here);
    const auto leads = [&](const edge& e) { return group_of(e.source) == here && group_of(e.target) == next; };
    CHECK(std::any_of(x.edges.begin(), x.edges.end(), leads));
  }
  return false;
}

}  // namespace

TEST_CASE("edges taken back together are taken back as one by one", "[graph]") {
  std::mt19937 random(3);
  for (int n = 0; n < 300; ++n) {
    erase_at_once<hocket::graph::persistent_index>(random);
    erase_at_once<hocket::testing::dense_index>(random);
  }
  dag<> g;
  CHECK(g.erase_edges({}));
  CHECK(g.erase_edges(std::vector<edge>{{0, 1}}).error().code == errc::dropped_edges_not_logged);
}

TEST_CASE("groups fused together are fused as one by one", "[graph]") {
  std::mt19937 random(4);
  int fused = 0;
  for (int n = 0; n < 600; ++n) {
    fused += fuse_at_once<hocket::graph::persistent_index>(random, n % 2 == 0) ? 1 : 0;
    fused += fuse_at_once<hocket::testing::dense_index>(random, n % 2 == 0) ? 1 : 0;
  }
  CHECK((fused > 200 && fused < 1000));
}

TEST_CASE("groups that are none are refused, and the graph is as before", "[graph]") {
  const made x{{{0, 1}, {1, 2}, {2, 3}}, 4};
  dag<> g = dag_of<hocket::graph::persistent_index>(x, false);
  using lists = std::vector<std::vector<node_id>>;
  CHECK(message(g.contract_all(lists{{0, 1}, {1, 2}}).error()) == "a node of two groups: 1 is not allowed here");
  CHECK(g.contract_all(lists{{0, 1}, {}}).error().code == errc::invalid_argument);
  CHECK(g.contract_all(lists{{0, 4}}).error().code == errc::unknown_node);
  CHECK(message(g.contract_all(lists{{0, 2}}).error()) ==
        "nodes 0 and 2 cannot be fused: node 1 runs between them and is not fused with them");
  CHECK(are_same(g, dag_of<hocket::graph::persistent_index>(x, false)));
  CHECK(g.contract_all(lists{{3}, {0, 0}}));
  REQUIRE(g.contract_all(lists{{3, 2}, {0, 1}}));
  CHECK(g.fused_into(3) == 2);
  CHECK(g.contract_all(lists{{3}}).error().code == errc::unknown_node);
  CHECK(g.edge_count() == 1);
}
