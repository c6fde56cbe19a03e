// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/detail/random_numbers.hpp>
#include <hocket/planner/schedule/detail/search_input.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail::scheduling {

/// Betters a complete schedule by moves along its critical path. Of the actions that a rank runs on it without a gap,
/// one goes to either end, or one at an end to any place; nothing else can shorten the step.
///
///     rank 2   … F5 [F6 F7 B2 B3] B4 …      the block of the critical path; B3 moves to its begin
///              … F5 [B3 F6 F7 B2] B4 …
///
/// Moves that break the order of a task or a cap are not made. What a move brings is estimated from the times before
/// and after the actions that change places, so that only moves that will be kept cost a run of all lists. A move is
/// kept if it makes the step no longer than it is now by more than a number drawn, at first from up to two actions'
/// time, in the end zero (threshold accepting: Dueck, Scheuer 1990). Every machine draws the same numbers.
class path_moves {
 public:
  explicit path_moves(const search_input& in)
      : in_(in),
        end_(in.action_count()),
        tail_(in.action_count()),
        held_(in.action_count()),
        from_(in.action_count()),
        place_(in.action_count()) {
    ticks all = 0;
    for (std::uint32_t t = 0; t < in.tasks.size(); ++t) {
      all += in.tasks[t].time;
      task_number_.insert(task_number_.end(), in.micro_batches, t);
    }
    patience_ = 2 * all / static_cast<ticks>(in.tasks.size());
  }

  /// @param start  a schedule in any order that keeps that of each rank
  /// @param steps  actions that may be looked at, all moves together
  /// @param enough stop at this makespan
  /// @param goes_on  asked before each move; false ends them
  /// @return the makespan; list() is the schedule
  template <class GoesOn>
  [[nodiscard]] ticks operator()(const std::vector<std::uint32_t>& start, std::int64_t steps, ticks enough,
                                 GoesOn goes_on) {
    constexpr std::int64_t steps_per_draw = 16;  // a move that is drawn and not tried looks at about so many actions
    orders_.assign(in_.ranks, {});
    for (const std::uint32_t a : start) orders_[of(a).rank].push_back(a);
    const auto run = static_cast<std::int64_t>(in_.action_count());
    const std::int64_t whole = steps;
    ticks now = evaluate();
    best_ = orders_;
    if (now >= never) return now;
    ticks least = now;
    trace();
    for (steps -= run; steps > 0 && least > enough && path_.size() > 1 && goes_on(); steps -= steps_per_draw) {
      move x;
      if (!draw(x)) continue;
      const ticks limit = now + slack(steps, whole);
      if (estimate(x) > limit) continue;
      shift(x.rank, x.from, x.to);
      const ticks then = evaluate();
      steps -= 2 * run;
      if (then <= limit) {
        now = then;
        if (now < least) {
          least = now;
          best_ = orders_;
        }
      } else {
        shift(x.rank, x.to, x.from);
        (void)evaluate();
      }
      trace();
    }
    return least;
  }
  /// The schedule found, rank by rank.
  [[nodiscard]] std::vector<std::uint32_t> list() const {
    std::vector<std::uint32_t> all;
    for (const auto& order : best_) all.insert(all.end(), order.begin(), order.end());
    return all;
  }

 private:
  struct move {
    std::uint32_t rank = 0;
    std::uint32_t from = 0;
    std::uint32_t to = 0;
  };

  [[nodiscard]] const task& of(std::uint32_t a) const noexcept { return in_.tasks[task_number_[a]]; }
  /// The action of another task for the same micro-batch.
  [[nodiscard]] std::uint32_t same_micro_batch(std::uint32_t a, std::uint32_t task) const noexcept {
    return a + (task - task_number_[a]) * in_.micro_batches;
  }
  /// By how much a move may lengthen the step: up to patience_, times the share of the steps that is left, and mostly
  /// little of that.
  [[nodiscard]] ticks slack(std::int64_t left, std::int64_t whole) {
    const ticks part = random_.below(1024);
    const ticks share = part * part * (1024 * left / whole) >> 20;  // of 1024
    return patience_ / 1024 * share + patience_ % 1024 * share / 1024;
  }

  /// Runs all lists; `never` if ranks wait for each other. Sets run_order_, and of each action end_, place_, held_
  /// (what its rank then holds) and from_ (what it had to wait for).
  [[nodiscard]] ticks evaluate() {
    next_.assign(in_.ranks, 0);
    std::fill(end_.begin(), end_.end(), never);
    run_order_.clear();
    last_ = none;
    while (run_order_.size() < end_.size()) {
      const std::size_t before = run_order_.size();
      for (std::uint32_t r = 0; r < in_.ranks; ++r) run_rank(r);
      if (run_order_.size() == before) return never;
    }
    return end_[last_];
  }
  /// Runs a rank as far as what it needs has run.
  void run_rank(std::uint32_t r) {
    const auto& order = orders_[r];
    std::uint32_t& i = next_[r];
    std::uint32_t before = i > 0 ? order[i - 1] : none;
    for (; i < order.size(); ++i) {
      const std::uint32_t a = order[i];
      const task& x = of(a);
      ticks start = before == none ? 0 : end_[before];
      from_[a] = before;
      if (x.need != none) {
        const std::uint32_t need = same_micro_batch(a, x.need);
        if (end_[need] == never) return;
        if (end_[need] + x.hop > start) {
          start = end_[need] + x.hop;
          from_[a] = need;
        }
      }
      end_[a] = start + x.time;
      place_[a] = i;
      held_[a] = (before == none ? 0 : held_[before]) + x.holds;
      if (last_ == none || end_[a] > end_[last_]) last_ = a;
      run_order_.push_back(a);
      before = a;
    }
  }

  /// The critical path, last action first, of the schedule just run, and the time after each action.
  void trace() {
    path_.clear();
    for (std::uint32_t a = last_; a != none; a = from_[a]) path_.push_back({of(a).rank, place_[a]});
    for (std::size_t i = run_order_.size(); i-- > 0;) {
      const std::uint32_t a = run_order_[i];
      const task& x = of(a);
      const auto& order = orders_[x.rank];
      ticks tail = place_[a] + 1 < order.size() ? with(order[place_[a] + 1]) : 0;
      for (const std::uint32_t next : x.next) tail = (std::max)(tail, after(same_micro_batch(a, next)));
      tail_[a] = tail;
    }
  }
  /// From the start of an action to the end of the step, and with the hop to it.
  [[nodiscard]] ticks with(std::uint32_t a) const noexcept { return tail_[a] + of(a).time; }
  [[nodiscard]] ticks after(std::uint32_t a) const noexcept { return with(a) + of(a).hop; }

  /// A move along the path that keeps the order of tasks and the caps; false if the numbers drawn gave none.
  [[nodiscard]] bool draw(move& x) {
    const std::size_t at = random_() % path_.size();
    const auto [r, place] = path_[at];
    // Where the rank runs without a gap around it, as far as the path goes.
    std::uint32_t low = place;
    for (std::size_t i = at + 1; i < path_.size() && path_[i] == std::pair{r, low - 1}; ++i) --low;
    std::uint32_t high = place;
    for (std::size_t i = at; i > 0 && path_[i - 1] == std::pair{r, high + 1}; --i) ++high;
    const std::uint32_t end = random_.below(2) == 0 ? low : high;
    if (place == end) return false;
    x = random_.below(2) == 0 ? move{r, place, end} : move{r, end, place};
    return allowed(x);
  }
  [[nodiscard]] bool allowed(const move& x) const {
    const auto& order = orders_[x.rank];
    const std::uint32_t moved = order[x.from];
    const task& a = of(moved);
    const bool later = x.from < x.to;
    const std::uint32_t low = later ? x.from + 1 : x.to;
    const std::uint32_t high = later ? x.to : x.from - 1;
    const auto cap = static_cast<std::int32_t>(in_.cap[x.rank]);
    const std::int32_t more = later ? -a.holds : a.holds;  // for what it passes
    for (std::uint32_t i = low; i <= high; ++i) {
      const task& b = of(order[i]);
      const bool same_way = b.stage == a.stage && in_.micro_batch_of(order[i]) == in_.micro_batch_of(moved);
      if (same_way || (b.stage == a.stage && b.kind == a.kind)) return false;
      if (held_[order[i]] + more > cap) return false;
    }
    return later || (low > 0 ? held_[order[low - 1]] : 0) + a.holds <= cap;
  }
  /// The longest path through the actions that change places, were the times of all others as they are; `never` if one
  /// of them would come before what it waits for.
  [[nodiscard]] ticks estimate(const move& x) {
    const auto& order = orders_[x.rank];
    const bool later = x.from < x.to;
    const std::uint32_t low = later ? x.from : x.to;
    const std::uint32_t high = later ? x.to : x.from;
    const auto changes = [&](std::uint32_t a) { return of(a).rank == x.rank && place_[a] >= low && place_[a] <= high; };
    moved_.assign(order.begin() + low, order.begin() + high + 1);
    std::rotate(moved_.begin(), later ? moved_.begin() + 1 : moved_.end() - 1, moved_.end());
    moved_ends_.clear();
    ticks t = low > 0 ? end_[order[low - 1]] : 0;
    for (auto i = moved_.begin(); i != moved_.end(); ++i) {
      const task& a = of(*i);
      if (a.need != none) {
        const std::uint32_t need = same_micro_batch(*i, a.need);
        if (!changes(need)) t = (std::max)(t, end_[need] + a.hop);
        else if (std::find(moved_.begin(), i, need) == i) return never;
      }
      t += a.time;
      moved_ends_.push_back(t);
    }
    ticks longest = 0;
    t = high + 1 < order.size() ? with(order[high + 1]) : 0;
    for (std::size_t i = moved_.size(); i-- > 0;) {
      const std::uint32_t a = moved_[i];
      for (const std::uint32_t task : of(a).next)
        if (const std::uint32_t next = same_micro_batch(a, task); !changes(next)) t = (std::max)(t, after(next));
      longest = (std::max)(longest, moved_ends_[i] + t);
      t += of(a).time;
    }
    return longest;
  }
  void shift(std::uint32_t r, std::uint32_t from, std::uint32_t to) {
    auto& order = orders_[r];
    for (; from < to; ++from) std::swap(order[from], order[from + 1]);
    for (; from > to; --from) std::swap(order[from], order[from - 1]);
  }

  const search_input& in_;
  std::vector<std::uint32_t> task_number_;                     // by action
  std::vector<std::vector<std::uint32_t>> orders_, best_;      // actions by rank
  std::vector<ticks> end_, tail_;                              // by action
  std::vector<std::int32_t> held_;                             // by action
  std::vector<std::uint32_t> from_, place_;                    // by action
  std::vector<std::uint32_t> next_;                            // by rank: the place that it runs next
  std::vector<std::uint32_t> run_order_;                       // actions as they ran
  std::vector<std::pair<std::uint32_t, std::uint32_t>> path_;  // rank and place
  std::vector<std::uint32_t> moved_;
  std::vector<ticks> moved_ends_;
  std::uint32_t last_ = none;  // the action that ends last
  ticks patience_ = 0;
  random_numbers random_{0x9e3779b97f4a7c15u};
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail::scheduling
