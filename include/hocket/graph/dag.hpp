// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/graph/detail/edge_pairs.hpp>
#include <hocket/graph/detail/fused_nodes.hpp>
#include <hocket/graph/detail/journal.hpp>
#include <hocket/graph/detail/pooled_lists.hpp>
#include <hocket/graph/detail/workspace.hpp>
#include <hocket/graph/edge.hpp>
#include <hocket/graph/edge_list.hpp>
#include <hocket/graph/index.hpp>
#include <hocket/graph/persistent_index.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <memory_resource>
#include <numeric>
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
/// concurrent readers. Spans stay valid until the next non-const call.
/// @tparam Index  a reachability_index: persistent_index, or a host's own
///
///     hocket::graph::dag<> g;
///     const auto a = g.append({}).value();
///     const auto b = g.append({a}).value();       // after a
///     const auto c = g.append({a, b}).value();    // after a and b: the edge a -> c is redundant
///     g.reaches(a, c) && g.edge_count() == 2 && g.add_edge(c, a) == hocket::graph::edge_status::cycle;
template <class Index = persistent_index>
class dag {
  static_assert(detail::require_index<Index>());

 public:
  using index_type = Index;
  static constexpr bool returns_views = true;  // downstream, upstream, index: see result::operator->

  explicit dag(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : index_(memory),
        preds_(memory),
        succs_(memory),
        dropped_(memory),
        fused_(memory),
        journal_(memory),
        work_(memory) {}
  dag(dag&& other) noexcept
      : index_(std::move(other.index_)),
        preds_(std::move(other.preds_)),
        succs_(std::move(other.succs_)),
        dropped_(std::move(other.dropped_)),
        fused_(std::move(other.fused_)),
        journal_(std::move(other.journal_)),
        work_(std::move(other.work_)),
        edge_count_(std::exchange(other.edge_count_, 0)),
        logging_(other.logging_) {
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

  /// The graph of these edges over nodes 0 … nodes - 1. See assign.
  ///
  ///     const auto g = hocket::graph::dag<>::make(3, edges);
  [[nodiscard]] static result<dag> make(std::size_t nodes, std::span<const edge> edges,
                                        std::pmr::vector<node_id>* cycle = nullptr,
                                        std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
    dag g(memory);
    if (const result<void> done = g.assign(nodes, edges, cycle); !done) return done.error();
    return g;
  }
  /// As above, from pairs, tuples or arrays of two integers: a std::vector<std::pair<int, int>>.
  template <detail::edge_pairs Pairs>
  [[nodiscard]] static result<dag> make(std::size_t nodes, const Pairs& pairs,
                                        std::pmr::vector<node_id>* cycle = nullptr,
                                        std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
    const result<std::vector<edge>> edges = detail::edges_of_pairs(nodes, pairs);
    if (!edges) return edges.error();
    return make(nodes, std::span<const edge>(*edges), cycle, memory);
  }
  /// The host's own edges as a dag: their closure, and the edges that are worth keeping.
  /// @param host  a graph whose policy satisfies predecessors_policy (faster) or successors_policy; nodes may be in any
  ///              order
  /// @return as assign; errc::unknown_node also if the policy reports a node outside [0, node_count)
  ///
  ///     const auto g = hocket::graph::dag<>::make(std::vector<std::vector<int>>{{1, 2}, {2}, {}});   // drops 0 -> 2
  template <class G, class Policy = graph_access<G>>
    requires(!std::integral<G>)
  [[nodiscard]] static result<dag> make(const G& host, const Policy& policy = {},
                                        std::pmr::vector<node_id>* cycle = nullptr,
                                        std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
    dag g(memory);
    if (const result<void> done = g.assign(host, policy, cycle); !done) return done.error();
    return g;
  }

  /// Adds the next node of the program, which runs after `preds` (any order, repetitions allowed), and returns its id.
  /// @return errc::bad_order if a predecessor is not an earlier node; errc::unknown_node if it was fused away;
  ///         errc::limit_exceeded past 2^32 - 2 nodes, or past what the index can number (see bounded_index)
  /// Complexity: the index's reduce, plus O(p log p) for p predecessors that do not come in descending order.
  /// Source: docs/graph.md, "Why descending order is exact" (proof).
  result<node_id> append(std::span<const node_id> preds) {
    if (node_count() >= no_id) return to_id(node_count(), "number of nodes");
    const auto id = static_cast<node_id>(node_count());
    // Ascending, as programs have them, the last says enough.
    const std::span<node_id> descending = detail::descending(preds, work_.ids);
    if (!descending.empty() && (descending[0] >= id || !fused_.empty())) {
      for (const node_id p : preds)
        if (p >= id) return error{errc::bad_order, id, p};
        else if (fused_.contains(p)) return error{errc::unknown_node, p, id};
    }
    if constexpr (bounded_index<Index>)
      if (!index_.has_room(preds.size())) return error{errc::limit_exceeded, id, id}.with("size of the index");
    rebuild_index_if_worth_it();
    append_distinct(id, descending);
    return id;
  }
  result<node_id> append(std::initializer_list<node_id> preds) {
    return append(std::span<const node_id>(preds.begin(), preds.size()));
  }

  /// Adds an edge between existing nodes, in any order and at any time. What it makes redundant is removed.
  /// @return edge_status; when the edge is rejected nothing has changed and `path` yields the witness
  /// Complexity: O(1) unless added; then the descendants of b that did not run after a yet, times one row of the index.
  edge_status add_edge(node_id a, node_id b) {
    if (a >= node_count() || b >= node_count() || fused_.contains(a) || fused_.contains(b))
      return edge_status::unknown_node;
    if (a == b) return edge_status::self;
    if (index_.reaches(b, a)) return edge_status::cycle;
    if (index_.reaches(a, b)) {
      if (is_kept(a, b)) return edge_status::duplicate;
      if (logging_ && !detail::is_among(dropped_[b], a)) {
        journal_.make_room(1);
        dropped_.make_room(b, 1);
        dropped_.insert(b, a);
        journal_.note({a, b}, change::added);
      }
      return edge_status::redundant;
    }

    rebuild_index_if_worth_it();
    const unmark unmark_at_exit{*this};
    find_affected(a, b);
    preds_.make_room(b, 1);
    succs_.make_room(a, 1);
    find_redundant(a, b);
    journal_.make_room(work_.removed.size() + 1);
    if (logging_) make_room_for_dropped(work_.removed);
    index_.link(a, work_.ids);  // the last step that may throw
    replace_redundant(a, b);
    return edge_status::added;
  }

  /// Becomes the graph of these edges over nodes 0 … nodes - 1, whatever it was before, in the memory that clear()
  /// kept. Edges may come in any order and repeatedly. Much faster than edge by edge.
  /// @param cycle  if given and the edges close a cycle: its nodes, smallest first, each before the next
  /// @return errc::unknown_node, errc::cycle (an edge that closes it), errc::self_edge, errc::limit_exceeded
  /// Complexity: O((nodes + edges) log) and one append per node.
  result<void> assign(std::size_t nodes, std::span<const edge> edges, std::pmr::vector<node_id>* cycle = nullptr) {
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
    detail::collect_incoming(work_.in, nodes, edges);
    return become_incoming(forward, cycle);
  }

  /// As above, from pairs, tuples or arrays of two integers.
  template <detail::edge_pairs Pairs>
  result<void> assign(std::size_t nodes, const Pairs& pairs, std::pmr::vector<node_id>* cycle = nullptr) {
    const result<std::vector<edge>> edges = detail::edges_of_pairs(nodes, pairs);
    if (!edges) return edges.error();
    return assign(nodes, std::span<const edge>(*edges), cycle);
  }

  /// Becomes the host's own edges, as make does, in the memory that clear() kept.
  ///
  ///     g.clear();
  ///     g.assign(computation, policy);
  template <class G, class Policy = graph_access<G>>
    requires(!std::integral<G>)
  result<void> assign(const G& host, const Policy& policy = {}, std::pmr::vector<node_id>* cycle = nullptr) {
    const auto nodes = static_cast<std::size_t>(policy.node_count(host));
    if constexpr (predecessors_policy<Policy, G>) {
      bool forward = true;
      if (collect_predecessors(host, policy, nodes, forward)) return become_incoming(forward, cycle);
    }
    const result<std::vector<edge>> edges = graph::edge_list(host, policy);
    if (!edges) return edges.error();
    return assign(nodes, *edges, cycle);
  }

  /// From now on remembers edges that are not kept because others imply them, 4 bytes each, so that erase_edge can
  /// bring them back. Precondition: node_count() == 0. clear and assign keep the setting.
  void log_dropped_edges() noexcept {
    HOCKET_ASSERT(node_count() == 0);
    logging_ = true;
  }
  [[nodiscard]] bool logs_dropped_edges() const noexcept { return logging_; }
  /// The offered edges that are not kept, by source, then target; empty without log_dropped_edges. O(edges log edges).
  [[nodiscard]] std::vector<edge> dropped_edges() const {
    std::vector<edge> all;
    for (std::size_t b = 0; b < dropped_.size(); ++b)
      for (const node_id a : dropped_[b]) all.push_back({a, static_cast<node_id>(b)});
    std::sort(all.begin(), all.end());
    return all;
  }

  /// Takes back an edge that was offered, as if it never had been: dropped edges that it made redundant return.
  /// @return errc::dropped_edges_not_logged without log_dropped_edges, since what must return is not known then;
  ///         errc::no_such_edge
  /// Complexity: O(log) if the edge is a dropped one, else as assign.
  result<void> erase_edge(node_id a, node_id b) {
    if (!logging_) return error{errc::dropped_edges_not_logged, a, b};
    if (a >= node_count() || b >= node_count()) return error{errc::no_such_edge, a, b};
    if (detail::is_among(dropped_[b], a)) {  // the kept edges generate the same order without it
      journal_.make_room(1);
      dropped_.erase(b, a);
    } else if (is_kept(a, b)) {
      std::vector<edge> rest = generators();
      rest.erase(std::lower_bound(rest.begin(), rest.end(), edge{a, b}));
      dag fresh = rebuilt(node_count(), rest);
      journal_.make_room(1);
      adopt(fresh);
    } else {
      return error{errc::no_such_edge, a, b};
    }
    journal_.note({a, b}, change::removed);
    return {};
  }

  /// Takes back several edges, as erase_edge one after the other, but the graph is built again only once.
  /// @param edges  each once, in any order
  /// @return as erase_edge, for the first edge that is none; then nothing is taken back
  /// Complexity: O(edges log) if all are dropped ones, else as assign.
  ///
  ///     g.erase_edges(std::vector<edge>{{0, 2}, {1, 2}});
  result<void> erase_edges(std::span<const edge> edges) {
    bool only_dropped = true;
    std::vector<edge> sorted(edges.begin(), edges.end());
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const auto [a, b] = sorted[i];
      if (!logging_) return error{errc::dropped_edges_not_logged, a, b};
      const bool is_known = a < node_count() && b < node_count();
      const bool is_dropped = is_known && detail::is_among(dropped_[b], a);
      const bool is_repeated = i > 0 && sorted[i - 1] == sorted[i];
      if (!is_known || is_repeated || (!is_dropped && !is_kept(a, b))) return error{errc::no_such_edge, a, b};
      only_dropped = only_dropped && is_dropped;
    }
    if (only_dropped) {
      journal_.make_room(sorted.size());
      for (const edge& e : sorted) dropped_.erase(e.target, e.source);
    } else {
      const std::vector<edge> all = generators();
      std::vector<edge> rest;
      rest.reserve(all.size() - sorted.size());
      std::set_difference(all.begin(), all.end(), sorted.begin(), sorted.end(), std::back_inserter(rest));
      dag fresh = rebuilt(node_count(), rest);
      journal_.make_room(sorted.size());
      adopt(fresh);
    }
    for (const edge& e : sorted) journal_.note(e, change::removed);
    return {};
  }

  /// Fuses ops: the group becomes one node with all their edges, save those within the group. Ids do not move; members
  /// fused away have no edges and can get none; fused_into tells where they went.
  /// @param group  at least one node, in any order
  /// @param cycle  if given and the fusion is refused: a path from a member over outside nodes back to a member
  /// @return the smallest id of the group, which now stands for it; errc::fusion_closes_cycle if an outside node runs
  ///         between two members; errc::unknown_node, errc::invalid_argument (an empty group)
  /// Complexity: the edges out of the group times its size, then as assign.
  result<node_id> contract(std::span<const node_id> group, std::pmr::vector<node_id>* cycle = nullptr) {
    if (group.empty()) return error{errc::invalid_argument}.with("group");
    for (const node_id n : group)
      if (n >= node_count() || fused_.contains(n))
        return error{errc::unknown_node, n, static_cast<std::int64_t>(node_count())};
    std::vector<node_id> members(group.begin(), group.end());
    std::sort(members.begin(), members.end());
    members.erase(std::unique(members.begin(), members.end()), members.end());
    if (const std::vector<node_id> way = detail::way_out_and_back(*this, members); !way.empty()) {
      const error why{errc::fusion_closes_cycle, way[0], way[1], way.back()};
      if (cycle != nullptr) cycle->assign(way.begin(), way.end());
      return why;
    }
    const node_id one = members.front();
    if (members.size() == 1) return one;
    const std::vector<edge> before = generators();
    const std::vector<edge> after = detail::edges_of_fusion(before, members);
    std::vector<edge> fusions;
    for (std::size_t i = 1; i < members.size(); ++i) fusions.push_back({members[i], one});
    dag fresh = rebuilt(node_count(), after);
    become_fused(fresh, before, fusions);
    return one;
  }
  /// Fuses several groups, as contract one after the other, but the graph is built again only once.
  /// @param groups  each with at least one node, none of them in two groups
  /// @param cycle   if given and the fusion is refused: the groups that would wait for each other and the nodes between
  ///                them, each before the next, a group by its smallest node
  /// @return errc::fusion_closes_cycle, for two members of a group and a node or group that runs between them;
  ///         errc::unknown_node, errc::invalid_argument (an empty group, or a node of two: its number)
  /// Complexity: as assign.
  ///
  ///     g.contract_all(std::vector<std::vector<node_id>>{{0, 1}, {4, 5, 6}});
  result<void> contract_all(std::span<const std::vector<node_id>> groups, std::pmr::vector<node_id>* cycle = nullptr) {
    std::vector<node_id> into(node_count());
    std::iota(into.begin(), into.end(), node_id{0});
    std::vector<char> is_member(node_count(), 0);
    std::vector<edge> fusions;
    for (const std::vector<node_id>& group : groups) {
      if (group.empty()) return error{errc::invalid_argument}.with("group");
      std::vector<node_id> members = group;
      std::sort(members.begin(), members.end());
      members.erase(std::unique(members.begin(), members.end()), members.end());
      for (const node_id n : members) {
        if (n >= node_count() || fused_.contains(n))
          return error{errc::unknown_node, n, static_cast<std::int64_t>(node_count())};
        if (is_member[n] != 0) return error{errc::invalid_argument, n}.with("a node of two groups");
        is_member[n] = 1;
        into[n] = members.front();
        if (n != members.front()) fusions.push_back({n, members.front()});
      }
    }
    if (fusions.empty()) return {};
    const std::vector<edge> before = generators();
    const std::vector<edge> after = detail::edges_of_fusions(before, into);
    dag fresh(memory());
    fresh.logging_ = logging_;
    std::pmr::vector<node_id> found;
    if (const result<void> built = fresh.assign(node_count(), after, &found); !built) {
      if (found.empty()) return built;
      if (cycle != nullptr) cycle->assign(found.begin(), found.end());
      return detail::why_fusions_close(before, into, found);
    }
    become_fused(fresh, before, fusions);
    return {};
  }
  /// The node that stands for n: n itself unless contract fused it away. O(fusions of its successors).
  [[nodiscard]] node_id fused_into(node_id n) const noexcept { return fused_.find(n); }

  /// Marks this moment for any number of rollbacks. From the first snapshot on, changed edges are noted, 12 bytes each,
  /// until forget_snapshots; appended nodes cost nothing. To try a single edge, would_cycle is cheaper.
  dag_snapshot snapshot() { return journal_.take(node_count()); }
  /// Returns to the snapshot: nodes, edges, dropped edges, fusions. Later snapshots are forgotten.
  /// @return errc::stale_snapshot if the dag was rolled back behind it, if clear, assign or forget_snapshots came
  /// since,
  ///         or if it is a snapshot of another dag
  /// Complexity: O(what was added) if nodes were appended and nothing else, and the index can truncate; else as assign.
  result<void> rollback(const dag_snapshot& to) {
    if (!journal_.knows(to)) return error{errc::stale_snapshot};
    const std::size_t nodes = detail::journal::nodes_at(to);
    if (journal_.only_appended_since(to)) {
      pop_nodes(nodes);
    } else {
      dag fresh = rebuilt(nodes, journal_.edges_at(to, generators()));
      adopt(fresh);
    }
    journal_.for_each_fused_since(to, [this](node_id n) { fused_.restore(n); });
    journal_.return_to(to);
    return {};
  }
  /// Ends the journal: no snapshot taken so far can be returned to.
  void forget_snapshots() noexcept { journal_.clear(); }

  /// The finished graph, for many readers; a copy of a dag is its clone.
  [[nodiscard]] std::shared_ptr<const dag> share() && { return std::make_shared<const dag>(std::move(*this)); }

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
  [[nodiscard]] std::span<const node_id> downstream(node_id a) const& noexcept {
    HOCKET_ASSERT(a < node_count());
    return succs_[a];
  }
  std::span<const node_id> downstream(node_id a) const&& = delete;
  /// The kept edges into b; their number is the count an executor waits down to zero. Ascending. O(1).
  [[nodiscard]] std::span<const node_id> upstream(node_id b) const& noexcept {
    HOCKET_ASSERT(b < node_count());
    return preds_[b];
  }
  std::span<const node_id> upstream(node_id b) const&& = delete;
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
    if (!reaches(a, b)) return {};
    return detail::first_path(*this, a, b);
  }

  /// f(a) for each node a that happens before b, ascending. O(row of the index), or n queries if it cannot list them.
  template <class F>
  void for_each_ancestor(node_id b, F&& f) const {
    HOCKET_ASSERT(b < node_count());
    if constexpr (listing_index<Index>) {
      index_.for_each_ancestor(b, f);
    } else {
      for (std::size_t a = 0; a < node_count(); ++a)
        if (index_.reaches(static_cast<node_id>(a), b)) f(static_cast<node_id>(a));
    }
  }
  /// f(b) for each node b that happens after a, ascending. O(n / 64 + kept edges among them).
  template <class F>
  void for_each_descendant(node_id a, F&& f) const {
    HOCKET_ASSERT(a < node_count());
    detail::for_each_descendant(*this, a, f);
  }
  /// Number of nodes that happen after a: with ancestor_count, what a scheduler ranks ops by. As for_each_descendant.
  [[nodiscard]] std::size_t descendant_count(node_id a) const {
    std::size_t count = 0;
    detail::for_each_descendant(*this, a, [&count](node_id) { ++count; });
    return count;
  }

  /// Number of nodes that happen before b. O(row of the index).
  [[nodiscard]] std::size_t ancestor_count(node_id b) const {
    HOCKET_ASSERT(b < node_count());
    if constexpr (counting_index<Index>) {
      return index_.ancestor_count(b);
    } else {
      std::size_t count = 0;
      for_each_ancestor(b, [&count](node_id) { ++count; });
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

  [[nodiscard]] const Index& index() const& noexcept { return index_; }
  const Index& index() const&& = delete;
  /// Memory held.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return index_.bytes() + preds_.bytes() + succs_.bytes() + dropped_.bytes() + fused_.bytes() + journal_.bytes() +
           work_.bytes();
  }
  /// For tests: do the lists hold the same edges both ways, and the invariants of lists and index?
  [[nodiscard]] bool check_invariants() const {
    if (!preds_.check_invariants() || !succs_.check_invariants() || !dropped_.check_invariants()) return false;
    if (preds_.size() != succs_.size() || index_.size() != preds_.size()) return false;
    std::size_t into = 0, out = 0;
    for (std::size_t i = 0; i < node_count(); ++i) {
      const auto n = static_cast<node_id>(i);
      into += preds_[n].size();
      out += succs_[n].size();
      for (const node_id a : preds_[n])
        if (!detail::is_among(succs_[a], n) || !index_.reaches(a, n)) return false;
    }
    if constexpr (requires { index_.check_invariants(); })
      if (!index_.check_invariants()) return false;
    return into == edge_count_ && out == edge_count_;
  }
  /// Frees what assign keeps for the next one.
  void release_workspace() noexcept { work_ = detail::workspace(memory()); }
  /// Room for so many nodes.
  void reserve(std::size_t nodes) {
    if constexpr (reserving_index<Index>) index_.reserve(nodes);
    preds_.reserve(nodes);
    succs_.reserve(nodes);
  }
  /// Empty again, without snapshots; keeps its memory, so that the same build again allocates nothing.
  void clear() noexcept {
    drop_all();
    forget_snapshots();
  }

 private:
  // All but the journal.
  void drop_all() noexcept {
    index_.clear();
    preds_.clear();
    succs_.clear();
    dropped_.clear();
    fused_.clear();
    edge_count_ = 0;
  }

  struct drop_unless_done {
    dag* g;
    ~drop_unless_done() {
      if (g != nullptr) g->drop_all();
    }
  };
  // The host's edges to work_.in. False if the host does not list its nodes by number, or reports an edge that no dag
  // can have: what is wrong with it, edge_list and assign say.
  template <class G, class Policy>
  bool collect_predecessors(const G& host, const Policy& policy, std::size_t nodes, bool& forward) {
    using node = typename Policy::node;
    if (nodes > no_id) return false;
    detail::incoming& in = work_.in;
    in.clear();
    bool fits = true;
    detail::for_each_node(policy, host, [&](const node& n) {
      const std::size_t b = in.size();
      fits = fits && b < nodes && detail::index_of(policy, host, n) == b;
      if (!fits) return;
      policy.for_each_predecessor(host, n, [&](const auto& before) {
        const std::size_t a = detail::index_of(policy, host, static_cast<node>(before));
        fits = fits && a < nodes && a != b;
        forward = forward && a < b;
        in.sources.push_back(static_cast<node_id>(a));
      });
      in.end_list();
    });
    return fits && in.size() == nodes;
  }
  // Becomes the graph of work_.in, unless that has a cycle.
  result<void> become_incoming(bool forward, std::pmr::vector<node_id>* cycle) {
    if (!forward) {
      detail::order_topologically(work_.in, work_.topological);
      if (work_.topological.order.size() < work_.in.size()) {
        const std::vector<node_id> found = detail::find_cycle(work_.in, work_.topological.order);
        const error why{errc::cycle, found.back(), found.front()};
        if (cycle != nullptr) cycle->assign(found.begin(), found.end());
        return why;
      }
    }
    if (node_count() == 0) {  // nothing to lose: build here, in the memory that clear() kept
      drop_unless_done undo_unless_done{this};
      fill(forward, work_);
      undo_unless_done.g = nullptr;
    } else {
      dag fresh(memory());
      fresh.logging_ = logging_;
      fresh.fill(forward, work_);
      fresh.work_ = std::move(work_);
      *this = std::move(fresh);
    }
    forget_snapshots();
    return {};
  }
  // For an empty dag: all edges of work.in at once. The nodes are in topological order, or that is in work.topological.
  void fill(bool forward, detail::workspace& work) {
    detail::incoming& in = work.in;
    const std::size_t nodes = in.size();
    reserve(nodes);
    fill_index(index_, forward, work);
    preds_.assign_all(nodes, [&in](std::size_t b) { return in[b].first(in.kept[b]); });
    succs_.assign_transposed(preds_);
    if (logging_) dropped_.assign_all(nodes, [&in](std::size_t b) { return in[b].subspan(in.kept[b]); });
    edge_count_ = std::accumulate(in.kept.begin(), in.kept.end(), std::size_t{0});
  }
  // Puts the nodes of work.in into an index that has none. Of the sources of a node, the kept ones come first.
  static void fill_index(Index& index, bool forward, detail::workspace& work) {
    detail::incoming& in = work.in;
    const std::size_t nodes = in.size();
    if (!forward) index.resize(nodes);
    in.kept.resize(nodes);
    for (std::size_t i = 0; i < nodes; ++i) {
      const node_id b = forward ? static_cast<node_id>(i) : work.topological.order[i];
      in.kept[b] = static_cast<node_id>(index.reduce(b, in[b]));
      index.commit(b);
    }
  }

  // Clears the marks of find_affected.
  struct unmark {
    dag& g;
    ~unmark() {
      for (const node_id d : g.work_.ids) g.work_.marks[d] = 0;
    }
  };
  // The edge a -> b adds (ancestors of a, and a) × (b, and descendants of b) to the closure: the full cross product.
  // Only descendants that lack a can change, and they are closed: whatever runs after a node that has a, has a.
  // They go to work_.ids, and are marked.
  void find_affected(node_id a, node_id b) {
    std::pmr::vector<node_id>& affected = work_.ids;
    affected.clear();
    work_.marks.resize(node_count());
    affected.assign(1, b);
    work_.marks[b] = 1;
    for (std::size_t i = 0; i < affected.size(); ++i) {
      for (const node_id d : downstream(affected[i])) {
        if (work_.marks[d] != 0 || index_.reaches(a, d)) continue;
        affected.push_back(d);  // may throw: then d is not marked yet
        work_.marks[d] = 1;
      }
    }
  }
  // The kept edges that a -> b makes redundant go to work_.removed, those into one node beside each other. An edge
  // (x, y) is one if x is a or before it, and y is b or after it. If y had a already, only (a, y) itself can be such an
  // edge, since x -> … -> a -> … -> y would have made any other redundant before.
  void find_redundant(node_id a, node_id b) {
    std::pmr::vector<edge>& dropped = work_.removed;
    dropped.clear();
    for (const node_id y : downstream(a))
      if (index_.reaches(b, y)) dropped.push_back({a, y});
    for (const node_id y : work_.ids)
      for (const node_id x : upstream(y))
        if (index_.reaches(x, a)) dropped.push_back({x, y});
  }
  void make_room_for_dropped(std::span<const edge> dropped) {
    std::size_t run = 0;  // edges into one node so far
    for (std::size_t i = 0; i < dropped.size(); ++i) {
      run = i != 0 && dropped[i - 1].target == dropped[i].target ? run + 1 : 1;
      dropped_.make_room(dropped[i].target, run);
    }
  }
  void replace_redundant(node_id a, node_id b) noexcept {
    for (const edge& e : work_.removed) {
      preds_.erase(e.target, e.source);
      succs_.erase(e.source, e.target);
      if (logging_) dropped_.insert(e.target, e.source);
      else journal_.note(e, change::removed);
    }
    journal_.note({a, b}, change::added);
    preds_.insert(b, a);
    succs_.insert(a, b);
    edge_count_ = edge_count_ + 1 - work_.removed.size();
  }

  // See rebuildable_index. Nothing changes but the memory.
  void rebuild_index_if_worth_it() {
    if constexpr (rebuildable_index<Index>)
      if (index_.wants_rebuild()) [[unlikely]]
        rebuild_index();
  }
  [[gnu::noinline]] void rebuild_index() {
    Index fresh(memory());
    if constexpr (reserving_index<Index>) fresh.reserve(node_count() + 1);
    detail::incoming& in = work_.in;
    in.clear();
    bool forward = true;
    for (std::size_t b = 0; b < node_count(); ++b) {
      const std::span<const node_id> preds = preds_[b];
      in.sources.insert(in.sources.end(), preds.rbegin(), preds.rend());
      in.end_list();
      forward = forward && (preds.empty() || preds.back() < b);
    }
    if (!forward) detail::order_topologically(in, work_.topological);
    fill_index(fresh, forward, work_);
    index_ = std::move(fresh);
  }

  // preds: distinct, descending, each < b == node_count(). Permutes them.
  void append_distinct(node_id b, std::span<node_id> preds) {
    const std::span<const node_id> kept = preds.first(index_.reduce(b, preds));
    preds_.add(kept);
    struct undo {
      dag* g;
      node_id b;
      ~undo() {
        if (g == nullptr) return;
        g->preds_.shrink(b);
        g->succs_.shrink(b);
        if (g->logging_) g->dropped_.shrink(b);
      }
    } undo_unless_done{this, b};
    if (logging_) dropped_.add(preds.subspan(kept.size()));
    succs_.add({});
    for (const node_id a : kept) succs_.make_room(a, 1);
    index_.commit(b);
    for (const node_id a : kept) succs_.insert(a, b);
    edge_count_ += kept.size();
    undo_unless_done.g = nullptr;
  }

  // Undoes the youngest appends, when nothing else changed since.
  void pop_nodes(std::size_t left) {
    if (left == node_count()) return;
    if constexpr (truncating_index<Index>) {
      index_.truncate(left);
      for (std::size_t b = node_count(); b-- > left;) {
        edge_count_ -= preds_[b].size();
        for (const node_id a : preds_[b])
          if (a < left) succs_.erase(a, static_cast<node_id>(b));
      }
      preds_.shrink(left);
      succs_.shrink(left);
      dropped_.shrink(left);
    } else {
      std::vector<edge> then;
      for (const edge& e : generators())
        if (e.source < left && e.target < left) then.push_back(e);
      dag fresh = rebuilt(left, then);
      adopt(fresh);
    }
  }

  [[nodiscard]] bool is_kept(node_id a, node_id b) const noexcept { return detail::is_among(upstream(b), a); }
  [[nodiscard]] std::vector<node_id> without(const detail::pooled_lists& lists) const {
    std::vector<node_id> nodes;
    for (std::size_t n = 0; n < lists.size(); ++n)
      if (lists[n].empty() && !fused_.contains(static_cast<node_id>(n))) nodes.push_back(static_cast<node_id>(n));
    return nodes;
  }
  [[nodiscard]] std::pmr::memory_resource* memory() const noexcept { return work_.memory(); }

  using change = detail::journal::change;

  // The generating edges, sorted.
  [[nodiscard]] std::vector<edge> generators() const {
    std::vector<edge> all = dropped_edges();
    for (std::size_t b = 0; b < node_count(); ++b)
      for (const node_id a : preds_[b]) all.push_back({a, static_cast<node_id>(b)});
    std::sort(all.begin(), all.end());
    return all;
  }
  // The graph of these edges, which have no cycle.
  [[nodiscard]] dag rebuilt(std::size_t nodes, std::span<const edge> edges) const {
    dag fresh(memory());
    fresh.logging_ = logging_;
    const result<void> built = fresh.assign(nodes, edges);
    HOCKET_ASSERT(built);
    static_cast<void>(built);
    return fresh;
  }
  // Becomes `fresh`, in which the sources of `fusions` are fused into their targets.
  // @param before  the generating edges until now, sorted
  void become_fused(dag& fresh, std::span<const edge> before, std::span<const edge> fusions) {
    const std::vector<edge> after = fresh.generators();  // without a log that is less than was given
    fused_.make_room(node_count());
    journal_.make_room(before.size() + after.size() + fusions.size());
    adopt(fresh);
    for (const edge& e : before)
      if (!std::binary_search(after.begin(), after.end(), e)) journal_.note(e, change::removed);
    for (const edge& e : after)
      if (!std::binary_search(before.begin(), before.end(), e)) journal_.note(e, change::added);
    for (const edge& e : fusions) {
      fused_.fuse(e.source, e.target);
      journal_.note(e, change::fused);
    }
  }
  // Becomes `fresh`; snapshots, journal and fused nodes stay.
  void adopt(dag& fresh) noexcept {
    fresh.fused_ = std::move(fused_);
    fresh.journal_ = std::move(journal_);
    *this = std::move(fresh);
  }

  Index index_;
  detail::pooled_lists preds_, succs_;
  detail::pooled_lists dropped_;  // by target; no lists unless logging_
  detail::fused_nodes fused_;
  detail::journal journal_;
  detail::workspace work_;
  std::size_t edge_count_ = 0;
  bool logging_ = false;
};

}  // namespace hocket::inline HOCKET_ABI::graph
