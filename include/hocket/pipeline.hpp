// SPDX-License-Identifier: Apache-2.0
// Pipeline schedules: in what order each rank runs its pieces. Start with pipeline/interleaved.hpp and simulate.hpp.
#pragma once
#include <hocket/core/message.hpp>
#include <hocket/pipeline/action.hpp>
#include <hocket/pipeline/alternation.hpp>
#include <hocket/pipeline/bound.hpp>
#include <hocket/pipeline/check.hpp>
#include <hocket/pipeline/costs.hpp>
#include <hocket/pipeline/dual_pipe.hpp>
#include <hocket/pipeline/gpipe.hpp>
#include <hocket/pipeline/groups.hpp>
#include <hocket/pipeline/interleaved.hpp>
#include <hocket/pipeline/interleaved_order.hpp>
#include <hocket/pipeline/one_f_one_b.hpp>
#include <hocket/pipeline/phases.hpp>
#include <hocket/pipeline/placement.hpp>
#include <hocket/pipeline/rank_view.hpp>
#include <hocket/pipeline/run.hpp>
#include <hocket/pipeline/schedule.hpp>
#include <hocket/pipeline/seq_1f1b.hpp>
#include <hocket/pipeline/shape.hpp>
#include <hocket/pipeline/simulate.hpp>
#include <hocket/pipeline/table.hpp>
#include <hocket/pipeline/v_memory.hpp>
#include <hocket/pipeline/workspace.hpp>
#include <hocket/pipeline/zbv.hpp>
#include <hocket/pipeline/zero_bubble.hpp>
