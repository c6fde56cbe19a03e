// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/split/detail/kind_bound.hpp>
#include <hocket/planner/split/detail/price_bound.hpp>
#include <hocket/planner/split/detail/rank_choice.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Several chunks per rank, in a loop or two in a V: the least extra time under a bound on the slowest rank. A run of
/// layers is what one pass over the ranks holds; a shortest path over the ranks has as state how far they have come in
/// each run, for all places where the runs may begin. A state is left out if what kind_bound says of the ranks behind
/// it leaves no hope, or if they cannot run what is left in the time; few states remain where stages are short.
class chunk_path {
 public:
  struct plan {
    std::vector<std::vector<segment>> parts;  // by rank, by chunk; empty: none found
    ticks slowest = never, extra = never;
  };
  static constexpr std::size_t max_chunks = 8;

  /// @param turned  whether the second of two runs goes back from the end of the model, not on from the first
  /// @param prices  for the slowest rank, or nullptr: with them much of what a rank cannot do is told at once
  chunk_path(const split_problem& q, segment_fronts& fronts, rank_choice& choose, kind_bound& kinds, bool turned,
             const price_bound* prices)
      : q_(q),
        fronts_(fronts),
        choose_(choose),
        kinds_(kinds),
        turned_(turned),
        prices_(prices),
        p_(static_cast<std::int64_t>(q.ranks.size())),
        v_(q.in_flight.chunks()),
        layers_(fronts.layers()),
        longest_(q.most_on_stage > 0 ? q.most_on_stage : layers_),
        weight_(weight_of_slowest(q)),
        most_steps_(q.budget > never / 8 ? never : q.budget * 4),
        parts_(v_) {
    const auto runs = v_ * static_cast<std::size_t>(layers_ + 1);
    if (prices_ != nullptr && !turned_ && runs * static_cast<std::size_t>((p_ + 1) * (layers_ + 1)) <= max_rests)
      rests_.resize(runs);
  }

  /// Whether the budget, of four steps for a partial plan, or that of the choice of levels is used up: then answers are
  /// not to be trusted.
  [[nodiscard]] bool exhausted() const noexcept { return steps_ > most_steps_ || choose_.exhausted(); }

  /// Whether there is a plan in which no rank takes more than `most`; it is kept.
  [[nodiscard]] bool possible(ticks most) {
    any_ = true;
    least_extra(most, never);
    any_ = false;
    return !found_.parts.empty();
  }
  /// The least Σ extra of plans in which no rank takes more than `most`, if it is less than `below`; else `below`. The
  /// plan is kept.
  ticks least_extra(ticks most, ticks below) {
    found_ = {};
    if (kinds_.least_extra(most) >= below) return below;
    most_ = most, below_ = below;
    room_.assign(static_cast<std::size_t>(p_) + 1, 0);
    worth_.assign(static_cast<std::size_t>(p_) + 1, 0);
    for (auto r = static_cast<std::size_t>(p_); r-- > 0;) {
      room_[r] = room_[r + 1] + (std::max)(ticks{0}, most - q_.ranks[r].time);
      if (prices_ != nullptr) worth_[r] = worth_[r + 1] + prices_->room_of(r, most);
    }
    begin_.fill(0), end_.fill(layers_);
    if (turned_) walk();
    else begin_run(1, 0);
    return below_;
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
  using places = std::array<std::int64_t, max_chunks>;
  struct state {
    places at;  // layers taken of each run
    ticks extra;
    std::size_t from;
  };

  /// Plans whose slowest rank takes more than `low`, up to `high`; none that takes less is better.
  void between(ticks low, ticks high) {
    if (high <= low || exhausted()) return;
    const ticks extra = least_extra(high, best_ - weight_ * (low + 1));
    if (found_.parts.empty()) return;
    if (const ticks value = extra + weight_ * found_.slowest; value < best_) best_ = value, kept_ = found_;
    if (high - low == 1) return;
    const ticks mid = low + (high - low) / 2;
    between(low, mid);
    if (extra + weight_ * (mid + 1) < best_) between(mid, high);
  }
  /// What the stages of run c from each rank on cost at their cheapest if it ends at `end`: by rank and first layer.
  [[nodiscard]] const wide* cheapest_rest(std::size_t c, std::int64_t end) {
    const std::int64_t width = layers_ + 1, stage = static_cast<std::int64_t>(c) * p_;
    auto& table = rests_[c * static_cast<std::size_t>(width) + static_cast<std::size_t>(end)];
    if (!table.empty()) return table.data();
    table.assign(static_cast<std::size_t>((p_ + 1) * width), unlikely);
    const auto at = [&](std::int64_t r, std::int64_t x) -> wide& {
      return table[static_cast<std::size_t>(r * width + x)];
    };
    at(p_, end) = 0;
    for (std::int64_t r = p_; r-- > 0;) {
      const std::int64_t first = stage + r, last = end - (p_ - 1 - r);
      wide best = unlikely;  // to end this stage
      for (std::int64_t x = last; x >= first; --x) {
        const wide sum = x == first ? 0 : prices_->stage(static_cast<std::size_t>(first), first, x);
        at(r, x) = best - sum;
        best = (std::min)(best, at(r + 1, x) + sum);
      }
    }
    steps_ += (p_ + 1) * width / 16;
    return table.data();
  }
  /// Tries all places where run c may begin, nearest to even first, but those where stages cost more than ranks have.
  /// @param spent  what the runs before the last cost at their cheapest
  void begin_run(std::size_t c, wide spent) {
    if (!rests_.empty() && c == v_) to_go_[c - 1] = cheapest_rest(c - 1, layers_);
    if (c == v_) return walk();
    const auto later = static_cast<std::int64_t>(v_ - c);
    const std::int64_t from = begin_[c - 1], least = (std::max)(from + p_, layers_ - later * p_ * longest_);
    const std::int64_t most = (std::min)(layers_ - later * p_, from + p_ * longest_);
    const std::int64_t middle = from + (layers_ - from) / (later + 1);
    for (std::int64_t d = 0; middle - d >= least || middle + d <= most; ++d)
      for (const std::int64_t at : {middle - d, middle + d}) {
        if (at < least || at > most || exhausted() || (any_ && !found_.parts.empty())) continue;
        wide own = spent;
        if (!rests_.empty()) {
          to_go_[c - 1] = cheapest_rest(c - 1, at);
          own += to_go_[c - 1][begin_[c - 1]];
          if (own + prices_->rest(c * static_cast<std::size_t>(p_), at) > worth_[0]) continue;
        }
        begin_[c] = end_[c - 1] = at;
        begin_run(c + 1, own);
        if (d == 0) break;
      }
  }
  [[nodiscard]] segment piece(std::size_t c, std::int64_t from, std::int64_t to) const {
    if (turned_ && c == 1) return {layers_ - to, layers_ - from};
    return {begin_[c] + from, begin_[c] + to};
  }
  void walk() {
    states_.resize(static_cast<std::size_t>(p_) + 1);
    states_[0].assign(1, {{}, 0, 0});
    for (std::size_t r = 0; r < static_cast<std::size_t>(p_); ++r) {
      rank_ = r, later_ = p_ - 1 - static_cast<std::int64_t>(r);
      auto& next = states_[r + 1];
      next.clear();
      for (from_ = 0; from_ < states_[r].size(); ++from_) {
        now_ = states_[r][from_];
        std::size_t taken = 0;
        ticks done = 0;
        for (std::size_t c = 0; c < v_; ++c) {
          const segment x = piece(c, 0, now_.at[c]);
          taken += kinds_.state_of(x.end) - kinds_.state_of(x.begin), done += fronts_.time(x.begin, x.end);
        }
        then_ = now_;
        const wide price = prices_ != nullptr ? prices_->room_of(r, most_) : 0;
        take(0, most_ - q_.ranks[r].time, fronts_.time(0, layers_) - done - room_[r + 1], 0, taken, price,
             worth_[r + 1]);
        if (exhausted()) return;
      }
      std::sort(next.begin(), next.end(), [](const state& x, const state& y) {
        if (x.at != y.at) return x.at < y.at;
        return x.extra != y.extra ? x.extra < y.extra : x.from < y.from;
      });
      next.erase(std::unique(next.begin(), next.end(), [](const state& x, const state& y) { return x.at == y.at; }),
                 next.end());
      if (next.empty()) return;
    }
    if (!exhausted()) keep();
  }
  /// Gives the rank its piece of run c and of those behind.
  /// @param left  its time for them, @param need  time that the ranks behind cannot take, @param quick  least extra,
  /// @param price  what they may cost, @param later  what stages of the ranks behind may, less what those of the runs
  /// before take at their cheapest
  void take(std::size_t c, ticks left, ticks need, ticks quick, std::size_t taken, wide price, wide later) {
    const auto p = static_cast<std::size_t>(p_);
    const std::size_t s = turned_ && c == 1 ? 2 * p - 1 - rank_ : c * p + rank_;
    const std::int64_t at = now_.at[c], all = turned_ ? layers_ : end_[c] - begin_[c];
    std::int64_t last = (std::min)(all - later_, at + longest_), first = at + 1;
    const bool joined = turned_ && c == 1;  // the two runs of a V meet
    if (joined) last = (std::min)(last, layers_ - then_.at[0] - 2 * later_);
    if (later_ == 0 && !turned_) first = all;
    if (later_ == 0 && joined) first = layers_ - then_.at[0];
    for (std::int64_t b = first; b <= last && b > at; ++b) {
      if (++steps_ > most_steps_) return;
      const segment x = parts_[c] = piece(c, at, b);
      const ticks time = fronts_.time(x.begin, x.end), more = fronts_.quickest(x.begin, x.end).extra;
      const wide cost = prices_ != nullptr ? prices_->stage(s, x.begin, x.end) : 0;
      if (time + more > left || cost > price) return;
      const wide rest = rests_.empty() ? 0 : to_go_[c][static_cast<std::int64_t>(rank_ + 1) * (layers_ + 1) + x.end];
      if (rest > later) continue;
      then_.at[c] = b;
      const std::size_t dealt = taken + kinds_.state_of(x.end) - kinds_.state_of(x.begin);
      if (c + 1 < v_) take(c + 1, left - time - more, need - time, quick + more, dealt, price - cost, later - rest);
      else if (time >= need) arrive(left - time + quick, quick + more, dealt);
    }
  }
  /// @param left  the rank's time for what it computes again, @param quick  the least that may be
  void arrive(ticks left, ticks quick, std::size_t taken) {
    const ticks rest = kinds_.rest(rank_ + 1, taken);
    if (rest >= never || now_.extra + quick + rest >= below_) return;
    const ticks extra =
        choose_(static_cast<std::uint32_t>(rank_), parts_, (std::min)(left + 1, below_ - now_.extra - rest)).extra;
    if (extra < never) states_[rank_ + 1].push_back({then_.at, now_.extra + extra, from_});
  }
  void keep() {
    state s = *std::min_element(states_.back().begin(), states_.back().end(),
                                [](const state& x, const state& y) { return x.extra < y.extra; });
    if (s.extra >= below_) return;
    found_ = {{}, 0, below_ = s.extra};
    found_.parts.assign(static_cast<std::size_t>(p_), parts_);
    for (auto r = static_cast<std::size_t>(p_); r-- > 0;) {
      const state& before = states_[r][s.from];
      auto& own = found_.parts[r];
      for (std::size_t c = 0; c < v_; ++c) own[c] = piece(c, before.at[c], s.at[c]);
      const auto rank = static_cast<std::uint32_t>(r);
      found_.slowest = (std::max)(found_.slowest, choose_.base_time(rank, own) + choose_(rank, own).extra);
      s = before;
    }
  }

  const split_problem& q_;
  segment_fronts& fronts_;
  rank_choice& choose_;
  kind_bound& kinds_;
  bool turned_, any_ = false;  // any_: the first plan will do
  const price_bound* prices_;
  std::int64_t p_;
  std::size_t v_;
  std::int64_t layers_, longest_, weight_;
  std::int64_t steps_ = 0, most_steps_;
  ticks most_ = 0, below_ = 0, best_ = 0;
  std::vector<ticks> room_;  // what the ranks from this one on have
  places begin_{}, end_{};   // of the runs
  static constexpr std::size_t max_rests = std::size_t{1} << 22;
  static constexpr wide unlikely = wide{1} << 124;
  std::vector<wide> worth_;                      // what the stages of the ranks from this one on may cost
  std::vector<std::vector<wide>> rests_;         // by run and its end; none in a V, without prices, or if too many
  std::array<const wide*, max_chunks> to_go_{};  // by run, for its end at work
  std::vector<std::vector<state>> states_;       // before each rank
  std::size_t rank_ = 0, from_ = 0;              // at work: the rank, its state, what it takes
  std::int64_t later_ = 0;
  state now_{}, then_{};
  std::vector<segment> parts_;
  plan found_, kept_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
