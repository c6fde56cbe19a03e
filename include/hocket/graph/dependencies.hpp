// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/graph/access.hpp>
#include <hocket/graph/dag.hpp>
#include <hocket/graph/detail/variable_table.hpp>
#include <hocket/graph/op_kind.hpp>

#include <cstddef>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// Which orders hold beyond those that reads and writes imply. All need a policy with `kind`, save `sequential`.
struct dependency_options {
  bool collectives = false;  ///< collectives run in program order, so that every rank enters them alike
  bool random = false;       ///< random ops run in program order, so that their numbers repeat
  bool io = false;           ///< io ops run in program order
  bool sequential = false;   ///< all ops run in program order: for hunting a missing dependency

  /// The reads and writes alone.
  [[nodiscard]] static constexpr dependency_options data() noexcept { return {}; }
  /// Collectives chained among themselves, random ops chained among themselves.
  [[nodiscard]] static constexpr dependency_options ordered() noexcept { return {.collectives = true, .random = true}; }

  [[nodiscard]] constexpr bool chains(op_kind k) const noexcept {
    return (k == op_kind::collective && collectives) || (k == op_kind::random && random) || (k == op_kind::io && io);
  }
};

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
  /// Edges before pruning: distinct pairs that the rules asked for.
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

// The state of the rules between two ops: per variable its last writer and the ops that read it since.
class hazard_rules {
 public:
  hazard_rules(dependency_options options, std::pmr::memory_resource* memory)
      : options_(options),
        table_(memory),
        variables_(memory),
        readers_(memory),
        reads_(memory),
        writes_(memory),
        preds_(memory),
        offered_(memory) {}

  template <class V>
  void read(const V& v) {
    reads_.push_back(slot(v));
  }
  template <class V>
  void write(const V& v) {
    writes_.push_back(slot(v));
  }

  // The distinct ops that op b must wait for, in no order.
  std::span<const node_id> predecessors(node_id b, op_kind kind) {
    preds_.clear();
    offered_.push_back(no_id);
    for (const std::uint32_t v : reads_) offer(variables_[v].writer, b);
    for (const std::uint32_t v : writes_) {
      // Whoever read the last value waits for its writer already.
      if (variables_[v].readers == no_id) offer(variables_[v].writer, b);
      for (std::uint32_t r = variables_[v].readers; r != no_id; r = readers_[r].next) offer(readers_[r].op, b);
    }
    if (options_.sequential && b != 0) offer(b - 1, b);
    if (options_.chains(kind)) offer(last_[static_cast<std::size_t>(kind)], b);
    return preds_;
  }

  // Op b is part of the graph now. A reader that happens before b need not be remembered: who waits for b waits for it.
  template <class Graph>
  void done(const Graph& g, node_id b, op_kind kind) {
    for (const std::uint32_t v : reads_) {
      variable& var = variables_[v];
      while (var.readers != no_id && (readers_[var.readers].op == b || g.reaches(readers_[var.readers].op, b)))
        release(var);
      remember(var, b);
    }
    for (const std::uint32_t v : writes_) {
      while (variables_[v].readers != no_id) release(variables_[v]);
      variables_[v].writer = b;
    }
    last_[static_cast<std::size_t>(kind)] = b;
    reads_.clear();
    writes_.clear();
  }

 private:
  struct variable {
    node_id writer = no_id;
    std::uint32_t readers = no_id;  // a list in readers_, latest first
  };
  struct reader {
    node_id op;
    std::uint32_t next;
  };

  template <class V>
  std::uint32_t slot(const V& v) {
    const std::uint32_t s = table_.slot(v);
    if (s >= variables_.size()) variables_.resize(s + std::size_t{1});
    return s;
  }
  void offer(node_id a, node_id b) {
    if (a == no_id || offered_[a] == b) return;
    offered_[a] = b;
    preds_.push_back(a);
  }
  void remember(variable& var, node_id b) {
    std::uint32_t r = free_;
    if (r == no_id) {
      r = static_cast<std::uint32_t>(readers_.size());
      readers_.push_back({});
    } else {
      free_ = readers_[r].next;
    }
    readers_[r] = {b, var.readers};
    var.readers = r;
  }
  void release(variable& var) noexcept {
    const std::uint32_t r = var.readers;
    var.readers = readers_[r].next;
    readers_[r].next = free_;
    free_ = r;
  }

  dependency_options options_;
  variable_table table_;
  std::pmr::vector<variable> variables_;
  std::pmr::vector<reader> readers_;
  std::uint32_t free_ = no_id;
  std::pmr::vector<std::uint32_t> reads_, writes_;  // of the op at hand
  std::pmr::vector<node_id> preds_;
  std::pmr::vector<node_id> offered_;  // per op: the last op that it was offered to
  node_id last_[op_kind_count] = {no_id, no_id, no_id, no_id};
};

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
      op_kind kind = op_kind::compute;
      if constexpr (requires { policy.kind(host, n); }) kind = policy.kind(host, n);
      const std::span<const node_id> preds = rules.predecessors(*b, kind);
      rule_edges += preds.size();
      if (const result<node_id> id = g.append(preds); !id) return static_cast<void>(outcome = id.error());
      rules.done(g, *b, kind);
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

}  // namespace hocket::inline HOCKET_ABI::graph
