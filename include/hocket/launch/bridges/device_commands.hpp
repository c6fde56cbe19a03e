// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/launch/bridges/pipeline_program.hpp>
#include <hocket/launch/check_transfers.hpp>
#include <hocket/launch/command.hpp>

#include <algorithm>
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

namespace detail {

/// Lowers the steps of one rank, one after the other.
class device_command_writer {
 public:
  device_command_writer(std::span<const transfer_command> steps, std::uint32_t requests,
                        const pipeline_stream_numbers& streams)
      : streams_(streams), event_of_(requests, no_id), is_recv_(requests), awaited_(requests) {
    for (const transfer_command& c : steps)
      if (c.kind == transfer_kind::wait) awaited_[c.request] = true;
  }

  void run(std::uint32_t step, const transfer_command& c) {
    add(step, c, streams_.compute);
    ran_ = true;
  }
  /// Only for receives: sends end in the order of their stream.
  void wait(const transfer_command& c) {
    if (is_recv_[c.request]) out.push_back(wait_event(event_of_[c.request], streams_.compute));
  }
  /// After the work that made the data.
  void send(std::uint32_t step, const transfer_command& c) {
    if (streams_.send != streams_.compute) {
      if (ran_) {
        made_ = events_++;
        out.push_back(record_event(made_, streams_.compute));
        ran_ = false;
      }
      if (made_ != no_id) out.push_back(wait_event(made_, streams_.send));
    }
    add(step, c, streams_.send);
  }
  void recv(std::uint32_t step, const transfer_command& c) {
    add(step, c, streams_.recv);
    is_recv_[c.request] = true;
    if (!awaited_[c.request]) return;
    const event_id arrived = events_++;
    event_of_[c.request] = arrived;
    if (in_group_) closing_.push_back(arrived);
    else out.push_back(record_event(arrived, streams_.recv));
  }
  /// What a group receives is there at its end.
  void group(std::uint32_t step, const transfer_command& c) {
    in_group_ = c.kind == transfer_kind::group_begin;
    add(step, c, streams_.send);
    for (const event_id e : closing_) out.push_back(record_event(e, streams_.recv));
    closing_.clear();
  }

  std::vector<command> out{};

 private:
  void add(std::uint32_t step, const transfer_command& c, std::uint16_t stream) {
    out.push_back(run_op(step, stream, static_cast<std::uint8_t>(c.kind)));
  }

  pipeline_stream_numbers streams_;
  std::vector<event_id> event_of_;  // by receive
  std::vector<bool> is_recv_;       // by request
  std::vector<bool> awaited_;       // by request
  std::vector<event_id> closing_;   // receives of the open group that are waited for later
  event_id events_ = 0;
  event_id made_ = no_id;  // stands for the work of the compute stream so far …
  bool ran_ = false;       // … unless it has run more since
  bool in_group_ = false;
};

}  // namespace detail

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
  detail::device_command_writer write(steps, program.request_count(rank), streams);
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    const transfer_command& c = steps[i];
    switch (c.kind) {
      case transfer_kind::run: write.run(i, c); break;
      case transfer_kind::wait: write.wait(c); break;
      case transfer_kind::send: write.send(i, c); break;
      case transfer_kind::recv: write.recv(i, c); break;
      case transfer_kind::group_begin:
      case transfer_kind::group_end:
        if (streams.recv != streams.send)
          return error{errc::bad_transfer, rank, i}.with("a group needs one stream for both");
        write.group(i, c);
        break;
    }
  }
  const std::uint16_t highest = (std::max)({streams.compute, streams.recv, streams.send});
  return command_list::make(write.out, std::size_t{highest} + 1);
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
      if (c.kind == command_kind::record) {
        recorded[rank][c.id] = true;
        wake(rank);
      }
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

/// Whether `device_commands` of all ranks can finish on these streams, if nothing is buffered. A transfer holds up its
/// stream until the peer's stream comes to the other end; a group, until all of its transfers have met; a wait, until
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
