// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/detail/checked_answer.hpp>
#include <hocket/core/result.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/pipeline/costs.hpp>
#include <hocket/pipeline/placement.hpp>
#include <hocket/pipeline/simulate.hpp>
#include <hocket/pipeline/table.hpp>
#include <hocket/planner/schedule/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace hocket::inline HOCKET_ABI::planner::detail::scheduling {

/// The times that the search counts: of each stage those of micro-batch 0, and one latency for all hops.
template <pipeline::cost_policy Costs>
struct searched_costs {
  const Costs& costs;
  [[nodiscard]] ticks duration(pipeline::stage_action a) const {
    return static_cast<ticks>(costs.duration({a.kind(), a.stage(), 0}));
  }
  [[nodiscard]] ticks latency(std::uint32_t from, std::uint32_t to) const {
    return from == to ? 0 : static_cast<ticks>(costs.latency(0, 1));
  }
};

/// What the search claims of its answer. `makespan` is < 0 where it claims none.
struct claims {
  ticks makespan = -1;
  ticks lower_bound = 0;
};

/// Whether a table answers the problem: its shape, each stage on its rank, backwards whole or in halves as wanted, the
/// caps, and the claims. It takes the lists alone, not what the engines counted; that each action runs once and ranks
/// never wait for each other is what simulate() checks. Errors: those of simulate; errc::wrong_answer. O(actions).
template <pipeline::cost_policy Costs>
[[nodiscard]] result<void> check_answer(const schedule_problem& problem, const Costs& costs,
                                        const pipeline::table_schedule& table, const claims& claimed) {
  using hocket::detail::expect_equal;
  using hocket::detail::expect_within;
  using pipeline::action_kind;
  const pipeline::shape& shape = problem.shape;
  if (const auto ok = expect_equal(table.ranks(), shape.ranks, "the number of ranks"); !ok) return ok;
  if (const auto ok = expect_equal(table.chunks(), shape.chunks, "the number of chunks"); !ok) return ok;
  if (const auto ok = expect_equal(table.micro_batches(), shape.micro_batches, "the number of micro-batches"); !ok)
    return ok;
  const pipeline::v_placement of_v{table.ranks()};
  for (std::uint32_t s = 0; s < shape.stages(); ++s) {
    const std::uint32_t rank = problem.order == stage_order::v ? of_v.rank_of(s) : s % table.ranks();
    if (const auto ok = expect_equal(table.placement().rank_of(s), rank, "the rank of a stage"); !ok) return ok;
  }
  std::int64_t unwanted = 0;
  for (std::uint32_t r = 0; r < table.ranks(); ++r)
    for (const pipeline::stage_action a : table.rank(r)) {
      const bool is_half = a.kind() == action_kind::input_grad || a.kind() == action_kind::weight_grad;
      unwanted += (problem.split_backward ? a.kind() == action_kind::backward : is_half) ? 1 : 0;
    }
  if (const auto ok = expect_equal(unwanted, 0, "the number of unwanted backwards"); !ok) return ok;
  const auto ran = pipeline::simulate(table, searched_costs<Costs>{costs});
  if (!ran) return ran.error();
  for (std::size_t r = 0; r < problem.memory_cap.size(); ++r)
    if (const auto ok = expect_within(ran->ranks[r].peak_in_flight, 0, problem.memory_cap[r], "the peak of a rank");
        !ok)
      return ok;
  constexpr ticks no_limit = (std::numeric_limits<ticks>::max)();
  if (const auto ok = expect_within(ran->makespan, claimed.lower_bound, no_limit, "the makespan"); !ok) return ok;
  return claimed.makespan < 0 ? result<void>{} : expect_equal(ran->makespan, claimed.makespan, "the makespan");
}

}  // namespace hocket::inline HOCKET_ABI::planner::detail::scheduling
