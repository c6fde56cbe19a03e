// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/tiling/evaluate.hpp>
#include <hocket/timeline/timeline.hpp>

#include <cstdint>
#include <memory_resource>
#include <span>

namespace hocket::inline HOCKET_ABI::tiling {

/// The predicted run of these tiles as spans on one lane per phase, to be drawn, exported or set beside a measured one.
/// A tick of the timeline is a picosecond; spans carry the tile's number as id and as the number printed in the bar.
/// Errors: as `makespan`. O(tiles * phases); allocates from `memory`.
template <class Phases>
[[nodiscard]] result<timeline> predicted_timeline(
    const problem<Phases>& p, std::span<const std::int64_t> tiles,
    std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  if (auto sound = makespan(p, tiles); !sound) return sound.error();
  timeline out(memory);
  out.ticks_per_second = ticks_per_us * 1'000'000;
  for_each_phase(p.phases, [&](std::size_t, const auto& each) {
    out.add_lane(each.kind == phase_kind::compute ? "compute" : "communication");
  });
  detail::clock clock(p.phases);
  detail::tick_row done{};
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const detail::tick_row t = clock.times(tiles[i], tiles.size() > 1);
    clock.pass(done, t);
    for_each_phase(p.phases, [&](std::size_t lane, const auto& each) {
      out.add({.start = done[lane] - t[lane],
               .finish = done[lane],
               .lane = static_cast<std::uint32_t>(lane),
               .kind = each.kind == phase_kind::compute ? activity::compute : activity::communication,
               .id = static_cast<std::uint32_t>(i),
               .micro_batch = static_cast<std::int32_t>(i)});
    });
  }
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::tiling
