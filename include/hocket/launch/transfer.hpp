// SPDX-License-Identifier: Apache-2.0
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

}  // namespace hocket::inline HOCKET_ABI::launch
