// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A result of a plan is no plan, and the streams of a tiling may be an array, which converts.
// expect: hocket: from_tiling takes a tiling::plan, not a result of one, and the stream of each phase.
#include <hocket/launch.hpp>
#include <hocket/launch/bridges/tiling.hpp>

#include <array>

bool f(const hocket::result<hocket::tiling::plan>& plan) {
#ifdef CORRECTED
  return hocket::launch::from_tiling(*plan, std::array<hocket::stream_id, 2>{0, 1}).has_value();
#else
  return hocket::launch::from_tiling(plan, std::array<hocket::stream_id, 2>{0, 1}).has_value();
#endif
}
