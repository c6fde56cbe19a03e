// SPDX-License-Identifier: Apache-2.0
// A host measures on its own type, without any benchmark framework: how long its program takes to become a dag, beside
// one topological sort over the same edges.
#include <hocket/testing/graph_benchmark.hpp>

#include <chrono>
#include <cstdio>

#include "graph_host.hpp"

template <class F>
double milliseconds(std::size_t& result, F&& f) {
  const auto start = std::chrono::steady_clock::now();
  result = f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

int main() {
  my::program program;
  for (int i = 0; i < 5000; ++i) program.ops.push_back({{i / 2, i}, {i + 1}});
  const auto rows = hocket::testing::rule_rows(program);
  std::size_t ordered = 0, kept = 0;
  const double floor = milliseconds(ordered, [&] { return hocket::testing::kahn(rows); });
  const double ours = milliseconds(kept, [&] { return hocket::testing::program_to_dag(program); });
  std::printf("%zu ops, %zu edges, %zu kept: %.3f ms, topological sort alone %.3f ms\n", rows.size(),
              rows.sources.size(), kept, ours, floor);
  return ordered == 5000 && kept == 4999 ? 0 : 1;
}
