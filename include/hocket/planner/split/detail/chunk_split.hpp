// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/split/detail/cut_moves.hpp>
#include <hocket/planner/split/detail/price_bound.hpp>
#include <hocket/planner/split/detail/rank_path.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Cuts of stages of about equal numbers of layers, from 0 to all of them.
[[nodiscard]] inline std::vector<std::int64_t> even_cuts(std::int64_t layers, std::int64_t stages) {
  std::vector<std::int64_t> cuts{0};
  for (std::int64_t s = 0; s < stages; ++s)
    cuts.push_back(cuts.back() + layers / stages + (s < layers % stages ? 1 : 0));
  return cuts;
}

/// Cuts of stages of about equal times.
[[nodiscard]] inline std::vector<std::int64_t> even_times(const split_numbers& q, const segment_fronts& fronts) {
  const std::int64_t stages = q.in_flight.stages();
  const std::int64_t layers = fronts.layers();
  const ticks each = fronts.time(0, layers) / stages;
  std::vector<std::int64_t> cuts{0};
  for (std::int64_t s = 0; s < stages; ++s) {
    const std::int64_t later = stages - 1 - s;
    const std::int64_t last = (std::min)(layers - later, cuts.back() + q.longest);
    std::int64_t end = (std::max)(cuts.back() + 1, layers - later * q.longest);
    while (end < last && (later == 0 || fronts.time(0, end + 1) / (s + 1) <= each)) ++end;
    cuts.push_back(end);
  }
  return cuts;
}

/// A split with these cuts, its levels not chosen yet.
[[nodiscard]] inline raw_split split_at(const split_numbers& q, std::span<const std::int64_t> cuts) {
  raw_split raw;
  raw.parts.assign(q.ranks.size(), std::vector<segment>(q.in_flight.chunks()));
  raw.answers.resize(q.ranks.size());
  for (std::uint32_t s = 0; s < q.in_flight.stages(); ++s)
    raw.parts[q.in_flight.rank_of(s)][q.in_flight.chunk_of(s)] = {cuts[s], cuts[s + 1]};
  return raw;
}

/// Unequal layers on several chunks per rank: moves of cuts, from even stages and from the cheapest cuts of price_bound
/// on, which says how far the plan may be from the best.
class chunk_split {
 public:
  chunk_split(const split_numbers& q, segment_fronts& fronts, rank_levels& choose)
      : q_(q), fronts_(fronts), choose_(choose), base_(base_time(q, fronts)) {}

  /// @param start  cuts of a plan that may be good, or nothing
  [[nodiscard]] result<raw_split> operator()(std::span<const std::int64_t> start) {
    cut_moves moves(q_, fronts_, choose_);
    const ticks slowest = least_slowest(q_, fronts_);
    bound_ = q_.value(slowest, base_ + fronts_.quickest(0, fronts_.layers()).extra);
    const auto look_at = [&](std::vector<std::int64_t> cuts) {
      moves(std::move(cuts), slowest, 0, best_, never_enough);
    };
    if (!start.empty()) look_at({start.begin(), start.end()});
    look_at(even_cuts(fronts_.layers(), q_.in_flight.stages()));
    look_at(even_times(q_, fronts_));
    if (const auto cuts = cuts_as_if_equal(); !cuts.empty() && !is_enough(best_)) look_at(cuts);
    if (best_.cuts.empty()) best_ = fitting(q_);
    if (!is_enough(best_)) improve(moves, slowest);
    if (best_.cuts.empty() && q_.budget < visits_to_fit) return out_of_budget(q_);
    if (best_.cuts.empty()) return shortage();
    raw_split raw = split_at(q_, best_.cuts);
    for (std::uint32_t r = 0; r < q_.ranks.size(); ++r) raw.answers[r] = choose_(r, raw.parts[r]);
    raw.bound = bound_;
    return raw;
  }

 private:
  using plan = cut_moves::plan;
  static constexpr std::int64_t visits_to_fit = 15'000;     // mostly the first hundred moves tell
  static constexpr std::int64_t visits_of_a_stage = 8'000;  // in one run of moves; more of them find hardly better
  static constexpr auto never_enough = [](const plan&) { return false; };

  [[nodiscard]] ticks value_of(const plan& x) const { return q_.value(x.slowest, base_ + x.extra); }
  [[nodiscard]] bool is_enough(const plan& x) const { return !x.cuts.empty() && value_of(x) <= bound_; }

  /// The plan for equal layers, were all as most are: in little memory a good start. Empty if most are not alike, or
  /// these do not fit.
  [[nodiscard]] std::vector<std::int64_t> cuts_as_if_equal() const {
    std::vector<std::int64_t> counts(fronts_.kinds(), 0);
    for (std::int64_t i = 0; i < fronts_.layers(); ++i) ++counts[fronts_.kind_of(i)];
    const auto usual = std::max_element(counts.begin(), counts.end());
    if (*usual < fronts_.layers() / 2) return {};
    const split_layers runs[] = {{fronts_.kind(static_cast<std::size_t>(usual - counts.begin())), fronts_.layers()}};
    segment_fronts fronts(runs);
    rank_levels choose(q_, fronts);
    const auto equal = rank_path(q_, fronts, choose)();
    std::vector<std::int64_t> cuts{0};
    for (std::uint32_t s = 0; equal && s < q_.in_flight.stages(); ++s)
      cuts.push_back(cuts.back() + equal->parts[q_.in_flight.rank_of(s)][q_.in_flight.chunk_of(s)].size());
    return equal ? cuts : std::vector<std::int64_t>{};
  }
  /// The same moves for any question: where they find a plan, they find it again.
  [[nodiscard]] plan fitting(const split_numbers& q) {
    rank_levels choose(q, fronts_);
    plan found;
    cut_moves(q, fronts_, choose)(even_times(q, fronts_), 0, (std::min)(q.budget, visits_to_fit), found,
                                  [](const plan& x) { return !x.cuts.empty(); });
    return found;
  }
  /// Several runs of moves, which differ in the time of a rank that they aim at.
  void improve(cut_moves& moves, ticks least) {
    constexpr std::int64_t runs = 4;
    const auto enough = [&](const plan& x) { return is_enough(x); };
    const bool any = !best_.cuts.empty();
    price_bound prices(q_, fronts_);
    bound_ = (std::max)(bound_, prices(any ? value_of(best_) : 2 * bound_));
    if (!any) return;
    const std::int64_t visits = (std::min)(q_.budget / 2, visits_of_a_stage * q_.in_flight.stages());
    for (std::int64_t k = 0; k < runs && !is_enough(best_); ++k)
      moves(best_.cuts, least + (best_.slowest - least) * k / runs, visits, best_, enough);
    if (!prices.cuts().empty() && !is_enough(best_)) moves(prices.cuts(), best_.slowest, visits, best_, enough);
  }
  /// Nothing fits: the least more memory for each rank with which fitting() finds a plan.
  [[nodiscard]] error shortage() {
    split_numbers more = q_;
    plan found;
    const auto try_with = [&](std::int64_t bytes) {
      for (std::size_t r = 0; r < q_.ranks.size(); ++r) more.ranks[r].capacity = q_.ranks[r].capacity + bytes;
      plan x = fitting(more);
      if (x.cuts.empty()) return false;
      found = std::move(x);
      return true;
    };
    const std::int64_t high = first_above(0, 1, try_with);
    cut_moves moves(q_, fronts_, choose_);
    return error{errc::does_not_fit, moves.lack_of(found.cuts).first, high}.with("the best split found");
  }

  const split_numbers& q_;
  segment_fronts& fronts_;
  rank_levels& choose_;
  ticks base_;
  ticks bound_ = 0;  // on what is minimised
  plan best_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
