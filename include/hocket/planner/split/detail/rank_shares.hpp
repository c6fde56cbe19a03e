// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/int128.hpp>
#include <hocket/planner/split/detail/numbers.hpp>
#include <hocket/planner/split/detail/run_graph.hpp>
#include <hocket/planner/split/detail/stage_clock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

[[nodiscard]] constexpr stage_share least_of(const stage_share& a, const stage_share& b) noexcept {
  return {(std::min)(a.forward, b.forward), (std::min)(a.whole, b.whole)};
}

/// What a run takes at the least, told by rank: no run is shorter than
///
///     Σ over stages of common · time  +  max over ranks of (own · time of the rank + beyond).
///
/// For each rank this is a path through the run that dwells on it. What the paths of all other ranks count of every
/// stage is common to all; what the rank's own path counts of each of the rank's stages besides is its own. The rest of
/// the path takes at least `beyond`: every stage has a layer, and the largest shares may meet the quickest layers.
struct rank_shares {
  stage_share common;
  std::vector<stage_share> own;  ///< by rank
  std::vector<ticks> beyond;     ///< by rank
};

/// The quickest layers of a model, as many as there are stages: their forwards, their whole times, each ascending.
class quickest_layers {
 public:
  quickest_layers(const stage_clock& clock, std::int64_t layers) : clock_(clock) {
    for (std::int64_t i = 0; i < layers; ++i) {
      forward_.push_back(clock.layer(i).forward);
      whole_.push_back(clock.layer(i).whole);
    }
    std::sort(forward_.begin(), forward_.end());
    std::sort(whole_.begin(), whole_.end());
  }
  /// The least that stages take with these shares, none of them below 0, if each has one layer.
  [[nodiscard]] ticks least_time(std::span<const stage_share> shares) const {
    std::vector<std::int64_t> forward, whole;
    int128 sum = 0;
    for (std::size_t s = 0; s < shares.size(); ++s) {
      forward.push_back(shares[s].forward);
      whole.push_back(shares[s].whole);
      sum += int128{forward[s]} * clock_.beside(s).forward + int128{whole[s]} * clock_.beside(s).whole;
    }
    std::sort(forward.rbegin(), forward.rend());
    std::sort(whole.rbegin(), whole.rend());
    for (std::size_t i = 0; i < shares.size(); ++i)
      sum += int128{forward[i]} * forward_[i] + int128{whole[i]} * whole_[i];
    return static_cast<ticks>((std::min)(sum, int128{never}));
  }

 private:
  const stage_clock& clock_;
  std::vector<ticks> forward_, whole_;
};

/// The longest path where one rank is slower than all others.
/// @param slower  by how many sixteenths of the slowest
[[nodiscard]] inline run_path path_of_rank(const split_numbers& q, run_graph& graph, std::span<const stage_run> times,
                                           std::uint32_t rank, std::int64_t slower) {
  std::vector<ticks> load(q.ranks.size(), 1);
  for (std::uint32_t s = 0; s < times.size(); ++s) load[q.in_flight.rank_of(s)] += times[s].whole;
  const int128 most = *std::max_element(load.begin(), load.end());
  const auto longer = [&](ticks x) { return static_cast<ticks>(x * most / load[rank] * (16 + slower) / 16); };
  std::vector<stage_run> changed(times.begin(), times.end());
  for (std::uint32_t s = 0; s < times.size(); ++s)
    if (q.in_flight.rank_of(s) == rank) changed[s] = {longer(times[s].forward), longer(times[s].whole)};
  (void)graph.makespan(changed);
  run_path path;
  graph.longest_path(path);
  return path;
}

/// The shares of such paths.
/// @param times  of the stages in some plan; a good one makes good bounds
[[nodiscard]] inline rank_shares shares_of(const split_numbers& q, const quickest_layers& layers, run_graph& graph,
                                           std::span<const stage_run> times, std::int64_t slower) {
  constexpr stage_share most{never, never};
  const auto p = static_cast<std::uint32_t>(q.ranks.size());
  const auto is_own = [&](std::size_t s, std::uint32_t r) {
    return q.in_flight.rank_of(static_cast<std::uint32_t>(s)) == r;
  };
  std::vector<run_path> paths;
  rank_shares shares;
  shares.common = p == 1 ? stage_share{} : most;
  for (std::uint32_t r = 0; r < p; ++r) {
    paths.push_back(path_of_rank(q, graph, times, r, slower));
    for (std::size_t s = 0; s < times.size(); ++s)
      if (!is_own(s, r)) shares.common = least_of(shares.common, paths[r].of_stage[s]);
  }
  for (std::uint32_t r = 0; r < p; ++r) {
    std::vector<stage_share>& rest = paths[r].of_stage;
    stage_share own = most;
    for (std::size_t s = 0; s < rest.size(); ++s) {
      rest[s] = {rest[s].forward - shares.common.forward, rest[s].whole - shares.common.whole};
      if (is_own(s, r)) own = least_of(own, rest[s]);
    }
    for (std::size_t s = 0; s < rest.size(); ++s)
      if (is_own(s, r)) rest[s] = {rest[s].forward - own.forward, rest[s].whole - own.whole};
    shares.own.push_back(own);
    shares.beyond.push_back(paths[r].hops + layers.least_time(rest));
  }
  return shares;
}

}  // namespace hocket::inline HOCKET_ABI::planner::detail
