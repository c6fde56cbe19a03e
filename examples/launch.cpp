// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program of six ops on three streams, planned, run on real threads, measured.
#include <hocket/graph.hpp>
#include <hocket/launch.hpp>
#include <hocket/launch/backends/host.hpp>
#include <hocket/launch/bridges/graph.hpp>

#include <array>
#include <cstdio>
#include <vector>

namespace {

struct op {
  hocket::stream_id stream;
  std::vector<int> reads, writes;
};
using program = std::vector<op>;

// Two layers' gradients on stream 0, their all-reduces on stream 1, a copy on stream 2, the update on stream 0.
const program step = {{0, {0}, {1}}, {1, {1}, {2}}, {0, {1}, {3}}, {2, {3}, {4}}, {1, {3}, {5}}, {0, {2, 4, 5}, {0}}};

}  // namespace

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program& p) { return p.size(); }
  static hocket::stream_id stream(const program& p, node n) { return p[n].stream; }
  static void for_each_read(const program& p, node n, auto&& f) {
    for (const int v : p[n].reads) f(v);
  }
  static void for_each_write(const program& p, node n, auto&& f) {
    for (const int v : p[n].writes) f(v);
  }
};

int main() {
  using namespace hocket;
  const auto deps = graph::dependencies(step).value();
  const auto plan = graph::stream_plan::make(deps.graph(), step).value();
  const auto list = launch::reuse_events(launch::from_graph(plan).value());

  auto device = launch::host_backend::start(list.stream_count()).value();
  launch::timeline_trace trace(list);
  std::array<long, 6> memory{1, 0, 0, 0, 0, 0};
  const auto run_op = [&](node_id n, stream_id) {
    long sum = n;
    for (const int v : step[n].reads) sum += memory[static_cast<std::size_t>(v)];
    for (const int v : step[n].writes) memory[static_cast<std::size_t>(v)] = sum;
  };
  const launch::host_report report = device.run(list, run_op, trace);
  const timeline measured = trace.timeline();

  std::printf("%zu ops, %zu waits for %zu cross-stream edges, %u events: %s\n", plan.node_count(), plan.waits().size(),
              plan.cross_stream_edges(), list.event_count(), to_string(report.status).data());
  for (const auto& span : measured.spans())
    std::printf("op %u  stream %u  %6lld ns to %6lld ns\n", span.id, span.lane,
                static_cast<long long>(span.start - measured.begin()),
                static_cast<long long>(span.finish - measured.begin()));

  // Without the plan's order the update would have summed something else.
  bool right = report && measured.spans().size() == step.size() && memory[0] == 20;
  std::vector<timeline::span> at(step.size());
  for (const auto& span : measured.spans()) at[span.id] = span;
  for (node_id a = 0; a < step.size(); ++a)
    for (const node_id b : deps.downstream(a)) right = right && at[b].start >= at[a].finish;
  std::printf("%s\n", right ? "every dependency was kept" : "WRONG");
  return right ? 0 : 1;
}
