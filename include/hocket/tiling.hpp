// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How to cut a fused operator so that the phases of its tiles overlap.
#pragma once
// First: a compiler prints the way that a header came above each of its sentences.
#include <hocket/curve/cost_curve.hpp>

#include <hocket/core/message.hpp>
#include <hocket/tiling/evaluate.hpp>
#include <hocket/tiling/plan.hpp>
#include <hocket/tiling/problem.hpp>
#include <hocket/tiling/solve.hpp>
#include <hocket/tiling/timeline.hpp>
