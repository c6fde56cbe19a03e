// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/plan/step_plan.hpp>
#include <hocket/planner/strategy/solve.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

// Strategies as plan_step has them: the search prices them by formula, which is exact for equal stages alone.
namespace hocket::inline HOCKET_ABI::planner {
// NOLINTBEGIN(bugprone-unchecked-optional-access): what is read there, check() or the caller has seen

/// The step of a strategy: what plan_step plans, with prediction modules, which the search leaves out.
[[nodiscard]] inline step_problem step_of(const strategy_problem& problem, const strategy& s) {
  step_problem q;
  q.model = problem.model;
  q.training = problem.training;
  q.training.micro_batch = s.micro_batch;
  q.parallel = s.how;
  q.replay = detail::replayed_by(problem.replay, s);
  q.memory = problem.cluster.memory;
  q.on = problem.cluster.rates;
  q.schedule = detail::usual_choice(s.how);
  if (s.zero_bubble) q.schedule = {s.how.vp == 1 ? "zb-h1" : "interleaved-zb", "balanced", 0};
  return q;
}

/// The strategies whose simulated cost no other beats in both time and memory, of those that fit. Fastest first.
/// @param some  strategies, with what the search says of them; a step too long to simulate keeps that
/// @param watch  asked before each; its false leaves out the rest
/// Complexity: one plan_step for each.
///
///     const auto found = planner::solve(problem);
///     const auto front = planner::simulated_front(problem, found->fastest);
template <watch_policy W = unwatched>
[[nodiscard]] std::vector<scored_strategy> simulated_front(const strategy_problem& problem,
                                                           std::vector<scored_strategy> some, const W& watch = {}) {
  std::vector<scored_strategy> fitting;
  std::int64_t done = 0;
  for (scored_strategy& x : some) {
    if (!watch({done++, static_cast<std::int64_t>(some.size())})) break;
    const step_problem q = step_of(problem, x.of);
    if (detail::passes_of_step(q) <= most_recorded) {
      const auto plan = plan_step(q, {.record = false});
      if (!plan || !plan->step || !plan->fits(q.memory)) continue;
      x.cost.step = std::chrono::nanoseconds(std::llround(plan->step->step_time().count() * 1e9));
      x.cost.memory = bytes_up(plan->fullest().peak.total_bytes());
    }
    if (std::none_of(fitting.begin(), fitting.end(), [&](const scored_strategy& y) { return y.of == x.of; }))
      fitting.insert(std::upper_bound(fitting.begin(), fitting.end(), x, detail::is_faster), x);
  }
  std::vector<scored_strategy> front;
  for (const scored_strategy& x : fitting)
    if (front.empty() || x.cost.memory < front.back().cost.memory) front.push_back(x);
  return front;
}

/// The answer of solve(strategy_problem) with its front simulated: that of its own front and of the fastest.
template <watch_policy W = unwatched>
[[nodiscard]] strategy_plan with_simulated_front(const strategy_problem& problem, strategy_plan plan,
                                                 const W& watch = {}) {
  std::vector<scored_strategy> some = plan.front;
  some.insert(some.end(), plan.fastest.begin(), plan.fastest.end());
  plan.front = simulated_front(problem, std::move(some), watch);
  return plan;
}

/// How many strategies that fit might still be quicker than the first of a simulated front, by their least steps: those
/// that were not simulated. 0: the first is the best of the space. At least this many, where by_least is full.
[[nodiscard]] inline std::int64_t possibly_quicker(const strategy_plan& plan) noexcept {
  if (plan.front.empty()) return plan.fitting;
  return std::count_if(plan.by_least.begin(), plan.by_least.end(), [&](const scored_strategy& x) {
    const auto is_this = [&](const scored_strategy& y) { return y.of == x.of; };
    return x.cost.least < plan.front.front().cost.step &&
           std::none_of(plan.fastest.begin(), plan.fastest.end(), is_this);
  });
}

/// The front of the answer for several numbers of devices, simulated: no other that fits is as fast with as little
/// memory on as few devices. Fewest devices first, then fastest.
/// @param counts  the numbers of devices, as the answer has them
[[nodiscard]] inline std::vector<scored_on_devices> simulated_front(const strategy_problem& problem,
                                                                    const device_plan& plan,
                                                                    std::span<const std::int64_t> counts) {
  std::vector<scored_on_devices> all, out;
  const auto fewer = [](const scored_on_devices& a, const scored_on_devices& b) { return a.devices < b.devices; };
  for (std::size_t i = 0; i < counts.size(); ++i)
    for (const scored_strategy& best : with_simulated_front(problem, plan.counts[i]).front) {
      const scored_on_devices x{counts[i], best};
      all.insert(std::upper_bound(all.begin(), all.end(), x, fewer), x);
    }
  for (const scored_on_devices& x : all) {
    const auto beats = [&](const scored_on_devices& y) {
      return y.best.cost.step <= x.best.cost.step && y.best.cost.memory <= x.best.cost.memory;
    };
    if (std::none_of(out.begin(), out.end(), beats)) out.push_back(x);
  }
  return out;
}

// NOLINTEND(bugprone-unchecked-optional-access)
}  // namespace hocket::inline HOCKET_ABI::planner
