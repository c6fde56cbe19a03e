// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: hocket: time(size) of a cost curve must return microseconds, a number
#include <hocket/tiling.hpp>

struct my_copy {
#ifdef CORRECTED
  double time(double mib) const { return 3 + 20 * mib; }
#else
  void time(double) const {}
#endif
};

auto f() { return hocket::tiling::comm(my_copy{}); }
