// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Choices: which layers on which stage, what is computed again, and in which order. Left out, to be included by name:
// which strategy on which devices (planner/strategy/solve.hpp), for it needs Boost.Hana and every formula of cost.
#pragma once
#include <hocket/core/message.hpp>
#include <hocket/planner/replay_graph.hpp>
#include <hocket/planner/schedule/problem.hpp>
#include <hocket/planner/schedule/solve.hpp>
#include <hocket/planner/search_watch.hpp>
#include <hocket/planner/split/in_flight.hpp>
#include <hocket/planner/split/memory_price.hpp>
#include <hocket/planner/split/problem.hpp>
#include <hocket/planner/split/run.hpp>
#include <hocket/planner/split/solve.hpp>
#include <hocket/planner/split/solve_schedule.hpp>
