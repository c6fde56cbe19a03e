// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/graph/access.hpp>
#include <hocket/graph/dag.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// An event: recorded on `record_stream` right after `recorder`, waited for on `wait_stream` right before `waiter`.
struct stream_wait {
  node_id recorder = 0;
  node_id waiter = 0;
  stream_id record_stream = 0;
  stream_id wait_stream = 0;
  friend constexpr bool operator==(const stream_wait&, const stream_wait&) = default;
};

/// The fewest waits that make streams run a graph's ops in a legal order, and imply no order beyond the graph's and
/// that of the streams themselves. What `launch` drives. Ops are issued in program order, each on its stream.
class stream_plan {
 public:
  [[nodiscard]] std::size_t node_count() const noexcept { return stream_of_.size(); }
  /// One more than the highest stream used.
  [[nodiscard]] std::size_t stream_count() const noexcept { return stream_count_; }
  [[nodiscard]] stream_id stream_of(node_id op) const noexcept { return stream_of_[op]; }
  [[nodiscard]] std::span<const stream_id> streams() const noexcept { return stream_of_; }
  /// By waiter, then recorder.
  [[nodiscard]] std::span<const stream_wait> waits() const noexcept { return waits_; }
  /// The waits before op, ascending by recorder. O(log waits).
  [[nodiscard]] std::span<const stream_wait> waits_of(node_id op) const noexcept {
    const auto before = [](const stream_wait& w, node_id n) { return w.waiter < n; };
    const auto first = std::lower_bound(waits_.begin(), waits_.end(), op, before);
    auto last = first;
    while (last != waits_.end() && last->waiter == op) ++last;
    return {first, last};
  }
  /// Edges of the graph between different streams: the waits that a plan without reasoning would make.
  [[nodiscard]] std::size_t cross_stream_edges() const noexcept { return cross_stream_edges_; }

 private:
  template <reachability_index Index>
  friend result<stream_plan> plan_streams(const dag<Index>& g, std::span<const stream_id> stream_of);

  std::vector<stream_id> stream_of_;
  std::vector<stream_wait> waits_;
  std::size_t stream_count_ = 0;
  std::size_t cross_stream_edges_ = 0;
};

/// Streams are numbered below this: a stray id must not size an allocation.
inline constexpr stream_id stream_limit = 1u << 16;

/// Plans the waits for ops on given streams.
///
/// Every set of waits that enforces exactly the order "graph ∪ each stream's FIFO" contains the edges of that order's
/// transitive reduction that are not consecutive on a stream; these edges suffice; and the reduction is unique. So the
/// answer is the one minimum, not a heuristic. It is found with a clock per op, the latest position on each stream that
/// is known to be done before it: the FIFO predecessor first, then the others in descending order, each skipped if the
/// clock covers it already (the proof of dag::append with the FIFO edge as a predecessor that is always there).
/// @param g  edges must point forward in program order
/// @param stream_of  one stream per node, < stream_limit
/// @return errc::invalid_argument if the sizes differ, errc::limit_exceeded for a stream, errc::bad_order for an edge
///         that points backwards: ops are issued in program order, so its waiter would be issued before its recorder
/// Complexity: O(nodes + kept waits) · streams up to 64 streams, beyond that as building a dag.
///
///     auto plan = hocket::graph::plan_streams(g, streams);   // result<stream_plan>
///     for (const auto& w : plan->waits()) …
template <reachability_index Index>
[[nodiscard]] result<stream_plan> plan_streams(const dag<Index>& g, std::span<const stream_id> stream_of) {
  const std::size_t nodes = g.node_count();
  if (stream_of.size() != nodes)
    return error{errc::invalid_argument, static_cast<std::int64_t>(stream_of.size())}.with("number of streams given");
  stream_plan plan;
  for (std::size_t b = 0; b < nodes; ++b) {
    const stream_id s = stream_of[b];
    if (s >= stream_limit) return error{errc::limit_exceeded, s, stream_limit - 1}.with("stream");
    if (plan.stream_count_ <= s) plan.stream_count_ = s + std::size_t{1};
    const std::span<const node_id> ups = g.upstream(static_cast<node_id>(b));
    if (!ups.empty() && ups.back() > b) return error{errc::bad_order, static_cast<std::int64_t>(b), ups.back()};
    for (const node_id a : ups) plan.cross_stream_edges_ += stream_of[a] != s ? 1u : 0u;
  }
  plan.stream_of_.assign(stream_of.begin(), stream_of.end());
  const std::size_t streams = plan.stream_count_;
  std::vector<node_id> tail(streams, no_id);  // the last op of each stream so far

  const auto add = [&](node_id a, node_id b) { plan.waits_.push_back({a, b, stream_of[a], stream_of[b]}); };
  if (streams <= 64) {
    std::vector<node_id> clocks(nodes * streams), position(nodes), length(streams, 0);
    for (std::size_t i = 0; i < nodes; ++i) {
      const auto b = static_cast<node_id>(i);
      const stream_id s = stream_of[b];
      node_id* const now = clocks.data() + i * streams;  // entry t: how many ops of stream t are done before b
      const auto join = [&](node_id a) {
        const node_id* const then = clocks.data() + a * streams;
        for (std::size_t t = 0; t < streams; ++t) now[t] = now[t] < then[t] ? then[t] : now[t];
        now[stream_of[a]] = now[stream_of[a]] <= position[a] ? position[a] + 1 : now[stream_of[a]];
      };
      if (tail[s] != no_id) join(tail[s]);
      const std::size_t first = plan.waits_.size();
      const std::span<const node_id> ups = g.upstream(b);
      for (std::size_t k = ups.size(); k-- > 0;) {
        if (now[stream_of[ups[k]]] > position[ups[k]]) continue;
        join(ups[k]);
        add(ups[k], b);
      }
      std::reverse(plan.waits_.begin() + static_cast<std::ptrdiff_t>(first), plan.waits_.end());
      position[b] = length[s]++;
      tail[s] = b;
    }
  } else {
    dag<> order;
    order.reserve(nodes, g.edge_count() + nodes);
    std::vector<node_id> preds;
    for (std::size_t i = 0; i < nodes; ++i) {
      const auto b = static_cast<node_id>(i);
      const std::span<const node_id> ups = g.upstream(b);
      preds.assign(ups.begin(), ups.end());
      if (tail[stream_of[b]] != no_id) preds.push_back(tail[stream_of[b]]);
      if (const result<node_id> id = order.append(preds); !id) return id.error();
      for (const node_id a : order.upstream(b))
        if (stream_of[a] != stream_of[b]) add(a, b);
      tail[stream_of[b]] = b;
    }
  }
  return plan;
}

/// As above, with the streams that the host's policy names.
template <reachability_index Index, class G, class Policy = graph_access<G>>
  requires(!std::is_convertible_v<const G&, std::span<const stream_id>>)
[[nodiscard]] result<stream_plan> plan_streams(const dag<Index>& g, const G& host, const Policy& policy = {}) {
  if constexpr (stream_policy<Policy, G>) {
    std::vector<stream_id> streams;
    streams.reserve(g.node_count());
    detail::for_each_node(policy, host, [&](const typename Policy::node& n) {
      streams.push_back(static_cast<stream_id>(policy.stream(host, n)));
    });
    return plan_streams(g, std::span<const stream_id>(streams));
  } else {
    static_assert(stream_policy<Policy, G>,
                  "hocket: the policy does not say on which stream an op runs. Add to hocket::graph_access<G>: "
                  "static hocket::stream_id stream(const G&, node);");
    return error{errc::invalid_argument};
  }
}

}  // namespace hocket::inline HOCKET_ABI::graph
