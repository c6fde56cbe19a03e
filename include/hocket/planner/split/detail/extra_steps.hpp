// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/core/time.hpp>
#include <hocket/planner/split/detail/level_front.hpp>

#include <algorithm>
#include <cstdint>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Bounds on plans from E(M), a bound on the extra time of plans whose slowest rank takes no more than M: it falls in
/// steps as M grows. @tparam E  with least_extra(M), `never` where there is no plan, and tired(), to stop
template <class E>
class extra_steps {
 public:
  explicit extra_steps(E& of) : of_(of) {}

  /// The least time that some plan's slowest rank may take, from `low` on; `most` if all below are refuted.
  [[nodiscard]] ticks slowest(ticks low, ticks most) {
    ticks step = 1 + low / 256, high = low--;
    while (high < most && !of_.tired() && of_.least_extra(high) >= never)
      low = high, high = (std::min)(most, high + step), step *= 2;
    while (high - low > 1 && !of_.tired()) {
      const ticks mid = low + (high - low) / 2;
      (of_.least_extra(mid) < never ? high : low) = mid;
    }
    return low + 1;
  }
  /// The least Σ extra + weight · slowest rank that some plan may have; `below` if it has no less.
  /// @param low  a bound on the slowest rank
  [[nodiscard]] ticks weighted(ticks low, std::int64_t weight, ticks below) {
    const ticks at_low = of_.least_extra(low);
    best_ = below;
    best_ = at_low < never ? (std::min)(best_, at_low + weight * low) : best_;
    const ticks high = weight > 0 ? best_ / weight : low;
    if (high <= low) return best_;
    const ticks at_high = of_.least_extra(high);
    if (at_high < never) best_ = (std::min)(best_, at_high + weight * high);
    between(low, at_low, high, at_high, weight);
    return best_;
  }

 private:
  /// Between two bounds on the slowest rank whose least extra time is known: whether some plan may be better.
  void between(ticks low, ticks at_low, ticks high, ticks at_high, std::int64_t weight) {
    if (high - low <= 1 || at_low == at_high || at_high + weight * (low + 1) >= best_) return;
    if (of_.tired()) return void(best_ = at_high + weight * (low + 1));
    const ticks mid = low + (high - low) / 2, at_mid = of_.least_extra(mid);
    if (at_mid < never) best_ = (std::min)(best_, at_mid + weight * mid);
    between(low, at_low, mid, at_mid, weight);
    between(mid, at_mid, high, at_high, weight);
  }

  E& of_;
  ticks best_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
