// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/detail/random_numbers.hpp>
#include <hocket/planner/split/detail/rank_levels.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Moves the cuts of a plan for any number of chunks, until memory suffices and then as long as that helps. A move
/// takes a layer from one stage and gives one to another, and shifts the stages between by a layer: where layers are
/// equal those stay what they are.
///
///     cuts before  |····|···|····|···|     stage 0 gives a layer, stage 3 gains one
///     cuts after   |···|···|····|····|     stages 1 and 2 shift by one
///
/// Moves are drawn from a fixed seed, and taken unless the plan is then worse than it was some moves ago (late
/// acceptance). What counts is the time that each rank takes beyond a target, not the slowest rank alone.
class cut_moves {
 public:
  struct plan {
    std::vector<std::int64_t> cuts;  // empty: none fits
    ticks slowest = never, extra = 0;
  };

  cut_moves(const split_numbers& q, segment_fronts& fronts, rank_levels& choose)
      : q_(q),
        fronts_(fronts),
        choose_(choose),
        p_(q.ranks.size()),
        v_(q.in_flight.chunks()),
        parts_(v_),
        key_(v_ + 1) {
    stage_of_.resize(p_ * v_);
    for (std::uint32_t s = 0; s < p_ * v_; ++s) stage_of_[q.in_flight.rank_of(s) * v_ + q.in_flight.chunk_of(s)] = s;
  }

  /// Improves a plan from these cuts on. Stops after about so many visits of stages that moves shift, and as soon as
  /// `enough(best)`.
  /// @param target  what a rank takes beyond it counts
  template <class Enough>
  void operator()(std::vector<std::int64_t> cuts, ticks target, std::int64_t visits, plan& best, const Enough& enough) {
    target_ = target;
    cuts_ = std::move(cuts);
    now_.clear();
    for (std::size_t r = 0; r < p_; ++r) now_.push_back(load_of(r));
    price cost = total(now_);
    keep_if_better(best);
    std::vector<price> before(memory, cost);
    for (std::size_t n = 0; visits > 0 && !enough(best); ++n) {
      const move x = draw_move();
      visits -= static_cast<std::int64_t>((x.last - x.first) / 3 + 2 + p_ / 32);
      const std::size_t gains = x.by > 0 ? x.first - 1 : x.last;
      const std::size_t loses = x.by > 0 ? x.last : x.first - 1;
      if (length(loses) < 2 || length(gains) >= q_.longest) continue;
      shift(x, x.by);
      then_ = now_;
      for (std::size_t k = x.first - 1; k <= x.last; ++k) {
        const std::uint32_t r = q_.in_flight.rank_of(static_cast<std::uint32_t>(k));
        then_[r] = load_of(r);
      }
      const price next = total(then_);
      price& old = before[n % memory];
      if (next <= old || next <= cost) {
        cost = next;
        now_.swap(then_);
        keep_if_better(best);
      } else {
        shift(x, -x.by);
      }
      old = (std::min)(old, cost);
    }
  }
  /// The rank that lacks most with these cuts, and the bytes that it lacks.
  [[nodiscard]] std::pair<std::uint32_t, std::int64_t> lack_of(const std::vector<std::int64_t>& cuts) {
    cuts_ = cuts;
    std::pair<std::uint32_t, std::int64_t> most{0, 0};
    for (std::uint32_t r = 0; r < p_; ++r)
      if (const std::int64_t lack = load_of(r).lack; lack > most.second) most = {r, lack};
    return most;
  }

 private:
  static constexpr std::size_t memory = 200;  // how many moves ago a plan may have been as bad as it is now

  /// The cuts from `first` to `last` go one layer forth or back.
  struct move {
    std::size_t first, last;
    std::int64_t by;
  };
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
  [[nodiscard]] move draw_move() {
    const auto inner = static_cast<std::uint32_t>(p_ * v_ - 1);
    const std::size_t one = 1 + random_.below(inner);
    const std::size_t other = random_.below(2) == 0 ? one : 1 + random_.below(inner);
    return {(std::min)(one, other), (std::max)(one, other), random_.below(2) == 0 ? 1 : -1};
  }
  void shift(const move& x, std::int64_t by) {
    for (std::size_t k = x.first; k <= x.last; ++k) cuts_[k] += by;
  }
  [[nodiscard]] load load_of(std::size_t r) {
    key_[0] = static_cast<std::uint32_t>(r);
    for (std::size_t c = 0; c < v_; ++c) {
      const std::size_t s = stage_of_[r * v_ + c];
      parts_[c] = {cuts_[s], cuts_[s + 1]};
      key_[c + 1] = fronts_.piece(cuts_[s], cuts_[s + 1]);
    }
    const auto known = known_.find(key_);
    if (known != known_.end()) return known->second;
    const auto rank = static_cast<std::uint32_t>(r);
    load x;
    x.lack = (std::max)(std::int64_t{0}, choose_.leanest_bytes(rank, parts_) - q_.ranks[r].capacity);
    x.extra = x.lack == 0 ? choose_(rank, parts_).extra : 0;
    x.time = choose_.base_time(rank, parts_) + x.extra;
    return known_[key_] = x;
  }
  [[nodiscard]] price total(const std::vector<load>& ranks) const {
    price sum;
    for (const load& x : ranks) {
      sum.lack += x.lack;
      sum.time += x.extra + q_.weight_of_slowest * (std::max)(ticks{0}, x.time - target_);
    }
    return sum;
  }
  void keep_if_better(plan& best) const {
    ticks slowest = 0;
    ticks extra = 0;
    for (const load& x : now_) {
      if (x.lack > 0) return;
      slowest = (std::max)(slowest, x.time);
      extra += x.extra;
    }
    const auto value = std::pair(q_.value(slowest, extra), extra);
    if (best.cuts.empty() || value < std::pair(q_.value(best.slowest, best.extra), best.extra))
      best = {cuts_, slowest, extra};
  }

  const split_numbers& q_;
  segment_fronts& fronts_;
  rank_levels& choose_;
  std::size_t p_, v_;
  std::vector<std::size_t> stage_of_;  // by rank and chunk
  std::vector<segment> parts_;
  std::vector<std::uint32_t> key_;
  std::map<std::vector<std::uint32_t>, load> known_;  // by rank and the pieces of its chunks
  ticks target_ = 0;
  std::vector<std::int64_t> cuts_;
  std::vector<load> now_, then_;
  random_numbers random_{1};
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
