// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/borrowed.hpp>
#include <hocket/core/result.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/graph/assign_streams.hpp>
#include <hocket/graph/dag.hpp>
#include <hocket/graph/detail/dag_of.hpp>
#include <hocket/graph/detail/list_schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// What choose_issue_order has to keep to.
struct issue_rules {
  /// The stream that an op has to be on, one per op, no_id where any will do; empty: no op is pinned.
  borrowed<stream_id> pinned{};
  /// The chain that an op belongs to, one per op, no_id for none; empty: there are no chains. The ops of a chain keep
  /// their program order, and one starts when the one before it is done: the collectives of a communicator, whose order
  /// then is the same on every rank, whatever durations the ranks measured.
  borrowed<std::uint32_t> chains{};
};

/// In which order to issue the ops of a program, and on which streams.
struct issue_order {
  std::vector<node_id> order;        ///< the ops as they are issued, without those that were fused away
  std::vector<stream_id> stream_of;  ///< by op, in the program's numbers
  std::vector<ticks> start;          ///< by op: when it starts, if hand-overs take no time
  ticks time = 0;                    ///< when the last op is done
  ticks least_time = 0;              ///< no order on any such streams takes less
  ticks given_time = 0;              ///< the program's own order, on streams chosen for it by the same rules

  /// No order is faster.
  [[nodiscard]] bool is_proved() const noexcept { return time == least_time; }
};

namespace detail {

[[nodiscard]] inline result<void> check_issue_rules(std::size_t nodes, stream_id streams, const issue_rules& rules) {
  const auto count = static_cast<std::int64_t>(nodes);
  if (!rules.pinned.empty() && rules.pinned.size() != nodes)
    return error{errc::wrong_length, std::ssize(rules.pinned), count}.with("pinned");
  if (!rules.chains.empty() && rules.chains.size() != nodes)
    return error{errc::wrong_length, std::ssize(rules.chains), count}.with("chains");
  for (std::size_t b = 0; b < rules.pinned.size(); ++b)
    if (rules.pinned[b] != no_id && rules.pinned[b] >= streams)
      return error{errc::out_of_range, rules.pinned[b], 0, streams - 1}.with("pinned stream of op " +
                                                                             std::to_string(b));
  return {};
}

// The edges of g and those of the chains, all of them forward.
template <class Index>
[[nodiscard]] result<std::vector<edge>> issue_edges(const dag<Index>& g, std::span<const std::uint32_t> chains) {
  std::vector<edge> edges;
  edges.reserve(g.edge_count());
  std::vector<std::pair<std::uint32_t, node_id>> members;  // of chains
  for (node_id b = 0; b < g.node_count(); ++b) {
    if (g.fused_into(b) != b) continue;
    for (const node_id a : g.upstream(b)) {
      if (a > b) return error{errc::bad_order, b, a};
      edges.push_back({a, b});
    }
    if (!chains.empty() && chains[b] != no_id) members.emplace_back(chains[b], b);
  }
  std::sort(members.begin(), members.end());
  for (std::size_t i = 1; i < members.size(); ++i)
    if (members[i].first == members[i - 1].first) edges.push_back({members[i - 1].second, members[i].second});
  return edges;
}

}  // namespace detail

/// Chooses in which order to issue ops and on which of `streams` streams, so that all are done early. It lists the ops
/// by the longest chain that is still to come, then forward and backward in turn by the list before, and takes the
/// fastest. The program's own order is tried too, so the answer never is slower than that (given_time). The question is
/// NP-hard: least_time says how far the answer can be from the best.
///
/// The bound is the greatest, over sets of ops that cannot start before some time and have some time to come after
/// them, of that time before, their work shared by all streams, and that time after. It knows chains and dependencies,
/// and of pinned ops the work on each stream.
/// @param g          edges must point forward in program order
/// @param streams    how many streams there are, from 1 to stream_limit
/// @param durations  one per op, in any unit; of an op that was fused away they do not count
/// @param rules      pinned ops and chains
/// @return errc::out_of_range for streams, a negative duration or a pinned stream; errc::wrong_length, errc::overflow,
///         errc::bad_order. Deterministic: equal input gives an equal answer on every rank.
/// Complexity: O((nodes + edges) log nodes + nodes · streams) time, O(nodes + edges + streams) memory.
/// Source: list scheduling, R. L. Graham 1969; forward and backward passes, K. Y. Li and R. J. Willis 1992.
///
///     const auto answer = graph::choose_issue_order(g, 2, measured);
///     for (const node_id op : answer->order) issue(op, answer->stream_of[op]);
template <reachability_index Index>
[[nodiscard]] result<issue_order> choose_issue_order(const dag<Index>& g, stream_id streams,
                                                     std::span<const ticks> durations, const issue_rules& rules = {}) {
  const std::size_t nodes = g.node_count();
  if (const auto fits = detail::check_streams(streams); !fits) return fits.error();
  if (const auto fits = detail::check_durations(nodes, durations); !fits) return fits.error();
  if (const auto fits = detail::check_issue_rules(nodes, streams, rules); !fits) return fits.error();
  const auto edges = detail::issue_edges(g, rules.chains);
  if (!edges) return edges.error();
  std::vector<node_id> live;
  for (node_id b = 0; b < nodes; ++b)
    if (g.fused_into(b) == b) live.push_back(b);
  const detail::list_schedule lists(nodes, *edges, live, streams, durations, rules.pinned);
  detail::listed best = lists.in_program_order();
  issue_order answer;
  answer.given_time = best.time;
  answer.least_time = lists.least_time();
  lists.improve(best, answer.least_time);
  answer.order = std::move(best.order);
  answer.stream_of = std::move(best.stream_of);
  answer.start = std::move(best.start);
  answer.time = best.time;
  for (node_id b = 0; b < nodes; ++b) {
    const node_id one = g.fused_into(b);
    answer.stream_of[b] = answer.stream_of[one];
    answer.start[b] = answer.start[one];
  }
  return answer;
}

/// Also takes what `dependencies` returns: a dependency_graph, or a result of one or of a dag, whose error is returned.
///
///     const auto answer = graph::choose_issue_order(graph::dependencies(program), 2, measured);
template <detail::leads_to_dag Deps>
[[nodiscard]] result<issue_order> choose_issue_order(const Deps& deps, stream_id streams,
                                                     std::span<const ticks> durations, const issue_rules& rules = {}) {
  return detail::with_dag(deps, [&](const auto& g) { return graph::choose_issue_order(g, streams, durations, rules); });
}

}  // namespace hocket::inline HOCKET_ABI::graph
