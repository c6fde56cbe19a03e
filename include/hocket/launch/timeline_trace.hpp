// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/launch/command.hpp>
#include <hocket/timeline/timeline.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace hocket::inline HOCKET_ABI::launch {

/// Start and finish of every command, on the steady clock. Allocates once; `begin` and `end` only read the clock and
/// store. Reused by later runs, which overwrite. Holds a copy of the list, so it may outlive what it traced.
/// On a device backend these are the times of *issuing*; on the inline and the host backend, of running.
///
///     hocket::launch::timeline_trace trace(list);
///     device.run(program, body, trace);
///     hocket::timeline measured = trace.timeline();
class timeline_trace {
 public:
  explicit timeline_trace(const command_list& list)
      : list_(list), times_(list.size()), origin_(std::chrono::steady_clock::now()) {}

  void begin(std::size_t index, const command&) noexcept { times_[index].start = now(); }
  void end(std::size_t index, const command&) noexcept { times_[index].finish = now(); }

  /// Since construction; negative if the command did not start (finish).
  [[nodiscard]] std::chrono::nanoseconds start(std::size_t index) const noexcept { return times_[index].start; }
  [[nodiscard]] std::chrono::nanoseconds finish(std::size_t index) const noexcept { return times_[index].finish; }

  /// Forgets all times: what does not run in the next replay shows as not run.
  void reset() noexcept {
    for (times& t : times_) t = {};
  }

  /// The ops that ran, one lane per stream, in ticks of a nanosecond; id = op, chunk = phase. Waits are left out: they
  /// are the gaps.
  /// @param kind  kind(op, phase) -> activity; by default every op is activity::compute
  /// Complexity: O(commands).
  template <class Kind>
  [[nodiscard]] hocket::timeline timeline(Kind&& kind) const {
    hocket::timeline t;
    t.ticks_per_second = std::chrono::nanoseconds::period::den;
    for (std::uint32_t s = 0; s < list_.stream_count(); ++s) t.add_lane("stream " + std::to_string(s));
    t.reserve(list_.op_count());
    for (std::size_t i = 0; i < list_.size(); ++i) {
      const command c = list_[i];
      const times at = times_[i];
      if (c.kind != command_kind::run || at.start.count() < 0 || at.finish < at.start) continue;
      t.add({.start = at.start.count(),
             .finish = at.finish.count(),
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
  struct times {
    std::chrono::nanoseconds start{-1};
    std::chrono::nanoseconds finish{-1};
  };
  [[nodiscard]] std::chrono::nanoseconds now() const noexcept { return std::chrono::steady_clock::now() - origin_; }

  command_list list_;
  std::vector<times> times_;
  std::chrono::steady_clock::time_point origin_;
};

}  // namespace hocket::inline HOCKET_ABI::launch
