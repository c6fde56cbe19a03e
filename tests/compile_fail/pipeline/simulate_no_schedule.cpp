// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// deep: two mistakes, of which the first is in the first lines
// expect: hocket: a schedule needs `std::uint32_t size(std::uint32_t rank) const`
// expect: hocket: a cost policy needs `ticks latency(std::uint32_t from_rank, std::uint32_t to_rank) const`
#include <hocket/pipeline/simulate.hpp>

using hocket::pipeline::action, hocket::pipeline::action_kind;

struct plan {
  std::uint32_t ranks() const { return 1; }
  std::uint32_t chunks() const { return 1; }
  std::uint32_t micro_batches() const { return 1; }
  hocket::pipeline::loop_placement placement() const { return {1}; }
  action at(std::uint32_t, std::uint32_t step) const {
    return {step == 0 ? action_kind::forward : action_kind::backward, 0, 0};
  }
#ifdef CORRECTED
  std::uint32_t size(std::uint32_t) const { return 2; }
#else
  std::uint32_t sizes(std::uint32_t) const { return 2; }
#endif
};
struct times {
  hocket::ticks duration(hocket::pipeline::stage_action) const { return 1; }
#ifdef CORRECTED
  hocket::ticks latency(std::uint32_t, std::uint32_t) const { return 0; }
#endif
};

void f(const plan& p, const times& t) { static_cast<void>(hocket::pipeline::simulate(p, t)); }
