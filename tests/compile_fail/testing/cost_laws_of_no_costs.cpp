// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Costs without a latency.
// expect: hocket: a cost policy needs `ticks latency(std::uint32_t from_rank, std::uint32_t to_rank) const`
#include <hocket/pipeline.hpp>
#include <hocket/testing/cost_policy_laws.hpp>

struct costs {
  hocket::ticks duration(hocket::pipeline::stage_action) const { return 1; }
#ifdef CORRECTED
  hocket::ticks latency(std::uint32_t, std::uint32_t) const { return 0; }
#endif
};

std::string f(const hocket::pipeline::one_f_one_b& plan) { return hocket::testing::broken_law(costs{}, plan); }
