// SPDX-License-Identifier: Apache-2.0
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
/// * `reduce(preds)`: stages the ancestor set of a node whose predecessors are `preds` (distinct, best in descending
///   topological order), and permutes `preds` so that those which no other predecessor implies come first; returns how
///   many those are. Nothing observable changes.
/// * `commit(b)`: noexcept; the staged set becomes that of b. b == size() adds a node; b < size() replaces the set of a
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
      { x.reduce(preds) } -> std::same_as<std::size_t>;
      { x.commit(a) } noexcept;
      x.resize(n);
      x.link(a, affected);
      { x.clear() } noexcept;
    };

namespace detail {

// A sentence for the member of an index that is missing or does not fit.
template <class X>
constexpr bool require_index() {
  static_assert(std::movable<X> && std::constructible_from<X, std::pmr::memory_resource*>,
                "hocket: an index can be moved, and is made from a std::pmr::memory_resource*");
  static_assert(
      requires(const X& c, node_id a) {
        { c.reaches(a, a) } noexcept -> std::same_as<bool>;
      }, "hocket: the index has no reaches that fits. Write: bool reaches(node_id a, node_id b) const noexcept;");
  static_assert(
      requires(X& x, std::span<node_id> preds) {
        { x.reduce(preds) } -> std::same_as<std::size_t>;
      }, "hocket: the index has no reduce that fits. Write: std::size_t reduce(std::span<node_id> preds);");
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

}  // namespace hocket::inline HOCKET_ABI::graph
