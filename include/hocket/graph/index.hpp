// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>

namespace hocket::inline HOCKET_ABI::graph {

/// What a dag asks of its reachability index, so that a host can bring its own. The index holds, for each node b, the
/// set of its strict ancestors; it never sees edges that are not part of the order, nor any cycle.
///
/// * `X(memory)`: empty, allocating from a std::pmr::memory_resource*.
/// * `size()`: nodes held. `bytes()`: memory held. `clear()`: empty again; may keep memory.
/// * `reaches(a, b)`: is a an ancestor of b? False for a == b. O(1), noexcept, safe for concurrent readers.
/// * `reduce(b, preds)`: stages the ancestor set of node b, whose predecessors are `preds` (distinct, best in
/// descending
///   topological order), and permutes `preds` so that those which no other predecessor implies come first; returns how
///   many those are. Nothing observable changes.
/// * `commit(b)`: noexcept; the set that was staged for b becomes b's. b == size() adds a node; b < size() replaces the
/// set of a
///   node which no other node's set depends on yet.
/// * `resize(n)`: adds nodes without ancestors up to n, n >= size().
/// * `link(a, affected)`: a becomes an ancestor, with its own ancestors, of each node in `affected`, which the caller
///   has closed under descendants that lack a. Strong guarantee: it throws before it changes anything.
template <class X>
concept reachability_index =
    std::movable<X> && std::constructible_from<X, std::pmr::memory_resource*> &&
    requires(X& x, const X& c, node_id a, std::span<node_id> preds, std::span<const node_id> affected, std::size_t n) {
      { c.size() } noexcept -> std::same_as<std::size_t>;
      { c.bytes() } noexcept -> std::same_as<std::size_t>;
      { c.reaches(a, a) } noexcept -> std::same_as<bool>;
      { x.reduce(a, preds) } -> std::same_as<std::size_t>;
      { x.commit(a) } noexcept;
      x.resize(n);
      x.link(a, affected);
      { x.clear() } noexcept;
    };

namespace detail {

// A sentence for the member of an index that is missing or does not fit.
template <class X>
consteval bool require_index() {
  static_assert(std::movable<X> && std::constructible_from<X, std::pmr::memory_resource*>,
                "hocket: an index can be moved, and is made from a std::pmr::memory_resource*");
  static_assert(
      requires(const X& c, node_id a) {
        { c.reaches(a, a) } noexcept -> std::same_as<bool>;
      }, "hocket: the index has no reaches that fits. Write: bool reaches(node_id a, node_id b) const noexcept;");
  static_assert(
      requires(X& x, node_id b, std::span<node_id> preds) {
        { x.reduce(b, preds) } -> std::same_as<std::size_t>;
      }, "hocket: the index has no reduce that fits. Write: std::size_t reduce(node_id b, std::span<node_id> preds);");
  static_assert(
      requires(X& x, node_id b) {
        { x.commit(b) } noexcept;
      }, "hocket: the index has no commit that fits. Write: void commit(node_id b) noexcept;");
  static_assert(
      requires(X& x, node_id a, std::span<const node_id> affected) { x.link(a, affected); },
      "hocket: the index has no link that fits. Write: void link(node_id a, std::span<const node_id> affected);");
  static_assert(reachability_index<X>,
                "hocket: the index lacks size() or bytes() (const noexcept, std::size_t), resize(std::size_t) or "
                "clear() noexcept: see hocket/graph/index.hpp");
  return true;
}

}  // namespace detail

/// An index that can count a node's strict ancestors, and all ordered pairs, faster than by asking for each pair.
template <class X>
concept counting_index = reachability_index<X> && requires(const X& c, node_id b) {
  { c.ancestor_count(b) } -> std::same_as<std::size_t>;
  { c.reachable_pairs() } -> std::same_as<std::uint64_t>;
};

/// An index that likes to know how many nodes will come.
template <class X>
concept reserving_index = reachability_index<X> && requires(X& x, std::size_t n) { x.reserve(n); };

/// An index that lists a node's strict ancestors, ascending: for_each_ancestor(b, f).
template <class X>
concept listing_index =
    reachability_index<X> && requires(const X& x, node_id b, void (*f)(node_id)) { x.for_each_ancestor(b, f); };

/// An index that can forget its last nodes, on which no other node's set depends: truncate(n), noexcept.
/// With it, rolling appended nodes back costs only what was appended.
template <class X>
concept truncating_index = reachability_index<X> && requires(X& x, std::size_t n) {
  { x.truncate(n) } noexcept;
};

/// An index that may hold more than it needs, such as what late edges left behind: wants_rebuild() is true when a new
/// one is worth it. Before its next change the dag builds another from its kept edges, after a reserve(n) with room for
/// one node more.
template <class X>
concept rebuildable_index = reachability_index<X> && requires(const X& x) {
  { x.wants_rebuild() } noexcept -> std::same_as<bool>;
};

/// An index whose numbering can end before the node ids do: has_room(p) is false if a reduce of p predecessors might
/// not fit any more. Then append answers errc::limit_exceeded; where it is not asked, such a reduce or link throws
/// std::bad_alloc.
template <class X>
concept bounded_index = reachability_index<X> && requires(const X& x, std::size_t preds) {
  { x.has_room(preds) } noexcept -> std::same_as<bool>;
};

}  // namespace hocket::inline HOCKET_ABI::graph
