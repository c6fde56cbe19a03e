// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/graph/dag.hpp>
#include <hocket/graph/stream_plan.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// Puts ops on at most `streams` streams, greedily in program order. An op goes on the stream whose last op it waits
/// for directly, the latest such (no event is needed there); without one, on a stream not used yet; else on the stream
/// whose last op is the oldest. Deterministic; no durations are known here, so it is a start, not an optimum.
/// An op that was fused away takes up no stream: it is put where the op is that stands for it.
/// @param g  edges must point forward in program order
/// @return one stream per op; errc::out_of_range unless 1 <= streams <= stream_limit; errc::bad_order
/// Complexity: O(edges + nodes · streams).
///
///     const auto streams = graph::assign_streams(g, 4);
///     const auto plan = graph::stream_plan::make(g, *streams);
template <reachability_index Index>
[[nodiscard]] result<std::vector<stream_id>> assign_streams(const dag<Index>& g, stream_id streams) {
  if (streams == 0 || streams > stream_limit)
    return error{errc::out_of_range, streams, 1, stream_limit}.with("streams");
  std::vector<stream_id> stream_of(g.node_count());
  std::vector<node_id> tail;  // the last op of each stream in use
  for (std::size_t i = 0; i < g.node_count(); ++i) {
    const auto b = static_cast<node_id>(i);
    if (const node_id one = g.fused_into(b); one != b) {
      stream_of[b] = stream_of[one];  // an earlier op
      continue;
    }
    const std::span<const node_id> ups = g.upstream(b);
    if (!ups.empty() && ups.back() > b) return error{errc::bad_order, b, ups.back()};
    stream_id chosen = no_id;
    for (std::size_t k = ups.size(); k-- > 0 && chosen == no_id;)
      if (tail[stream_of[ups[k]]] == ups[k]) chosen = stream_of[ups[k]];
    if (chosen == no_id && tail.size() < streams) {
      chosen = static_cast<stream_id>(tail.size());
      tail.push_back(b);
    }
    if (chosen == no_id) {
      chosen = 0;
      for (stream_id s = 1; s < tail.size(); ++s)
        if (tail[s] < tail[chosen]) chosen = s;
    }
    stream_of[b] = chosen;
    tail[chosen] = b;
  }
  return stream_of;
}

}  // namespace hocket::inline HOCKET_ABI::graph
