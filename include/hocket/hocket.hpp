// SPDX-License-Identifier: Apache-2.0
// Everything that needs the standard library alone; so not cost, not planner, not interop.
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
