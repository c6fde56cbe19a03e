// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/detail/random_numbers.hpp>
#include <hocket/planner/schedule/detail/list_scheduler.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Betters a complete schedule by moves along its critical path: of the actions that a rank runs on it without a gap,
/// one goes to either end, or one at an end to any place; nothing else can shorten the step. Moves that break the order
/// of a stage or a cap are not made. What a move brings is estimated from the times before and after the actions that
/// change places, so that only moves that will be kept cost a run of all lists. A move is kept if it makes the step no
/// longer than it is now by more than a number drawn, at first from up to two actions' time, in the end zero (threshold
/// accepting). Numbers are drawn by a generator of its own, so every machine finds the same.
class order_search {
 public:
  explicit order_search(const search_input& in) : in_(in), each_(in.stages * in.micro_batches) {
    const std::uint32_t m = in.micro_batches, kinds = in.kinds(), last = in.stages - 1;
    for (std::uint32_t i = 0; i < kinds * in.stages; ++i) {
      const std::uint32_t kind = in.kind_of(i), s = in.stage_of(i);
      letter x{.kind = kind, .stage = s, .rank = in.rank_of[s]};
      if (kind == 0) {
        x.time = in.forward[s], x.takes = 1, x.then = s < last ? m : each_;
        if (s > 0) x.need = 0 - m, x.hop = in.hop_between(s - 1, s);
      } else if (kind == 1) {
        x.time = in.backward[s], x.takes = in.split ? 0 : -1, x.need = s < last ? m : 0 - each_;
        if (s < last) x.hop = in.hop_between(s, s + 1);
        if (s > 0) x.then = 0 - m;
        if (in.split) x.weight = each_;
      } else {
        x.time = in.weight[s], x.takes = -1, x.need = 0 - each_;
      }
      heat_ += x.time;
      letters_.push_back(x), letter_.insert(letter_.end(), m, i);
    }
    heat_ = 2 * heat_ / (ticks{kinds} * in.stages);
    end_.resize(letter_.size()), tail_.resize(letter_.size());
    from_.resize(letter_.size()), place_.resize(letter_.size()), held_.resize(letter_.size());
  }

  /// @param start  a schedule in any order that keeps that of each rank
  /// @param steps  actions that may be looked at, all moves together
  /// @param enough stop at this makespan
  /// @return the makespan; list() is the schedule
  [[nodiscard]] ticks operator()(const std::vector<placed>& start, std::int64_t steps, ticks enough) {
    orders_.assign(in_.ranks, {});
    for (const placed& x : start) orders_[x.rank].push_back(id(x));
    const auto total = static_cast<std::int64_t>(letter_.size());
    const std::int64_t whole = steps;
    ticks now = evaluate();
    if (now >= partial_schedule::never) return now;
    best_ = orders_;
    ticks least = now;
    for (trace(), steps -= total; steps > 0 && least > enough && path_.size() > 1; steps -= 16) {
      move x;
      if (!draw(x)) continue;
      const ticks part = random_() % 1024, share = part * part * (1024 * steps / whole) >> 20;  // of 1024
      const ticks limit = now + heat_ / 1024 * share + heat_ % 1024 * share / 1024;
      if (estimate(x) > limit) continue;
      shift(x.rank, x.from, x.to);
      const ticks then = evaluate();
      steps -= 2 * total;
      if (then <= limit) {
        now = then;
        if (now < least) least = now, best_ = orders_;
      } else {
        shift(x.rank, x.to, x.from);
        (void)evaluate();
      }
      trace();
    }
    return least;
  }
  /// The schedule found, in an order in which every action follows what it needs.
  [[nodiscard]] std::vector<placed> list() {
    orders_ = best_;
    (void)evaluate();
    std::vector<placed> sorted;
    for (const std::uint32_t a : order_) {
      const letter& x = of(a);
      sorted.push_back({x.rank, x.stage, a % in_.micro_batches, in_.name(x.kind)});
    }
    return sorted;
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  /// What the actions of one kind and stage share. The others are named by how far they are off, zero if there is none.
  struct letter {
    std::uint32_t kind, stage, rank;
    std::uint32_t need = 0, then = 0, weight = 0;  // what it waits for, what waits for it
    std::int32_t takes = 0;                        // activations that it adds
    ticks time = 0, hop = 0;                       // hop: from what it waits for
  };
  struct move {
    std::uint32_t rank = 0, from = 0, to = 0;
  };

  [[nodiscard]] const letter& of(std::uint32_t a) const noexcept { return letters_[letter_[a]]; }
  [[nodiscard]] std::uint32_t id(const placed& x) const {
    const std::uint32_t kind = x.kind == pipeline::action_kind::forward     ? 0
                             : x.kind == pipeline::action_kind::weight_grad ? 2
                                                                            : 1;
    return kind * each_ + x.stage * in_.micro_batches + x.micro_batch;
  }

  /// Runs all lists; `never` if ranks wait for each other. Sets order_, and of each action end_, place_, held_ (what
  /// its rank then holds) and from_ (what it had to wait for).
  [[nodiscard]] ticks evaluate() {
    next_.assign(in_.ranks, 0);
    std::fill(end_.begin(), end_.end(), ticks{-1});
    order_.clear();
    ticks last = -1;
    while (order_.size() < letter_.size()) {
      const std::size_t before = order_.size();
      for (std::uint32_t r = 0; r < in_.ranks; ++r) {
        const auto& order = orders_[r];
        std::uint32_t& i = next_[r];
        std::uint32_t from = i > 0 ? order[i - 1] : none;
        std::int32_t held = i > 0 ? held_[from] : 0;
        for (ticks t = i > 0 ? end_[from] : 0; i < order.size(); ++i) {
          const std::uint32_t a = order[i];
          const letter& x = of(a);
          from_[a] = from;
          if (const std::uint32_t need = a + x.need; need != a) {
            if (end_[need] < 0) break;
            if (end_[need] + x.hop > t) t = end_[need] + x.hop, from_[a] = need;
          }
          t += x.time, held += x.takes;
          end_[a] = t, place_[a] = i, held_[a] = held;
          if (t > last) last = t, final_ = a;
          order_.push_back(a);
          from = a;
        }
      }
      if (order_.size() == before) return partial_schedule::never;
    }
    return last;
  }

  /// The critical path, last action first, of the schedule just run, and the time after each action.
  void trace() {
    path_.clear();
    for (std::uint32_t a = final_; a != none; a = from_[a]) path_.push_back({of(a).rank, place_[a]});
    for (std::size_t i = order_.size(); i-- > 0;) {
      const std::uint32_t a = order_[i];
      const letter& x = of(a);
      const auto& order = orders_[x.rank];
      ticks tail = place_[a] + 1 < order.size() ? with(order[place_[a] + 1]) : 0;
      for (const std::uint32_t next : {a + x.then, a + x.weight})
        if (next != a) tail = (std::max)(tail, with(next) + of(next).hop);
      tail_[a] = tail;
    }
  }
  [[nodiscard]] ticks with(std::uint32_t a) const noexcept { return tail_[a] + of(a).time; }

  /// A move along the path that keeps the order of stages and the caps; false if the numbers drawn gave none.
  [[nodiscard]] bool draw(move& x) {
    const std::size_t at = random_() % path_.size();
    const auto [r, place] = path_[at];
    // Where the rank runs without a gap around it, as far as the path goes.
    std::uint32_t low = place, high = place;
    for (std::size_t i = at + 1; i < path_.size() && path_[i] == std::pair{r, low - 1}; ++i) --low;
    for (std::size_t i = at; i > 0 && path_[i - 1] == std::pair{r, high + 1}; --i) ++high;
    const std::uint32_t what = random_() % 4, end = what < 2 ? low : high;
    if (place == end) return false;
    x = what % 2 == 0 ? move{r, place, end} : move{r, end, place};
    return allowed(x);
  }
  [[nodiscard]] bool allowed(const move& x) const {
    const auto& order = orders_[x.rank];
    const std::uint32_t moved = order[x.from], m = in_.micro_batches;
    const letter& a = of(moved);
    const bool later = x.from < x.to;
    const std::uint32_t low = later ? x.from + 1 : x.to, high = later ? x.to : x.from - 1;
    const auto cap = static_cast<std::int32_t>(in_.cap[x.rank]), more = later ? -a.takes : a.takes;
    for (std::uint32_t i = low; i <= high; ++i) {
      const letter& b = of(order[i]);
      if (b.stage == a.stage && (b.kind == a.kind || order[i] % m == moved % m)) return false;
      if (held_[order[i]] + more > cap) return false;
    }
    return later || (low > 0 ? held_[order[low - 1]] : 0) + a.takes <= cap;
  }
  /// The longest path through the actions that change places, were the times of all others as they are; `never` if one
  /// of them would come before what it waits for.
  [[nodiscard]] ticks estimate(const move& x) {
    const auto& order = orders_[x.rank];
    const bool later = x.from < x.to;
    const std::uint32_t low = later ? x.from : x.to, high = later ? x.to : x.from;
    const auto changes = [&](std::uint32_t a) { return of(a).rank == x.rank && place_[a] >= low && place_[a] <= high; };
    window_.assign(order.begin() + low, order.begin() + high + 1);
    std::rotate(window_.begin(), later ? window_.begin() + 1 : window_.end() - 1, window_.end());
    ends_.clear();
    ticks t = low > 0 ? end_[order[low - 1]] : 0;
    for (auto i = window_.begin(); i != window_.end(); ++i) {
      const letter& a = of(*i);
      if (const std::uint32_t need = *i + a.need; need != *i) {
        if (!changes(need)) t = (std::max)(t, end_[need] + a.hop);
        else if (std::find(window_.begin(), i, need) == i) return partial_schedule::never;
      }
      ends_.push_back(t += a.time);
    }
    ticks longest = 0;
    t = high + 1 < order.size() ? with(order[high + 1]) : 0;
    for (std::size_t i = window_.size(); i-- > 0;) {
      const std::uint32_t a = window_[i];
      for (const std::uint32_t next : {a + of(a).then, a + of(a).weight})
        if (next != a && !changes(next)) t = (std::max)(t, with(next) + of(next).hop);
      longest = (std::max)(longest, ends_[i] + t);
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
  std::uint32_t each_;  // actions of a kind
  std::vector<letter> letters_;
  ticks heat_ = 0;  // by how much a move may lengthen the step at first
  std::vector<std::vector<std::uint32_t>> orders_, best_;
  std::vector<ticks> end_, tail_, ends_;
  std::vector<std::int32_t> held_;
  std::vector<std::uint32_t> letter_, from_, place_, next_, order_, window_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> path_;
  std::uint32_t final_ = none;
  random_numbers random_{0x9e3779b97f4a7c15u};
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
