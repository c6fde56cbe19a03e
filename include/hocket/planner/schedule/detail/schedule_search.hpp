// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/check.hpp>
#include <hocket/pipeline/placement.hpp>
#include <hocket/pipeline/simulate.hpp>
#include <hocket/planner/schedule/detail/answer_check.hpp>
#include <hocket/planner/schedule/detail/beam_search.hpp>
#include <hocket/planner/schedule/detail/closed_forms.hpp>
#include <hocket/planner/schedule/detail/greedy_rules.hpp>
#include <hocket/planner/schedule/detail/path_moves.hpp>
#include <hocket/planner/schedule/detail/periodic_search.hpp>
#include <hocket/planner/schedule/detail/rank_bound.hpp>
#include <hocket/planner/schedule/detail/window_bound.hpp>
#include <hocket/planner/schedule/detail/work_bound.hpp>
#include <hocket/planner/search_watch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail::scheduling {

/// The problem in units: ticks divided by what divides all of them, so that bounds round up as far as they may.
/// @param unit  is set to that
template <pipeline::cost_policy Costs>
[[nodiscard]] search_input make_search_input(const schedule_problem& problem, const Costs& costs, ticks& unit) {
  using pipeline::action_kind;
  const auto ranks = static_cast<std::uint32_t>(problem.shape.ranks);
  const auto micro_batches = static_cast<std::uint32_t>(problem.shape.micro_batches);
  const auto stages = static_cast<std::uint32_t>(problem.shape.stages());
  std::vector<std::uint32_t> rank_of;
  stage_times times;
  for (std::uint32_t s = 0; s < stages; ++s) {
    rank_of.push_back(problem.order == stage_order::v ? pipeline::v_placement{ranks}.rank_of(s) : s % ranks);
    const auto backward = problem.split_backward ? action_kind::input_grad : action_kind::backward;
    times.forward.push_back(costs.duration({action_kind::forward, s, 0}));
    times.backward.push_back(costs.duration({backward, s, 0}));
    times.weight_grad.push_back(problem.split_backward ? costs.duration({action_kind::weight_grad, s, 0}) : 0);
  }
  ticks hop = ranks > 1 ? costs.latency(0, 1) : 0;
  unit = hop;
  for (auto* of_kind : {&times.forward, &times.backward, &times.weight_grad})
    for (const ticks t : *of_kind) unit = std::gcd(unit, t);
  unit = (std::max)(unit, ticks{1});
  hop /= unit;
  for (auto* of_kind : {&times.forward, &times.backward, &times.weight_grad})
    for (ticks& t : *of_kind) t /= unit;
  const std::uint32_t all = stages / ranks * micro_batches;
  std::vector<std::uint32_t> caps(ranks, all);
  for (std::size_t r = 0; r < problem.memory_cap.size(); ++r) caps[r] = (std::min)(all, problem.memory_cap[r]);
  return {ranks, micro_batches, problem.split_backward, std::move(rank_of), std::move(times), hop, std::move(caps)};
}

/// The best schedule and the best bound so far, and the engines that better them. Each does nothing once they meet, or
/// once the watch has ended the search.
template <pipeline::cost_policy Costs, watch_policy Watch>
class schedule_search {
 public:
  schedule_search(const schedule_problem& problem, const Costs& costs, const Watch& watch)
      : problem_(problem), costs_(costs), watch_(watch), in_(make_search_input(problem, costs, unit_)) {
    for (std::uint32_t r = 0; r < in_.ranks; ++r) raise(work_bound(in_, r));
  }
  schedule_search(const schedule_search&) = delete;
  schedule_search& operator=(const schedule_search&) = delete;

  [[nodiscard]] ticks makespan() const noexcept { return makespan_; }
  [[nodiscard]] ticks bound() const noexcept { return bound_; }
  /// Whether to go on: better is possible, and the watch does not mind.
  [[nodiscard]] bool is_open() {
    if (makespan_ <= bound_) return false;
    stopped_ = stopped_ || !watch_(search_progress{(std::min)(whole_ - left_, whole_), whole_});
    return !stopped_;
  }

  /// All closed forms within the caps, until one meets the bound: those of large problems take long to simulate.
  void closed_forms() {
    for_each_closed_form(in_, problem_, [&](const auto& plan, std::string_view name) {
      if (plan && (list_.empty() || is_open())) take(actions_of(in_, *plan), name);
    });
    if (list_.empty()) take(one_at_a_time(in_), "one at a time");
    closed_form_ = list_;
    closed_form_name_ = found_by_;
  }

  /// All rules, until one meets the bound; of very large problems the first ones.
  void greedy() {
    constexpr std::size_t max_actions = 20'000'000;  // some seconds, all runs together
    constexpr std::uint32_t any = none;
    std::size_t left = max_actions;
    for (const bool longest_tail : {false, true})
      for (const bool deepest : {false, true})
        for (const std::uint32_t lead : {0u, in_.ranks, any}) {
          if (deepest && problem_.shape.chunks == 1) continue;
          if (!is_open() || left < in_.action_count()) return;
          left -= in_.action_count();
          const partial_schedule plan = greedy_run(in_, {longest_tail, deepest, lead})();
          if (plan.is_complete()) keep(plan.list, plan.finish(), "greedy");
        }
  }

  /// Periodic schedules.
  void periodic() {
    constexpr std::int64_t tries = 64;
    constexpr std::int64_t steps_per_budget = 10;
    constexpr std::int64_t max_steps = 4'000'000;
    if (!is_open()) return;
    periodic_search search(in_);
    const std::int64_t steps =
        tries * static_cast<std::int64_t>(in_.tasks.size()) + (std::min)(max_steps, steps_per_budget * budget_);
    if (!search(steps)) return;
    if (const partial_schedule plan = run_in_order(in_, search.list()); plan.is_complete())
      keep(plan.list, plan.finish(), "periodic");
  }

  /// Moves actions of the best schedule along its critical path.
  void moves() {
    constexpr std::int64_t max_steps = 60'000'000;  // a second
    constexpr std::int64_t steps_per_budget = 400;
    if (!is_open()) return;
    path_moves search(in_);
    const ticks found = search(list_, (std::min)(max_steps, budget_ * steps_per_budget), in_units(bound_),
                               [this] { return is_open(); });
    keep(search.list(), found, "moves");
  }

  /// The bound from windows. Not of very long schedules: what it adds to the bound by work falls with 1/m.
  void windows() {
    constexpr std::size_t many_actions = 20'000;
    if (!is_open() || in_.action_count() > many_actions) return;
    windows_.emplace(in_);
    raise((*windows_)());
  }

  /// The bound of each rank whose memory is scarce, after windows().
  void ranks_alone() {
    constexpr std::int64_t steps_per_budget = 100;
    constexpr std::int64_t max_steps = 10'000'000;
    if (!is_open() || !windows_) return;
    rank_bound of_rank(in_, *windows_);
    std::int64_t steps = (std::min)(max_steps, steps_per_budget * budget_);
    for (std::uint32_t r = 0; r < in_.ranks && is_open(); ++r)
      if (in_.is_scarce(r)) raise(of_rank(r, in_units(bound_), makespan_ / unit_, steps));
  }

  /// Beams, round after round, and moves along the critical path of what they find. Most rounds keep the best schedule
  /// up to some time and build only the rest again.
  void beams() {
    constexpr std::int64_t moves_per_expansion = 50;  // they take as long
    constexpr std::int64_t moves_per_action = 400;
    constexpr std::int64_t first_width = 256;
    constexpr std::int64_t usual_width = 24;
    constexpr std::uint32_t rounds_to_double = 64;
    constexpr std::int64_t least_width = 4;
    beam_search beam(in_);
    path_moves search(in_);
    const auto goes_on = [this] { return is_open(); };
    const std::int64_t moves_each = moves_per_action * static_cast<std::int64_t>(in_.action_count());
    for (std::uint32_t round = 0; left_ > 0 && is_open(); ++round) {
      const std::int64_t wanted = round == 0 ? first_width : usual_width << (std::min)(round / rounds_to_double, 16u);
      const std::int64_t width =
          (std::min)({wanted, beam.max_states(), left_ / 2 / (std::max)(INT64_C(1), beam.expansions_of_one())});
      if (width < least_width) break;
      std::vector<std::uint32_t> kept;
      if (round > 0) {
        kept = sorted_by_start(in_, list_);
        kept.resize(random_.below(static_cast<std::uint32_t>(kept.size())));
      }
      const std::int64_t before = beam.expansions();
      const ticks found = beam(static_cast<std::size_t>(width), kept, goes_on);
      left_ -= beam.expansions() - before;
      if (found >= never) continue;
      const std::int64_t steps = (std::min)(moves_each, left_ / 4 * moves_per_expansion);
      const ticks moved = search(beam.list(), steps, in_units(bound_), goes_on);
      left_ -= steps / moves_per_expansion;
      keep(search.list(), moved, "beams");
    }
    expansions_ = beam.expansions();
  }

  /// The best schedule as a table, what the costs say of it, and the check of both against the problem.
  [[nodiscard]] result<schedule_plan> answer() const {
    auto table = table_of(list_);
    if (!table) return table.error();
    auto ran = pipeline::simulate(*table, costs_);
    if (!ran) return ran.error();
    const auto is_shorter = take_closed_form_if_shorter(*table, *ran);
    if (!is_shorter) return is_shorter.error();
    const std::string_view name = *is_shorter ? closed_form_name_ : found_by_;
    const bool is_closed_form = name == closed_form_name_;  // then makespan_ is what the costs said
    const claims claimed{.makespan = is_closed_form ? -1 : makespan_, .lower_bound = bound_};
    if (const auto ok = check_answer(problem_, costs_, *table, claimed); !ok) return ok.error();
    const ticks bound = (std::min)((std::max)(bound_, ran->lower_bound), ran->makespan);
    return schedule_plan{std::move(*table), ran->makespan, bound, ran->makespan == bound, name, expansions_, stopped_};
  }

 private:
  /// Where transfers take their turns, which engines do not see, the closed form may be shorter after all.
  [[nodiscard]] result<bool> take_closed_form_if_shorter(pipeline::table_schedule& table,
                                                         pipeline::simulation& ran) const {
    if constexpr (pipeline::detail::linked_costs<Costs>) {
      auto closed = table_of(closed_form_);
      if (!closed) return closed.error();
      auto closed_ran = pipeline::simulate(*closed, costs_);
      if (!closed_ran) return closed_ran.error();
      if (closed_ran->makespan < ran.makespan) {
        table = std::move(*closed);
        ran = std::move(*closed_ran);
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] ticks in_units(ticks t) const noexcept { return ceil_div(t, unit_); }
  void raise(ticks units) noexcept { bound_ = (std::max)(bound_, units * unit_); }
  /// @param list  in any order that keeps that of each rank
  [[nodiscard]] result<pipeline::table_schedule> table_of(const std::vector<std::uint32_t>& list) const {
    std::vector<std::vector<pipeline::stage_action>> rows(in_.ranks);
    for (const std::uint32_t a : list) rows[in_.task_of(a).rank].push_back(in_.named(a));
    std::vector<pipeline::stage_action> actions;
    std::vector<std::uint32_t> ends;
    for (const auto& row : rows) {
      actions.insert(actions.end(), row.begin(), row.end());
      ends.push_back(static_cast<std::uint32_t>(actions.size()));
    }
    return pipeline::table_schedule::make(actions, ends);
  }
  /// Keeps a closed form if it runs within the caps and is the shortest yet, by what the costs say.
  void take(std::vector<std::uint32_t> list, std::string_view name) {
    const auto table = table_of(list);
    if (!table) return;
    const auto ran = pipeline::simulate(*table, costs_);
    if (!ran || ran->makespan >= makespan_) return;
    for (std::uint32_t r = 0; r < in_.ranks; ++r)
      if (ran->ranks[r].peak_in_flight > in_.cap[r]) return;
    makespan_ = ran->makespan;
    list_ = std::move(list);
    found_by_ = name;
  }
  void keep(const std::vector<std::uint32_t>& list, ticks makespan, std::string_view name) {
    if (makespan >= never || makespan * unit_ >= makespan_) return;
    makespan_ = makespan * unit_;
    list_ = list;
    found_by_ = name;
  }

  const schedule_problem& problem_;
  const Costs& costs_;
  const Watch& watch_;
  ticks unit_ = 1;
  search_input in_;
  /// So that products of it fit; all beyond is weeks of it.
  std::int64_t budget_ = (std::min)(INT64_C(1) << 40, problem_.budget);
  static constexpr std::int64_t expansions_per_budget = 4;
  std::int64_t whole_ = budget_ * expansions_per_budget;  // what the beams may spend
  std::int64_t left_ = whole_;
  bool stopped_ = false;             // by the watch
  std::vector<std::uint32_t> list_;  // the best schedule, in an order that keeps that of each rank
  ticks makespan_ = never;
  ticks bound_ = 0;
  std::optional<window_bound> windows_;  // once they were asked
  std::string_view found_by_;
  std::vector<std::uint32_t> closed_form_;  // the best of them
  std::string_view closed_form_name_;
  std::int64_t expansions_ = 0;
  random_numbers random_{0x243f6a8885a308d3u};
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail::scheduling
