// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: a hardware policy needs `hocket::seconds time(const hocket::cost::work_item&) const`
// A bare number has no unit.
#include <hocket/cost/model/list_time.hpp>

struct device {
#ifdef CORRECTED
  hocket::seconds time(const hocket::cost::work_item& w) const { return hocket::seconds(w.flops.value / 1e15); }
#else
  double time(const hocket::cost::work_item& w) const { return w.flops.value / 1e15; }
#endif
};
auto step(const hocket::cost::model& m, const hocket::cost::training& t) {
  return hocket::cost::predict_step(m, t, hocket::cost::parallel{}, device{});
}
