// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/split/detail/rank_parts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Least value of common · Σ extra + max load over all ways to give the layers to the ranks. It is exact: E(M), the
/// least extra time with no load above M, is a shortest path over the ranks. M need only be one of the loads that parts
/// have.
class rank_bound {
 public:
  /// @param parts   row_parts or bag_parts
  /// @param common  weight of extra time on any rank
  /// @param target  what is not below it does not matter
  template <class Parts>
  rank_bound(const split_numbers& q, const rank_shares& shares, Parts& parts, ticks target, std::int64_t max_steps)
      : common_(shares.common.whole), p_(q.ranks.size()), states_(parts.states()), steps_(max_steps), least_(target) {
    collect(shares, parts);
  }

  /// @return no split has less, or `target` if none has less than that; 0 if there was no time to tell
  [[nodiscard]] ticks operator()() {
    if (steps_ < 0) return 0;
    if (loads_.empty()) return least_;
    const std::size_t high = loads_.size() - 1;
    const ticks extra = least_extra(loads_[high]);
    if (extra >= never) return least_;  // nothing fits
    note(high, extra);
    descend(-1, static_cast<std::int64_t>(high), extra);
    return least_;
  }

 private:
  struct edge {
    std::uint32_t from = 0, to = 0;
    ticks load = 0, extra = 0;
  };

  /// All parts that states which can be reached may take, by rank.
  template <class Parts>
  void collect(const rank_shares& shares, Parts& parts) {
    std::vector<ticks> limits;
    for (const ticks beyond : shares.beyond) limits.push_back(least_ - beyond);
    if (parts.open(limits) > steps_) steps_ = -1;  // seen before anything is made for them
    std::vector<bool> here(states_, false), next;
    here[0] = true;
    edges_.resize(p_);
    for (std::uint32_t r = 0; r < p_; ++r) {
      next.assign(states_, false);
      for (std::size_t state = 0; state < states_ && steps_ >= 0; ++state) {
        if (!here[state]) continue;
        parts.for_each(r, state, [&](std::size_t to, const rank_part& x) {
          --steps_;
          const ticks load = x.load + shares.own[r].whole * x.extra + shares.beyond[r];
          if (load >= least_) return;
          next[to] = true;
          edges_[r].push_back({static_cast<std::uint32_t>(state), static_cast<std::uint32_t>(to), load, x.extra});
          loads_.push_back(load);
        });
      }
      here.swap(next);
    }
    if (steps_ < 0) return;
    std::sort(loads_.begin(), loads_.end());
    loads_.erase(std::unique(loads_.begin(), loads_.end()), loads_.end());
  }
  /// E(M); never if nothing fits.
  [[nodiscard]] ticks least_extra(ticks most) {
    cost_.assign(states_, never);
    cost_[0] = 0;
    for (const std::vector<edge>& of_rank : edges_) {
      next_.assign(states_, never);
      steps_ -= static_cast<std::int64_t>(of_rank.size());
      for (const edge& x : of_rank)
        if (x.load <= most && cost_[x.from] < never) next_[x.to] = (std::min)(next_[x.to], cost_[x.from] + x.extra);
      cost_.swap(next_);
    }
    return cost_.back();
  }
  void note(std::size_t at, ticks extra) { least_ = (std::min)(least_, loads_[at] + common_ * extra); }
  /// Looks between two loads, of which the lower allows nothing or is seen, the higher so much extra time.
  void descend(std::int64_t low, std::int64_t high, ticks extra_high) {
    if (high - low <= 1) return;
    const ticks at_least = loads_[static_cast<std::size_t>(low + 1)] + common_ * extra_high;
    if (at_least >= least_) return;
    if (steps_ < 0) {
      least_ = at_least;
      return;
    }
    const std::int64_t mid = low + (high - low) / 2;
    const ticks extra = least_extra(loads_[static_cast<std::size_t>(mid)]);
    if (extra < never) {
      note(static_cast<std::size_t>(mid), extra);
      descend(low, mid, extra);
      if (extra == extra_high) return;  // as little between them
    }
    descend(mid, high, extra_high);
  }

  std::int64_t common_;
  std::size_t p_, states_;
  std::int64_t steps_;  // that are left
  ticks least_;
  std::vector<std::vector<edge>> edges_;
  std::vector<ticks> loads_;  // ascending
  std::vector<ticks> cost_, next_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
