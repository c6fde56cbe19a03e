// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: quantity
// Bytes where FLOPs are asked for.
#include <hocket/cost/hardware.hpp>

namespace cost = hocket::cost;
#ifdef CORRECTED
inline constexpr cost::work_item item{.flops = cost::quantity<cost::units::flops>(1e9)};
#else
inline constexpr cost::work_item item{.flops = cost::quantity<cost::units::bytes>(1e9)};
#endif
