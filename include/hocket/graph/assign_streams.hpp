// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/graph/dag.hpp>
#include <hocket/graph/detail/check_pins.hpp>
#include <hocket/graph/detail/dag_of.hpp>
#include <hocket/graph/stream_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

namespace detail {

[[nodiscard]] constexpr result<void> check_streams(stream_id streams) noexcept {
  if (streams != 0 && streams <= stream_limit) return {};
  return error{errc::out_of_range, streams, 1, stream_limit}.with("streams");
}

}  // namespace detail

/// Puts ops on at most `streams` streams, greedily in program order. An op goes on the stream whose last op it waits
/// for directly, the latest such (no event is needed there); without one, on a stream not used yet; else on the stream
/// whose last op is the oldest. Deterministic; no durations are known here, so it is a start, not an optimum.
/// An op that was fused away takes up no stream: it is put where the op is that stands for it.
/// @param g       edges must point forward in program order
/// @param pinned  the stream that an op has to be on, one per op, no_id where any will do: copies, collectives; empty:
///                no op is pinned. The others go anywhere, also on those streams
/// @return one stream per op; errc::out_of_range unless 1 <= streams <= stream_limit, or for a pin beyond them;
///         errc::wrong_length; errc::bad_order
/// Complexity: O(edges + nodes + streams).
///
///     const auto streams = graph::assign_streams(g, 4);
///     const auto plan = graph::stream_plan::make(g, *streams);
template <reachability_index Index>
[[nodiscard]] result<std::vector<stream_id>> assign_streams(const dag<Index>& g, stream_id streams,
                                                            std::span<const stream_id> pinned = {}) {
  if (const auto fits = detail::check_streams(streams); !fits) return fits.error();
  if (const auto fits = detail::check_pins(g.node_count(), streams, pinned); !fits) return fits.error();
  std::vector<stream_id> stream_of(g.node_count());
  std::vector<node_id> tail(streams, no_id);  // the last op of each stream
  stream_id unused = 0;                       // no stream before it is
  node_id oldest = 0;                         // no stream in use ends with an op before it: the tails only grow
  for (node_id b = 0; b < g.node_count(); ++b) {
    if (const node_id one = g.fused_into(b); one != b) {
      stream_of[b] = stream_of[one];  // an earlier op
      continue;
    }
    const std::span<const node_id> ups = g.upstream(b);
    if (!ups.empty() && ups.back() > b) return error{errc::bad_order, b, ups.back()};
    stream_id chosen = pinned.empty() ? no_id : pinned[b];
    for (std::size_t k = ups.size(); k-- > 0 && chosen == no_id;)
      if (tail[stream_of[ups[k]]] == ups[k]) chosen = stream_of[ups[k]];
    while (unused < streams && tail[unused] != no_id) ++unused;
    if (chosen == no_id && unused < streams) chosen = unused;
    if (chosen == no_id) {
      while (tail[stream_of[oldest]] != oldest) ++oldest;
      chosen = stream_of[oldest];
    }
    stream_of[b] = chosen;
    tail[chosen] = b;
  }
  return stream_of;
}

namespace detail {

// When all is done that b waits for.
template <class Index>
[[nodiscard]] result<ticks> ready_time(const dag<Index>& g, node_id b, std::span<const ticks> done) {
  ticks ready = 0;
  for (const node_id a : g.upstream(b)) {
    if (a > b) return error{errc::bad_order, b, a};
    ready = (std::max)(ready, done[a]);
  }
  return ready;
}

// One per node, none negative, and their sum a number.
[[nodiscard]] inline result<void> check_durations(std::size_t nodes, std::span<const ticks> durations) {
  if (durations.size() != nodes)
    return error{errc::wrong_length, std::ssize(durations), static_cast<std::int64_t>(nodes)}.with("durations");
  ticks sum = 0;
  for (std::size_t i = 0; i < nodes; ++i) {
    const ticks t = durations[i];
    if (t < 0)
      return error{errc::out_of_range, t, 0, (std::numeric_limits<ticks>::max)()}.with("duration of op " +
                                                                                       std::to_string(i));
    if (t > (std::numeric_limits<ticks>::max)() - sum) return error{errc::overflow}.with("sum of the durations");
    sum += t;
  }
  return {};
}

}  // namespace detail

/// How long the ops take on these streams: each stream runs its ops one after the other in program order, and an op
/// starts when those that it waits for are done. Hand-overs take no time.
/// @param stream_of  one stream per op
/// @param durations  one per op, in any unit; of an op that was fused away they do not count
/// @return errc::wrong_length unless both have one entry per op; errc::out_of_range for a negative duration;
///         errc::overflow; errc::bad_order. Complexity: O(nodes + edges).
template <reachability_index Index>
[[nodiscard]] result<ticks> time_on_streams(const dag<Index>& g, std::span<const stream_id> stream_of,
                                            std::span<const ticks> durations) {
  if (const auto fits = detail::check_durations(g.node_count(), durations); !fits) return fits.error();
  if (stream_of.size() != g.node_count())
    return error{errc::wrong_length, std::ssize(stream_of), static_cast<std::int64_t>(g.node_count())}.with("streams");
  std::vector<ticks> done(g.node_count(), 0), free;
  for (std::size_t i = 0; i < g.node_count(); ++i) {
    const auto b = static_cast<node_id>(i);
    if (g.fused_into(b) != b) continue;
    if (stream_of[b] >= stream_limit) return detail::stream_beyond_limit(b, stream_of[b]);
    if (stream_of[b] >= free.size()) free.resize(stream_of[b] + std::size_t{1}, 0);
    const result<ticks> ready = detail::ready_time(g, b, done);
    if (!ready) return ready.error();
    free[stream_of[b]] = done[b] = (std::max)(*ready, free[stream_of[b]]) + durations[b];
  }
  return free.empty() ? 0 : *std::max_element(free.begin(), free.end());
}

namespace detail {

// Where an op starts earliest that is ready at a time: on a stream in use that is then free, the first such; on one
// that is not in use; else where it waits least. `used`: no stream from it on is in use.
[[nodiscard]] inline stream_id earliest_stream(ticks ready, std::span<const ticks> free, std::span<const node_id> tail,
                                               stream_id used) {
  stream_id chosen = 0;
  const auto start = [&](stream_id s) { return (std::max)(ready, free[s]); };
  for (stream_id s = 1; s < tail.size() && s <= used; ++s) {
    const bool only_then_used = tail[chosen] == no_id && tail[s] != no_id;
    if (start(s) < start(chosen) || (start(s) == start(chosen) && only_then_used)) chosen = s;
  }
  return chosen;
}

}  // namespace detail

/// Puts ops on at most `streams` streams where they start earliest: list scheduling in program order. An op rather
/// stays on the stream whose last op it waits for, so that no event is needed: that delays nothing. Without pins never
/// slower than one stream, by time_on_streams; independent sequences on as many streams need no waits.
/// choose_issue_order also chooses the order in which the ops are issued, which is often much faster.
/// @param g          edges must point forward in program order
/// @param durations  one per op, in any unit: measured, or by a curve
/// @param pinned     as of the form without durations
/// @return one stream per op; errors as of the form without durations and of time_on_streams
/// Complexity: O(edges + nodes · streams).
///
///     const auto streams = graph::assign_streams(g, 4, measured);
///     const auto faster = graph::time_on_streams(g, *streams, measured);
template <reachability_index Index>
[[nodiscard]] result<std::vector<stream_id>> assign_streams(const dag<Index>& g, stream_id streams,
                                                            std::span<const ticks> durations,
                                                            std::span<const stream_id> pinned = {}) {
  if (const auto fits = detail::check_streams(streams); !fits) return fits.error();
  if (const auto fits = detail::check_durations(g.node_count(), durations); !fits) return fits.error();
  if (const auto fits = detail::check_pins(g.node_count(), streams, pinned); !fits) return fits.error();
  std::vector<stream_id> stream_of(g.node_count());
  std::vector<ticks> done(g.node_count(), 0);
  std::vector<ticks> free(streams, 0);        // when each stream has done all its ops
  std::vector<node_id> tail(streams, no_id);  // the last of them
  stream_id used = 0;
  for (node_id b = 0; b < g.node_count(); ++b) {
    if (const node_id one = g.fused_into(b); one != b) {
      stream_of[b] = stream_of[one];
      continue;
    }
    const result<ticks> ready = detail::ready_time(g, b, done);
    if (!ready) return ready.error();
    stream_id chosen = pinned.empty() ? no_id : pinned[b];
    if (chosen == no_id) {
      chosen = detail::earliest_stream(*ready, free, tail, used);
      // After an op that it waits for, the latest such, if that stream is free as soon as b is ready.
      for (const node_id a : g.upstream(b))
        if (tail[stream_of[a]] == a) chosen = stream_of[a];
    }
    stream_of[b] = chosen;
    tail[chosen] = b;
    free[chosen] = done[b] = (std::max)(*ready, free[chosen]) + durations[b];
    used = (std::max)(used, chosen + 1);
  }
  return stream_of;
}

/// Both forms, and time_on_streams, also take what `dependencies` returns.
/// @param deps  a dependency_graph, or a result of one or of a dag, whose error is then returned
///
///     const auto streams = graph::assign_streams(graph::dependencies(program), 4);
template <detail::leads_to_dag Deps, class... Durations>
[[nodiscard]] result<std::vector<stream_id>> assign_streams(const Deps& deps, stream_id streams,
                                                            const Durations&... durations) {
  return detail::with_dag(deps, [&](const auto& g) { return graph::assign_streams(g, streams, durations...); });
}
template <detail::leads_to_dag Deps>
[[nodiscard]] result<ticks> time_on_streams(const Deps& deps, std::span<const stream_id> stream_of,
                                            std::span<const ticks> durations) {
  return detail::with_dag(deps, [&](const auto& g) { return graph::time_on_streams(g, stream_of, durations); });
}

}  // namespace hocket::inline HOCKET_ABI::graph
