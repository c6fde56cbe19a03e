// SPDX-License-Identifier: Apache-2.0
// What most users need of the parts that ask for the standard library alone. Not in it: cost, planner, interop,
// testing, and of launch the host runtime, the transports and the bridges to pipeline, which have headers of their own.
#pragma once
#include <hocket/core.hpp>
#include <hocket/curve.hpp>
#include <hocket/graph.hpp>
#include <hocket/launch.hpp>
#include <hocket/launch/bridges/graph.hpp>
#include <hocket/launch/bridges/tiling.hpp>
#include <hocket/pipeline.hpp>
#include <hocket/text.hpp>
#include <hocket/tiling.hpp>
#include <hocket/timeline.hpp>
