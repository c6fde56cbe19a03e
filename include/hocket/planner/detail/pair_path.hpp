// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/detail/kind_bound.hpp>
#include <hocket/planner/detail/rank_choice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Two chunks per rank, as pair_of_chunks walks over them, with the least extra time under a bound on the slowest rank:
/// a shortest path over how far the ranks have come in both runs of layers, for every place where the second begins. A
/// state is left out if what kind_bound says of the ranks behind it leaves no hope; few states remain.
class pair_path {
 public:
  struct plan {
    std::vector<std::vector<segment>> parts;  // by rank, by chunk; empty: none found
    ticks slowest = never, extra = never;
  };

  /// @param turned  whether the second run goes back from the end of the model, not on from the first
  pair_path(const split_problem& q, segment_fronts& fronts, rank_choice& choose, kind_bound& kinds, bool turned,
            std::int64_t& expansions)
      : q_(q),
        fronts_(fronts),
        choose_(choose),
        kinds_(kinds),
        turned_(turned),
        p_(static_cast<std::int64_t>(q.ranks.size())),
        layers_(fronts.layers()),
        longest_(q.most_on_stage > 0 ? q.most_on_stage : layers_),
        weight_(weight_of_slowest(q)),
        expansions_(expansions) {}

  /// The least Σ extra of plans in which no rank takes more than `most`, if it is less than `below`; else `below`. The
  /// plan is kept. Not to be trusted once the budget is used up.
  [[nodiscard]] ticks least_extra(ticks most, ticks below) {
    found_ = {};
    if (kinds_.least_extra(most) >= below) return below;
    const std::int64_t half = layers_ / 2;
    for (std::int64_t d = 0; d <= half && !choose_.exhausted(); ++d)  // where the second run begins
      for (const std::int64_t middle : {half - d, half + d}) {
        if (turned_ ? d > 0 || middle < half : (middle < p_ || middle > layers_ - p_)) continue;
        below = walk(middle, most, below);
        if (d == 0) break;
      }
    return below;
  }
  /// The least Σ extra + weight · slowest rank, if less than `below`; else `below`.
  /// @param low  a bound on the slowest rank
  [[nodiscard]] ticks weighted(ticks low, ticks below) {
    best_ = below;
    between(low - 1, best_ / weight_);
    found_ = kept_;
    return best_;
  }
  [[nodiscard]] const plan& found() const noexcept { return found_; }

 private:
  struct state {
    std::int64_t first, second;
    ticks extra;
    std::size_t from;
  };

  /// Plans whose slowest rank takes more than `low`, up to `high`; none that takes less is better.
  void between(ticks low, ticks high) {
    if (high <= low || choose_.exhausted()) return;
    const ticks extra = least_extra(high, best_ - weight_ * (low + 1));
    if (found_.parts.empty()) return;
    if (const ticks value = extra + weight_ * found_.slowest; value < best_) best_ = value, kept_ = found_;
    if (high - low == 1) return;
    const ticks mid = low + (high - low) / 2;
    between(low, mid);
    if (extra + weight_ * (mid + 1) < best_) between(mid, high);
  }
  [[nodiscard]] segment second_piece(std::int64_t middle, std::int64_t from, std::int64_t to) const {
    return turned_ ? segment{layers_ - to, layers_ - from} : segment{middle + from, middle + to};
  }
  [[nodiscard]] ticks walk(std::int64_t middle, ticks most, ticks below) {
    const std::int64_t first_all = turned_ ? layers_ : middle, second_all = turned_ ? layers_ : layers_ - middle;
    states_.assign(static_cast<std::size_t>(p_) + 1, {});
    states_[0].assign(1, {0, 0, 0, 0});
    std::vector<segment> parts(2);
    for (std::int64_t r = 0; r < p_; ++r) {
      const auto rank = static_cast<std::uint32_t>(r);
      const std::int64_t later = p_ - 1 - r;
      auto& next = states_[static_cast<std::size_t>(r) + 1];
      const auto& now = states_[static_cast<std::size_t>(r)];
      for (std::size_t k = 0; k < now.size(); ++k) {
        const state& s = now[k];
        const std::int64_t end = (std::min)(first_all - later, s.first + longest_);
        for (std::int64_t a = later == 0 && !turned_ ? first_all : s.first + 1; a <= end; ++a) {
          parts[0] = {s.first, a};
          std::int64_t last = (std::min)(second_all - later, s.second + longest_);
          if (turned_) last = (std::min)(last, layers_ - a - 2 * later);
          for (std::int64_t b = later > 0 ? s.second + 1 : turned_ ? layers_ - a : second_all; b <= last; ++b) {
            if (b <= s.second) break;
            if (++expansions_ > q_.budget) return below;
            parts[1] = second_piece(middle, s.second, b);
            const ticks left = most - choose_.base_time(rank, parts);
            const ticks quick = fronts_.quickest(parts[0].begin, parts[0].end).extra +
                                fronts_.quickest(parts[1].begin, parts[1].end).extra;
            if (quick > left) break;
            const std::size_t taken =
                kinds_.state_of(a) + (turned_ ? kinds_.state_of(layers_) - kinds_.state_of(layers_ - b)
                                              : kinds_.state_of(middle + b) - kinds_.state_of(middle));
            const ticks rest = kinds_.rest(static_cast<std::size_t>(r) + 1, taken);
            if (rest >= never || s.extra + quick + rest >= below) continue;
            const ticks extra = choose_(rank, parts, (std::min)(left + 1, below - s.extra - rest)).extra;
            if (extra < never) next.push_back({a, b, s.extra + extra, k});
          }
        }
      }
      std::sort(next.begin(), next.end(), [](const state& x, const state& y) {
        if (x.first != y.first) return x.first < y.first;
        if (x.second != y.second) return x.second < y.second;
        return x.extra != y.extra ? x.extra < y.extra : x.from < y.from;
      });
      next.erase(std::unique(next.begin(), next.end(),
                             [](const state& x, const state& y) { return x.first == y.first && x.second == y.second; }),
                 next.end());
    }
    if (states_.back().empty() || choose_.exhausted()) return below;
    state s = *std::min_element(states_.back().begin(), states_.back().end(),
                                [](const state& x, const state& y) { return x.extra < y.extra; });
    found_ = {{}, 0, s.extra};
    found_.parts.assign(static_cast<std::size_t>(p_), parts);
    for (std::int64_t r = p_; r-- > 0;) {
      const state& before = states_[static_cast<std::size_t>(r)][s.from];
      auto& own = found_.parts[static_cast<std::size_t>(r)];
      own = {{before.first, s.first}, second_piece(middle, before.second, s.second)};
      const auto rank = static_cast<std::uint32_t>(r);
      found_.slowest = (std::max)(found_.slowest, choose_.base_time(rank, own) + choose_(rank, own).extra);
      s = before;
    }
    return found_.extra;
  }

  const split_problem& q_;
  segment_fronts& fronts_;
  rank_choice& choose_;
  kind_bound& kinds_;
  bool turned_;
  std::int64_t p_, layers_, longest_, weight_;
  std::int64_t& expansions_;
  std::vector<std::vector<state>> states_;  // before each rank
  plan found_, kept_;
  ticks best_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
