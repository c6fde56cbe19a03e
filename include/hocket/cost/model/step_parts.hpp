// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/time.hpp>

namespace hocket::inline HOCKET_ABI::cost {

/// A training step, taken apart: the time of each part as one device sees them. All but communication_hidden add up to
/// the step.
struct step_parts {
  seconds data_loading{};           ///< until the step's data are there
  seconds forward_backward{};       ///< compute, recompute included
  seconds optimizer{};              ///< update of the weights
  seconds post_processing{};        ///< after the optimizer
  seconds communication_exposed{};  ///< communication while nothing computes
  seconds communication_hidden{};   ///< communication behind compute: costs nothing
  seconds scheduling{};             ///< the device waits for the host to launch
  seconds bubble{};                 ///< the device waits for other stages of the pipeline

  [[nodiscard]] constexpr seconds total() const noexcept {
    return data_loading + forward_backward + optimizer + post_processing + communication_exposed + scheduling + bubble;
  }
  friend constexpr bool operator==(const step_parts&, const step_parts&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::cost
