// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A host has a cost model of its own: an all-reduce that switches its protocol with the size. The laws find the jump
// back that such switches have; the mended curve goes into a solver, and asking it is measured beside a straight line.
#include <hocket/curve.hpp>
#include <hocket/testing/curve_benchmark.hpp>
#include <hocket/testing/curve_laws.hpp>
#include <hocket/tiling.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace my {

struct protocol {
  double start_us, gb_per_s;
  [[nodiscard]] double us(double bytes) const { return start_us + bytes / (gb_per_s * 1e3); }
};
constexpr protocol low_latency{8, 6}, bulk{30, 40};
constexpr double row_bytes = 10240;

/// As the host had it: the switch comes where somebody once put it.
struct all_reduce_switched {
  [[nodiscard]] double time(double rows) const {
    const double bytes = rows * row_bytes;
    return bytes < 512 * 1024 ? low_latency.us(bytes) : bulk.us(bytes);
  }
};

/// Mended: the faster of the two at every size.
struct all_reduce {
  [[nodiscard]] double time(double rows) const {
    const double bytes = rows * row_bytes, a = low_latency.us(bytes), b = bulk.us(bytes);
    return a < b ? a : b;
  }
};

}  // namespace my

int main() {
  using namespace hocket;
  const std::string broken = testing::broken_law(my::all_reduce_switched{}, {0, 8192});
  std::printf("switched: %s\n", broken.c_str());
  const std::string mended = testing::broken_law(my::all_reduce{}, {0, 8192});
  if (!mended.empty()) {
    std::printf("mended: %s\n", mended.c_str());
    return 1;
  }

  const auto problem = tiling::problem({.rows = 8192, .align = 128, .max_tiles = 16},
                                       tiling::compute(curve::affine{.fixed = 6, .per_size = 0.3}, 1.1),
                                       tiling::comm(my::all_reduce{}, 1.1));
  const auto plan = tiling::solve(problem).value();
  std::printf("%zu tiles, %.1f %% above the bound\n", plan.tiles().size(), plan.gap() * 100);

  const std::vector<double> sizes = testing::random_sizes(1 << 20, 8192);
  const auto nanoseconds = [&](const auto& curve, double& sum) {  // a size, in the quickest of a few turns
    double best = 1e300;
    for (int turn = 0; turn < 5; ++turn) {
      const auto start = std::chrono::steady_clock::now();
      sum = testing::evaluate_curve(curve, sizes);
      const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
      best = took.count() < best ? took.count() : best;
    }
    return best / static_cast<double>(sizes.size());
  };
  double line = 0, ours = 0;
  const double floor = nanoseconds(curve::affine{.fixed = 6, .per_size = 0.3}, line);
  const double took = nanoseconds(my::all_reduce{}, ours);
  std::printf("a time in %.1f ns, of a straight line in %.1f ns\n", took, floor);
  return !broken.empty() && plan.tiles().size() > 1 && ours > 0 && line > 0 ? 0 : 1;
}
