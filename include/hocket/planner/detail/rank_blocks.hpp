// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/detail/list_scheduler.hpp>
#include <hocket/planner/detail/rank_bound.hpp>
#include <hocket/planner/detail/window_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// The best rank_bound of neighbouring ranks: first of each rank whose memory is scarce, then of two ranks in a row,
/// then of three, and so on while the steps last. Those come first whose parts, a rank shorter, came nearest to a
/// better bound; a block is left out if, by what its parts took, it would take more steps than are left.
class rank_blocks {
 public:
  rank_blocks(const search_input& in, window_bound& windows) : in_(in), windows_(windows), bound_(in) {}

  /// @param low, high  no schedule is shorter than `low`; there is one of `high`
  /// @return the new `low`
  [[nodiscard]] ticks operator()(ticks low, ticks high, std::int64_t steps) {
    low_ = low, high_ = high, steps_ = steps, asked_ = -1;
    const std::uint32_t p = in_.ranks;
    const bool ring = in_.stages > p && in_.rank_of[p] == 0;  // the last rank sends to the first
    std::vector<block> parts(p + 1), blocks;
    for (std::uint32_t size = 1; size <= p; ++size) {
      blocks.clear();
      for (std::uint32_t r = 0; r < (ring && size < p ? p : p - size + 1); ++r) {
        const block &a = parts[r], &b = parts[(r + 1) % parts.size()];
        blocks.push_back({r, (std::max)(a.reached, b.reached), (std::max)(a.steps, b.steps)});
      }
      std::vector<std::size_t> order(blocks.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return blocks[a].reached != blocks[b].reached ? blocks[a].reached > blocks[b].reached : a < b;
      });
      for (const std::size_t i : order) lift(blocks[i], size);
      parts.swap(blocks);
    }
    return low_;
  }

 private:
  static constexpr std::int64_t too_many = (std::numeric_limits<std::int64_t>::max)();
  struct block {
    std::uint32_t first = 0;
    ticks reached = 0;       // the bound that it gave by itself
    std::int64_t steps = 0;  // that it took for one target
  };
  /// Raises low_ as far as the block does: from there in growing strides, then by bisection.
  void lift(block& x, std::uint32_t size) {
    constexpr std::int64_t more = 4;  // with a rank more it takes some four times the steps
    std::vector<std::uint32_t> ranks;
    bool scarce = false;
    for (std::uint32_t i = 0; i < size; ++i) {
      const std::uint32_t r = (x.first + i) % in_.ranks;
      ranks.push_back(r);
      scarce = scarce || in_.cap[r] < in_.owned[r].size() * in_.micro_batches;
    }
    if (!scarce) return;
    if (x.steps > steps_ / more) x.steps = too_many;
    const ticks enough = (high_ - low_) / 64;
    ticks target = low_, end = high_, stride = (high_ - low_) / 16 + 1;
    while (low_ < end && x.steps < too_many) {
      if (target != asked_) refuted_ = windows_.refutes(target), asked_ = target;
      const std::int64_t before = steps_;
      const ticks least = refuted_ ? target + 1 : bound_(ranks, target, windows_, steps_);
      x.steps = least == 0 ? too_many : (std::max)(x.steps, before - steps_);
      x.reached = (std::max)(x.reached, least), low_ = (std::max)(low_, least);
      if (least <= target) end = target;
      if (end < high_ && end - low_ <= enough) return;
      target = end < high_ ? low_ + (end - low_) / 2 : (std::min)(low_ + stride, end - 1);
      stride *= 2;
    }
  }

  const search_input& in_;
  window_bound& windows_;
  rank_bound bound_;
  ticks low_ = 0, high_ = 0, asked_ = -1;
  bool refuted_ = false;
  std::int64_t steps_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
