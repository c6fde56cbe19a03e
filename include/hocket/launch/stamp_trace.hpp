// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/launch/command.hpp>
#include <hocket/timeline/timeline.hpp>

#include <chrono>
#include <string>

namespace hocket::inline HOCKET_ABI::launch {

/// The cheap trace for `drive`: one reading of the processor's own counter per command, a few nanoseconds, where
/// `timeline_trace` reads the system's clock twice. A command ends where the next one begins, since one thread issues
/// them all: on a device backend this shows what issuing costs, command by command. Not for the host backend's replay,
/// where many threads walk the list.
/// The counter (x86: rdtsc; aarch64: cntvct_el0; elsewhere the steady clock) is tied to nanoseconds by the time from
/// `start` to `stop` on the steady clock.
///
///     hocket::launch::stamp_trace trace(list);
///     trace.start();
///     auto done = drive(b, list, streams, events, launch, trace);
///     trace.stop();
///     hocket::timeline t = trace.timeline();
class stamp_trace {
 public:
  explicit stamp_trace(const command_list& list) : list_(list), stamps_(list.size() + 1) {}

  void begin(std::size_t index, const command&) noexcept {
    stamps_[index] = counter();
    reached_ = index + 1;
  }
  void end(std::size_t, const command&) const noexcept {}

  void start() noexcept {
    reached_ = 0;
    from_ = std::chrono::steady_clock::now();
    first_ = counter();
  }
  void stop() noexcept {
    stamps_[reached_] = last_ = counter();
    to_ = std::chrono::steady_clock::now();
  }

  /// Commands that were begun.
  [[nodiscard]] std::size_t size() const noexcept { return reached_; }
  /// Nanoseconds from `start` to the beginning of command `index`; of size(): to `stop`.
  [[nodiscard]] ticks at(std::size_t index) const noexcept {
    HOCKET_ASSERT(index <= reached_);
    const double whole = std::chrono::duration<double, std::nano>(to_ - from_).count();
    const auto span = static_cast<double>(last_ - first_);
    return span <= 0 ? 0 : static_cast<ticks>(static_cast<double>(stamps_[index] - first_) * (whole / span));
  }

  /// The ops that were issued, one lane per stream. Records and waits are left out: they are the gaps.
  /// Complexity: O(commands).
  [[nodiscard]] hocket::timeline timeline() const {
    hocket::timeline t;
    t.ticks_per_second = 1'000'000'000;
    for (std::uint32_t s = 0; s < list_.stream_count(); ++s) t.add_lane("stream " + std::to_string(s));
    for (std::size_t i = 0; i < reached_; ++i) {
      const command& c = list_[i];
      if (c.kind != command_kind::run) continue;
      t.add({.start = at(i),
             .finish = at(i + 1),
             .lane = c.stream,
             .kind = activity::compute,
             .chunk = c.phase,
             .id = c.id});
    }
    return t;
  }

 private:
  [[nodiscard]] static std::uint64_t counter() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    std::uint64_t value = 0;
    asm volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
  }

  command_list list_;  // a copy: a trace outlives what it traced
  std::vector<std::uint64_t> stamps_;
  std::size_t reached_ = 0;
  std::uint64_t first_ = 0, last_ = 0;
  std::chrono::steady_clock::time_point from_{}, to_{};
};

}  // namespace hocket::inline HOCKET_ABI::launch
