// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/graph/access.hpp>
#include <hocket/graph/dag.hpp>
#include <hocket/graph/edge_list.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// The host's own edges as a dag: their closure, and the edges that are worth keeping.
/// @param host   a graph whose policy satisfies successors_policy; nodes may be in any order
/// @param cycle  if given and there is a cycle: its nodes, smallest first
/// @return errc::cycle, errc::self_edge; errc::unknown_node if the policy reports a node outside [0, node_count);
///         errc::limit_exceeded
/// Complexity: as dag::build.
///
///     const auto g = hocket::graph::make_dag(std::vector<std::vector<int>>{{1, 2}, {2}, {}});   // 0 -> 2 is redundant
template <reachability_index Index = auto_index, class G, class Policy = graph_access<G>>
[[nodiscard]] result<dag<Index>> make_dag(const G& host, const Policy& policy = {},
                                          std::vector<node_id>* cycle = nullptr) {
  const result<std::vector<edge>> edges = graph::edge_list(host, policy);
  if (!edges) return edges.error();
  dag<Index> g;
  if (const result<void> built = g.build(static_cast<std::size_t>(policy.node_count(host)), *edges, cycle); !built)
    return built.error();
  return g;
}

}  // namespace hocket::inline HOCKET_ABI::graph
