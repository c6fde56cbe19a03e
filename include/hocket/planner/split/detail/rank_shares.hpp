// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/split/detail/numbers.hpp>
#include <hocket/planner/split/detail/run_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// What a run takes at the least, told by rank: no run is shorter than
///
///     Σ over stages of common · time  +  max over ranks of share · time of the rank  +  hops.
///
/// For each rank this is a path through the run that dwells on the rank. What other ranks' paths count of a stage is
/// common; what the rank's own path counts beyond that is its share.
struct rank_shares {
  stage_share common;
  std::vector<stage_share> of_rank;
  ticks hops = 0;
};

/// The paths that are longest where one rank is slower than all others, on a graph of stages with these times.
/// @param slower  how much slower than the slowest, in sixteenths
[[nodiscard]] inline rank_shares shares_of(const split_numbers& q, run_graph& graph, std::span<const stage_run> times,
                                           std::int64_t slower) {
  const std::size_t p = q.ranks.size();
  std::vector<ticks> load(p, 1);
  for (std::uint32_t s = 0; s < times.size(); ++s) load[q.in_flight.rank_of(s)] += times[s].whole;
  const ticks most = *std::max_element(load.begin(), load.end());
  std::vector<run_path> paths(p);
  for (std::uint32_t r = 0; r < p; ++r) {
    std::vector<stage_run> changed(times.begin(), times.end());
    const auto longer = [&](ticks x) {
      return static_cast<ticks>(int128{x} * most / load[r] * (16 + slower) / 16);
    };
    for (std::uint32_t s = 0; s < times.size(); ++s)
      if (q.in_flight.rank_of(s) == r) changed[s] = {longer(times[s].forward), longer(times[s].whole)};
    (void)graph.makespan(changed);
    graph.longest_path(paths[r]);
  }
  rank_shares shares;
  const auto least = [](stage_share a, const stage_share& b) {
    return stage_share{(std::min)(a.forward, b.forward), (std::min)(a.whole, b.whole)};
  };
  constexpr stage_share any{never, never};
  shares.common = any;
  shares.hops = paths.front().hops;
  for (std::uint32_t r = 0; r < p; ++r) {
    shares.hops = (std::min)(shares.hops, paths[r].hops);
    for (std::uint32_t s = 0; s < times.size(); ++s)
      if (p == 1 || q.in_flight.rank_of(s) != r) shares.common = least(shares.common, paths[r].of_stage[s]);
  }
  if (p == 1) shares.common = {};
  for (std::uint32_t r = 0; r < p; ++r) {
    stage_share own = any;
    for (std::uint32_t s = 0; s < times.size(); ++s)
      if (q.in_flight.rank_of(s) == r) own = least(own, paths[r].of_stage[s]);
    shares.of_rank.push_back({own.forward - shares.common.forward, own.whole - shares.common.whole});
  }
  return shares;
}

}  // namespace hocket::inline HOCKET_ABI::planner::detail
