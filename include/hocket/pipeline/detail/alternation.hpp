// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/config.hpp>
#include <hocket/pipeline/detail/regions.hpp>
#include <hocket/pipeline/facts.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

/// The rhythm shared by all one-forward-one-backward schedules of a rank: `warm_up` forwards, then forward and backward
/// in turn, then the backwards that remain. It says which forward or backward a step is; the schedule says what that
/// is.
///
///     F0 F1 | F2 B0 F3 B1 F4 B2 | B3 B4          count 5, warm_up 2
struct alternation {
  std::uint32_t count = 0;    ///< n forwards and as many backwards; n <= 2^30
  std::uint32_t warm_up = 0;  ///< w <= n

  /// Precondition: step < 2n. O(1).
  [[nodiscard]] constexpr region_list::place at(std::uint32_t step) const noexcept {
    HOCKET_ASSERT(step < 2 * count);
    constexpr auto f = action_kind::forward, b = action_kind::backward;
    if (step < warm_up) return {f, step};
    if (step >= 2 * count - warm_up) return {b, step - count};
    const std::uint32_t t = step - warm_up;
    return t % 2 == 0 ? region_list::place{f, warm_up + t / 2} : region_list::place{b, t / 2};
  }
  [[nodiscard]] constexpr std::uint32_t step_of_forward(std::uint32_t k) const noexcept {
    return k < warm_up ? k : 2 * k - warm_up;
  }
  [[nodiscard]] constexpr std::uint32_t step_of_backward(std::uint32_t k) const noexcept {
    return k < count - warm_up ? warm_up + 2 * k + 1 : count + k;
  }
  /// Warm-up, alternation, and the backwards that remain.
  [[nodiscard]] constexpr step_counts counts() const noexcept { return {warm_up, 2 * (count - warm_up), warm_up}; }
  /// Most forwards without their backward at any time: one more than the warm-up, or all.
  [[nodiscard]] constexpr std::uint32_t peak() const noexcept { return warm_up < count ? warm_up + 1 : count; }

  [[nodiscard]] constexpr region_list regions() const noexcept {
    constexpr auto f = action_kind::forward, b = action_kind::backward;
    region_list list;
    list.add({warm_up, 1, {f}, {0}});
    list.add({2 * (count - warm_up), 2, {f, b}, {warm_up, 0}});
    list.add({warm_up, 1, {b}, {count - warm_up}});
    return list;
  }
};

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
