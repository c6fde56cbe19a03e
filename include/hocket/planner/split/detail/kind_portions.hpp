// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/split/detail/count_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// What a rank may get: so many layers of each kind, wherever they stand in the model, with a bound on what it must
/// then compute again. Models have few kinds of layers. Where there are more than is bearable, those of similar time
/// count as one that is as quick and lean as the quickest and leanest.
class kind_portions {
 public:
  struct kind {
    ticks time;
    std::int64_t weights;
    level_front levels;
    std::int64_t count;
    std::vector<std::int64_t> layers;  // in the model
  };
  struct portion {
    std::vector<std::int64_t> counts{};  // by kind
    ticks time = 0;
    std::int64_t layers = 0, weights = 0;
    level_front front{level{}};
  };

  /// Looks at portions that count as one partial plan of the budget.
  static constexpr std::int64_t looks = 64;

  /// @param most        times of a rank from which on nothing is asked
  /// @param most_ways   to leave layers of all kinds; where there are more, kinds are grouped until there are only a
  ///                    quarter as many, as groups bound less and so are worth less time; 0: they never are
  /// @param most_calls  portions of all ranks; where there are more, or the budget ends, nothing is usable
  kind_portions(const split_problem& q, const segment_fronts& fronts, ticks most, std::size_t most_ways,
                std::size_t most_calls)
      : q_(q),
        chunks_(q.in_flight.chunks()),
        longest_(q.most_on_stage > 0 ? q.most_on_stage : fronts.layers()),
        layers_(fronts.layers()) {
    const std::size_t p = q.ranks.size();
    group(fronts, most_ways);
    portion none;
    none.counts.assign(kinds_.size(), 0);
    const std::int64_t room = layers_ - static_cast<std::int64_t>(p - 1) * chunks_;
    if (looks * q.budget < static_cast<std::int64_t>(most_calls))
      most_calls = static_cast<std::size_t>(looks * q.budget);
    if (!add(none, kinds_.size(), most, (std::min)(room, longest_ * chunks_), most_calls / p)) return;
    std::sort(portions_.begin(), portions_.end(), [](const portion& a, const portion& b) {
      return a.time != b.time ? a.time > b.time : a.counts < b.counts;
    });
    for (std::uint32_t r = 0; r < p; ++r) ranks_.emplace_back(counts_of(q.in_flight, r), 0);
    extra_.assign(p * portions_.size(), unknown);
    find_reach();
  }

  /// False if there are too many.
  [[nodiscard]] bool usable() const noexcept { return !ranks_.empty(); }
  /// Whether some kind stands for several.
  [[nodiscard]] bool grouped() const noexcept { return grouped_; }
  /// The quickest first.
  [[nodiscard]] const std::vector<kind>& kinds() const noexcept { return kinds_; }
  /// The dearest first.
  [[nodiscard]] const std::vector<portion>& list() const noexcept { return portions_; }
  /// No plan in which rank r has the portion i computes less again on it; `never` if there is none.
  [[nodiscard]] ticks extra(std::size_t r, std::size_t i) {
    ticks& known = extra_[r * portions_.size() + i];
    if (known != unknown) return known;
    const portion& x = portions_[i];
    if (x.layers < chunks_) return known = never;
    for (std::size_t k = 0; k < kinds_.size(); ++k)
      if (x.counts[k] > reach_[r * kinds_.size() + k]) return known = never;
    const std::int64_t left = q_.ranks[r].capacity - q_.ranks[r].fixed - x.weights;
    std::int64_t lean = never;
    for (const kind& k : kinds_) lean = (std::min)(lean, k.levels.back().bytes);
    left_.assign(q_.in_flight.times(static_cast<std::uint32_t>(r)), left);
    return known = left < 0 ? never : ranks_[r].least_extra(x.front, lean, left_);
  }
  /// What a rank may spend on layers if it takes no more than `most`.
  [[nodiscard]] ticks room(std::size_t r, ticks most) const noexcept {
    return (std::max)(ticks{0}, most - q_.ranks[r].time);
  }

 private:
  static constexpr ticks unknown = -1;
  static constexpr std::size_t max_points = std::size_t{1} << 19;

  void group(const segment_fronts& fronts, std::size_t most_ways) {
    for (std::size_t k = 0; k < fronts.kinds(); ++k)
      kinds_.push_back({fronts.kind(k).time, fronts.kind(k).weights, fronts.levels_of_kind(k), 0, {}});
    for (std::int64_t i = 0; i < layers_; ++i) {
      kind& x = kinds_[fronts.kind_of(i)];
      ++x.count, x.layers.push_back(i);
    }
    std::sort(kinds_.begin(), kinds_.end(), [](const kind& a, const kind& b) { return a.time < b.time; });
    const auto ways = [&] {
      std::size_t all = 1;
      for (const kind& x : kinds_) all = (std::min)(all, most_ways + 1) * static_cast<std::size_t>(x.count + 1);
      return all;
    };
    if (most_ways == 0 || ways() <= most_ways) return;
    grouped_ = kinds_.size() > 1;
    while (ways() > most_ways / 4 && kinds_.size() > 1) {  // the two nearest neighbours become one
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
  }
  /// `x` with all numbers of layers of the first `kinds` kinds. False if these are too many.
  [[nodiscard]] bool add(portion x, std::size_t kinds, ticks most, std::int64_t most_layers, std::size_t many) {
    if (kinds == 0) {
      points_ += x.front.size();
      portions_.push_back(std::move(x));
      return points_ <= max_points && portions_.size() <= many;
    }
    const std::size_t k = kinds - 1;
    while (add(x, k, most, most_layers, many)) {
      if (x.counts[k] == kinds_[k].count || x.layers == most_layers || x.time + kinds_[k].time > most) return true;
      ++x.counts[k], ++x.layers;
      x.time += kinds_[k].time, x.weights += kinds_[k].weights;
      x.front = extended(x.front, kinds_[k].levels);
    }
    return false;
  }
  /// How many layers of each kind a rank can get, as every stage has some.
  void find_reach() {
    const std::size_t p = q_.ranks.size();
    const std::int64_t stages = static_cast<std::int64_t>(p) * chunks_;
    reach_.assign(p * kinds_.size(), 0);
    std::vector<std::int64_t> seen(p, -1);
    for (std::size_t k = 0; k < kinds_.size(); ++k)
      for (const std::int64_t layer : kinds_[k].layers) {
        // The stages that it may lie on, by the layers before and behind.
        const std::int64_t behind = layers_ - 1 - layer;
        const std::int64_t first = (std::max)(layer / longest_, stages - 1 - behind);
        const std::int64_t last = (std::min)(layer, stages - 1 - behind / longest_);
        for (std::int64_t s = (std::max)(std::int64_t{0}, first); s <= (std::min)(last, stages - 1); ++s) {
          const std::uint32_t r = q_.in_flight.rank_of(static_cast<std::uint32_t>(s));
          if (std::exchange(seen[r], layer) != layer) ++reach_[r * kinds_.size() + k];
        }
      }
  }

  const split_problem& q_;
  std::int64_t chunks_, longest_, layers_;
  std::vector<kind> kinds_;
  std::vector<portion> portions_;
  bool grouped_ = false;
  std::size_t points_ = 0;
  std::vector<count_bound> ranks_;
  std::vector<ticks> extra_;         // by rank and portion
  std::vector<std::int64_t> reach_;  // by rank and kind
  std::vector<std::int64_t> left_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
