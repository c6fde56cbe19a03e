// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/interop/range_v3.hpp>
#include <hocket/pipeline.hpp>

#include <range/v3/view/take.hpp>

int main() {
  const auto plan = hocket::pipeline::interleaved::make({.ranks = 4, .chunks = 2, .micro_batches = 9}).value();
  int count = 0;
  for (const auto a : plan.rank(0) | ranges::views::take(5))
    count += a == plan.rank(0)[static_cast<std::size_t>(count)];
  return count == 5 ? 0 : 1;
}
