// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/graph/access.hpp>
#include <hocket/graph/detail/required_members.hpp>
#include <hocket/graph/edge.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// The edges of a host graph as the policy reports them, nothing left out and nothing checked but the ids.
/// @param host  a graph whose policy satisfies predecessors_policy or successors_policy; nodes may be in any order
/// @return errc::unknown_node if the policy reports a node outside [0, node_count)
/// Complexity: linear in nodes and edges.
///
///     graph::edge_list(std::vector<std::vector<int>>{{1, 2}, {2}, {}})->size() == 3;
template <class G, class Policy = graph_access<G>>
[[nodiscard]] result<std::vector<edge>> edge_list(const G& host, const Policy& policy = {}) {
  detail::require_edges<Policy, G>();
  if constexpr (predecessors_policy<Policy, G> || successors_policy<Policy, G>) {
    std::vector<edge> edges;
    result<void> outcome;
    const auto nodes = static_cast<std::size_t>(policy.node_count(host));
    const auto id_of = [&](const typename Policy::node& n) {
      const std::size_t i = detail::index_of(policy, host, n);
      if (i < nodes && i < no_id) return static_cast<node_id>(i);
      if (outcome) outcome = error{errc::unknown_node, static_cast<std::int64_t>(i), static_cast<std::int64_t>(nodes)};
      return no_id;
    };
    detail::for_each_node(policy, host, [&](const typename Policy::node& n) {
      const node_id here = id_of(n);
      if constexpr (predecessors_policy<Policy, G>)
        policy.for_each_predecessor(host, n, [&](const auto& before) {
          edges.push_back({id_of(static_cast<typename Policy::node>(before)), here});
        });
      else
        policy.for_each_successor(host, n, [&](const auto& after) {
          edges.push_back({here, id_of(static_cast<typename Policy::node>(after))});
        });
    });
    if (!outcome) return outcome.error();
    return edges;
  } else {
    return error{errc::invalid_argument};
  }
}

}  // namespace hocket::inline HOCKET_ABI::graph
