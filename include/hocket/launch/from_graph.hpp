// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/graph/stream_plan.hpp>
#include <hocket/launch/command.hpp>

namespace hocket::inline HOCKET_ABI::launch {

/// The commands of a stream plan: ops in program order, each after its waits, each recorded once if anyone waits for
/// it. One event per recorder; `reuse_events` needs far fewer. The issue order is topological because plans only have
/// waits that point forward.
/// @return errc::limit_exceeded for more than max_streams streams
/// Complexity: O(nodes + waits).
///
///     auto plan = hocket::graph::plan_streams(dependencies->graph(), streams);
///     auto list = hocket::launch::reuse_events(hocket::launch::from_graph(*plan).value());
[[nodiscard]] inline result<command_list> from_graph(const graph::stream_plan& plan) {
  std::vector<event_id> event_of(plan.node_count(), no_id);
  for (const graph::stream_wait& w : plan.waits()) event_of[w.recorder] = 0;
  event_id events = 0;
  for (event_id& e : event_of)
    if (e != no_id) e = events++;

  std::vector<command> out;
  out.reserve(plan.node_count() + plan.waits().size() + events);
  auto wait = plan.waits().begin();
  for (std::size_t i = 0; i < plan.node_count(); ++i) {
    const auto op = static_cast<node_id>(i);
    const auto stream = static_cast<std::uint16_t>(plan.stream_of(op));  // make() refuses what does not fit
    for (; wait != plan.waits().end() && wait->waiter == op; ++wait)
      out.push_back(wait_event(event_of[wait->recorder], stream));
    out.push_back(run_op(op, stream));
    if (event_of[op] != no_id) out.push_back(record_event(event_of[op], stream));
  }
  return command_list::make(out, plan.stream_count());
}

}  // namespace hocket::inline HOCKET_ABI::launch
