// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/detail/count_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Bounds on the split of unequal layers, memory included: each rank gets a number of layers of each kind, wherever
/// they stand in the model, and computes again what count_bound says. A shortest path over the ranks, whose states are
/// the numbers dealt out, gives the least extra time under a bound on the slowest rank. Models have few kinds of
/// layers; where there are more, those of similar time count as one that is as quick and lean as the quickest and
/// leanest.
class kind_bound {
 public:
  /// @param most  times of the slowest rank from which on nothing is asked
  kind_bound(const split_problem& q, const segment_fronts& fronts, ticks most)
      : q_(q),
        p_(q.ranks.size()),
        chunks_(q.in_flight.chunks()),
        longest_(q.most_on_stage > 0 ? q.most_on_stage : fronts.layers()),
        layers_(fronts.layers()) {
    group(fronts);
    if (!make_portions(most) || p_ * time_.size() * portions_.size() > max_steps) return;
    for (std::uint32_t r = 0; r < p_; ++r) {
      std::vector<std::vector<std::int64_t>> held;
      for (std::uint32_t k = 0; k < q.in_flight.times(r); ++k) {
        const auto at = q.in_flight.at(r, k);
        held.emplace_back(at.begin(), at.end());
      }
      ranks_.emplace_back(held, 0);
    }
    extra_.assign(p_ * portions_.size(), unknown);
    find_reach();
  }

  /// False if there are too many ways to choose the layers of a rank.
  [[nodiscard]] bool usable() const noexcept { return !ranks_.empty(); }

  /// The least time that some plan's slowest rank may take, from `low` on; `most` if all below are refuted.
  [[nodiscard]] ticks slowest(ticks low, ticks most) {
    ticks step = 1 + low / 256, high = low--;
    while (high < most && !tired() && least_extra(high) >= never)
      low = high, high = (std::min)(most, high + step), step *= 2;
    while (high - low > 1 && !tired()) {
      const ticks mid = low + (high - low) / 2;
      (least_extra(mid) < never ? high : low) = mid;
    }
    return low + 1;
  }
  /// The least Σ extra + weight · slowest rank that some plan may have; `below` if it has no less.
  /// @param low  a bound on the slowest rank
  [[nodiscard]] ticks weighted(ticks low, std::int64_t weight, ticks below) {
    const ticks at_low = least_extra(low);
    best_ = below;
    best_ = at_low < never ? (std::min)(best_, at_low + weight * low) : best_;
    const ticks high = weight > 0 ? best_ / weight : low;
    if (high <= low) return best_;
    const ticks at_high = least_extra(high);
    if (at_high < never) best_ = (std::min)(best_, at_high + weight * high);
    between(low, at_low, high, at_high, weight);
    return best_;
  }

  /// The least extra time of all ranks if none takes more than `most`; `never` if they cannot hold the layers.
  [[nodiscard]] ticks least_extra(ticks most) {
    const auto room = [&](std::size_t r) { return (std::max)(ticks{0}, most - q_.ranks[r].time); };
    ticks before = 0, left = 0;  // for layers: on the ranks before, on those that follow
    for (std::size_t r = 0; r < p_; ++r) before += room(r);
    rest_.resize(p_ + 1);
    rest_[p_].assign(time_.size(), never), rest_[p_].back() = 0;
    for (std::size_t r = p_; r-- > 0; left += room(r)) {
      before -= room(r);
      const auto earlier = static_cast<std::int64_t>(r) * chunks_;  // stages
      rest_[r].assign(time_.size(), never);
      for (std::size_t s = 0; s < time_.size(); ++s) {
        if (time_[s] > before || count_[s] < earlier || count_[s] > earlier * longest_) continue;
        for (std::size_t i = 0; i < portions_.size(); ++i) {
          const portion& x = portions_[i];
          if (time_[s] + x.time + left < time_.back()) break;  // the dearest first
          ++steps_;
          if (x.layers < chunks_ || x.time > room(r) || !fits(s, x.state)) continue;
          const ticks then = rest_[r + 1][s + x.state];
          if (then >= rest_[r][s]) continue;
          const ticks more = extra(r, i);
          if (more <= room(r) - x.time) rest_[r][s] = (std::min)(rest_[r][s], more + then);
        }
      }
    }
    return rest_[0][0];
  }
  /// Whether bounds are no longer sharpened, for want of budget.
  [[nodiscard]] bool tired() const noexcept { return steps_ / 64 > q_.budget; }
  /// Of the last question: the least extra time of the ranks from r on if those before have taken what `state` says.
  [[nodiscard]] ticks rest(std::size_t r, std::size_t state) const noexcept { return rest_[r][state]; }
  /// What the first layers of the model are as a state. Those of several pieces add up.
  [[nodiscard]] std::size_t state_of(std::int64_t layers) const noexcept {
    return first_[static_cast<std::size_t>(layers)];
  }

 private:
  static constexpr ticks unknown = -1;
  static constexpr std::size_t max_states = 4096, max_points = std::size_t{1} << 19, max_steps = std::size_t{1} << 23;

  struct kind {
    ticks time;
    std::int64_t weights;
    level_front levels;
    std::int64_t count;
    std::vector<std::int64_t> layers;  // in the model
  };
  /// What a rank may get: so many layers of each kind, as state.
  struct portion {
    std::size_t state;
    ticks time;
    std::int64_t layers, weights;
    level_front front;
  };

  void group(const segment_fronts& fronts) {
    for (std::size_t k = 0; k < fronts.kinds(); ++k)
      kinds_.push_back({fronts.kind(k).time, fronts.kind(k).weights, fronts.levels_of_kind(k), 0, {}});
    for (std::int64_t i = 0; i < layers_; ++i) {
      kind& x = kinds_[fronts.kind_of(i)];
      ++x.count, x.layers.push_back(i);
    }
    std::sort(kinds_.begin(), kinds_.end(), [](const kind& a, const kind& b) { return a.time < b.time; });
    const auto states = [&] {
      std::size_t all = 1;
      for (const kind& x : kinds_) all = (std::min)(all, max_states + 1) * static_cast<std::size_t>(x.count + 1);
      return all;
    };
    const std::size_t limit = states() > max_states ? max_states / 4 : max_states;  // groups bound less: less time
    while (states() > limit && kinds_.size() > 1) {  // the two nearest neighbours become one
      std::size_t at = 0;
      const auto apart = [&](std::size_t k) {
        return (kinds_[k + 1].time - kinds_[k].time) * (std::min)(kinds_[k].count, kinds_[k + 1].count);
      };
      for (std::size_t k = 1; k + 1 < kinds_.size(); ++k)
        if (apart(k) < apart(at)) at = k;
      kind &one = kinds_[at], &other = kinds_[at + 1];
      one.weights = (std::min)(one.weights, other.weights), one.count += other.count;
      one.levels.insert(one.levels.end(), other.levels.begin(), other.levels.end());
      one.layers.insert(one.layers.end(), other.layers.begin(), other.layers.end());
      keep_front(one.levels);
      kinds_.erase(kinds_.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    std::size_t all = 1;
    for (const kind& x : kinds_) unit_.push_back(all), all *= static_cast<std::size_t>(x.count + 1);
    std::vector<std::size_t> add(static_cast<std::size_t>(layers_));
    for (std::size_t k = 0; k < kinds_.size(); ++k)
      for (const std::int64_t i : kinds_[k].layers) add[static_cast<std::size_t>(i)] = unit_[k];
    first_.assign(1, 0);
    for (const std::size_t x : add) first_.push_back(first_.back() + x);
    time_.assign(all, 0), count_.assign(all, 0);
    for (std::size_t s = 0; s < all; ++s)
      for (std::size_t k = 0; k < kinds_.size(); ++k)
        time_[s] += digit(s, k) * kinds_[k].time, count_[s] += digit(s, k);
  }
  [[nodiscard]] std::int64_t digit(std::size_t state, std::size_t k) const noexcept {
    return static_cast<std::int64_t>(state / unit_[k]) % (kinds_[k].count + 1);
  }
  /// Whether so many layers of each kind are left.
  [[nodiscard]] bool fits(std::size_t taken, std::size_t more) const noexcept {
    if (taken + more >= time_.size()) return false;
    return count_[taken + more] == count_[taken] + count_[more];  // else a digit has carried
  }
  [[nodiscard]] bool make_portions(ticks most) {
    const std::int64_t room = layers_ - static_cast<std::int64_t>(p_ - 1) * chunks_;
    std::size_t points = 0;
    std::vector<std::size_t> of(time_.size(), time_.size());  // portion by state
    for (std::size_t s = 0; s < time_.size(); ++s) {
      if (time_[s] > most || count_[s] > (std::min)(room, longest_ * chunks_)) continue;
      portion x{s, time_[s], count_[s], 0, {level{}}};
      for (std::size_t k = 0; k < kinds_.size(); ++k) {
        if (digit(s, k) == 0) continue;
        const portion& before = portions_[of[s - unit_[k]]];
        x.front = extended(before.front, kinds_[k].levels), x.weights = before.weights + kinds_[k].weights;
        break;
      }
      points += x.front.size();
      if (points > max_points) return false;
      of[s] = portions_.size();
      portions_.push_back(std::move(x));
    }
    std::sort(portions_.begin(), portions_.end(), [](const portion& a, const portion& b) {
      return a.time != b.time ? a.time > b.time : a.state < b.state;
    });
    return true;
  }
  /// How many layers of each kind a rank can get, as every stage has some.
  void find_reach() {
    const std::int64_t stages = static_cast<std::int64_t>(p_) * chunks_;
    reach_.assign(p_ * kinds_.size(), 0);
    for (std::size_t k = 0; k < kinds_.size(); ++k)
      for (const std::int64_t layer : kinds_[k].layers) {
        // The stages that it may lie on, by the layers before and behind.
        const std::int64_t behind = layers_ - 1 - layer;
        const std::int64_t first = (std::max)(layer / longest_, stages - 1 - behind);
        const std::int64_t last = (std::min)(layer, stages - 1 - behind / longest_);
        std::vector<char> seen(p_, 0);
        for (std::int64_t s = (std::max)(std::int64_t{0}, first); s <= (std::min)(last, stages - 1); ++s)
          seen[q_.in_flight.rank_of(static_cast<std::uint32_t>(s))] = 1;
        for (std::size_t r = 0; r < p_; ++r) reach_[r * kinds_.size() + k] += seen[r];
      }
  }
  [[nodiscard]] ticks extra(std::size_t r, std::size_t i) {
    ticks& known = extra_[r * portions_.size() + i];
    if (known != unknown) return known;
    const portion& x = portions_[i];
    for (std::size_t k = 0; k < kinds_.size(); ++k)
      if (digit(x.state, k) > reach_[r * kinds_.size() + k]) return known = never;
    const std::int64_t left = q_.ranks[r].capacity - q_.ranks[r].fixed - x.weights;
    std::int64_t lean = never;
    for (const kind& k : kinds_) lean = (std::min)(lean, k.levels.back().bytes);
    left_.assign(q_.in_flight.times(static_cast<std::uint32_t>(r)), left);
    return known = left < 0 ? never : ranks_[r].least_extra(x.front, lean, left_);
  }
  /// Between two bounds on the slowest rank whose least extra time is known: whether some plan may be better.
  void between(ticks low, ticks at_low, ticks high, ticks at_high, std::int64_t weight) {
    if (high - low <= 1 || at_low == at_high || at_high + weight * (low + 1) >= best_) return;
    if (tired()) return void(best_ = at_high + weight * (low + 1));
    const ticks mid = low + (high - low) / 2, at_mid = least_extra(mid);
    if (at_mid < never) best_ = (std::min)(best_, at_mid + weight * mid);
    between(low, at_low, mid, at_mid, weight);
    between(mid, at_mid, high, at_high, weight);
  }

  const split_problem& q_;
  std::size_t p_;
  std::int64_t chunks_, longest_, layers_;
  std::vector<kind> kinds_;
  std::vector<std::size_t> unit_;    // what one layer more of a kind adds to a state
  std::vector<ticks> time_;          // by state
  std::vector<std::int64_t> count_;  // by state
  std::vector<portion> portions_;    // the dearest first
  std::vector<count_bound> ranks_;
  std::vector<ticks> extra_;         // by rank and portion
  std::vector<std::int64_t> reach_;  // by rank and kind
  std::vector<std::int64_t> left_;
  std::vector<std::vector<ticks>> rest_;  // by rank and state before it
  std::vector<std::size_t> first_;        // by number of layers
  ticks best_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
