// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/split/solve.hpp>
#include <hocket/planner/split/solve_schedule.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// What more memory would buy: the fall of what was minimised.
struct memory_price {
  bytes more{};                                       ///< more of it
  std::chrono::nanoseconds everywhere{0};             ///< on every rank
  std::vector<std::chrono::nanoseconds> on_one_rank;  ///< on that rank alone; empty if not asked for
};

namespace detail {

/// The price of memory, whatever solves the richer problems.
/// @param solve_again  of a problem, from the cuts of the plan on
template <class Solve>
[[nodiscard]] result<memory_price> price_by(const split_problem& problem, const split_plan& plan, objective goal,
                                            bytes more, bool each, const Solve& solve_again) {
  using std::chrono::nanoseconds;
  std::int64_t max_more = max_field;  // no rank may have more than that either
  for (const rank_room& room : problem.ranks)
    max_more = (std::min)(max_more, (std::max)(std::int64_t{0}, max_field - room.capacity.count()));
  if (more < bytes() || more > bytes(max_more))
    return error{errc::out_of_range, more.count(), 0, max_more}.with("more bytes");
  // A small budget may end before the plan itself is found again, but the plan stays possible.
  const nanoseconds now = plan.value(goal);
  const auto saved = [&](const split_plan& x) { return (std::max)(nanoseconds(0), now - x.value(goal)); };
  std::vector<std::int64_t> cuts{0};
  for (const split_stage& s : plan.stages) cuts.push_back(s.first_layer + s.layers);

  split_problem richer = problem;
  for (rank_room& room : richer.ranks) room.capacity += more;
  const result<split_plan> all = solve_again(richer, cuts);
  if (!all) return all.error();
  memory_price price{more, saved(*all), {}};
  if (!each) return price;
  if (all->lower_bound >= now) {  // more everywhere saves nothing
    price.on_one_rank.assign(problem.ranks.size(), nanoseconds(0));
    return price;
  }
  const auto ranks = static_cast<std::int64_t>(problem.ranks.size());
  const std::int64_t budget = (std::min)(problem.budget, split_numbers::max_budget);
  richer.budget = (std::min)(budget, budget * 4 / ranks);
  for (std::size_t r = 0; r < problem.ranks.size(); ++r) {
    richer.ranks = problem.ranks;
    richer.ranks[r].capacity += more;
    const result<split_plan> one = solve_again(richer, cuts);
    if (!one) return one.error();
    price.on_one_rank.push_back(saved(*one));
    price.everywhere = (std::max)(price.everywhere, price.on_one_rank.back());
  }
  return price;
}

}  // namespace detail

/// The price of memory, by solving again with more of it, from the plan on: exact, where a derivative would not be,
/// because plans change in steps. Which rank binds shows: only there one rank's gigabyte buys something. Where a plan
/// is not proved, what was found to save may not be all that could. The questions about single ranks share four times
/// the budget.
/// @param plan  solve(problem)
/// @param more  how much more, on each of the ranks or on one
/// @param each  whether to ask about every single rank, too
/// Errors: those of solve(). Complexity: p + 1 times solve().
///
///     const auto price = hocket::planner::price_of_memory(problem, *plan, 1_GiB);
[[nodiscard]] inline result<memory_price> price_of_memory(const split_problem& problem, const split_plan& plan,
                                                          bytes more, bool each = true) {
  return detail::price_by(problem, plan, problem.goal, more, each,
                          [](const split_problem& richer, const std::vector<std::int64_t>& cuts) {
                            return detail::solve_from(richer, cuts);
                          });
}

/// The same for a simulated step.
/// @param plan  solve(problem, schedule, how)
///
///     const auto price = hocket::planner::price_of_memory(problem, schedule, how, *plan, 1_GiB);
template <pipeline::schedule S>
[[nodiscard]] result<memory_price> price_of_memory(const split_problem& problem, const S& schedule,
                                                   const split_run& how, const split_plan& plan, bytes more,
                                                   bool each = true) {
  return detail::price_by(problem, plan, objective::step_time, more, each,
                          [&](const split_problem& richer, const std::vector<std::int64_t>& cuts) {
                            return detail::solve_schedule_from(richer, schedule, how, cuts);
                          });
}

}  // namespace hocket::inline HOCKET_ABI::planner
