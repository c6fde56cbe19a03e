// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::launch {

/// What a rank does in one step of a program with transfers.
enum class transfer_kind : std::uint8_t {
  run,          ///< work of the rank's own
  send,         ///< post a send
  recv,         ///< post a receive
  wait,         ///< block until the transfer with this `request` is complete
  group_begin,  ///< what is posted until group_end progresses together
  group_end,
};

/// One step of a rank that talks to others. Sends and receives are numbered in the order in which the rank posts them;
/// a wait names that number.
struct transfer_command {
  std::uint64_t label = 0;    ///< send, recv: what is transferred, the same number on both sides
  std::uint32_t peer = 0;     ///< send, recv, wait: the other rank
  std::uint32_t request = 0;  ///< send, recv, wait: number of the transfer on this rank, from 0
  std::uint32_t tag = 0;      ///< send, recv, wait: its place among those of the two ranks in this direction, from 0
  transfer_kind kind = transfer_kind::run;

  friend constexpr bool operator==(const transfer_command&, const transfer_command&) = default;
};

/// When a step that talks to others lets the rank go on, if nothing is buffered (the worst that a network may do).
enum class transfer_model : std::uint8_t {
  posted,    ///< posts return at once, waits block: MPI and other host transports, or one stream per transfer
  in_order,  ///< a transfer blocks until its peer comes, a group until all its transfers are done: one stream of NCCL
             ///< or HCCL that also computes, and so a safe assumption for any number of streams
};

/// One link of a deadlock: `rank` stands at `step` until rank `peer` comes to `needs`, a step further down its list.
struct blocked_transfer {
  std::uint32_t rank = 0;
  std::uint32_t step = 0;
  std::uint32_t peer = 0;
  std::uint32_t needs = 0;
  friend constexpr bool operator==(const blocked_transfer&, const blocked_transfer&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::launch
