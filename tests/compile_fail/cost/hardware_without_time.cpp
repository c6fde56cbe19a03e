// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: a hardware policy needs `hocket::seconds time(const hocket::cost::work_item&) const`
// The member that puts a time on work is misspelt.
#include <hocket/cost/model/list_time.hpp>

struct device {
#ifdef CORRECTED
  hocket::seconds time(const hocket::cost::work_item& w) const { return hocket::seconds(w.flops.value / 1e15); }
#else
  hocket::seconds times(const hocket::cost::work_item& w) const { return hocket::seconds(w.flops.value / 1e15); }
#endif
};
auto step(const hocket::cost::model& m, const hocket::cost::training& t) {
  return hocket::cost::predict_step(m, t, hocket::cost::parallel{}, device{});
}
