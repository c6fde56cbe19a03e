// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/detail/random_numbers.hpp>
#include <hocket/planner/schedule/detail/list_scheduler.hpp>
#include <hocket/planner/schedule/detail/order_search.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Builds a schedule by wishes: a free rank takes what it wishes first of all that is ready, and waits for what it
/// wishes more if that comes within `patience`. False if it runs into a dead end (it does not, see run_greedy).
/// @param wish  by kind (forward, backward), stage and micro-batch; the least goes first
inline bool run_by_wish(partial_schedule& plan, const std::vector<ticks>& wish, ticks patience) {
  const search_input& in = plan.in;
  const std::uint32_t m = in.micro_batches;
  const std::size_t each = std::size_t{in.stages} * m;
  return run_in_time(plan, [&](std::uint32_t r, ticks t) {
    std::uint32_t oldest = m, needs = 0;
    for (const std::uint32_t s : in.owned[r]) oldest = (std::min)(oldest, plan.backwards[s]);
    for (const std::uint32_t s : in.owned[r]) needs += plan.forwards[s] <= oldest ? 1u : 0u;
    std::uint32_t best = in.stages;
    bool forward = false;
    ticks least = partial_schedule::never, soon = partial_schedule::never;
    const auto offer = [&](std::uint32_t s, bool is_forward, ticks ready, ticks wished) {
      if (ready > t) {
        if (ready <= t + patience) soon = (std::min)(soon, wished);
      } else if (wished < least) {
        least = wished, best = s, forward = is_forward;
      }
    };
    for (const std::uint32_t s : in.owned[r]) {
      const std::uint32_t f = plan.forwards[s], b = plan.backwards[s];
      if (f < m && plan.held[r] < in.cap[r] && (f == oldest || plan.held[r] + needs < in.cap[r]))
        offer(s, true, plan.forward_ready(s), wish[plan.index(s, f)]);
      if (b < m) offer(s, false, plan.backward_ready(s), wish[each + plan.index(s, b)]);
    }
    if (best == in.stages || soon < least) return false;
    plan.start(best, forward ? pipeline::action_kind::forward : pipeline::action_kind::backward, t);
    return true;
  });
}

/// For uneven times under caps, where moves along one critical path get stuck. With whole backwards, turned round in
/// time, with forwards for backwards, the question is one of the same kind, so schedules are built from both ends; with
/// split ones from their begin alone. Each round begins anew: hill climbing over greedy rules (how much of each stage a
/// rank may hold, what a stage's forwards are worth, how long to wait for a backward); the best two are then built
/// again and again from the other end, each action wished for when it was at its last, with some noise (justification,
/// as in project scheduling); and then moved along their critical paths. Numbers are drawn by a generator of its own.
class round_search {
 public:
  explicit round_search(const search_input& in) : in_(in), turned_(in), ends_(in), turned_ends_(turn(turned_)) {
    for (const ticks f : in.forward) longest_ = (std::max)(longest_, f);
    for (const ticks b : in.backward) longest_ = (std::max)(longest_, b / 2);
    longest_ = (std::min)(longest_, ticks{1} << 48);  // a scale for noise: products of it do not overflow
  }

  /// @param actions  that may be placed, all rounds together
  /// @param enough   stop at this makespan
  /// @return the makespan of list(); `never` if there is none
  [[nodiscard]] ticks operator()(std::int64_t actions, ticks enough) {
    constexpr std::int64_t tries = 300;
    const std::int64_t all = (in_.split ? 3 : 2) * std::int64_t{in_.stages} * in_.micro_batches;
    order_search moves(in_);
    for (actions -= 3 * tries * all; actions > 0 && best_ > enough; actions -= 3 * tries * all) {
      starts_.clear();
      climb(tries);
      for (auto& [makespan, list] : starts_) {
        if (!in_.split) justify(tries, makespan, list);
        const ticks found = moves(list, 4000 * all, enough);
        if (found < best_) best_ = found, list_ = moves.list();
      }
    }
    return best_;
  }
  /// In an order in which every action follows what it needs.
  [[nodiscard]] const std::vector<placed>& list() const noexcept { return list_; }

 private:
  static const search_input& turn(search_input& in) {
    in.forward.swap(in.backward);
    return in;
  }
  [[nodiscard]] ticks draw_patience() noexcept {
    return random_.below(2) == 0 ? 0 : static_cast<ticks>(random_.below(64)) * longest_ / 32;
  }
  void remember(ticks makespan, std::vector<placed> list) {
    std::size_t at = 0;
    while (at < starts_.size() && starts_[at].first < makespan) ++at;
    if (at == 2 || (at < starts_.size() && starts_[at].first == makespan)) return;
    starts_.insert(starts_.begin() + static_cast<std::ptrdiff_t>(at), {makespan, std::move(list)});
    if (starts_.size() > 2) starts_.pop_back();
  }

  [[nodiscard]] greedy_rule any_rule() {
    greedy_rule rule;
    rule.first = static_cast<greedy_rule::order>(random_.below(4)), rule.lead = 1u << 30,
    rule.patience = draw_patience();
    if (in_.split) rule.eager_weights = random_.below(2) == 0;
    const std::uint32_t p = in_.ranks, slack = random_.below(p), chunks = in_.stages / p;
    for (std::uint32_t s = 0; s < in_.stages; ++s) {
      const std::uint32_t chunk = s / p, r = in_.rank_of[s];
      rule.bonus.push_back(chunk == 0 ? 0 : (static_cast<ticks>(random_.below(64)) - 32) * longest_ / 4);
      rule.most.push_back(chunk + 1 == chunks ? p - r + slack / 2 : p + slack - r / 2);
    }
    return rule;
  }
  void change(greedy_rule& rule) {
    for (std::uint32_t left = 1 + random_.below(3); left > 0; --left) {
      const std::uint32_t s = random_.below(in_.stages), what = random_.below(8);
      if (what == 0) rule.patience = static_cast<ticks>(random_.below(64)) * longest_ / 32;
      else if (what < 3) rule.bonus[s] += (static_cast<ticks>(random_.below(64)) - 32) * longest_ / 16;
      else if (what == 3) rule.first = static_cast<greedy_rule::order>(random_.below(4));
      else if (random_.below(2) == 0) ++rule.most[s];
      else if (rule.most[s] > 1) --rule.most[s];
    }
  }
  /// Hill climbing over rules, from both ends by turns; begins anew after 100 tries without success.
  void climb(std::int64_t tries) {
    struct climber {
      greedy_rule rule, top;
      ticks now = partial_schedule::never, best = partial_schedule::never;
      int vain = 100;
    };
    climber both[2];
    partial_schedule plans[2] = {partial_schedule(in_), partial_schedule(turned_)};
    for (std::int64_t i = 0; i < tries; ++i) {
      const bool back = !in_.split && i % 2 == 1;
      climber& x = both[back ? 1 : 0];
      greedy_rule rule = x.rule;
      if (++x.vain > 100 || x.now == partial_schedule::never) {
        x.vain = 0, x.now = partial_schedule::never;
        rule = x.best < partial_schedule::never && random_.below(2) == 0 ? x.top : any_rule();
      }
      change(rule);
      partial_schedule& plan = plans[back ? 1 : 0];
      plan.reset();
      if (!run_greedy(plan, back ? turned_ends_ : ends_, rule)) continue;
      const ticks made = plan.finish();
      if (made < x.now) x.vain = 0;
      if (made <= x.now) x.now = made, x.rule = rule;
      if (made < x.best) x.best = made, x.top = rule;
      if (starts_.size() < 2 || made < starts_.back().first)
        remember(made, back ? turned_back(in_, plan.list) : plan.list);
    }
  }

  /// Ends of all actions; forwards first.
  void take_times(const partial_schedule& plan, std::vector<ticks>& end) const {
    end = plan.forward_end;
    end.insert(end.end(), plan.backward_end.begin(), plan.backward_end.end());
  }
  /// Builds the schedule again from its other end, time after time.
  void justify(std::int64_t tries, ticks& makespan, std::vector<placed>& list) {
    const std::uint32_t m = in_.micro_batches;
    const std::size_t each = std::size_t{in_.stages} * m;
    partial_schedule plan(in_), back(turned_);
    order_search sorter(in_);  // a list that was turned back follows what it needs only rank by rank
    (void)sorter(list, 0, 0);
    for (const placed& x : sorter.list()) {
      const ticks ready =
          x.kind == pipeline::action_kind::forward ? plan.forward_ready(x.stage) : plan.backward_ready(x.stage);
      if (ready >= partial_schedule::never) return;
      plan.start(x.stage, x.kind, (std::max)(ready, plan.free_at[x.rank]));
    }
    std::vector<ticks> end, wish(2 * each), past(64, plan.finish());
    take_times(plan, end);
    ticks now = plan.finish();
    list = plan.list, makespan = now;
    bool from_end = false;
    for (std::int64_t i = 0; i < tries; ++i) {
      const ticks noise = random_.below(4) == 0 ? 0 : longest_ * static_cast<ticks>(1 + random_.below(8)) / 4;
      const std::uint32_t rate = 1 + random_.below(20);
      const auto wished = [&](ticks at) {
        return noise > 0 && random_.below(rate) == 0
                 ? at + noise * (static_cast<ticks>(random_.below(2049)) - 1024) / 1024
                 : at;
      };
      for (std::uint32_t s = 0; s < in_.stages; ++s)
        for (std::uint32_t k = 0; k < m; ++k) {
          const std::size_t a = std::size_t{s} * m + k, b = std::size_t{s} * m + (m - 1 - k);
          wish[a] = wished(now - end[each + b]), wish[each + a] = wished(now - end[b]);
        }
      partial_schedule& next = from_end ? plan : back;
      next.reset();
      const ticks before = past[static_cast<std::size_t>(i) % past.size()];
      if (!run_by_wish(next, wish, draw_patience())) continue;
      if (const ticks made = next.finish(); made <= now || made <= before) {
        now = made, from_end = !from_end;
        take_times(next, end);
        if (now < makespan) makespan = now, list = from_end ? turned_back(in_, next.list) : next.list;
      }
      past[static_cast<std::size_t>(i) % past.size()] = now;
    }
    if (makespan >= best_) return;
    (void)sorter(list, 0, 0);
    best_ = makespan, list_ = sorter.list();
  }

  const search_input& in_;
  search_input turned_;
  tails ends_, turned_ends_;
  ticks longest_ = 1, best_ = partial_schedule::never;
  std::vector<placed> list_;
  std::vector<std::pair<ticks, std::vector<placed>>> starts_;
  random_numbers random_{0x243f6a8885a308d3u};
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
