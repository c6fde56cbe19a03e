// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/split/detail/kind_portions.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Bounds on the split of unequal layers, memory included: each rank gets a number of layers of each kind, wherever
/// they stand in the model, and computes again what count_bound says. A shortest path over the ranks, whose states are
/// the numbers dealt out, gives the least extra time under a bound on the slowest rank.
class kind_bound {
 public:
  /// @param most  times of the slowest rank from which on nothing is asked
  kind_bound(const split_problem& q, const segment_fronts& fronts, ticks most)
      : q_(q),
        p_(q.ranks.size()),
        chunks_(q.in_flight.chunks()),
        longest_(q.most_on_stage > 0 ? q.most_on_stage : fronts.layers()),
        portions_(q, fronts, most, max_states, max_steps) {
    if (!portions_.usable()) return;
    number(fronts.layers());
    usable_ = p_ * time_.size() * portions_.list().size() <= max_steps;
  }

  /// False if there are too many ways to choose the layers of a rank.
  [[nodiscard]] bool usable() const noexcept { return usable_; }
  /// Whether every kind of layer stands for itself.
  [[nodiscard]] bool ungrouped() const noexcept { return !portions_.grouped(); }

  /// The least extra time of all ranks if none takes more than `most`; `never` if they cannot hold the layers.
  [[nodiscard]] ticks least_extra(ticks most) {
    ticks before = 0, left = 0;  // for layers: on the ranks before, on those that follow
    for (std::size_t r = 0; r < p_; ++r) before += portions_.room(r, most);
    rest_.resize(p_ + 1);
    rest_[p_].assign(time_.size(), never), rest_[p_].back() = 0;
    for (std::size_t r = p_; r-- > 0;) {
      const ticks room = portions_.room(r, most);
      before -= room;
      const auto earlier = static_cast<std::int64_t>(r) * chunks_;  // stages
      rest_[r].assign(time_.size(), never);
      for (std::size_t s = 0; s < time_.size(); ++s) {
        if (time_[s] > before || count_[s] < earlier || count_[s] > earlier * longest_) continue;
        for (std::size_t i = 0; i < state_.size(); ++i) {
          const auto& x = portions_.list()[i];
          if (time_[s] + x.time + left < time_.back()) break;  // the dearest first
          ++steps_;
          if (x.layers < chunks_ || x.time > room || !fits(s, state_[i])) continue;
          const ticks then = rest_[r + 1][s + state_[i]];
          if (then >= rest_[r][s]) continue;
          const ticks more = portions_.extra(r, i);
          if (more <= room - x.time) rest_[r][s] = (std::min)(rest_[r][s], more + then);
        }
      }
      left += room;
    }
    return rest_[0][0];
  }
  /// Whether bounds are no longer sharpened, for want of budget.
  [[nodiscard]] bool tired() const noexcept { return steps_ / kind_portions::looks > q_.budget; }
  /// Of the last question: the least extra time of the ranks from r on if those before have taken what `state` says.
  [[nodiscard]] ticks rest(std::size_t r, std::size_t state) const noexcept { return rest_[r][state]; }
  /// What the first layers of the model are as a state. Those of several pieces add up.
  [[nodiscard]] std::size_t state_of(std::int64_t layers) const noexcept {
    return first_[static_cast<std::size_t>(layers)];
  }

 private:
  static constexpr std::size_t max_states = 4096, max_steps = std::size_t{1} << 23;

  /// Numbers of layers of each kind as one number, the state.
  void number(std::int64_t layers) {
    const auto& kinds = portions_.kinds();
    std::vector<std::size_t> unit, add(static_cast<std::size_t>(layers));  // what one layer more of a kind adds
    time_.assign(1, 0), count_.assign(1, 0);
    for (const auto& x : kinds) {
      unit.push_back(time_.size());
      for (const std::int64_t i : x.layers) add[static_cast<std::size_t>(i)] = time_.size();
      for (std::size_t s = 0, more = time_.size() * static_cast<std::size_t>(x.count); s < more; ++s)
        time_.push_back(time_[s] + x.time), count_.push_back(count_[s] + 1);
    }
    first_.assign(1, 0);
    for (const std::size_t x : add) first_.push_back(first_.back() + x);
    for (const auto& x : portions_.list()) {
      state_.push_back(0);
      for (std::size_t k = 0; k < unit.size(); ++k) state_.back() += static_cast<std::size_t>(x.counts[k]) * unit[k];
    }
  }
  /// Whether so many layers of each kind are left.
  [[nodiscard]] bool fits(std::size_t taken, std::size_t more) const noexcept {
    if (taken + more >= time_.size()) return false;
    return count_[taken + more] == count_[taken] + count_[more];  // else a digit has carried
  }

  const split_problem& q_;
  std::size_t p_;
  std::int64_t chunks_, longest_;
  kind_portions portions_;
  bool usable_ = false;
  std::vector<std::size_t> state_;        // by portion
  std::vector<ticks> time_;               // by state
  std::vector<std::int64_t> count_;       // by state
  std::vector<std::vector<ticks>> rest_;  // by rank and state before it
  std::vector<std::size_t> first_;        // by number of layers
  std::int64_t steps_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
