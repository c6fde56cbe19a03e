// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bridge from a graph is a header of its own, since launch knows no graph.
// expect: hocket: from_graph takes a graph::stream_plan or steady_stream_plan, not a result of one, and is in a header of
// its own: #include <hocket/launch/bridges/graph.hpp>
#include <hocket/graph.hpp>
#include <hocket/launch.hpp>
#ifdef CORRECTED
#include <hocket/launch/bridges/graph.hpp>
#endif

bool f(const hocket::graph::stream_plan& plan) { return hocket::launch::from_graph(plan).has_value(); }
