// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A host checks and measures its own type, without any test or benchmark framework: whether its policy tells the truth,
// and how long its program takes to become a dag, beside one topological sort over the same edges.
#include <hocket/testing/access_laws.hpp>
#include <hocket/testing/graph_benchmark.hpp>

#include <chrono>
#include <cstdio>
#include <string>

#include "graph_host.hpp"

template <class F>
double milliseconds(std::size_t& result, F&& f) {
  const auto start = std::chrono::steady_clock::now();
  result = f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

my::program program_of(int ops) {
  my::program program;
  for (int i = 0; i < ops; ++i) program.ops.push_back({{i / 2, i}, {i + 1}});
  return program;
}

int main() {
  const std::string broken = hocket::testing::broken_law(program_of(100), hocket::graph_access<my::program>{});
  if (!broken.empty()) {
    std::printf("the policy: %s\n", broken.c_str());
    return 1;
  }
  const my::program program = program_of(5000);
  const auto rows = hocket::testing::rule_rows(program);
  std::size_t ordered = 0, kept = 0;
  const double floor = milliseconds(ordered, [&] { return hocket::testing::kahn(rows); });
  const double ours = milliseconds(kept, [&] { return hocket::testing::program_to_dag(program); });
  std::printf("%zu ops, %zu edges, %zu kept: %.3f ms, topological sort alone %.3f ms\n", rows.size(),
              rows.sources.size(), kept, ours, floor);
  return ordered == 5000 && kept == 4999 ? 0 : 1;
}
