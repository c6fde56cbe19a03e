// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/split/detail/raw_split.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// A bound on the split over several chunks that knows where each layer stands. The slowest rank is no faster than any
/// mean of the ranks, so its weight is shared out to them as prices on their times. Bytes get prices, too, one for each
/// maximal count of a rank, which its room pays back. With prices every stage stands for itself, each layer takes the
/// level that is cheapest there, and the cheapest cuts are a shortest path over the stages. No plan is cheaper,
/// whatever the prices (Lagrangian relaxation). They are raised where the path takes too long or too much, in Polyak's
/// steps.
///
///     prices  | time of rank 0, 1, … p - 1 | bytes at each count of rank 0 | … of rank 1 | …
class price_bound {
 public:
  price_bound(const split_numbers& q, const segment_fronts& fronts)
      : q_(q),
        fronts_(fronts),
        p_(q.ranks.size()),
        stages_(q.in_flight.stages()),
        width_(static_cast<std::size_t>(fronts.layers()) - stages_ + 1),
        longest_(static_cast<std::size_t>((std::min)(q.longest, fronts.layers()))),
        sum_(q.goal == objective::step_time ? 1 : 0),
        weight_(q.goal == objective::step_time ? q.weight_of_slowest : 1) {
    const std::size_t work = stages_ * width_;
    rounds_ = (std::min)((std::min)(max_steps, static_cast<std::size_t>(q.budget) * 4) / work, max_rounds);
    if (weight_ > max_weight) rounds_ = 0;
    set_scales();
    best_.assign(scales_.size(), 0);
    std::fill_n(best_.begin(), p_, int128{weight_} * one / static_cast<int128>(p_));
  }

  /// Raises the bound, at most to `target`: what the best plan known has.
  /// @return no plan has less of what is minimised; more than the target if prices rise without end, as nothing fits
  [[nodiscard]] ticks operator()(ticks target) {
    if (rounds_ == 0) return 0;
    climb(target);
    (void)price(best_);
    walk();
    return bound();
  }
  /// The cuts of the cheapest path; empty if there was no time to find any.
  [[nodiscard]] const std::vector<std::int64_t>& cuts() const noexcept { return cuts_; }

 private:
  using prices = std::vector<int128>;
  static constexpr int128 one = int128{1} << 40;                     // of a price
  static constexpr int128 unit = int128{1} << 16;                    // of a relative step, and of the pace
  static constexpr int128 nothing = int128{1} << 124;                // costs more than all
  static constexpr std::size_t max_rounds = 400;                     // after that they gain less than a thousandth
  static constexpr std::size_t max_steps = std::size_t{1} << 25;     // of all rounds: some tenths of a second
  static constexpr std::int64_t max_weight = std::int64_t{1} << 36;  // so that products fit

  [[nodiscard]] ticks bound() const noexcept {
    return least_ <= 0 ? 0 : static_cast<ticks>((std::min)((least_ + one - 1) / one, int128{never} + 1));
  }
  void set_scales() {
    const std::int64_t bytes = 1 + fronts_.weights(0, fronts_.layers()) + fronts_.quickest(0, fronts_.layers()).bytes;
    scales_.assign(p_, (std::max)(ticks{1}, base_time(q_, fronts_) / static_cast<ticks>(p_)));
    int128 most = 1;
    for (std::uint32_t r = 0; r < p_; ++r) {
      const std::int64_t room = (std::max)(std::int64_t{1}, q_.ranks[r].capacity - q_.ranks[r].fixed);
      most = (std::max)({most, int128{room}, int128{q_.ranks[r].fixed}});
      first_count_.push_back(scales_.size());
      for (std::uint32_t k = 0; k < q_.in_flight.times(r); ++k) {
        int128 all = 1;
        for (const std::uint32_t n : q_.in_flight.at(r, k)) all += n;
        most = (std::max)(most, all * bytes);
        scales_.push_back(room);
      }
    }
    max_price_ = (int128{1} << 100) / most;
  }
  /// Steps in the direction of what the path takes too much, smoothed over rounds: shorter ones when they no longer
  /// help, then from the best prices on.
  void climb(ticks target) {
    constexpr int128 least_pace = unit >> 11;
    constexpr int patience = 10;
    const int128 top = int128{target} * one;
    prices now = best_;
    std::vector<int128> step(now.size(), 0);
    int128 value = least_ = price(now);
    int stale = 0;
    int128 pace = unit;
    for (std::size_t round = 0; round < rounds_ && bound() < target && pace > least_pace; ++round) {
      walk();
      if (!go(now, step, (std::min)(top - value, top) * pace / unit)) return;
      value = price(now);
      const bool better = value > least_;
      stale = better && value - least_ > least_ >> 22 ? 0 : stale + 1;
      if (better) {
        least_ = value;
        best_ = now;
      }
      if (stale < patience) continue;
      stale = 0;
      pace = pace * 7 / 10;
      now = best_;
      value = price(now);
    }
  }
  /// One step from the prices `now`, long enough to close the gap were the costs linear. False if there is none.
  [[nodiscard]] bool go(prices& now, std::vector<int128>& step, int128 gap) const {
    constexpr int128 max_over = 16 * unit;  // squares of it fit
    int128 norm = 0;
    for (std::size_t i = 0; i < now.size(); ++i) {
      int128 over = (std::min)((std::max)(over_[i] * unit / scales_[i], -max_over), max_over);
      if (i >= p_ && over < 0 && now[i] == 0) over = 0;
      step[i] = (3 * step[i] + 2 * over) / 5;
      norm += step[i] * step[i];
    }
    if (norm == 0) return false;
    for (std::size_t i = 0; i < now.size(); ++i) {
      const int128 by = gap / scales_[i];
      now[i] += by / norm * step[i] * unit + by % norm * step[i] * unit / norm;
      now[i] = (std::min)((std::max)(now[i], int128{0}), i < p_ ? weight_ * one : max_price_);
    }
    share_out(now);
    return true;
  }
  /// Makes the prices of time add up to the weight of the slowest rank, or a little less.
  void share_out(prices& now) const {
    constexpr int places = 30;  // of a price's share, in bits
    int128 sum = 0;
    for (std::size_t r = 0; r < p_; ++r) sum += now[r];
    const int128 part = (sum >> places) + 1;
    for (std::size_t r = 0; r < p_; ++r) now[r] = now[r] / part * (int128{weight_} * one >> places);
  }

  /// The cheapest cuts at these prices: what they cost. No plan costs less. Stage s has the layers from s + i to s + j,
  /// 0 <= i <= j < width_.
  [[nodiscard]] int128 price(const prices& x) {
    int128 constant = 0;
    for (std::uint32_t r = 0; r < p_; ++r) {
      constant += (sum_ * one + x[r]) * q_.ranks[r].time;
      for (std::uint32_t k = 0; k < q_.in_flight.times(r); ++k)
        constant -= x[first_count_[r] + k] * (q_.ranks[r].capacity - q_.ranks[r].fixed);
    }
    from_.resize(stages_ * width_);
    chosen_.resize(stages_ * fronts_.kinds());
    sums_.resize(width_ + 1);
    cost_.assign(width_, nothing);
    cost_[0] = 0;
    for (std::uint32_t s = 0; s < stages_; ++s) {
      price_layers(x, s);
      extend_path(s);
    }
    return cost_.back() + constant;
  }
  /// What layers cost on stage s, each at its cheapest level, summed up.
  void price_layers(const prices& x, std::uint32_t s) {
    const std::uint32_t r = q_.in_flight.rank_of(s);
    const std::uint32_t c = q_.in_flight.chunk_of(s);
    const int128 tick = sum_ * one + x[r];
    int128 kept = 0;
    int128 weight = 0;
    for (std::uint32_t k = 0; k < q_.in_flight.times(r); ++k) {
      kept += x[first_count_[r] + k] * q_.in_flight.at(r, k)[c];
      weight += x[first_count_[r] + k];
    }
    of_kind_.resize(fronts_.kinds());
    for (std::size_t kind = 0; kind < fronts_.kinds(); ++kind) {
      const level_front& levels = fronts_.levels_of_kind(kind);
      const auto cost = [&](const level_point& at) { return tick * at.extra + kept * at.bytes; };
      const auto best = std::min_element(levels.begin(), levels.end(),
                                         [&](const level_point& a, const level_point& b) { return cost(a) < cost(b); });
      chosen_[s * fronts_.kinds() + kind] = *best;
      const layer& each = fronts_.kind(kind);
      of_kind_[kind] = cost(*best) + tick * each.time.count() + weight * each.weights.count();
    }
    sums_[0] = 0;
    for (std::size_t i = 0; i < width_; ++i)
      sums_[i + 1] = sums_[i] + of_kind_[fronts_.kind_of(static_cast<std::int64_t>(s + i))];
  }
  /// The cheapest paths to each end of stage s, from those to each of its beginnings.
  void extend_path(std::size_t s) {
    next_.assign(width_, nothing);
    const auto before = [&](std::size_t i) { return cost_[i] < nothing ? cost_[i] - sums_[i] : nothing; };
    std::size_t at = 0;  // the cheapest beginning
    for (std::size_t j = 0; j < width_; ++j) {
      if (j - at >= longest_) {
        ++at;
        for (std::size_t i = at; i <= j; ++i)
          if (before(i) < before(at)) at = i;
      }
      if (before(j) < before(at)) at = j;
      from_[s * width_ + j] = at;
      if (cost_[at] < nothing) next_[j] = before(at) + sums_[j + 1];
    }
    cost_.swap(next_);
  }
  /// By how much the cheapest path exceeds the mean time and the room of each rank.
  void walk() {
    over_.assign(scales_.size(), 0);
    cuts_.assign(stages_ + 1, fronts_.layers());
    ticks all = 0;
    for (std::uint32_t s = static_cast<std::uint32_t>(stages_); s-- > 0;) {
      const std::uint32_t r = q_.in_flight.rank_of(s);
      const std::int64_t end = cuts_[s + 1];
      cuts_[s] = static_cast<std::int64_t>(s + from_[s * width_ + static_cast<std::size_t>(end - 1) - s]);
      level_point sum;
      for (std::int64_t layer = cuts_[s]; layer < end; ++layer) {
        const level_point& x = chosen_[s * fronts_.kinds() + fronts_.kind_of(layer)];
        sum = {sum.bytes + x.bytes, sum.extra + x.extra};
      }
      over_[r] += fronts_.time(cuts_[s], end) + sum.extra;
      all += fronts_.time(cuts_[s], end) + sum.extra;
      for (std::uint32_t k = 0; k < q_.in_flight.times(r); ++k)
        over_[first_count_[r] + k] +=
            fronts_.weights(cuts_[s], end) + q_.in_flight.at(r, k)[q_.in_flight.chunk_of(s)] * sum.bytes;
    }
    for (const room_numbers& room : q_.ranks) all += room.time;
    for (std::uint32_t r = 0; r < p_; ++r) {
      over_[r] += q_.ranks[r].time - all / static_cast<ticks>(p_);
      for (std::uint32_t k = 0; k < q_.in_flight.times(r); ++k)
        over_[first_count_[r] + k] += q_.ranks[r].fixed - q_.ranks[r].capacity;
    }
  }

  const split_numbers& q_;
  const segment_fronts& fronts_;
  std::size_t p_, stages_, width_, longest_;  // width_: at how many layers a stage may begin
  std::int64_t sum_, weight_;                 // of the sum of times, of the slowest
  std::size_t rounds_ = 0;
  int128 max_price_ = 0, least_ = 0;
  prices best_;
  std::vector<std::size_t> first_count_;              // by rank: where its prices of bytes begin
  std::vector<std::int64_t> scales_;                  // by price: of what it is the price, about
  std::vector<int128> over_;                          // by price: what the path takes too much of that
  std::vector<int128> sums_, of_kind_, cost_, next_;  // by layer; by kind; by layer
  std::vector<std::size_t> from_;                     // by stage and layer
  std::vector<level_point> chosen_;                   // by stage and kind
  std::vector<std::int64_t> cuts_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
