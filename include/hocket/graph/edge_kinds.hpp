// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/graph/dependencies.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// What an edge promises. A data edge makes the results of one op visible to another; a control edge orders them; a
/// lifetime edge keeps what the source owns alive until the target has run, and orders them.
enum class edge_kind : std::uint8_t { data, control, lifetime };

[[nodiscard]] constexpr std::string_view name(edge_kind k) noexcept {
  return k == edge_kind::data ? "data" : k == edge_kind::control ? "control" : "lifetime";
}

struct kinded_edge {
  edge what;
  edge_kind kind = edge_kind::data;
  friend constexpr bool operator==(const kinded_edge&, const kinded_edge&) = default;
};

/// The dependencies of a program whose edges are of different kinds, each pruned only by what is at least as strong.
///
/// *Kept are exactly:*
/// * of the data edges, those that no path of two or more data edges implies: the transitive reduction of the data
///   edges alone. A control path says nothing about visibility, and streams derive their events from data edges;
/// * every lifetime edge: a path orders two ops, but holds nothing alive;
/// * of the control edges, those that no path of two or more edges of any kinds implies, and beside which no data or
///   lifetime edge joins the same two ops.
///
/// So the kept edges order what all edges order, and the kept data edges what the data edges order.
template <reachability_index Index = auto_index>
class kinded_dependencies {
 public:
  kinded_dependencies(dag<Index> order, dag<Index> data, std::vector<edge> lifetime) noexcept
      : order_(std::move(order)), data_(std::move(data)), lifetime_(std::move(lifetime)) {}

  [[nodiscard]] std::size_t node_count() const noexcept { return order_.node_count(); }
  /// Must a run before b, for whatever reason? O(1).
  [[nodiscard]] bool reaches(node_id a, node_id b) const noexcept { return order_.reaches(a, b); }
  /// Does a path of data edges lead from a to b? O(1).
  [[nodiscard]] bool data_reaches(node_id a, node_id b) const noexcept { return data_.reaches(a, b); }
  /// The reduction of all edges: what a scheduler of the host counts down.
  [[nodiscard]] const dag<Index>& order() const noexcept { return order_; }
  /// The reduction of the data edges: what a stream plan is made from.
  [[nodiscard]] const dag<Index>& data() const noexcept { return data_; }
  /// Every lifetime edge, by source, then target.
  [[nodiscard]] std::span<const edge> lifetime() const noexcept { return lifetime_; }

  /// The kept edges, by source, target, kind. O(edges log edges).
  [[nodiscard]] std::vector<kinded_edge> edges() const {
    std::vector<kinded_edge> all;
    const std::vector<edge> data = data_.edges();
    for (const edge& e : data) all.push_back({e, edge_kind::data});
    for (const edge& e : lifetime_) all.push_back({e, edge_kind::lifetime});
    // Whatever is left of the reduction of all edges is control: a data edge in it is in the reduction of the data too.
    for (const edge& e : order_.edges())
      if (!std::binary_search(data.begin(), data.end(), e) &&
          !std::binary_search(lifetime_.begin(), lifetime_.end(), e))
        all.push_back({e, edge_kind::control});
    std::sort(all.begin(), all.end(), [](const kinded_edge& x, const kinded_edge& y) {
      return x.what == y.what ? x.kind < y.kind : x.what < y.what;
    });
    return all;
  }

 private:
  dag<Index> order_, data_;
  std::vector<edge> lifetime_;
};

/// As dependencies, with the kinds told apart. RAW, WAR and WAW make data edges; resources, barriers, control edges and
/// the start-up rule control edges; the policy's optional for_each_lifetime(host, node, f), f(node) for each op whose
/// memory this op must outlive, lifetime edges.
/// @return as dependencies
/// Complexity: as dependencies, with two indexes.
///
///     const auto deps = hocket::graph::dependencies_by_kind(program);
///     for (auto [e, kind] : deps->edges()) ...
template <reachability_index Index = auto_index, class G, class Policy = graph_access<G>>
[[nodiscard]] result<kinded_dependencies<Index>> dependencies_by_kind(
    const G& host, const dependency_options& options = {}, const Policy& policy = {},
    std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  static_assert(effects_policy<Policy, G>, "hocket: no policy tells what the ops of this host type read and write");
  dag<Index> order(memory), data(memory);
  detail::hazard_rules<false> rules(options, memory);
  detail::late_rules late;
  std::vector<edge> lifetime;
  std::vector<node_id> preds;
  result<void> outcome;
  detail::for_each_node(policy, host, [&](const typename Policy::node& n) {
    if (!outcome) return;
    const result<node_id> b = to_id(order.node_count(), "number of ops");
    if (!b) return static_cast<void>(outcome = b.error());
    detail::feed(policy, host, n, *b, options, rules, late);
    const std::span<const node_id> ruled = rules.predecessors(*b);
    preds.assign(ruled.begin(), ruled.end());
    if constexpr (requires(detail::sink s) { policy.for_each_lifetime(host, n, s); })
      policy.for_each_lifetime(host, n, [&](const auto& other) {
        const std::size_t i = detail::index_of(policy, host, static_cast<typename Policy::node>(other));
        const node_id a = i < no_id ? static_cast<node_id>(i) : no_id;
        lifetime.push_back({a, *b});
        if (a < *b) preds.push_back(a);
        else late.control.push_back({a, *b});
      });
    const result<node_id> in_data = data.append(ruled.first(rules.data_predecessors()));
    if (!in_data) return static_cast<void>(outcome = in_data.error());
    const result<node_id> in_order = order.append(preds);
    if (!in_order) return static_cast<void>(outcome = in_order.error());
    rules.done(*b);
  });
  if (outcome) outcome = detail::add_late(order, late, [](const edge&, rule) {});
  if (!outcome) return outcome.error();
  std::sort(lifetime.begin(), lifetime.end());
  lifetime.erase(std::unique(lifetime.begin(), lifetime.end()), lifetime.end());
  return kinded_dependencies<Index>(std::move(order), std::move(data), std::move(lifetime));
}

}  // namespace hocket::inline HOCKET_ABI::graph
