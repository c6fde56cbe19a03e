// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A curve does not say whether it computes or communicates.
// expect: hocket: a tiling problem is an axis, then one phase or more, each made by tiling::compute(curve) or
// tiling::comm(curve)
#include <hocket/tiling.hpp>

auto f() {
  using namespace hocket;
#ifdef CORRECTED
  return tiling::problem({.rows = 4096}, tiling::compute(curve::affine{.per_size = 1})).axis.rows;
#else
  return tiling::problem({.rows = 4096}, curve::affine{.per_size = 1}).axis.rows;
#endif
}
