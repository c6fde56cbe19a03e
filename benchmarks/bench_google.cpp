// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same cases under Google Benchmark, for those who compare runs with its tools.
#include <benchmark/benchmark.h>
#include <hocket/curve.hpp>
#include <hocket/graph.hpp>
#include <hocket/launch.hpp>
#include <hocket/launch/transports/in_process.hpp>
#include <hocket/pipeline.hpp>
#include <hocket/testing/curve_benchmark.hpp>
#include <hocket/testing/graph_benchmark.hpp>
#include <hocket/testing/launch_benchmark.hpp>
#include <hocket/testing/schedule_benchmark.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "../tests/graph_programs.hpp"

namespace {

using namespace graph_programs;
using namespace hocket::testing;

const edge_rows& rows() {
  static const edge_rows r = rule_rows(gpt_program({96, 6, 2}, 100'000));
  return r;
}

void topological_sort(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(kahn(rows()));
}
BENCHMARK(topological_sort)->Name("graph/google/kahn_100k");

template <class Index>
void index_and_map(benchmark::State& state) {
  for (auto _ : state) {
    pruned_map<Index> map;
    map.build(rows());
    benchmark::DoNotOptimize(map.edge_count());
  }
}
BENCHMARK_TEMPLATE(index_and_map, hocket::graph::persistent_index)->Name("graph/google/index_and_map_100k");

void whole_program(benchmark::State& state) {
  const flat_program program = gpt_program({96, 6, 2}, 100'000);
  for (auto _ : state) benchmark::DoNotOptimize(program_to_dag(program));
}
BENCHMARK(whole_program)->Name("graph/google/program_to_dag_100k");

/// Rank 5 of interleaved 1F1B: 16,424 actions, each computed when asked for.
const hocket::pipeline::interleaved& schedule() {
  static const auto plan =
      hocket::pipeline::interleaved::make({.ranks = 8, .chunks = 4, .micro_batches = 2'053}).value();
  return plan;
}

void schedule_floor(benchmark::State& state) {
  const auto list = written_list(schedule(), 5);
  for (auto _ : state) benchmark::DoNotOptimize(read_list(list));
}
BENCHMARK(schedule_floor)->Name("pipeline/google/read_list");

void schedule_walk(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(walk_list(schedule(), 5));
}
BENCHMARK(schedule_walk)->Name("pipeline/google/walk_list");

void simulation_floor(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(busiest_rank(schedule(), hocket::pipeline::costs{}));
}
BENCHMARK(simulation_floor)->Name("pipeline/google/busiest_rank");

void simulation(benchmark::State& state) {
  hocket::pipeline::workspace memory;
  for (auto _ : state) benchmark::DoNotOptimize(simulate_run(schedule(), hocket::pipeline::costs{}, memory));
}
BENCHMARK(simulation)->Name("pipeline/google/simulate_run");

constexpr std::uint32_t most_rows = 8192;

template <class F>
void time_of(benchmark::State& state, const F& curve) {
  const std::vector<double> sizes = random_sizes(4096, most_rows);
  for (auto _ : state) benchmark::DoNotOptimize(evaluate_curve(curve, sizes));
}
template <class F>
void size_of(benchmark::State& state, const F& curve) {
  const std::vector<double> sizes = random_sizes(4096, most_rows);
  for (auto _ : state) benchmark::DoNotOptimize(invert_curve(curve, sizes, most_rows));
}
constexpr hocket::curve::affine line{.fixed = 6, .per_size = 0.25, .least = 128};
constexpr auto product =
    hocket::curve::matmul_roofline::of(4096, 4096, 2, {.tflops = 300, .gb_per_s = 3000, .launch_us = 6, .cores = 20});
BENCHMARK_CAPTURE(time_of, line, line)->Name("curve/google/evaluate_affine");
BENCHMARK_CAPTURE(time_of, product, product)->Name("curve/google/evaluate_matmul");
BENCHMARK_CAPTURE(size_of, line, line)->Name("curve/google/invert_affine");
BENCHMARK_CAPTURE(size_of, product, product)->Name("curve/google/invert_matmul");

// ---- launch and transport

const hocket::launch::command_list& ring() {
  static const auto list = hocket::launch::reuse_events(ring_list(4, 1000));
  return list;
}
template <class Issue>
void issuing(benchmark::State& state, Issue issue) {
  hocket::launch::inline_backend device(ring().event_count());
  const std::vector<hocket::stream_id> streams{0, 1, 2, 3};
  std::vector<hocket::event_id> events(ring().event_count());
  for (std::size_t i = 0; i < events.size(); ++i) events[i] = static_cast<hocket::event_id>(i);
  std::uint64_t done = 0;
  const auto launch = [&](hocket::node_id op, hocket::stream_id) {
    benchmark::DoNotOptimize(done += op);
    return hocket::launch::local_status::ok;
  };
  for (auto _ : state)
    benchmark::DoNotOptimize(issue(device, ring(), std::span<const hocket::stream_id>(streams),
                                   std::span<const hocket::event_id>(events), launch));
}
void by_hand(benchmark::State& state) {
  issuing(state, [](auto&&... x) { return issue_by_hand(x...); });
}
BENCHMARK(by_hand)->Name("launch/google/issue_by_hand");
void by_drive(benchmark::State& state) {
  issuing(state, [](auto&&... x) { return issue_by_drive(x...); });
}
BENCHMARK(by_drive)->Name("launch/google/issue_by_drive");

void copying(benchmark::State& state) {
  std::vector<unsigned char> from(65536), to;
  for (auto _ : state) benchmark::DoNotOptimize(copy_bytes(to, from, 100));
}
BENCHMARK(copying)->Name("transport/google/copy_100x64k");
void bouncing(benchmark::State& state) {
  const auto group = hocket::launch::in_process_group::start(2).value();
  std::vector<unsigned char> here(65536), there(65536);
  for (auto _ : state) {
    std::thread other([&] {
      auto t = group.rank(1);
      static_cast<void>(bounce(t, 0, false, there, 100));
    });
    auto t = group.rank(0);
    if (bounce(t, 1, true, here, 100) != 100) state.SkipWithError("a transfer failed");
    other.join();
  }
}
BENCHMARK(bouncing)->Name("transport/google/bounce_100x64k")->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
