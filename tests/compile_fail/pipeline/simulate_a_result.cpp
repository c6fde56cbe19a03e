// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A result holds a schedule, or an error.
// expect: hocket: this is a result, not the schedule in it: check it, and pass plan.value() or *plan
#include <hocket/pipeline.hpp>

bool f() {
  const auto plan = hocket::pipeline::gpipe::make({.ranks = 2, .micro_batches = 4});
#ifdef CORRECTED
  return hocket::pipeline::simulate(plan.value(), hocket::pipeline::costs{}).has_value();
#else
  return hocket::pipeline::simulate(plan, hocket::pipeline::costs{}).has_value();
#endif
}
