// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/graph/auto_index.hpp>
#include <hocket/graph/detail/pooled_lists.hpp>
#include <hocket/graph/detail/topological.hpp>
#include <hocket/graph/edge.hpp>
#include <hocket/graph/index.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// A directed acyclic graph that knows at any moment who reaches whom, and keeps no edge that others imply.
/// Its edges are, after every call, exactly the transitive reduction of all edges offered so far: unique, so any two
/// correct ways to build it agree. An executor analyses its program with it once and asks `reaches` as often as it
/// likes. Everything is deterministic and ascending.
///
/// A call that fails or throws (std::bad_alloc, from the memory resource) changes nothing. Const members are safe for
/// concurrent readers. Spans stay valid until the next call that adds something.
/// @tparam Index  a reachability_index: dense_index, persistent_index, auto_index, or a host's own
///
///     hocket::graph::dag<> g;
///     const auto a = g.append({}).value();
///     const auto b = g.append(std::array{a}).value();       // after a
///     const auto c = g.append(std::array{a, b}).value();    // after a and b: the edge a -> c is redundant
///     g.reaches(a, c) && g.edge_count() == 2 && g.add_edge(c, a) == hocket::graph::edge_status::cycle;
template <reachability_index Index = auto_index>
class dag {
 public:
  using index_type = Index;

  explicit dag(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : index_(memory), preds_(memory), succs_(memory), scratch_(memory), marks_(memory) {}
  dag(dag&& other) noexcept
      : index_(std::move(other.index_)),
        preds_(std::move(other.preds_)),
        succs_(std::move(other.succs_)),
        scratch_(std::move(other.scratch_)),
        marks_(std::move(other.marks_)),
        edge_count_(std::exchange(other.edge_count_, 0)) {
    other.clear();
  }
  /// A copy allocates from the default memory resource.
  dag(const dag&) = default;
  /// Takes over the memory resource of the right-hand side.
  dag& operator=(dag other) noexcept {
    std::destroy_at(this);
    return *std::construct_at(this, std::move(other));
  }
  ~dag() = default;

  /// Adds the next node of the program, which runs after `preds` (any order, repetitions allowed), and returns its id.
  /// @return errc::bad_order if a predecessor is not an earlier node; errc::limit_exceeded past 2^32 - 2 nodes
  /// Complexity: the index's reduce, plus O(p log p) for p predecessors that do not come in descending order.
  /// Source: docs/graph.md, "Why descending order is exact" (proof).
  result<node_id> append(std::span<const node_id> preds) {
    const result<node_id> id = to_id(node_count(), "number of nodes");
    if (!id) return id;
    for (const node_id p : preds)
      if (p >= *id) return error{errc::bad_order, *id, p};
    const auto later = [](node_id x, node_id y) { return x > y; };
    scratch_.assign(preds.begin(), preds.end());
    if (!std::is_sorted(scratch_.begin(), scratch_.end(), later)) std::sort(scratch_.begin(), scratch_.end(), later);
    scratch_.erase(std::unique(scratch_.begin(), scratch_.end()), scratch_.end());
    append_distinct(*id, scratch_);
    return id;
  }

  /// Adds an edge between existing nodes, in any order and at any time. What it makes redundant is removed.
  /// @return edge_status; when the edge is rejected nothing has changed and `path` yields the witness
  /// Complexity: O(1) unless added; then the descendants of b that did not run after a yet, times one row of the index.
  edge_status add_edge(node_id a, node_id b) {
    if (a >= node_count() || b >= node_count()) return edge_status::unknown_node;
    if (a == b) return edge_status::self;
    if (index_.reaches(b, a)) return edge_status::cycle;
    if (index_.reaches(a, b)) return is_kept(a, b) ? edge_status::duplicate : edge_status::redundant;

    // The closure gains (ancestors of a, and a) × (b, and descendants of b): the full cross product. Only descendants
    // that lack a can change, and they are closed: whatever runs after a node that has a, has a.
    marks_.resize(node_count());
    std::pmr::vector<node_id>& affected = scratch_;
    affected.assign(1, b);
    struct unmark {
      dag& g;
      ~unmark() {
        for (const node_id d : g.scratch_) g.marks_[d] = 0;
      }
    } unmark_at_exit{*this};
    marks_[b] = 1;
    for (std::size_t i = 0; i < affected.size(); ++i) {
      for (const node_id d : downstream(affected[i])) {
        if (marks_[d] != 0 || index_.reaches(a, d)) continue;
        affected.push_back(d);  // may throw: then d is not marked yet
        marks_[d] = 1;
      }
    }
    preds_.make_room(b, 1);
    succs_.make_room(a, 1);

    // An old edge (x, y) is now redundant iff x is a or before it, y is b or after it. If y had a already, only (a, y)
    // itself can be such an edge, since x -> … -> a -> … -> y would have made any other redundant before.
    std::pmr::vector<edge> dropped(scratch_.get_allocator().resource());
    for (const node_id y : downstream(a))
      if (index_.reaches(b, y)) dropped.push_back({a, y});
    for (const node_id y : affected)
      for (const node_id x : upstream(y))
        if (index_.reaches(x, a)) dropped.push_back({x, y});

    index_.link(a, affected);  // the last step that may throw
    for (const edge& e : dropped) {
      preds_.erase(e.target, e.source);
      succs_.erase(e.source, e.target);
    }
    preds_.insert(b, a);
    succs_.insert(a, b);
    edge_count_ = edge_count_ + 1 - dropped.size();
    return edge_status::added;
  }

  /// Becomes the graph of these edges over nodes 0 … nodes - 1, whatever it was before. Edges may come in any order and
  /// repeatedly. Much faster than edge by edge.
  /// @param cycle  if given and the edges close a cycle: its nodes, smallest first, each before the next
  /// @return errc::unknown_node, errc::cycle (an edge that closes it), errc::self_edge, errc::limit_exceeded
  /// Complexity: O((nodes + edges) log) and one append per node.
  result<void> build(std::size_t nodes, std::span<const edge> edges, std::vector<node_id>* cycle = nullptr) {
    if (const result<node_id> last = to_id(nodes, "number of nodes"); !last) return last.error();
    bool forward = true;
    for (const edge& e : edges) {
      const node_id worst = e.source > e.target ? e.source : e.target;
      if (worst >= nodes) return error{errc::unknown_node, worst, static_cast<std::int64_t>(nodes)};
      if (e.source == e.target) {
        if (cycle != nullptr) cycle->assign(1, e.source);
        return error{errc::self_edge, e.source};
      }
      forward = forward && e.source < e.target;
    }
    std::pmr::memory_resource* const memory = scratch_.get_allocator().resource();
    detail::incoming in = detail::incoming_of(nodes, edges, memory);
    dag fresh(memory);
    if (forward) {
      fresh.reserve(nodes, in.sources.size());
      for (std::size_t b = 0; b < nodes; ++b) fresh.append_distinct(static_cast<node_id>(b), in[b]);
    } else {
      const std::pmr::vector<node_id> order = detail::topological_order(in, memory);
      if (order.size() < nodes) {
        std::vector<node_id> found = detail::find_cycle(in, order);
        const error why{errc::cycle, found.back(), found.front()};
        if (cycle != nullptr) *cycle = std::move(found);
        return why;
      }
      fresh.fill(order, in);
    }
    *this = std::move(fresh);
    return {};
  }

  /// Does a happen before b? Strict: reaches(a, a) is false. Precondition: both exist. O(1).
  [[nodiscard]] bool reaches(node_id a, node_id b) const noexcept {
    HOCKET_ASSERT(a < node_count() && b < node_count());
    return index_.reaches(a, b);
  }
  /// Does either happen before the other? O(1).
  [[nodiscard]] bool ordered(node_id a, node_id b) const noexcept { return reaches(a, b) || reaches(b, a); }
  /// Would add_edge(a, b) be rejected as a cycle (or a self edge)? O(1).
  [[nodiscard]] bool would_cycle(node_id a, node_id b) const noexcept { return a == b || reaches(b, a); }

  [[nodiscard]] std::size_t node_count() const noexcept { return preds_.size(); }
  /// Number of edges kept.
  [[nodiscard]] std::size_t edge_count() const noexcept { return edge_count_; }
  /// The kept edges out of a: what an executor must notify when a is done. Ascending. O(1).
  [[nodiscard]] std::span<const node_id> downstream(node_id a) const noexcept {
    HOCKET_ASSERT(a < node_count());
    return succs_[a];
  }
  /// The kept edges into b; their number is the count an executor waits down to zero. Ascending. O(1).
  [[nodiscard]] std::span<const node_id> upstream(node_id b) const noexcept {
    HOCKET_ASSERT(b < node_count());
    return preds_[b];
  }
  [[nodiscard]] std::size_t in_degree(node_id b) const noexcept { return upstream(b).size(); }
  /// The in-degree of every node, by id. O(n).
  [[nodiscard]] std::vector<node_id> in_degrees() const {
    std::vector<node_id> degrees(node_count());
    for (std::size_t b = 0; b < degrees.size(); ++b) degrees[b] = static_cast<node_id>(preds_[b].size());
    return degrees;
  }
  /// Nodes without predecessors, ascending. O(n).
  [[nodiscard]] std::vector<node_id> sources() const { return without(preds_); }
  /// Nodes without successors, ascending. O(n).
  [[nodiscard]] std::vector<node_id> sinks() const { return without(succs_); }
  /// The kept edges, by source, then target. O(n + edges).
  [[nodiscard]] std::vector<edge> edges() const {
    std::vector<edge> all;
    all.reserve(edge_count_);
    for (std::size_t a = 0; a < node_count(); ++a)
      for (const node_id b : succs_[a]) all.push_back({static_cast<node_id>(a), b});
    return all;
  }

  /// A path of kept edges from a to b, both included: of all such paths the first in lexicographic order. Empty if a
  /// does not reach b. After add_edge(a, b) == cycle, path(b, a) is the proof. O(sum of out-degrees on the path).
  [[nodiscard]] std::vector<node_id> path(node_id a, node_id b) const {
    std::vector<node_id> nodes;
    if (!reaches(a, b)) return nodes;
    nodes.push_back(a);
    while (a != b) {
      for (const node_id next : downstream(a)) {
        if (next != b && !reaches(next, b)) continue;
        a = next;
        break;
      }
      nodes.push_back(a);
    }
    return nodes;
  }

  /// Number of nodes that happen before b. O(row of the index).
  [[nodiscard]] std::size_t ancestor_count(node_id b) const {
    HOCKET_ASSERT(b < node_count());
    if constexpr (counting_index<Index>) {
      return index_.ancestor_count(b);
    } else {
      std::size_t count = 0;
      for (std::size_t a = 0; a < node_count(); ++a) count += index_.reaches(static_cast<node_id>(a), b) ? 1u : 0u;
      return count;
    }
  }

  /// Number of pairs (a, b) with a before b. O(size of the index).
  [[nodiscard]] std::uint64_t reachable_pairs() const {
    if constexpr (counting_index<Index>) {
      return index_.reachable_pairs();
    } else {
      std::uint64_t pairs = 0;
      for (std::size_t b = 0; b < node_count(); ++b) pairs += ancestor_count(static_cast<node_id>(b));
      return pairs;
    }
  }

  [[nodiscard]] const Index& index() const noexcept { return index_; }
  /// Memory held, index included.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return index_.bytes() + preds_.bytes() + succs_.bytes() + scratch_.capacity() * sizeof(node_id) + marks_.capacity();
  }
  /// Room for this many nodes and edges.
  void reserve(std::size_t nodes, std::size_t edges) {
    if constexpr (reserving_index<Index>) index_.reserve(nodes);
    preds_.reserve(nodes, edges);
    succs_.reserve(nodes, edges);
  }
  /// Empty again; keeps its memory.
  void clear() noexcept {
    index_.clear();
    preds_.clear();
    succs_.clear();
    scratch_.clear();
    marks_.clear();
    edge_count_ = 0;
  }

 private:
  // preds: distinct, descending, each < b == node_count(). Permutes them.
  void append_distinct(node_id b, std::span<node_id> preds) {
    const std::span<const node_id> kept = preds.first(index_.reduce(preds));
    preds_.resize(b + std::size_t{1});
    struct undo {
      dag* g;
      node_id b;
      ~undo() {
        if (g == nullptr) return;
        g->preds_.shrink(b);
        g->succs_.shrink(b);
      }
    } undo_unless_done{this, b};
    preds_.make_room(b, kept.size());
    succs_.resize(b + std::size_t{1});
    for (const node_id a : kept) succs_.make_room(a, 1);
    index_.commit(b);
    preds_.assign(b, kept);
    for (const node_id a : kept) succs_.insert(a, b);
    edge_count_ += kept.size();
    undo_unless_done.g = nullptr;
  }

  // For an empty dag: the nodes in topological order, whatever their ids.
  void fill(std::span<const node_id> order, detail::incoming& in) {
    index_.resize(order.size());
    preds_.resize(order.size());
    succs_.resize(order.size());
    for (const node_id b : order) {
      const std::span<node_id> preds = in[b];
      const std::span<const node_id> kept = preds.first(index_.reduce(preds));
      index_.commit(b);
      preds_.make_room(b, kept.size());
      preds_.assign(b, kept);
      for (const node_id a : kept) {
        succs_.make_room(a, 1);
        succs_.insert(a, b);
      }
      edge_count_ += kept.size();
    }
  }

  [[nodiscard]] bool is_kept(node_id a, node_id b) const noexcept {
    const std::span<const node_id> ups = upstream(b);
    return std::binary_search(ups.begin(), ups.end(), a);
  }
  [[nodiscard]] static std::vector<node_id> without(const detail::pooled_lists& lists) {
    std::vector<node_id> nodes;
    for (std::size_t n = 0; n < lists.size(); ++n)
      if (lists[n].empty()) nodes.push_back(static_cast<node_id>(n));
    return nodes;
  }

  Index index_;
  detail::pooled_lists preds_, succs_;
  std::pmr::vector<node_id> scratch_;      // the predecessors of append, the affected nodes of add_edge
  std::pmr::vector<unsigned char> marks_;  // all 0 between calls
  std::size_t edge_count_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::graph
