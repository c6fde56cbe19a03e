// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/launch/backends/inline.hpp>
#include <hocket/launch/command.hpp>
#include <hocket/launch/detail/attempt.hpp>

#include <limits>

namespace hocket::inline HOCKET_ABI::launch {

/// Runs nothing, writes down every call, and can fail on demand: for tests of plans and of what drives them.
/// Unlike CUDA, where it is a silent race, it rejects a wait on an event that was never recorded.
///
///     hocket::launch::recording_backend b;
///     b.fail_at(3);
///     auto done = hocket::launch::drive(b, list, b.launcher());   // done.issued == 3
class recording_backend {
 public:
  using stream_type = stream_id;
  using event_type = event_id;
  using status_type = local_status;

  status_type record(event_type event, stream_type stream) noexcept {
    return write({event, static_cast<std::uint16_t>(stream), command_kind::record, 0});
  }
  status_type wait(stream_type stream, event_type event) noexcept {
    bool recorded = false;
    for (std::size_t i = log_.size(); i-- > 0 && !recorded;)
      recorded = log_[i].kind == command_kind::record && log_[i].id == event;
    if (!recorded) return local_status::unrecorded_event;
    return write({event, static_cast<std::uint16_t>(stream), command_kind::wait, 0});
  }
  status_type launch(node_id op, std::uint8_t phase, stream_type stream) noexcept {
    return write({op, static_cast<std::uint16_t>(stream), command_kind::run, phase});
  }

  /// Nothing runs, so nothing is waited for; neither is written down.
  status_type synchronize(stream_type) noexcept { return local_status::ok; }
  status_type is_idle(stream_type, bool& idle) noexcept {
    idle = true;
    return local_status::ok;
  }

  /// A launcher for `drive` that writes into this log.
  struct launch_into {
    recording_backend* log;
    status_type operator()(node_id op, std::uint8_t phase, stream_type stream) const noexcept {
      return log->launch(op, phase, stream);
    }
  };
  [[nodiscard]] launch_into launcher() noexcept { return {this}; }

  /// From now on, call number `call` fails and is not written down. Calls count from 0, anew after `clear`; a wait that
  /// is refused because nothing recorded its event does not count.
  void fail_at(std::size_t call) noexcept { fail_at_ = call; }

  [[nodiscard]] std::span<const command> log() const& noexcept { return log_; }
  std::span<const command> log() const&& = delete;
  void clear() noexcept {
    log_.clear();
    calls_ = 0;
  }

  static constexpr bool ok(status_type s) noexcept { return s == local_status::ok; }
  static constexpr const char* text(status_type s) noexcept { return to_string(s).data(); }

 private:
  status_type write(const command& c) noexcept {
    if (calls_++ == fail_at_) return local_status::op_failed;
    return detail::attempt([&] { log_.push_back(c); }) ? local_status::ok : local_status::out_of_memory;
  }

  std::vector<command> log_;
  std::size_t calls_ = 0;
  std::size_t fail_at_ = (std::numeric_limits<std::size_t>::max)();
};

static_assert(sync_backend<recording_backend> && polled_backend<recording_backend> &&
              launcher<recording_backend::launch_into, recording_backend>);

}  // namespace hocket::inline HOCKET_ABI::launch
