// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA graphs with many needless edges, made by hand and by capture: read, pruned, planned for fewer streams, and run.
// The order is judged by a search of the edges as they were. Host functions are the nodes, so no kernel is compiled.
//   cuda_graph_host [times]      times: how long a launch takes before and after, on a device
#include <hocket/core/message.hpp>
#include <hocket/launch.hpp>
#include <hocket/launch/backends/cuda.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cuda_graph_access.hpp"

namespace {

using namespace hocket;

constexpr int no_device = 77;
int failures = 0;

void expect(bool good, const std::string& what) {
  if (good) return;
  ++failures;
  std::printf("FAILED: %s\n", what.c_str());
}
void cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::printf("FAILED: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

/// Nodes that write down when they run.
struct run_log {
  struct entry {
    run_log* log;
    int at;
  };
  explicit run_log(std::size_t nodes) : entries(nodes, entry{this, -1}) {}
  run_log(const run_log&) = delete;
  static void run(void* p) {
    auto* const e = static_cast<entry*>(p);
    e->at = e->log->next++;
  }
  std::vector<entry> entries;
  std::atomic<int> next{0};
};

/// A graph of host functions, the edges that it was made with, and where its nodes write.
struct example {
  std::string name;
  cudaGraph_t graph = nullptr;
  std::vector<graph::edge> edges{};  // by op
  std::unique_ptr<run_log> log{};
};

/// Each op waits for up to eight of the dozen before it.
std::vector<graph::edge> random_edges(std::size_t ops, std::uint64_t seed) {
  testing::random_source random(seed);
  std::vector<graph::edge> edges;
  for (node_id b = 1; b < ops; ++b) {
    for (node_id back = 1; back <= 12 && back <= b; ++back)
      if (random.below(3) != 0) edges.push_back({b - back, b});
  }
  return edges;
}

example by_hand(std::size_t ops) {
  example e{.name = "by hand", .edges = random_edges(ops, 1), .log = std::make_unique<run_log>(ops)};
  cuda(cudaGraphCreate(&e.graph, 0), "cudaGraphCreate");
  std::vector<cudaGraphNode_t> nodes(ops), from, to;
  for (std::size_t op = 0; op < ops; ++op) {
    const cudaHostNodeParams node{&run_log::run, &e.log->entries[op]};
    cuda(cudaGraphAddHostNode(&nodes[op], e.graph, nullptr, 0, &node), "cudaGraphAddHostNode");
  }
  for (const graph::edge& x : e.edges) {
    from.push_back(nodes[x.source]);
    to.push_back(nodes[x.target]);
  }
  cuda(cudaGraphAddDependencies(e.graph, from.data(), to.data(), nullptr, from.size()), "cudaGraphAddDependencies");
  return e;
}

/// What a framework captures that records an event after each op and waits for each input by itself.
example captured(std::size_t ops, cudaStream_t* streams, std::size_t count) {
  example e{.name = "captured", .edges = random_edges(ops, 2), .log = std::make_unique<run_log>(ops)};
  std::vector<launch::command> commands;
  std::size_t next = 0;
  for (node_id op = 0; op < ops; ++op) {
    const auto stream = static_cast<std::uint16_t>(op % count);
    for (; next < e.edges.size() && e.edges[next].target == op; ++next)
      commands.push_back(launch::wait_event(e.edges[next].source, stream));
    commands.push_back(launch::run_op(op, stream));
    commands.push_back(launch::record_event(op, stream));
  }
  const auto list = launch::fenced(launch::command_list::make(commands, count).value()).value();
  for (node_id op = 0; op + count < ops; ++op) e.edges.push_back({op, op + static_cast<node_id>(count)});
  launch::cuda_backend device;
  launch::event_pool events(device);
  if (const auto ready = events.prepare(list); !ready) expect(false, message(ready.error()));
  cuda(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  const auto done = launch::drive(
      device, list, std::span<const cudaStream_t>(streams, count), events.events(),
      [&](node_id op, cudaStream_t s) { return cudaLaunchHostFunc(s, &run_log::run, &e.log->entries[op]); });
  cuda(cudaStreamEndCapture(streams[0], &e.graph), "cudaStreamEndCapture");
  cuda(done.status, "the captured calls");
  return e;
}

/// Launches the graph as it is now and counts pairs of nodes that ran in a wrong order.
std::size_t violations(const example& e, cudaStream_t stream, int times = 20) {
  const testing::graph_oracle oracle(e.log->entries.size(), e.edges);
  cudaGraphExec_t executable = nullptr;
  cuda(cudaGraphInstantiateWithFlags(&executable, e.graph, 0), "cudaGraphInstantiateWithFlags");
  std::size_t wrong = 0;
  for (int i = 0; i < times; ++i) {
    e.log->next = 0;
    for (auto& entry : e.log->entries) entry.at = -1;
    cuda(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    for (node_id b = 0; b < oracle.node_count(); ++b)
      for (node_id a = 0; a < oracle.node_count(); ++a)
        wrong += (e.log->entries[b].at < 0 || (oracle.reaches(a, b) && e.log->entries[a].at > e.log->entries[b].at));
  }
  cuda(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
  return wrong;
}

double launch_us(cudaGraph_t graph, cudaStream_t stream) {
  cudaGraphExec_t executable = nullptr;
  cuda(cudaGraphInstantiateWithFlags(&executable, graph, 0), "cudaGraphInstantiateWithFlags");
  double best = 1e9;
  for (int i = 0; i < 100; ++i) {
    const auto start = std::chrono::steady_clock::now();
    cuda(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    best = took.count() < best ? took.count() : best;
  }
  cuda(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
  return best;
}

cuda_graph::contents read(const example& e) {
  auto c = cuda_graph::read(e.graph);
  if (!c) std::printf("FAILED: %s: %s\n", e.name.c_str(), message(c.error()).c_str());
  if (!c) std::exit(1);
  return std::move(*c);
}

/// All pairs of the graph as read against a search of the edges that CUDA lists.
std::size_t wrong_answers(const cuda_graph::contents& c) {
  const testing::graph_oracle oracle(c.nodes.size(), c.edges);
  const auto order = graph::dag<>::make(c).value();
  std::size_t wrong = order.edges() != oracle.reduction() ? 1 : 0;
  for (node_id a = 0; a < c.nodes.size(); ++a)
    for (node_id b = 0; b < c.nodes.size(); ++b) wrong += order.reaches(a, b) != oracle.reaches(a, b) ? 1u : 0u;
  return wrong;
}

void examine(const example& e, cudaStream_t stream, bool times) {
  const cuda_graph::contents before = read(e);
  const double us_before = times ? launch_us(e.graph, stream) : 0;
  expect(violations(e, stream) == 0, "the order of " + e.name + " before anything is changed");
  const std::size_t wrong = wrong_answers(before);
  const auto removed = cuda_graph::prune(before);
  expect(removed.has_value(), removed ? "" : message(removed.error()));
  const cuda_graph::contents after = read(e);
  expect(after.edges == testing::graph_oracle(before.nodes.size(), before.edges).reduction(), e.name + ", pruned");
  expect(violations(e, stream) == 0, "the order of " + e.name + ", pruned");
  std::printf("%s: %zu nodes, %zu edges, %zu kept; %zu pairs asked, %zu wrong\n", e.name.c_str(), before.nodes.size(),
              before.edges.size(), after.edges.size(), before.nodes.size() * before.nodes.size(), wrong);
  expect(wrong == 0, "answers about " + e.name);
  if (times) std::printf("  a launch: %.1f us, pruned %.1f us\n", us_before, launch_us(e.graph, stream));
  for (const stream_id streams : {1u, 2u, 4u}) {
    const cuda_graph::contents now = read(e);
    const auto plan = cuda_graph::plan(now, streams);
    expect(plan.has_value() && plan->stream_count() <= streams, "a plan of " + e.name);
    if (!plan) continue;
    const auto edges = cuda_graph::edges_of(*plan);
    expect(cuda_graph::set_edges(now, edges).has_value() && read(e).edges == edges, "the plan's edges");
    expect(violations(e, stream) == 0, "the order of " + e.name + ", planned");
    std::printf("  on %u streams: %zu edges, %zu of them between streams", streams, edges.size(), plan->waits().size());
    if (times) std::printf("; a launch: %.1f us", launch_us(e.graph, stream));
    std::printf("\n");
    expect(cuda_graph::set_edges(read(e), after.edges).has_value(), "putting the edges back");
  }
}

/// With one edge less, that edge is all that is missing.
void take_one_out(const example& e, cudaStream_t stream) {
  const cuda_graph::contents c = read(e);
  std::vector<graph::edge> fewer = c.edges;
  fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(fewer.size() / 2));
  expect(cuda_graph::set_edges(c, fewer).has_value(), "taking an edge out");
  std::printf("one kept edge taken out: %zu violations in 200 launches\n", violations(e, stream, 200));
  expect(cuda_graph::set_edges(read(e), c.edges).has_value(), "putting it back");
}

}  // namespace

int main(int argc, char** argv) {
  const bool times = argc > 1 && std::strcmp(argv[1], "times") == 0;
  if (const auto found = launch::cuda_backend::probe(); !found) {
    std::printf("skipped: %s (code %lld)\n", to_string(found.state).data(), static_cast<long long>(found.code));
    return no_device;
  }
  cudaStream_t streams[4] = {};
  for (cudaStream_t& s : streams) cuda(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "cudaStreamCreate");
  example examples[] = {by_hand(120), captured(120, streams, 4)};
  for (const example& e : examples) {
    examine(e, streams[0], times);
    take_one_out(e, streams[0]);
    cuda(cudaGraphDestroy(e.graph), "cudaGraphDestroy");
  }
  for (const cudaStream_t s : streams) cuda(cudaStreamDestroy(s), "cudaStreamDestroy");
  std::printf("%s\n", failures == 0 ? "ok" : "FAILED");
  return failures == 0 ? 0 : 1;
}
