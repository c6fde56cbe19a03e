// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/schedule/detail/learning_search.hpp>
#include <hocket/planner/schedule/detail/list_scheduler.hpp>
#include <hocket/planner/schedule/detail/neighbourhoods.hpp>
#include <hocket/planner/schedule/detail/rank_blocks.hpp>

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
    list_ = std::move(list), makespan_ = makespan, bound_ = bound, of_windows_ = -1;
  }
  /// Looks for shorter and shorter schedules, by smaller strides where none is found.
  /// @param steps  of searches that learn
  void shorten(std::int64_t steps) {
    for (ticks stride = (makespan_ - bound_) / 16 + 1; stride > 0 && makespan_ > bound_ && steps > 0;) {
      std::int64_t share = stride > 1 ? steps / 4 + 1 : steps;
      if (ask((std::max)(bound_, makespan_ - stride), steps, share) == learning_search::verdict::unknown)
        stride = smaller(stride);
    }
  }
  /// Looks for shorter schedules that differ from the best in parts only: in larger ones where all was looked at, in
  /// smaller ones, and longer, where the steps of one did not last; by smaller strides after some that had none.
  void improve(std::int64_t steps) {
    constexpr std::uint32_t least = 32, patience = 40;
    const auto all = static_cast<std::uint32_t>(list_.size());
    std::uint32_t size = (std::max)(least, all / 8), failed = 0;
    std::int64_t each = 200'000 + 200 * std::int64_t{all};
    std::vector<ticks> starts = run_in_order(in_, list_).starts;
    for (ticks stride = (makespan_ - bound_) / 64 + 1; makespan_ > bound_ && steps > 0;) {
      std::int64_t left = each;
      const auto found = ask((std::max)(bound_, makespan_ - stride), steps, left, parts_(starts, size));
      if (found == learning_search::verdict::found) {
        starts = run_in_order(in_, list_).starts, failed = 0;
        continue;
      }
      if (left > 0) size = (std::min)(all, size + size / 16);
      else if (size > least) size -= size / 16;
      else each *= 2;
      if (++failed % patience == 0 && stride > 1) stride = smaller(stride);
    }
  }
  /// Looks for the largest target that no schedule meets, in growing strides from the bound until one takes too long.
  void refute(std::int64_t steps) {
    ticks stride = 0, end = makespan_;
    while (bound_ < end && steps > 0) {
      const ticks target = (std::min)(bound_ + stride, end - 1);
      std::int64_t share = stride > 0 ? steps / 3 + 1 : steps;  // what the bound takes too long for, all do
      const auto found = ask(target, steps, share);
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
  /// From one on to nothing.
  [[nodiscard]] static ticks smaller(ticks stride) noexcept { return stride == 2 || stride == 3 ? 1 : stride / 4; }
  /// @param steps  that there are; what was taken is taken away
  /// @param most   of those, once there are windows; what was taken is taken away
  /// @param free   of the best schedule, what may change places; empty: all
  learning_search::verdict ask(ticks target, std::int64_t& steps, std::int64_t& most,
                               const std::vector<char>& free = {}) {
    using verdict = learning_search::verdict;
    if (target != of_windows_ && refutes(target, steps, free.empty())) {
      bound_ = (std::max)(bound_, target + 1);
      return verdict::impossible;
    }
    if (!search_ || target > target_) search_.emplace(in_);  // what was learned holds under lower targets
    target_ = of_windows_ = target;
    const std::int64_t before = search_->branches(), share = most = (std::min)(most, steps);
    const verdict found = (*search_)(blocks_.windows(), list_, most, free);
    branches_ += search_->branches() - before, steps -= share - most;
    if (found == verdict::found) list_ = search_->list(), makespan_ = search_->makespan();
    if (found == verdict::impossible) bound_ = (std::max)(bound_, target + 1);
    return found;
  }
  /// Whether windows refute the target, or else, if parts of a schedule do not wait for it, each scarce rank in them.
  [[nodiscard]] bool refutes(ticks target, std::int64_t& steps, bool narrow) {
    constexpr std::int64_t of_ranks = 24;  // they take as long as a step
    of_windows_ = -1, steps = (std::max)(INT64_C(0), steps - static_cast<std::int64_t>(list_.size()));
    if (!narrow) return blocks_.windows().refutes(target);
    std::int64_t left = of_ranks * steps;
    const bool refuted = blocks_.narrow(target, left);
    steps = left / of_ranks;
    return refuted;
  }

  const search_input& in_;
  rank_blocks& blocks_;
  neighbourhoods parts_{in_};
  std::optional<learning_search> search_;
  ticks target_ = 0, of_windows_ = -1, makespan_ = 0, bound_ = 0;  // targets: the last one, that of windows
  std::vector<placed> list_;
  std::int64_t branches_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
