// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/split/detail/count_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// A bound on the levels of one rank with several chunks. A byte gets a price at each of the rank's maximal counts,
/// which its room pays back; then each chunk takes the point of its hull that is cheapest, and no levels that fit are
/// cheaper, whatever the prices (Lagrangian relaxation). Steps after Polyak raise it, from the prices of the last
/// question on the same rank on.
class byte_prices {
 public:
  static constexpr wide one = wide{1} << 40;  // of a tick

  explicit byte_prices(const in_flight_profile& profile) : profile_(profile), known_(profile.ranks()) {}

  /// Raises the bound as far as a few steps do.
  /// @param hulls   of the rank's chunks
  /// @param left    bytes for what layers keep
  /// @param target  no higher bound is wanted
  /// @return no levels that fit take less extra time
  ticks raise(std::uint32_t rank, std::span<const level_front* const> hulls, std::int64_t left, ticks target) {
    rank_ = rank, hulls_ = hulls, left_ = left;
    const std::uint32_t times = profile_.times(rank);
    at_.assign(hulls.size(), 0), over_.resize(times), of_chunk_.resize(hulls.size());
    wide most = left;
    for (std::uint32_t k = 0; k < times; ++k) {
      wide bytes = 0;
      for (std::size_t c = 0; c < hulls.size(); ++c) bytes += wide{profile_.at(rank, k)[c]} * hulls[c]->front().bytes;
      most = (std::max)(most, bytes);
    }
    const wide most_price = (wide{1} << 110) / (most + 1), top = wide{target} * one;
    std::vector<wide>& best = known_[rank];
    best.resize(times, 0);
    for (wide& x : best) x = (std::min)(x, most_price);
    now_ = best;
    value_ = price(now_);
    wide last = value_;
    for (int round = 0, stale = 0, pace = 8; round < rounds && value_ <= top - one && pace > 0; ++round) {
      steps_ += static_cast<std::int64_t>(hulls.size());
      std::int64_t farthest = 1;
      for (std::uint32_t k = 0; k < times; ++k)
        if (over_[k] > 0 || now_[k] > 0) farthest = (std::max)(farthest, over_[k] < 0 ? -over_[k] : over_[k]);
      wide norm = 0;
      for (std::uint32_t k = 0; k < times; ++k) {
        const bool counts = over_[k] > 0 || now_[k] > 0;
        over_[k] = counts ? static_cast<std::int64_t>(wide{over_[k]} * unit / farthest) : 0;
        norm += wide{over_[k]} * over_[k];
      }
      if (norm == 0) break;
      const wide gap = (top - last) * pace / 8;
      for (std::uint32_t k = 0; k < times; ++k) {
        const wide part = wide{over_[k]} * unit;
        now_[k] += (gap / norm * part + gap % norm * part / norm) / farthest;
        now_[k] = (std::min)((std::max)(now_[k], wide{0}), most_price);
      }
      last = price(now_);
      if (last > value_) {
        stale = last - value_ > (top - value_) / 64 ? 0 : stale + 1;
        value_ = last, best = now_;
      } else {
        ++stale;
      }
      if (stale < 3) continue;
      pace /= 2, stale = 0;
      now_ = best, last = price(now_);
    }
    value_ = price(best);
    return value_ <= 0 ? 0 : static_cast<ticks>((value_ + one - 1) / one);
  }
  /// The bound of the last question, in parts of a tick.
  [[nodiscard]] wide value() const noexcept { return value_; }
  /// What a point of a chunk's front costs above that chunk's cheapest.
  [[nodiscard]] wide above(std::size_t c, const level& x) const noexcept {
    return cost(c, x) - cost(c, cheapest_of(c));
  }
  /// The point of the hull of a chunk that is cheapest.
  [[nodiscard]] const level& cheapest_of(std::size_t c) const noexcept { return (*hulls_[c])[at_[c]]; }
  /// Steps taken, in looks at a chunk.
  [[nodiscard]] std::int64_t steps() const noexcept { return steps_; }

 private:
  static constexpr std::int64_t unit = 1 << 16;  // of a step
  static constexpr int rounds = 24;

  [[nodiscard]] wide cost(std::size_t c, const level& x) const noexcept {
    return one * x.extra + of_chunk_[c] * x.bytes;
  }
  /// The cheapest choice; and what it takes too much at each count.
  wide price(const std::vector<wide>& prices) {
    wide sum = 0;
    for (std::size_t k = 0; k < prices.size(); ++k) sum -= prices[k] * left_, over_[k] = -left_;
    for (std::size_t c = 0; c < hulls_.size(); ++c) {
      of_chunk_[c] = 0;
      for (std::uint32_t k = 0; k < prices.size(); ++k) of_chunk_[c] += prices[k] * profile_.at(rank_, k)[c];
      const level_front& hull = *hulls_[c];
      std::size_t& at = at_[c];
      const auto worth = [&](std::size_t i) {  // to go on from point i to the next
        return one * (hull[i + 1].extra - hull[i].extra) < of_chunk_[c] * (hull[i].bytes - hull[i + 1].bytes);
      };
      while (at + 1 < hull.size() && worth(at)) ++at;
      while (at > 0 && !worth(at - 1)) --at;
      sum += cost(c, hull[at]);
      for (std::uint32_t k = 0; k < prices.size(); ++k) over_[k] += profile_.at(rank_, k)[c] * hull[at].bytes;
    }
    return sum;
  }

  const in_flight_profile& profile_;
  std::vector<std::vector<wide>> known_;  // by rank, by count
  std::uint32_t rank_ = 0;
  std::span<const level_front* const> hulls_;
  std::int64_t left_ = 0, steps_ = 0;
  std::vector<wide> now_, of_chunk_;
  std::vector<std::size_t> at_;
  std::vector<std::int64_t> over_;
  wide value_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
