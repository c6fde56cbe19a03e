// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What every dag must obey, checked by the slowest and plainest means: so that a host can test its own index, its own
// graph_access or its own use of a dag in its own project, with any test framework.
#pragma once
#include <hocket/graph/dag.hpp>
#include <hocket/testing/random_source.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hocket::inline HOCKET_ABI::testing {

/// Reachability of a small graph by breadth-first search from each node: nothing shared with the library's own ways.
class graph_oracle {
 public:
  /// Precondition: ends < nodes. Cycles are allowed here; a node on a cycle reaches itself.
  graph_oracle(std::size_t nodes, std::span<const graph::edge> edges) : nodes_(nodes), reach_(nodes * nodes) {
    std::vector<std::vector<node_id>> out(nodes);
    for (const graph::edge& e : edges) out[e.source].push_back(e.target);
    std::vector<node_id> queue;
    for (std::size_t a = 0; a < nodes; ++a) {
      queue.assign(1, static_cast<node_id>(a));
      for (std::size_t i = 0; i < queue.size(); ++i)
        for (const node_id b : out[queue[i]])
          if (!reach_[a * nodes + b]) {
            reach_[a * nodes + b] = true;
            queue.push_back(b);
          }
    }
  }
  [[nodiscard]] std::size_t node_count() const noexcept { return nodes_; }
  [[nodiscard]] bool reaches(node_id a, node_id b) const { return reach_[a * nodes_ + b]; }
  [[nodiscard]] bool has_cycle() const {
    for (std::size_t a = 0; a < nodes_; ++a)
      if (reach_[a * nodes_ + a]) return true;
    return false;
  }
  /// The transitive reduction by its definition: a -> b with nothing in between. Sorted. Precondition: no cycle. O(n³).
  [[nodiscard]] std::vector<graph::edge> reduction() const {
    std::vector<graph::edge> kept;
    for (node_id a = 0; a < nodes_; ++a) {
      for (node_id b = 0; b < nodes_; ++b) {
        bool between = !reaches(a, b);
        for (node_id c = 0; c < nodes_ && !between; ++c) between = reaches(a, c) && reaches(c, b);
        if (!between) kept.push_back({a, b});
      }
    }
    return kept;
  }

 private:
  std::size_t nodes_;
  std::vector<bool> reach_;
};

/// Compares a dag with the edges that were offered to it (rejected ones left out): reachability of every pair, kept
/// edges, both directions of the lists, counts, sources, sinks, paths.
/// @return an empty string, or the first law that is broken
template <class Index>
[[nodiscard]] std::string broken_law(const graph::dag<Index>& g, const graph_oracle& oracle) {
  if (!g.check_invariants()) return "the invariants of the graph's lists or index";
  const auto pair = [](node_id a, node_id b) { return std::to_string(a) + " -> " + std::to_string(b); };
  const std::size_t nodes = oracle.node_count();
  if (g.node_count() != nodes) return "node_count is " + std::to_string(g.node_count());
  const std::vector<graph::edge> expected = oracle.reduction();
  if (g.edges() != expected) {
    for (const graph::edge& e : g.edges()) {
      bool found = false;
      for (const graph::edge& x : expected) found = found || x == e;
      if (!found) return "kept, but redundant or never offered: " + pair(e.source, e.target);
    }
    return "an edge of the transitive reduction is missing, or edges() is not sorted";
  }
  if (g.edge_count() != expected.size()) return "edge_count is " + std::to_string(g.edge_count());
  std::vector<std::vector<node_id>> ups(nodes);
  std::vector<bool> has_out(nodes);
  for (const graph::edge& e : expected) ups[e.target].push_back(e.source), has_out[e.source] = true;
  std::vector<node_id> sources, sinks, degrees;
  for (node_id b = 0; b < nodes; ++b) {
    const std::span<const node_id> upstream = g.upstream(b);
    if (ups[b] != std::vector<node_id>(upstream.begin(), upstream.end())) return "upstream of " + std::to_string(b);
    if (ups[b].empty()) sources.push_back(b);
    if (!has_out[b]) sinks.push_back(b);
    degrees.push_back(static_cast<node_id>(ups[b].size()));
    std::size_t ancestors = 0;
    for (node_id a = 0; a < nodes; ++a) {
      const bool truth = oracle.reaches(a, b);
      ancestors += truth ? 1u : 0u;
      if (g.reaches(a, b) != truth) return std::string(truth ? "missing order " : "false order ") + pair(a, b);
      if (g.ordered(a, b) != (truth || oracle.reaches(b, a))) return "ordered " + pair(a, b);
      if (g.would_cycle(a, b) != (a == b || oracle.reaches(b, a))) return "would_cycle " + pair(a, b);
      const std::vector<node_id> path = g.path(a, b);
      if (path.empty() != !truth) return "path " + pair(a, b);
      if (truth && (path.front() != a || path.back() != b || path.size() < 2)) return "ends of path " + pair(a, b);
      for (std::size_t i = 1; i < path.size(); ++i) {
        bool step = false;
        for (const node_id next : g.downstream(path[i - 1])) step = step || next == path[i];
        if (!step) return "step of path " + pair(a, b);
      }
    }
    if (g.ancestor_count(b) != ancestors) return "ancestor_count of " + std::to_string(b);
  }
  std::uint64_t pairs = 0;
  for (node_id b = 0; b < nodes; ++b) pairs += g.ancestor_count(b);
  if (g.reachable_pairs() != pairs) return "reachable_pairs";
  if (g.sources() != sources) return "sources";
  if (g.sinks() != sinks) return "sinks";
  if (g.in_degrees() != degrees) return "in_degrees";
  return {};
}

/// Is this a cycle of the offered edges: each node before the next, the last before the first, the smallest in front?
[[nodiscard]] inline bool is_cycle(std::span<const node_id> nodes, std::span<const graph::edge> edges) {
  if (nodes.empty()) return false;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] < nodes[0]) return false;
    const graph::edge step{nodes[i], nodes[(i + 1) % nodes.size()]};
    bool found = false;
    for (const graph::edge& e : edges) found = found || e == step;
    if (!found) return false;
    for (std::size_t j = 0; j < i; ++j)
      if (nodes[i] == nodes[j]) return false;
  }
  return true;
}

}  // namespace hocket::inline HOCKET_ABI::testing
