// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/split/detail/rank_costs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// The exact split where ranks take consecutive pieces of the model: one chunk per rank, or equal layers. What a rank
/// can do in a given time it can also do with fewer layers. So for a bound M on the slowest rank the cuts lie in
/// windows, and E(M), the least extra time within them, is a shortest path. The least M is found by bisection. E(M)
/// falls in steps as M grows, and for the step time bisection visits only the steps that can still win.
///
///     cuts before rank  0    1      2      3    4
///     windows           |  [---]  [----]  [--]  |      each arrow is a piece of the model, and costs extra time
///                       0 ---> a ----> b --> c -> n
class rank_path {
 public:
  rank_path(const split_numbers& q, segment_fronts& fronts, rank_levels& choose)
      : q_(q),
        fronts_(fronts),
        costs_(q, fronts, choose),
        p_(static_cast<std::uint32_t>(q.ranks.size())),
        v_(q.in_flight.chunks()),
        layers_(fronts.layers()),
        base_(base_time(q, fronts)),
        all_time_(base_ + fronts.most_extra()) {}

  [[nodiscard]] result<raw_split> operator()() {
    if (const std::int64_t lack = least_lack(); lack > 0) {
      if (costs_.unsure()) return out_of_budget(q_);
      return shortage(lack);
    }
    if (!find_best()) return out_of_budget(q_);
    raw_split raw;
    raw.parts.resize(p_);
    raw.answers.resize(p_);
    for (std::uint32_t r = 0; r < p_; ++r) costs_.write(r, cuts_[r], cuts_[r + 1], raw.parts[r], raw.answers[r]);
    raw.proved = !costs_.unsure();
    if (raw.proved) return raw;
    costs_.use_bounds();  // the same search over bounds bounds the whole
    best_value_ = never;
    cuts_.clear();
    if (find_best()) raw.bound = best_value_;
    return raw;
  }

 private:
  [[nodiscard]] bool find_best() {
    const ticks least = least_slowest_rank();
    if (least >= never) return false;
    const ticks at_least = cheapest_below(least);
    if (q_.goal == objective::slowest_rank) return !cuts_.empty();
    ticks limit = all_time_;
    if (q_.weight_of_slowest > 0) limit = (std::min)(limit, (best_value_ - base_) / q_.weight_of_slowest);
    if (limit > least) descend(least, at_least, limit, cheapest_below(limit));
    return !cuts_.empty();
  }
  /// The least time in which every rank can be done, by steps that double and bisection.
  [[nodiscard]] ticks least_slowest_rank() {
    ticks low = ceil_div(base_, ticks{p_}) - 1;
    ticks step = low / 16 + 1;
    ticks high = low + step;
    while (!feasible(high)) {
      if (high > all_time_) return never;
      low = high;
      step *= 2;
      high = low + step;
    }
    while (high - low > 1) {
      const ticks mid = low + (high - low) / 2;
      (feasible(mid) ? high : low) = mid;
    }
    return high;
  }
  [[nodiscard]] bool fits(std::uint32_t r, std::int64_t a, std::int64_t b, ticks most) {
    const ticks base = fronts_.time(a, b) + q_.ranks[r].time;
    return base <= most && costs_.extra(r, a, b) <= most - base;
  }
  /// The last of [low, high] for which `holds`, which holds up to some number; low - 1 if it never does.
  template <class Holds>
  [[nodiscard]] static std::int64_t last_of(std::int64_t low, std::int64_t high, const Holds& holds) {
    --low;
    while (low < high) {
      const std::int64_t mid = high - (high - low) / 2;
      if (holds(mid)) low = mid;
      else high = mid - 1;
    }
    return low;
  }
  /// The last end with which rank r, beginning at a, keeps within the time; a if there is none. The base time bounds it
  /// first, so that no larger front is made than the answer needs.
  [[nodiscard]] std::int64_t reach(std::uint32_t r, std::int64_t a, ticks most) {
    const std::int64_t limit = layers_ - std::int64_t{v_} * (p_ - 1 - r);
    const std::int64_t by_time =
        last_of(a + v_, limit, [&](std::int64_t b) { return fronts_.time(a, b) + q_.ranks[r].time <= most; });
    const std::int64_t end = last_of(a + v_, by_time, [&](std::int64_t b) { return fits(r, a, b, most); });
    return end < a + v_ ? a : end;
  }
  /// windows[r]: the first and the last cut before rank r that leave earlier ranks within bounds, if `end(r, a)` is the
  /// last end of rank r from a (a if it has none). False if the last rank cannot end with the model.
  template <class End>
  [[nodiscard]] bool reachable(std::vector<segment>& windows, const End& end) const {
    windows.assign(p_ + 1, segment{});
    if (fronts_.uniform()) {  // fewer layers are always as good a start: the cuts are all between least and greedy
      for (std::uint32_t r = 0; r < p_; ++r) {
        windows[r + 1] = {windows[r].begin + v_, end(r, windows[r].end)};
        if (windows[r + 1].end == windows[r].end) return false;
      }
      return windows[p_].end == layers_;
    }
    // A greedy pass may leave a rank nothing but a layer that it cannot hold: so all cuts that can be reached.
    std::vector<char> now(static_cast<std::size_t>(layers_ + 1), 0);
    std::vector<char> next;
    now[0] = 1;
    for (std::uint32_t r = 0; r < p_; ++r) {
      next.assign(now.size(), 0);
      segment& window = windows[r + 1] = {layers_ + 1, -1};
      for (std::int64_t a = windows[r].begin; a <= windows[r].end; ++a) {
        const std::int64_t b = now[static_cast<std::size_t>(a)] != 0 ? end(r, a) : a;
        if (b == a) continue;
        std::fill(next.begin() + a + v_, next.begin() + b + 1, char{1});
        window = {(std::min)(window.begin, a + v_), (std::max)(window.end, b)};
      }
      if (window.end < 0) return false;
      now.swap(next);
    }
    return now[static_cast<std::size_t>(layers_)] != 0;
  }
  [[nodiscard]] bool feasible(ticks most) {
    return reachable(windows_, [&](std::uint32_t r, std::int64_t a) { return reach(r, a, most); });
  }
  /// Windows from the other side, too: equal layers, none of which may be left to the ranks behind.
  void narrow(ticks most) {
    if (!fronts_.uniform()) return;
    windows_[p_].begin = layers_;
    for (std::uint32_t r = p_; r-- > 1;) {
      const std::int64_t b = windows_[r + 1].begin;
      const std::int64_t size =
          last_of(v_, b - std::int64_t{v_} * r, [&](std::int64_t n) { return fits(r, b - n, b, most); });
      windows_[r].begin = size < v_ ? b : b - size;
    }
  }

  /// E(M): the least extra time of plans whose slowest rank takes at most M; keeps the plan if it is the best so far.
  ticks cheapest_below(ticks most) {
    const bool possible = feasible(most);
    HOCKET_ASSERT(possible);
    if (!possible) return never;
    narrow(most);
    std::vector<std::vector<ticks>> cost(p_ + 1);
    std::vector<std::vector<std::int64_t>> from(p_ + 1);
    cost[0] = {0};
    for (std::uint32_t r = 0; r < p_; ++r) {
      const segment to = windows_[r + 1];
      if (to.size() < 0) return never;
      cost[r + 1].assign(static_cast<std::size_t>(to.size() + 1), never);
      from[r + 1].assign(static_cast<std::size_t>(to.size() + 1), 0);
      for (std::size_t i = 0; i < cost[r].size(); ++i) {
        if (cost[r][i] >= never) continue;
        const std::int64_t a = windows_[r].begin + static_cast<std::int64_t>(i);
        for (std::int64_t b = (std::max)(a + v_, to.begin); b <= to.end && fits(r, a, b, most); ++b) {
          const ticks sum = cost[r][i] + costs_.extra(r, a, b);
          const auto j = static_cast<std::size_t>(b - to.begin);
          if (sum >= cost[r + 1][j]) continue;
          cost[r + 1][j] = sum;
          from[r + 1][j] = a;
        }
      }
    }
    const ticks found = cost[p_].back();
    if (found < never) keep_if_better(from, found);  // else beyond the budget: too little is known of some rank
    return found;
  }
  void keep_if_better(const std::vector<std::vector<std::int64_t>>& from, ticks extra) {
    std::vector<std::int64_t> cuts(p_ + 1, layers_);
    ticks slowest = 0;
    for (std::uint32_t r = p_; r-- > 0;) {
      cuts[r] = from[r + 1][static_cast<std::size_t>(cuts[r + 1] - windows_[r + 1].begin)];
      const ticks own = costs_.extra(r, cuts[r], cuts[r + 1]);
      slowest = (std::max)(slowest, fronts_.time(cuts[r], cuts[r + 1]) + q_.ranks[r].time + own);
    }
    const ticks value = q_.value(slowest, base_ + extra);
    if (value >= best_value_) return;
    best_value_ = value;
    cuts_ = cuts;
  }
  /// Looks between low and high, whose E are known, for a better plan.
  void descend(ticks low, ticks extra_low, ticks high, ticks extra_high) {
    if (high - low <= 1 || extra_low == extra_high) return;
    if (base_ + extra_high + q_.weight_of_slowest * (low + 1) >= best_value_) return;
    const ticks mid = low + (high - low) / 2;
    const ticks extra_mid = cheapest_below(mid);
    descend(low, extra_low, mid, extra_mid);
    descend(mid, extra_mid, high, extra_high);
  }

  // Memory alone: every layer as lean as can be.

  /// The last end of rank r from a with which it fits into its capacity and `more`; a if there is none.
  [[nodiscard]] std::int64_t lean_end(std::uint32_t r, std::int64_t a, std::int64_t more) {
    const std::int64_t limit = layers_ - std::int64_t{v_} * (p_ - 1 - r);
    const auto fits_lean = [&](std::int64_t b) { return costs_.lean_bytes(r, a, b) <= q_.ranks[r].capacity + more; };
    // Steps that double, then bisection: with several chunks a long segment takes long.
    std::int64_t low = a + v_ - 1;
    std::int64_t step = 1;
    while (low + step <= limit && fits_lean(low + step)) {
      low += step;
      step *= 2;
    }
    const std::int64_t end = last_of(low + 1, (std::min)(low + step - 1, limit), fits_lean);
    return end < a + v_ ? a : end;
  }
  [[nodiscard]] bool fits_lean(std::int64_t more) {
    std::vector<segment> windows;
    return reachable(windows, [&](std::uint32_t r, std::int64_t a) { return lean_end(r, a, more); });
  }
  [[nodiscard]] std::int64_t least_lack() {
    if (fits_lean(0)) return 0;
    std::int64_t low = 0;
    std::int64_t high = 1;
    while (!fits_lean(high)) {
      low = high;
      high *= 2;
    }
    while (high - low > 1) {
      const std::int64_t mid = low + (high - low) / 2;
      (fits_lean(mid) ? high : low) = mid;
    }
    return high;
  }
  /// The first rank that lacks exactly the least lack in a split where none lacks more: without it nothing fits.
  [[nodiscard]] error shortage(std::int64_t lack) {
    const auto size = static_cast<std::size_t>(layers_ + 1);
    std::vector<std::vector<std::int64_t>> from(p_ + 1, std::vector<std::int64_t>(size, -1));
    from[0][0] = 0;
    for (std::uint32_t r = 0; r < p_; ++r)
      for (std::int64_t a = 0; a < layers_; ++a) {
        if (from[r][static_cast<std::size_t>(a)] < 0) continue;
        const std::int64_t end = lean_end(r, a, lack);
        for (std::int64_t b = a + v_; b <= end; ++b) from[r + 1][static_cast<std::size_t>(b)] = a;
      }
    std::uint32_t binding = 0;
    std::int64_t at = layers_;
    for (std::uint32_t r = p_; r-- > 0 && at > 0;) {
      const std::int64_t begin = (std::max)(std::int64_t{0}, from[r + 1][static_cast<std::size_t>(at)]);
      if (costs_.lean_bytes(r, begin, at) - q_.ranks[r].capacity == lack) binding = r;
      at = begin;
    }
    return error{errc::does_not_fit, binding, lack}.with("the split that needs least");
  }

  const split_numbers& q_;
  segment_fronts& fronts_;
  rank_costs costs_;
  std::uint32_t p_, v_;
  std::int64_t layers_;
  ticks base_, all_time_;
  std::vector<segment> windows_;
  ticks best_value_ = never;
  std::vector<std::int64_t> cuts_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
