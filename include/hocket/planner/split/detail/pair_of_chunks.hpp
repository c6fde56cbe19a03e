// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/split/detail/cut_moves.hpp>
#include <hocket/planner/split/detail/split_by_rank.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Unequal layers on several chunks per rank: the fastest slowest rank, by two chunks at a time while the others stay.
/// A walk over the ranks takes a piece from each of two runs of layers: of what one pass over the ranks and the next
/// run, or in a V of what lies before and behind its middle. Its state is how far it has come in both. With a bound on
/// the slowest rank few states are left, as what the ranks behind cannot run the ones so far must have taken; where the
/// second run begins is tried everywhere. Whatever a rank can do it can do with less, so the pieces of a rank with so
/// many layers of the first run are all up to a longest of the second. With two chunks that is the whole question and
/// the answer is exact. With more, two passes after each other are cut anew as long as that helps.
class pair_of_chunks {
 public:
  pair_of_chunks(const split_problem& q, segment_fronts& fronts, rank_choice& choose, std::int64_t& expansions)
      : q_(q),
        fronts_(fronts),
        choose_(choose),
        expansions_(expansions),
        p_(static_cast<std::int64_t>(q.ranks.size())),
        v_(q.in_flight.chunks()),
        layers_(fronts.layers()),
        most_on_stage_(q.most_on_stage > 0 ? q.most_on_stage : fronts.layers()),
        limit_(q.budget) {
    for (std::int64_t s = 0; s < p_ * v_; ++s) {
      const auto [rank, chunk] = where(s);
      loop_ = loop_ && rank == s % p_ && chunk == s / p_;
      turned_ = turned_ && v_ == 2 && rank == (s < p_ ? s : 2 * p_ - 1 - s) && chunk == s / p_;
    }
  }

  /// Whether chunks stand as in a loop, or two as in a V; and which.
  [[nodiscard]] bool regular() const noexcept { return loop_ || turned_; }
  [[nodiscard]] bool two() const noexcept { return v_ == 2 && regular(); }
  [[nodiscard]] bool turned() const noexcept { return turned_; }
  /// Whether the last answer might be better if it had been given more expansions.
  [[nodiscard]] bool cut_short() const noexcept { return cut_short_; }
  /// The best plan found and its slowest rank; `never` if there is none.
  struct answer {
    ticks slowest = never;
    std::vector<std::vector<segment>> parts;  // by rank, by chunk
    ticks bound = 0;                          // no plan has a faster slowest rank
  };
  /// Whether memory alone tells that nothing fits: every layer at its leanest, any stage empty. Two chunks only.
  [[nodiscard]] bool hopeless() {
    limit_ = expansions_ + q_.budget;
    return two() && !fits_lean(0, 0) && sure_;
  }
  /// A rank, and what it lacks in bytes in a split in which none lacks more; with them that split fits. Nothing if that
  /// cannot be told.
  struct lack {
    std::uint32_t rank = 0;
    std::int64_t bytes = 0;
    bool proved = false;  // no split lacks less
  };
  [[nodiscard]] lack least_lack() {
    lack least;
    if (!two()) return least;
    limit_ = expansions_ + q_.budget;
    const auto bisect = [&](std::int64_t low, std::int64_t high, std::int64_t own) {
      while (high - low > 1 && sure_) {
        const std::int64_t mid = low + (high - low) / 2;
        (fits_lean(mid, own) ? high : low) = mid;
      }
      return high;
    };
    std::int64_t low = -1, high = 0;
    while (!fits_lean(high, 0) && sure_) low = high, high = 2 * high + 1;
    const std::int64_t bound = bisect(low, high, 0);  // stages may be empty
    if (!sure_) return least;
    low = bound - 1, high = bound;
    while (!fits_lean(high, 1) && sure_) low = high, high += high - bound + 1;
    bisect(low, high, 1);
    if (!sure_) return least;
    const auto take = [&] {
      least.bytes = 0;
      for (std::uint32_t r = 0; r < found_.size(); ++r)
        if (const std::int64_t bytes = missing(r, found_[r]); bytes > least.bytes) least.rank = r, least.bytes = bytes;
    };
    take();
    // Far is not always best if a stage must have a layer: the next may be the bulky one. So all states, for a while.
    far_ = false, limit_ = expansions_ + q_.budget / 2;
    bisect(bound - 1, least.bytes, 1);
    least.proved = sure_, far_ = true;
    take();
    return least;
  }

  /// @param least  a bound on the slowest rank
  /// @param most   more than any plan takes
  /// @param limit  on expansions
  /// @param plan   to begin with, if there are more than two chunks; empty: stages of about equal times
  [[nodiscard]] answer operator()(ticks least, ticks most, std::int64_t limit,
                                  const std::vector<std::vector<segment>>& plan) {
    limit_ = limit, cut_short_ = false;
    found_.clear();
    answer best;
    best.bound = least;
    if (!loop_ && !turned_) return best;
    parts_.assign(static_cast<std::size_t>(p_), std::vector<segment>(static_cast<std::size_t>(v_)));
    if (v_ > 2) return by_turns(least, most, plan);
    find_least(least, most, [&](ticks time) {
      if (possible({0, 0, layers_}, time)) return true;
      if (sure_) best.bound = (std::max)(best.bound, time + 1);
      return false;
    });
    if (found_.empty()) return best;
    best.parts = found_;
    best.slowest = slowest_of(found_);
    return best;
  }

 private:
  /// Two chunks' layers: the first has those from `begin` on, the second from `middle` on; in a V from `end` down.
  struct runs {
    std::int64_t begin, middle, end;
  };
  /// How many layers of both runs some ranks have taken, and the state they came from.
  struct state {
    std::int64_t first, second;
    std::size_t from;
  };

  /// States with as many layers of the first run, and from `least` to `most` of the second.
  struct range {
    std::int64_t first, least, most;
    std::size_t from;
  };

  [[nodiscard]] std::pair<std::int64_t, std::int64_t> where(std::int64_t s) const {
    const auto stage = static_cast<std::uint32_t>(s);
    return {q_.in_flight.rank_of(stage), q_.in_flight.chunk_of(stage)};
  }

  /// Looks for the least time of `least` to `most` that will do, by steps that double and bisection.
  template <class Will>
  static void find_least(ticks least, ticks most, const Will& will_do) {
    ticks low = least - 1, step = 1 + least / 256, high = least;
    while (high < most && !will_do(high)) low = high, high = (std::min)(most, high + step), step *= 2;
    while (high - low > 1) {
      const ticks mid = low + (high - low) / 2;
      (will_do(mid) ? high : low) = mid;
    }
  }

  /// More than two chunks: neighbouring passes are cut anew, until none helps.
  [[nodiscard]] answer by_turns(ticks least, ticks most, const std::vector<std::vector<segment>>& plan) {
    answer best;
    best.bound = least;
    const std::vector<std::int64_t> cuts = even_cuts(q_, fronts_);
    for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
      const auto [rank, chunk] = where(static_cast<std::int64_t>(s));
      parts_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(chunk)] = {cuts[s], cuts[s + 1]};
    }
    if (!plan.empty()) parts_ = plan;
    best.slowest = slowest_of(parts_);
    if (best.slowest < never) best.parts = parts_;
    for (bool better = true; better && best.slowest > least;) {
      better = false;
      for (chunk_ = 0; chunk_ + 2 <= v_ && best.slowest > least && expansions_ < limit_; ++chunk_) {
        const auto c = static_cast<std::size_t>(chunk_), last = static_cast<std::size_t>(p_ - 1);
        const runs pair{parts_[0][c].begin, 0, parts_[last][c + 1].end};
        const ticks high = (best.slowest < never ? best.slowest : most) - 1;
        if (!possible(pair, high)) continue;
        find_least(least, high, [&](ticks time) { return possible(pair, time); });
        best.parts = parts_ = found_;
        best.slowest = slowest_of(found_);
        better = best.slowest < never;
      }
    }
    return best;
  }
  [[nodiscard]] ticks slowest_of(const std::vector<std::vector<segment>>& parts) {
    ticks slowest = 0;
    for (std::uint32_t r = 0; r < parts.size(); ++r) {
      for (const segment& s : parts[r])
        if (s.end - s.begin > most_on_stage_) return never;
      const ticks extra = choose_(r, parts[r]).extra;
      if (extra >= never) return never;
      slowest = (std::max)(slowest, choose_.base_time(r, parts[r]) + extra);
    }
    return slowest;
  }

  /// Whether all layers can be dealt out if each rank had so many bytes more, time did not count, and a stage had at
  /// least `own` layers (0 or 1).
  [[nodiscard]] bool fits_lean(std::int64_t more, std::int64_t own) {
    parts_.assign(static_cast<std::size_t>(p_), std::vector<segment>(2));
    lean_ = true, more_ = more, own_ = own;
    const bool fits = possible({0, 0, layers_}, 0);
    lean_ = false, own_ = 1;
    return fits;
  }
  /// Whether the layers of both runs can be dealt out in the time, wherever the second begins: nearest the middle
  /// first. Keeps the plan in `found_`. A question may take a quarter of what is left of the budget: a `no` is `sure_`
  /// if that was enough.
  [[nodiscard]] bool possible(const runs& x, ticks time) {
    time_ = time, sure_ = true, quarter_ = expansions_ + (limit_ - expansions_) / 4;
    const bool found = (lean_ || begun(x)) && dealt_out(x);
    sure_ = sure_ && (lean_ || (!choose_.exhausted() && !fronts_.overflowed()));
    cut_short_ = cut_short_ || (!found && !sure_);
    return found;
  }
  [[nodiscard]] bool dealt_out(runs x) {
    if (turned_) return walk(x);
    const std::int64_t least = x.begin + p_ * own_, most = x.end - p_ * own_, half = x.begin + (x.end - x.begin) / 2;
    for (std::int64_t d = 0; half - d >= least || half + d <= most; ++d) {
      x.middle = half - d;
      if (x.middle >= least && x.middle <= most && walk(x)) return true;
      x.middle = half + d;
      if (d > 0 && x.middle >= least && x.middle <= most && walk(x)) return true;
    }
    return false;
  }
  /// What the ranks have left for the two runs; false if that is too little.
  [[nodiscard]] bool begun(const runs& x) {
    left_.assign(static_cast<std::size_t>(p_) + 1, 0);
    for (auto rank = static_cast<std::size_t>(p_); rank-- > 0;) {
      ticks free = time_ - q_.ranks[rank].time;
      for (std::int64_t c = 0; c < v_; ++c) {
        if (c == chunk_ || c == chunk_ + 1) continue;
        const segment& s = parts_[rank][static_cast<std::size_t>(c)];
        free -= fronts_.time(s.begin, s.end);
      }
      if (free < 0) return false;
      left_[rank] = left_[rank + 1] + free;
    }
    return fronts_.time(x.begin, x.end) <= left_[0];
  }
  [[nodiscard]] bool walk(const runs& x) {
    const std::int64_t all = x.end - x.begin;
    const std::int64_t first_all = turned_ ? all : x.middle - x.begin, second_all = turned_ ? all : x.end - x.middle;
    states_.resize(static_cast<std::size_t>(p_) + 1);
    states_[0].assign(1, {0, 0, 0});
    for (std::int64_t r = 0; r < p_; ++r) {
      const bool last = r + 1 == p_;
      const std::int64_t later = (p_ - 1 - r) * own_;  // layers to leave in each run
      const auto& now = states_[static_cast<std::size_t>(r)];
      auto& next = states_[static_cast<std::size_t>(r) + 1];
      reached_.clear();
      for (std::size_t k = 0; k < now.size(); ++k) {
        std::int64_t most = second_all - later;
        for (std::int64_t first = last && !turned_ ? first_all : now[k].first + own_; first <= first_all - later;
             ++first) {
          if (++steps_ % 16 == 0) ++expansions_;
          sure_ = sure_ && expansions_ <= quarter_;
          if (!sure_) return false;
          if (turned_) most = (std::min)(most, all - first - 2 * later);
          most = reach(r, x, now[k], first, most);
          if (most < now[k].second + own_) break;
          if (last && (turned_ ? first + most == all : most == second_all)) return keep(x, {first, most, k});
          if (last) continue;
          std::int64_t least = now[k].second + own_, high = most;
          if (lean_) least = far_ ? most : least;
          while (!lean_ && least < high) {
            const std::int64_t mid = least + (high - least) / 2;
            if (time_left(x, first, mid) <= left_[static_cast<std::size_t>(r) + 1]) high = mid;
            else least = mid + 1;
          }
          if (!lean_ && time_left(x, first, least) > left_[static_cast<std::size_t>(r) + 1]) continue;
          reached_.push_back({first, least, most, k});
        }
      }
      spread(next);
    }
    return false;
  }
  /// The states that ranges stand for, those that have come farthest first.
  void spread(std::vector<state>& next) {
    next.clear();
    std::sort(reached_.begin(), reached_.end(),
              [](const range& x, const range& y) { return x.first != y.first ? x.first > y.first : x.from < y.from; });
    constexpr std::size_t none = ~std::size_t{0};
    std::vector<std::size_t> from(static_cast<std::size_t>(layers_) + 1, none);
    for (std::size_t i = 0, j = 0; i < reached_.size(); i = j) {
      std::int64_t least = reached_[i].least, most = reached_[i].most;
      for (; j < reached_.size() && reached_[j].first == reached_[i].first; ++j) {
        least = (std::min)(least, reached_[j].least), most = (std::max)(most, reached_[j].most);
        for (std::int64_t second = reached_[j].least; second <= reached_[j].most; ++second)
          if (std::size_t& at = from[static_cast<std::size_t>(second)]; at == none) at = reached_[j].from;
      }
      for (std::int64_t second = most; second >= least; --second) {
        std::size_t& at = from[static_cast<std::size_t>(second)];
        if (at == none) continue;
        const bool far = lean_ && far_;
        if (!far || next.empty() || second > next.back().second) next.push_back({reached_[i].first, second, at});
        at = none;
      }
    }
    expansions_ += static_cast<std::int64_t>(next.size()) / 64;
  }
  [[nodiscard]] segment first_piece(const runs& x, std::int64_t from, std::int64_t to) const {
    return {x.begin + from, x.begin + to};
  }
  [[nodiscard]] segment second_piece(const runs& x, std::int64_t from, std::int64_t to) const {
    return turned_ ? segment{x.end - to, x.end - from} : segment{x.middle + from, x.middle + to};
  }
  [[nodiscard]] ticks time_left(const runs& x, std::int64_t first, std::int64_t second) const {
    if (turned_) return fronts_.time(x.begin + first, x.end - second);
    return fronts_.time(x.begin + first, x.middle) + fronts_.time(x.middle + second, x.end);
  }
  /// How far in the second run, at most `most`, the rank can come besides coming to `first` in the first; less than
  /// it must if it cannot.
  [[nodiscard]] std::int64_t reach(std::int64_t r, const runs& x, const state& s, std::int64_t first,
                                   std::int64_t most) {
    auto& parts = parts_[static_cast<std::size_t>(r)];
    segment &one = parts[static_cast<std::size_t>(chunk_)], &other = parts[static_cast<std::size_t>(chunk_) + 1];
    const segment one_before = one, other_before = other;
    one = first_piece(x, s.first, first);
    std::int64_t low = s.second + own_ - 1;
    while (low < most) {
      const std::int64_t mid = most - (most - low) / 2;
      other = second_piece(x, s.second, mid);
      if (fits(static_cast<std::uint32_t>(r), parts)) low = mid;
      else most = mid - 1;
    }
    one = one_before, other = other_before;
    return low;
  }
  [[nodiscard]] bool fits(std::uint32_t r, const std::vector<segment>& parts) {
    if (lean_) {
      for (const segment& s : parts)
        if (s.end - s.begin > most_on_stage_) return false;
      return missing(r, parts) <= more_;
    }
    ticks left = time_ - q_.ranks[r].time, extra = 0;
    for (const segment& s : parts) {
      if (s.end - s.begin > most_on_stage_) return false;
      left -= fronts_.time(s.begin, s.end), extra += fronts_.quickest(s.begin, s.end).extra;
    }
    if (extra > left) return false;
    if (choose_.fits_at_its_quickest(r, parts)) return true;
    if (missing(r, parts) > 0) return false;
    return !choose_.exhausted() && choose_(r, parts, left + 1, left).extra <= left;
  }
  [[nodiscard]] std::int64_t missing(std::uint32_t r, const std::vector<segment>& parts) const {
    return choose_.leanest_bytes(r, parts) - q_.ranks[r].capacity;
  }
  bool keep(const runs& x, state s) {
    found_ = parts_;
    for (std::int64_t r = p_; r-- > 0;) {
      const state& before = states_[static_cast<std::size_t>(r)][s.from];
      auto& parts = found_[static_cast<std::size_t>(r)];
      parts[static_cast<std::size_t>(chunk_)] = first_piece(x, before.first, s.first);
      parts[static_cast<std::size_t>(chunk_) + 1] = second_piece(x, before.second, s.second);
      s = before;
    }
    return true;
  }

  const split_problem& q_;
  segment_fronts& fronts_;
  rank_choice& choose_;
  std::int64_t& expansions_;
  std::int64_t p_, v_, layers_, most_on_stage_;
  std::int64_t limit_, quarter_ = 0;  // on expansions: of all questions, of this one
  bool loop_ = true, turned_ = true;
  std::int64_t chunk_ = 0;  // the first of the two
  ticks time_ = 0;
  std::int64_t own_ = 1;   // least layers of a stage
  bool lean_ = false;      // time does not count, and every layer is at its leanest
  bool far_ = true;        // if so: of each rank only how far it can come; exact if stages may be empty
  std::int64_t more_ = 0;  // bytes that each rank may be lacking, if so
  std::int64_t steps_ = 0;
  bool cut_short_ = false;
  bool sure_ = true;         // the answer to this question
  std::vector<ticks> left_;  // what this rank and those behind it have for the two runs
  std::vector<std::vector<segment>> parts_, found_;
  std::vector<std::vector<state>> states_;  // before each rank
  std::vector<range> reached_;              // behind the one at work
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
