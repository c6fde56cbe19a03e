// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/config.hpp>
#include <hocket/pipeline/facts.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::pipeline {

/// The rhythm shared by all one-forward-one-backward schedules of a rank: `warm_up` forwards, then forward and backward
/// in turn, then the backwards that remain. It says which forward or backward a step is; the schedule says what that
/// is.
///
///     constexpr hocket::pipeline::alternation beat{.count = 3, .warm_up = 1};       // F0 F1 B0 F2 B1 B2
///     static_assert(!beat.at(2).forward && beat.at(2).index == 0 && beat.step_of_forward(2) == 3);
struct alternation {
  std::uint32_t count = 0;    ///< n forwards and as many backwards; n <= 2^30
  std::uint32_t warm_up = 0;  ///< w <= n

  struct turn {
    bool forward;
    std::uint32_t index;  ///< the index-th forward, or the index-th backward
  };

  /// Precondition: step < 2n. O(1).
  [[nodiscard]] constexpr turn at(std::uint32_t step) const noexcept {
    HOCKET_ASSERT(step < 2 * count);
    if (step < warm_up) return {true, step};
    if (step >= 2 * count - warm_up) return {false, step - count};
    const std::uint32_t t = step - warm_up;
    return t % 2 == 0 ? turn{true, warm_up + t / 2} : turn{false, t / 2};
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
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
