// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/launch/backend.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>

namespace hocket::inline HOCKET_ABI::launch {

/// What a wait with a limit found.
enum class sync_state : std::uint8_t {
  idle,     ///< every stream is idle, and nothing failed
  failed,   ///< the backend reports a failure: a lost device, an op that went wrong
  running,  ///< a stream was still at work when the time was over: slow, or waiting for what never comes
};

/// How a wait with a limit ended.
template <class Status>
struct sync_outcome {
  sync_state state = sync_state::idle;
  Status status{};             ///< failed: what the backend said
  std::size_t stream = no_id;  ///< failed, running: the first such stream, by its place among those asked about
  std::chrono::milliseconds waited{0};

  explicit operator bool() const noexcept { return state == sync_state::idle; }
};

/// One English sentence: "stream 1 is still at work after 2000 ms", "stream 0 failed: an illegal address".
/// @param text  the backend's text for the outcome's status
template <class Status>
[[nodiscard]] std::string message(const sync_outcome<Status>& o, const char* text) {
  if (o.state == sync_state::idle) return "all streams are idle";
  const std::string stream = "stream " + std::to_string(o.stream);
  if (o.state == sync_state::failed) return stream + " failed: " + text;
  return stream + " is still at work after " + std::to_string(o.waited.count()) + " ms";
}

/// Blocks until the streams are idle, but not longer than a limit: where a kernel hangs, an event never completes or a
/// peer does not come, `synchronize` would block for ever. Nothing is taken back: what runs goes on running, and a
/// second call waits for more. Polls every 50 us at first and every millisecond later. Allocates nothing.
/// @param streams  handles; nobody enqueues on them meanwhile
/// @param limit    0: one look
/// @return idle only if every stream was, and its `synchronize`, where there is one, reports no failure. A failure is
///         preferred to a stream that works: it is the cause
///
///     const auto end = synchronize_within(cuda, streams, std::chrono::seconds(30));
///     if (!end) report(message(end, cuda.text(end.status)));   // and abort the communicator, or leave the process
template <polled_backend B>
[[nodiscard]] sync_outcome<typename B::status_type> synchronize_within(
    B& b, std::span<const typename detail::checked_backend<B>::stream> streams, std::chrono::milliseconds limit) {
  using outcome = sync_outcome<typename B::status_type>;
  const auto start = std::chrono::steady_clock::now();
  std::chrono::microseconds pause{50};
  for (;;) {
    const auto now = std::chrono::steady_clock::now() - start;
    outcome found{.waited = std::chrono::duration_cast<std::chrono::milliseconds>(now)};
    for (std::size_t i = 0; i < streams.size(); ++i) {
      bool idle = false;
      found.status = b.is_idle(streams[i], idle);
      if constexpr (sync_backend<B>)
        if (idle && B::ok(found.status)) found.status = b.synchronize(streams[i]);
      if (!B::ok(found.status)) return {sync_state::failed, found.status, i, found.waited};
      if (idle || found.state == sync_state::running) continue;
      found.state = sync_state::running;
      found.stream = i;
    }
    if (found.state == sync_state::idle || now >= limit) return found;
    std::this_thread::sleep_for(pause);
    if (pause < std::chrono::milliseconds(1)) pause += pause;
  }
}

}  // namespace hocket::inline HOCKET_ABI::launch
