// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
// First: a compiler prints the way that a header came above each of its sentences.
#include <hocket/graph/detail/required_members.hpp>

#include <hocket/core/result.hpp>
#include <hocket/graph/access.hpp>
#include <hocket/graph/dag.hpp>
#include <hocket/graph/dependency_options.hpp>
#include <hocket/graph/detail/hazard_rules.hpp>
#include <hocket/graph/detail/policy_members.hpp>
#include <hocket/graph/op_kind.hpp>
#include <hocket/graph/rule.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory_resource>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// An edge and why it exists.
struct explained_edge {
  edge what;
  reason why;
};

namespace detail {

// The reason of an edge among those of sorted edges.
[[nodiscard]] inline std::optional<reason> find_reason(std::span<const explained_edge> sorted, edge e) noexcept {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), e,
                                   [](const explained_edge& x, const edge& y) { return x.what < y; });
  if (at == sorted.end() || at->what != e) return std::nullopt;
  return at->why;
}

}  // namespace detail

/// Which op of a program must run before which: a dag whose nodes are the ops in program order.
template <reachability_index Index = persistent_index>
class dependency_graph {
 public:
  static constexpr bool returns_views = true;  // downstream, upstream, graph: see result::operator->

  dependency_graph(dag<Index> graph, std::size_t rule_edges, std::vector<explained_edge> reasons = {}) noexcept
      : graph_(std::move(graph)), rule_edges_(rule_edges), reasons_(std::move(reasons)) {}

  /// Must a finish before b may start? Strict, O(1).
  [[nodiscard]] bool reaches(node_id a, node_id b) const noexcept { return graph_.reaches(a, b); }
  /// The ops to notify when a is done; ascending.
  [[nodiscard]] std::span<const node_id> downstream(node_id a) const& noexcept { return graph_.downstream(a); }
  std::span<const node_id> downstream(node_id a) const&& = delete;
  /// The ops whose completion b counts; ascending.
  [[nodiscard]] std::span<const node_id> upstream(node_id b) const& noexcept { return graph_.upstream(b); }
  std::span<const node_id> upstream(node_id b) const&& = delete;
  [[nodiscard]] std::size_t node_count() const noexcept { return graph_.node_count(); }
  /// Edges before pruning: distinct pairs of ops that the rules ask for; rule_edges(host) lists them.
  [[nodiscard]] std::size_t rule_edges() const noexcept { return rule_edges_; }
  /// Edges after pruning.
  [[nodiscard]] std::size_t edge_count() const noexcept { return graph_.edge_count(); }
  /// Why the kept edge a -> b exists; nothing if it is not kept, or without dependency_options::reasons. O(log edges).
  [[nodiscard]] std::optional<reason> why(node_id a, node_id b) const noexcept {
    return detail::find_reason(reasons_, {a, b});
  }
  [[nodiscard]] const dag<Index>& graph() const& noexcept { return graph_; }
  /// The dag itself, to add the host's own control edges to it.
  [[nodiscard]] dag<Index>& graph() & noexcept { return graph_; }
  [[nodiscard]] dag<Index> graph() && noexcept { return std::move(graph_); }

 private:
  dag<Index> graph_;
  std::size_t rule_edges_;
  std::vector<explained_edge> reasons_;  // of the kept edges, sorted
};

namespace detail {

template <class P, class G>
[[nodiscard]] constexpr op_kind kind_of(const P& policy, const G& host, const typename P::node& n) {
  if constexpr (tells_kind<P, G>) return policy.kind(host, n);
  else return op_kind::compute;
}

// An option about what the policy does not tell would be a promise that nobody keeps.
template <class P, class G>
[[nodiscard]] constexpr result<void> check_policy(const dependency_options& options) {
  if constexpr (!tells_kind<P, G> && !tells_resources<P, G>) {
    const char* const chained = options.collectives ? "collectives" : options.random ? "random" : "io";
    if (options.collectives || options.random || options.io) return error{errc::kind_not_told}.with(chained);
  }
  if constexpr (!tells_starts<P, G>)
    if (options.start_up) return error{errc::starts_not_told};
  return {};
}

// f(part) for each piece of storage behind a variable.
template <class P, class G, class V, class F>
void for_each_part(const P& policy, const G& host, const V& variable, F&& f) {
  if constexpr (tells_parts<P, G, V>) {
    bool whole = true;
    policy.for_each_part(host, variable, [&](const auto& part) {
      whole = false;
      f(part);
    });
    if (whole) f(variable);
  } else {
    static_assert(!names_for_each_part<typename written_policy<P>::type>,
                  "hocket: the policy has a for_each_part that cannot be called with one of its variables. Write: "
                  "static void for_each_part(const G&, variable, auto&& f); it calls f(part)");
    f(variable);
  }
}

template <class P, class G>
[[nodiscard]] constexpr bool is_beyond_space(const P& policy, const G& host, const storage_range& range) {
  if constexpr (tells_space_bytes<P, G>) return range.end > policy.space_bytes(host, range.space);
  else return false;
}

// A range without a byte, by which nobody would be ordered, or beyond its space is a mistake of the policy.
template <class P, class G>
[[nodiscard]] result<void> check_ranges(const P& policy, const G& host, const hazard_rules& rules, node_id b) {
  const std::optional<storage_range>& bad = rules.bad_range();
  if (!bad) return {};
  const auto end = static_cast<std::int64_t>(bad->end);
  if constexpr (tells_space_bytes<P, G>) {
    const auto space = static_cast<std::int64_t>(bad->space);
    const std::uint64_t bytes = policy.space_bytes(host, bad->space);
    if (bad->first < bad->end) return error{errc::range_beyond_space, b, space, end, static_cast<std::int64_t>(bytes)};
  }
  return error{errc::bad_range, b, static_cast<std::int64_t>(bad->first), end};
}

// What the pass cannot offer to an append: edges against the program order, and the ops that start the step.
struct late_rules {
  std::vector<edge> control;
  std::vector<edge> lifetime;
  std::vector<node_id> starts;
};

// Tells the rules all that op b does.
template <class P, class G, class Rules>
void feed(const P& policy, const G& host, const typename P::node& n, node_id b, const dependency_options& options,
          Rules& rules, late_rules& late) {
  const auto judge = [&](const auto& part) {
    if constexpr (std::is_same_v<decltype(part), const storage_range&>)
      if (detail::is_beyond_space(policy, host, part)) rules.refuse(part);
  };
  const auto read = [&](const auto& part) {
    judge(part);
    rules.read(part);
  };
  const auto write = [&](const auto& part) {
    judge(part);
    rules.write(part);
  };
  policy.for_each_read(host, n, [&](const auto& v) { detail::for_each_part(policy, host, v, read); });
  policy.for_each_write(host, n, [&](const auto& v) { detail::for_each_part(policy, host, v, write); });
  if constexpr (tells_inplace<P, G>)
    policy.for_each_inplace(host, n, [&](const auto& v) {
      detail::for_each_part(policy, host, v, read);
      detail::for_each_part(policy, host, v, write);
    });
  if constexpr (tells_resources<P, G>)
    policy.for_each_resource(host, n, [&rules](const ordered_resource& r) { rules.use(r); });
  else rules.use({detail::kind_of(policy, host, n), 0});
  if constexpr (tells_control<P, G>) {
    static_assert(std::integral<typename P::node> || index_policy<P, G>,
                  "hocket: for_each_control reports nodes, so the policy must number them: "
                  "static std::size_t index_of(const G&, node)");
    if (options.control)
      policy.for_each_control(host, n, [&](const auto& other) {
        const std::size_t a = detail::index_of(policy, host, static_cast<typename P::node>(other));
        if (a < b) rules.wait_for(static_cast<node_id>(a));
        else late.control.push_back({a < no_id ? static_cast<node_id>(a) : no_id, b});
      });
  }
  if constexpr (tells_barrier<P, G>)
    if (options.barriers) rules.separate(policy.barrier(host, n));
  if constexpr (tells_starts<P, G>)
    if (options.start_up && policy.starts(host, n)) late.starts.push_back(b);
}

// How many ops the policy says that there are.
template <class P, class G>
[[nodiscard]] constexpr result<node_id> op_count(const P& policy, const G& host) {
  return to_id(static_cast<std::size_t>(policy.node_count(host)), "number of ops");
}

// f(node, b, rules) for each op b, in program order, once the rules know what it does and rules.predecessors(b) for
// what it waits; ends at its first error.
template <class P, class G, class F>
[[nodiscard]] result<void> for_each_op(const P& policy, const G& host, const dependency_options& options,
                                       std::pmr::memory_resource* memory, late_rules& late, F&& f) {
  if (const result<void> told = detail::check_policy<P, G>(options); !told) return told;
  const result<node_id> stated = detail::op_count(policy, host);
  if (!stated) return stated.error();
  hazard_rules rules(options, memory);
  std::size_t count = 0;
  result<void> outcome;
  detail::for_each_node(policy, host, [&](const typename P::node& n) {
    if (!outcome) return;
    const result<node_id> b = to_id(count++, "number of ops");
    if (b) {
      detail::feed(policy, host, n, *b, options, rules, late);
      outcome = detail::check_ranges(policy, host, rules, *b);
      if (outcome) outcome = f(n, *b, rules);
      if (outcome) rules.done(*b);
    } else {
      outcome = b.error();
    }
  });
  if (outcome && count != *stated) return error{errc::wrong_node_count, *stated, static_cast<std::int64_t>(count)};
  return outcome;
}

// offer(a, b, rule) for each late edge, which says whether it closed no cycle. g holds all others and takes them.
template <class Index, class F>
[[nodiscard]] result<void> add_late(dag<Index>& g, late_rules& late, F&& offer) {
  const auto add = [&](std::vector<edge>& asked, rule why) -> result<void> {
    std::sort(asked.begin(), asked.end());
    asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
    for (const edge& e : asked) {
      const edge_status s = g.add_edge(e.source, e.target);
      if (s == edge_status::unknown_node)
        return error{errc::unknown_node, e.source, static_cast<std::int64_t>(g.node_count())};
      if (s == edge_status::self) return error{errc::self_edge, e.source};
      if (s == edge_status::cycle) return error{errc::cycle, e.source, e.target};
      offer(e, why);
    }
    return {};
  };
  if (const result<void> added = add(late.control, rule::control); !added) return added;
  if (const result<void> added = add(late.lifetime, rule::lifetime); !added) return added;
  if (late.starts.empty()) return {};
  const std::vector<node_id> idle = g.sources();
  for (const node_id r : late.starts) {
    for (const node_id b : idle) {
      if (g.would_cycle(r, b)) continue;
      static_cast<void>(g.add_edge(r, b));
      offer(edge{r, b}, rule::start_up);
    }
  }
  return {};
}

// The reasons of kept edges, sorted: of several for one edge, that of the first rule.
template <class IsKept>
void keep_reasons(std::vector<explained_edge>& reasons, IsKept&& is_kept) {
  const auto pruned = [&](const explained_edge& x) { return !is_kept(x.what); };
  reasons.erase(std::remove_if(reasons.begin(), reasons.end(), pruned), reasons.end());
  std::sort(reasons.begin(), reasons.end(), [](const explained_edge& x, const explained_edge& y) {
    if (x.what != y.what) return x.what < y.what;
    return x.why.rule != y.why.rule ? x.why.rule < y.why.rule : x.why.subject < y.why.subject;
  });
  const auto same = [](const explained_edge& x, const explained_edge& y) { return x.what == y.what; };
  reasons.erase(std::unique(reasons.begin(), reasons.end(), same), reasons.end());
}

template <class Index, class G, class Policy>
[[nodiscard]] result<dependency_graph<Index>> derive(const G& host, const dependency_options& options,
                                                     const Policy& policy, std::pmr::memory_resource* memory) {
  dag<Index> g(memory);
  const result<node_id> ops = op_count(policy, host);
  if (!ops) return ops.error();
  g.reserve(*ops);
  late_rules late;
  std::vector<explained_edge> reasons;
  std::size_t rule_edges = 0;
  const auto add = [&](const auto&, node_id b, hazard_rules& rules) -> result<void> {
    const std::span<const node_id> preds = rules.predecessors(b);
    rule_edges += preds.size();
    for (std::size_t i = 0; i < preds.size() && options.reasons; ++i)
      reasons.push_back({{preds[i], b}, rules.reasons()[i]});
    if (const result<node_id> id = g.append(preds); !id) return id.error();
    return {};
  };
  result<void> outcome = detail::for_each_op(policy, host, options, memory, late, add);
  if (outcome)
    outcome = detail::add_late(g, late, [&](const edge& e, rule why) {
      ++rule_edges;
      if (options.reasons) reasons.push_back({e, {why, 0}});
    });
  if (!outcome) return outcome.error();
  detail::keep_reasons(reasons, [&g](const edge& e) { return is_among(g.downstream(e.source), e.target); });
  return dependency_graph<Index>(std::move(g), rule_edges, std::move(reasons));
}

}  // namespace detail

/// Derives from a host program which op must run before which, in one pass: a read waits for the last write
/// (RAW), a write for the reads since then (WAR) or, without any, for the last write itself (WAW). Views and fused
/// buffers, ordered resources, barriers, control edges and a start-up rule come from optional members of the policy;
/// `options` switches them.
/// @param host     a program whose policy satisfies effects_policy: see graph/access.hpp
/// @param policy   how to see it; by default graph_access<G>
/// @return the graph; errc::kind_not_told if an option chains ops of a kind and the policy tells none;
///         errc::bad_range for bytes that are none, errc::range_beyond_space; errc::wrong_node_count;
///         errc::limit_exceeded past 2^32 - 2 ops; of the control edges: errc::unknown_node, errc::self_edge,
///         errc::cycle for one against the program order that closes a cycle
/// Complexity: linear in the reads and writes, plus the appends to the dag: with an index quadratic where ops share
/// variables at random, and with dependencies<no_index>(host) linear for any program. Ranges of bytes, also those that
/// all overlap in one buffer: O((ranges + edges before pruning) log ranges) time, O(ranges) memory. Barriers add at
/// most one edge an op each way. Control edges against the program order, and those of the start-up rule, cost a
/// dag::add_edge each.
///
///     const auto deps = hocket::graph::dependencies(program);      // result<dependency_graph<>>
///     deps->reaches(a, b);  deps->downstream(a);
template <reachability_index Index = persistent_index, class G, class Policy>
[[nodiscard]] result<dependency_graph<Index>> dependencies(
    const G& host, const Policy& policy, const dependency_options& options = {},
    std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  detail::require_effects<Policy, G>();
  if constexpr (effects_policy<Policy, G>) {
    return detail::derive<Index>(host, options, policy, memory);
  } else {
    return error{errc::invalid_argument};
  }
}
template <reachability_index Index = persistent_index, class G>
[[nodiscard]] result<dependency_graph<Index>> dependencies(
    const G& host, const dependency_options& options = {},
    std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  detail::require_effects<graph_access<G>, G>();
  if constexpr (effects_policy<graph_access<G>, G>)
    return detail::derive<Index>(host, options, graph_access<G>{}, memory);
  else return error{errc::invalid_argument};
}

// The two in the other order: a sentence in place of "no matching function".
template <class G, class Policy>
  requires(!std::is_convertible_v<const Policy&, std::pmr::memory_resource*>)
result<dependency_graph<>> dependencies(const G&, const dependency_options&, const Policy&) {
  static_assert(std::is_convertible_v<const Policy&, std::pmr::memory_resource*>,
                "hocket: dependencies takes the policy before the options: dependencies(host, policy, options)");
  return error{errc::invalid_argument};
}

/// The edges that `dependencies` would be built from, before any pruning: by target, then source.
/// For hosts that want to see or count them, and for transitive_reduction, which needs no index.
/// @return as dependencies
/// Complexity: linear in the reads, writes and edges; ranges of bytes as there.
///
///     const auto reduced = transitive_reduction(nodes, *rule_edges(program));
template <class G, class Policy>
[[nodiscard]] result<std::vector<edge>> rule_edges(const G& host, const Policy& policy,
                                                   const dependency_options& options = {}) {
  detail::require_effects<Policy, G>();
  detail::late_rules late;
  std::vector<edge> edges;
  std::size_t nodes = 0;
  const auto list = [&](const auto&, node_id b, detail::hazard_rules& rules) -> result<void> {
    const auto first = static_cast<std::ptrdiff_t>(edges.size());
    for (const node_id a : rules.predecessors(b)) edges.push_back({a, b});
    std::sort(edges.begin() + first, edges.end());
    ++nodes;
    return {};
  };
  result<void> outcome = detail::for_each_op(policy, host, options, std::pmr::get_default_resource(), late, list);
  if (outcome && (!late.control.empty() || !late.starts.empty())) {
    dag<> g;  // which ops the start-up rule is about depends on the order so far
    outcome = g.assign(nodes, edges);
    if (outcome) outcome = detail::add_late(g, late, [&edges](const edge& e, rule) { edges.push_back(e); });
    std::sort(edges.begin(), edges.end(), [](const edge& x, const edge& y) {
      return x.target != y.target ? x.target < y.target : x.source < y.source;
    });
  }
  if (!outcome) return outcome.error();
  return edges;
}

template <class G>
[[nodiscard]] result<std::vector<edge>> rule_edges(const G& host, const dependency_options& options = {}) {
  return graph::rule_edges(host, graph_access<G>{}, options);
}

}  // namespace hocket::inline HOCKET_ABI::graph
