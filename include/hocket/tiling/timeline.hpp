// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/tiling/evaluate.hpp>
#include <hocket/timeline/timeline.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>

namespace hocket::inline HOCKET_ABI::tiling {

namespace detail {

template <class Phases>
void add_spans(const problem<Phases>& p, std::span<const std::int64_t> tiles, std::uint32_t first_lane, timeline& out) {
  std::array<activity, max_phases> kinds{};
  detail::for_each_phase(p.phases, [&](std::size_t q, const auto& each) {
    kinds[q] = each.kind == phase_kind::compute ? activity::compute : activity::communication;
  });
  clock<Phases> timer(p);
  timer.trace(tiles, [&](std::size_t tile, std::size_t q, ticks start, ticks finish) {
    out.add({.start = start,
             .finish = finish,
             .lane = first_lane + static_cast<std::uint32_t>(q),
             .kind = kinds[q],
             .id = static_cast<std::uint32_t>(tile),
             .micro_batch = static_cast<std::int32_t>(tile)});
  });
}

}  // namespace detail

/// The predicted run of these tiles as spans on one lane per phase, to be drawn, exported or set beside a measured one.
/// A tick of the timeline is a picosecond; spans carry the tile's number as id and as the number printed in the bar.
/// Errors: as `makespan`. O(tiles * phases); allocates from `memory`.
template <class Phases>
[[nodiscard]] result<timeline> predicted_timeline(
    const problem<Phases>& p, std::span<const std::int64_t> tiles,
    std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  if (auto sound = makespan(p, tiles); !sound) return sound.error();
  timeline out(memory);
  out.ticks_per_second = detail::ticks_per_us * 1'000'000;
  detail::for_each_phase(p.phases, [&](std::size_t, const auto& each) {
    out.add_lane(each.kind == phase_kind::compute ? "compute" : "communication");
  });
  detail::add_spans(p, tiles, 0, out);
  return out;
}

/// The operator before and after cutting, one above the other on the same clock: lanes "uncut: compute", …, then
/// "cut: compute", …. For a picture (`to_svg`). Errors: as `makespan`. O(tiles * phases); allocates from `memory`.
///
///     auto picture = hocket::to_svg(*hocket::tiling::before_and_after(p, plan->tiles()));
template <class Phases>
[[nodiscard]] result<timeline> before_and_after(const problem<Phases>& p, std::span<const std::int64_t> tiles,
                                                std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  if (auto sound = makespan(p, tiles); !sound) return sound.error();
  timeline out(memory);
  out.ticks_per_second = detail::ticks_per_us * 1'000'000;
  for (const bool cut : {false, true}) {
    detail::for_each_phase(p.phases, [&](std::size_t, const auto& each) {
      const bool compute = each.kind == phase_kind::compute;
      out.add_lane(cut ? (compute ? "cut: compute" : "cut: communication")
                       : (compute ? "uncut: compute" : "uncut: communication"));
    });
  }
  const std::int64_t whole[1] = {p.axis.rows};
  detail::add_spans(p, whole, 0, out);
  detail::add_spans(p, tiles, static_cast<std::uint32_t>(detail::phase_count(p.phases)), out);
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::tiling
