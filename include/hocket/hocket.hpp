// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What most users need of the parts that ask for the standard library alone. Not in it, to be included by name: cost,
// planner, interop, testing; text (file forms); the fits of curves (curve.hpp); and of launch the host runtime, the
// transports and the bridges to tiling and pipeline.
#pragma once
#include <hocket/core.hpp>
#include <hocket/curve/any_curve.hpp>
#include <hocket/graph.hpp>
#include <hocket/launch.hpp>
#include <hocket/launch/bridges/graph.hpp>
#include <hocket/pipeline.hpp>
#include <hocket/tiling.hpp>
#include <hocket/timeline.hpp>
