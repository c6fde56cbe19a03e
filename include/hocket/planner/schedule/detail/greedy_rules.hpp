// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/schedule/detail/partial_schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail::scheduling {

/// How a greedy run chooses among what is ready.
struct greedy_rule {
  bool longest_tail = false;  ///< a forward if more follows it than the backward; else always the backward
  bool deepest = false;       ///< of several forwards the last stage's, not the one with most to come
  std::uint32_t lead = 0;     ///< at most so many activations more than 1F1B's; large: as many as the cap allows
};

/// What is still to come when an action starts: at least its micro-batch's own way, and the rank's work from it on.
class remaining_time {
 public:
  explicit remaining_time(const search_input& in) : in_(in), way_(in.tasks.size(), 0), each_(in.tasks.size(), 0) {
    ticks way = in.times.weight_grad[0];
    const auto add = [&](std::uint32_t task) {
      way += in.tasks[task].time;
      way_[task] = way;
      way += in.tasks[task].hop;
    };
    for (std::uint32_t s = 0; s < in.stages; ++s) add(in.task_number(work::backward, s));
    for (std::uint32_t s = in.stages; s-- > 0;) add(in.task_number(work::forward, s));
    for (const auto& owned : in.owned) {
      ticks sum = 0;
      for (const std::uint32_t s : owned) {
        sum += in.times.backward[s] + in.times.weight_grad[s];
        each_[in.task_number(work::backward, s)] = sum;
      }
      for (std::size_t c = owned.size(); c-- > 0;) {
        sum += in.times.forward[owned[c]];
        each_[in.task_number(work::forward, owned[c])] = sum;
      }
    }
  }
  [[nodiscard]] ticks operator()(std::uint32_t task, std::uint32_t k) const noexcept {
    return (std::max)(way_[task], each_[task] * ticks{in_.micro_batches - k});
  }

 private:
  const search_input& in_;
  std::vector<ticks> way_, each_;  // by task
};

/// Builds a schedule in order of time by one rule. A rank is asked what to start when it becomes free and when an input
/// arrives: between those, what it may start does not change. A forward of a later micro-batch never takes the room
/// that the oldest one on the rank still needs, so with caps of at least one activation per chunk there is no dead end.
class greedy_run {
 public:
  greedy_run(const search_input& in, const greedy_rule& rule) : plan_(in), in_(in), rule_(rule), to_come_(in) {}

  /// Complexity: O(actions · (log ranks + chunks)).
  [[nodiscard]] partial_schedule operator()() {
    using moment = std::pair<ticks, std::uint32_t>;
    const auto later = [](const moment& a, const moment& b) { return a > b; };
    std::priority_queue<moment, std::vector<moment>, decltype(later)> events(later);
    for (std::uint32_t r = 0; r < in_.ranks; ++r) events.push({0, r});
    while (!events.empty()) {
      const auto [t, r] = events.top();
      events.pop();
      if (plan_.free_at[r] > t) continue;
      const std::uint32_t chosen = choose(r, t);
      if (chosen == none) continue;
      plan_.start(chosen, t);
      const ticks end = plan_.free_at[r];
      events.push({end, r});
      for (const std::uint32_t next : in_.tasks[chosen].next)
        if (in_.tasks[next].rank != r) events.push({end + in_.hop, in_.tasks[next].rank});
    }
    return std::move(plan_);
  }

 private:
  /// What the rank starts at that time; none if it waits.
  [[nodiscard]] std::uint32_t choose(std::uint32_t r, ticks t) const {
    const std::uint32_t forward = best_forward(r, t);
    std::uint32_t backward = none;
    std::uint32_t weight = none;
    for (const std::uint32_t s : in_.owned[r]) {
      const std::uint32_t back = in_.task_number(work::backward, s);
      if (plan_.ready(back) <= t && (backward == none || after(back) > after(backward))) backward = back;
      if (!in_.split || weight != none) continue;
      if (plan_.ready(work::weight_grad, s) <= t) weight = in_.task_number(work::weight_grad, s);
    }
    if (forward == none && backward == none) return weight;
    if (forward == none || backward == none) return forward == none ? backward : forward;
    return rule_.longest_tail && after(forward) > after(backward) ? forward : backward;
  }
  [[nodiscard]] std::uint32_t best_forward(std::uint32_t r, ticks t) const {
    const auto& owned = in_.owned[r];
    const auto chunks = static_cast<std::uint32_t>(owned.size());
    std::int64_t limit = in_.cap[r];
    const std::uint32_t one_f_one_b = (chunks - 1) * in_.ranks + in_.ranks - r;
    limit = (std::min)(limit, std::int64_t{one_f_one_b} + rule_.lead);
    const oldest_micro_batch oldest(in_, r, plan_.held[r], limit, [&](std::uint32_t task) { return plan_.done[task]; });
    std::uint32_t best = none;
    for (const std::uint32_t s : owned) {
      if (plan_.ready(s) > t || !oldest.leaves_room_for(plan_.done[s])) continue;
      if (best == none || rule_.deepest || after(s) >= after(best)) best = s;
    }
    return best;
  }
  [[nodiscard]] ticks after(std::uint32_t task) const noexcept { return to_come_(task, plan_.done[task]); }

  partial_schedule plan_;
  const search_input& in_;
  greedy_rule rule_;
  remaining_time to_come_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail::scheduling
