// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: hocket: a tiling problem is an axis, then one phase or more, each made by tiling::compute(curve) or
// tiling::comm(curve)
#include <hocket/tiling.hpp>

auto f() {
#ifdef CORRECTED
  return hocket::tiling::problem({.rows = 4096}, hocket::tiling::compute([](double rows) { return rows; })).axis.rows;
#else
  return hocket::tiling::problem({.rows = 4096}).axis.rows;
#endif
}
