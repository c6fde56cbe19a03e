// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/detail/random_numbers.hpp>
#include <hocket/planner/schedule/detail/work_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail::scheduling {

/// Periodic schedules: one micro-batch is placed, and every period another just so (modulo scheduling, Rau 1994).
///
///     rank 0   |F0    B0 F1|   |B1|        a micro-batch on two chunks, as placed
///     period   |..F0..F1..B0..B1..|        the same modulo the period: no two actions at one time
///
/// Each action takes the first time that is free on its rank in every period; some, drawn at random, wait a little,
/// which lets others meet. The shortest period whose activations stay within the caps wins. For many chunks in little
/// memory nothing else comes near: there an activation must not wait anywhere, and rules that look at one action see
/// that too late.
class periodic_search {
 public:
  explicit periodic_search(const search_input& in) : in_(in), busy_(in.ranks) {
    for (const task& x : in.tasks)
      if (x.time > 0) least_time_ = least_time_ == 0 ? x.time : (std::min)(least_time_, x.time);
  }

  /// Looks for the shortest period.
  /// @param steps  actions that may be placed, those of all tries
  /// @return whether there is one; list() is the schedule
  [[nodiscard]] bool operator()(std::int64_t steps) {
    constexpr ticks longest_period = ticks{1} << 44;  // so that sums over a way there and back fit
    constexpr int first_tries = 4;                    // for each period, until one is found
    constexpr int more_tries = 256;                   // for each shorter one
    const auto each = static_cast<std::int64_t>(in_.tasks.size());
    ticks found = 0;
    const auto finds = [&](ticks period, int tries) {
      for (int i = 0; i < tries && steps >= each; ++i) {
        steps -= each;
        if (!place(period, i)) continue;
        found = period;
        best_ = now_;
        return true;
      }
      return false;
    };
    const ticks least = least_period();
    ticks stride = least / 64 + 1;
    for (ticks period = least; period <= (std::min)(4 * least, longest_period); period += stride) {
      if (finds(period, first_tries)) break;
      stride += stride / 8;
    }
    for (ticks low = least; low < found && steps >= each;) {
      const ticks period = low + (found - low) / 2;
      if (!finds(period, more_tries)) low = period + 1;
    }
    if (found > 0) unroll(found);
    return found > 0;
  }
  /// By start; what starts at once, so that every action follows what it needs.
  [[nodiscard]] const std::vector<std::uint32_t>& list() const noexcept { return list_; }

 private:
  struct slot {
    ticks start;
    ticks time;
  };

  [[nodiscard]] static ticks modulo(ticks x, ticks period) noexcept { return (x % period + period) % period; }
  /// What the work of each rank takes, and the lives of its activations within its cap.
  [[nodiscard]] ticks least_period() const {
    const std::vector<ticks> lives = least_lives(in_);
    ticks least = 1;
    for (std::uint32_t r = 0; r < in_.ranks; ++r) {
      ticks work = 0;
      for (const std::uint32_t s : in_.owned[r]) work += in_.time_of_stage(s);
      least = (std::max)({least, work, lives_within_cap(in_, lives, r, 1)});
    }
    return least;
  }
  /// The first start from `ready` on at which the rank is free in every period; never if there is none.
  [[nodiscard]] ticks take(std::uint32_t r, ticks ready, ticks time, ticks period) {
    if (time == 0) return ready;
    for (const ticks end = ready + period; ready < end;) {
      ticks wait = 0;
      for (const slot& x : busy_[r]) {
        const ticks since = modulo(ready - x.start, period);
        if (since < x.time) wait = x.time - since;
        else if (period - since < time) wait = period - since + x.time;
        if (wait > 0) break;
      }
      if (wait == 0) {
        busy_[r].push_back({modulo(ready, period), time});
        return ready;
      }
      ready += wait;
    }
    return never;
  }
  /// Places a task; false if there is no time for it.
  [[nodiscard]] bool put(std::uint32_t task, ticks wait, ticks period) {
    const auto& x = in_.tasks[task];
    if (x.need != none) wait += now_[x.need] + in_.tasks[x.need].time + x.hop;
    now_[task] = take(x.rank, wait, x.time, period);
    return now_[task] < never;
  }
  /// @param attempt  the first is without noise
  [[nodiscard]] bool place(ticks period, int attempt) {
    const std::uint32_t rate = attempt > 0 ? 2 + random_.below(6 * in_.ranks) : 0;
    const auto wait = [&]() -> ticks {
      return rate > 0 && random_.below(rate) == 0 ? least_time_ * static_cast<ticks>(1 + random_.below(4)) : 0;
    };
    for (auto& slots : busy_) slots.clear();
    now_.assign(in_.tasks.size(), 0);
    for (std::uint32_t s = 0; s < in_.stages; ++s)
      if (!put(in_.task_number(work::forward, s), wait(), period)) return false;
    for (std::uint32_t s = in_.stages; s-- > 0;)
      if (!put(in_.task_number(work::backward, s), wait(), period)) return false;
    for (std::uint32_t s = 0; in_.split && s < in_.stages; ++s)
      if (!put(in_.task_number(work::weight_grad, s), 0, period)) return false;
    for (std::uint32_t r = 0; r < in_.ranks; ++r)
      if (peak(r, period) > in_.cap[r]) return false;
    return true;
  }
  /// Where an action stands in the list of its rank: by start. Of what starts together, actions that take no time come
  /// first, as none of them needs one that takes time. Of these, older micro-batches come first, and within one what
  /// is needed first. peak() and unroll() share this order: the list says when an activation is freed, not the clock.
  using place_in_list = std::tuple<ticks, bool, std::int64_t, work, std::uint32_t>;
  /// @param age  of two micro-batches the older one has the lower number
  [[nodiscard]] place_in_list place_of(std::uint32_t task, ticks start, std::int64_t age) const {
    const auto& x = in_.tasks[task];
    const std::uint32_t way = x.kind == work::backward ? in_.stages - x.stage : x.stage;
    return {start, x.time > 0, age, x.kind, way};
  }
  /// Most activations that the rank holds at once, from the first forward of the list of a period to its last.
  [[nodiscard]] std::int64_t peak(std::uint32_t r, ticks period) {
    std::int64_t now = 0;
    changes_.clear();
    for (const std::uint32_t s : in_.owned[r]) {
      const std::uint32_t first = in_.task_number(work::forward, s);
      const std::uint32_t last = in_.task_number(in_.split ? work::weight_grad : work::backward, s);
      now += now_[last] / period - now_[first] / period;  // micro-batches that the period begins with
      for (const std::uint32_t t : {first, last})
        changes_.emplace_back(place_of(t, now_[t] % period, -(now_[t] / period)), t == first ? 1 : -1);
    }
    std::sort(changes_.begin(), changes_.end());
    std::int64_t most = now;
    for (const auto& [place, change] : changes_) {
      now += change;
      most = (std::max)(most, now);
    }
    return most;
  }
  /// All micro-batches, one every period.
  void unroll(ticks period) {
    std::vector<std::pair<place_in_list, std::uint32_t>> all;  // and actions
    for (std::uint32_t k = 0; k < in_.micro_batches; ++k)
      for (std::uint32_t t = 0; t < in_.tasks.size(); ++t)
        all.emplace_back(place_of(t, best_[t] + ticks{k} * period, std::int64_t{k}), in_.action(t, k));
    std::sort(all.begin(), all.end());
    list_.clear();
    for (const auto& [place, action] : all) list_.push_back(action);
  }

  const search_input& in_;
  std::vector<std::vector<slot>> busy_;  // by rank, in one period
  std::vector<ticks> now_, best_;        // starts, by task
  std::vector<std::pair<place_in_list, int>> changes_;
  std::vector<std::uint32_t> list_;
  ticks least_time_ = 0;  // of an action that takes any
  random_numbers random_{0x13198a2e03707344u};
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail::scheduling
