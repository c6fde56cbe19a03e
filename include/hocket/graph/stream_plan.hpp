// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/graph/access.hpp>
#include <hocket/graph/dag.hpp>
#include <hocket/graph/detail/dag_of.hpp>
#include <hocket/graph/detail/policy_members.hpp>
#include <hocket/graph/detail/required_members.hpp>
#include <hocket/graph/detail/reset_on_move.hpp>
#include <hocket/graph/stream_clock.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
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

namespace detail {

// A stream that no plan takes, with the op that is on it.
[[nodiscard]] inline error stream_beyond_limit(node_id op, stream_id s) {
  return error{errc::limit_exceeded, s, stream_limit - 1}.with("stream of op " + std::to_string(op));
}

// A list of numbers: streams of another type, rather than a host.
template <class G>
concept lists_integers = requires(const G& g) { requires std::integral<std::remove_cvref_t<decltype(*g.begin())>>; };

// Those of op, in waits sorted by waiter.
[[nodiscard]] inline std::span<const stream_wait> waits_of(std::span<const stream_wait> waits, node_id op) noexcept {
  const auto before = [](const stream_wait& w, node_id n) { return w.waiter < n; };
  const auto first = std::lower_bound(waits.begin(), waits.end(), op, before);
  auto last = first;
  while (last != waits.end() && last->waiter == op) ++last;
  return {first, last};
}

}  // namespace detail

/// The fewest waits that make streams run a graph's ops in a legal order, and imply no order beyond the graph's and
/// that of the streams themselves. What `launch` drives. Ops are issued in program order, each on its stream. A plan
/// that was moved from has no ops.
class stream_plan {
 public:
  static constexpr bool returns_views = true;  // streams, waits: see result::operator->

  /// Plans the waits for ops on given streams.
  ///
  /// Every set of waits that enforces exactly the order "graph ∪ each stream's FIFO" contains the edges of that order's
  /// transitive reduction that are not consecutive on a stream. These edges suffice, and the reduction is unique: so
  /// the answer is the one minimum, not a heuristic. docs/graph.md, "Stream plans", has the proofs.
  /// @param g  edges must point forward in program order
  /// @param stream_of  one stream per node, < stream_limit
  /// @return errc::wrong_length if the sizes differ, errc::limit_exceeded for a stream, errc::bad_order for an edge
  ///         that points backwards: its waiter would be issued before its recorder
  /// Complexity: as building a dag.
  ///
  ///     auto plan = hocket::graph::stream_plan::make(g, streams);   // result<stream_plan>
  ///     for (const auto& w : plan->waits()) …
  template <reachability_index Index>
  [[nodiscard]] static result<stream_plan> make(const dag<Index>& g, std::span<const stream_id> stream_of) {
    stream_plan plan;
    if (const result<void> fits = plan.place(g, stream_of); !fits) return fits.error();
    if (const result<void> planned = plan.find_waits(g); !planned) return planned.error();
    std::vector<unsigned char> records(plan.node_count());
    for (const stream_wait& w : plan.waits_) records[w.recorder] = 1;
    for (const unsigned char r : records) plan.event_count_.value += r;
    return plan;
  }
  /// As above, with the streams that the host's policy names.
  template <reachability_index Index, class G, class Policy = graph_access<G>>
    requires(!std::is_convertible_v<const G&, std::span<const stream_id>>)
  [[nodiscard]] static result<stream_plan> make(const dag<Index>& g, const G& host, const Policy& policy = {}) {
    if constexpr (stream_policy<Policy, G>) {
      std::vector<stream_id> streams;
      streams.reserve(g.node_count());
      detail::for_each_node(policy, host, [&](const typename Policy::node& n) {
        streams.push_back(static_cast<stream_id>(policy.stream(host, n)));
      });
      return make(g, std::span<const stream_id>(streams));
    } else if constexpr (detail::names_node<Policy> && !node_policy<Policy, G>) {
      detail::require_nodes<Policy, G>();
      return error{errc::invalid_argument};
    } else if constexpr (detail::lists_integers<G>) {
      static_assert(!detail::lists_integers<G>,
                    "hocket: the streams of a plan are hocket::stream_id (std::uint32_t), one per op and in one piece: "
                    "std::vector<hocket::stream_id>");
      return error{errc::invalid_argument};
    } else {
      static_assert(!detail::names_stream<Policy>,
                    "hocket: the policy has a stream that cannot be used. Write: "
                    "static hocket::stream_id stream(const G&, node);");
      static_assert(stream_policy<Policy, G> || detail::names_stream<Policy>,
                    "hocket: the policy does not say on which stream an op runs. Add to hocket::graph_access<G>: "
                    "static hocket::stream_id stream(const G&, node);");
      return error{errc::invalid_argument};
    }
  }
  /// Both also from what `dependencies` returns: a dependency_graph, or a result of one or of a dag, whose error is
  /// then returned.
  ///
  ///     const auto deps = hocket::graph::dependencies(program);
  ///     const auto plan = hocket::graph::stream_plan::make(deps, streams);
  template <detail::leads_to_dag Deps, class Streams, class... Policy>
  [[nodiscard]] static result<stream_plan> make(const Deps& deps, const Streams& streams, const Policy&... policy) {
    return detail::with_dag(deps, [&](const auto& g) { return make(g, streams, policy...); });
  }

  [[nodiscard]] std::size_t node_count() const noexcept { return stream_of_.size(); }
  /// One more than the highest stream used.
  [[nodiscard]] std::size_t stream_count() const noexcept { return stream_count_.value; }
  [[nodiscard]] stream_id stream_of(node_id op) const noexcept { return stream_of_[op]; }
  [[nodiscard]] std::span<const stream_id> streams() const& noexcept { return stream_of_; }
  std::span<const stream_id> streams() const&& = delete;
  /// Is op issued? Not if `contract` fused it away: then nothing is waited for, recorded or joined on its account.
  /// O(log of how many were).
  [[nodiscard]] bool issues(node_id op) const noexcept { return !detail::is_among(fused_, op); }
  /// By waiter, then recorder.
  [[nodiscard]] std::span<const stream_wait> waits() const& noexcept { return waits_; }
  std::span<const stream_wait> waits() const&& = delete;
  /// The waits before op, ascending by recorder. O(log waits).
  [[nodiscard]] std::span<const stream_wait> waits_of(node_id op) const& noexcept {
    return detail::waits_of(waits_, op);
  }
  std::span<const stream_wait> waits_of(node_id op) const&& = delete;
  /// Ops after which an event is recorded: each serves all its waiters. The fewest possible. docs/graph.md has the
  /// proof.
  [[nodiscard]] std::size_t event_count() const noexcept { return event_count_.value; }
  /// Edges of the graph between different streams: the waits that a plan without reasoning would make.
  [[nodiscard]] std::size_t cross_stream_edges() const noexcept { return cross_stream_edges_.value; }

 private:
  friend class steady_stream_plan;

  // Takes down who runs where, and checks it.
  template <class Index>
  [[nodiscard]] result<void> place(const dag<Index>& g, std::span<const stream_id> stream_of) {
    const std::size_t nodes = g.node_count();
    if (stream_of.size() != nodes)
      return error{errc::wrong_length, std::ssize(stream_of), static_cast<std::int64_t>(nodes)}.with("streams");
    for (std::size_t i = 0; i < nodes; ++i) {
      const auto b = static_cast<node_id>(i);
      const stream_id s = stream_of[b];
      if (s >= stream_limit) return detail::stream_beyond_limit(b, s);
      stream_count_.value = (std::max)(stream_count_.value, s + std::size_t{1});
      if (g.fused_into(b) != b) fused_.push_back(b);
      const std::span<const node_id> ups = g.upstream(b);
      if (!ups.empty() && ups.back() > b) return error{errc::bad_order, b, ups.back()};
      for (const node_id a : ups) cross_stream_edges_.value += stream_of[a] != s ? 1u : 0u;
    }
    stream_of_.assign(stream_of.begin(), stream_of.end());
    return {};
  }
  // The edges between streams in the reduction of dependencies and FIFO.
  template <class Index>
  [[nodiscard]] result<void> find_waits(const dag<Index>& g) {
    dag<> order;
    order.reserve(node_count());
    std::vector<node_id> tail(stream_count_.value, no_id), preds;
    for (std::size_t i = 0; i < node_count(); ++i) {
      const auto b = static_cast<node_id>(i);
      const std::span<const node_id> ups = g.upstream(b);
      preds.assign(ups.begin(), ups.end());
      if (tail[stream_of_[b]] != no_id) preds.push_back(tail[stream_of_[b]]);
      if (const result<node_id> id = order.append(preds); !id) return id.error();
      for (const node_id a : order.upstream(b))
        if (stream_of_[a] != stream_of_[b]) waits_.push_back({a, b, stream_of_[a], stream_of_[b]});
      tail[stream_of_[b]] = b;
    }
    return {};
  }

  std::vector<stream_id> stream_of_;
  std::vector<stream_wait> waits_;
  std::vector<node_id> fused_;  // ops that others stand for, ascending
  detail::reset_on_move<std::size_t> stream_count_;
  detail::reset_on_move<std::size_t> event_count_;
  detail::reset_on_move<std::size_t> cross_stream_edges_;
};

/// The order that a plan enforces, dependencies and FIFO, as a clock to ask. Its streams are plan.stream_count().
/// Complexity: O(nodes + waits) · streams.
///
///     const auto order = graph::clock_of(*plan);
///     order.reaches(last_reader, overwriting_op);    // may this buffer be reused without another event?
[[nodiscard]] inline stream_clock clock_of(const stream_plan& plan) {
  stream_clock order(plan.stream_count());
  order.reserve(plan.node_count());
  std::vector<node_id> preds;
  for (std::size_t i = 0; i < plan.node_count(); ++i) {
    const auto b = static_cast<node_id>(i);
    preds.clear();
    for (const stream_wait& w : plan.waits_of(b)) preds.push_back(w.recorder);
    [[maybe_unused]] const bool added = order.append(plan.stream_of(b), preds).has_value();
    HOCKET_ASSERT(added);
  }
  return order;
}

}  // namespace hocket::inline HOCKET_ABI::graph
