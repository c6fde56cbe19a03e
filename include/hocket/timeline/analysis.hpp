// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/timeline/detail/rows.hpp>

#include <cstdint>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI {

/// True for work on the device's arithmetic units; false for communication, waiting and the unknown.
[[nodiscard]] constexpr bool computes(activity kind) noexcept {
  return kind <= activity::compute || kind == activity::optimizer || kind == activity::recompute;
}

/// How one lane spends the time from the timeline's first start to its last finish. Times that overlap count once.
struct lane_use {
  ticks busy = 0;         ///< any span but `wait`
  ticks computing = 0;    ///< spans that compute
  ticks idle = 0;         ///< the rest of the makespan
  ticks finish = 0;       ///< end of its last span; 0 without spans
  std::int64_t peak = 0;  ///< most of the lane's quantity (activations, bytes) held at a time
};

/// What runs at the same time as what on one device, whose streams are lanes.
struct exposure {
  ticks computing = 0;      ///< some lane computes
  ticks communicating = 0;  ///< some lane communicates
  ticks exposed = 0;        ///< communicates while none computes: what overlap could still hide
};

namespace detail {

/// The length covered by [start, finish) pairs. Sorts them.
[[nodiscard]] inline ticks covered(std::pmr::vector<std::pair<ticks, ticks>>& pieces) {
  std::sort(pieces.begin(), pieces.end());
  ticks sum = 0, until = 0;
  bool any = false;
  for (const auto& [start, finish] : pieces) {
    const ticks from = any && until > start ? until : start;
    if (finish <= from) continue;
    sum += finish - from;
    until = finish;
    any = true;
  }
  return sum;
}

}  // namespace detail

/// The use of each lane, by lane number. O(s log s).
[[nodiscard]] inline std::pmr::vector<lane_use> lane_uses(
    const timeline& t, std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  std::pmr::vector<lane_use> uses(t.lane_count(), memory);
  const detail::span_rows rows = detail::rows_of(t, memory);
  const auto levels = detail::levels_of(t, memory);
  const ticks makespan = t.makespan();
  std::pmr::vector<std::pair<ticks, ticks>> busy(memory), computing(memory);
  for (std::uint32_t lane = 0; lane < t.lane_count(); ++lane) {
    busy.clear();
    computing.clear();
    bool any = false;
    for (std::size_t i = rows.first[lane]; i < rows.first[lane + 1]; ++i) {
      const auto& s = rows.spans[i].span;
      if (s.kind != activity::wait) busy.emplace_back(s.start, s.finish);
      if (computes(s.kind)) computing.emplace_back(s.start, s.finish);
      if (!any || s.finish > uses[lane].finish) uses[lane].finish = s.finish;
      any = true;
    }
    uses[lane].busy = detail::covered(busy);
    uses[lane].computing = detail::covered(computing);
    uses[lane].idle = makespan - uses[lane].busy;
    for (const detail::level& l : levels[lane]) uses[lane].peak = l.value > uses[lane].peak ? l.value : uses[lane].peak;
  }
  return uses;
}

/// How much communication the given lanes (the streams of one device) leave uncovered. O(s log s).
///
///     hocket::timeline t;
///     const auto compute = t.add_lane("compute"), network = t.add_lane("network");
///     t.add({.start = 0, .finish = 10, .lane = compute});
///     t.add({.start = 4, .finish = 13, .lane = network, .kind = hocket::activity::communication});
///     const std::uint32_t device[] = {compute, network};
///     hocket::exposure_of(t, device).exposed == 3;
[[nodiscard]] inline exposure exposure_of(const timeline& t, std::span<const std::uint32_t> lanes,
                                          std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  std::pmr::vector<std::pair<ticks, ticks>> computing(memory), communicating(memory), either(memory);
  for (const auto& s : t.spans()) {
    bool mine = false;
    for (const std::uint32_t lane : lanes) mine |= lane == s.lane;
    if (!mine) continue;
    if (computes(s.kind)) {
      computing.emplace_back(s.start, s.finish);
      either.emplace_back(s.start, s.finish);
    }
    if (s.kind == activity::communication) {
      communicating.emplace_back(s.start, s.finish);
      either.emplace_back(s.start, s.finish);
    }
  }
  exposure e;
  e.computing = detail::covered(computing);
  e.communicating = detail::covered(communicating);
  e.exposed = detail::covered(either) - e.computing;
  return e;
}

}  // namespace hocket::inline HOCKET_ABI
