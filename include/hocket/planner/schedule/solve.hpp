// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/pipeline/action.hpp>
#include <hocket/pipeline/costs.hpp>
#include <hocket/planner/schedule/detail/schedule_search.hpp>
#include <hocket/planner/schedule/problem.hpp>
#include <hocket/planner/search_watch.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::planner {

namespace detail::scheduling {

[[nodiscard]] constexpr const char* article_and_name(pipeline::action_kind kind) noexcept {
  using pipeline::action_kind;
  return kind == action_kind::forward    ? "a forward"
       : kind == action_kind::backward   ? "a whole backward"
       : kind == action_kind::input_grad ? "an input gradient"
                                         : "a weight gradient";
}

/// Whether the costs have a time for every action, and all of them together are small enough to add up.
template <pipeline::cost_policy Costs>
[[nodiscard]] result<void> check_times(const schedule_problem& problem, const Costs& costs) {
  using pipeline::action_kind;
  constexpr ticks max_ticks = never / 2;
  const ticks often = 2 * problem.shape.micro_batches;  // at the most
  ticks total = 0;
  const auto add = [&](ticks t, const char* of) -> result<void> {
    if (t < 0) return error{errc::invalid_argument, t}.with(of);
    if (t > max_ticks / often) return error{errc::limit_exceeded, t, max_ticks / often}.with(of);
    total += t * often;
    if (total > max_ticks) return error{errc::limit_exceeded, total, max_ticks}.with("all times of a schedule, twice");
    return {};
  };
  for (std::uint32_t s = 0; s < problem.shape.stages(); ++s) {
    for (const auto kind :
         {action_kind::forward, action_kind::backward, action_kind::input_grad, action_kind::weight_grad}) {
      const bool is_half = kind == action_kind::input_grad || kind == action_kind::weight_grad;
      if (problem.split_backward ? kind == action_kind::backward : is_half) continue;
      if constexpr (requires { costs.knows(pipeline::stage_action{}); })
        if (!costs.knows({kind, s, 0})) return error{errc::untimed_action, s}.with(article_and_name(kind));
      if (const auto ok = add(costs.duration({kind, s, 0}), article_and_name(kind)); !ok) return ok.error();
    }
    if (problem.shape.ranks == 1) continue;
    if (const auto ok = add(costs.latency(0, 1), "a hop"); !ok) return ok.error();
  }
  return {};
}

}  // namespace detail::scheduling

/// A schedule for these costs within a cap on the activations of each rank, with a lower bound. It is the best of the
/// closed forms that keep the cap, of greedy and periodic ones, of moves along the critical path, and of beams. Never
/// worse than the best closed form under the same cap. The answer is an ordinary table: check, simulate, draw, export
/// it. Micro-batches are taken to be alike: of each stage the times of micro-batch 0 count, and one latency for all
/// hops. That transfers occupy a link, if the costs say so, is simulated, but not searched for.
/// @param costs  durations of forward and, as asked, of backward or input_grad and weight_grad, by stage
/// @param watch  may end the search with the best so far; it is told how much of the beams' budget is spent
/// Errors: those of check(problem); limit_exceeded for times that add up to more than 2^60; invalid_argument for a
/// negative time; untimed_action if the costs know that they have no time for an action. It is wrong_answer if what was
/// found breaks the problem or its own figures, which is checked at the end and would be a defect of the library.
/// Complexity: O(rules · actions · chunks), and the budget.
///
///     const auto found = hocket::planner::solve({.shape = {4, 2, 4}, .order = hocket::planner::stage_order::v,
///                                                .memory_cap = {6, 6, 6, 6}}, hocket::pipeline::costs{});
///     found->makespan == 29;
template <pipeline::cost_policy Costs, watch_policy Watch = unwatched>
[[nodiscard]] result<schedule_plan> solve(const schedule_problem& problem, const Costs& costs,
                                          const Watch& watch = {}) {
  if (const auto ok = check(problem); !ok) return ok.error();
  if (const auto ok = detail::scheduling::check_times(problem, costs); !ok) return ok.error();
  detail::scheduling::schedule_search<Costs, Watch> search(problem, costs, watch);
  search.closed_forms();
  search.greedy();
  search.periodic();
  search.windows();
  search.ranks_alone();
  search.moves();
  search.beams();
  return search.answer();
}

}  // namespace hocket::inline HOCKET_ABI::planner
