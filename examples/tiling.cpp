// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How should a matrix product [4096, 3072] x [3072, 8192] with an all-reduce behind it be cut?
#include <hocket/core.hpp>
#include <hocket/tiling.hpp>

#include <cstdio>

int main() {
  using namespace hocket;
  using fit = curve::piecewise_polynomial<2, 3>;  // us over MiB, as measured: one piece below 8 MiB, one from there on
  const auto reduce = fit::make({{8, {14.769, 27.0622573, -0.9698202}}, {fit::unbounded, {61.508333, 13.58491263}}});
  const auto problem = tiling::problem({.rows = 4096, .align = 128, .max_tiles = 16}, {.k = 3072, .n = 8192},
                                       tiling::compute(curve::affine{.per_size = 803.137 / 4096, .least = 128}),
                                       tiling::comm(curve::mib_of_rows(reduce.value(), 8192 * 2), 1.15));
  const auto rule = tiling::solve(problem, {.policy = tiling::policy::documented}), best = tiling::solve(problem);
  if (!best) {
    std::puts(message(best.error()).c_str());
    return 1;
  }
  for (const auto& plan : {*rule, *best}) {
    for (const auto rows : plan.tiles()) std::printf("%lld ", static_cast<long long>(rows));
    std::printf("-> %.0f us, uncut %.0f us, at most %.0f %% above the optimum\n", microseconds(plan.predicted).count(),
                microseconds(plan.serial).count(), 100 * plan.gap());
  }
  const auto fused = rule->as_two_runs();  // {tileM, tileNum, tailM, tailNum} of the fused operator
  return fused && *fused == tiling::two_runs{512, 1, 896, 4} && best->predicted < rule->predicted ? 0 : 1;
}
