// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The laws of a curve name the one member that it needs.
// expect: hocket: a cost curve needs a member double time(double size) const, in microseconds
#include <hocket/testing/curve_laws.hpp>

struct copy {
#ifdef CORRECTED
  double time(double mib) const { return mib; }
#else
  double cost(double mib) const { return mib; }
#endif
};

std::string f() { return hocket::testing::broken_law(copy{}, {0, 100}); }
