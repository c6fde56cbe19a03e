// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A dag and the rules of an order, as the program that is to be ordered.
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/core/result.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/graph/dag.hpp>
#include <hocket/graph/detail/check_pins.hpp>
#include <hocket/graph/detail/list_schedule.hpp>
#include <hocket/graph/issue_rules.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

[[nodiscard]] inline result<void> check_issue_rules(std::size_t nodes, stream_id streams, const issue_rules& rules) {
  const auto count = static_cast<std::int64_t>(nodes);
  const auto fits = [count](const auto& list, const char* name) -> result<void> {
    if (list.empty() || std::ssize(list) == count) return {};
    return error{errc::wrong_length, std::ssize(list), count}.with(name);
  };
  if (const auto r = fits(rules.chains, "chains"); !r) return r.error();
  if (const auto r = fits(rules.groups, "groups"); !r) return r.error();
  const std::int64_t lanes = std::int64_t{streams} + rules.lanes;
  if (lanes > stream_limit) return error{errc::out_of_range, rules.lanes, 0, stream_limit - streams}.with("lanes");
  return check_pins(nodes, lanes, rules.pinned);
}

// Which op stands for each: that into which it was fused, and of a group the first.
template <class Index>
[[nodiscard]] std::vector<node_id> ops_that_stand(const dag<Index>& g, std::span<const std::uint32_t> groups) {
  std::vector<node_id> one(g.node_count());
  std::vector<std::pair<std::uint32_t, node_id>> members;
  for (node_id b = 0; b < g.node_count(); ++b) {
    one[b] = g.fused_into(b);
    if (one[b] == b && !groups.empty() && groups[b] != no_id) members.emplace_back(groups[b], b);
  }
  std::sort(members.begin(), members.end());
  for (std::size_t i = 1; i < members.size(); ++i)
    if (members[i].first == members[i - 1].first) one[members[i].second] = one[members[i - 1].second];
  for (node_id b = 0; b < g.node_count(); ++b) one[b] = one[one[b]];
  return one;
}

// The edges of g and those of the chains, between ops that stand for others.
template <class Index>
[[nodiscard]] result<std::vector<edge>> issue_edges(const dag<Index>& g, std::span<const node_id> one,
                                                    std::span<const std::uint32_t> chains) {
  std::vector<edge> edges;
  edges.reserve(g.edge_count());
  std::vector<std::pair<std::uint32_t, node_id>> members;  // of chains
  for (node_id b = 0; b < g.node_count(); ++b) {
    if (g.fused_into(b) != b) continue;
    for (const node_id a : g.upstream(b)) {
      if (a > b) return error{errc::bad_order, b, a};
      if (one[a] != one[b]) edges.push_back({one[a], one[b]});
    }
    if (!chains.empty() && chains[b] != no_id) members.emplace_back(chains[b], b);
  }
  std::sort(members.begin(), members.end());
  for (std::size_t i = 1; i < members.size(); ++i) {
    const edge e{one[members[i - 1].second], one[members[i].second]};
    if (members[i].first == members[i - 1].first && e.source != e.target) edges.push_back(e);
  }
  return edges;
}

// The ops that stand for themselves, each after those that it waits for, else in program order.
[[nodiscard]] inline result<std::vector<node_id>> issue_ops(const issue_program& p, std::span<const node_id> one) {
  struct later {
    [[nodiscard]] bool operator()(node_id a, node_id b) const noexcept { return a > b; }
  };
  std::priority_queue<node_id, std::vector<node_id>, later> ready;
  std::vector<std::size_t> waiting(p.nodes());
  std::size_t count = 0;
  for (node_id b = 0; b < p.nodes(); ++b) {
    waiting[b] = p.ups.count(b);
    count += one[b] == b ? 1U : 0U;
    if (one[b] == b && waiting[b] == 0) ready.push(b);
  }
  std::vector<node_id> live;
  live.reserve(count);
  while (!ready.empty()) {
    const node_id b = ready.top();
    ready.pop();
    live.push_back(b);
    for (const node_id c : p.downs.of(b))
      if (--waiting[c] == 0) ready.push(c);
  }
  if (live.size() == count) return live;
  for (node_id b = 0; b < p.nodes(); ++b)
    if (waiting[b] != 0) return error{errc::group_closes_cycle, b};
  return error{errc::cycle};
}

// Pins of the ops that stand for others.
[[nodiscard]] inline result<std::vector<stream_id>> issue_pins(std::span<const stream_id> pinned,
                                                               std::span<const node_id> one) {
  std::vector<stream_id> pins(pinned.begin(), pinned.end());
  for (node_id b = 0; b < pins.size(); ++b) {
    if (one[b] == b || pinned[b] == no_id) continue;
    stream_id& pin = pins[one[b]];
    if (pin != no_id && pin != pinned[b]) return error{errc::group_on_two_streams, one[b], b, pin, pinned[b]};
    pin = pinned[b];
  }
  return pins;
}

// Preconditions: streams, durations and rules are checked.
template <class Index>
[[nodiscard]] result<issue_program> make_issue_program(const dag<Index>& g, std::span<const node_id> one,
                                                       stream_id streams, std::span<const ticks> durations,
                                                       const issue_rules& rules) {
  const std::size_t nodes = g.node_count();
  issue_program p;
  p.streams = streams;
  p.lanes = streams + rules.lanes;
  p.durations.assign(nodes, 0);
  for (node_id b = 0; b < nodes; ++b)
    if (g.fused_into(b) == b) p.durations[one[b]] += durations[b];
  auto pins = issue_pins(rules.pinned, one);
  if (!pins) return pins.error();
  p.pinned = std::move(*pins);
  const auto edges = issue_edges(g, one, rules.chains);
  if (!edges) return edges.error();
  p.ups = flat_lists(nodes, *edges, true);
  p.downs = flat_lists(nodes, *edges, false);
  auto live = issue_ops(p, one);
  if (!live) return live.error();
  p.live = std::move(*live);
  p.head.assign(nodes, 0);
  p.tail.assign(nodes, 0);
  for (const node_id b : p.live)
    for (const node_id a : p.ups.of(b)) p.head[b] = (std::max)(p.head[b], p.head[a] + p.durations[a]);
  for (std::size_t i = p.live.size(); i-- > 0;)
    for (const node_id c : p.downs.of(p.live[i]))
      p.tail[p.live[i]] = (std::max)(p.tail[p.live[i]], p.tail[c] + p.durations[c]);
  return p;
}

}  // namespace hocket::inline HOCKET_ABI::graph::detail
