// SPDX-License-Identifier: Apache-2.0
// Choices: which layers on which stage, what is computed again, in which order, on how many devices of which kind.
#pragma once
#include <hocket/core/message.hpp>
#include <hocket/planner/in_flight.hpp>
#include <hocket/planner/memory_price.hpp>
#include <hocket/planner/replay_graph.hpp>
#include <hocket/planner/schedule_search.hpp>
#include <hocket/planner/split.hpp>
#include <hocket/planner/split_problem.hpp>
#include <hocket/planner/strategy.hpp>
#include <hocket/planner/strategy_search.hpp>
