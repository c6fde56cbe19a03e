// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/split/detail/run_bound.hpp>
#include <hocket/planner/split/detail/run_moves.hpp>
#include <hocket/planner/split/solve.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// The split whose run is shortest: moves from the plan that the formula of solve(problem) finds best, and from even
/// stages, until a bound is met or the budget is used.
class run_split {
 public:
  struct answer {
    split_plan plan;
    ticks makespan = never, bound = 0;
  };

  /// Preconditions: check(problem) and check(problem, how) passed; the graph has as many stages.
  run_split(const split_problem& problem, const split_run& how, run_graph& graph)
      : problem_(problem),
        q_(problem),
        fronts_(problem.layers),
        choose_(q_, fronts_),
        clock_(problem, how),
        graph_(graph),
        moves_(q_, fronts_, choose_, clock_, graph),
        work_((std::min)(q_.budget, max_budget) * actions_of_budget) {
    q_.goal = objective::step_time;
  }

  /// @param start  cuts of a plan that may be good, or nothing
  [[nodiscard]] result<answer> operator()(std::span<const std::int64_t> start) {
    const result<split_plan> formula = by_formula(start);
    if (!formula && formula.error().code != errc::limit_exceeded) return formula.error();
    if (formula) look_at(cuts_of(*formula), work_ / 8);
    if (q_.split.empty()) look_around(start);
    if (best_.cuts.empty()) return formula.error();
    ticks bound = bound_now();
    for (int k = 0; k < last_runs && bound < best_.makespan; ++k) moves_(best_.cuts, work_ / 4, bound, best_);
    if (bound < best_.makespan) bound = (std::max)(bound, bound_now());
    answer found{written_out(q_, fronts_, choose_, raw_of(best_)), best_.makespan, (std::min)(bound, best_.makespan)};
    return found;
  }

 private:
  static constexpr std::int64_t max_budget = std::int64_t{1} << 32;
  static constexpr std::int64_t actions_of_budget = 40;
  static constexpr std::int64_t bound_steps = 2'000'000;
  static constexpr int last_runs = 2;

  /// The plan of the formula. Where only moves find it, few will do: others follow.
  [[nodiscard]] result<split_plan> by_formula(std::span<const std::int64_t> start) const {
    constexpr std::int64_t few = 20'000;
    split_problem simple = problem_;
    simple.goal = objective::step_time;
    if (q_.in_flight.chunks() > 1 && !fronts_.uniform()) simple.budget = (std::min)(simple.budget, few);
    return solve_from(simple, start);
  }
  [[nodiscard]] static std::vector<std::int64_t> cuts_of(const split_plan& plan) {
    std::vector<std::int64_t> cuts{0};
    for (const split_stage& s : plan.stages) cuts.push_back(s.first_layer + s.layers);
    return cuts;
  }
  void look_at(std::vector<std::int64_t> cuts, std::int64_t work) {
    run_moves::plan found;
    moves_(std::move(cuts), work, 0, found);
    if (!found.cuts.empty() && found.makespan < best_.makespan) best_ = std::move(found);
  }
  void look_around(std::span<const std::int64_t> start) {
    if (!start.empty()) look_at({start.begin(), start.end()}, 0);
    look_at(even_cuts(fronts_.layers(), q_.in_flight.stages()), work_ / 8);
    look_at(even_times(q_, fronts_), work_ / 8);
  }
  /// A bound, with paths that are longest near the best plan.
  [[nodiscard]] ticks bound_now() {
    if (q_.split.empty())
      return run_bound(q_, fronts_, choose_, clock_, graph_, moves_.times_of(best_), best_.makespan, bound_steps);
    return fronts_.overflowed() ? 0 : graph_.makespan(moves_.least_times(best_));
  }
  [[nodiscard]] raw_split raw_of(const run_moves::plan& x) const {
    raw_split raw = split_at(q_, x.cuts);
    for (std::size_t r = 0; r < raw.answers.size(); ++r)
      raw.answers[r] = {0, std::vector<level_point>(raw.parts[r].size())};
    for (std::uint32_t s = 0; s < x.points.size(); ++s) {
      rank_answer& rank = raw.answers[q_.in_flight.rank_of(s)];
      rank.points[q_.in_flight.chunk_of(s)] = x.points[s];
      rank.extra += x.points[s].extra;
    }
    return raw;
  }

  const split_problem& problem_;
  split_numbers q_;
  segment_fronts fronts_;
  rank_levels choose_;
  stage_clock clock_;
  run_graph& graph_;
  run_moves moves_;
  std::int64_t work_;
  run_moves::plan best_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
