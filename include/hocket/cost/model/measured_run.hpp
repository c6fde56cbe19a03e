// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>
#include <hocket/cost/formula/reflect.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::cost {

/// A measured run, for utilization.
struct measured_run {
  double step_flops = 0, step_seconds = 0, peak_flops = 0;
  std::int64_t devices = 1;
};

}  // namespace hocket::inline HOCKET_ABI::cost

HOCKET_DETAIL_STRUCT(hocket::cost::measured_run, step_flops, step_seconds, peak_flops, devices);
