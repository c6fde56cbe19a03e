// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/launch/command.hpp>
#include <hocket/timeline/timeline.hpp>

#include <chrono>
#include <string>

namespace hocket::inline HOCKET_ABI::launch {

/// Which commands a `basic_stamp_trace` reads the counter for.
enum class stamped : std::uint8_t {
  commands,  ///< each: what a record or a wait costs shows as well
  ops,       ///< those that run something: a record or a wait counts for the op before it
};

/// The cheap trace for `drive`: at most one reading of the processor's own counter per command, where `timeline_trace`
/// reads the system's clock twice. A command ends where the next one begins, since one thread issues them all: on a
/// device backend this shows what issuing costs, command by command. Not for the host backend's replay, where many
/// threads walk the list.
/// The counter (x86: rdtsc; aarch64: cntvct_el0; elsewhere the steady clock) is tied to nanoseconds by the time from
/// `start` to `stop` on the steady clock. Reading it is nearly all that a command costs (10 ns and more on virtual
/// machines, see docs/benchmarks.md), so `op_stamp_trace` costs less than half where plans have a record and a wait for
/// many ops.
/// Until `stop` there is nothing to see: `size()` and `at(0)` are 0, the timeline is empty.
///
///     hocket::launch::stamp_trace trace(list);
///     trace.start();
///     auto done = drive(b, list, streams, events, launch, trace);
///     trace.stop();
///     hocket::timeline t = trace.timeline();
template <stamped Which>
class basic_stamp_trace {
 public:
  explicit basic_stamp_trace(const command_list& list) : list_(list), stamps_(list.size() + 1) {}

  /// Precondition: a command of the list that the trace was made for.
  void begin(std::size_t index, const command& c) noexcept {
    HOCKET_ASSERT(index < list_.size());
    if (Which == stamped::commands || c.kind == command_kind::run) stamps_[index] = counter();
    reached_ = index + 1;
  }
  void end(std::size_t, const command&) const noexcept {}

  /// Forgets what was before.
  void start() noexcept {
    reached_ = size_ = 0;
    running_ = true;
    from_ = std::chrono::steady_clock::now();
    first_ = counter();
  }
  /// Nothing without a `start` before it. O(commands) where only ops are stamped.
  void stop() noexcept {
    if (!running_) return;
    const std::uint64_t last = counter();
    const std::chrono::duration<double, std::nano> whole = std::chrono::steady_clock::now() - from_;
    running_ = false;
    stamps_[size_ = reached_] = last;
    if (Which == stamped::ops)
      for (std::size_t i = size_; i-- > 0;)
        if (list_[i].kind != command_kind::run) stamps_[i] = stamps_[i + 1];
    ns_per_count_ = last > first_ ? whole.count() / static_cast<double>(last - first_) : 0;
  }

  /// Commands that were begun between `start` and `stop`.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Nanoseconds from `start` to the beginning of command `index`; of size(): to `stop`. Where only ops are stamped, a
  /// record or a wait begins with the next op.
  /// Precondition: index <= size().
  [[nodiscard]] ticks at(std::size_t index) const noexcept {
    HOCKET_ASSERT(index <= size_);
    return size_ == 0 ? 0 : static_cast<ticks>(static_cast<double>(stamps_[index] - first_) * ns_per_count_);
  }

  /// The ops that were issued, one lane per stream. Records and waits are left out: they are the gaps, or, where only
  /// ops are stamped, the ends of the ops.
  /// Complexity: O(commands).
  [[nodiscard]] hocket::timeline timeline() const {
    hocket::timeline t;
    t.ticks_per_second = 1'000'000'000;
    for (std::uint32_t s = 0; s < list_.stream_count(); ++s) t.add_lane("stream " + std::to_string(s));
    for (std::size_t i = 0; i < size_; ++i) {
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
  std::size_t reached_ = 0;  // while running
  std::size_t size_ = 0;     // once stopped
  std::uint64_t first_ = 0;
  double ns_per_count_ = 0;
  bool running_ = false;
  std::chrono::steady_clock::time_point from_{};
};

/// Stamps every command.
using stamp_trace = basic_stamp_trace<stamped::commands>;
/// Stamps ops only.
using op_stamp_trace = basic_stamp_trace<stamped::ops>;

}  // namespace hocket::inline HOCKET_ABI::launch
