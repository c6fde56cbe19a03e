// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/tiling/bound.hpp>
#include <hocket/tiling/candidates.hpp>

#include <cstdint>
#include <span>

namespace hocket::inline HOCKET_ABI::tiling::detail {

/// The plan of these tiles: times, bound, flags. Errors: errc::bad_cost.
template <class Phases>
constexpr result<plan> finish(const problem<Phases>& p, std::span<const std::int64_t> tiles, policy decided_by,
                              flag_set flags = {}) noexcept {
  const grid axis(p.axis);
  clock<Phases> timer(p.phases);
  plan out;
  out.assign(tiles);
  out.decided_by = decided_by;
  out.predicted = timer.makespan(tiles);
  out.serial = timer.uncut(axis.rows);
  out.lower_bound = lower_bound(axis, timer);
  if (timer.failed()) return timer.error();
  // The documented rule may leave the space that the bound is about.
  const bool outside = out.lower_bound > out.predicted || flags.has(flag::max_tiles_exceeded);
  if (out.lower_bound > out.predicted) out.lower_bound = out.predicted;
  out.bound = out.lower_bound > 0 ? bound_kind::envelope : bound_kind::none;
  flags.set(flag::uncut, tiles.size() == 1);
  flags.set(flag::optimal, out.lower_bound > 0 && out.lower_bound == out.predicted && !outside);
  for_each_phase(p.phases, [&](std::size_t, const auto& each) {
    const curve::interval good = curve::domain(each.cost);
    for (const std::int64_t rows : tiles) flags.set(flag::extrapolated, !good.contains(static_cast<double>(rows)));
  });
  out.flags = flags;
  return out;
}

/// Runs a search over candidates from "no cut" on. search(problem, grid, clock, incumbent) offers what it finds.
template <class Phases, class Search>
constexpr result<plan> best_of(const problem<Phases>& p, policy decided_by, Search&& search) noexcept {
  if (auto sound = check(p); !sound) return sound.error();
  const grid axis(p.axis);
  clock<Phases> timer(p.phases);
  incumbent best(axis, timer);
  search(p, axis, timer, best);
  if (timer.failed()) return timer.error();
  return finish(p, best.tiles.span(), decided_by);
}

}  // namespace hocket::inline HOCKET_ABI::tiling::detail
