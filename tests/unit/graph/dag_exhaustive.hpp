// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All small graphs, in every order: there is nowhere for a mistake of principle to hide. One source per index.
#pragma once
#include <hocket/graph/dag.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"

namespace exhaustive {

using hocket::node_id;
using hocket::graph::dag;
using hocket::graph::edge;
using hocket::graph::edge_status;
using hocket::testing::broken_law;
using hocket::testing::graph_oracle;

// Every ordered pair of distinct nodes.
inline std::vector<edge> all_pairs(node_id nodes) {
  std::vector<edge> pairs;
  for (node_id a = 0; a < nodes; ++a)
    for (node_id b = 0; b < nodes; ++b)
      if (a != b) pairs.push_back({a, b});
  return pairs;
}

inline std::vector<edge> subset(const std::vector<edge>& pairs, unsigned mask) {
  std::vector<edge> edges;
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if ((mask >> i & 1u) != 0) edges.push_back(pairs[i]);
  return edges;
}

template <class Index>
std::string state(const dag<Index>& g) {
  std::string s;
  for (node_id a = 0; a < g.node_count(); ++a) {
    for (const node_id b : g.downstream(a)) s += std::to_string(b) + ' ';
    s += '<';
    for (const node_id b : g.upstream(a)) s += std::to_string(b) + ' ';
    s += ';';
    for (node_id b = 0; b < g.node_count(); ++b) s += g.reaches(a, b) ? '1' : '0';
  }
  return s + std::to_string(g.edge_count());
}

inline edge_status expected(const graph_oracle& oracle, edge e) {
  if (e.source == e.target) return edge_status::self;
  if (oracle.reaches(e.target, e.source)) return edge_status::cycle;
  if (!oracle.reaches(e.source, e.target)) return edge_status::added;
  const std::vector<edge> kept = oracle.reduction();
  return std::find(kept.begin(), kept.end(), e) != kept.end() ? edge_status::duplicate : edge_status::redundant;
}

template <class Index>
std::size_t every_insertion_order(node_id most) {
  std::size_t sequences = 0;
  for (node_id nodes = 1; nodes <= most; ++nodes) {
    const std::vector<edge> pairs = all_pairs(nodes);
    for (unsigned mask = 0; mask < 1u << pairs.size(); ++mask) {
      std::vector<edge> edges = subset(pairs, mask);
      const graph_oracle oracle(nodes, edges);
      if (oracle.has_cycle()) continue;
      do {
        dag<Index> g;
        for (node_id n = 0; n < nodes; ++n) REQUIRE(g.append({}).value() == n);
        for (std::size_t i = 0; i < edges.size(); ++i) {
          const std::vector<edge> before(edges.begin(), edges.begin() + static_cast<std::ptrdiff_t>(i));
          const edge_status status = g.add_edge(edges[i].source, edges[i].target);
          if (status != expected(graph_oracle(nodes, before), edges[i])) FAIL("status of an edge");
        }
        ++sequences;
        if (const std::string law = broken_law(g, oracle); !law.empty()) FAIL(law);
      } while (std::next_permutation(edges.begin(), edges.end()));
    }
  }
  return sequences;
}

template <class Index>
std::size_t every_dag_by_build(node_id nodes) {
  const std::vector<edge> pairs = all_pairs(nodes);
  std::size_t dags = 0;
  dag<Index> g;
  for (unsigned mask = 0; mask < 1u << pairs.size(); ++mask) {
    // Cheap test first: of the 2^20 graphs on 5 nodes 29,281 are acyclic.
    unsigned in[5] = {};
    for (std::size_t i = 0; i < pairs.size(); ++i)
      if ((mask >> i & 1u) != 0) in[pairs[i].target] |= 1u << pairs[i].source;
    unsigned left = (1u << nodes) - 1;
    for (bool moved = true; moved;) {
      moved = false;
      for (node_id b = 0; b < nodes; ++b)
        if ((left >> b & 1u) != 0 && (in[b] & left) == 0) {
          left &= ~(1u << b);
          moved = true;
        }
    }
    if (left != 0) continue;
    ++dags;
    const std::vector<edge> edges = subset(pairs, mask);
    REQUIRE(g.assign(nodes, edges));
    if (const std::string law = broken_law(g, graph_oracle(nodes, edges)); !law.empty()) FAIL(law);
  }
  const std::size_t labelled_dags[] = {1, 1, 3, 25, 543, 29281};  // OEIS A003024
  CHECK(dags == labelled_dags[nodes]);
  return dags;
}

// Program order: every way to choose predecessors among earlier nodes, offered ascending, descending and twice.
template <class Index>
std::size_t every_program(node_id nodes) {
  const unsigned programs = 1u << (nodes * (nodes - 1) / 2);
  for (unsigned mask = 0; mask < programs; ++mask) {
    for (int order = 0; order < 3; ++order) {
      dag<Index> g;
      std::vector<edge> edges;
      unsigned bits = mask;
      for (node_id b = 0; b < nodes; ++b) {
        std::vector<node_id> preds;
        for (node_id a = 0; a < b; ++a, bits >>= 1)
          if ((bits & 1u) != 0) {
            preds.push_back(a);
            edges.push_back({a, b});
          }
        if (order >= 1) std::reverse(preds.begin(), preds.end());
        if (order == 2) preds.insert(preds.end(), preds.begin(), preds.end());
        REQUIRE(g.append(preds).value() == b);
      }
      if (const std::string law = broken_law(g, graph_oracle(nodes, edges)); !law.empty()) FAIL(law);
    }
  }
  return std::size_t{3} * programs;
}

template <class Index>
std::size_t every_cyclic_graph(node_id most) {
  std::size_t cyclic = 0;
  for (node_id nodes = 2; nodes <= most; ++nodes) {
    const std::vector<edge> pairs = all_pairs(nodes);
    for (unsigned mask = 0; mask < 1u << pairs.size(); ++mask) {
      const std::vector<edge> edges = subset(pairs, mask);
      if (!graph_oracle(nodes, edges).has_cycle()) continue;
      ++cyclic;
      dag<Index> g;
      (void)g.append({});
      (void)g.append(std::vector<node_id>{0});
      const std::string before = state(g);
      std::pmr::vector<node_id> cycle;
      const auto r = g.assign(nodes, edges, &cycle);
      REQUIRE_FALSE(r);
      CHECK(r.error().code == hocket::errc::cycle);
      if (!hocket::testing::is_cycle(cycle, edges)) FAIL("the witness is no cycle");
      CHECK((r.error().values[0] == cycle.back() && r.error().values[1] == cycle.front()));
      CHECK(state(g) == before);
    }
  }
  CHECK(cyclic == 1u + (64 - 25) + (4096 - 543));
  return cyclic;
}

// After every prefix of every insertion order of 4 nodes, each edge that must be rejected is, and nothing moves.
template <class Index>
std::size_t every_rejection() {
  const std::vector<edge> pairs = all_pairs(4);
  std::size_t rejected = 0;
  for (unsigned mask = 0; mask < 1u << pairs.size(); ++mask) {
    const std::vector<edge> edges = subset(pairs, mask);
    const graph_oracle oracle(4, edges);
    if (oracle.has_cycle()) continue;
    dag<Index> g;
    REQUIRE(g.assign(4, edges));
    const std::string before = state(g);
    for (node_id a = 0; a < 5; ++a) {
      for (node_id b = 0; b < 5; ++b) {
        edge_status want = edge_status::unknown_node;
        if (a < 4 && b < 4) want = expected(oracle, {a, b});
        if (want == edge_status::added) continue;
        CHECK(g.add_edge(a, b) == want);
        if (want == edge_status::cycle) {
          const std::vector<node_id> witness = g.path(b, a);
          CHECK((witness.front() == b && witness.back() == a));
        }
        ++rejected;
      }
    }
    CHECK(state(g) == before);
  }
  return rejected;
}

// Counted by another program: 35,820 orders of insertion, 3,593 cyclic graphs, 12,027 rejections, 29,854 labelled DAGs,
// 3,300 programs.
inline constexpr std::size_t all_cases = 84'594;

// The number of cases checked: sequences of late edges, whole graphs, programs, cyclic graphs, rejected edges.
template <class Index>
std::size_t everything() {
  std::size_t cases = every_insertion_order<Index>(4) + every_cyclic_graph<Index>(4) + every_rejection<Index>();
  for (node_id n = 0; n <= 5; ++n) cases += every_dag_by_build<Index>(n) + every_program<Index>(n);
  return cases;
}

}  // namespace exhaustive
