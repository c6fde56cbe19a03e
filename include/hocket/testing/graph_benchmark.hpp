// SPDX-License-Identifier: Apache-2.0
// What there is to measure about a graph, as functions without a framework: a host runs them on its own types, with any
// driver. benchmarks/ has two drivers.
#pragma once
#include <hocket/graph/dag.hpp>
#include <hocket/graph/dependencies.hpp>
#include <hocket/testing/graph_cases.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::testing {

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
      : index_(memory), begin_(memory), targets_(memory), kept_(memory), degree_(memory), preds_(memory) {}

  /// Becomes that of these edges; memory of an earlier build is used again. Precondition: edges ascend.
  void build(const edge_rows& rows) {
    const std::size_t nodes = rows.size();
    index_.clear(), kept_.clear();
    if constexpr (graph::reserving_index<Index>) index_.reserve(nodes);
    kept_.reserve(rows.sources.size());
    degree_.resize(nodes);
    begin_.assign(nodes + 2, 0);
    for (std::size_t b = 0; b < nodes; ++b) {
      const std::span<const node_id> sources = rows.predecessors(b);
      if (preds_.size() < sources.size()) preds_.resize(sources.size());
      for (std::size_t i = 0; i < sources.size(); ++i) preds_[i] = sources[sources.size() - 1 - i];
      const std::size_t kept = index_.reduce(std::span<node_id>(preds_.data(), sources.size()));
      index_.commit(static_cast<node_id>(b));
      for (std::size_t i = 0; i < kept; ++i) {
        kept_.push_back(preds_[i]);
        ++begin_[preds_[i] + std::size_t{2}];
      }
      degree_[b] = static_cast<node_id>(kept);
    }
    for (std::size_t a = 2; a < begin_.size(); ++a) begin_[a] += begin_[a - 1];
    targets_.resize(kept_.size());
    std::size_t at = 0;
    for (std::size_t b = 0; b < nodes; ++b)
      for (node_id i = 0; i < degree_[b]; ++i)
        targets_[begin_[kept_[at++] + std::size_t{1}]++] = static_cast<node_id>(b);
  }
  [[nodiscard]] std::span<const node_id> downstream(node_id a) const noexcept {
    return {targets_.data() + begin_[a], begin_[a + std::size_t{1}] - begin_[a]};
  }
  [[nodiscard]] std::size_t edge_count() const noexcept { return targets_.size(); }
  [[nodiscard]] const Index& index() const noexcept { return index_; }

 private:
  Index index_;
  std::pmr::vector<std::uint32_t> begin_;
  std::pmr::vector<node_id> targets_, kept_, degree_, preds_;
};

/// From a host's program to a dag, by its policy: what an executor waits for at start.
/// @return the number of kept edges
template <graph::reachability_index Index = graph::auto_index, class G, class Policy = graph_access<G>>
[[nodiscard]] std::size_t program_to_dag(const G& host, const Policy& policy = {}) {
  const auto deps = graph::dependencies<Index>(host, graph::dependency_options{}, policy);
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
