// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/split/detail/rank_levels.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// A split before it is written out.
struct raw_split {
  std::vector<std::vector<segment>> parts;  // by rank, by chunk
  std::vector<rank_answer> answers;         // by rank
  bool proved = false;
  ticks bound = 0;  // on what is minimised, if not proved
};

[[nodiscard]] inline error out_of_budget(const split_numbers& q) {
  return error{errc::limit_exceeded, q.budget + 1, q.budget}.with("partial plans");
}

/// The time of all ranks without recomputation.
[[nodiscard]] inline ticks base_time(const split_numbers& q, const segment_fronts& fronts) {
  ticks all = fronts.time(0, fronts.layers());
  for (const room_numbers& room : q.ranks) all += room.time;
  return all;
}

/// No split has a faster slowest rank, whatever memory there is. This is the least time in which all ranks together can
/// run so many whole layers, did each get the quickest ones, and so many of those that take at least as long.
[[nodiscard]] inline ticks least_slowest(const split_numbers& q, const segment_fronts& fronts) {
  const ticks all = base_time(q, fronts);
  ticks low = ceil_div(all, static_cast<ticks>(q.ranks.size()));
  for (const room_numbers& room : q.ranks) low = (std::max)(low, room.time);
  std::vector<ticks> times;
  for (std::int64_t i = 0; i < fronts.layers(); ++i) times.push_back(fronts.time(i, i + 1));
  std::sort(times.begin(), times.end());
  std::vector<ticks> sums;
  const auto enough = [&](ticks time) {
    std::size_t layers = 0;
    for (const room_numbers& room : q.ranks)
      layers += static_cast<std::size_t>(std::upper_bound(sums.begin(), sums.end(), time - room.time) - sums.begin());
    return layers >= sums.size();
  };
  for (auto first = times.begin(); first != times.end(); first = std::upper_bound(first, times.end(), *first)) {
    sums.clear();
    for (auto x = first; x != times.end(); ++x) sums.push_back((sums.empty() ? 0 : sums.back()) + *x);
    if (enough(low)) continue;
    low = first_above(low, 1, enough);
  }
  return low;
}

}  // namespace hocket::inline HOCKET_ABI::planner::detail
