// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/split/detail/count_bound.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// What a rank's ticks and bytes are worth.
struct mean_price {
  static constexpr int digits = 40;
  wide tick = 0;                      ///< of all ranks together 1, in 2^-40
  wide byte = 0;                      ///< ticks, in 2^-40
  std::vector<std::int64_t> weights;  ///< how the price of a byte is shared out to the maximal counts
};

/// The hull of what all layers are together.
[[nodiscard]] inline level_front curve_of_all(const segment_fronts& fronts) {
  level_front curve{fronts.quickest(0, fronts.layers())}, edges;
  for (std::int64_t i = 0; i < fronts.layers(); ++i) {
    const level_front hull = hull_of(fronts.levels_of_kind(fronts.kind_of(i)));
    for (std::size_t j = 1; j < hull.size(); ++j)
      edges.push_back({hull[j - 1].bytes - hull[j].bytes, hull[j].extra - hull[j - 1].extra});
  }
  std::sort(edges.begin(), edges.end(),
            [](const level& a, const level& b) { return wide{a.extra} * b.bytes < wide{b.extra} * a.bytes; });
  for (const level& x : edges) curve.push_back({curve.back().bytes - x.bytes, curve.back().extra + x.extra});
  return curve;
}

/// The prices that hold if each rank gets some part of the model as a whole, such that all take equally long: it
/// computes again until its part fits, so a byte is worth the time that this takes, and its time is worth the more the
/// more of the model it runs in it. Where ranks are many, price_bound does not get there by steps alone.
/// Complexity: O(layers · log layers + ranks · log layers · log time).
class mean_prices {
 public:
  mean_prices(const split_problem& q, const segment_fronts& fronts)
      : q_(q),
        curve_(curve_of_all(fronts)),
        time_(fronts.time(0, fronts.layers())),
        weights_(fronts.weights(0, fronts.layers())) {
    std::int64_t most = 1;
    for (std::uint32_t r = 0; r < q.ranks.size(); ++r) {
      const auto counts = counts_of(q.in_flight, r);
      price_.push_back({0, 0, even_weights(counts, 0)});
      std::int64_t least = never, all = 0;
      for (const std::int64_t x : price_[r].weights) all += x;
      for (std::size_t c = 0; c < q.in_flight.chunks(); ++c) {
        std::int64_t sum = 0;
        for (std::size_t k = 0; k < counts.size(); ++k) sum += price_[r].weights[k] * counts[k][c];
        least = (std::min)(least, sum);
      }
      held_.push_back((least << grain) / all);
      most = (std::max)({most, room(r), static_cast<std::int64_t>(bytes(r, curve_.front()))});
    }
    const auto excess = [](std::int64_t x) {
      return (std::max)(0, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(x))) - mean_price::digits);
    };
    less_time_ = excess(time_ + curve_.back().extra), less_bytes_ = excess(most);
  }
  [[nodiscard]] std::vector<mean_price> operator()() {
    ticks low = 0, high = time_ + curve_.back().extra;
    for (const rank_room& x : q_.ranks) high += x.time;
    while (high - low > 1) {
      const ticks mid = low + (high - low) / 2;
      wide parts = 0;
      for (std::uint32_t r = 0; r < price_.size(); ++r) parts += part_of(r, mid).part;
      (parts < one_part ? low : high) = mid;
    }
    wide all = 0, dearest = 1;
    for (std::uint32_t r = 0; r < price_.size(); ++r) dearest = (std::max)(dearest, part_of(r, high).whole);
    for (std::uint32_t r = 0; r < price_.size(); ++r) {
      const part x = part_of(r, high);
      const int shift = mean_price::digits - fine + less_time_ - less_bytes_;
      price_[r].byte = (std::min)(wide{1} << 60, shift < 0 ? x.byte >> -shift : x.byte << shift);
      price_[r].tick = (std::min)(wide{1} << 60, dearest / (x.whole / one_part + 1));
      all += price_[r].tick;
    }
    for (mean_price& x : price_) x.tick = (x.tick << mean_price::digits) / all;
    return price_;
  }

 private:
  static constexpr int grain = 8, fine = 24;  // binary digits behind the point: of held_, of prices
  static constexpr wide one_part = 1 << 20;   // the whole model
  struct part {
    wide byte, whole, part;  // the price of a byte in time, that of the whole model, the part of it that fits
  };

  [[nodiscard]] std::int64_t room(std::uint32_t r) const noexcept {
    return (std::max)(std::int64_t{1}, q_.ranks[r].capacity - q_.ranks[r].fixed);
  }
  /// The whole model on one rank.
  [[nodiscard]] wide bytes(std::uint32_t r, const level& x) const noexcept {
    return weights_ + (wide{x.bytes} * held_[r] >> grain);
  }
  [[nodiscard]] part part_of(std::uint32_t r, ticks most) const {
    const wide limit = (most - q_.ranks[r].time) >> less_time_, left = room(r) >> less_bytes_;
    const auto kept = [&](std::size_t j) { return bytes(r, curve_[j]) >> less_bytes_; };
    const auto spent = [&](std::size_t j) { return wide{time_ + curve_[j].extra} >> less_time_; };
    const auto misfits = [&](const level& x) {  // in bytes less of the model than in time
      return left * (wide{time_ + x.extra} >> less_time_) < limit * (bytes(r, x) >> less_bytes_);
    };
    const auto first = std::partition_point(curve_.begin(), curve_.end() - 1, misfits);
    const auto j = static_cast<std::size_t>(first - curve_.begin());
    part x{0, 0, 0};
    if (j > 0) x.byte = ((spent(j) - spent(j - 1)) << fine) / (std::max)(wide{1}, kept(j - 1) - kept(j));
    x.whole = (std::max)(wide{1}, (spent(j) << fine) + x.byte * kept(j));
    if (limit > 0) x.part = ((limit << fine) + x.byte * left) / (x.whole / one_part + 1);
    return x;
  }

  const split_problem& q_;
  level_front curve_;
  ticks time_;
  std::int64_t weights_;
  std::vector<std::int64_t> held_;  // of the model by the cheapest chunk, by rank
  std::vector<mean_price> price_;
  int less_time_ = 0, less_bytes_ = 0;  // binary digits that are left out, so that products fit
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
