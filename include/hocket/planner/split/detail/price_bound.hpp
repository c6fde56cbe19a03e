// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/split/detail/level_front.hpp>

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
    rounds_ = (std::min)((std::min)(most_steps, static_cast<std::size_t>(q.budget) * 4) / work, most_rounds);
    if (weight_ > most_weight) rounds_ = 0;
    set_scales();
    best_.time.assign(p_, wide{weight_} * one / static_cast<wide>(p_));
    best_.bytes.assign(counts_, 0);
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
  static constexpr wide one = wide{1} << 40;                          // of a price
  static constexpr wide unit = wide{1} << 16;                         // of a relative step, and of the pace
  static constexpr wide nothing = wide{1} << 124;                     // costs more than all
  static constexpr std::size_t most_rounds = 400;                     // after that they gain less than a thousandth
  static constexpr std::size_t most_steps = std::size_t{1} << 25;     // of all rounds: some tenths of a second
  static constexpr std::int64_t most_weight = std::int64_t{1} << 36;  // so that products fit

  /// Of a tick of each rank, beside what it costs in a sum; of a byte at each count of each rank.
  struct prices {
    std::vector<wide> time, bytes;
  };

  [[nodiscard]] ticks bound() const noexcept {
    return least_ <= 0 ? 0 : static_cast<ticks>((std::min)((least_ + one - 1) / one, wide{never} + 1));
  }
  [[nodiscard]] std::int64_t room(std::size_t r) const noexcept {
    return (std::max)(std::int64_t{1}, q_.ranks[r].capacity - q_.ranks[r].fixed);
  }
  void set_scales() {
    ticks time = fronts_.time(0, fronts_.layers());
    std::int64_t held = 1;
    wide most = 1;
    for (std::uint32_t r = 0; r < p_; ++r) {
      time += q_.ranks[r].time;
      most = (std::max)({most, wide{room(r)}, wide{q_.ranks[r].fixed}});
      first_count_.push_back(counts_);
      counts_ += q_.in_flight.times(r);
      for (std::uint32_t k = 0; k < q_.in_flight.times(r); ++k) {
        std::int64_t all = 1;
        for (const std::uint32_t n : q_.in_flight.at(r, k)) all += n;
        held = (std::max)(held, all);
      }
    }
    first_count_.push_back(counts_);
    const std::int64_t bytes = 1 + fronts_.weights(0, fronts_.layers()) + fronts_.quickest(0, fronts_.layers()).bytes;
    most_price_ = (wide{1} << 100) / (std::max)(most, wide{bytes} * held);
    mean_time_ = (std::max)(ticks{1}, time / static_cast<ticks>(p_));
  }

  /// A value beside its scale, within what squares of it can bear.
  [[nodiscard]] static wide relative(wide x, wide of) noexcept {
    return (std::min)((std::max)(x * unit / of, -16 * unit), 16 * unit);
  }
  /// x · part / all, rounded.
  [[nodiscard]] static wide share(wide x, wide part, wide all) noexcept {
    return x / all * part + x % all * part / all;
  }
  /// Steps in the direction of what the path takes too much, smoothed over rounds: shorter ones when they no longer
  /// help, then from the best prices on.
  void climb(ticks target) {
    constexpr wide least_pace = unit >> 11;
    constexpr int patience = 10;
    const wide top = wide{target} * one;
    prices now = best_;
    prices step{std::vector<wide>(p_, 0), std::vector<wide>(counts_, 0)};
    wide value = least_ = price(now);
    int stale = 0;
    wide pace = unit;
    for (std::size_t round = 0; round < rounds_ && bound() < target && pace > least_pace; ++round) {
      walk();
      const wide norm = direct(step, now);
      if (norm == 0) break;
      go(now, step, (std::min)(top - value, top) * pace / unit, norm);
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
  /// The direction of the next step. @return its length, squared
  [[nodiscard]] wide direct(prices& step, const prices& now) const {
    const auto follow = [](wide& x, wide by) {
      x = (3 * x + 2 * by) / 5;
      return x * x;
    };
    ticks mean = 0;
    for (const ticks t : times_) mean += t;
    mean /= static_cast<ticks>(p_);
    wide norm = 0;
    for (std::size_t r = 0; r < p_; ++r) {
      norm += follow(step.time[r], relative(times_[r] - mean, mean_time_));
      for (std::size_t k = first_count_[r]; k < first_count_[r + 1]; ++k) {
        const wide over = relative(lacks_[k], room(r));
        norm += follow(step.bytes[k], over < 0 && now.bytes[k] == 0 ? wide{0} : over);
      }
    }
    return norm;
  }
  void go(prices& now, const prices& step, wide gap, wide norm) const {
    for (std::size_t r = 0; r < p_; ++r) {
      now.time[r] += share(gap / mean_time_, step.time[r] * unit, norm);
      for (std::size_t k = first_count_[r]; k < first_count_[r + 1]; ++k) {
        const wide next = now.bytes[k] + share(gap / room(r), step.bytes[k] * unit, norm);
        now.bytes[k] = (std::min)((std::max)(next, wide{0}), most_price_);
      }
    }
    settle(now.time);
  }
  /// The nearest prices of time that are none below 0 and add up to the weight of the slowest rank, or a little less.
  void settle(std::vector<wide>& time) const {
    for (bool again = true; again;) {
      wide over = -wide{weight_} * one;
      wide positive = 0;
      for (wide& x : time) {
        x = (std::max)(x, wide{0});
        over += x;
        positive += x > 0 ? 1 : 0;
      }
      if (positive == 0) positive = static_cast<wide>(p_);
      const wide each = over > 0 ? (over + positive - 1) / positive : -(-over / positive);
      again = false;
      for (wide& x : time) {
        if (x == 0 && positive < static_cast<wide>(p_)) continue;
        x -= each;
        again = again || x < 0;
      }
    }
  }

  /// The cheapest cuts at these prices: what they cost. No plan costs less. Stage s has the layers from s + i to s + j,
  /// 0 <= i <= j < width_.
  [[nodiscard]] wide price(const prices& x) {
    wide constant = 0;
    for (std::uint32_t r = 0; r < p_; ++r) {
      constant += (sum_ * one + x.time[r]) * q_.ranks[r].time;
      for (std::size_t k = first_count_[r]; k < first_count_[r + 1]; ++k)
        constant -= x.bytes[k] * (q_.ranks[r].capacity - q_.ranks[r].fixed);
    }
    from_.resize(stages_ * width_);
    chosen_.resize(stages_ * fronts_.kinds());
    sums_.resize(width_ + 1);
    cost_.assign(width_, nothing);
    cost_[0] = 0;
    for (std::size_t s = 0; s < stages_; ++s) {
      price_layers(x, s);
      extend_path(s);
    }
    return cost_.back() + constant;
  }
  /// What layers cost on stage s, each at its cheapest level, summed up.
  void price_layers(const prices& x, std::size_t s) {
    const std::uint32_t r = q_.in_flight.rank_of(static_cast<std::uint32_t>(s));
    const std::uint32_t c = q_.in_flight.chunk_of(static_cast<std::uint32_t>(s));
    const wide tick = sum_ * one + x.time[r];
    wide kept = 0;
    wide weight = 0;
    for (std::uint32_t k = 0; k < q_.in_flight.times(r); ++k) {
      const wide byte = x.bytes[first_count_[r] + k];
      kept += byte * q_.in_flight.at(r, k)[c];
      weight += byte;
    }
    of_kind_.resize(fronts_.kinds());
    for (std::size_t kind = 0; kind < fronts_.kinds(); ++kind) {
      const level_front& levels = fronts_.levels_of_kind(kind);
      wide best = nothing;
      for (std::size_t l = 0; l < levels.size(); ++l) {
        const wide now = tick * levels[l].extra + kept * levels[l].bytes;
        if (now >= best) continue;
        best = now;
        chosen_[s * fronts_.kinds() + kind] = l;
      }
      const layer& each = fronts_.kind(kind);
      of_kind_[kind] = best + tick * each.time.count() + weight * each.weights.count();
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
    if (!q_.split.empty()) {  // the cuts are given
      end_ = s == 0 ? static_cast<std::size_t>(q_.split[0]) - 1 : end_ + static_cast<std::size_t>(q_.split[s]) - 1;
      for (std::size_t j = 0; j < width_; ++j)
        if (j != end_) next_[j] = nothing;
    }
    cost_.swap(next_);
  }
  /// What the cheapest path takes of the time and the bytes of each rank.
  void walk() {
    times_.assign(p_, 0);
    lacks_.assign(counts_, 0);
    cuts_.assign(stages_ + 1, fronts_.layers());
    for (std::uint32_t r = 0; r < p_; ++r) {
      times_[r] = q_.ranks[r].time;
      for (std::size_t k = first_count_[r]; k < first_count_[r + 1]; ++k)
        lacks_[k] = q_.ranks[r].fixed - q_.ranks[r].capacity;
    }
    std::size_t j = width_ - 1;
    for (std::size_t s = stages_; s-- > 0;) {
      const std::uint32_t r = q_.in_flight.rank_of(static_cast<std::uint32_t>(s));
      const std::uint32_t c = q_.in_flight.chunk_of(static_cast<std::uint32_t>(s));
      const std::size_t i = from_[s * width_ + j];
      std::int64_t kept = 0;
      std::int64_t weights = 0;
      cuts_[s] = static_cast<std::int64_t>(s + i);
      for (std::size_t layer = s + i; layer <= s + j; ++layer) {
        const std::size_t kind = fronts_.kind_of(static_cast<std::int64_t>(layer));
        const level_point& x = fronts_.levels_of_kind(kind)[chosen_[s * fronts_.kinds() + kind]];
        times_[r] += fronts_.kind(kind).time.count() + x.extra;
        kept += x.bytes;
        weights += fronts_.kind(kind).weights.count();
      }
      for (std::uint32_t k = 0; k < q_.in_flight.times(r); ++k)
        lacks_[first_count_[r] + k] += weights + q_.in_flight.at(r, k)[c] * kept;
      j = i;
    }
  }

  const split_numbers& q_;
  const segment_fronts& fronts_;
  std::size_t p_, stages_, width_, longest_;  // width_: at how many layers a stage may begin
  std::int64_t sum_, weight_;                 // of the sum of times, of the slowest
  std::size_t rounds_ = 0;
  std::size_t counts_ = 0;                // of all ranks together
  std::vector<std::size_t> first_count_;  // by rank
  ticks mean_time_ = 1;
  wide most_price_ = 0, least_ = 0;
  prices best_;
  std::vector<wide> sums_, of_kind_, cost_, next_;  // by layer; by kind; by layer
  std::vector<std::size_t> from_, chosen_;          // by stage and layer; by stage and kind
  std::size_t end_ = 0;                             // of the stage before, if cuts are given
  std::vector<ticks> times_;
  std::vector<std::int64_t> lacks_, cuts_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
