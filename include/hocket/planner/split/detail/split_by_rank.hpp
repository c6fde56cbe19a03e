// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/split/detail/chunk_deal.hpp>
#include <hocket/planner/split/detail/rank_choice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// A split before it is written out.
struct raw_split {
  std::vector<std::vector<segment>> parts;  // by rank, by chunk
  std::vector<rank_answer> answers;         // by rank
  bool proved = true;
  ticks bound = 0;  // on what is minimised, if not proved
};

/// What all layers take besides if each runs at its slowest level.
inline ticks most_extra(const split_problem& q) {
  ticks most = 0;
  for (const layer_run& run : q.layers) {
    ticks extra = 0;
    for (std::uint32_t k = 0; k < run.of.levels.size(); ++k) extra = (std::max)(extra, run.of.levels[k].extra);
    most += extra * run.count;
  }
  return most;
}

/// The exact split where ranks take consecutive pieces of the model: one chunk per rank, or equal layers (then only
/// numbers of layers matter). What a rank can do in a given time it can also do with fewer layers, so for a bound M on
/// the slowest rank the cuts lie in windows (of equal layers: those of two greedy passes; else of all cuts that can be
/// reached, for a greedy pass may leave a rank nothing but a layer that it cannot hold), and the least extra time
/// within is a shortest path. M is found by bisection; for the sum objective E(M), the least extra time under M, is a
/// falling staircase, of which bisection visits only the steps that can still win.
/// How a rank deals its layers out to several chunks is chunk_deal's matter. Where its budget ends before a proof, the
/// same search over its bounds bounds the whole.
class split_by_rank {
 public:
  split_by_rank(const split_problem& q, segment_fronts& fronts, rank_choice& choose, std::int64_t& expansions)
      : q_(q),
        fronts_(fronts),
        choose_(choose),
        expansions_(expansions),
        p_(static_cast<std::uint32_t>(q.ranks.size())),
        v_(q.in_flight.chunks()),
        layers_(fronts.layers()),
        most_(q.most_on_stage > 0 ? q.most_on_stage : fronts.layers()) {
    if (!fronts.uniform()) return;
    memo_.assign(std::size_t{p_} * static_cast<std::size_t>(layers_ + 1), unknown);
    if (v_ == 1) return;
    lower_memo_ = loads_ = memo_;
    deals_.resize(p_);
  }

  /// Whether it fits at all; much sooner told than what is lacking.
  [[nodiscard]] bool possible() const { return lean_fits(0); }
  [[nodiscard]] result<raw_split> operator()() {
    if (const std::int64_t lack = least_lack(); lack > 0) {
      if (unsure_) return error{errc::limit_exceeded, q_.budget + 1, q_.budget}.with("ways to deal out layers");
      return shortage(lack);
    }
    for (std::uint32_t r = 0; r < p_; ++r) base_ += q_.ranks[r].time;
    base_ += fronts_.time(0, layers_);
    if (!solve()) return error{errc::limit_exceeded, q_.budget + 1, q_.budget}.with("partial plans");
    raw_split raw = written_out();
    raw.proved = !unsure_;
    if (unsure_) {
      lower_ = true, best_cost_ = never, cuts_.clear();
      if (solve()) raw.bound = best_cost_;
    }
    return raw;
  }

 private:
  static constexpr ticks unknown = -1;

  /// The best plan, or with `lower_` a bound on it.
  [[nodiscard]] bool solve() {
    const std::int64_t weight = weight_of_slowest(q_);
    ticks low = ceil_div(base_, ticks{p_}) - 1, step = low / 16 + 1, high = low + step;
    while (!feasible(high)) {
      if (high > all_time()) return false;
      low = high, step *= 2, high = low + step;
    }
    while (high - low > 1) {
      const ticks mid = low + (high - low) / 2;
      if (feasible(mid)) high = mid;
      else low = mid;
    }
    const ticks least = high;
    const ticks extra = cheapest_below(least, weight);
    if (q_.goal == objective::step_time) {
      ticks limit = never;
      if (weight > 0) limit = (best_cost_ - base_) / weight;
      limit = limit < all_time() ? limit : all_time();
      if (limit > least) {
        const ticks at_limit = cheapest_below(limit, weight);
        descend(least, extra, limit, at_limit, weight);
      }
    }
    return !cuts_.empty();
  }

  [[nodiscard]] std::size_t index(std::uint32_t r, std::int64_t n) const noexcept {
    return std::size_t{r} * static_cast<std::size_t>(layers_ + 1) + static_cast<std::size_t>(n);
  }
  /// Least extra time of rank r with the layers [a, b), or with `lower_` a bound on it that grows with the layers;
  /// `never` if they do not fit.
  [[nodiscard]] ticks extra(std::uint32_t r, std::int64_t a, std::int64_t b) {
    if (v_ > 1) return lower_ ? lower_extra(r, b - a) : dealt(r, b - a);
    if (memo_.empty()) return answer(r, a, b).extra;
    ticks& known = memo_[index(r, b - a)];
    if (known == unknown) known = answer(r, a, b).extra;
    return known;
  }
  [[nodiscard]] rank_answer answer(std::uint32_t r, std::int64_t a, std::int64_t b) {
    const segment own{a, b};
    return b - a > most_ ? rank_answer{} : choose_(r, {&own, 1});
  }
  [[nodiscard]] chunk_deal& deal_of(std::uint32_t r) const {
    if (!deals_[r]) deals_[r] = std::make_unique<chunk_deal>(q_.in_flight, r, most_);
    return *deals_[r];
  }
  /// Of what is left of the budget each question may take an eighth.
  [[nodiscard]] std::int64_t share() const { return (std::max)(std::int64_t{1000}, (q_.budget - expansions_) / 8); }
  [[nodiscard]] ticks dealt(std::uint32_t r, std::int64_t n) {
    ticks& known = memo_[index(r, n)];
    if (known != unknown) return known;
    const std::int64_t left = q_.ranks[r].capacity - q_.ranks[r].fixed - fronts_.weights(0, n);
    const chunk_deal::answer found = deal_of(r)(fronts_, n, left, share(), expansions_);
    lower_memo_[index(r, n)] = found.bound;
    unsure_ = unsure_ || found.extra != found.bound;
    if (found.extra < never) kept_.push_back({r, n, found});
    return known = found.extra;
  }
  [[nodiscard]] ticks lower_extra(std::uint32_t r, std::int64_t n) {
    ticks most = 0;  // one layer less never takes more
    for (std::int64_t k = v_; k <= n; ++k) (void)dealt(r, k), most = (std::max)(most, lower_memo_[index(r, k)]);
    return most;
  }
  [[nodiscard]] bool fits(std::uint32_t r, std::int64_t a, std::int64_t b, ticks most) {
    const ticks base = fronts_.time(a, b) + q_.ranks[r].time;
    if (base > most) return false;
    const ticks more = extra(r, a, b);
    return more <= most - base;
  }

  /// The last end with which rank r, beginning at a, keeps within the time; a if there is none. The base time bounds it
  /// first, so that no larger front is made than the answer needs.
  [[nodiscard]] std::int64_t reach(std::uint32_t r, std::int64_t a, ticks most) {
    std::int64_t low = a + v_ - 1, high = layers_ - std::int64_t{v_} * (p_ - 1 - r);
    while (low < high) {
      const std::int64_t mid = high - (high - low) / 2;
      if (fronts_.time(a, mid) + q_.ranks[r].time <= most) low = mid;
      else high = mid - 1;
    }
    const std::int64_t by_time = low;
    low = a + v_ - 1, high = by_time;
    while (low < high) {
      const std::int64_t mid = high - (high - low) / 2;
      if (fits(r, a, mid, most)) low = mid;
      else high = mid - 1;
    }
    return low == a + v_ - 1 ? a : low;
  }
  /// The first begin with which it ends at b; b if there is none.
  [[nodiscard]] std::int64_t reach_back(std::uint32_t r, std::int64_t b, ticks most) {
    std::int64_t low = std::int64_t{v_} * r, high = b - v_ + 1;
    while (low < high) {
      const std::int64_t mid = low + (high - low) / 2;
      if (fronts_.time(mid, b) + q_.ranks[r].time <= most) high = mid;
      else low = mid + 1;
    }
    low = high, high = b - v_ + 1;
    while (low < high) {
      const std::int64_t mid = low + (high - low) / 2;
      if (fits(r, mid, b, most)) high = mid;
      else low = mid + 1;
    }
    return low == b - v_ + 1 ? b : low;
  }
  /// windows[r]: the first and the last cut before rank r that leave earlier ranks within bounds, if `end(r, a)` is the
  /// last end of rank r from a (a if it has none). False if the last rank cannot end with the model.
  template <class End>
  [[nodiscard]] bool reachable(std::vector<segment>& windows, End end) const {
    windows.assign(p_ + 1, segment{});
    if (fronts_.uniform()) {  // fewer layers are always as good a start: the cuts are all between least and greedy
      for (std::uint32_t r = 0; r < p_; ++r) {
        windows[r + 1] = {windows[r].begin + v_, end(r, windows[r].end)};
        if (windows[r + 1].end == windows[r].end) return false;
      }
      return windows[p_].end == layers_;
    }
    std::vector<char> now(static_cast<std::size_t>(layers_ + 1), 0), next;
    now[0] = 1;
    for (std::uint32_t r = 0; r < p_; ++r) {
      next.assign(now.size(), 0);
      std::int64_t first = layers_ + 1, last = -1;
      for (std::int64_t a = windows[r].begin; a <= windows[r].end; ++a) {
        if (now[static_cast<std::size_t>(a)] == 0) continue;
        const std::int64_t b = end(r, a);
        for (std::int64_t x = a + v_; x <= b; ++x) next[static_cast<std::size_t>(x)] = 1;
        if (b > a && a + v_ < first) first = a + v_;
        last = b > a && b > last ? b : last;
      }
      if (last < 0) return false;
      windows[r + 1] = {first, last};
      now.swap(next);
    }
    return now[static_cast<std::size_t>(layers_)] != 0;
  }
  [[nodiscard]] bool feasible(ticks most) {
    return reachable(windows_, [&](std::uint32_t r, std::int64_t a) { return reach(r, a, most); });
  }

  /// E(M): the least extra time of plans whose slowest rank takes at most M; keeps the plan if it is the best so far.
  /// Precondition: feasible(M).
  ticks cheapest_below(ticks most, std::int64_t weight) {
    const bool possible = feasible(most);
    HOCKET_ASSERT(possible);
    if (!possible) return never;
    std::vector<std::int64_t> last(p_ + 1, 0), first(p_ + 1, layers_);
    for (std::uint32_t r = 0; r <= p_; ++r) last[r] = windows_[r].end;
    for (std::uint32_t r = p_; r-- > 0;)
      first[r] = fronts_.uniform() ? (r == 0 ? 0 : reach_back(r, first[r + 1], most)) : windows_[r].begin;
    std::vector<std::vector<ticks>> cost(p_ + 1);
    std::vector<std::vector<std::int64_t>> from(p_ + 1);
    cost[0] = {0};
    for (std::uint32_t r = 0; r < p_; ++r) {
      const std::int64_t a0 = first[r], b0 = first[r + 1], b1 = last[r + 1];
      const auto width = static_cast<std::size_t>(b1 - b0 + 1);
      cost[r + 1].assign(width, never);
      from[r + 1].assign(width, 0);
      for (std::size_t i = 0; i < cost[r].size(); ++i) {
        if (cost[r][i] >= never) continue;
        const std::int64_t a = a0 + static_cast<std::int64_t>(i);
        for (std::int64_t b = (a + v_ > b0 ? a + v_ : b0); b <= b1 && fits(r, a, b, most); ++b) {
          const ticks sum = cost[r][i] + extra(r, a, b);
          const auto j = static_cast<std::size_t>(b - b0);
          if (sum < cost[r + 1][j]) cost[r + 1][j] = sum, from[r + 1][j] = a;
        }
      }
    }
    const ticks found = cost[p_].back();
    if (found >= never) return never;  // only beyond the budget, where what is known of a rank may be too little
    std::vector<std::int64_t> cuts(p_ + 1, layers_);
    for (std::uint32_t r = p_; r > 0; --r) cuts[r - 1] = from[r][static_cast<std::size_t>(cuts[r] - first[r])];
    ticks slowest = 0;
    for (std::uint32_t r = 0; r < p_; ++r) {
      const ticks t = fronts_.time(cuts[r], cuts[r + 1]) + q_.ranks[r].time + extra(r, cuts[r], cuts[r + 1]);
      slowest = t > slowest ? t : slowest;
    }
    const ticks price = q_.goal == objective::step_time ? base_ + found + weight * slowest : slowest;
    if (price < best_cost_) best_cost_ = price, cuts_ = cuts;
    return found;
  }
  /// Looks between low and high, whose E are known, for a better plan.
  void descend(ticks low, ticks extra_low, ticks high, ticks extra_high, std::int64_t weight) {
    if (high - low <= 1 || extra_low == extra_high) return;
    if (base_ + extra_high + weight * (low + 1) >= best_cost_) return;
    const ticks mid = low + (high - low) / 2;
    const ticks extra_mid = cheapest_below(mid, weight);
    descend(low, extra_low, mid, extra_mid, weight);
    descend(mid, extra_mid, high, extra_high, weight);
  }

  [[nodiscard]] ticks all_time() const { return base_ + most_extra(q_); }

  // Memory alone: every layer as lean as can be.
  [[nodiscard]] std::int64_t lean_bytes(std::uint32_t r, std::int64_t a, std::int64_t b) const {
    if (v_ == 1) {
      const segment own{a, b};
      return b - a > most_ ? never : choose_.leanest_bytes(r, {&own, 1});
    }
    std::int64_t& load = loads_[index(r, b - a)];
    if (load == unknown) {
      const auto found = deal_of(r).least_load(b - a, share(), expansions_);
      load = found.load, unsure_ = unsure_ || !found.proved;
    }
    return load >= never ? never : q_.ranks[r].fixed + fronts_.weights(0, b - a) + load * fronts_.leanest(0, 1);
  }
  /// The last end of rank r from a with which it fits into its capacity and `more`; a if there is none.
  [[nodiscard]] std::int64_t lean_end(std::uint32_t r, std::int64_t a, std::int64_t more) const {
    const std::int64_t limit = layers_ - std::int64_t{v_} * (p_ - 1 - r), room = q_.ranks[r].capacity + more;
    const auto fits_lean = [&](std::int64_t b) { return lean_bytes(r, a, b) <= room; };
    // Steps that double, then bisection: with several chunks a long segment takes long.
    std::int64_t low = a + v_ - 1, step = 1;
    while (low + step <= limit && fits_lean(low + step)) low += step, step *= 2;
    std::int64_t high = low + step - 1 < limit ? low + step - 1 : limit;
    while (low < high) {
      const std::int64_t mid = high - (high - low) / 2;
      if (fits_lean(mid)) low = mid;
      else high = mid - 1;
    }
    return low == a + v_ - 1 ? a : low;
  }
  [[nodiscard]] bool lean_fits(std::int64_t more) const {
    std::vector<segment> windows;
    return reachable(windows, [&](std::uint32_t r, std::int64_t a) { return lean_end(r, a, more); });
  }
  [[nodiscard]] std::int64_t least_lack() const {
    if (lean_fits(0)) return 0;
    std::int64_t low = 0, high = 1;
    while (!lean_fits(high)) low = high, high *= 2;
    while (high - low > 1) {
      const std::int64_t mid = low + (high - low) / 2;
      if (lean_fits(mid)) high = mid;
      else low = mid;
    }
    return high;
  }
  /// The first rank that lacks exactly the least lack in a split where none lacks more: without it nothing fits.
  [[nodiscard]] error shortage(std::int64_t lack) const {
    const error nothing = error{errc::does_not_fit, 0, lack}.with("the split that needs least");
    std::vector<std::vector<std::int64_t>> from(p_ + 1,
                                                std::vector<std::int64_t>(static_cast<std::size_t>(layers_ + 1), -1));
    from[0][0] = 0;
    for (std::uint32_t r = 0; r < p_; ++r)
      for (std::int64_t a = 0; a < layers_; ++a) {
        if (from[r][static_cast<std::size_t>(a)] < 0) continue;
        const std::int64_t b = lean_end(r, a, lack);
        for (std::int64_t x = a + v_; x <= b; ++x) from[r + 1][static_cast<std::size_t>(x)] = a;
      }
    std::uint32_t binding = p_;
    std::int64_t at = layers_;
    for (std::uint32_t r = p_; r-- > 0;) {
      const std::int64_t begin = from[r + 1][static_cast<std::size_t>(at)];
      if (begin < 0) return nothing;
      if (lean_bytes(r, begin, at) - q_.ranks[r].capacity == lack) binding = r;
      at = begin;
    }
    return binding == p_ ? nothing : error{errc::does_not_fit, binding, lack}.with("the split that needs least");
  }

  [[nodiscard]] raw_split written_out() {
    raw_split raw;
    raw.parts.resize(p_), raw.answers.resize(p_);
    for (std::uint32_t r = 0; r < p_; ++r) {
      if (v_ == 1) raw.parts[r].assign(1, {cuts_[r], cuts_[r + 1]}), raw.answers[r] = answer(r, cuts_[r], cuts_[r + 1]);
      for (const found_deal& x : kept_) {
        if (x.rank != r || x.layers != cuts_[r + 1] - cuts_[r]) continue;
        raw.answers[r] = {x.deal.extra, x.deal.points};
        raw.parts[r].clear();
        for (const std::int64_t n : x.deal.sizes) raw.parts[r].push_back({0, n});  // equal layers: only lengths matter
      }
    }
    return raw;
  }

  /// What was found for a rank with so many layers; several chunks only.
  struct found_deal {
    std::uint32_t rank;
    std::int64_t layers;
    chunk_deal::answer deal;
  };

  const split_problem& q_;
  segment_fronts& fronts_;
  rank_choice& choose_;
  std::int64_t& expansions_;
  std::uint32_t p_, v_;
  std::int64_t layers_, most_;
  mutable bool unsure_ = false;  // some way to deal out layers was not proved best
  bool lower_ = false;           // bounds take the place of answers
  ticks base_ = 0;
  // Equal layers, by rank and number of layers: extra time; its bound; the least activations at once, in layers.
  std::vector<ticks> memo_, lower_memo_;
  mutable std::vector<std::int64_t> loads_;
  mutable std::vector<std::unique_ptr<chunk_deal>> deals_;  // by rank
  std::vector<found_deal> kept_;
  std::vector<segment> windows_;
  ticks best_cost_ = never;
  std::vector<std::int64_t> cuts_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
