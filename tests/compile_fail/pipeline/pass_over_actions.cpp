// SPDX-License-Identifier: Apache-2.0
// expect: hocket: a pass goes over stage_actions: after(stage_list(plan, rank), pass)
#include <hocket/pipeline/passes.hpp>
#include <hocket/pipeline/schedules/zero_bubble.hpp>

using namespace hocket::pipeline;

#ifdef CORRECTED
auto merged(const zero_bubble& plan) { return after(stage_list(plan, 0), merge_halves{}); }
#else
auto merged(const zero_bubble& plan) { return after(plan.rank(0), merge_halves{}); }
#endif

auto first(const zero_bubble& plan) { return *merged(plan).begin(); }
