// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/cost/model/in_flight.hpp>

namespace hocket::inline HOCKET_ABI::cost {

/// Idle time of a 1F1B pipeline of equal stages, over the time of its work: (pp - 1)/(vp m).
/// Needs: training, parallel.  Source: arXiv:2104.04473 section 2.2.
inline constexpr auto bubble_over_work = (letters::pp - 1) / (letters::vp * micro_batches);
/// The same over the whole time, (pp - 1)/(vp m + pp - 1).
inline constexpr auto bubble_over_total = (letters::pp - 1) / (letters::vp * micro_batches + letters::pp - 1);

}  // namespace hocket::inline HOCKET_ABI::cost
