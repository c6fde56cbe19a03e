// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/schedule/detail/list_scheduler.hpp>
#include <hocket/planner/schedule/detail/rank_bound.hpp>
#include <hocket/planner/schedule/detail/window_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// The best rank_bound of blocks of ranks, neighbours or not. First of each rank whose memory is scarce. Then of all of
/// these under one target: each narrows the windows of its actions, and so, by way of the windows, those of the others,
/// until nothing changes. Within such windows, then, of two ranks, of three, and so on while the steps last. Those
/// come first whose parts, a rank shorter, gave the best bounds; a block is left out if, by what its part took, it
/// would take more steps than are left.
class rank_blocks {
 public:
  explicit rank_blocks(const search_input& in) : in_(in), windows_(in), bound_(in) {}

  /// @param low, high  no schedule is shorter than `low`; there is one of `high`
  /// @return the new `low`
  [[nodiscard]] ticks operator()(ticks low, ticks high, std::int64_t steps) {
    low_ = low, high_ = high, steps_ = steps, asked_ = -1, narrow_ = false;
    std::vector<block> blocks(1), larger;
    std::vector<std::uint32_t> order;  // those whose memory is scarce come first
    for (const bool scarce : {true, false})
      for (std::uint32_t r = 0; r < in_.ranks; ++r)
        if (in_.is_scarce(r) == scarce) order.push_back(r);
    if (!in_.is_scarce(order.front())) return low;
    const auto better = [](const block& a, const block& b) {
      if (a.reached != b.reached) return a.reached > b.reached;
      return a.steps != b.steps ? a.steps < b.steps : a.ranks < b.ranks;
    };
    for (std::uint32_t size = 1; size <= in_.ranks; ++size) {
      larger.clear();
      for (const block& part : blocks)
        for (const std::uint32_t r : order) lift(part, r, larger);
      std::sort(larger.begin(), larger.end(), better);
      blocks.swap(larger);
      if (size > 1) continue;
      for (std::size_t i = 0; i < blocks.size(); ++i) order[i] = blocks[i].ranks.front();
      narrow_ = true, asked_ = -1;
      raise([&](ticks target) { return refutes(target) ? target + 1 : steps_ > 0 ? low_ : 0; });
    }
    return low_;
  }

  /// Whether the target is refuted; else windows() are of it, narrowed by each rank whose memory is scarce.
  /// @param steps  that it may take; what it took is taken away
  [[nodiscard]] bool narrow(ticks target, std::int64_t& steps) {
    steps_ = steps, narrow_ = true, asked_ = -1;
    const bool refuted = refutes(target);
    steps = (std::max)(INT64_C(0), steps_);
    return refuted;
  }
  [[nodiscard]] window_bound& windows() noexcept { return windows_; }

 private:
  struct block {
    std::vector<std::uint32_t> ranks{};  // ascending
    ticks reached = 0;                   // the bound that it gave by itself
    std::int64_t steps = 0;              // that it took for one target
  };
  /// Raises low_, from there in growing strides, then by bisection. A target that others have narrowed windows for, but
  /// not refuted, comes first. @param ask  a bound by a target, 0 to give up
  template <class F>
  void raise(F&& ask) {
    const ticks enough = (high_ - low_) / 32;
    ticks target = !narrow_ ? low_ : asked_ >= low_ && !refuted_ ? asked_ : low_ + enough;
    ticks end = high_, stride = (high_ - low_) / 16;
    while (low_ < end) {
      const ticks least = ask(target);
      if (least == 0) return;
      low_ = (std::max)(low_, least);
      if (least <= target) end = target;
      if (end < high_ && end - low_ <= enough) return;
      target = end < high_ ? low_ + (end - low_) / 2 : (std::min)(low_ + stride, end - 1);
      stride *= 2;
    }
  }
  /// Raises low_ as far as the part and a rank more do.
  void lift(const block& part, std::uint32_t r, std::vector<block>& to) {
    constexpr std::int64_t more = 4;  // with a rank more it takes some four times the steps
    if (low_ >= high_ || part.steps > steps_ / more) return;
    block x = part;
    const auto at = std::lower_bound(x.ranks.begin(), x.ranks.end(), r);
    if (at != x.ranks.end() && *at == r) return;
    x.ranks.insert(at, r);
    if (part.ranks.empty() && !in_.is_scarce(r)) return;
    steps_ -= static_cast<std::int64_t>(to.size());  // what the next lines compare
    for (const block& y : to)
      if (y.ranks == x.ranks) return;
    raise([&](ticks target) {
      ticks least = refutes(target) ? target + 1 : 0;
      if (least == 0) {
        const std::int64_t before = steps_;
        least = ask(x.ranks, target);
        x.steps = (std::max)(x.steps, before - steps_);
      }
      x.reached = (std::max)(x.reached, least);
      return least;
    });
    to.push_back(std::move(x));
  }
  /// What a block says to a target that is not refuted yet; 0 if steps did not last.
  [[nodiscard]] ticks ask(const std::vector<std::uint32_t>& ranks, ticks target) {
    const ticks least = bound_(ranks, target, windows_, steps_);
    if (least == 0) return 0;
    refuted_ = least > target;
    if (refuted_ || !narrow_) return least;
    refuted_ = !bound_.narrow(windows_) || windows_.refutes_narrowed();
    return refuted_ ? target + 1 : least;
  }
  /// Whether windows refute the target, later on those that scarce ranks have narrowed.
  [[nodiscard]] bool refutes(ticks target) {
    if (target == asked_) return refuted_;
    asked_ = target, refuted_ = windows_.refutes(target);
    std::vector<ticks> room(in_.ranks, -1);  // that was left to the rank when it had been asked
    for (bool changed = narrow_; changed && !refuted_;) {
      changed = false;
      for (std::uint32_t r = 0; r < in_.ranks && !refuted_; ++r) {
        if (!in_.is_scarce(r) || windows_.room(r) == room[r]) continue;
        if (ask({r}, target) == 0) return false;
        room[r] = windows_.room(r), changed = true;
      }
    }
    return refuted_;
  }

  const search_input& in_;
  window_bound windows_;
  rank_bound bound_;
  ticks low_ = 0, high_ = 0, asked_ = -1;  // asked_: the target that windows_ are of
  bool refuted_ = false, narrow_ = false;
  std::int64_t steps_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
