// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/launch/backend.hpp>

#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::launch {

/// Statuses of the backends that need no device.
enum class local_status : std::uint8_t {
  ok,
  unrecorded_event,  ///< a wait on an event that was never recorded
  unknown_event,     ///< an event number past the backend's events
  op_failed,         ///< the launcher said so, or a failure was asked for
  out_of_memory,
};

[[nodiscard]] constexpr std::string_view to_string(local_status s) noexcept {
  switch (s) {
    case local_status::ok: return "ok";
    case local_status::unrecorded_event: return "wait on an event that was never recorded";
    case local_status::unknown_event: return "no such event";
    case local_status::op_failed: return "the op failed";
    case local_status::out_of_memory: return "out of memory";
  }
  return "unknown status";
}

/// One thread, no queue: an op runs when it is launched, so the plan's issue order is the order of execution. Where
/// determinism matters more than overlap, and the fastest way to run a plan without a device.
/// Record and wait only check that the event is known.
///
///     hocket::launch::inline_backend b(list.event_count());
///     hocket::launch::drive(b, list, [&](auto op, auto) { program.run(op); });
class inline_backend {
 public:
  using stream_type = stream_id;
  using event_type = event_id;
  using status_type = local_status;

  template <class = void>  // constexpr where vectors are: not in libstdc++'s debug mode
  constexpr explicit inline_backend(std::size_t event_count) : recorded_(event_count) {}

  constexpr status_type record(event_type event, stream_type) noexcept {
    if (event >= recorded_.size()) return local_status::unknown_event;
    recorded_[event] = 1;
    return local_status::ok;
  }
  constexpr status_type wait(stream_type, event_type event) noexcept {
    if (event >= recorded_.size()) return local_status::unknown_event;
    return recorded_[event] != 0 ? local_status::ok : local_status::unrecorded_event;
  }
  constexpr status_type synchronize(stream_type) noexcept { return local_status::ok; }
  constexpr status_type is_idle(stream_type, bool& idle) noexcept {
    idle = true;
    return local_status::ok;
  }
  static constexpr bool ok(status_type s) noexcept { return s == local_status::ok; }
  static constexpr const char* text(status_type s) noexcept { return to_string(s).data(); }

 private:
  std::vector<unsigned char> recorded_;
};

static_assert(sync_backend<inline_backend> && polled_backend<inline_backend>);

}  // namespace hocket::inline HOCKET_ABI::launch
