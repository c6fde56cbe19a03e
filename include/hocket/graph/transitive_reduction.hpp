// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/graph/detail/edge_pairs.hpp>
#include <hocket/graph/detail/topological.hpp>
#include <hocket/graph/edge.hpp>
#include <hocket/graph/persistent_index.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// The edges of a graph that no others imply, without an index to ask afterwards.
struct reduction {
  std::vector<edge> kept;             ///< by source, then target
  std::size_t offered = 0;            ///< distinct edges given
  std::uint64_t reachable_pairs = 0;  ///< number of (a, b) with a before b
  std::size_t bytes = 0;              ///< memory used on the way, besides the edges
};

namespace detail {

// A graph in topological order: node order[r] has rank r.
struct ranked {
  incoming& in;
  std::span<const node_id> order;
  std::vector<node_id> rank;

  // The ranks of b's sources, descending.
  std::span<node_id> sources(node_id b, std::vector<node_id>& room) const {
    room.clear();
    for (const node_id a : in[b]) room.push_back(rank[a]);
    const auto later = [](node_id x, node_id y) { return x > y; };
    if (!std::is_sorted(room.begin(), room.end(), later)) std::sort(room.begin(), room.end(), later);
    return room;
  }
};

// With sets that share what they have in common, as long as they stay small; false if they do not.
[[nodiscard]] inline bool reduce_with_sets(const ranked& g, std::size_t most_bytes, reduction& out) {
  persistent_index sets;
  sets.reserve(g.order.size());
  std::vector<node_id> room;
  for (std::size_t r = 0; r < g.order.size(); ++r) {
    const node_id b = g.order[r];
    const std::span<node_id> preds = g.sources(b, room);
    if (sets.bytes() > most_bytes || !sets.has_room(preds.size())) return false;
    const std::size_t kept = sets.reduce(static_cast<node_id>(r), preds);
    sets.commit(static_cast<node_id>(r));
    for (std::size_t i = 0; i < kept; ++i) out.kept.push_back({g.order[preds[i]], b});
  }
  out.reachable_pairs = sets.reachable_pairs();
  out.bytes += sets.bytes();
  return true;
}

// The closure for 512 sources at a time, one pass over the later nodes for each.
inline void reduce_by_windows(const ranked& g, reduction& out) {
  constexpr std::size_t window = 512;
  using bits = std::array<std::uint64_t, window / 64>;
  const std::size_t nodes = g.order.size();
  std::vector<bits> rows(nodes);
  out.bytes += nodes * sizeof(bits);
  for (std::size_t first = 0; first < nodes; first += window) {
    for (std::size_t r = first; r < nodes; ++r) {
      const node_id b = g.order[r];
      bits row{};  // what the predecessors of b imply
      for (const node_id a : g.in[b]) {
        if (g.rank[a] < first) continue;
        for (std::size_t w = 0; w < row.size(); ++w) row[w] |= rows[g.rank[a]][w];
      }
      for (const node_id a : g.in[b]) {
        if (g.rank[a] < first || g.rank[a] >= first + window) continue;
        const std::size_t bit = g.rank[a] - first;
        if ((row[bit / 64] >> (bit % 64) & 1u) == 0) out.kept.push_back({a, b});
      }
      for (const node_id a : g.in[b]) {
        if (g.rank[a] < first || g.rank[a] >= first + window) continue;
        const std::size_t bit = g.rank[a] - first;
        row[bit / 64] |= std::uint64_t{1} << (bit % 64);
      }
      for (const std::uint64_t word : row) out.reachable_pairs += static_cast<std::uint64_t>(std::popcount(word));
      rows[r] = row;
    }
  }
}

}  // namespace detail

/// Reduces a graph in memory that is linear in its size: for hosts that want pruned edges and no queries.
/// Up to 4,096 nodes, and for graphs without the structure of programs, the closure is computed for 512 sources at a
/// time. Above, an index is tried first, which for programs takes time near linear in their size; it is given up if it
/// grows beyond 256 bytes a node.
/// @param cycle  if given and the edges close a cycle: its nodes, smallest first, each before the next
/// @return errc::unknown_node, errc::self_edge, errc::cycle, errc::limit_exceeded
/// Complexity: that of a persistent_index, and if it is given up O(nodes / 512 · (nodes + edges)) steps of 64 bytes;
///             at most 280 bytes a node and 16 an edge.
///
///     const std::array<edge, 3> edges{{{0, 1}, {1, 2}, {0, 2}}};
///     graph::transitive_reduction(3, edges)->kept.size() == 2;
[[nodiscard]] inline result<reduction> transitive_reduction(std::size_t nodes, std::span<const edge> edges,
                                                            std::pmr::vector<node_id>* cycle = nullptr) {
  if (const result<node_id> last = to_id(nodes, "number of nodes"); !last) return last.error();
  for (const edge& e : edges) {
    const node_id worst = e.source > e.target ? e.source : e.target;
    if (worst >= nodes) return error{errc::unknown_node, worst, static_cast<std::int64_t>(nodes)};
    if (e.source == e.target) {
      if (cycle != nullptr) cycle->assign(1, e.source);
      return error{errc::self_edge, e.source};
    }
  }
  std::pmr::memory_resource* const memory = std::pmr::get_default_resource();
  detail::incoming in = detail::incoming_of(nodes, edges, memory);
  const std::pmr::vector<node_id> order = detail::topological_order(in, memory);
  if (order.size() < nodes) {
    const std::vector<node_id> found = detail::find_cycle(in, order);
    const error why{errc::cycle, found.back(), found.front()};
    if (cycle != nullptr) cycle->assign(found.begin(), found.end());
    return why;
  }
  detail::ranked g{in, order, std::vector<node_id>(nodes)};
  for (std::size_t r = 0; r < nodes; ++r) g.rank[order[r]] = static_cast<node_id>(r);
  reduction out;
  out.offered = in.sources.size();
  out.bytes = nodes * (2 * sizeof(node_id) + sizeof(std::size_t));
  constexpr std::size_t few = 4096;
  if (nodes <= few || !detail::reduce_with_sets(g, 256 * nodes, out)) {
    out.kept.clear();
    detail::reduce_by_windows(g, out);
  }
  std::sort(out.kept.begin(), out.kept.end());
  return out;
}

/// As above, from pairs, tuples or arrays of two integers: a std::vector<std::pair<int, int>>.
template <detail::edge_pairs Pairs>
[[nodiscard]] result<reduction> transitive_reduction(std::size_t nodes, const Pairs& pairs,
                                                     std::pmr::vector<node_id>* cycle = nullptr) {
  const result<std::vector<edge>> edges = detail::edges_of_pairs(nodes, pairs);
  if (!edges) return edges.error();
  return graph::transitive_reduction(nodes, std::span<const edge>(*edges), cycle);
}

}  // namespace hocket::inline HOCKET_ABI::graph
