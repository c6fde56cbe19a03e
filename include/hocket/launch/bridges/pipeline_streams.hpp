// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/launch/bridges/pipeline.hpp>
#include <hocket/launch/command.hpp>
#include <hocket/pipeline/workspace.hpp>

#include <utility>

namespace hocket::inline HOCKET_ABI::launch {

/// Which stream does what on a rank. One stream for receives and sends keeps one communicator in one order; two, with a
/// communicator each, let the directions overlap.
struct pipeline_stream_numbers {
  std::uint16_t compute = 0;
  std::uint16_t recv = 1;
  std::uint16_t send = 2;
};

/// One rank's part of a program as commands for streams, for transports that complete in the order of a stream (NCCL,
/// HCCL): op = index of the step, phase = its transfer_kind; work runs on stream `compute`, receives and sends on
/// theirs. The launcher enqueues work itself and hands everything else to `issue`. A receive is recorded and what needs
/// it waits; a send waits for what made its data.
/// Looks at this rank alone. Whether the streams of all ranks can finish depends on which streams there are: ask
/// `check_device_commands` once for a program and a choice of streams, before anything is launched.
/// @return errc::bad_transfer if there are groups, but receives and sends are on two streams; errc::limit_exceeded
///
///     auto list = device_commands(program, rank, {.compute = 0, .recv = 1, .send = 2}).value();
///     drive(cuda, list, streams, events, [&](node_id step, std::uint8_t phase, cudaStream_t s) { … });
[[nodiscard]] inline result<command_list> device_commands(const pipeline_program& program, std::uint32_t rank,
                                                          const pipeline_stream_numbers& streams = {}) {
  const auto steps = program.steps(rank);
  std::vector<command> out;
  std::vector<event_id> event_of(program.request_count(rank), no_id);  // by receive
  event_id events = 0;
  bool ran = false;  // the compute stream has work that no event stands for yet
  event_id made = no_id;
  std::vector<event_id> closing;  // receives of the open group that are waited for later
  std::vector<bool> waited(program.request_count(rank));
  for (const transfer_command& c : steps)
    if (c.kind == transfer_kind::wait) waited[c.request] = true;
  std::vector<bool> is_recv(program.request_count(rank));
  bool in_group = false;
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    const transfer_command& c = steps[i];
    const auto phase = static_cast<std::uint8_t>(c.kind);
    switch (c.kind) {
      case transfer_kind::run:
        out.push_back(run_op(i, streams.compute, phase));
        ran = true;
        break;
      case transfer_kind::wait:
        if (is_recv[c.request]) out.push_back(wait_event(event_of[c.request], streams.compute));
        break;  // sends end in the order of their stream
      case transfer_kind::send:
      case transfer_kind::recv: {
        const bool sends = c.kind == transfer_kind::send;
        const std::uint16_t on = sends ? streams.send : streams.recv;
        if (sends && on != streams.compute) {
          if (ran) out.push_back(record_event(made = events++, streams.compute)), ran = false;
          if (made != no_id) out.push_back(wait_event(made, on));
        }
        out.push_back(run_op(i, on, phase));
        if (sends) break;
        is_recv[c.request] = true;
        if (!waited[c.request]) break;
        event_of[c.request] = events++;
        if (in_group) closing.push_back(event_of[c.request]);
        else out.push_back(record_event(event_of[c.request], on));
        break;
      }
      case transfer_kind::group_begin:
      case transfer_kind::group_end:
        if (streams.recv != streams.send)
          return error{errc::bad_transfer, rank, i}.with("a group needs one stream for both");
        in_group = c.kind == transfer_kind::group_begin;
        out.push_back(run_op(i, streams.send, phase));
        for (const event_id e : closing) out.push_back(record_event(e, streams.recv));
        closing.clear();
        break;
    }
  }
  std::uint16_t most = streams.compute;
  most = streams.recv > most ? streams.recv : most;
  most = streams.send > most ? streams.send : most;
  return command_list::make(out, std::size_t{most} + 1);
}

/// All ranks of a pipeline in one process: rank r is stream r, and what would be a transfer is an event. Run by any
/// backend: the host's threads, or the streams of several devices. Op k is `actions[k]`; the order of the list respects
/// data flow.
struct pipeline_streams {
  command_list commands;
  std::vector<pipeline::stage_action> actions;  ///< by op
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

/// See `pipeline_streams`. Actions that do not compute and are no transfers become ops, too.
/// Errors: those of pipeline::check; errc::limit_exceeded beyond max_streams ranks. Complexity: O(actions · log
/// actions).
///
///     const auto all = hocket::launch::streams_of(plan).value();
///     auto device = hocket::launch::host_backend::start(all.commands.stream_count()).value();
///     auto program = hocket::launch::host_program::compile(all.commands);
///     device.run(program, [&](hocket::node_id op, hocket::stream_id rank) { compute(all.actions[op], rank); });
template <pipeline::schedule S>
[[nodiscard]] result<pipeline_streams> streams_of(const S& plan) {
  using pipeline::action_kind, pipeline::stage_action;
  if (const auto ok = pipeline::check(plan); !ok) return ok.error();
  if (plan.ranks() > max_streams) return error{errc::limit_exceeded, plan.ranks(), max_streams}.with("streams");
  pipeline::workspace room{std::pmr::polymorphic_allocator<std::byte>(std::pmr::get_default_resource())};
  detail::stream_sink<S> sink{plan};
  if (const auto ran = pipeline::run(plan, pipeline::costs{}, room, sink); !ran) return ran.error();

  const pipeline_options options;
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
