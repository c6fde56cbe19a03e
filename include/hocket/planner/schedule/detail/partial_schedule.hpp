// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/schedule/detail/search_input.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail::scheduling {

/// Which forwards a rank may start: a later micro-batch never takes the room that the oldest one on the rank still
/// needs. So with caps of at least one activation for each chunk no order runs into a dead end.
class oldest_micro_batch {
 public:
  /// @param held, limit  activations that the rank holds and may hold
  /// @param done         by task: how many of its actions have started
  template <class Done>
  oldest_micro_batch(const search_input& in, std::uint32_t rank, std::int64_t held, std::int64_t limit, Done&& done)
      : micro_batch_(in.micro_batches), free_(limit - held) {
    for (const std::uint32_t s : in.owned[rank])
      micro_batch_ = (std::min)(micro_batch_, done(in.task_number(work::backward, s)));
    for (const std::uint32_t s : in.owned[rank])
      needs_ += done(in.task_number(work::forward, s)) <= micro_batch_ ? 1 : 0;
  }
  [[nodiscard]] bool leaves_room_for(std::uint32_t micro_batch) const noexcept {
    return free_ > (micro_batch == micro_batch_ ? 0 : needs_);
  }

 private:
  std::uint32_t micro_batch_;
  std::int64_t free_;
  std::int64_t needs_ = 0;  // room for forwards of the oldest micro-batch that are still to come
};

/// A schedule that is built action by action: of each task the next micro-batch starts.
struct partial_schedule {
  explicit partial_schedule(const search_input& of)
      : in(of), done(of.tasks.size(), 0), end(of.action_count(), never), held(of.ranks, 0), free_at(of.ranks, 0) {}

  /// When the next action of a task could start, its rank aside; `never` if what it needs has not started.
  [[nodiscard]] ticks ready(std::uint32_t task) const noexcept {
    const std::uint32_t k = done[task];
    if (k == in.micro_batches) return never;
    const auto& x = in.tasks[task];
    if (x.need == none) return 0;
    const ticks needed = end[in.action(x.need, k)];
    return needed == never ? never : needed + x.hop;
  }
  [[nodiscard]] ticks ready(work kind, std::uint32_t stage) const noexcept {
    return ready(in.task_number(kind, stage));
  }
  void start(std::uint32_t task, ticks at) {
    const auto& x = in.tasks[task];
    const std::uint32_t a = in.action(task, done[task]++);
    end[a] = at + x.time;
    free_at[x.rank] = end[a];
    held[x.rank] += x.holds;
    list.push_back(a);
  }
  [[nodiscard]] bool is_complete() const noexcept { return list.size() == in.action_count(); }
  [[nodiscard]] ticks finish() const noexcept { return *std::max_element(free_at.begin(), free_at.end()); }

  const search_input& in;
  std::vector<std::uint32_t> done;  // by task
  std::vector<ticks> end;           // by action
  std::vector<std::int32_t> held;   // by rank: activations
  std::vector<ticks> free_at;       // by rank
  std::vector<std::uint32_t> list;  // actions as they were started
};

/// Runs the actions as soon as the order of each rank allows.
/// @param list  in any order that keeps that of each rank
/// @return what is complete only if no ranks wait for each other
[[nodiscard]] inline partial_schedule run_in_order(const search_input& in, const std::vector<std::uint32_t>& list) {
  std::vector<std::vector<std::uint32_t>> rows(in.ranks);
  for (const std::uint32_t a : list) rows[in.task_of(a).rank].push_back(a / in.micro_batches);
  partial_schedule plan(in);
  std::vector<std::size_t> next(in.ranks, 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t r = 0; r < in.ranks; ++r)
      for (; next[r] < rows[r].size(); ++next[r]) {
        const std::uint32_t task = rows[r][next[r]];
        const ticks ready = plan.ready(task);
        if (ready >= never) break;
        plan.start(task, (std::max)(ready, plan.free_at[r]));
        moved = true;
      }
  }
  return plan;
}

/// The same actions by start, so that every action follows what it needs.
[[nodiscard]] inline std::vector<std::uint32_t> sorted_by_start(const search_input& in,
                                                                const std::vector<std::uint32_t>& list) {
  partial_schedule plan = run_in_order(in, list);
  std::vector<std::pair<ticks, std::size_t>> starts;  // and places: where starts are equal, the order stays
  for (std::size_t i = 0; i < plan.list.size(); ++i)
    starts.emplace_back(plan.end[plan.list[i]] - in.task_of(plan.list[i]).time, i);
  std::sort(starts.begin(), starts.end());
  std::vector<std::uint32_t> sorted;
  for (const auto& [start, place] : starts) sorted.push_back(plan.list[place]);
  return sorted;
}

}  // namespace hocket::inline HOCKET_ABI::planner::detail::scheduling
