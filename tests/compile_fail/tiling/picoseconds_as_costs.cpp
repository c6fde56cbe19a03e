// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Times of a plan are picoseconds, those of a schedule what its caller says.
// expect: duration
#include <hocket/pipeline.hpp>
#include <hocket/tiling.hpp>

auto f(const hocket::tiling::plan& plan) {
#ifdef CORRECTED
  return hocket::pipeline::costs_in<hocket::picoseconds>{.forward = plan.predicted};
#else
  return hocket::pipeline::costs{.forward = plan.predicted};
#endif
}
