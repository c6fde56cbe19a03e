// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>

import hocket;

std::size_t edges_of(const hocket::graph::dag<>& g);  // other.cpp, which includes the headers

int main() {
  hocket::graph::dag<> g;
  const auto a = g.append({}).value();
  const auto b = g.append(std::array{a}).value();
  const auto c = g.append(std::array{a, b}).value();  // a -> c says nothing new
  constexpr hocket::pipeline::shape uneven{.ranks = 4, .chunks = 2, .micro_batches = 9};
  const auto plan = hocket::pipeline::interleaved::make(uneven);
  const auto run = hocket::pipeline::simulate(plan.value(), hocket::pipeline::costs{.forward = 1, .backward = 1});
  const auto csv = hocket::text::parse_edges_csv("source,target\n0,1\n");
  return edges_of(g) == 2 && g.reaches(a, c) && run.value().makespan == 42 && csv ? 0 : 1;
}
