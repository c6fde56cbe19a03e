// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/split/detail/count_bound.hpp>
#include <hocket/planner/split/detail/layer_classes.hpp>
#include <hocket/planner/split/detail/rank_levels.hpp>
#include <hocket/planner/split/detail/rank_shares.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Makes a front short, from below: of neighbours one is left that is as good as both.
inline void relax(level_front& front, std::size_t most) {
  while (front.size() > most) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < front.size(); i += 2) {
      const level_point& leaner = front[(std::min)(i + 1, front.size() - 1)];
      front[kept++] = {leaner.bytes, front[i].extra};
    }
    front.resize(kept);
  }
}

/// What some layers on a rank take at the least: the rank's share of their time without recomputation, and what they
/// compute again.
struct rank_part {
  ticks load = never;  ///< never: they do not fit
  ticks extra = 0;
};

/// One chunk a rank: the layers of a rank stand in a row, and what they take is exact.
///
///     state i  the first i layers are on the ranks so far       state i -> state j  the next rank has [i, j)
///
/// What a rank can take it also can with fewer layers. So the states that lie on a way to the end are between the
/// farthest that earlier ranks reach and the nearest from which later ones reach the end: a window for each rank.
class row_parts {
 public:
  row_parts(const split_numbers& q, const segment_fronts& fronts, rank_levels& choose, const stage_clock& clock,
            const rank_shares& shares)
      : q_(q), choose_(choose), clock_(clock), shares_(shares), layers_(fronts.layers()) {
    stage_of_.resize(q.ranks.size());
    for (std::uint32_t s = 0; s < stage_of_.size(); ++s) stage_of_[q.in_flight.rank_of(s)] = s;
  }

  [[nodiscard]] std::size_t states() const noexcept { return static_cast<std::size_t>(layers_) + 1; }
  /// Finds the windows where no rank is loaded beyond its limit. Without it no part has an end.
  /// @return how often for_each will call f at most, all ranks and states together. O(ranks layers log layers).
  [[nodiscard]] std::int64_t open(std::span<const ticks> limits) {
    const auto p = static_cast<std::uint32_t>(q_.ranks.size());
    limits_.assign(limits.begin(), limits.end());
    windows_.assign(p + 1, {0, layers_});
    windows_[0].end = 0;
    for (std::uint32_t r = 0; r + 1 < p; ++r)
      windows_[r + 1].end = (std::max)(windows_[r].end, reach(r, windows_[r].end));
    windows_[p].begin = layers_;
    for (std::uint32_t r = p; r-- > 1;) windows_[r].begin = reach_back(r, windows_[r + 1].begin);
    std::int64_t parts = 0;
    for (std::uint32_t r = 0; r < p; ++r)
      for (std::int64_t a = windows_[r].begin; a <= windows_[r].end; ++a) {
        const std::int64_t most = (std::min)(reach(r, a), windows_[r + 1].end);
        parts += (std::max)(std::int64_t{0}, most + 1 - first_end(r, a));
      }
    return parts;
  }
  /// Calls f(next state, part) for all that rank r may have after a state, without what loads it beyond its limit.
  template <class F>
  void for_each(std::uint32_t r, std::size_t state, F&& f) {
    const auto begin = static_cast<std::int64_t>(state);
    for (std::int64_t end = first_end(r, begin); end <= windows_[r + 1].end && can_take(r, {begin, end}); ++end) {
      const segment own{begin, end};
      f(static_cast<std::size_t>(end), rank_part{load_of(r, own), choose_(r, {&own, 1}).extra});
    }
  }

 private:
  [[nodiscard]] std::int64_t first_end(std::uint32_t r, std::int64_t begin) const noexcept {
    return (std::max)(begin + 1, windows_[r + 1].begin);
  }
  [[nodiscard]] bool can_take(std::uint32_t r, const segment& own) const {
    return own.size() <= q_.longest && load_of(r, own) <= limits_[r] &&
           choose_.leanest_bytes(r, {&own, 1}) <= q_.ranks[r].capacity;
  }
  /// The last end with which rank r can begin here; the begin if there is none.
  [[nodiscard]] std::int64_t reach(std::uint32_t r, std::int64_t begin) const {
    const auto later = static_cast<std::int64_t>(q_.ranks.size()) - 1 - r;
    const auto beyond = [&](std::int64_t end) { return end > layers_ - later || !can_take(r, {begin, end}); };
    return first_above(begin, 1, beyond) - 1;
  }
  /// The first begin with which rank r can end here; the end if there is none.
  [[nodiscard]] std::int64_t reach_back(std::uint32_t r, std::int64_t end) const {
    const auto beyond = [&](std::int64_t size) {
      return size > end - std::int64_t{r} || !can_take(r, {end - size, end});
    };
    return end - (first_above(0, 1, beyond) - 1);
  }
  [[nodiscard]] ticks load_of(std::uint32_t r, const segment& own) const {
    const stage_run time = clock_(stage_of_[r], own.begin, own.end, 0);
    return shares_.own[r].forward * time.forward + shares_.own[r].whole * time.whole;
  }

  const split_numbers& q_;
  rank_levels& choose_;
  const stage_clock& clock_;
  const rank_shares& shares_;
  std::int64_t layers_;
  std::vector<std::uint32_t> stage_of_;  // by rank
  std::vector<ticks> limits_;            // by rank
  std::vector<segment> windows_;         // by rank: where it may begin; and where the last one ends
};

/// Several chunks a rank: how many layers of each class a rank has counts, not which, nor on which of its chunks.
class bag_parts {
 public:
  bag_parts(const split_numbers& q, const std::vector<layer_class>& classes, const stage_clock& clock,
            const rank_shares& shares)
      : q_(q), classes_(classes), shares_(shares) {
    for (const layer_class& x : classes) {
      radix_.push_back(states_);
      states_ *= static_cast<std::size_t>(x.count) + 1;
      lean_ = (std::min)(lean_, x.levels.back().bytes);
    }
    beside_.assign(q.ranks.size(), {});
    for (std::uint32_t s = 0; s < clock.stages(); ++s) {
      beside_[q.in_flight.rank_of(s)].forward += clock.beside(s).forward;
      beside_[q.in_flight.rank_of(s)].whole += clock.beside(s).whole;
    }
    for (std::uint32_t r = 0; r < q.ranks.size(); ++r) bounds_.emplace_back(counts_of(q.in_flight, r), 0);
    known_.resize(q.ranks.size());
  }

  [[nodiscard]] std::size_t states() const noexcept { return states_; }
  /// As in row_parts; how many parts there are is not known before.
  [[nodiscard]] std::int64_t open(std::span<const ticks> limits) {
    limits_.assign(limits.begin(), limits.end());
    return 0;
  }
  template <class F>
  void for_each(std::uint32_t r, std::size_t state, F&& f) {
    if (known_[r].empty()) list_parts(r, limits_[r]);
    const bool last = r + 1 == q_.ranks.size();
    for (const entry& x : known_[r])
      if ((!last || state + x.bag + 1 == states_) && goes(state, x.bag)) f(state + x.bag, x.part);
  }

 private:
  static constexpr std::size_t max_front = 512;

  struct entry {
    std::size_t bag = 0;
    rank_part part;
  };

  [[nodiscard]] std::int64_t digit(std::size_t number, std::size_t k) const noexcept {
    return static_cast<std::int64_t>(number / radix_[k] % (static_cast<std::size_t>(classes_[k].count) + 1));
  }
  /// Whether there are as many layers of each class as both have together.
  [[nodiscard]] bool goes(std::size_t state, std::size_t bag) const noexcept {
    for (std::size_t k = 0; k < classes_.size(); ++k)
      if (digit(state, k) + digit(bag, k) > classes_[k].count) return false;
    return true;
  }
  /// All that fits on a rank.
  void list_parts(std::uint32_t r, ticks limit) {
    const std::int64_t v = q_.in_flight.chunks();
    for (std::size_t bag = 0; bag < states_; ++bag) {
      std::int64_t layers = 0;
      for (std::size_t k = 0; k < classes_.size(); ++k) layers += digit(bag, k);
      if (layers < v || ceil_div(layers, v) > q_.longest) continue;
      if (const rank_part x = part_of(r, bag, limit); x.load < never) known_[r].push_back({bag, x});
    }
  }
  [[nodiscard]] rank_part part_of(std::uint32_t r, std::size_t bag, ticks limit) {
    const stage_share& share = shares_.own[r];
    std::int64_t weights = 0;
    rank_part x{share.forward * beside_[r].forward + share.whole * beside_[r].whole, 0};
    for (std::size_t k = 0; k < classes_.size(); ++k) {
      const layer_class& c = classes_[k];
      weights += digit(bag, k) * c.weights;
      const ticks forward = share.forward < 0 ? c.most_forward : c.time.forward;
      x.load += digit(bag, k) * (share.forward * forward + share.whole * c.time.whole);
    }
    const std::int64_t left = q_.ranks[r].capacity - q_.ranks[r].fixed - weights;
    if (left < 0 || x.load > limit) return {};
    const std::vector<std::int64_t> rooms(q_.in_flight.times(r), left);
    x.extra = bounds_[r].least_extra(front_of(bag), lean_, rooms);
    return x.extra < never ? x : rank_part{};
  }
  [[nodiscard]] const level_front& front_of(std::size_t bag) {
    const auto known = fronts_.find(bag);
    if (known != fronts_.end()) return known->second;
    level_front made{level_point{}};
    for (std::size_t k = 0; k < classes_.size(); ++k) {
      if (digit(bag, k) == 0) continue;
      made = extended(front_of(bag - radix_[k]), classes_[k].levels);
      relax(made, max_front);
      break;
    }
    return fronts_[bag] = std::move(made);
  }

  const split_numbers& q_;
  const std::vector<layer_class>& classes_;
  const rank_shares& shares_;
  std::size_t states_ = 1;
  std::vector<std::size_t> radix_;  // of each class: a state is a number with a digit for each
  std::int64_t lean_ = never;       // the least bytes that a layer keeps
  std::vector<stage_run> beside_;   // by rank
  std::vector<count_bound> bounds_;
  std::vector<ticks> limits_;                  // by rank
  std::vector<std::vector<entry>> known_;      // by rank
  std::map<std::size_t, level_front> fronts_;  // by bag
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
