// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What there is to measure about a graph, as functions without a framework: a host runs them on its own types, with any
// driver. benchmarks/ has two drivers.
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/graph/access.hpp>
#include <hocket/graph/dag.hpp>
#include <hocket/graph/dependencies.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::testing {

/// The edges of a graph both ways, in compressed rows: predecessors and successors of each node, ascending.
struct edge_rows {
  std::vector<std::size_t> in_begin, out_begin;  ///< nodes + 1 each
  std::vector<node_id> sources, targets;

  [[nodiscard]] std::size_t size() const noexcept { return in_begin.empty() ? 0 : in_begin.size() - 1; }
  [[nodiscard]] std::span<const node_id> predecessors(std::size_t b) const& noexcept {
    return {sources.data() + in_begin[b], in_begin[b + 1] - in_begin[b]};
  }
  [[nodiscard]] std::span<const node_id> successors(std::size_t a) const& noexcept {
    return {targets.data() + out_begin[a], out_begin[a + 1] - out_begin[a]};
  }
  void predecessors(std::size_t) const&& = delete;
  void successors(std::size_t) const&& = delete;
};

/// Edges in any order to rows; repetitions are dropped. Precondition: ends < nodes. O(nodes + edges log).
[[nodiscard]] inline edge_rows rows_of(std::size_t nodes, std::vector<graph::edge> edges) {
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  edge_rows rows;
  rows.in_begin.assign(nodes + 1, 0);
  rows.out_begin.assign(nodes + 1, 0);
  for (const graph::edge& e : edges) {
    ++rows.in_begin[e.target + std::size_t{1}];
    ++rows.out_begin[e.source + std::size_t{1}];
  }
  for (std::size_t i = 1; i <= nodes; ++i) {
    rows.in_begin[i] += rows.in_begin[i - 1];
    rows.out_begin[i] += rows.out_begin[i - 1];
  }
  rows.sources.resize(edges.size());
  rows.targets.reserve(edges.size());
  std::vector<std::size_t> at(rows.in_begin.begin(), rows.in_begin.end() - 1);
  for (const graph::edge& e : edges) {
    rows.targets.push_back(e.target);
    rows.sources[at[e.target]++] = e.source;
  }
  return rows;
}

/// The edges that the rules derive from a program, before any pruning.
template <class G, class Policy = graph_access<G>>
[[nodiscard]] edge_rows rule_rows(const G& host, const Policy& policy = {}) {
  return rows_of(static_cast<std::size_t>(policy.node_count(host)), graph::rule_edges(host, policy).value());
}

/// The floor: one topological sort (Kahn 1962) over edges that are in rows already.
/// @return how many nodes could be ordered. O(nodes + edges).
[[nodiscard]] inline std::size_t kahn(const edge_rows& rows) {
  const std::size_t nodes = rows.size();
  std::vector<node_id> missing(nodes), queue(nodes);
  std::size_t first = 0, last = 0;
  for (std::size_t b = 0; b < nodes; ++b) {
    missing[b] = static_cast<node_id>(rows.in_begin[b + 1] - rows.in_begin[b]);
    if (missing[b] == 0) queue[last++] = static_cast<node_id>(b);
  }
  while (first < last)
    for (const node_id b : rows.successors(queue[first++]))
      if (--missing[b] == 0) queue[last++] = b;
  return last;
}

/// Reachability and pruned downstream lists of a program: an index, filled in program order, and the kept edges in
/// compressed rows. What is timed when an index is compared with another.
template <graph::reachability_index Index>
class pruned_map {
 public:
  explicit pruned_map(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : index_(memory), begin_(memory), targets_(memory), preds_(memory), kept_(memory) {}

  /// Becomes that of these edges; memory of an earlier build is used again. Precondition: edges ascend, and are fewer
  /// than 2^32.
  void build(const edge_rows& rows) {
    const std::size_t nodes = rows.size();
    index_.clear();
    if constexpr (graph::reserving_index<Index>) index_.reserve(nodes);
    kept_.assign(rows.targets.size() / 64 + 1, 0);
    // Edges out of a come up in the order of its row: begin_[a] is where the next one stands.
    begin_.assign(rows.out_begin.begin(), rows.out_begin.end());
    std::size_t total = 0;
    for (std::size_t b = 0; b < nodes; ++b) {
      const std::span<const node_id> sources = rows.predecessors(b);
      if (preds_.size() < sources.size()) preds_.resize(sources.size());
      const std::span<node_id> preds(preds_.data(), sources.size());
      std::reverse_copy(sources.begin(), sources.end(), preds.begin());
      const std::size_t kept = index_.reduce(static_cast<node_id>(b), preds);
      index_.commit(static_cast<node_id>(b));
      std::uint32_t* const next = begin_.data();
      std::uint64_t* const marks = kept_.data();
      for (const node_id a : preds.first(kept)) {
        const std::uint32_t e = next[a]++;
        marks[e / 64] |= std::uint64_t{1} << (e % 64);
      }
      for (const node_id a : preds.subspan(kept)) ++next[a];
      total += kept;
    }
    targets_.resize(total + 1);  // what is written behind the last means nothing
    compact(rows);
  }
  [[nodiscard]] std::span<const node_id> downstream(node_id a) const& noexcept {
    return {targets_.data() + begin_[a], begin_[a + std::size_t{1}] - begin_[a]};
  }
  void downstream(node_id) const&& = delete;
  [[nodiscard]] std::size_t edge_count() const noexcept { return begin_.empty() ? 0 : begin_.back(); }
  [[nodiscard]] const Index& index() const noexcept { return index_; }

 private:
  // The kept edges of all rows, without a branch that depends on a single edge.
  void compact(const edge_rows& rows) {
    const std::uint64_t* const marks = kept_.data();
    const node_id* const from = rows.targets.data();
    node_id* const to = targets_.data();
    std::uint32_t at = 0;
    for (std::size_t a = 0, e = 0; a < rows.size(); ++a) {
      begin_[a] = at;
      for (const std::size_t end = rows.out_begin[a + 1]; e < end; ++e) {
        to[at] = from[e];
        at += static_cast<std::uint32_t>(marks[e / 64] >> (e % 64)) & 1u;
      }
    }
    begin_[rows.size()] = at;
  }

  Index index_;
  std::pmr::vector<std::uint32_t> begin_;
  std::pmr::vector<node_id> targets_, preds_;
  std::pmr::vector<std::uint64_t> kept_;  // one bit an edge, in the order of the rows of successors
};

/// From a host's program to a dag, by its policy: what an executor waits for at start.
/// @return the number of kept edges
template <graph::reachability_index Index = graph::persistent_index, class G, class Policy = graph_access<G>>
[[nodiscard]] std::size_t program_to_dag(const G& host, const Policy& policy = {}) {
  const auto deps = graph::dependencies<Index>(host, policy);
  return deps ? deps->edge_count() : 0;
}

/// Random questions to a relation, each waiting for the answer to the one before: the latency of a query.
/// @param reaches  callable with (node_id, node_id) -> bool
/// @return the number of positive answers
template <class Reaches>
[[nodiscard]] std::size_t ask(std::size_t nodes, std::size_t questions, const Reaches& reaches,
                              std::uint64_t seed = 1) {
  random_source random(seed);
  std::size_t yes = 0;
  for (std::size_t i = 0; i < questions; ++i) {
    const std::uint64_t r = random() ^ (yes & 1u);
    const auto a = static_cast<node_id>(((r & 0xffffffffu) * nodes) >> 32);
    const auto b = static_cast<node_id>(((r >> 32) * nodes) >> 32);
    yes += reaches(a, b) ? 1u : 0u;
  }
  return yes;
}

}  // namespace hocket::inline HOCKET_ABI::testing
