// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/ranks/op.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::ranks {

/// What can be said about a program of ranks.
enum class verdict : std::uint8_t {
  safe,        ///< it finishes, whatever the timing: proved
  mismatch,    ///< calls that should meet do not fit, or some have nobody to meet
  hangs,       ///< it hangs, whatever the timing: proved
  may_hang,    ///< some timing hangs: it is in answer::timing, and was run
  not_proved,  ///< no timing that hangs was found, and no proof that there is none
};
[[nodiscard]] constexpr std::string_view to_string(verdict v) noexcept {
  constexpr std::string_view names[] = {"safe", "mismatch", "hangs", "may hang", "not proved"};
  return names[static_cast<std::size_t>(v)];
}

/// Why a verdict holds.
enum class reason : std::uint8_t {
  order,       ///< nothing is scarce and nobody races: the program runs one way
  slots,       ///< no more calls can be ready at once than a device has slots
  all_tried,   ///< every choice that timing has was tried
  buffering,   ///< it finishes if sends are buffered, and hangs if they are not
  few_slots,   ///< it finishes if the device runs enough calls at once, and hangs if it runs no more than it surely can
  one_timing,  ///< a timing was found that hangs
  none,        ///< of not_proved; of mismatch: the lists themselves
};
[[nodiscard]] constexpr std::string_view to_string(reason why) noexcept {
  constexpr std::string_view names[] = {"order", "slots", "all tried", "buffering", "few slots", "one timing", "none"};
  return names[static_cast<std::size_t>(why)];
}

/// One decision of a timing.
struct choice {
  enum class kind : std::uint8_t {
    start,   ///< a call gets a slot
    step,    ///< of racing host threads this one does its next op
    buffer,  ///< a send is buffered
  };
  kind what = kind::start;
  std::uint32_t rank = 0;
  std::uint32_t lane = 0;  ///< place of the stream among those that the rank uses, or the host thread
  std::uint32_t op = 0;    ///< place in the rank's list
  friend constexpr bool operator==(const choice&, const choice&) = default;
};

[[nodiscard]] constexpr std::string_view to_string(choice::kind what) noexcept {
  constexpr std::string_view names[] = {"start", "step", "buffer"};
  return names[static_cast<std::size_t>(what)];
}

/// Why something that stands still does.
enum class obstacle : std::uint8_t {
  peer,            ///< the other rank has not started its call
  host,            ///< the host waits for a stream
  event,           ///< a stream waits for a record of another
  communicator,    ///< an earlier call of the same communicator is not complete
  hardware_queue,  ///< an earlier item of the same hardware queue has not started
  launch_order,    ///< an earlier call has not started, or is not complete
  slot,            ///< other calls hold all slots
  connection,      ///< a member has not called for the first time
  no_record,       ///< nobody records the event
  misfit,          ///< the call that it met there does not fit: `call` of `whom`'s rank, if it was the first to come
};

[[nodiscard]] constexpr std::string_view to_string(obstacle why) noexcept {
  constexpr std::string_view names[] = {"peer",         "host", "event",      "communicator", "hardware queue",
                                        "launch order", "slot", "connection", "no record",    "misfit"};
  return names[static_cast<std::size_t>(why)];
}

/// A stream or a host thread of a rank.
struct place {
  std::uint32_t rank = 0;
  std::uint32_t line = 0;    ///< number of the stream or thread
  std::uint32_t op = no_id;  ///< where it stands in the list of the rank; no_id: it has done all
  bool host = false;
  friend constexpr bool operator==(const place&, const place&) = default;
};
/// One stream or thread that waits for another.
struct blocked {
  place who;
  place whom;
  obstacle why = obstacle::peer;
  std::uint32_t call = no_id;  ///< of obstacle::peer: which op of `whom`'s rank has to start; no_id: it has none
};

/// Two sides of calls that do not fit together.
struct disagreement {
  communicator_id communicator = 0;
  std::uint32_t number = 0;  ///< of the call among those of its communicator, or of its pair of ranks and tag
  std::uint32_t rank = 0;
  std::uint32_t op = no_id;
  std::uint32_t other_rank = 0;
  std::uint32_t other_op = no_id;  ///< no_id: it does not come to such a call
};

/// What `check` found.
struct answer {
  verdict says = verdict::not_proved;
  reason why = reason::none;
  disagreement differs;             ///< of mismatch: the first
  std::pmr::vector<blocked> cycle;  ///< of hangs and may_hang: the shortest cycle, or who waits for what never comes
  std::pmr::vector<choice> timing;  ///< of may_hang: what to choose; after it nothing can move
  std::pmr::vector<place> open;     ///< of not_proved: calls that compete for slots, or threads that race
  std::uint64_t states = 0;         ///< that the search looked at
  /// With so many slots it is safe: no more calls are ever ready at once on any rank. 0 where slots do not decide
  /// alone.
  std::size_t enough_slots = 0;

  explicit answer(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : cycle(memory), timing(memory), open(memory) {}
};

}  // namespace hocket::inline HOCKET_ABI::ranks
