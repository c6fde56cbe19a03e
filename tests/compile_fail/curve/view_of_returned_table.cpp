// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table would be gone with the expression.
// expect: view
// expect: deleted
#include <hocket/curve.hpp>

hocket::curve::table measured();

double f() {
#ifdef CORRECTED
  const hocket::curve::table all = measured();
  const hocket::curve::table_view points = all.view();
#else
  const hocket::curve::table_view points = measured().view();
#endif
  return points.time(5);
}
