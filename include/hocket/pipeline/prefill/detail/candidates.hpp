// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/prefill/detail/evaluator.hpp>
#include <hocket/pipeline/prefill/detail/ramps.hpp>
#include <hocket/pipeline/prefill/detail/request_bound.hpp>
#include <hocket/pipeline/prefill/rules.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

/// Ways to cut one request that are worth a try, and a bound for it alone in an empty pipeline.
///
/// Of all ways with K pieces, one with the shortest longest detour is made. K comes from a series, which is refined
/// where the bound leaves room. Between two numbers a < K < b, the work is at least that of a + 1 pieces, and the
/// longest detour at least that of b. So it ends with the best number of pieces, and with what no number goes below.
template <prefill_cost_policy C>
class request_candidates {
 public:
  request_candidates(const prefill_problem& whole, const C& costs, std::uint32_t request, std::int64_t budget,
                     std::pmr::memory_resource* memory)
      : request_{whole.requests[request].tokens, 0, whole.requests[request].cached},
        problem_{whole.ranks, whole.chunks, whole.placement, std::span<const prefill_request>(&request_, 1),
                 whole.sizes},
        costs_(costs),
        budget_(budget),
        memory_(memory),
        cuts_(problem_, costs, 0),
        bound_(problem_, costs, cuts_, memory),
        evaluator_(problem_, costs, memory),
        one_(1, cut_list(memory), memory),
        found_(memory),
        tried_(memory) {}
  request_candidates(const request_candidates&) = delete;
  request_candidates& operator=(const request_candidates&) = delete;

  void operator()() {
    const std::int64_t unit = cuts_.limits().align;
    const std::int64_t most =
        (std::min)({(request_.tokens + unit - 1) / unit, max_prefill_pieces, max_prefill_runs / problem_.stages()});
    const std::int64_t fewest = fewest_pieces(problem_.sizes, request_.tokens);
    tried_.push_back(known(fewest - 1, cuts_.longest_detour() + 1));
    for (std::int64_t k = fewest; k <= most && least_between(tried_.size() - 1) < best_; k += k / 2 + 1)
      if (!try_count(k)) break;
    refine(most);
    if (problem_.chunks == 1 && !same_on_all_stages(costs_)) add_ramps();
  }

  /// The best way in an empty pipeline, and its end.
  [[nodiscard]] const std::pmr::vector<cut_list>& found() const noexcept { return found_; }
  [[nodiscard]] std::size_t best_index() const noexcept { return best_index_; }
  [[nodiscard]] ticks lower_bound() const noexcept { return lower_bound_; }
  [[nodiscard]] const request_bound<C>& bound() const noexcept { return bound_; }
  [[nodiscard]] const prefill_cuts<C>& cuts() const noexcept { return cuts_; }

 private:
  /// What is known of ways with so many pieces, and of those whose detours are all shorter than the longest of these.
  struct count {
    std::int64_t pieces;
    ticks detour;  // the least longest one
    ticks alone;   // no run with shorter detours is shorter
    ticks along;   // nor than that and its longest detour
  };
  [[nodiscard]] count known(std::int64_t pieces, ticks detour) {
    if (!bound_.uses_detours()) return {pieces, detour, bound_.alone(), 0};
    cut_list starts(memory_);
    if (!cuts_.latest_pieces(detour - 1, starts)) return {pieces, detour, never, never};
    return {pieces, detour, bound_.alone(starts), bound_.along(starts)};
  }
  /// Adds what K pieces can do. False if the budget is used.
  bool try_count(std::int64_t pieces) {
    if (evaluator_.steps() + cuts_.steps() > budget_ && !found_.empty()) return false;
    const auto after = std::find_if(tried_.begin(), tried_.end(), [&](const count& x) { return x.pieces > pieces; });
    const ticks most = std::prev(after)->detour, least = after == tried_.end() ? 0 : after->detour;
    cut_list made(memory_), other(memory_);
    ticks detour = least;
    const bool least_binds = cuts_.limits().least > cuts_.limits().align || cuts_.limits().last_least > 1;
    ticks longest = 0;
    if (cuts_.balance(pieces, false, least, least_binds ? cuts_.longest_detour() : most, longest, made, other)) {
      add(made);
      // The same length, but the short piece first: fewer tokens are before each.
      if (cuts_.latest_pieces(longest, other)) {
        cuts_.sizes_of(other, made);
        if (cuts_.is_allowed(made)) add(made);
      }
    }
    if (cuts_.cut_evenly(pieces, made)) add(made);
    if (bound_.uses_detours() && (!least_binds || cuts_.balance(pieces, true, least, most, longest, made, other)))
      detour = longest;
    tried_.insert(after, known(pieces, detour));
    return true;
  }
  /// Ways for stages that differ, with detours about as long as those of the best way so far.
  void add_ramps() {
    prefill_ramps<C> ramps(problem_, costs_, cuts_, bound_.busiest(), memory_);
    const ticks detour = cuts_.longest_of(found_[best_index_]);
    cut_list made(memory_);
    const auto try_made = [&] {
      if (!made.empty() && cuts_.is_allowed(made)) add(made);
    };
    for (ticks part = 1; part <= 32; part *= 2) {
      for (ticks eighths = 5; eighths <= 16; ++eighths) {
        const ticks most = detour / 8 * eighths;
        ramps.rise(detour / part, most, made);
        try_made();
        ramps.fall(detour / part, most, made);
        try_made();
      }
    }
  }
  void add(const cut_list& sizes) {
    one_[0] = sizes;
    int128 value = evaluator_.value(one_, 0, prefill_order::deepest_first);
    if (problem_.chunks > 1) value = (std::min)(value, evaluator_.value(one_, 0, prefill_order::shallowest_first));
    if (found_.empty() || value < best_) {
      best_ = value;
      best_index_ = found_.size();
    }
    found_.push_back(sizes);
  }
  /// No way whose longest detour lies between those of two neighbours of `tried_` is shorter.
  [[nodiscard]] ticks least_between(std::size_t i) const {
    const ticks detour = i + 1 < tried_.size() && bound_.uses_detours() ? tried_[i + 1].detour : 0;
    return (std::max)(tried_[i].alone, tried_[i].along + detour);
  }
  /// The interval between two tried numbers that promises most is halved, until none promises anything.
  void refine(std::int64_t most) {
    for (;;) {
      std::size_t open = tried_.size();
      int128 promised = best_;
      lower_bound_ = static_cast<ticks>(best_);
      for (std::size_t i = 0; i < tried_.size(); ++i) {
        const bool end = i + 1 == tried_.size();
        const ticks least = least_between(i);
        lower_bound_ = (std::min)(lower_bound_, least);
        if (least >= promised || (end ? tried_[i].pieces >= most : tried_[i + 1].pieces <= tried_[i].pieces + 1))
          continue;
        promised = least;
        open = i;
      }
      if (open == tried_.size()) return;
      const std::int64_t low = tried_[open].pieces;
      const std::int64_t high = open + 1 < tried_.size() ? tried_[open + 1].pieces : (std::min)(most, 2 * low) + 1;
      if (!try_count(low + (high - low) / 2)) return;
    }
  }

  static constexpr ticks never = (std::numeric_limits<ticks>::max)() / 2;

  prefill_request request_;
  prefill_problem problem_;  // of this request alone, at time 0
  const C& costs_;
  std::int64_t budget_;
  std::pmr::memory_resource* memory_;
  prefill_cuts<C> cuts_;
  request_bound<C> bound_;
  prefill_evaluator<C> evaluator_;
  std::pmr::vector<cut_list> one_;
  std::pmr::vector<cut_list> found_;
  std::pmr::vector<count> tried_;  // by ascending number of pieces
  int128 best_ = prefill_evaluator<C>::never;
  std::size_t best_index_ = 0;
  ticks lower_bound_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
