// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/split/detail/kind_portions.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// What kind_bound says, for many ranks and layers: a layer of each kind has a price, for which a rank takes it, and
/// each rank takes the portion that is the cheapest to it. No plan computes less again than all these portions do, with
/// the prices of the layers that they leave. Prices in proportion to the times of the layers are found by bisection,
/// then each goes its own way in steps after Polyak. The more ranks, the less is lost by it.
class kind_prices {
 public:
  /// @param most  times of the slowest rank from which on nothing is asked
  kind_prices(const split_problem& q, const segment_fronts& fronts, ticks most)
      : q_(q), p_(q.ranks.size()), portions_(q, fronts, most, 0, max_calls) {
    ticks time = 1;
    for (const auto& x : portions_.kinds()) {
      time_.push_back((std::max)(ticks{1}, x.time));
      time += time_.back() * x.count, beyond_ += x.levels.back().extra * x.count;
    }
    usable_ = portions_.usable() && wide{time} * beyond_ < wide{1} << 90;
  }

  /// False if there are too many ways to choose the layers of a rank.
  [[nodiscard]] bool usable() const noexcept { return usable_; }

  /// A bound on the extra time of all ranks if none takes more than `most`; `never` if they cannot hold the layers.
  [[nodiscard]] ticks least_extra(ticks most) {
    const std::size_t kinds = time_.size();
    const wide beyond = wide{beyond_} * one;
    wide low = 0, high = beyond;  // the price of a tick of a layer
    best_ = 0, best_price_.assign(kinds, 0);
    for (wide tick = high; high - low > 1; tick = low + (high - low) / 2) {
      price_.clear();
      for (const ticks t : time_) price_.push_back(tick * t);
      if (!price(most) || best_ >= beyond) return never;
      wide left = 0;
      for (std::size_t k = 0; k < kinds; ++k) left += wide{time_[k]} * lack_[k];
      if (left == 0) break;
      (left < 0 ? high : low) = tick;
    }
    constexpr int rounds = 64;
    wide pace = best_ / 16;
    price_ = best_price_;
    for (int round = 0, stale = 0; kinds > 1 && round < rounds && pace > 0; ++round) {
      const wide before = best_;
      if (!price(most) || best_ >= beyond) return never;
      wide norm = 0;
      for (const std::int64_t x : lack_) norm += wide{x} * x;
      if (norm == 0) break;
      stale = best_ > before ? 0 : stale + 1;
      if (stale == 4) stale = 0, pace /= 2, price_ = best_price_;
      else
        for (std::size_t k = 0; k < kinds; ++k) price_[k] += pace / norm * lack_[k];
    }
    return static_cast<ticks>((best_ + one - 1) / one);
  }
  /// Whether bounds are no longer sharpened, for want of budget.
  [[nodiscard]] bool tired() const noexcept { return steps_ / kind_portions::looks > q_.budget; }

 private:
  static constexpr wide one = wide{1} << 24;  // of a price
  static constexpr std::size_t max_calls = std::size_t{1} << 18;

  /// What the cheapest portions cost, with the layers that they leave, and which those are. False if a rank has none.
  [[nodiscard]] bool price(ticks most) {
    const auto& list = portions_.list();
    worth_.clear(), lack_.clear();
    wide sum = 0;
    for (const auto& x : list) {
      wide worth = 0;
      for (std::size_t k = 0; k < time_.size(); ++k) worth += price_[k] * x.counts[k];
      worth_.push_back(worth);
    }
    for (std::size_t k = 0; k < time_.size(); ++k)
      lack_.push_back(portions_.kinds()[k].count), sum += price_[k] * lack_.back();
    for (std::size_t r = 0; r < p_; ++r) {
      const ticks room = portions_.room(r, most);
      std::size_t at = list.size();
      wide least = 0;
      for (std::size_t i = 0; i < list.size(); ++i) {
        if (list[i].time > room) continue;
        const ticks extra = portions_.extra(r, i);
        if (extra > room - list[i].time) continue;
        const wide cost = extra * one - worth_[i];
        if (at == list.size() || cost < least) at = i, least = cost;
      }
      if (at == list.size()) return false;
      sum += least;
      for (std::size_t k = 0; k < time_.size(); ++k) lack_[k] -= list[at].counts[k];
    }
    steps_ += static_cast<std::int64_t>(p_ * list.size());
    if (sum > best_) best_ = sum, best_price_ = price_;
    return true;
  }

  const split_problem& q_;
  std::size_t p_;
  kind_portions portions_;
  bool usable_ = false;
  ticks beyond_ = 1;         // no plan has as much extra time
  std::vector<ticks> time_;  // by kind
  std::vector<wide> price_, best_price_, worth_;
  std::vector<std::int64_t> lack_;  // by kind: layers that nobody has taken
  wide best_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
