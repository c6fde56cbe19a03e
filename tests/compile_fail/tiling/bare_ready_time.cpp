// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A ready time has a unit.
// expect: duration
#include <hocket/tiling.hpp>

auto f() {
  auto gather = hocket::tiling::comm(hocket::curve::affine{.per_size = 1});
#ifdef CORRECTED
  gather.ready = hocket::microseconds(40);
#else
  gather.ready = 40;
#endif
  return gather;
}
