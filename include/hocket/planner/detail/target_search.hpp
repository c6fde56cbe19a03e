// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/detail/learning_search.hpp>
#include <hocket/planner/detail/list_scheduler.hpp>
#include <hocket/planner/detail/rank_blocks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Asks learning_search for schedules within targets between the bound and the best: one that is met lowers the best,
/// one that is refuted raises the bound.
class target_search {
 public:
  target_search(const search_input& in, rank_blocks& blocks) : in_(in), blocks_(blocks) {}

  /// The best schedule so far, rank by rank in its order, and a bound on all.
  void know(std::vector<placed> list, ticks makespan, ticks bound) {
    list_ = std::move(list), makespan_ = makespan, bound_ = bound;
  }
  /// Looks for shorter and shorter schedules, by smaller strides where none is found.
  /// @param steps  of searches that learn
  void shorten(std::int64_t steps) {
    for (ticks stride = (makespan_ - bound_) / 16 + 1; stride > 0 && makespan_ > bound_ && steps > 0;) {
      const std::int64_t share = stride > 1 ? steps / 4 + 1 : steps;
      std::int64_t left = share;
      if (ask((std::max)(bound_, makespan_ - stride), left) == learning_search::verdict::unknown)
        stride = stride == 2 || stride == 3 ? 1 : stride / 4;
      steps -= share - left;
    }
  }
  /// Looks for the largest target that no schedule meets, in growing strides from the bound until one takes too long.
  void refute(std::int64_t steps) {
    ticks stride = 0, end = makespan_;
    while (bound_ < end && steps > 0) {
      const ticks target = (std::min)(bound_ + stride, end - 1);
      const std::int64_t share = stride > 0 ? steps / 3 + 1 : steps;  // what the bound takes too long for, all do
      std::int64_t left = share;
      const auto found = ask(target, left);
      steps -= share - left;
      if (found == learning_search::verdict::impossible) stride = (std::max)((end - bound_) / 64 + 1, 2 * stride);
      else end = target, stride = (std::min)(stride / 4, (end - bound_) / 2);
    }
  }
  [[nodiscard]] const std::vector<placed>& list() const noexcept { return list_; }
  [[nodiscard]] ticks makespan() const noexcept { return makespan_; }
  [[nodiscard]] ticks bound() const noexcept { return bound_; }
  /// Decisions so far.
  [[nodiscard]] std::int64_t branches() const noexcept { return branches_; }

 private:
  [[nodiscard]] learning_search::verdict ask(ticks target, std::int64_t& steps) {
    using verdict = learning_search::verdict;
    constexpr std::int64_t of_windows = 24;  // they take as long as a step
    std::int64_t left = of_windows * steps;
    const bool refuted = blocks_.narrow(target, left);
    steps = (std::max)(INT64_C(0), left / of_windows - static_cast<std::int64_t>(list_.size()));
    verdict found = verdict::impossible;
    if (!refuted) {
      if (!search_ || target > target_) search_.emplace(in_);  // what was learned holds under lower targets
      target_ = target;
      const std::int64_t before = search_->branches();
      found = (*search_)(blocks_.windows(), list_, steps);
      branches_ += search_->branches() - before;
      if (found == verdict::found) list_ = search_->list(), makespan_ = search_->makespan();
    }
    if (found == verdict::impossible) bound_ = (std::max)(bound_, target + 1);
    return found;
  }

  const search_input& in_;
  rank_blocks& blocks_;
  std::optional<learning_search> search_;
  ticks target_ = 0, makespan_ = 0, bound_ = 0;
  std::vector<placed> list_;
  std::int64_t branches_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
