// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A schedule without its placement.
// expect: hocket: a schedule needs `placement() const`, which returns a placement_policy such as loop_placement
#include <hocket/testing/schedule_laws.hpp>

struct plan {
  std::uint32_t ranks() const { return 1; }
  std::uint32_t chunks() const { return 1; }
  std::uint32_t micro_batches() const { return 2; }
  std::uint32_t size(std::uint32_t) const { return 4; }
  hocket::pipeline::action at(std::uint32_t, std::uint32_t) const { return {}; }
#ifdef CORRECTED
  hocket::pipeline::loop_placement placement() const { return {1}; }
#endif
};

std::string f(const plan& p) { return hocket::testing::broken_law(p); }
