// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::graph {

/// `source` happens before `target`.
struct edge {
  node_id source = 0;
  node_id target = 0;
  friend constexpr bool operator==(const edge&, const edge&) = default;
  /// By source, then target.
  friend constexpr bool operator<(const edge& x, const edge& y) noexcept {
    return x.source != y.source ? x.source < y.source : x.target < y.target;
  }
};

/// What became of an edge that was offered to a dag.
enum class edge_status : std::uint8_t {
  added,         ///< it orders something new: kept, and edges that it made redundant were removed
  redundant,     ///< the order was there already, through other nodes; dag::path(source, target) shows it
  duplicate,     ///< the very edge is kept already
  self,          ///< rejected: a node cannot happen before itself
  cycle,         ///< rejected: target already happens before source; dag::path(target, source) is the witness
  unknown_node,  ///< rejected: an end does not exist
};

/// True for the three states in which, after the call, source happens before target.
[[nodiscard]] constexpr bool holds(edge_status s) noexcept { return s <= edge_status::duplicate; }

}  // namespace hocket::inline HOCKET_ABI::graph
