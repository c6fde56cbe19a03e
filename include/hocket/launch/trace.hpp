// SPDX-License-Identifier: Apache-2.0
// Where time goes while a plan is driven or replayed: a compile-time hook, off by default, free when off.
#pragma once
#include <hocket/launch/command.hpp>
#include <hocket/timeline/timeline.hpp>

#include <chrono>
#include <string>

namespace hocket::inline HOCKET_ABI::launch {

/// The hook that does nothing. A trace is any type with `begin(index, command)` and `end(index, command)`, both
/// noexcept; `index` is the command's place in its list. The host backend calls it from the stream's own thread; calls
/// for one index never overlap, so one slot per index needs no lock.
struct no_trace {
  constexpr void begin(std::size_t, const command&) const noexcept {}
  constexpr void end(std::size_t, const command&) const noexcept {}
};

/// Start and finish of every command, on the steady clock, in nanoseconds. Allocates once; `begin` and `end` only read
/// the clock and store. Reused by later runs, which overwrite.
/// On a device backend these are the times of *issuing*; on the inline and the host backend, of running.
///
///     hocket::launch::timeline_trace trace(list);
///     device.run(program, body, trace);
///     hocket::timeline measured = trace.timeline();
class timeline_trace {
 public:
  explicit timeline_trace(const command_list& list)
      : list_(list), slots_(list.size()), origin_(std::chrono::steady_clock::now()) {}

  void begin(std::size_t index, const command&) noexcept { slots_[index].start = now(); }
  void end(std::size_t index, const command&) noexcept { slots_[index].finish = now(); }

  /// Nanoseconds since construction; -1 if the command did not start (finish).
  [[nodiscard]] ticks start(std::size_t index) const noexcept { return slots_[index].start; }
  [[nodiscard]] ticks finish(std::size_t index) const noexcept { return slots_[index].finish; }

  /// Forgets all times: what did not run in the next replay shows as not run.
  void reset() noexcept {
    for (slot& s : slots_) s = {};
  }

  /// The ops that ran, one lane per stream; id = op, chunk = phase. Waits are left out: they are the gaps.
  /// @param kind  kind(op, phase) -> activity; by default every op is activity::compute
  /// Complexity: O(commands).
  template <class Kind>
  [[nodiscard]] hocket::timeline timeline(Kind&& kind) const {
    hocket::timeline t;
    t.ticks_per_second = 1'000'000'000;
    for (std::uint32_t s = 0; s < list_.stream_count(); ++s) t.add_lane("stream " + std::to_string(s));
    t.reserve(list_.op_count());
    for (std::size_t i = 0; i < list_.size(); ++i) {
      const command& c = list_[i];
      if (c.kind != command_kind::run || slots_[i].finish < slots_[i].start || slots_[i].start < 0) continue;
      t.add({.start = slots_[i].start,
             .finish = slots_[i].finish,
             .lane = c.stream,
             .kind = kind(c.id, c.phase),
             .chunk = c.phase,
             .id = c.id});
    }
    return t;
  }
  [[nodiscard]] hocket::timeline timeline() const {
    return timeline([](node_id, std::uint8_t) { return activity::compute; });
  }

 private:
  struct slot {
    ticks start = -1;
    ticks finish = -1;
  };
  [[nodiscard]] ticks now() const noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - origin_).count();
  }

  command_list list_;  // a copy: a trace outlives what it traced
  std::vector<slot> slots_;
  std::chrono::steady_clock::time_point origin_;
};

}  // namespace hocket::inline HOCKET_ABI::launch
