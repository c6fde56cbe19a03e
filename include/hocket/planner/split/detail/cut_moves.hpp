// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/detail/random_numbers.hpp>
#include <hocket/planner/split/detail/rank_choice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// The cuts of stages of about equal times, from 0 to the number of layers.
inline std::vector<std::int64_t> even_cuts(const split_problem& q, const segment_fronts& fronts) {
  const std::int64_t stages = std::int64_t{q.in_flight.ranks()} * q.in_flight.chunks(), layers = fronts.layers();
  const std::int64_t longest = q.most_on_stage > 0 ? q.most_on_stage : layers;
  const ticks each = fronts.time(0, layers) / stages;
  std::vector<std::int64_t> cuts{0};
  for (std::int64_t s = 0; s < stages; ++s) {
    const std::int64_t later = stages - 1 - s, last = (std::min)(layers - later, cuts.back() + longest);
    std::int64_t end = (std::max)(cuts.back() + 1, layers - later * longest);
    while (end < last && (later == 0 || fronts.time(0, end + 1) / (s + 1) <= each)) ++end;
    cuts.push_back(end);
  }
  return cuts;
}

/// Moves cuts of a plan for any number of chunks, until memory suffices and then as long as that helps. A move takes a
/// layer from one stage and gives one to another, and shifts the stages between by a layer: where layers are equal
/// those stay what they are. Moves are drawn (from a fixed seed) and taken unless the plan is then worse than it was
/// some moves ago (late acceptance); what a rank takes beyond a target counts, not the slowest alone, and the target
/// is tried at several times.
class cut_moves {
 public:
  cut_moves(const split_problem& q, segment_fronts& fronts, rank_choice& choose)
      : q_(q),
        fronts_(fronts),
        choose_(choose),
        p_(q.ranks.size()),
        v_(q.in_flight.chunks()),
        weight_(weight_of_slowest(q)),
        longest_(q.most_on_stage > 0 ? q.most_on_stage : fronts.layers()) {
    const std::size_t stages = p_ * v_;
    stage_of_.assign(stages, 0);
    for (std::uint32_t s = 0; s < stages; ++s) stage_of_[q.in_flight.rank_of(s) * v_ + q.in_flight.chunk_of(s)] = s;
    parts_.resize(v_), key_.resize(v_ + 1);
  }

  struct plan {
    std::vector<std::int64_t> cuts;  // empty: none fits
    ticks slowest = never, extra = 0;
  };
  /// Improves a plan with these cuts.
  /// @param target  what a rank takes beyond it counts
  /// @param visits  of stages that moves may shift and ranks that they are weighed on
  /// @param memory  a move may leave the plan as bad as it was so many moves ago
  /// @param enough  whether a plan is as good as can be
  template <class Enough>
  void operator()(std::vector<std::int64_t> cuts, ticks target, std::int64_t visits, std::size_t memory, plan& best,
                  const Enough& enough) {
    target_ = target;
    cuts_ = std::move(cuts);
    now_.clear();
    for (std::size_t r = 0; r < p_; ++r) now_.push_back(of(r));
    price cost = total(now_);
    keep(best);
    std::vector<price> before(memory, cost);
    const auto stages = static_cast<std::uint32_t>(p_ * v_);
    for (std::size_t n = 0; visits > 0 && !enough(best) && !choose_.exhausted(); ++n) {
      std::size_t i = 1 + random_.below(stages - 1), j = random_.below(2) == 0 ? i : 1 + random_.below(stages - 1);
      if (i > j) std::swap(i, j);
      visits -= static_cast<std::int64_t>((j - i) / 4 + 2 + p_ / 32);
      const std::int64_t by = random_.below(2) == 0 ? 1 : -1;
      const std::size_t gains = by > 0 ? i - 1 : j, loses = by > 0 ? j : i - 1;
      if (length(loses) < 2 || length(gains) >= longest_) continue;
      touched_.assign(p_, 0);
      for (std::size_t s = i - 1; s <= j; ++s) {
        const std::int64_t a = cuts_[s] + (s >= i ? by : 0), b = cuts_[s + 1] + (s < j ? by : 0);
        if (s == i - 1 || s == j || fronts_.piece(a, b) != fronts_.piece(cuts_[s], cuts_[s + 1]))
          touched_[q_.in_flight.rank_of(static_cast<std::uint32_t>(s))] = 1;
      }
      for (std::size_t k = i; k <= j; ++k) cuts_[k] += by;
      then_ = now_;
      for (std::size_t r = 0; r < p_; ++r)
        if (touched_[r] != 0) then_[r] = of(r), --visits;
      const price next = total(then_);
      price& old = before[n % memory];
      if (next <= old || next <= cost) {
        cost = next, now_.swap(then_);
        keep(best);
      } else {
        for (std::size_t k = i; k <= j; ++k) cuts_[k] -= by;
      }
      old = (std::min)(old, cost);
    }
  }

 private:
  /// A rank: the bytes it lacks, or its times.
  struct load {
    std::int64_t lack = 0;
    ticks time = 0, extra = 0;
  };
  struct price {
    std::int64_t lack = 0;
    ticks time = 0;
    constexpr auto operator<=>(const price&) const = default;
  };

  [[nodiscard]] std::int64_t length(std::size_t s) const { return cuts_[s + 1] - cuts_[s]; }
  [[nodiscard]] load of(std::size_t r) {
    key_[0] = static_cast<std::uint32_t>(r);
    for (std::size_t c = 0; c < v_; ++c) {
      const std::size_t s = stage_of_[r * v_ + c];
      parts_[c] = {cuts_[s], cuts_[s + 1]}, key_[c + 1] = fronts_.piece(cuts_[s], cuts_[s + 1]);
    }
    const auto known = known_.find(key_);
    if (known != known_.end()) return known->second;
    const auto rank = static_cast<std::uint32_t>(r);
    load x{(std::max)(std::int64_t{0}, choose_.leanest_bytes(rank, parts_) - q_.ranks[r].capacity),
           choose_.base_time(rank, parts_), 0};
    if (x.lack == 0) x.extra = choose_(rank, parts_).extra, x.time += x.extra;
    return known_[key_] = x;
  }
  [[nodiscard]] price total(const std::vector<load>& ranks) const {
    price sum;
    for (const load& x : ranks) {
      sum.lack += x.lack;
      sum.time += x.extra + weight_ * (std::max)(ticks{0}, x.time - target_);
    }
    return sum;
  }
  void keep(plan& best) const {
    ticks slowest = 0, extra = 0;
    for (const load& x : now_) {
      if (x.lack > 0) return;
      slowest = (std::max)(slowest, x.time), extra += x.extra;
    }
    const bool better = q_.goal == objective::step_time
                          ? best.slowest >= never || extra + weight_ * slowest < best.extra + weight_ * best.slowest
                          : slowest < best.slowest || (slowest == best.slowest && extra < best.extra);
    if (better) best = {cuts_, slowest, extra};
  }

  const split_problem& q_;
  segment_fronts& fronts_;
  rank_choice& choose_;
  std::size_t p_, v_;
  std::int64_t weight_, longest_;
  std::vector<std::size_t> stage_of_;  // by rank and chunk
  std::vector<segment> parts_;
  std::vector<std::uint32_t> key_;
  std::map<std::vector<std::uint32_t>, load> known_;  // by rank and the pieces of its chunks
  ticks target_ = 0;
  std::vector<std::int64_t> cuts_;
  std::vector<load> now_, then_;
  std::vector<char> touched_;
  random_numbers random_{1};
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
