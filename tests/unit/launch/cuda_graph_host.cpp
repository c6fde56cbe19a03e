// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The CUDA graph adapter of examples/hosts on the fake runtime: what only a fake can be made to do.
#include <hocket/core/message.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <string>
#include <utility>
#include <vector>

#include "../../../examples/hosts/cuda_graph/cuda_graph_access.hpp"
#include "catch.hpp"
#include "fake_device.hpp"

namespace cuda_graph_test {
namespace {

using hocket::node_id;
using edges = std::vector<hocket::graph::edge>;

/// A graph of host functions that do nothing; nodes are named by the order in which they were added.
struct host_graph {
  cudaGraph_t graph = nullptr;
  std::vector<cudaGraphNode_t> nodes{};

  explicit host_graph(std::size_t count) : nodes(count) {
    REQUIRE(cudaGraphCreate(&graph, 0) == cudaSuccess);
    const cudaHostNodeParams nothing{[](void*) {}, nullptr};
    for (cudaGraphNode_t& n : nodes) REQUIRE(cudaGraphAddHostNode(&n, graph, nullptr, 0, &nothing) == cudaSuccess);
  }
  host_graph(const host_graph&) = delete;
  ~host_graph() { static_cast<void>(cudaGraphDestroy(graph)); }
  void add(node_id from, node_id to, unsigned char type = cudaGraphDependencyTypeDefault) const {
    const cudaGraphEdgeData data{type, 0, type, {}};
    REQUIRE(cudaGraphAddDependencies(graph, &nodes[from], &nodes[to], &data, 1) == cudaSuccess);
  }
};

}  // namespace

TEST_CASE("a CUDA graph is numbered so that its edges point forward", "[launch][cuda_graph]") {
  fake::reset();
  const host_graph g(4);
  g.add(3, 1);
  g.add(1, 0);
  g.add(3, 0);
  const auto c = cuda_graph::read(g.graph).value();
  CHECK(c.nodes == std::vector<cudaGraphNode_t>{g.nodes[2], g.nodes[3], g.nodes[1], g.nodes[0]});
  CHECK(c.edges == edges{{1, 2}, {1, 3}, {2, 3}});
  CHECK(cuda_graph::prune(c).value() == 1);
  CHECK(cuda_graph::read(g.graph).value().edges == edges{{1, 2}, {2, 3}});
}

TEST_CASE("programmatic edges imply nothing, are not removed, and forbid a plan", "[launch][cuda_graph]") {
  fake::reset();
  const host_graph g(3);
  g.add(0, 1, cudaGraphDependencyTypeProgrammatic);  // 1 begins before 0 has ended …
  g.add(1, 2);
  g.add(0, 2);  // … so this edge is needed
  const auto c = cuda_graph::read(g.graph).value();
  CHECK(c.early_edges == 1);
  CHECK(cuda_graph::prune(c).value() == 0);
  const auto after = cuda_graph::read(g.graph).value();
  CHECK(after.edges == edges{{0, 2}, {1, 2}});
  CHECK(after.early_edges == 1);
  const auto plan = cuda_graph::plan(c, 2);
  REQUIRE_FALSE(plan);
  CHECK(message(plan.error()).find("programmatic edges") != std::string::npos);
}

TEST_CASE("a cycle is refused", "[launch][cuda_graph]") {
  fake::reset();
  const host_graph g(3);
  g.add(1, 2);
  g.add(2, 1);
  const auto c = cuda_graph::read(g.graph);
  REQUIRE_FALSE(c);
  CHECK(c.error().code == hocket::errc::cycle);
}

TEST_CASE("a call that fails leaves a CUDA graph as it was", "[launch][cuda_graph]") {
  fake::reset();
  const host_graph g(6);
  for (node_id b = 1; b < 6; ++b)
    for (node_id a = 0; a < b; ++a)
      if ((a + b) % 2 == 1) g.add(a, b);
  const auto before = cuda_graph::read(g.graph).value();
  const edges other{{0, 2}, {0, 3}, {2, 4}};
  for (const unsigned call : {0u, 1u, 2u, 3u}) {
    fake::fail_next(call);
    CHECK(cuda_graph::read(g.graph).error().code == hocket::errc::backend_failed);
  }
  // The first call of a change adds, the second removes.
  for (const unsigned failing : {0u, 1u}) {
    fake::reset();
    const host_graph h(6);
    for (const hocket::graph::edge& e : before.edges) h.add(e.source, e.target);
    const auto c = cuda_graph::read(h.graph).value();
    REQUIRE(c.edges == before.edges);
    fake::fail_next(failing);
    const auto changed = cuda_graph::set_edges(c, other);
    REQUIRE_FALSE(changed);
    CHECK(changed.error().code == hocket::errc::backend_failed);
    CHECK(cuda_graph::read(h.graph).value().edges == before.edges);
  }
}

TEST_CASE("random CUDA graphs: pruned to the reduction by its definition, planned on few streams",
          "[launch][cuda_graph]") {
  hocket::testing::random_source random(7);
  for (int round = 0; round < 60; ++round) {
    fake::reset();
    const std::size_t count = 1 + random.below(14);
    const host_graph g(count);
    std::vector<node_id> names(count);  // the order of adding says nothing
    for (node_id n = 0; n < count; ++n) names[n] = n;
    for (std::size_t n = count; n > 1; --n) std::swap(names[n - 1], names[random.below(n)]);
    for (node_id b = 1; b < count; ++b)
      for (node_id a = 0; a < b; ++a)
        if (random.below(3) == 0) g.add(names[a], names[b]);
    const auto c = cuda_graph::read(g.graph).value();
    const hocket::testing::graph_oracle oracle(count, c.edges);
    for (const hocket::graph::edge& e : c.edges) REQUIRE(e.source < e.target);
    REQUIRE(cuda_graph::prune(c).value() == c.edges.size() - oracle.reduction().size());
    const auto pruned = cuda_graph::read(g.graph).value();
    REQUIRE(hocket::testing::graph_oracle(count, pruned.edges).reduction() == pruned.edges);
    for (const hocket::stream_id streams : {1u, 2u, 3u}) {
      const auto planned = cuda_graph::edges_of(cuda_graph::plan(pruned, streams).value());
      const hocket::testing::graph_oracle runs(count, planned);
      bool kept = !runs.has_cycle();
      for (node_id a = 0; a < count; ++a)
        for (node_id b = 0; b < count; ++b) kept = kept && (!oracle.reaches(a, b) || runs.reaches(a, b));
      REQUIRE(kept);
      REQUIRE((streams > 1 || planned.size() == count - 1));
    }
  }
}

}  // namespace cuda_graph_test
