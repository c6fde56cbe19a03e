// SPDX-License-Identifier: Apache-2.0
// The same cases under Google Benchmark, for those who compare runs with its tools.
#include <benchmark/benchmark.h>
#include <hocket/graph.hpp>
#include <hocket/testing/graph_benchmark.hpp>

#include <cstddef>

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

}  // namespace

BENCHMARK_MAIN();
