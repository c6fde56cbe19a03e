// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The points would be gone with the expression.
// expect: borrowed<double>
#include <hocket/curve.hpp>

#include <vector>

std::vector<double> measured();

double f() {
#ifdef CORRECTED
  const std::vector<double> sizes = measured(), us = measured();
  return hocket::curve::table_view::make(sizes, us)->time(5);
#else
  return hocket::curve::table_view::make(measured(), measured())->time(5);
#endif
}
