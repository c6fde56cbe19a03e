// SPDX-License-Identifier: Apache-2.0
// The same cases under Google Benchmark, for those who compare runs with its tools.
#include <benchmark/benchmark.h>
#include <hocket/curve.hpp>
#include <hocket/graph.hpp>
#include <hocket/pipeline.hpp>
#include <hocket/testing/curve_benchmark.hpp>
#include <hocket/testing/graph_benchmark.hpp>
#include <hocket/testing/schedule_benchmark.hpp>

#include <cstddef>
#include <cstdint>
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
BENCHMARK_TEMPLATE(index_and_map, hocket::graph::auto_index)->Name("graph/google/index_and_map_100k");

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

}  // namespace

BENCHMARK_MAIN();
