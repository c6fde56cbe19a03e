// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A member that is used if present, but cannot be used.
// expect: hocket: domain() of a cost curve must be const and return a curve::interval
#include <hocket/curve.hpp>

struct my_copy {
  double time(double mib) const { return 3 + 20 * mib; }
#ifdef CORRECTED
  hocket::curve::interval domain() const { return {1, 64}; }
#else
  hocket::curve::interval domain() { return {1, 64}; }
#endif
};

auto f() { return hocket::curve::scaled{my_copy{}, 2.0}.domain(); }
