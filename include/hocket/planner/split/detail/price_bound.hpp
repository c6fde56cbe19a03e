// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/split/detail/mean_prices.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// A bound on the split of unequal layers that knows where each layer stands. The slowest rank is no faster than any
/// mean of the ranks, so its weight is shared out to them as prices on their times; bytes get prices, too, one for each
/// maximal count of a rank, which its room pays back. With prices every stage stands for itself, each layer takes the
/// level that is cheapest there, and the cheapest cuts are a shortest path over the stages. No plan is cheaper,
/// whatever the prices; they are raised where the path takes too long or too much, in steps after Polyak.
class price_bound {
 public:
  /// @param goal  what is bounded
  price_bound(const split_problem& q, const segment_fronts& fronts, objective goal)
      : q_(q),
        fronts_(fronts),
        p_(q.ranks.size()),
        stages_(p_ * q.in_flight.chunks()),
        width_(static_cast<std::size_t>(fronts.layers()) - stages_ + 1),
        longest_(q.most_on_stage > 0 ? static_cast<std::size_t>(q.most_on_stage) : width_),
        sum_(goal == objective::step_time ? 1 : 0),
        weight_(goal == objective::step_time ? weight_of_slowest(q) : 1) {
    const std::size_t work = stages_ * width_;
    if (work > max_steps / 8 || weight_ > std::int64_t{1} << 36) return;  // a few steps lead nowhere
    const auto steps = static_cast<std::size_t>((std::min)(q.budget, static_cast<std::int64_t>(max_steps) / 4) * 4);
    rounds_ = static_cast<int>(1 + (std::min)(steps / work, std::size_t{399}));
    ticks time = fronts.time(0, fronts.layers());
    std::int64_t held = 1;
    for (std::uint32_t r = 0; r < p_; ++r) {
      time += q.ranks[r].time;
      first_count_.push_back(counts_);
      counts_ += q.in_flight.times(r);
      for (std::uint32_t k = 0; k < q.in_flight.times(r); ++k) {
        std::int64_t all = 1;
        for (const std::uint32_t n : q.in_flight.at(r, k)) all += n;
        held = (std::max)(held, all);
      }
    }
    first_count_.push_back(counts_);
    mean_time_ = (std::max)(ticks{1}, time / static_cast<ticks>(p_));
    std::int64_t bytes = 1;
    for (std::int64_t i = 0; i < fronts.layers(); ++i) {
      const std::size_t k = fronts.kind_of(i);
      bytes += fronts.kind(k).weights + fronts.levels_of_kind(k).front().bytes;
    }
    wide most = wide{bytes} * held;
    for (std::size_t r = 0; r < p_; ++r) most = (std::max)(most, wide{room(r)});
    for (const rank_room& x : q.ranks) most = (std::max)(most, wide{x.fixed});
    most_price_ = (wide{1} << 100) / most;
    best_.time.assign(p_, wide{weight_} * one / static_cast<wide>(p_));
    best_.bytes.assign(counts_, 0);
    least_ = price(best_);
  }

  /// False if that would take too long.
  [[nodiscard]] bool usable() const noexcept { return rounds_ > 0; }
  /// No plan has less of what is minimised; beyond `never` if prices rise without end, as nothing fits.
  [[nodiscard]] ticks bound() const noexcept {
    return least_ <= 0 ? 0 : static_cast<ticks>((std::min)((least_ + one - 1) / one, wide{never} + 1));
  }
  /// Raises the bound, at most to `target`: what the best plan known has.
  void raise(ticks target) {
    climb(target, 1 << 16);
    const prices x = prices_of_parts();
    if (const wide value = price(x); value > least_) best_ = x, least_ = value, climb(target, 1 << 11);
    price(best_);
    walk();
    find_rest();
  }
  /// The cuts of the cheapest path.
  [[nodiscard]] const std::vector<std::int64_t>& cuts() const noexcept { return cuts_; }
  /// A stage at the best prices found.
  [[nodiscard]] wide stage(std::size_t s, std::int64_t a, std::int64_t b) const noexcept {
    return stage_at(s, static_cast<std::size_t>(a) - s, static_cast<std::size_t>(b) - s - 1);
  }
  /// Whether what so many stages cost, `spent`, and those from `layer` on at their cheapest leave hope for at most
  /// `most`.
  [[nodiscard]] bool hopeful(wide spent, std::size_t stages, std::int64_t layer, ticks most) const noexcept {
    return spent + rest(stages, layer) + constant_ <= wide{most} * one;
  }
  /// What the stages from s on cost at the least if the first of them begins at `layer`.
  [[nodiscard]] wide rest(std::size_t s, std::int64_t layer) const noexcept {
    return rest_[s * width_ + static_cast<std::size_t>(layer) - s];
  }
  /// What the stages of a rank may cost if it takes no more than `most`; of the slowest rank's prices.
  [[nodiscard]] wide room_of(std::size_t r, ticks most) const noexcept {
    wide left = best_.time[r] * (most - q_.ranks[r].time);
    for (std::size_t k = first_count_[r]; k < first_count_[r + 1]; ++k)
      left += best_.bytes[k] * (q_.ranks[r].capacity - q_.ranks[r].fixed);
    return left;
  }

 private:
  static constexpr wide one = wide{1} << 40, unit = 1 << 16;  // of a price; of a relative step
  static constexpr wide nothing = wide{1} << 124;
  static constexpr std::size_t max_steps = std::size_t{1} << 23;

  /// Of a tick of each rank, beside what it costs in a sum; of a byte at each count of each rank.
  struct prices {
    std::vector<wide> time, bytes;
  };

  [[nodiscard]] std::int64_t room(std::size_t r) const noexcept {
    return (std::max)(std::int64_t{1}, q_.ranks[r].capacity - q_.ranks[r].fixed);
  }
  [[nodiscard]] static wide relative(wide x, wide of) noexcept {
    return (std::min)((std::max)(x * unit / of, -16 * unit), 16 * unit);
  }
  static void follow(wide& step, wide by) noexcept { step = (3 * step + 2 * by) / 5; }
  /// x · part / all, rounded.
  [[nodiscard]] static wide share(wide x, wide part, wide all) noexcept {
    return x / all * part + x % all * part / all;
  }
  [[nodiscard]] ticks mean_of_times() const noexcept {
    ticks all = 0;
    for (const ticks t : times_) all += t;
    return all / static_cast<ticks>(p_);
  }
  /// @param pace  of 2^16: the way to the target that a step goes at first
  void climb(ticks target, std::int64_t pace) {
    const wide top = wide{target} * one;
    prices now = best_;
    price(now);
    std::vector<wide> time_step(p_, 0), bytes_step(counts_, 0);
    int stale = 0;
    wide value = least_;
    for (int round = 0; round < rounds_ && bound() < target && pace > (1 << 5); ++round) {
      walk();
      wide norm = 0;
      const ticks mean = mean_of_times();
      for (std::size_t r = 0; r < p_; ++r) {
        follow(time_step[r], relative(times_[r] - mean, mean_time_));
        norm += time_step[r] * time_step[r];
        for (std::size_t k = first_count_[r]; k < first_count_[r + 1]; ++k) {
          wide over = relative(lacks_[k], room(r));
          if (over < 0 && now.bytes[k] == 0) over = 0;
          follow(bytes_step[k], over);
          norm += bytes_step[k] * bytes_step[k];
        }
      }
      if (norm == 0) break;
      const wide gap = (std::min)(top - value, top) * pace >> 16;
      for (std::size_t r = 0; r < p_; ++r) {
        now.time[r] += share(gap / mean_time_, time_step[r] * unit, norm);
        for (std::size_t k = first_count_[r]; k < first_count_[r + 1]; ++k) {
          const wide next = now.bytes[k] + share(gap / room(r), bytes_step[k] * unit, norm);
          now.bytes[k] = next < 0 ? 0 : (std::min)(next, most_price_);
        }
      }
      settle(now.time);
      value = price(now);
      if (value > least_) {
        stale = value - least_ > least_ >> 22 ? 0 : stale + 1;
        least_ = value, best_ = now;
      } else {
        ++stale;
      }
      if (stale < 10) continue;
      pace = pace * 7 / 10, stale = 0;
      now = best_, value = price(now);
    }
  }
  /// mean_prices() as prices of this bound.
  [[nodiscard]] prices prices_of_parts() const {
    prices x{{}, std::vector<wide>(counts_, 0)};
    for (const mean_price& of : mean_prices(q_, fronts_)()) {
      const std::size_t r = x.time.size();
      x.time.push_back(wide{weight_} * of.tick * (one >> mean_price::digits));
      const wide byte = ((x.time[r] + sum_ * one) >> 24) * of.byte >> (mean_price::digits - 24);
      wide all = 0;
      for (const std::int64_t weight : of.weights) all += weight;
      for (std::size_t k = 0; k < of.weights.size(); ++k)
        x.bytes[first_count_[r] + k] = (std::min)(most_price_, byte * of.weights[k] / all);
    }
    return x;
  }
  /// The nearest prices of time that are none below 0 and add up to the weight of the slowest rank, or a little less.
  void settle(std::vector<wide>& time) const {
    for (bool again = true; again;) {
      again = false;
      for (wide& x : time) x = (std::max)(x, wide{0});
      wide over = -wide{weight_} * one, positive = 0;
      for (const wide x : time) over += x, positive += x > 0 ? 1 : 0;
      if (positive == 0) positive = static_cast<wide>(p_);
      const wide each = over > 0 ? (over + positive - 1) / positive : -(-over / positive);
      for (wide& x : time) {
        if (x == 0 && positive < static_cast<wide>(p_)) continue;
        x -= each;
        again = again || x < 0;
      }
    }
  }
  /// The cheapest cuts at these prices: what they cost. No plan costs less.
  wide price(const prices& x) {
    const std::size_t kinds = fronts_.kinds();
    sums_.resize(stages_ * (width_ + 1)), from_.resize(stages_ * width_), chosen_.resize(stages_ * kinds);
    cost_.assign(width_, nothing), cost_[0] = 0;
    std::vector<wide> of(kinds);
    constant_ = 0;
    for (std::uint32_t r = 0; r < p_; ++r) {
      constant_ += (sum_ * one + x.time[r]) * q_.ranks[r].time;
      for (std::size_t k = first_count_[r]; k < first_count_[r + 1]; ++k)
        constant_ -= x.bytes[k] * (q_.ranks[r].capacity - q_.ranks[r].fixed);
    }
    for (std::size_t s = 0; s < stages_; ++s) {
      const std::uint32_t r = q_.in_flight.rank_of(static_cast<std::uint32_t>(s));
      const std::uint32_t c = q_.in_flight.chunk_of(static_cast<std::uint32_t>(s));
      const wide tick = sum_ * one + x.time[r];
      wide kept = 0, weight = 0;
      for (std::uint32_t k = 0; k < q_.in_flight.times(r); ++k) {
        const wide byte = x.bytes[first_count_[r] + k];
        kept += byte * q_.in_flight.at(r, k)[c], weight += byte;
      }
      for (std::size_t k = 0; k < kinds; ++k) {
        const level_front& levels = fronts_.levels_of_kind(k);
        wide best = nothing;
        for (std::size_t l = 0; l < levels.size(); ++l) {
          const wide now = tick * levels[l].extra + kept * levels[l].bytes;
          if (now < best) best = now, chosen_[s * kinds + k] = l;
        }
        of[k] = best + tick * fronts_.kind(k).time + weight * fronts_.kind(k).weights;
      }
      // Stage s has the layers from s + i to s + j, i <= j < width_.
      wide* const sums = &sums_[s * (width_ + 1)];
      sums[0] = 0;
      for (std::size_t i = 0; i < width_; ++i)
        sums[i + 1] = sums[i] + of[fronts_.kind_of(static_cast<std::int64_t>(s + i))];
      std::size_t at = 0;
      next_.assign(width_, nothing);
      for (std::size_t j = 0; j < width_; ++j) {
        if (j - at >= longest_)
          for (std::size_t i = ++at; i <= j; ++i)
            if (cost_[i] - sums[i] < cost_[at] - sums[at]) at = i;
        if (cost_[j] < nothing && cost_[j] - sums[j] < cost_[at] - sums[at]) at = j;
        from_[s * width_ + j] = at;
        if (cost_[at] < nothing) next_[j] = cost_[at] - sums[at] + sums[j + 1];
      }
      cost_.swap(next_);
    }
    return cost_.back() + constant_;
  }
  /// What the cheapest path takes of the time and the bytes of each rank.
  void walk() {
    times_.assign(p_, 0), lacks_.assign(counts_, 0), cuts_.assign(stages_ + 1, fronts_.layers());
    for (std::uint32_t r = 0; r < p_; ++r) {
      times_[r] = q_.ranks[r].time;
      for (std::size_t k = first_count_[r]; k < first_count_[r + 1]; ++k)
        lacks_[k] = q_.ranks[r].fixed - q_.ranks[r].capacity;
    }
    for (std::size_t s = stages_, j = width_ - 1; s-- > 0;) {
      const std::uint32_t r = q_.in_flight.rank_of(static_cast<std::uint32_t>(s));
      const std::uint32_t c = q_.in_flight.chunk_of(static_cast<std::uint32_t>(s));
      const std::size_t i = from_[s * width_ + j];
      std::int64_t kept = 0, weights = 0;
      cuts_[s] = static_cast<std::int64_t>(s + i);
      for (std::size_t layer = s + i; layer <= s + j; ++layer) {
        const std::size_t kind = fronts_.kind_of(static_cast<std::int64_t>(layer));
        const level& x = fronts_.levels_of_kind(kind)[chosen_[s * fronts_.kinds() + kind]];
        times_[r] += fronts_.kind(kind).time + x.extra;
        kept += x.bytes, weights += fronts_.kind(kind).weights;
      }
      for (std::uint32_t k = 0; k < q_.in_flight.times(r); ++k)
        lacks_[first_count_[r] + k] += weights + q_.in_flight.at(r, k)[c] * kept;
      j = i;
    }
  }
  /// Stage s with the layers from s + i to s + j.
  [[nodiscard]] wide stage_at(std::size_t s, std::size_t i, std::size_t j) const noexcept {
    return sums_[s * (width_ + 1) + j + 1] - sums_[s * (width_ + 1) + i];
  }
  /// What the stages from each on cost at the least, by their first layer.
  void find_rest() {
    rest_.assign((stages_ + 1) * width_, nothing);
    rest_.back() = 0;
    for (std::size_t s = stages_; s-- > 0;) {
      const auto to = [&](std::size_t j) { return rest_[(s + 1) * width_ + j] + sums_[s * (width_ + 1) + j + 1]; };
      std::size_t at = width_ - 1;  // the cheapest end from i on
      for (std::size_t i = width_; i-- > 0;) {
        if (to(i) < to(at)) at = i;
        if (at - i >= longest_)
          for (std::size_t j = at = i + longest_ - 1; j-- > i;)
            if (to(j) < to(at)) at = j;
        rest_[s * width_ + i] = (std::min)(nothing, to(at) - sums_[s * (width_ + 1) + i]);
      }
    }
  }

  const split_problem& q_;
  const segment_fronts& fronts_;
  std::size_t p_, stages_, width_, longest_;  // width_: how many layers a stage may begin at
  std::int64_t sum_, weight_;                 // of the sum of times, of the slowest
  int rounds_ = 0;
  std::size_t counts_ = 0;
  std::vector<std::size_t> first_count_;  // by rank
  ticks mean_time_ = 1;
  wide most_price_ = 0, least_ = 0, constant_ = 0;
  prices best_;
  std::vector<wide> sums_, cost_, next_, rest_;  // by stage and layer
  std::vector<std::size_t> from_, chosen_;       // by stage and layer; by stage and kind
  std::vector<ticks> times_;
  std::vector<std::int64_t> lacks_, cuts_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
