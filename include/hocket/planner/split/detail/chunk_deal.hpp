// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/split/detail/count_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Deals n equal layers out to the chunks of one rank, at least one to each, and chooses their levels: the least extra
/// time that fits at each of the rank's maximal counts. Chunk by chunk, depth first, the likeliest first; a choice is
/// dropped if count_bound leaves the chunks that follow no hope. Mostly the first plan meets the bound.
class chunk_deal {
 public:
  struct answer {
    ticks extra = never;  ///< never: none found
    ticks bound = 0;      ///< no way to deal has less; == extra: proved; never: none fits
    std::vector<std::int64_t> sizes;
    std::vector<level_point> points;
  };
  /// The fewest layers' activations that layers need at once, dealt out as well as can be.
  struct load_answer {
    std::int64_t load = 0;
    bool proved = true;
  };

  /// @param longest  layers that a chunk may have
  chunk_deal(const in_flight_profile& profile, std::uint32_t rank, std::int64_t longest)
      : held_(counts_of(profile, rank)), chunks_(held_.front().size()), longest_(longest) {
    for (std::size_t c = 0; c < chunks_; ++c) bounds_.emplace_back(held_, c);
  }

  /// @param left    bytes for what layers keep
  /// @param budget  of choices; what it needs is added to `used`
  [[nodiscard]] answer operator()(segment_fronts& fronts, std::int64_t n, std::int64_t left, std::int64_t budget,
                                  std::int64_t& used) {
    fronts_ = &fronts;
    best_ = answer{};
    const auto chunks = static_cast<std::int64_t>(chunks_);
    if (left < 0 || n < chunks || n > chunks * longest_) {
      best_.bound = never;
      return best_;
    }
    left_.assign(held_.size(), left);
    best_.bound = bound(0, n);
    if (best_.bound >= never) return best_;
    sizes_.assign(chunks_, 0);
    points_.assign(chunks_, level_point{});
    budget_ = budget;
    descend(0, n, 0);
    used += budget - budget_;
    if (budget_ >= 0) best_.bound = best_.extra;
    return best_;
  }

  [[nodiscard]] load_answer least_load(std::int64_t n, std::int64_t budget, std::int64_t& used) {
    if (n > static_cast<std::int64_t>(chunks_) * longest_) return {never, true};
    const split_layers one[] = {{{.time = {}, .weights = {}, .levels = {{bytes(1), {}}}}, n}};
    segment_fronts unit(one);
    std::int64_t low = -1;  // does not fit, as far as is known
    std::int64_t high = 0;  // fits
    for (const auto& at : held_) high = (std::max)(high, *std::max_element(at.begin(), at.end()) * n);
    std::int64_t refuted = low;
    while (high - low > 1) {
      const std::int64_t mid = low + (high - low) / 2;
      const answer x = (*this)(unit, n, mid, budget, used);
      if (x.extra < never) {
        high = mid;
        continue;
      }
      low = mid;
      if (x.bound >= never) refuted = mid;
    }
    return {high, refuted + 1 == high};
  }

 private:
  struct choice {
    ticks bound;
    std::int64_t size;
    level_point point;
  };

  /// Least extra time of n layers on the chunks from c on, with what is left at each count.
  [[nodiscard]] ticks bound(std::size_t c, std::int64_t n) {
    return bounds_[c].least_extra(fronts_->of(0, n), fronts_->leanest(0, 1), left_);
  }
  void take(std::size_t c, std::int64_t bytes) {
    for (std::size_t k = 0; k < held_.size(); ++k) left_[k] -= held_[k][c] * bytes;
  }
  /// Bytes that the layers of chunk c may keep.
  [[nodiscard]] std::int64_t most_of(std::size_t c) const {
    std::int64_t most = never;
    for (std::size_t k = 0; k < held_.size(); ++k)
      if (held_[k][c] > 0) most = (std::min)(most, left_[k] / held_[k][c]);
    return most;
  }
  /// Chunk c with so many of n layers: the points of their front that may lead to something better.
  void list_points(std::size_t c, std::int64_t n, std::int64_t size, ticks extra, std::vector<choice>& list) {
    const level_front& front = fronts_->of(0, size);
    const level_point* const first = cheapest(front, most_of(c));
    if (first == nullptr) return;
    for (const level_point* x = first; x != front.data() + front.size() && extra + x->extra < best_.extra; ++x) {
      if (--budget_ < 0) return;
      if (c + 1 == chunks_) return list.push_back({extra + x->extra, size, *x});
      take(c, x->bytes);
      const ticks least = bound(c + 1, n - size);
      take(c, -x->bytes);
      if (least < never && extra + x->extra + least < best_.extra) list.push_back({extra + x->extra + least, size, *x});
    }
  }
  void descend(std::size_t c, std::int64_t n, ticks extra) {
    if (c == chunks_) {
      best_.extra = extra;
      best_.sizes = sizes_;
      best_.points = points_;
      return;
    }
    const auto after = static_cast<std::int64_t>(chunks_ - c - 1);
    const std::int64_t most = (std::min)(n - after, longest_);
    std::vector<choice> list;
    for (std::int64_t size = (std::max)(std::int64_t{1}, n - after * longest_); size <= most && budget_ >= 0; ++size)
      list_points(c, n, size, extra, list);
    // Of equal bounds the sizes nearest to even come first: chunks that are alike run in less time than others.
    const auto from_even = [&](const choice& x) { return std::abs(x.size * (after + 1) - n); };
    std::sort(list.begin(), list.end(), [&](const choice& a, const choice& b) {
      if (a.bound != b.bound) return a.bound < b.bound;
      if (from_even(a) != from_even(b)) return from_even(a) < from_even(b);
      return a.size != b.size ? a.size < b.size : a.point.extra < b.point.extra;
    });
    for (const choice& x : list) {
      if (x.bound >= best_.extra) return;
      take(c, x.point.bytes);
      sizes_[c] = x.size;
      points_[c] = x.point;
      descend(c + 1, n - x.size, extra + x.point.extra);
      take(c, -x.point.bytes);
      if (budget_ < 0 || best_.extra == best_.bound) return;
    }
  }

  std::vector<std::vector<std::int64_t>> held_;  // by count, by chunk
  std::size_t chunks_;
  std::int64_t longest_;
  std::vector<count_bound> bounds_;  // by first chunk
  segment_fronts* fronts_ = nullptr;
  std::vector<std::int64_t> left_;  // by count
  answer best_;
  std::vector<std::int64_t> sizes_;  // of the choices so far
  std::vector<level_point> points_;
  std::int64_t budget_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
