// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A lambda over rows may be a cost; one of two arguments may not.
// expect: hocket: a cost curve needs a member double time(double size) const, in microseconds
#include <hocket/tiling.hpp>

auto f() {
#ifdef CORRECTED
  return hocket::tiling::compute([](double rows) { return rows * 4096; });
#else
  return hocket::tiling::compute([](double rows, double columns) { return rows * columns; });
#endif
}
