// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The shape of the matrix product stands behind the axis, before the phases.
// expect: hocket: a tiling problem is an axis, then one phase or more, each made by tiling::compute(curve) or
// tiling::comm(curve)
#include <hocket/tiling.hpp>

auto f() {
  using namespace hocket;
  const tiling::matmul_shape shape{.k = 4096, .n = 4096};
  const auto product = tiling::compute(curve::affine{.per_size = 1});
#ifdef CORRECTED
  return tiling::problem({.rows = 4096}, shape, product).axis.rows;
#else
  return tiling::problem({.rows = 4096}, product, shape).axis.rows;
#endif
}
