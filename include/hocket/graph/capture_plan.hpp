// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/graph/stream_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// The events that a capture of a stream plan into a CUDA graph (or the like) needs besides the plan's own. A capture
/// begins on one stream, the origin. Another stream takes part from the moment it waits for an event of the capture.
/// When the capture ends, the origin must have waited, directly or not, for all that was captured.
///
/// To capture: begin on `origin`. If there are forks, record one event on it and let each fork wait for it. Issue the
/// plan. After the last op record one event for each of `joins` on its stream, and let the origin wait for them; end.
struct capture_plan {
  /// The fewest forks and joins with which a plan can be captured; they add no order between its ops.
  ///
  /// A stream whose first op waits for an event is brought in by that: the recorder was issued before, on a stream that
  /// takes part already. A stream whose first op waits for nothing needs a fork, and the start of the origin is the
  /// only point that puts no op before it. An op that is the last of its stream and recorded for nobody has no
  /// successor at all, so nothing but a join of its own brings it to the origin. Every other op happens before such an
  /// op or before the last op of the origin, hence needs none.
  /// @param origin  the stream on which the capture begins; it need not run an op
  /// @return errc::out_of_range unless origin < stream_limit
  /// Complexity: O(nodes + streams + waits).
  /// Source: CUDA C++ Programming Guide, "Cross-stream Dependencies and Events" of stream capture.
  ///
  ///     const auto capture = graph::capture_plan::make(*plan);
  ///     for (const auto s : capture->forks) …
  [[nodiscard]] static result<capture_plan> make(const stream_plan& plan, stream_id origin = 0);

  stream_id origin = 0;
  std::vector<stream_id> forks;  ///< ascending; these wait for the event that the origin records before its first op
  std::vector<node_id> joins;    ///< ascending; the last ops of their streams, after which one event each is recorded

  /// Events beyond those of the plan.
  [[nodiscard]] std::size_t event_count() const noexcept { return joins.size() + (forks.empty() ? 0u : 1u); }
};

inline result<capture_plan> capture_plan::make(const stream_plan& plan, stream_id origin) {
  if (origin >= stream_limit) return error{errc::out_of_range, origin, 0, stream_limit - 1}.with("origin stream");
  capture_plan out;
  out.origin = origin;
  std::vector<node_id> first(plan.stream_count(), no_id), last(plan.stream_count(), no_id);
  std::vector<unsigned char> records(plan.node_count());
  for (std::size_t i = 0; i < plan.node_count(); ++i) {
    const auto op = static_cast<node_id>(i);
    if (!plan.issues(op)) continue;
    const stream_id s = plan.stream_of(op);
    if (first[s] == no_id) first[s] = op;
    last[s] = op;
  }
  for (const stream_wait& w : plan.waits()) records[w.recorder] = 1;
  for (std::size_t s = 0; s < plan.stream_count(); ++s) {
    if (s == origin || first[s] == no_id) continue;
    if (plan.waits_of(first[s]).empty()) out.forks.push_back(static_cast<stream_id>(s));
    if (records[last[s]] == 0) out.joins.push_back(last[s]);
  }
  std::sort(out.joins.begin(), out.joins.end());
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::graph
