// SPDX-License-Identifier: Apache-2.0
// expect: hocket: this type is no schedule. Give it const members ranks(), chunks(), micro_batches(), placement(),
// size(rank) and at(rank, step) expect: hocket: this type is no cost policy. Give it const members ticks
// duration(stage_action) and ticks latency(from_rank, to_rank)
#include <hocket/pipeline/schedules/one_f_one_b.hpp>
#include <hocket/pipeline/simulate.hpp>

#ifdef CORRECTED
using plan = hocket::pipeline::one_f_one_b;
using times = hocket::pipeline::costs;
#else
struct plan {};
struct times {};
#endif

void f(const plan& p, const times& t) { static_cast<void>(hocket::pipeline::simulate(p, t)); }
