// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which op must run before which, and which of those edges are worth an event.
#pragma once
// First: a compiler prints the way that a header came above each of its sentences.
#include <hocket/graph/detail/required_members.hpp>

#include <hocket/core/message.hpp>
#include <hocket/graph/access.hpp>
#include <hocket/graph/adjacency.hpp>
#include <hocket/graph/assign_streams.hpp>
#include <hocket/graph/capture_plan.hpp>
#include <hocket/graph/compare.hpp>
#include <hocket/graph/dag.hpp>
#include <hocket/graph/dependencies.hpp>
#include <hocket/graph/dependency_options.hpp>
#include <hocket/graph/edge.hpp>
#include <hocket/graph/edge_kinds.hpp>
#include <hocket/graph/edge_list.hpp>
#include <hocket/graph/index.hpp>
#include <hocket/graph/issue_order.hpp>
#include <hocket/graph/issue_rules.hpp>
#include <hocket/graph/issue_values.hpp>
#include <hocket/graph/no_index.hpp>
#include <hocket/graph/op_kind.hpp>
#include <hocket/graph/persistent_index.hpp>
#include <hocket/graph/program_values.hpp>
#include <hocket/graph/reachability_rows.hpp>
#include <hocket/graph/rule.hpp>
#include <hocket/graph/steady_stream_plan.hpp>
#include <hocket/graph/storage_range.hpp>
#include <hocket/graph/stream_clock.hpp>
#include <hocket/graph/stream_plan.hpp>
#include <hocket/graph/transitive_reduction.hpp>
#include <hocket/graph/unroll.hpp>
