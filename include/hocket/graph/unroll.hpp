// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/graph/dependencies.hpp>

#include <cstddef>
#include <memory_resource>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// Any policy, showing its program twice in a row: two steps of a training loop, whose second begins where the first
/// one ends. Op n of the second step has the id n + node_count.
/// @tparam P, G  the policy and host type of one step
template <class P, class G>
struct two_step_access {
  /// An op of the host's, in the first or the second step.
  struct node {
    typename P::node op;
    bool second = false;
  };
  P step;

  [[nodiscard]] std::size_t node_count(const G& g) const { return 2 * static_cast<std::size_t>(step.node_count(g)); }
  [[nodiscard]] std::size_t index_of(const G& g, const node& n) const
    requires(std::integral<typename P::node> || index_policy<P, G>)
  {
    return detail::index_of(step, g, n.op) + (n.second ? static_cast<std::size_t>(step.node_count(g)) : 0u);
  }
  template <class F>
  void for_each_node(const G& g, F&& f) const {
    for (const bool second : {false, true})
      detail::for_each_node(step, g, [&](const typename P::node& op) { f(node{op, second}); });
  }
  template <class F>
  void for_each_read(const G& g, const node& n, F&& f) const {
    step.for_each_read(g, n.op, f);
  }
  template <class F>
  void for_each_write(const G& g, const node& n, F&& f) const {
    step.for_each_write(g, n.op, f);
  }
  template <class F>
  void for_each_inplace(const G& g, const node& n, F&& f) const
    requires requires(const P& p, detail::sink s) { p.for_each_inplace(g, n.op, s); }
  {
    step.for_each_inplace(g, n.op, f);
  }
  template <class V, class F>
  void for_each_part(const G& g, const V& variable, F&& f) const
    requires requires(const P& p, detail::sink s) { p.for_each_part(g, variable, s); }
  {
    step.for_each_part(g, variable, f);
  }
  template <class F>
  void for_each_resource(const G& g, const node& n, F&& f) const
    requires requires(const P& p, detail::sink s) { p.for_each_resource(g, n.op, s); }
  {
    step.for_each_resource(g, n.op, f);
  }
  template <class F>
  void for_each_control(const G& g, const node& n, F&& f) const
    requires requires(const P& p, detail::sink s) { p.for_each_control(g, n.op, s); }
  {
    step.for_each_control(g, n.op, [&](const auto& other) { f(node{static_cast<typename P::node>(other), n.second}); });
  }
  template <class F>
  void for_each_lifetime(const G& g, const node& n, F&& f) const
    requires requires(const P& p, detail::sink s) { p.for_each_lifetime(g, n.op, s); }
  {
    step.for_each_lifetime(g, n.op,
                           [&](const auto& other) { f(node{static_cast<typename P::node>(other), n.second}); });
  }
  [[nodiscard]] op_kind kind(const G& g, const node& n) const
    requires detail::tells_kind<P, G>
  {
    return step.kind(g, n.op);
  }
  /// The first step alone is started; the second begins where the first one ends.
  [[nodiscard]] bool starts(const G& g, const node& n) const
    requires detail::tells_starts<P, G>
  {
    return !n.second && step.starts(g, n.op);
  }
  [[nodiscard]] std::uint64_t space_bytes(const G& g, std::uint64_t space) const
    requires detail::tells_space_bytes<P, G>
  {
    return step.space_bytes(g, space);
  }
  [[nodiscard]] graph::barrier barrier(const G& g, const node& n) const
    requires requires(const P& p) { p.barrier(g, n.op); }
  {
    return step.barrier(g, n.op);
  }
  [[nodiscard]] stream_id stream(const G& g, const node& n) const
    requires requires(const P& p) { p.stream(g, n.op); }
  {
    return step.stream(g, n.op);
  }
};

/// What a loop over one program must keep in order: edges within a step, and edges from each step to the next.
struct step_edges {
  std::vector<edge> within;  ///< source and target in the same step; by source, then target
  std::vector<edge> across;  ///< source in one step, target in the next; ids wrapped, so either may be the larger
  /// Two consecutive steps as one graph, ids of the second from node_count on.
  dag<> two_steps;
};

/// The kept edges of a program that runs again and again, from two steps of it. An edge out of the first step into the
/// second becomes one to the next step, with its target's index wrapped. What starts in the second step repeats the
/// first and is dropped. Two steps are enough: of two ops in conflict over a variable one writes it, and that one is in
/// conflict with itself a step later; so any order between steps further apart follows from step to step. No edge is
/// implied by others in a longer unrolling either, since a path never goes back a step.
/// The start-up rule is about the first step alone and is not applied.
/// @param policy  as for dependencies; control edges stay within their step
/// @return as dependencies
///
///     const auto loop = hocket::graph::dependencies_of_steps(program);
///     for (auto [a, b] : loop->across) ...        // b of step i + 1 waits for a of step i
template <class G, class Policy>
[[nodiscard]] result<step_edges> dependencies_of_steps(
    const G& host, const Policy& policy, dependency_options options = {},
    std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  detail::require_effects<Policy, G>();
  if constexpr (effects_policy<Policy, G>) {
    options.start_up = false;
    result<dependency_graph<>> deps = graph::dependencies(host, two_step_access<Policy, G>{policy}, options, memory);
    if (!deps) return deps.error();
    step_edges found;
    const auto n = static_cast<node_id>(deps->node_count() / 2);
    for (const edge& e : deps->graph().edges()) {
      if (e.source >= n) continue;
      if (e.target < n) found.within.push_back(e);
      else found.across.push_back({e.source, e.target - n});
    }
    found.two_steps = std::move(deps->graph());
    return found;
  } else {
    return error{errc::invalid_argument};
  }
}

template <class G>
[[nodiscard]] result<step_edges> dependencies_of_steps(
    const G& host, const dependency_options& options = {},
    std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  return graph::dependencies_of_steps(host, graph_access<G>{}, options, memory);
}

}  // namespace hocket::inline HOCKET_ABI::graph
