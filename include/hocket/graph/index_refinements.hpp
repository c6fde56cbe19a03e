// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/graph/index.hpp>

#include <cstddef>

namespace hocket::inline HOCKET_ABI::graph {

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
