// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: hocket: a cost curve needs a member double time(double size) const, in microseconds
#include <hocket/curve.hpp>

struct my_copy {
#ifdef CORRECTED
  double time(double mib) const { return 3 + 20 * mib; }
#else
  double us(double mib) const { return 3 + 20 * mib; }
#endif
};

double f() { return hocket::curve::scaled{my_copy{}, 2.0}.time(1); }
