// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/config.hpp>

namespace hocket::inline HOCKET_ABI::cost {

/// A training step, taken apart: seconds of each part as one device sees them. All but communication_hidden add up to
/// the step.
struct step_parts {
  double data_loading = 0;           ///< until the step's data are there
  double forward_backward = 0;       ///< compute, recompute included
  double optimizer = 0;              ///< update of the weights
  double post_processing = 0;        ///< after the optimizer
  double communication_exposed = 0;  ///< communication while nothing computes
  double communication_hidden = 0;   ///< communication behind compute: costs nothing
  double scheduling = 0;             ///< the device waits for the host to launch
  double bubble = 0;                 ///< the device waits for other stages of the pipeline

  [[nodiscard]] constexpr double total() const noexcept {
    return data_loading + forward_backward + optimizer + post_processing + communication_exposed + scheduling + bubble;
  }
  friend constexpr bool operator==(const step_parts&, const step_parts&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::cost
