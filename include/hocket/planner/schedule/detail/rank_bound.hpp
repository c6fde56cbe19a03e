// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/schedule/detail/search_input.hpp>
#include <hocket/planner/schedule/detail/window_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail::scheduling {

/// What a rank under its cap can do at best if all others were never busy. Windows do not see that it can fill its cap
/// with the wrong activations. A micro-batch visits the rank twice for each chunk; all orders of these visits, by
/// start, are looked at by dynamic programming over how many micro-batches have made each visit. An order is an entry:
///
///     free   done   waiting for visit 1   waiting for visit 2   …
///     when the rank has run its last action, and the weight gradients at hand too; when each micro-batch that made the
///     visit before can make this one
///
/// Of entries with the same counts only those are kept that no other beats in every time. Beyond `width` of them the
/// last takes the earlier of each time, which is still a bound. Weight gradients are in no count: they fill what time
/// the rank idles, as if they could be cut into pieces, and a forward waits until the cap leaves room even if those
/// with least weight were run first.
class rank_bound {
 public:
  /// @param windows  of the same input; both are kept
  rank_bound(const search_input& in, const window_bound& windows) : in_(in), windows_(windows) {
    ticks at = 0;
    for (std::uint32_t t = 0; t < in.stages; ++t) {
      alone_.push_back(at + in.tasks[t].hop);
      at = alone_.back() + in.tasks[t].time;
    }
    alone_.resize(2 * std::size_t{in.stages});
    for (std::uint32_t t = 2 * in.stages; t-- > in.stages;) {
      alone_[t] = at + in.tasks[t].hop;
      at = alone_[t] + in.tasks[t].time;
    }
    end_alone_ = at;
  }

  /// @param low, high  no schedule is shorter than `low`; there is one of `high`
  /// @param steps      that it may take; what it took is taken away
  /// @return the new `low`, by bisection
  [[nodiscard]] ticks operator()(std::uint32_t rank, ticks low, ticks high, std::int64_t& steps) {
    set(rank);
    while (low < high) {
      target_ = low + (high - low) / 2;
      const bool met = meets_target(steps);
      if (steps < 0) return low;
      if (met) high = target_;
      else low = target_ + 1;
    }
    return low;
  }

 private:
  static constexpr std::size_t width = 16;
  using counts = std::vector<std::uint32_t>;  // by visit: micro-batches that have made it
  using entry = std::vector<ticks>;
  enum : std::size_t { free, done, first_waiting };

  struct visit {
    std::uint32_t task = 0;
    bool forward = false;
    ticks time = 0;
    ticks weight = 0;  // of the weight gradient that it makes
    ticks away = 0;    // from the end of the visit before to the start of this one
  };
  /// What follows from counts.
  struct outlook {
    std::vector<std::size_t> waiting;  // by visit: where in an entry its times start; last: the entry's size
    ticks limit = 0;                   // until when the rank must be done
    ticks spare = 0;                   // weight that may be left when a forward starts; -1: none may start
  };

  void set(std::uint32_t rank) {
    visits_.clear();
    by_weight_.clear();
    cap_ = in_.cap[rank];
    work_ = 0;
    for (const std::uint32_t s : in_.owned[rank]) add(in_.task_number(work::forward, s), 0);
    for (std::size_t c = in_.owned[rank].size(); c-- > 0;) {
      const std::uint32_t s = in_.owned[rank][c];
      by_weight_.push_back(visits_.size());
      add(in_.task_number(work::backward, s), in_.times.weight_grad[s]);
    }
    std::sort(by_weight_.begin(), by_weight_.end(), [&](std::size_t a, std::size_t b) {
      return visits_[a].weight != visits_[b].weight ? visits_[a].weight < visits_[b].weight : a < b;
    });
    const visit& last = visits_.back();
    tail_ = in_.split ? 0 : end_alone_ - alone_[last.task] - last.time;
  }
  void add(std::uint32_t task, ticks weight) {
    visit x{task, in_.tasks[task].kind == work::forward, in_.tasks[task].time, weight};
    if (!visits_.empty()) {
      const visit& before = visits_.back();
      x.away = alone_[task] - alone_[before.task] - before.time;
    }
    work_ += (x.time + weight) * ticks{in_.micro_batches};
    visits_.push_back(x);
  }
  [[nodiscard]] ticks earliest(std::size_t j, std::uint32_t k) const noexcept {
    return windows_.head(in_.action(visits_[j].task, k));
  }
  [[nodiscard]] ticks latest(std::size_t j, std::uint32_t k) const noexcept {
    return target_ - windows_.tail(in_.action(visits_[j].task, k)) - visits_[j].time;
  }

  /// Whether an order may end by the target, if steps last.
  [[nodiscard]] bool meets_target(std::int64_t& steps) {
    std::map<counts, std::vector<entry>> now;
    now[counts(visits_.size(), 0)] = {entry(first_waiting, 0)};
    for (std::size_t actions = visits_.size() * in_.micro_batches; actions > 0; --actions) {
      std::map<counts, std::vector<entry>> next;
      for (const auto& [made, entries] : now) {
        const outlook here = look(made);
        steps -= static_cast<std::int64_t>((entries.size() * here.waiting.back() + visits_.size()) * visits_.size());
        if (steps < 0) return false;
        for (std::size_t j = 0; j < visits_.size(); ++j) {
          const bool open = made[j] < (j == 0 ? in_.micro_batches : made[j - 1]);
          if (!open || (visits_[j].forward && here.spare < 0)) continue;
          counts more = made;
          ++more[j];
          const outlook there = look(more);
          std::vector<entry> after;
          for (const entry& x : entries) run(x, j, made, here, more, there, after);
          if (after.empty()) continue;
          std::vector<entry>& kept = next[more];
          for (const entry& x : after) keep(kept, x);
        }
      }
      now.swap(next);
    }
    return !now.empty();
  }
  [[nodiscard]] outlook look(const counts& made) const {
    outlook x;
    x.limit = target_ - tail_ - work_;
    x.waiting.push_back(first_waiting);
    for (std::size_t j = 0; j < visits_.size(); ++j) {
      x.waiting.push_back(x.waiting.back() + (j > 0 ? made[j - 1] - made[j] : 0));
      x.limit += (visits_[j].time + visits_[j].weight) * ticks{made[j]};
    }
    std::int64_t over = 1 - cap_;  // activations that must be gone before the next forward
    for (std::size_t j = 0; j < visits_.size(); ++j) over += visits_[j].forward ? made[j] : 0;
    over = (std::max)(over, std::int64_t{0});
    for (const std::size_t j : by_weight_) {
      const std::int64_t gone = (std::min)(over, std::int64_t{made[j]});
      over -= gone;
      x.spare += visits_[j].weight * (std::int64_t{made[j]} - gone);
    }
    if (over > 0) x.spare = -1;
    return x;
  }
  /// Makes visit j after an entry.
  void run(const entry& old, std::size_t j, const counts& made, const outlook& here, const counts& more,
           const outlook& there, std::vector<entry>& out) const {
    const visit& x = visits_[j];
    const std::uint32_t k = made[j];
    ticks start = (std::max)(old[free], earliest(j, k));
    if (j > 0) start = (std::max)(start, old[here.waiting[j]]);
    if (x.forward) start = (std::max)(start, old[done] - here.spare);
    if (start > latest(j, k)) return;
    // Its own time is no longer among those that wait; one more waits for the next visit.
    entry after = old;
    const bool sends = j + 1 < visits_.size();
    if (sends)
      after.insert(after.begin() + static_cast<std::ptrdiff_t>(here.waiting[j + 2]),
                   start + x.time + visits_[j + 1].away);
    if (j > 0) after.erase(after.begin() + static_cast<std::ptrdiff_t>(here.waiting[j]));
    after[free] = start + x.time;
    after[done] = (std::max)(old[done], start) + x.time + x.weight;
    if (settle(after, start, more, there)) out.push_back(std::move(after));
  }
  /// Raises the times of an entry: nothing that follows starts before the action that was run last, and the rank is not
  /// busy before something is there for it. False if a window is missed.
  [[nodiscard]] bool settle(entry& x, ticks start, const counts& made, const outlook& now) const {
    ticks first = never;
    ticks before = 0;  // when the visit before could be made
    for (std::size_t j = 0; j < visits_.size(); ++j) {
      const visit& of = visits_[j];
      const std::uint32_t k = made[j];
      if (k == in_.micro_batches) continue;
      ticks ready = (std::max)({x[free], start, earliest(j, k)});
      if (now.waiting[j] < now.waiting[j + 1]) ready = (std::max)(ready, x[now.waiting[j]]);
      else if (j > 0) ready = (std::max)(ready, before + visits_[j - 1].time + of.away);
      if (ready > latest(j, k)) return false;
      before = ready;
      if (of.forward && now.spare < 0) continue;  // others come before it
      if (of.forward) ready = (std::max)(ready, x[done] - now.spare);
      first = (std::min)(first, ready);
    }
    if (first < never) x[free] = (std::max)(x[free], first);
    x[done] = (std::max)(x[done], x[free]);
    if (x[done] > now.limit) return false;
    for (std::size_t j = 1; j < visits_.size(); ++j)
      for (std::size_t i = now.waiting[j]; i < now.waiting[j + 1]; ++i) {
        const std::uint32_t k = made[j] + static_cast<std::uint32_t>(i - now.waiting[j]);
        x[i] = (std::max)({x[i], earliest(j, k), x[free]});
        if (x[i] > latest(j, k)) return false;
      }
    return true;
  }
  /// Puts an entry among those with the same counts.
  static void keep(std::vector<entry>& all, const entry& x) {
    const auto beats = [](const entry& a, const entry& b) {
      return std::equal(a.begin(), a.end(), b.begin(), [](ticks t, ticks u) { return t <= u; });
    };
    if (std::any_of(all.begin(), all.end(), [&](const entry& y) { return beats(y, x); })) return;
    std::erase_if(all, [&](const entry& y) { return beats(x, y); });
    if (all.size() < width) return all.push_back(x);
    std::transform(x.begin(), x.end(), all.back().begin(), all.back().begin(),
                   [](ticks a, ticks b) { return (std::min)(a, b); });
  }

  const search_input& in_;
  const window_bound& windows_;
  std::vector<ticks> alone_;  // by task: when a micro-batch that never waits starts it
  ticks end_alone_ = 0;
  std::vector<visit> visits_;           // in the order of a micro-batch
  std::vector<std::size_t> by_weight_;  // backward visits, those with least weight first
  std::int64_t cap_ = 0;
  ticks work_ = 0;  // of all actions of the rank
  ticks tail_ = 0;  // what follows the rank's last action at the least
  ticks target_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail::scheduling
