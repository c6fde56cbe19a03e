// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What there is to measure about a cost curve, as functions without a framework: a host runs them on its own type, with
// any driver: benchmarks/bench_google.cpp is one. The floor of both is the same call with a curve::affine.
#pragma once
#include <hocket/curve/cost_curve.hpp>
#include <hocket/testing/random_source.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::testing {

/// Whole sizes from 0 to `most` in no order, as a solver asks for them.
[[nodiscard]] inline std::vector<double> random_sizes(std::size_t count, std::uint32_t most, std::uint64_t seed = 1) {
  random_source random(seed);
  std::vector<double> sizes(count);
  for (double& x : sizes) x = random.below(std::size_t{most} + 1);
  return sizes;
}

/// The times of all sizes, one after the other.
/// @return their sum in microseconds. O(sizes) evaluations.
template <curve::cost_curve F>
[[nodiscard]] double evaluate_curve(const F& f, std::span<const double> sizes) {
  double us = 0;
  for (const double x : sizes) us += f.time(x);
  return us;
}

/// The largest whole size for the time of each size, by bisection: what cutting a tile to a time costs.
/// @return the sum of the sizes found. O(sizes · log most) evaluations.
template <curve::cost_curve F>
[[nodiscard]] std::int64_t invert_curve(const F& f, std::span<const double> sizes, std::int64_t most) {
  std::int64_t sum = 0;
  for (const double x : sizes) sum += curve::largest(f, f.time(x), 0, most);
  return sum;
}

}  // namespace hocket::inline HOCKET_ABI::testing
