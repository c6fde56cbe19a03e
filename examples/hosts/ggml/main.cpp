// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A ggml graph on several streams of hocket's host backend, beside ggml's own thread pool: equal to the last bit, with
// each tensor in memory of its own and after ggml's allocator has reused memory.
#include <hocket/core/message.hpp>
#include <hocket/graph.hpp>
#include <hocket/launch.hpp>
#include <hocket/launch/backends/host.hpp>
#include <hocket/launch/bridges/graph.hpp>
#include <hocket/testing/memory_check.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "decoder.hpp"
#include "effects.hpp"
#include "ggml_access.hpp"

namespace {

using example::decoder;
using example::owned;
using hocket::node_id;
using hocket::stream_id;

constexpr int runs = 30;

double microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

owned<ggml_threadpool, ggml_threadpool_free> thread_pool(int threads) {
  ggml_threadpool_params parameters = ggml_threadpool_params_default(threads);
  return owned<ggml_threadpool, ggml_threadpool_free>(ggml_threadpool_new(&parameters));
}

// One op of a graph as a graph of its own, which is what ggml can run. It has no worker threads.
class single_op {
 public:
  single_op(ggml_cgraph& graph, int node, ggml_threadpool* pool)
      : view_(ggml_graph_view(&graph, node, node + 1)),
        plan_(ggml_graph_plan(&view_, 1, pool)),
        work_(plan_.work_size) {
    plan_.work_data = work_.data();
  }
  [[nodiscard]] int run() {
    if (ggml_op_is_empty(view_.nodes[0]->op)) return GGML_STATUS_SUCCESS;
    return ggml_graph_compute(&view_, &plan_);
  }

 private:
  ggml_cgraph view_;
  ggml_cplan plan_;
  std::vector<std::uint8_t> work_;
};

struct measured {
  std::vector<char> result;
  std::vector<double> times{};  // microseconds
};

double least(const std::vector<double>& times) { return *std::min_element(times.begin(), times.end()); }
double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

measured run_ggml(decoder& model, int threads) {
  const auto pool = thread_pool(threads);
  ggml_cplan plan = ggml_graph_plan(&model.graph(), threads, pool.get());
  std::vector<std::uint8_t> work(plan.work_size);
  plan.work_data = work.data();
  measured m;
  for (int i = 0; i < runs; ++i) {
    model.reset();
    const auto start = std::chrono::steady_clock::now();
    GGML_ASSERT(ggml_graph_compute(&model.graph(), &plan) == GGML_STATUS_SUCCESS);
    m.times.push_back(microseconds_since(start));
  }
  m.result = model.result();
  return m;
}

// All runs count as wrong.
int refuse(const hocket::error& why) {
  std::printf("  %s\n", message(why).c_str());
  return runs;
}

// Returns how many of the runs differ from what ggml computes.
int run_hocket(decoder& model, stream_id streams, const measured& theirs, const measured& two_threads) {
  using namespace hocket;
  ggml_cgraph& graph = model.graph();
  const auto start = std::chrono::steady_clock::now();
  const auto deps = graph::dependencies(graph);
  if (!deps) return refuse(deps.error());
  const auto stream_of = graph::assign_streams(deps->graph(), streams).value();
  const auto plan = graph::stream_plan::make(deps->graph(), stream_of).value();
  const auto list = launch::reuse_events(launch::from_graph(plan).value());
  const double planning = microseconds_since(start);
  const auto proved = testing::check_against_memory(graph::clock_of(plan), graph);
  if (!proved) return refuse(proved.error());

  std::vector<owned<ggml_threadpool, ggml_threadpool_free>> pools;
  for (std::size_t s = 0; s < list.stream_count(); ++s) pools.push_back(thread_pool(1));
  std::vector<single_op> ops;
  ops.reserve(stream_of.size());
  for (std::size_t n = 0; n < stream_of.size(); ++n)
    ops.emplace_back(graph, static_cast<int>(n), pools[stream_of[n]].get());

  auto device = launch::host_backend::start(list.stream_count()).value();
  std::vector<double> times;
  int differing = 0;
  for (int i = 0; i < runs; ++i) {
    model.reset();
    const auto begin = std::chrono::steady_clock::now();
    const launch::host_report report = device.run(list, [&ops](node_id op, stream_id) { return ops[op].run(); });
    times.push_back(microseconds_since(begin));
    differing += !report || model.result() != theirs.result ? 1 : 0;
  }
  std::printf(
      "  %zu streams: %zu of %zu dependencies kept, %zu waits, planned in %.0f us; step %.0f us (median %.0f); %d of "
      "%d "
      "runs differ\n",
      list.stream_count(), deps->edge_count(), deps->rule_edges(), plan.waits().size(), planning, least(times),
      median(times), differing, runs);
  if (streams == 2)
    std::printf("  two threads of ggml / two streams: %.2f (of medians %.2f)\n",
                least(two_threads.times) / least(times), median(two_threads.times) / median(times));
  return differing;
}

}  // namespace

int main() {
  ggml_cpu_init();
  int differing = example::effects_check::run();
  for (const auto where : {example::placement::separate, example::placement::reused}) {
    decoder model(where);
    const measured alone = run_ggml(model, 1), together = run_ggml(model, 2);
    double load = 0;
    getloadavg(&load, 1);
    std::printf(
        "%s memory, %d nodes: ggml with one thread %.0f us (median %.0f), with two %.0f us (median %.0f); load %.1f\n",
        where == example::placement::reused ? "reused" : "separate", model.graph().n_nodes, least(alone.times),
        median(alone.times), least(together.times), median(together.times), load);
    differing += alone.result != together.result ? 1 : 0;
    for (const stream_id streams : {1, 2, 4, 8}) differing += run_hocket(model, streams, alone, together);
  }
  return differing == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
