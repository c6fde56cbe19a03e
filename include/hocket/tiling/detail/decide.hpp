// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The policies that search, and `automatic`, which also looks at what the rules would do.
#pragma once
#include <hocket/tiling/detail/documented.hpp>
#include <hocket/tiling/detail/search.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::tiling::detail {

/// Contention by rate has no tile times of its own. The search runs with the factors fixed, which overrates contention,
/// and what it finds is timed again; equal tiles and the descents are timed by rate. What the search with fixed factors
/// may look at does not depend on what is left: a better tiling there can be a worse one by rate.
template <class Phases>
constexpr void search_by_rate(const problem<Phases>& p, policy by, const grid& axis, clock<Phases>& timer,
                              allowance& left, incumbent& best) noexcept {
  if (by == policy::none || by == policy::uniform) return;
  clock<Phases> fixed(p.phases);
  fixed.remember(axis.align, axis.units);
  incumbent found(axis, fixed);
  found.time = infeasible;  // also what is slower than no cut with the factors fixed
  count_bounds<Phases> bounds(axis, fixed);
  offer_uniform(axis, fixed, bounds, found);
  search(by, axis, fixed, bounds, unlimited, found);
  found.time = timer.makespan(found.tiles.span());
  best.offer(found.time, found.tiles);
  if (axis.format != tile_format::any || by == policy::one_plus_n) return;
  const bool is_best = found.tiles == best.tiles;
  descend(axis, timer, left, best);
  if (is_best) return;
  descend(axis, timer, left, found);
  best.offer(found.time, found.tiles);
}

/// The search of a policy after equal tiles. Under contention by rate what is best with the factors fixed hides what is
/// best by rate, so `automatic` runs each search for itself.
template <class Phases>
constexpr void search_by(const problem<Phases>& p, policy by, const grid& axis, clock<Phases>& timer,
                         const count_bounds<Phases>& bounds, std::int64_t evaluations, incumbent& best) noexcept {
  if (p.slowdown == contention::fixed) return search(by, axis, timer, bounds, evaluations, best);
  allowance left{evaluations};
  const incumbent equal = best;
  search_by_rate(p, by, axis, timer, left, best);
  if (by != policy::automatic) return;
  for (const policy other : {policy::one_plus_n, policy::lot_streaming}) {
    incumbent found = equal;
    allowance of_other{evaluations};
    search_by_rate(p, other, axis, timer, of_other, found);
    best.offer(found.time, found.tiles);
  }
}

/// Offers what the documented rule and the pinned lengths are, where they apply and the problem allows their tiles.
template <class Phases>
constexpr void offer_rules(const problem<Phases>& p, const grid& axis, clock<Phases>& timer, incumbent& best) noexcept {
  if (p.shape.k < 1 || p.shape.n < 1) return;
  // The rules have one tile and equal ones, all of which have been offered.
  if (p.slowdown == contention::fixed && axis.units <= every_length) return;
  const auto offer = [&](const tile_list& tiles) {
    if (axis.allows(tiles.span())) best.offer(timer.makespan(tiles.span()), tiles);
  };
  for (const policy which : {policy::documented, policy::documented_min}) {
    tile_list tiles;
    flag_set flags;
    std::int64_t count = 0;
    if (documented_applies(p) && documented_tiles(p, which, tiles, flags, count)) offer(tiles);
  }
  tile_list tiles;
  if (pinned_tiles(p, tiles) <= p.axis.max_tiles) offer(tiles);
}

/// Decides by a policy that searches and makes the plan. Errors: as `check`; errc::bad_cost, errc::limit_exceeded.
template <class Phases>
constexpr result<plan> decide(const problem<Phases>& p, policy by, std::int64_t evaluations) noexcept {
  if (auto sound = check(p); !sound) return sound.error();
  const grid axis(p.axis);
  clock<Phases> timer(p);
  timer.remember(axis.align, axis.units);
  incumbent best(axis, timer);
  count_bounds<Phases> bounds(axis, timer);
  offer_uniform(axis, timer, bounds, best);
  if (by == policy::none) best = incumbent(axis, timer);
  search_by(p, by, axis, timer, bounds, evaluations, best);
  if (by == policy::automatic) offer_rules(p, axis, timer, best);
  if (timer.failed()) return timer.error();
  return finish(p, timer, best.tiles.span(), by, bounds.lower());
}

}  // namespace hocket::inline HOCKET_ABI::tiling::detail
