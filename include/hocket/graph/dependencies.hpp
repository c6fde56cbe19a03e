// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/graph/access.hpp>
#include <hocket/graph/dag.hpp>
#include <hocket/graph/dependency_options.hpp>
#include <hocket/graph/detail/hazard_rules.hpp>
#include <hocket/graph/op_kind.hpp>

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// Which op of a program must run before which: a dag whose nodes are the ops in program order.
template <reachability_index Index = auto_index>
class dependency_graph {
 public:
  dependency_graph(dag<Index> graph, std::size_t rule_edges) noexcept
      : graph_(std::move(graph)), rule_edges_(rule_edges) {}

  /// Must a finish before b may start? Strict, O(1).
  [[nodiscard]] bool reaches(node_id a, node_id b) const noexcept { return graph_.reaches(a, b); }
  /// The ops to notify when a is done; ascending.
  [[nodiscard]] std::span<const node_id> downstream(node_id a) const noexcept { return graph_.downstream(a); }
  /// The ops whose completion b counts; ascending.
  [[nodiscard]] std::span<const node_id> upstream(node_id b) const noexcept { return graph_.upstream(b); }
  [[nodiscard]] std::size_t node_count() const noexcept { return graph_.node_count(); }
  /// Edges before pruning: distinct pairs of ops that the rules ask for; rule_edges(host) lists them.
  [[nodiscard]] std::size_t rule_edges() const noexcept { return rule_edges_; }
  /// Edges after pruning.
  [[nodiscard]] std::size_t edge_count() const noexcept { return graph_.edge_count(); }
  [[nodiscard]] const dag<Index>& graph() const noexcept { return graph_; }
  /// The dag itself, to add the host's own control edges to it.
  [[nodiscard]] dag<Index>& graph() noexcept { return graph_; }

 private:
  dag<Index> graph_;
  std::size_t rule_edges_;
};

namespace detail {

template <class P, class G>
[[nodiscard]] constexpr op_kind kind_of(const P& policy, const G& host, const typename P::node& n) {
  if constexpr (requires {
                  { policy.kind(host, n) } -> std::same_as<op_kind>;
                })
    return policy.kind(host, n);
  else return op_kind::compute;
}

}  // namespace detail

/// Derives from a host program which op must run before which, in one pass: a read waits for the last write
/// (RAW), a write for the reads since then (WAR) or, without any, for the last write itself (WAW); `options` add
/// chains.
/// @param host     a program whose policy satisfies effects_policy: see graph/access.hpp
/// @param policy   how to see it; by default graph_access<G>. A call may leave out options, policy, or both
/// @return the graph; errc::limit_exceeded past 2^32 - 2 ops
/// Complexity: linear in the reads and writes, plus the appends to the dag.
///
///     const auto deps = hocket::graph::dependencies(program);      // result<dependency_graph<>>
///     deps->reaches(a, b);  deps->downstream(a);
template <reachability_index Index = auto_index, class G, class Policy = graph_access<G>>
[[nodiscard]] result<dependency_graph<Index>> dependencies(
    const G& host, const dependency_options& options, const Policy& policy = {},
    std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  if constexpr (effects_policy<Policy, G>) {
    dag<Index> g(memory);
    g.reserve(static_cast<std::size_t>(policy.node_count(host)), 0);
    detail::hazard_rules rules(options, memory);
    std::size_t rule_edges = 0;
    result<void> outcome;
    detail::for_each_node(policy, host, [&](const typename Policy::node& n) {
      if (!outcome) return;
      const result<node_id> b = to_id(g.node_count(), "number of ops");
      if (!b) return static_cast<void>(outcome = b.error());
      policy.for_each_read(host, n, [&](const auto& v) { rules.read(v); });
      policy.for_each_write(host, n, [&](const auto& v) { rules.write(v); });
      const op_kind kind = detail::kind_of(policy, host, n);
      const std::span<const node_id> preds = rules.predecessors(*b, kind);
      rule_edges += preds.size();
      if (const result<node_id> id = g.append(preds); !id) return static_cast<void>(outcome = id.error());
      rules.done(*b, kind);
    });
    if (!outcome) return outcome.error();
    return dependency_graph<Index>(std::move(g), rule_edges);
  } else {
    static_assert(effects_policy<Policy, G>,
                  "hocket: no policy tells what the ops of this host type read and write. Specialise "
                  "hocket::graph_access<G> with: using node = std::uint32_t; static std::size_t node_count(const G&); "
                  "static void for_each_read(const G&, node, auto&& f); static void for_each_write(const G&, node, "
                  "auto&& f); or pass such a policy as the last argument");
    return error{errc::invalid_argument};
  }
}

template <reachability_index Index = auto_index, class G>
[[nodiscard]] result<dependency_graph<Index>> dependencies(const G& host) {
  return dependencies<Index>(host, dependency_options{});
}

template <reachability_index Index = auto_index, class G, class Policy>
  requires(!std::is_same_v<Policy, dependency_options>)
[[nodiscard]] result<dependency_graph<Index>> dependencies(const G& host, const Policy& policy) {
  return dependencies<Index>(host, dependency_options{}, policy);
}

/// The edges that `dependencies` would be built from, before any pruning: by target, then source.
/// For hosts that want to see or count them, and for transitive_reduction, which needs no index.
/// Complexity: linear in the reads, writes and edges.
template <class G, class Policy = graph_access<G>>
[[nodiscard]] std::vector<edge> rule_edges(const G& host, const dependency_options& options = {},
                                           const Policy& policy = {}) {
  static_assert(effects_policy<Policy, G>, "hocket: no policy tells what the ops of this host type read and write");
  detail::hazard_rules rules(options, std::pmr::get_default_resource());
  std::vector<edge> edges;
  node_id b = 0;
  detail::for_each_node(policy, host, [&](const typename Policy::node& n) {
    policy.for_each_read(host, n, [&](const auto& v) { rules.read(v); });
    policy.for_each_write(host, n, [&](const auto& v) { rules.write(v); });
    const op_kind kind = detail::kind_of(policy, host, n);
    const auto first = static_cast<std::ptrdiff_t>(edges.size());
    for (const node_id a : rules.predecessors(b, kind)) edges.push_back({a, b});
    std::sort(edges.begin() + first, edges.end());
    rules.done(b++, kind);
  });
  return edges;
}

}  // namespace hocket::inline HOCKET_ABI::graph
