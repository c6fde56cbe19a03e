// SPDX-License-Identifier: Apache-2.0
// How to cut a fused operator so that the phases of its tiles overlap.
#pragma once
#include <hocket/core/message.hpp>
#include <hocket/curve.hpp>
#include <hocket/tiling/any_problem.hpp>
#include <hocket/tiling/automatic.hpp>
#include <hocket/tiling/documented.hpp>
#include <hocket/tiling/evaluate.hpp>
#include <hocket/tiling/exact.hpp>
#include <hocket/tiling/lot_streaming.hpp>
#include <hocket/tiling/one_plus_n.hpp>
#include <hocket/tiling/pinned.hpp>
#include <hocket/tiling/plan.hpp>
#include <hocket/tiling/problem.hpp>
#include <hocket/tiling/solve.hpp>
#include <hocket/tiling/timeline.hpp>
#include <hocket/tiling/uniform.hpp>
