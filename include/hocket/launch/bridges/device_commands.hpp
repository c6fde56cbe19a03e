// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/launch/bridges/pipeline.hpp>
#include <hocket/launch/check_transfers.hpp>
#include <hocket/launch/command.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

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

namespace detail {

/// Walks the streams of all ranks at once.
struct device_stream_checker {
  struct lane {
    std::vector<command> queue{};
    std::size_t at = 0;
    std::size_t first = 0;  // of the call that the lane stands at: a transfer, or all between here and a group's end;
    std::size_t met = 0;    // up to here they have met their other end
    bool in_group = false;
    bool posted = false;
  };
  const pipeline_program& program;
  transfer_checker pairs;
  std::vector<lane> lanes{};  // by rank: compute, receive, send
  std::vector<std::vector<bool>> recorded{};
  std::vector<std::size_t> awake{};

  [[nodiscard]] static transfer_kind kind_of(const command& c) noexcept { return static_cast<transfer_kind>(c.phase); }
  [[nodiscard]] static bool transfers(const command& c) noexcept {
    return kind_of(c) == transfer_kind::send || kind_of(c) == transfer_kind::recv;
  }
  void wake(std::uint32_t rank) {
    for (std::size_t role = 0; role < 3; ++role) awake.push_back(3 * std::size_t{rank} + role);
  }
  [[nodiscard]] std::uint32_t request(std::uint32_t rank, const command& c) const {
    return program.steps(rank)[c.id].request;
  }
  void post(std::uint32_t rank, const command& c) {
    pairs.end_of(rank, c.id).posted = true;
    wake(pairs.end_of(rank, c.id).peer);
  }
  /// Whether the call at the head of a lane is over; posts it first. A group goes out as one, at its end.
  [[nodiscard]] bool called(std::uint32_t rank, lane& l) {
    if (!l.posted) {
      l.posted = true;
      l.met = l.first;
      for (std::size_t i = l.first; i <= l.at; ++i)
        if (transfers(l.queue[i])) post(rank, l.queue[i]);
    }
    for (; l.met <= l.at; ++l.met)
      if (transfers(l.queue[l.met]) && !pairs.met(rank, request(rank, l.queue[l.met]))) return false;
    l.posted = false;
    return true;
  }
  void advance(std::size_t which) {
    lane& l = lanes[which];
    const auto rank = static_cast<std::uint32_t>(which / 3);
    for (; l.at < l.queue.size(); ++l.at) {
      const command& c = l.queue[l.at];
      if (!l.in_group) l.first = l.at;
      if (c.kind == command_kind::record) recorded[rank][c.id] = true, wake(rank);
      if (kind_of(c) == transfer_kind::group_begin) l.in_group = true;
      const bool calls = kind_of(c) == transfer_kind::group_end || (transfers(c) && !l.in_group);
      if (c.kind == command_kind::wait ? !recorded[rank][c.id] : calls && !called(rank, l)) return;
      if (kind_of(c) == transfer_kind::group_end) l.in_group = false;
    }
  }
  result<void> play() {
    for (std::uint32_t r = program.ranks(); r-- > 0;) wake(r);
    while (!awake.empty()) {
      const std::size_t which = awake.back();
      awake.pop_back();
      advance(which);
    }
    bool all_done = true;
    for (std::size_t which = 0; which < lanes.size(); ++which) {
      const lane& l = lanes[which];
      if (l.at == l.queue.size()) continue;
      all_done = false;
      if (l.queue[l.at].kind != command_kind::run) continue;  // waits for a lane of its own rank, which is found, too
      const auto rank = static_cast<std::uint32_t>(which / 3);
      const auto& end = pairs.end_of(rank, l.queue[l.met].id);
      return error{errc::transfer_deadlock, rank, end.step, end.peer, end.peer_step};
    }
    HOCKET_ASSERT(all_done);
    static_cast<void>(all_done);
    return {};
  }
};

}  // namespace detail

/// Whether `device_commands` of all ranks can finish on these streams, if nothing is buffered: a transfer holds up its
/// stream until the peer's stream comes to the other end, a group until all of its transfers have met, and a wait until
/// its record is reached. Exact where `transfer_model::in_order` takes a rank for one stream: what that accepts is
/// fine on any streams; what it refuses may be fine on three.
/// @return errc::transfer_deadlock with one of those that stand: rank and step, the peer and the step that it needs;
///         the errors of check_transfers and of device_commands
/// Complexity: O(steps + transfers · log transfers) for all ranks together.
///
///     if (const auto fits = check_device_commands(program, {0, 1, 2}); !fits) return fits.error();
[[nodiscard]] inline result<void> check_device_commands(const pipeline_program& program,
                                                        const pipeline_stream_numbers& streams = {}) {
  std::vector<std::span<const transfer_command>> lists;
  for (std::uint32_t r = 0; r < program.ranks(); ++r) lists.push_back(program.steps(r));
  detail::device_stream_checker checker{
      program, detail::transfer_checker(lists, transfer_model::in_order, std::pmr::get_default_resource())};
  if (const auto matched = checker.pairs.match(); !matched) return matched.error();
  checker.lanes.resize(3 * std::size_t{program.ranks()});
  for (std::uint32_t r = 0; r < program.ranks(); ++r) {
    const auto list = device_commands(program, r, streams);
    if (!list) return list.error();
    checker.recorded.emplace_back(list->event_count());
    for (const command& c : *list) {
      const std::size_t role = c.stream == streams.compute ? 0 : c.stream == streams.recv ? 1 : 2;
      checker.lanes[3 * std::size_t{r} + role].queue.push_back(c);
    }
  }
  return checker.play();
}

}  // namespace hocket::inline HOCKET_ABI::launch
