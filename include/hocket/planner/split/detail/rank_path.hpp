// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
    const auto fits_with = [&](std::int64_t more) { return possible(leanest{*this, more}); };
    if (!fits_with(0)) {
      const std::int64_t lack = first_above(0, 1, fits_with);
      return costs_.unsure() ? out_of_budget(q_) : shortage(lack);
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
    if (find_best()) raw.bound = best_value_;
    return raw;
  }

 private:
  using cut_list = std::vector<std::int64_t>;

  /// Whether rank r can take the layers [a, b), as lean as can be, in its capacity and so much more.
  struct leanest {
    rank_path& path;
    std::int64_t more;
    [[nodiscard]] bool operator()(std::uint32_t r, std::int64_t a, std::int64_t b) const {
      return path.costs_.lean_bytes(r, a, b) <= path.q_.ranks[r].capacity + more;
    }
  };
  /// Whether it can run them in this time. The base time comes first, so that no larger front is made than is needed.
  struct within {
    rank_path& path;
    ticks most;
    [[nodiscard]] bool operator()(std::uint32_t r, std::int64_t a, std::int64_t b) const {
      const ticks base = path.fronts_.time(a, b) + path.q_.ranks[r].time;
      return base <= most && path.costs_.extra(r, a, b) <= most - base;
    }
  };

  [[nodiscard]] bool find_best() {
    const ticks low = ceil_div(base_, ticks{p_}) - 1;
    const ticks least =
        first_above(low, low / 16 + 1, [&](ticks x) { return x > all_time_ || possible(within{*this, x}); });
    if (least > all_time_) return false;
    const ticks at_least = cheapest_below(least);
    if (q_.goal == objective::slowest_rank) return !cuts_.empty();
    ticks limit = all_time_;
    if (q_.weight_of_slowest > 0) limit = (std::min)(limit, (best_value_ - base_) / q_.weight_of_slowest);
    if (limit > least) descend(least, at_least, limit, cheapest_below(limit));
    return !cuts_.empty();
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
  /// E(M): the least extra time of plans whose slowest rank takes at most M; keeps the plan if it is the best so far.
  ticks cheapest_below(ticks most) {
    const auto extra_of = [&](std::uint32_t r, std::int64_t a, std::int64_t b) { return costs_.extra(r, a, b); };
    const cut_list cuts = path(within{*this, most}, extra_of);
    if (cuts.empty()) return never;  // beyond the budget: too little is known of some rank
    ticks slowest = 0;
    ticks extra = 0;
    for (std::uint32_t r = 0; r < p_; ++r) {
      const ticks own = extra_of(r, cuts[r], cuts[r + 1]);
      extra += own;
      slowest = (std::max)(slowest, fronts_.time(cuts[r], cuts[r + 1]) + q_.ranks[r].time + own);
    }
    if (const ticks value = q_.value(slowest, base_ + extra); value < best_value_) {
      best_value_ = value;
      cuts_ = cuts;
    }
    return extra;
  }
  /// The first rank that lacks exactly the least lack in a split where none lacks more: without it nothing fits.
  [[nodiscard]] error shortage(std::int64_t lack) {
    const cut_list cuts =
        path(leanest{*this, lack}, [](std::uint32_t, std::int64_t, std::int64_t) { return ticks{0}; });
    std::uint32_t binding = 0;
    while (costs_.lean_bytes(binding, cuts[binding], cuts[binding + 1]) - q_.ranks[binding].capacity != lack) ++binding;
    return error{errc::does_not_fit, binding, lack}.with("the split that needs least");
  }

  /// The last end with which rank r, beginning at a, fits; a if there is none. What fits does so with fewer layers.
  template <class Fits>
  [[nodiscard]] std::int64_t reach(std::uint32_t r, std::int64_t a, const Fits& fits) const {
    const std::int64_t limit = layers_ - std::int64_t{v_} * (p_ - 1 - r);
    const std::int64_t end =
        first_above(a + v_ - 1, 1, [&](std::int64_t b) { return b > limit || !fits(r, a, b); }) - 1;
    return end < a + v_ ? a : end;
  }
  /// windows_[r]: between these lie all cuts before rank r that leave earlier and later ranks within bounds. What fits
  /// on a rank does so with fewer layers. So the farthest cut leads farthest, unless the rank cannot take the very next
  /// layer; and looked at from the end the nearest cut leads nearest. False if the last rank cannot end with the model.
  template <class Fits>
  [[nodiscard]] bool open_windows(const Fits& fits) {
    windows_.assign(p_ + 1, segment{});
    for (std::uint32_t r = 0; r < p_; ++r) {
      segment& next = windows_[r + 1] = {windows_[r].begin + v_, -1};
      for (std::int64_t a = windows_[r].end; a >= windows_[r].begin && next.end < 0; --a)
        if (const std::int64_t b = reach(r, a, fits); b > a) next.end = b;
      if (next.end < next.begin) return false;
    }
    if (windows_[p_].end != layers_) return false;
    windows_[p_].begin = layers_;
    for (std::uint32_t r = p_; r-- > 1;) {
      std::int64_t first = -1;
      for (std::int64_t b = windows_[r + 1].begin; b <= windows_[r + 1].end && first < 0; ++b)
        if (const std::int64_t a = reach_back(r, b, fits); a < b) first = a;
      if (first < 0) return false;
      windows_[r].begin = (std::max)(windows_[r].begin, first);
    }
    return true;
  }
  /// The first begin with which rank r, ending at b, fits; b if there is none.
  template <class Fits>
  [[nodiscard]] std::int64_t reach_back(std::uint32_t r, std::int64_t b, const Fits& fits) const {
    const auto too_long = [&](std::int64_t n) { return n > b - std::int64_t{v_} * r || !fits(r, b - n, b); };
    const std::int64_t size = first_above(v_ - 1, 1, too_long) - 1;
    return size < v_ ? b : b - size;
  }
  template <class Fits>
  [[nodiscard]] bool possible(const Fits& fits) {
    if (fronts_.uniform()) return open_windows(fits);
    return !path(fits, [](std::uint32_t, std::int64_t, std::int64_t) { return ticks{0}; }).empty();
  }
  /// The cuts, from 0 to all layers, with the least sum of costs such that each rank fits; empty if there are none.
  template <class Fits, class Cost>
  [[nodiscard]] cut_list path(const Fits& fits, const Cost& cost) {
    if (!open_windows(fits)) return {};
    const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    std::vector<std::vector<ticks>> best(p_ + 1);
    std::vector<cut_list> from(best.size());
    best[0] = {0};
    for (std::uint32_t r = 0; r < p_; ++r) {
      const segment to = windows_[r + 1];
      if (to.size() < 0) return {};
      best[r + 1].assign(at(to.size() + 1), never);
      from[r + 1].assign(at(to.size() + 1), 0);
      for (std::int64_t a = windows_[r].begin; a <= windows_[r].end; ++a) {
        const ticks before = best[r][at(a - windows_[r].begin)];
        if (before >= never) continue;
        for (std::int64_t b = (std::max)(a + v_, to.begin); b <= to.end && fits(r, a, b); ++b) {
          const ticks sum = before + cost(r, a, b);
          if (sum >= best[r + 1][at(b - to.begin)]) continue;
          best[r + 1][at(b - to.begin)] = sum;
          from[r + 1][at(b - to.begin)] = a;
        }
      }
    }
    if (best[p_].back() >= never) return {};
    cut_list cuts(p_ + 1, layers_);
    for (std::uint32_t r = p_; r-- > 0;) cuts[r] = from[r + 1][at(cuts[r + 1] - windows_[r + 1].begin)];
    return cuts;
  }

  const split_numbers& q_;
  segment_fronts& fronts_;
  rank_costs costs_;
  std::uint32_t p_, v_;
  std::int64_t layers_;
  ticks base_, all_time_;
  std::vector<segment> windows_;
  ticks best_value_ = never;
  cut_list cuts_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
