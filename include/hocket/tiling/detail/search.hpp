// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a problem to a plan: the search, then times, bound and flags.
#pragma once
#include <hocket/tiling/detail/bound.hpp>
#include <hocket/tiling/detail/lots.hpp>
#include <hocket/tiling/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace hocket::inline HOCKET_ABI::tiling::detail {

/// Kind of the bound and flags of a plan whose tiles and times are known.
template <class Phases>
constexpr void judge(const problem<Phases>& p, plan& out) noexcept {
  // The documented rule may leave the space that the bound is about.
  const bool outside = out.lower_bound > out.predicted || out.flags.has(flag::max_tiles_exceeded);
  if (out.lower_bound > out.predicted) out.lower_bound = out.predicted;
  out.bound = out.lower_bound.count() > 0 ? bound_kind::envelope : bound_kind::none;
  const auto tiles = out.tiles();
  out.flags.set(flag::uncut, tiles.size() == 1);
  out.flags.set(flag::optimal, out.lower_bound.count() > 0 && out.lower_bound == out.predicted && !outside);
  std::int64_t shortest = tiles[0], longest = tiles[0];
  for (const std::int64_t rows : tiles) {
    if (rows < shortest) shortest = rows;
    if (rows > longest) longest = rows;
  }
  for_each_phase(p.phases, [&](std::size_t, const auto& each) {
    const curve::interval good = curve::domain(each.cost);
    out.flags.set(flag::extrapolated,
                  !good.contains(static_cast<double>(shortest)) || !good.contains(static_cast<double>(longest)));
  });
}

/// The plan of these tiles, whose problem has this lower bound: times and flags. Errors: errc::bad_cost.
template <class Phases>
constexpr result<plan> finish(const problem<Phases>& p, clock<Phases>& timer, std::span<const std::int64_t> tiles,
                              policy decided_by, ticks lower_bound, flag_set flags = {}) noexcept {
  result<plan> out{plan{}};
  out->assign(tiles);
  out->decided_by = decided_by;
  out->predicted = picoseconds(timer.makespan(tiles));
  out->serial = picoseconds(timer.uncut(p.axis.rows));
  out->lower_bound = picoseconds(lower_bound);
  out->flags = flags;
  if (timer.failed()) return timer.error();
  judge(p, *out);
  return out;
}
/// The plan of the tiles of a rule, which searches nothing.
template <class Phases>
constexpr result<plan> finish(const problem<Phases>& p, std::span<const std::int64_t> tiles, policy decided_by,
                              flag_set flags = {}) noexcept {
  const grid axis(p.axis);
  clock<Phases> timer(p);
  count_bounds<Phases> bounds(axis, timer);
  for (std::int64_t k = 2; k <= axis.max_tiles; ++k)
    if (!bounds.look_at(k, infeasible)) break;
  return finish(p, timer, tiles, decided_by, bounds.lower(), flags);
}

/// Offers what a policy looks at beyond equal tiles, as far as the problem's format allows it. Precondition: equal
/// tiles have been offered. Half of what it may look at is for lots, so that `automatic` finds what `lot_streaming`
/// does.
template <class Phases>
constexpr void search(policy by, const grid& axis, clock<Phases>& timer, const count_bounds<Phases>& bounds,
                      std::int64_t evaluations, incumbent& best) noexcept {
  if (by == policy::none || by == policy::uniform || axis.format == tile_format::uniform) return;
  if (best.tiles.count == 1 && bounds.lower() >= best.time) return;  // proved, and nothing has fewer tiles
  const bool has_lots = by != policy::one_plus_n && axis.format == tile_format::any;
  if (has_lots) offer_lots(axis, timer, bounds, allowance{evaluations / 2}, best);
  const ticks before = best.time;
  if (by != policy::lot_streaming || axis.format == tile_format::one_plus_n)
    offer_one_plus_n(axis, timer, bounds, best);
  if (by == policy::one_plus_n) return;
  if (axis.format == tile_format::two_runs) offer_every_two_runs(axis, timer, best);
  allowance left{evaluations / 2};
  if (has_lots && best.time < before) descend(axis, timer, left, best);
}

}  // namespace hocket::inline HOCKET_ABI::tiling::detail
