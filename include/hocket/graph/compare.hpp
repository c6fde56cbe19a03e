// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/graph/access.hpp>
#include <hocket/graph/dag.hpp>
#include <hocket/graph/detail/edge_pairs.hpp>
#include <hocket/graph/edge_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

enum class difference_kind : std::uint8_t {
  missing_order,   ///< we keep source -> target; no path of theirs leads there: a race
  extra_order,     ///< they need source -> target, and no path of ours asks for it: lost concurrency
  redundant_edge,  ///< their own other edges imply source -> target: an event for nothing
};

[[nodiscard]] constexpr std::string_view to_string(difference_kind k) noexcept {
  constexpr std::string_view names[] = {"missing_order", "extra_order", "redundant_edge"};
  return names[static_cast<std::size_t>(k)];
}

/// One difference between two graphs on the same nodes, with the path that proves it.
struct difference {
  difference_kind kind = difference_kind::missing_order;
  edge pair;  ///< an edge of ours if missing, else of theirs
  /// From pair.source to pair.target: in our graph if the order is missing, in theirs if it is extra, or redundant and
  /// then through other nodes. For a missing or extra order that the other graph has the opposite way, the path that
  /// contradicts instead: from pair.target to pair.source, in that other graph.
  std::vector<node_id> path;

  [[nodiscard]] bool opposite() const noexcept { return !path.empty() && path.front() == pair.target; }
  /// Is the path one of our graph?
  [[nodiscard]] bool path_is_ours() const noexcept { return (kind == difference_kind::missing_order) != opposite(); }
  friend bool operator==(const difference&, const difference&) = default;
};

/// What tells two graphs apart. Each edge counts once: every kept edge of ours is there or missing; every distinct edge
/// of theirs is redundant, extra, or agrees.
struct comparison {
  std::size_t ours = 0;       ///< edges that we keep
  std::size_t theirs = 0;     ///< distinct edges of theirs
  std::size_t missing = 0;    ///< of ours: not implied by theirs
  std::size_t extra = 0;      ///< of theirs, without the redundant ones: not implied by ours
  std::size_t redundant = 0;  ///< of theirs: implied by their others
  /// The first of each kind: missing, then extra, then redundant, each by source, then target.
  std::vector<difference> first;

  /// Do both graphs order the same pairs of nodes?
  [[nodiscard]] bool equal_order() const noexcept { return missing == 0 && extra == 0; }
};

struct compare_options {
  std::size_t limit = 20;  ///< keep at most this many differences of each kind; the counts are complete
};

/// The shadow mode of a framework that migrates: it runs with its own dependencies, and asks how they differ from ours.
///
/// The two orders are equal if and only if nothing is missing and nothing extra. If every edge that we keep is implied
/// by theirs, so is every order that those generate, which is all of ours; and the other way round with their
/// reduction.
/// @param theirs  edges in any order, repetitions allowed; ids are those of ours
/// @param cycle   if given and their edges close a cycle: its nodes, smallest first, each before the next
/// @return errc::unknown_node, errc::self_edge, errc::cycle: of theirs
/// Complexity: building a dag of theirs, O(1) an edge, and a path for each difference kept.
///
///     const std::array<graph::edge, 3> theirs{{{0, 1}, {1, 2}, {0, 2}}};
///     const auto result = graph::compare(deps->graph(), theirs);
///     if (result && result->missing != 0) report(result->first.front());
template <reachability_index Index>
[[nodiscard]] result<comparison> compare(const dag<Index>& ours, std::span<const edge> theirs,
                                         const compare_options& options = {},
                                         std::pmr::vector<node_id>* cycle = nullptr) {
  const result<dag<Index>> built = dag<Index>::make(ours.node_count(), theirs, cycle);
  if (!built) return built.error();
  const dag<Index>& other = *built;
  comparison out;
  const auto differ = [&](difference_kind kind, edge e, std::size_t& count, const auto& mine, const auto& others) {
    if (count++ >= options.limit) return;
    const bool opposite = others.reaches(e.target, e.source);
    out.first.push_back({kind, e, opposite ? others.path(e.target, e.source) : mine.path(e.source, e.target)});
  };
  const std::vector<edge> kept = ours.edges();
  out.ours = kept.size();
  for (const edge& e : kept)
    if (!other.reaches(e.source, e.target)) differ(difference_kind::missing_order, e, out.missing, ours, other);
  for (const edge& e : other.edges())
    if (!ours.reaches(e.source, e.target)) differ(difference_kind::extra_order, e, out.extra, other, ours);

  std::vector<edge> distinct(theirs.begin(), theirs.end());
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  out.theirs = distinct.size();
  for (const edge& e : distinct) {
    const std::span<const node_id> next = other.downstream(e.source);
    if (std::binary_search(next.begin(), next.end(), e.target)) continue;
    if (out.redundant++ < options.limit)
      out.first.push_back({difference_kind::redundant_edge, e, other.path(e.source, e.target)});
  }
  return out;
}

/// As above, from pairs, tuples or arrays of two integers.
template <reachability_index Index, detail::edge_pairs Pairs>
[[nodiscard]] result<comparison> compare(const dag<Index>& ours, const Pairs& theirs,
                                         const compare_options& options = {},
                                         std::pmr::vector<node_id>* cycle = nullptr) {
  const result<std::vector<edge>> edges = detail::edges_of_pairs(ours.node_count(), theirs);
  if (!edges) return edges.error();
  return graph::compare(ours, std::span<const edge>(*edges), options, cycle);
}

/// As above, with the edges that a host's graph has by its policy.
template <reachability_index Index, class G, class Policy = graph_access<G>>
  requires(!std::is_convertible_v<const G&, std::span<const edge>> && !detail::edge_pairs<G>)
[[nodiscard]] result<comparison> compare(const dag<Index>& ours, const G& theirs, const Policy& policy = {},
                                         const compare_options& options = {},
                                         std::pmr::vector<node_id>* cycle = nullptr) {
  const result<std::vector<edge>> edges = graph::edge_list(theirs, policy);
  if (!edges) return edges.error();
  return graph::compare(ours, std::span<const edge>(*edges), options, cycle);
}

}  // namespace hocket::inline HOCKET_ABI::graph
