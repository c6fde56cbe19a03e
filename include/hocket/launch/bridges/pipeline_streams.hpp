// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/launch/bridges/pipeline.hpp>
#include <hocket/launch/command.hpp>
#include <hocket/pipeline/workspace.hpp>

#include <utility>

namespace hocket::inline HOCKET_ABI::launch {

/// All ranks of a pipeline in one process: rank r is stream r, and what would be a transfer is an event. Run by any
/// backend: the host's threads, or the streams of several devices. Op k is `actions[k]`; the order of the list respects
/// data flow.
struct pipeline_streams {
  command_list commands;
  std::vector<pipeline::stage_action> actions;  ///< by op

  /// Actions that do not compute and are no transfers become ops, too.
  /// Errors: those of pipeline::check; errc::limit_exceeded beyond max_streams ranks.
  /// Complexity: O(actions · log actions).
  ///
  ///     const auto all = hocket::launch::pipeline_streams::make(plan).value();
  ///     auto device = hocket::launch::host_backend::start(all.commands.stream_count()).value();
  ///     hocket::launch::host_program program(all.commands);
  ///     device.run(program, [&](hocket::node_id op, hocket::stream_id rank) { compute(all.actions[op], rank); });
  template <pipeline::schedule S>
  [[nodiscard]] static result<pipeline_streams> make(const S& plan);
};

namespace detail {

template <class S>
struct stream_sink {
  const S& plan;
  std::vector<std::pair<std::uint32_t, pipeline::stage_action>> order{};  // rank, action
  void on_action(std::uint32_t rank, std::uint32_t, pipeline::stage_action a, ticks, ticks) {
    order.emplace_back(rank, a);
  }
  void on_blocked(const pipeline::blocked&) const noexcept {}
};

}  // namespace detail

template <pipeline::schedule S>
result<pipeline_streams> pipeline_streams::make(const S& plan) {
  using pipeline::action_kind, pipeline::stage_action;
  if (const auto ok = pipeline::check(plan); !ok) return ok.error();
  if (plan.ranks() > max_streams) return error{errc::limit_exceeded, plan.ranks(), max_streams}.with("streams");
  pipeline::workspace room{std::pmr::polymorphic_allocator<std::byte>(std::pmr::get_default_resource())};
  detail::stream_sink<S> sink{plan};
  if (const auto ran = pipeline::run(plan, pipeline::costs{}, room, sink); !ran) return ran.error();

  const from_pipeline_options options;
  const detail::pipeline_lowering<S> names(plan, options, std::pmr::get_default_resource());
  std::vector<std::pair<std::uint64_t, event_id>> needed;  // by what crosses from one rank to another
  stage_action x;
  std::uint32_t from = 0;
  for (const auto& [rank, a] : sink.order)
    if (names.input(a, x, from)) needed.emplace_back(x.bits(), no_id);
  std::sort(needed.begin(), needed.end());
  const auto event = [&](stage_action what) -> event_id* {
    const auto at = std::lower_bound(needed.begin(), needed.end(), std::pair(what.bits(), event_id{0}));
    return at != needed.end() && at->first == what.bits() ? &at->second : nullptr;
  };
  pipeline_streams all;
  std::vector<command> out;
  event_id events = 0;
  for (const auto& [rank, a] : sink.order) {
    if (a.kind() == action_kind::idle || pipeline::is_transfer(a.kind())) continue;
    const auto stream = static_cast<std::uint16_t>(rank);
    if (names.input(a, x, from)) out.push_back(wait_event(*event(x), stream));
    out.push_back(run_op(static_cast<node_id>(all.actions.size()), stream));
    all.actions.push_back(a);
    if (!names.output(a, x)) continue;
    if (event_id* const e = event(x)) out.push_back(record_event(*e = events++, stream));
  }
  auto list = command_list::make(out, plan.ranks());
  if (!list) return list.error();
  all.commands = static_cast<command_list&&>(*list);
  return all;
}

}  // namespace hocket::inline HOCKET_ABI::launch
