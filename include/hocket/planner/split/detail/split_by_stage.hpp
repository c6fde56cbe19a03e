// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/split/detail/chunk_path.hpp>
#include <hocket/planner/split/detail/extra_steps.hpp>
#include <hocket/planner/split/detail/kind_bound.hpp>
#include <hocket/planner/split/detail/kind_prices.hpp>
#include <hocket/planner/split/detail/pair_of_chunks.hpp>
#include <hocket/planner/split/detail/price_bound.hpp>
#include <hocket/planner/split/detail/split_by_rank.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// The levels for a split that is given.
[[nodiscard]] inline result<raw_split> given_split(const split_problem& q,
                                                   [[maybe_unused]] const segment_fronts& fronts, rank_choice& choose) {
  const auto p = static_cast<std::uint32_t>(q.ranks.size());
  const std::uint32_t v = q.in_flight.chunks();
  raw_split raw;
  raw.parts.assign(p, std::vector<segment>(v));
  raw.answers.resize(p);
  std::int64_t at = 0;
  for (std::uint32_t s = 0; s < p * v; ++s) {
    raw.parts[q.in_flight.rank_of(s)][q.in_flight.chunk_of(s)] = {at, at + q.split[s]};
    at += q.split[s];
  }
  HOCKET_ASSERT(at == fronts.layers());
  std::int64_t lack = 0;
  std::uint32_t binding = 0;
  for (std::uint32_t r = 0; r < p; ++r) {
    raw.answers[r] = choose(r, raw.parts[r]);
    const std::int64_t missing = choose.leanest_bytes(r, raw.parts[r]) - q.ranks[r].capacity;
    if (missing > lack) lack = missing, binding = r;
  }
  if (lack > 0) return error{errc::does_not_fit, binding, lack}.with("the given split");
  for (const rank_answer& x : raw.answers)
    if (x.points.empty()) return error{errc::limit_exceeded, q.budget + 1, q.budget}.with("partial plans");
  return raw;
}

/// No split has a faster slowest rank, whatever memory there is: the least time in which all ranks together can run so
/// many whole layers, did each get the quickest ones; and so many of those that take at least as long as any of them.
inline ticks least_slowest(const split_problem& q, const segment_fronts& fronts) {
  std::vector<ticks> times;
  ticks low = 0, all = fronts.time(0, fronts.layers());
  for (const rank_room& room : q.ranks) all += room.time, low = (std::max)(low, room.time);
  low = (std::max)(low, ceil_div(all, static_cast<ticks>(q.ranks.size())));
  for (std::int64_t i = 0; i < fronts.layers(); ++i) times.push_back(fronts.time(i, i + 1));
  std::sort(times.begin(), times.end());
  std::vector<ticks> sums;
  for (std::size_t first = 0; first < times.size(); ++first) {
    if (first > 0 && times[first] == times[first - 1]) continue;
    sums.assign(1, times[first]);
    for (std::size_t i = first + 1; i < times.size(); ++i) sums.push_back(sums.back() + times[i]);
    const auto enough = [&](ticks time) {
      std::size_t layers = 0;
      for (const rank_room& room : q.ranks)
        layers += static_cast<std::size_t>(std::upper_bound(sums.begin(), sums.end(), time - room.time) - sums.begin());
      return layers >= sums.size();
    };
    if (enough(low)) continue;
    ticks high = all;
    while (high - low > 1) {
      const ticks mid = low + (high - low) / 2;
      (enough(mid) ? high : low) = mid;
    }
    low = high;
  }
  return low;
}

/// Unequal layers on several chunks per rank: from the plan of pair_of_chunks on, cuts are set stage by stage, depth
/// first, nearest to even first. A partial plan is cut if the time its ranks have for certain, or the even share of all
/// work, cannot beat the best. Where that takes long, price_bound, kind_bound, cut_moves and chunk_path
/// come in between.
class split_by_stage {
 public:
  split_by_stage(const split_problem& q, segment_fronts& fronts, rank_choice& choose, std::int64_t& expansions)
      : q_(q),
        fronts_(fronts),
        choose_(choose),
        expansions_(expansions),
        p_(static_cast<std::uint32_t>(q.ranks.size())),
        stages_(p_ * q.in_flight.chunks()),
        layers_(fronts.layers()),
        weight_(weight_of_slowest(q)) {
    now_.parts.assign(p_, std::vector<segment>(q.in_flight.chunks()));
    now_.answers.resize(p_);
    time_.assign(p_, 0);
    assigned_.assign(p_, 0);
    for (std::uint32_t r = 0; r < p_; ++r) time_[r] = q.ranks[r].time, sum_ += time_[r];
    sum_ += fronts.time(0, layers_);
  }

  /// @param start  cuts of a plan that may be good, or nothing
  [[nodiscard]] result<raw_split> operator()(std::span<const std::int64_t> start) {
    pair_of_chunks pairs(q_, fronts_, choose_, expansions_);
    if (!start.empty()) take_if_better(parts_of(start));
    begin(pairs);
    bound_ = q_.goal == objective::step_time ? sum_ + weight_ * least_ : least_;
    const bool ended = search((std::min)(q_.budget, expansions_ + few)) || improve() || recut_and_move(pairs) ||
                       (pairs.regular() && find_path(pairs.turned())) || search(q_.budget);
    best_.proved = ended;
    best_.bound = bound_;
    if (!best_.answers.empty()) return best_;
    if (!best_.proved && !hopeless_ && !pairs.hopeless())
      return error{errc::limit_exceeded, q_.budget + 1, q_.budget}.with("partial plans");
    if (const auto least = pairs.least_lack(); least.bytes > 0)
      return error{errc::does_not_fit, least.rank, least.bytes}.with(least.proved ? "the split that needs least"
                                                                                  : "the best split found");
    return least_lack();
  }

 private:
  /// Nothing fits: the least that a rank lacks in the plans found, from the even split on.
  [[nodiscard]] error least_lack() {
    const std::vector<std::int64_t> even = even_lengths();
    split_problem q = q_;
    q.split = even;
    const auto given = given_split(q, fronts_, choose_);
    if (given) return error{errc::limit_exceeded, q_.budget + 1, q_.budget}.with("partial plans");
    std::int64_t rank = given.error().values[0], low = 0, high = given.error().values[1];
    std::vector<std::int64_t> cuts = even_cuts(q_, fronts_);
    std::vector<rank_room> rooms(q_.ranks.begin(), q_.ranks.end());
    q.split = {}, q.ranks = rooms, q.budget = q_.budget / 16;
    for (int k = 0; k < 12 && high - low > 1; ++k) {
      const std::int64_t mid = low + (high - low) / 2;
      for (std::uint32_t r = 0; r < p_; ++r) rooms[r].capacity = q_.ranks[r].capacity + mid;
      std::int64_t used = 0;
      rank_choice choose(q, fronts_, used);
      cut_moves::plan found;
      cut_moves(q, fronts_, choose)(cuts, 0, 15'000, 64, found, [](const auto& x) { return x.slowest < never; });
      if (found.slowest >= never) {
        low = mid;
        continue;
      }
      cuts = found.cuts, high = 0;
      for (std::uint32_t s = 0; s < stages_; ++s)
        now_.parts[q_.in_flight.rank_of(s)][q_.in_flight.chunk_of(s)] = {cuts[s], cuts[s + 1]};
      for (std::uint32_t r = 0; r < p_; ++r)
        if (const std::int64_t lack = choose_.leanest_bytes(r, now_.parts[r]) - q_.ranks[r].capacity; lack > high)
          high = lack, rank = r;
    }
    return error{errc::does_not_fit, rank, high}.with("the best split found");
  }
  [[nodiscard]] std::vector<std::int64_t> even_lengths() const {
    std::vector<std::int64_t> even;
    for (std::int64_t s = 0; s < stages_; ++s) even.push_back(layers_ / stages_ + (s < layers_ % stages_ ? 1 : 0));
    return even;
  }
  /// Stages of as many layers or of about as much time come first: nothing that follows may be worse.
  void begin(pair_of_chunks& pairs) {
    std::vector<std::int64_t> cuts{0};
    for (const std::int64_t n : even_lengths()) cuts.push_back(cuts.back() + n);
    for (const auto& even : {cuts, even_cuts(q_, fronts_)}) take_if_better(parts_of(even));
    least_ = least_slowest(q_, fronts_);
    (void)recut(pairs, q_.budget / 4);
  }
  /// The plan for equal layers, were all as most are: in little memory a good start for the others. Where it does not
  /// fit, as some layers are larger, that for less memory.
  void as_if_equal() {
    std::vector<std::int64_t> counts(fronts_.kinds(), 0);
    for (std::int64_t i = 0; i < layers_; ++i) ++counts[fronts_.kind_of(i)];
    const auto most = std::max_element(counts.begin(), counts.end());
    if (*most < layers_ / 2) return;
    const layer_run runs[] = {{fronts_.kind(static_cast<std::size_t>(most - counts.begin())), layers_}};
    std::vector<rank_room> rooms(q_.ranks.begin(), q_.ranks.end());
    split_problem q = q_;
    q.layers = runs, q.ranks = rooms, q.budget = q_.budget / 16;
    segment_fronts fronts(runs);
    for (const std::int64_t part : {0, 64, 16, 8}) {
      for (std::uint32_t r = 0; r < p_; ++r)
        rooms[r].capacity = q_.ranks[r].capacity - (part == 0 ? 0 : q_.ranks[r].capacity / part);
      std::int64_t used = 0;
      rank_choice choose(q, fronts, used);
      split_by_rank equal(q, fronts, choose, used);
      if (!equal.possible()) return;
      const auto found = equal();
      expansions_ += used;
      if (!found) return;
      std::vector<std::int64_t> cuts{0};
      for (std::uint32_t s = 0; s < stages_; ++s) {
        const segment& own = found->parts[q_.in_flight.rank_of(s)][q_.in_flight.chunk_of(s)];
        cuts.push_back(cuts.back() + own.end - own.begin);
      }
      if (take_if_better(parts_of(cuts))) return;
    }
  }
  /// The slowest rank by pair_of_chunks, up to so many expansions; whether nothing better is left.
  bool recut(pair_of_chunks& pairs, std::int64_t limit) {
    if (!hopeful(least_, sum_)) return true;
    const ticks most = best_slowest_ < never ? best_slowest_ : sum_ + most_extra(q_) + 1;
    const auto found = pairs(least_, most, limit, best_.parts);
    least_ = (std::max)(least_, found.bound);
    bound_ = (std::max)(bound_, q_.goal == objective::step_time ? sum_ + weight_ * least_ : least_);
    if (found.slowest < never) take_if_better(found.parts);
    return !hopeful(least_, sum_);
  }
  [[nodiscard]] std::vector<std::vector<segment>> parts_of(std::span<const std::int64_t> cuts) const {
    auto parts = now_.parts;
    for (std::uint32_t s = 0; s < stages_; ++s)
      parts[q_.in_flight.rank_of(s)][q_.in_flight.chunk_of(s)] = {cuts[s], cuts[s + 1]};
    return parts;
  }
  /// Goes on where pair_of_chunks was cut short, and moves what it found.
  bool recut_and_move(pair_of_chunks& pairs) {
    const ticks before = best_.answers.empty() ? never : value();
    if (!pairs.cut_short()) return false;
    if (recut(pairs, q_.budget / 4 * 3)) return true;
    if (!best_.answers.empty() && value() < before) move_cuts();
    return !hopeful(least_, sum_);
  }
  /// @return whether the plan is possible
  bool take_if_better(const std::vector<std::vector<segment>>& parts) {
    ticks slowest = 0, sum = sum_;
    for (std::uint32_t r = 0; r < p_; ++r) {
      const rank_answer best = choose_(r, parts[r]);
      if (best.points.empty()) return false;
      slowest = (std::max)(slowest, choose_.base_time(r, parts[r]) + best.extra), sum += best.extra;
    }
    if (hopeful(slowest, sum)) take(parts, slowest);
    return true;
  }
  /// Whether plans with at least this slowest rank and this sum can still win.
  [[nodiscard]] bool hopeful(ticks slowest, ticks sum) const noexcept {
    if (best_.answers.empty()) return true;
    if (q_.goal == objective::step_time) return value() > (std::max)(bound_, sum + weight_ * slowest);
    return slowest != best_slowest_ ? slowest < best_slowest_ : (std::max)(sum, least_sum_) < best_sum_;
  }
  [[nodiscard]] ticks value() const noexcept {
    return q_.goal == objective::step_time ? best_sum_ + weight_ * best_slowest_ : best_slowest_;
  }
  /// Branch and bound up to so many expansions; whether nothing is left to look at.
  bool search(std::int64_t limit) {
    limit_ = limit;
    if (hopeful(least_, sum_)) descend(0, 0, 0);
    return expansions_ <= limit_;
  }
  /// A better bound and a better plan; whether they meet.
  bool improve() {
    price_stages();
    if (!hopeless_) raise_bound();
    if (hopeless_) return true;
    if (hopeful(least_, sum_)) as_if_equal();
    if (hopeful(least_, sum_)) move_cuts();
    if (hopeful(least_, sum_)) raise_bound();
    return hopeless_ || (!best_.answers.empty() && !hopeful(least_, sum_));
  }
  /// The best plan, if the budget lasts; whether it did.
  bool find_path(bool turned) {
    if (best_.answers.empty() || !kinds_ || !kinds_->usable()) return false;
    if (q_.in_flight.chunks() > chunk_path::max_chunks) return false;
    chunk_path path(q_, fronts_, choose_, *kinds_, turned, rank_prices_ ? &*rank_prices_ : nullptr);
    const auto take_found = [&] {
      const chunk_path::plan& found = path.found();
      if (!found.parts.empty() && hopeful(found.slowest, sum_ + found.extra)) take(found.parts, found.slowest);
    };
    // Bounds on the slowest rank that are too low are refuted fast.
    for (ticks step = 1 + (best_slowest_ - least_) / 32; least_ < best_slowest_ && hopeful(least_, sum_);) {
      const ticks most = (std::min)(least_ + step, best_slowest_) - 1;
      const bool possible = path.possible(most);
      take_found();
      if (path.exhausted()) break;
      if (!possible) least_ = most + 1;
      else if (step == 1) break;
      else step = 1 + step / 4;
    }
    const ticks extra = best_sum_ - sum_;
    bound_ = (std::max)(bound_, q_.goal == objective::step_time ? sum_ + weight_ * least_ : least_);
    if (!hopeful(least_, sum_)) return true;
    if (q_.goal == objective::step_time) {
      const ticks least = path.weighted(least_, value() - sum_);
      if (!path.exhausted()) bound_ = sum_ + least;
    } else if (best_slowest_ == least_) {
      const ticks least = path.least_extra(least_, extra);
      if (!path.exhausted()) least_sum_ = sum_ + least;
    }
    take_found();
    return !hopeful(least_, sum_);
  }
  void take(const std::vector<std::vector<segment>>& parts, ticks slowest) {
    best_.parts = parts, best_slowest_ = slowest, best_sum_ = sum_;
    best_.answers.clear();
    for (std::uint32_t r = 0; r < p_; ++r) {
      best_.answers.push_back(choose_(r, best_.parts[r]));
      best_sum_ += best_.answers[r].extra;
    }
  }
  /// What price_bound adds.
  void price_stages() {
    const bool steps = q_.goal == objective::step_time, any = !best_.answers.empty();
    rank_prices_.emplace(q_, fronts_, objective::slowest_rank);
    if (!rank_prices_->usable()) return rank_prices_.reset();
    rank_prices_->raise(any ? best_slowest_ : 2 * least_);
    hopeless_ = rank_prices_->bound() > sum_ + most_extra(q_);  // prices without end: memory does not suffice
    if (hopeless_) return;
    least_ = (std::max)(least_, rank_prices_->bound());
    bound_ = (std::max)(bound_, steps ? sum_ + weight_ * least_ : least_);
    prices_ = &*rank_prices_;
    if (!steps) return;
    step_prices_.emplace(q_, fronts_, objective::step_time);
    if (!step_prices_->usable()) return;
    step_prices_->raise(any ? value() : 2 * bound_);
    hopeless_ = step_prices_->bound() > never;
    if (hopeless_) return;
    bound_ = (std::max)(bound_, step_prices_->bound());
    prices_ = &*step_prices_;
  }
  /// What kind_bound adds, and where that groups kinds or has too much to do, kind_prices.
  void raise_bound() {
    ticks most = sum_ + most_extra(q_) + 1;
    if (!best_.answers.empty())
      most = (q_.goal == objective::step_time ? (value() - sum_) / weight_ : best_slowest_) + 1;
    if (!kinds_) kinds_.emplace(q_, fronts_, most);
    if (kinds_->usable()) raise_bound(*kinds_, most);
    if (kinds_->usable() && kinds_->ungrouped()) return;
    if (!dealt_) dealt_.emplace(q_, fronts_, most);
    if (dealt_->usable() && hopeful(least_, sum_)) raise_bound(*dealt_, most);
  }
  template <class Bound>
  void raise_bound(Bound& kinds, ticks most) {
    hopeless_ = hopeless_ || (best_.answers.empty() && kinds.least_extra(sum_ + most_extra(q_)) >= never);
    if (hopeless_) return;
    extra_steps steps(kinds);
    least_ = (std::max)(least_, steps.slowest(least_, (std::min)(most, best_slowest_)));
    if (best_.answers.empty()) return;
    if (q_.goal == objective::step_time) {
      bound_ = (std::max)(bound_, sum_ + steps.weighted(least_, weight_, value() - sum_));
    } else {
      bound_ = (std::max)(bound_, least_);
      if (best_slowest_ == least_) least_sum_ = (std::max)(least_sum_, sum_ + kinds.least_extra(least_));
    }
  }
  /// What cut_moves adds, with a short memory and with a long one.
  void move_cuts() {
    cut_moves moves(q_, fronts_, choose_);
    const bool any = !best_.answers.empty();
    std::vector<std::int64_t> cuts = even_cuts(q_, fronts_);
    for (std::uint32_t s = 0; any && s < stages_; ++s)
      cuts[s] = best_.parts[q_.in_flight.rank_of(s)][q_.in_flight.chunk_of(s)].begin;
    const std::int64_t most = any ? (expansions_ + q_.budget) / 2 : q_.budget;  // chunk_path needs some, too
    const auto enough = [&](const cut_moves::plan& x) {
      if (x.slowest >= never) return false;
      if (expansions_ > most) return true;
      return q_.goal == objective::step_time ? sum_ + x.extra + weight_ * x.slowest <= bound_
                                             : x.slowest <= least_ && sum_ + x.extra <= least_sum_;
    };
    const std::int64_t visits = (std::min)(q_.budget / 8, std::int64_t{4'000'000});
    const ticks worst = any ? best_slowest_ : least_;
    for (const std::size_t memory : {std::size_t{64}, std::size_t{1000}}) {
      cut_moves::plan found;
      const auto from_prices = [&] {
        if (prices_ == nullptr) return;
        std::int64_t longest = 0;  // stages far beyond the others make a bad start
        for (std::uint32_t s = 0; s < stages_; ++s)
          longest = (std::max)(longest, prices_->cuts()[s + 1] - prices_->cuts()[s]);
        if (!any || longest * stages_ <= 4 * layers_) moves(prices_->cuts(), worst, visits, memory, found, enough);
      };
      if (!any) from_prices();
      for (int k = 0; k < 4 && !enough(found); ++k) {
        const bool some = found.slowest < never;
        const ticks high = some ? found.slowest : worst;
        moves(some ? found.cuts : cuts, least_ + (high - least_) * k / 4, visits, memory, found, enough);
      }
      if (any) from_prices();
      if (found.slowest < never && hopeful(found.slowest, sum_ + found.extra))
        take(parts_of(found.cuts), found.slowest);
      if (!hopeful(least_, sum_)) return;
    }
  }
  /// @param spent  what the stages before s cost at the prices
  void descend(std::uint32_t s, std::int64_t at, wide spent) {
    if (s == stages_) {
      ticks slowest = 0;
      for (const ticks t : time_) slowest = t > slowest ? t : slowest;
      if (!hopeful(slowest, sum_)) return;
      best_ = now_, best_slowest_ = slowest, best_sum_ = sum_;
      return;
    }
    std::int64_t least = at + 1, most = layers_ - (stages_ - 1 - s);
    if (const std::int64_t longest = q_.most_on_stage; longest > 0) {
      most = most < at + longest ? most : at + longest;
      const std::int64_t needed = layers_ - (stages_ - 1 - s) * longest;  // the others cannot take more
      least = least > needed ? least : needed;
    }
    if (least > most) return;
    std::int64_t middle = at + (layers_ - at) / (stages_ - s);
    middle = middle < least ? least : middle > most ? most : middle;
    const std::int64_t first = s + 1 == stages_ ? layers_ : least;
    bool down = true, up = true;
    for (std::int64_t d = 0; down || up; ++d) {
      const std::int64_t shorter = middle - d, longer = middle + d;
      if (up && longer <= most && (s + 1 < stages_ || longer == layers_)) up = place(s, at, longer, spent);
      else up = up && longer < most;
      if (d > 0 && down && shorter >= first) place(s, at, shorter, spent);
      down = down && shorter > first;
      if (expansions_ > limit_) return;
    }
  }
  /// Tries the stage [at, end). False if no longer stage can do either.
  bool place(std::uint32_t s, std::int64_t at, std::int64_t end, wide spent) {
    if (++expansions_ > limit_) return false;
    if (prices_ != nullptr) spent += prices_->stage(s, at, end);
    const bool cheap = prices_ == nullptr || best_.answers.empty() || prices_->hopeful(spent, s + 1, end, value());
    const std::uint32_t r = q_.in_flight.rank_of(s), c = q_.in_flight.chunk_of(s);
    auto& parts = now_.parts[r];
    const segment empty{at, at};
    parts[c] = {at, end};
    const ticks before = time_[r], sum_before = sum_;
    time_[r] += fronts_.time(at, end);
    ++assigned_[r];
    bool longer_may_fit = choose_.leanest_bytes(r, parts) <= q_.ranks[r].capacity;
    if (longer_may_fit) {
      bool fits = true;
      if (assigned_[r] == parts.size()) {
        now_.answers[r] = choose_(r, parts);
        fits = !now_.answers[r].points.empty();
        if (fits) time_[r] += now_.answers[r].extra, sum_ += now_.answers[r].extra;
      }
      ticks slowest = (std::max)(least_, ceil_div(sum_, ticks{p_}));
      for (const ticks t : time_) slowest = t > slowest ? t : slowest;
      if (!fits || !hopeful(slowest, sum_)) longer_may_fit = false;
      else if (cheap) descend(s + 1, end, spent);
    }
    --assigned_[r];
    time_[r] = before, sum_ = sum_before;
    parts[c] = empty;
    return longer_may_fit;
  }

  const split_problem& q_;
  segment_fronts& fronts_;
  rank_choice& choose_;
  std::int64_t& expansions_;
  std::uint32_t p_, stages_;
  std::int64_t layers_, weight_, limit_ = 0;
  static constexpr std::int64_t few = 20'000;  // expansions before a bound is worth its time
  std::optional<kind_bound> kinds_;
  std::optional<kind_prices> dealt_;
  std::optional<price_bound> rank_prices_, step_prices_;
  const price_bound* prices_ = nullptr;  // those of the goal
  bool hopeless_ = false;                // memory alone tells that nothing fits
  raw_split now_, best_;
  std::vector<ticks> time_;
  std::vector<std::size_t> assigned_;
  ticks sum_ = 0, least_ = 0, best_sum_ = 0, best_slowest_ = never;  // least_: no slowest rank is faster
  ticks bound_ = 0;                                                  // on what is minimised
  ticks least_sum_ = 0;  // on the sum, if the slowest rank takes no more than least_
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
