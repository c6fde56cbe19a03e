// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/split/solve.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// What more memory would buy: the fall of what was minimised, in its ticks.
struct memory_price {
  std::int64_t bytes = 0;          ///< more of it
  ticks everywhere = 0;            ///< on every rank
  std::vector<ticks> on_one_rank;  ///< on that rank alone; empty if not asked for
};

/// The price of memory, by solving again with more of it, from the plan on: exact, where a derivative would not be,
/// because plans change in steps. Which rank binds shows: only there one rank's gigabyte buys something. Where a plan
/// is not proved, what was found to save may not be all that could. The questions about single ranks share four times
/// the budget.
/// @param plan   split(q)
/// @param bytes  how much more, on each of the ranks or on one
/// @param each   whether to ask about every single rank, too
/// Errors: those of split(). Complexity: p + 1 times split().
///
///     const auto price = hocket::planner::price_of_memory(q, *plan, std::int64_t{1} << 30);
[[nodiscard]] inline result<memory_price> price_of_memory(const split_problem& q, const split_plan& plan,
                                                          std::int64_t bytes, bool each = true) {
  constexpr std::int64_t most_bytes = std::int64_t{1} << 50;
  if (bytes < 0 || bytes > most_bytes) return error{errc::out_of_range, bytes, 0, most_bytes}.with("more bytes");
  const auto value = [&](const split_plan& x) { return q.goal == objective::step_time ? x.step_time : x.slowest; };
  // A small budget may end before the plan itself is found again, but the plan stays possible.
  const auto saved = [&](const split_plan& x) { return (std::max)(ticks{0}, value(plan) - value(x)); };
  std::vector<rank_room> rooms(q.ranks.begin(), q.ranks.end());
  for (const rank_room& room : rooms)  // no rank may have more than that either
    if (room.capacity > most_bytes - bytes)
      return error{errc::out_of_range, bytes, 0, (std::max)(std::int64_t{0}, most_bytes - room.capacity)}.with(
          "more bytes");
  split_problem more = q;
  more.ranks = rooms;
  memory_price price;
  price.bytes = bytes;
  std::vector<std::int64_t> cuts{0};
  for (const stage_plan& s : plan.stages) cuts.push_back(s.first_layer + s.layers);
  for (rank_room& room : rooms) room.capacity += bytes;
  const auto all = detail::split_from(more, cuts);
  if (!all) return all.error();
  price.everywhere = saved(*all);
  const auto p = static_cast<std::int64_t>(rooms.size());
  more.budget = (std::min)(q.budget, (std::min)(q.budget, detail::most_budget) * 4 / p);
  for (std::size_t r = 0; each && r < rooms.size(); ++r) {
    if (all->lower_bound >= value(plan)) {  // more everywhere saves nothing
      price.on_one_rank.push_back(0);
      continue;
    }
    for (std::size_t x = 0; x < rooms.size(); ++x) rooms[x].capacity = q.ranks[x].capacity + (x == r ? bytes : 0);
    const auto one = detail::split_from(more, cuts);
    if (!one) return one.error();
    price.on_one_rank.push_back(saved(*one));
    price.everywhere = (std::max)(price.everywhere, price.on_one_rank.back());
  }
  return price;
}

}  // namespace hocket::inline HOCKET_ABI::planner
