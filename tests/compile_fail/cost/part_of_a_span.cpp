// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: part_of of measure_step needs `step_part operator()(const timeline::span&) const`
// What a span counts as is a step_part, not a word.
#include <hocket/cost/measure_step.hpp>

struct reading {
#ifdef CORRECTED
  hocket::cost::step_part operator()(const hocket::timeline::span&) const { return hocket::cost::step_part::optimizer; }
#else
  const char* operator()(const hocket::timeline::span&) const { return "optimizer"; }
#endif
};
hocket::cost::step_parts parts(const hocket::timeline& t) { return hocket::cost::measure_step(t, {}, reading{}); }
