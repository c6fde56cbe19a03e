// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket's view of a CUDA graph, through the runtime's C functions alone. The file to copy into your project.
#pragma once
#include <cuda_runtime_api.h>
#include <hocket/graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <queue>
#include <span>
#include <utility>
#include <vector>

static_assert(CUDART_VERSION >= 13000, "cudaGraphGetEdges and its like take edge data since CUDA 13.0");

namespace cuda_graph {

/// What a cudaGraph_t says of itself. Nodes are numbered so that each comes after those that it waits for, and else in
/// the order in which CUDA lists them.
struct contents {
  cudaGraph_t graph = nullptr;  // borrowed
  std::vector<cudaGraphNode_t> nodes{};
  std::vector<hocket::graph::edge> edges{};            // by number: b begins when a has ended
  std::vector<std::vector<hocket::node_id>> inputs{};  // the same edges, by target
  std::size_t early_edges = 0;  // programmatic: b may begin before a has ended. They imply nothing, and stay
};

}  // namespace cuda_graph

template <>
struct hocket::graph_access<cuda_graph::contents> {
  using node = hocket::node_id;
  static std::size_t node_count(const cuda_graph::contents& c) { return c.nodes.size(); }
  static void for_each_predecessor(const cuda_graph::contents& c, node n, auto&& f) {
    for (const node before : c.inputs[n]) f(before);
  }
};

namespace cuda_graph {

inline hocket::error failed(cudaError_t status) {
  return hocket::error{hocket::errc::backend_failed, static_cast<std::int64_t>(status)};
}

/// The places of the nodes in an order in which each comes after those that it waits for; fewer if there is a cycle.
inline std::vector<hocket::node_id> sorted(std::size_t nodes, const std::vector<hocket::graph::edge>& edges) {
  std::vector<std::vector<hocket::node_id>> outputs(nodes);
  std::vector<std::size_t> missing(nodes);
  for (const hocket::graph::edge& e : edges) {
    outputs[e.source].push_back(e.target);
    ++missing[e.target];
  }
  std::priority_queue<hocket::node_id, std::vector<hocket::node_id>, std::greater<>> ready;  // the first listed on top
  for (hocket::node_id n = 0; n < nodes; ++n)
    if (missing[n] == 0) ready.push(n);
  std::vector<hocket::node_id> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const hocket::node_id after : outputs[order.back()])
      if (--missing[after] == 0) ready.push(after);
  }
  return order;
}

/// Reads a graph. errc::backend_failed with CUDA's code; errc::cycle with the number of nodes that are on none.
inline hocket::result<contents> read(cudaGraph_t graph) {
  std::size_t node_count = 0;
  std::size_t edge_count = 0;
  if (const auto s = cudaGraphGetNodes(graph, nullptr, &node_count); s != cudaSuccess) return failed(s);
  if (const auto s = cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edge_count); s != cudaSuccess)
    return failed(s);
  std::vector<cudaGraphNode_t> listed(node_count), from(edge_count), to(edge_count);
  std::vector<cudaGraphEdgeData> data(edge_count);
  if (const auto s = cudaGraphGetNodes(graph, listed.data(), &node_count); s != cudaSuccess) return failed(s);
  if (const auto s = cudaGraphGetEdges(graph, from.data(), to.data(), data.data(), &edge_count); s != cudaSuccess)
    return failed(s);

  std::vector<std::pair<cudaGraphNode_t, hocket::node_id>> places;
  for (const cudaGraphNode_t n : listed) places.emplace_back(n, static_cast<hocket::node_id>(places.size()));
  std::sort(places.begin(), places.end());
  const auto place_of = [&](cudaGraphNode_t n) {
    return std::lower_bound(places.begin(), places.end(), std::pair(n, hocket::node_id{0}))->second;
  };
  std::vector<hocket::graph::edge> all;
  for (std::size_t i = 0; i < edge_count; ++i) all.push_back({place_of(from[i]), place_of(to[i])});

  contents c{.graph = graph};
  const std::vector<hocket::node_id> order = sorted(node_count, all);
  if (order.size() != node_count) return hocket::error{hocket::errc::cycle, static_cast<std::int64_t>(order.size())};
  std::vector<hocket::node_id> number(node_count);
  for (const hocket::node_id place : order) {
    number[place] = static_cast<hocket::node_id>(c.nodes.size());
    c.nodes.push_back(listed[place]);
  }
  c.inputs.resize(node_count);
  for (std::size_t i = 0; i < edge_count; ++i) {
    if (data[i].type != 0 || data[i].from_port != 0) {
      ++c.early_edges;
      continue;
    }
    c.edges.push_back({number[all[i].source], number[all[i].target]});
    c.inputs[c.edges.back().target].push_back(c.edges.back().source);
  }
  std::sort(c.edges.begin(), c.edges.end());
  return c;
}

/// Gives the graph these edges in place of those that it has, programmatic ones left out. `wanted` is sorted.
/// Adds first: if a call fails, what was added goes again, and the graph is as it was.
/// @return how many edges were removed; errc::backend_failed with CUDA's code: graphs that allocate memory take no
/// edits
inline hocket::result<std::size_t> set_edges(const contents& c, const std::vector<hocket::graph::edge>& wanted) {
  const auto change = [&](const auto& of, const auto& without, auto call) {
    std::vector<hocket::graph::edge> these;
    std::set_difference(of.begin(), of.end(), without.begin(), without.end(), std::back_inserter(these));
    std::vector<cudaGraphNode_t> from, to;
    for (const hocket::graph::edge& e : these) {
      from.push_back(c.nodes[e.source]);
      to.push_back(c.nodes[e.target]);
    }
    const cudaError_t status =
        these.empty() ? cudaSuccess : call(c.graph, from.data(), to.data(), nullptr, these.size());
    return std::pair(status, these.size());
  };
  const auto added = change(wanted, c.edges, cudaGraphAddDependencies);
  if (added.first != cudaSuccess) return failed(added.first);
  const auto removed = change(c.edges, wanted, cudaGraphRemoveDependencies);
  if (removed.first == cudaSuccess) return removed.second;
  static_cast<void>(change(wanted, c.edges, cudaGraphRemoveDependencies));
  return failed(removed.first);
}

/// Leaves only the edges that no others imply. The order of the nodes stays what it was.
inline hocket::result<std::size_t> prune(const contents& c) {
  const auto order = hocket::graph::dag<>::make(c);
  if (!order) return order.error();
  return set_edges(c, order->edges());
}

/// The edges of a plan: what follows on a stream, and the waits between streams. Sorted.
inline std::vector<hocket::graph::edge> edges_of(const hocket::graph::stream_plan& plan) {
  std::vector<hocket::graph::edge> edges;
  std::vector<hocket::node_id> last(plan.stream_count(), hocket::no_id);
  for (hocket::node_id n = 0; n < plan.node_count(); ++n) {
    hocket::node_id& before = last[plan.stream_of(n)];
    if (before != hocket::no_id) edges.push_back({before, n});
    before = n;
    for (const hocket::graph::stream_wait& w : plan.waits_of(n)) edges.push_back({w.recorder, n});
  }
  std::sort(edges.begin(), edges.end());
  return edges;
}

/// Plans the graph for at most so many streams: no more nodes than that run at once.
/// @return the streams and waits, for `launch::from_graph`, or for `set_edges(c, edges_of(plan))`.
///         errc::invalid_argument for a graph with programmatic edges, which are no waits
inline hocket::result<hocket::graph::stream_plan> plan(const contents& c, hocket::stream_id streams) {
  if (c.early_edges != 0)
    return hocket::error{hocket::errc::invalid_argument, static_cast<std::int64_t>(c.early_edges)}.with(
        "programmatic edges of a graph to plan");
  const auto order = hocket::graph::dag<>::make(c);
  if (!order) return order.error();
  const auto where = hocket::graph::assign_streams(*order, streams);
  if (!where) return where.error();
  return hocket::graph::stream_plan::make(*order, std::span<const hocket::stream_id>(*where));
}

}  // namespace cuda_graph
