// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an installed hocket::hocket must at least be able to do; returns 0 only if its answers are right.
#include <hocket/core.hpp>
#include <hocket/graph.hpp>
#include <hocket/pipeline.hpp>

#include <array>
#include <cstdio>

int main() {
  hocket::graph::dag<> g;
  const auto a = g.append({}).value();
  const auto b = g.append(std::array{a}).value();
  const auto c = g.append(std::array{a, b}).value();  // a -> c is redundant
  const bool pruned = g.reaches(a, c) && g.edge_count() == 2;

  const hocket::pipeline::shape uneven{.ranks = 4, .chunks = 2, .micro_batches = 9};
  const bool bounded = hocket::pipeline::makespan_bound(uneven, 1, 1).value() == 42;

  const hocket::result<std::uint32_t> bad = hocket::to_id(-1, "node");
  if (bad) return 1;
  std::printf("hocket %s: %s\n", HOCKET_VERSION_STRING, hocket::message(bad.error()).c_str());
  return pruned && bounded ? 0 : 1;
}
