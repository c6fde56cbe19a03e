// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/split.hpp>

#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// What more memory would buy: the fall of what was minimised, in its ticks.
struct memory_price {
  std::int64_t bytes = 0;          ///< more of it
  ticks everywhere = 0;            ///< on every rank
  std::vector<ticks> on_one_rank;  ///< on that rank alone; empty if not asked for
};

/// The price of memory, by solving again with more of it: exact, where a derivative would not be, because plans change
/// in steps. Which rank binds shows: only there one rank's gigabyte buys something.
/// @param plan   split(q)
/// @param bytes  how much more, on each of the ranks or on one
/// @param each   whether to ask about every single rank, too
/// Errors: those of split(). Complexity: p + 1 times split().
///
///     const auto price = hocket::planner::price_of_memory(q, *plan, std::int64_t{1} << 30);
[[nodiscard]] inline result<memory_price> price_of_memory(const split_problem& q, const split_plan& plan,
                                                          std::int64_t bytes, bool each = true) {
  if (bytes < 0) return error{errc::out_of_range, bytes, 0, std::int64_t{1} << 50}.with("more bytes");
  const auto value = [&](const split_plan& x) { return q.goal == objective::step_time ? x.step_time : x.slowest; };
  std::vector<rank_room> rooms(q.ranks.begin(), q.ranks.end());
  split_problem more = q;
  more.ranks = rooms;
  memory_price price;
  price.bytes = bytes;
  for (rank_room& room : rooms) room.capacity += bytes;
  const auto all = split(more);
  if (!all) return all.error();
  price.everywhere = value(plan) - value(*all);
  for (std::size_t r = 0; each && r < rooms.size(); ++r) {
    for (std::size_t x = 0; x < rooms.size(); ++x) rooms[x].capacity = q.ranks[x].capacity + (x == r ? bytes : 0);
    const auto one = split(more);
    if (!one) return one.error();
    price.on_one_rank.push_back(value(plan) - value(*one));
  }
  return price;
}

}  // namespace hocket::inline HOCKET_ABI::planner
