// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/launch/command.hpp>
#include <hocket/launch/detail/pipeline_flow.hpp>
#include <hocket/pipeline/check.hpp>
#include <hocket/pipeline/workspace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::launch {

/// All ranks of a pipeline in one process: rank r is stream r, and what would be a transfer is an event. Run by any
/// backend: the host's threads, or the streams of several devices. Op k is `actions[k]`; the order of the list respects
/// data flow.
struct pipeline_streams {
  command_list commands;
  std::vector<pipeline::stage_action> actions;  ///< by op

  /// Actions that do not compute and are no transfers become ops, too.
  /// Errors: those of pipeline::check; errc::limit_exceeded beyond stream_limit ranks.
  /// Complexity: O(actions · log actions).
  ///
  ///     const auto all = hocket::launch::pipeline_streams::make(plan).value();
  ///     auto device = hocket::launch::host_backend::start(all.commands.stream_count()).value();
  ///     device.run(all.commands, [&](hocket::node_id op, hocket::stream_id rank) { compute(all.actions[op], rank); });
  template <pipeline::schedule S>
  [[nodiscard]] static result<pipeline_streams> make(const S& plan);
};

namespace detail {

/// The actions of a simulated run, in the order of their beginning.
struct action_order {
  std::vector<std::pair<std::uint32_t, pipeline::stage_action>> actions{};  // rank, action
  void on_action(std::uint32_t rank, std::uint32_t, pipeline::stage_action a, ticks, ticks) {
    actions.emplace_back(rank, a);
  }
  void on_blocked(const pipeline::blocked&) const noexcept {}
};

/// The events by which ranks hand results to each other: one for each result that another rank needs.
class result_events {
 public:
  template <class Flow>
  result_events(const Flow& flow, const action_order& order) {
    for (const auto& [rank, a] : order.actions)
      if (const auto in = flow.input(a)) events_.emplace_back(in->received.bits(), no_id);
    std::sort(events_.begin(), events_.end());
  }
  /// The event of a result, no_id until it is recorded; null if nobody needs it.
  [[nodiscard]] event_id* find(pipeline::stage_action received) {
    const auto at = std::lower_bound(events_.begin(), events_.end(), std::pair(received.bits(), event_id{0}));
    return at != events_.end() && at->first == received.bits() ? &at->second : nullptr;
  }

 private:
  std::vector<std::pair<std::uint64_t, event_id>> events_;  // by label
};

}  // namespace detail

template <pipeline::schedule S>
result<pipeline_streams> pipeline_streams::make(const S& plan) {
  if (const auto ok = pipeline::check(plan); !ok) return ok.error();
  if (const auto fits = check_stream_count(plan.ranks()); !fits) return fits.error();
  pipeline::workspace room{std::pmr::polymorphic_allocator<std::byte>(std::pmr::get_default_resource())};
  detail::action_order order;
  if (const auto ran = pipeline::run(plan, pipeline::costs{}, room, order); !ran) return ran.error();

  const detail::pipeline_flow<S> flow(plan);
  detail::result_events events(flow, order);
  pipeline_streams all;
  std::vector<command> out;
  event_id count = 0;
  for (const auto& [rank, a] : order.actions) {
    if (a.kind() == pipeline::action_kind::idle || pipeline::is_transfer(a.kind())) continue;
    const auto stream = static_cast<std::uint16_t>(rank);
    if (const auto in = flow.input(a)) out.push_back(wait_event(*events.find(in->received), stream));
    out.push_back(run_op(static_cast<node_id>(all.actions.size()), stream));
    all.actions.push_back(a);
    const auto made = flow.output(a);
    if (!made) continue;
    if (event_id* const event = events.find(made->received)) {
      *event = count++;
      out.push_back(record_event(*event, stream));
    }
  }
  auto list = command_list::make(out, plan.ranks());
  if (!list) return list.error();
  all.commands = std::move(*list);
  return all;
}

}  // namespace hocket::inline HOCKET_ABI::launch
