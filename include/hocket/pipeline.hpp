// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pipeline schedules: in what order each rank runs its pieces. Start with pipeline/schedules/interleaved.hpp and
// simulate.hpp. Not here, since compilers pay for it: pipeline/buffers.hpp.
#pragma once
// First: a compiler prints the way that a header came above each of its sentences.
#include <hocket/pipeline/schedule.hpp>

#include <hocket/pipeline/costs.hpp>

#include <hocket/core/message.hpp>
#include <hocket/pipeline/action.hpp>
#include <hocket/pipeline/any_schedule.hpp>
#include <hocket/pipeline/bound.hpp>
#include <hocket/pipeline/check.hpp>
#include <hocket/pipeline/choose_groups.hpp>
#include <hocket/pipeline/communication.hpp>
#include <hocket/pipeline/critical_path.hpp>
#include <hocket/pipeline/facts.hpp>
#include <hocket/pipeline/lower.hpp>
#include <hocket/pipeline/passes.hpp>
#include <hocket/pipeline/placement.hpp>
#include <hocket/pipeline/rank_view.hpp>
#include <hocket/pipeline/run.hpp>
#include <hocket/pipeline/run_memory.hpp>
#include <hocket/pipeline/schedules/dual_pipe.hpp>
#include <hocket/pipeline/schedules/gpipe.hpp>
#include <hocket/pipeline/schedules/groups.hpp>
#include <hocket/pipeline/schedules/interleaved.hpp>
#include <hocket/pipeline/schedules/one_f_one_b.hpp>
#include <hocket/pipeline/schedules/seq_1f1b.hpp>
#include <hocket/pipeline/schedules/v_memory.hpp>
#include <hocket/pipeline/schedules/zbv.hpp>
#include <hocket/pipeline/schedules/zero_bubble.hpp>
#include <hocket/pipeline/shape.hpp>
#include <hocket/pipeline/simulate.hpp>
#include <hocket/pipeline/table.hpp>
#include <hocket/pipeline/transfers.hpp>
#include <hocket/pipeline/workspace.hpp>
