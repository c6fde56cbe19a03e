// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::ranks {

/// Whether the calls of a rank start in the order in which the host launched them, over all communicators.
enum class launch_order : std::uint8_t {
  free,    ///< no: each stream for itself
  start,   ///< a call starts after all earlier calls of its rank have started
  serial,  ///< a call starts after all earlier calls of its rank are complete
};

/// What blocks what: the rules of the device and the communication library under a program of ranks. A call is a send,
/// a receive, a collective, or what a group holds of one communicator. The default has no scarce resource.
///
///     hocket::ranks::machine gpu;
///     gpu.slots = 2;                        // two calls fit on a device at once, a third perhaps not
struct machine {
  /// The host goes on as soon as a call is enqueued. Otherwise each call blocks it until the call is complete.
  bool enqueue_returns = true;
  /// The calls of a communicator run one after another on each rank, whatever their streams. Otherwise only their
  /// matching follows the order of calling.
  bool serial_communicators = true;
  /// The first call of a rank on a communicator blocks the host until each member has called, too.
  bool connects_on_first_use = false;
  /// A wait for an event that was not recorded before waits for its first record. Otherwise it does nothing.
  bool unrecorded_events_block = false;
  /// A receive may be longer than its send.
  bool longer_receives = false;
  launch_order order = launch_order::free;
  /// Queues of the device, 0 for one a stream. Stream s uses queue s mod this number. An item starts after all earlier
  /// items of its queue have started.
  std::uint32_t hardware_queues = 0;
  /// Calls that surely fit on a device at once, 0 for any number. More may fit, or not, from one moment to the next.
  std::uint32_t slots = 0;
  /// Sends of fewer bytes are complete without their receive, always.
  std::uint64_t surely_buffered_below = 0;
  /// Sends of fewer bytes may be complete without their receive, or not.
  std::uint64_t perhaps_buffered_below = 0;

  friend constexpr bool operator==(const machine&, const machine&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::ranks
