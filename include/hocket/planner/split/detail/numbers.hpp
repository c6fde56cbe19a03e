// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/int128.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/planner/split/problem.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// More than any time or size in a problem; also "there is none".
inline constexpr std::int64_t never = max_sum;

/// A rank_room in nanoseconds and bytes as integers.
struct room_numbers {
  std::int64_t capacity = 0, fixed = 0;
  ticks time = 0;
};

/// What the engines read of a problem beside its layers, as integers. The problem must outlive it.
struct split_numbers {
  explicit split_numbers(const split_problem& q)
      : in_flight(q.in_flight),
        goal(q.goal),
        split(q.split),
        longest(q.max_on_stage > 0 ? q.max_on_stage : max_layers),
        budget((std::min)(q.budget, max_budget)),
        weight_of_slowest(q.micro_batches * q.in_flight.chunks() - 1) {
    for (const rank_room& x : q.ranks) ranks.push_back({x.capacity.count(), x.fixed.count(), x.time.count()});
  }

  static constexpr std::int64_t max_budget = std::int64_t{1} << 40;  // so that products of it fit

  std::vector<room_numbers> ranks;
  const in_flight_profile& in_flight;
  objective goal;
  std::span<const std::int64_t> split;
  std::int64_t longest;  ///< most layers of a stage
  std::int64_t budget;
  std::int64_t weight_of_slowest;  ///< how often its time counts in the step time, beside every rank's time once

  /// What is minimised, of a plan with this slowest rank and this sum over the ranks.
  [[nodiscard]] ticks value(ticks slowest, ticks sum) const noexcept {
    return goal == objective::step_time ? sum + weight_of_slowest * slowest : slowest;
  }
};

/// The least number above `low` for which `holds`, which then holds for all larger ones: by steps that double, the
/// first of them `step`, and bisection. Precondition: it does not hold for `low`, and does for some number.
template <class Holds>
[[nodiscard]] std::int64_t first_above(std::int64_t low, std::int64_t step, const Holds& holds) {
  std::int64_t high = low + step;
  for (; !holds(high); high = low + step) {
    low = high;
    step *= 2;
  }
  while (high - low > 1) {
    const std::int64_t mid = low + (high - low) / 2;
    (holds(mid) ? high : low) = mid;
  }
  return high;
}

/// Some layers of the model in a row.
struct segment {
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] std::int64_t size() const noexcept { return end - begin; }
};

/// The maximal counts of a rank, by chunk.
[[nodiscard]] inline std::vector<std::vector<std::int64_t>> counts_of(const in_flight_profile& profile,
                                                                      std::uint32_t rank) {
  std::vector<std::vector<std::int64_t>> counts;
  for (std::uint32_t k = 0; k < profile.times(rank); ++k) {
    const auto at = profile.at(rank, k);
    counts.emplace_back(at.begin(), at.end());
  }
  return counts;
}

}  // namespace hocket::inline HOCKET_ABI::planner::detail
