// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/launch/bridges/pipeline_program.hpp>
#include <hocket/launch/check_transfers.hpp>
#include <hocket/launch/command.hpp>
#include <hocket/launch/detail/transfer_checker.hpp>

#include <algorithm>
#include <array>
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
  device_command_writer(std::uint32_t requests, const pipeline_stream_numbers& streams)
      : streams_(streams), event_of_(requests, no_id), is_recv_(requests) {}

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
    const event_id arrived = events_++;  // some action of a program waits for each
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
  detail::device_command_writer write(program.request_count(rank), streams);
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
  detail::transfer_checker checker(lists, transfer_model::in_order, std::pmr::get_default_resource());
  if (const auto matched = checker.match(); !matched) return matched.error();
  for (std::uint32_t r = 0; r < program.ranks(); ++r) {
    const auto list = device_commands(program, r, streams);
    if (!list) return list.error();
    std::array<std::vector<command>, 3> queues;
    for (const command& c : *list) {
      const std::size_t role = c.stream == streams.compute ? 0 : c.stream == streams.recv ? 1 : 2;
      queues[role].push_back(c);
    }
    checker.add_streams(r, queues, list->event_count());
  }
  return checker.play_streams();
}

}  // namespace hocket::inline HOCKET_ABI::launch
