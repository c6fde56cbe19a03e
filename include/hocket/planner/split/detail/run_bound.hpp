// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/split/detail/rank_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Whether more layers never load a rank less, as paths that run forwards less often than backwards could have it.
[[nodiscard]] inline bool grows_with_layers(const rank_shares& shares, const stage_clock& clock, std::int64_t layers) {
  for (const stage_share& own : shares.own)
    for (std::int64_t i = 0; i < layers; ++i)
      if (own.forward * clock.layer(i).forward + own.whole * clock.layer(i).whole < 0) return false;
  return true;
}

/// The largest load is no less than the mean, if every rank counted no more than any does.
[[nodiscard]] inline ticks mean_load(const rank_shares& shares, const stage_run& all) {
  stage_share own = shares.own.front();
  for (const stage_share& x : shares.own) own = least_of(own, x);
  const int128 sum = int128{own.forward} * all.forward + int128{own.whole} * all.whole;
  return static_cast<ticks>(sum / static_cast<int128>(shares.own.size())) +
       *std::min_element(shares.beyond.begin(), shares.beyond.end());
}

/// A bound on the run of every split: the best that paths which dwell on one rank tell (rank_shares).
/// @param times   of the stages in the best plan known
/// @param target  what that plan takes: a bound that reaches it proves the plan
/// @param steps   at most about so many
[[nodiscard]] inline ticks run_bound(const split_numbers& q, const segment_fronts& fronts, rank_levels& choose,
                                     const stage_clock& clock, run_graph& graph, std::span<const stage_run> times,
                                     ticks target, std::int64_t steps) {
  constexpr std::int64_t max_states = 4096;
  constexpr std::int64_t slower[] = {16, 8, 64};  // near the plan, nearer, and where a rank is all that counts
  const std::vector<layer_class> classes = classes_of(fronts, clock, max_states);
  const quickest_layers quickest(clock, fronts.layers());
  const stage_run all = clock.total();
  ticks best = 0;
  for (const std::int64_t by : slower) {
    if (best >= target) break;
    const rank_shares shares = shares_of(q, quickest, graph, times, by);
    const int128 constant = int128{shares.common.forward} * all.forward + int128{shares.common.whole} * all.whole;
    const auto rest = static_cast<ticks>(target - constant);
    const auto least = [&](auto parts) { return rank_bound(q, shares, parts, rest, steps)(); };
    if (!grows_with_layers(shares, clock, fronts.layers())) continue;
    ticks found = 0;
    if (q.in_flight.chunks() == 1) found = least(row_parts(q, fronts, choose, clock, shares));
    if (q.in_flight.chunks() > 1 || fronts.overflowed()) found = least(bag_parts(q, classes, clock, shares));
    best = (std::max)(best, static_cast<ticks>(constant + (std::max)(found, mean_load(shares, all))));
  }
  return (std::min)(best, target);
}

}  // namespace hocket::inline HOCKET_ABI::planner::detail
