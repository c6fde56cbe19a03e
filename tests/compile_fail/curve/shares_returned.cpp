// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The shares would be gone with the expression.
// expect: shared_out
#include <hocket/curve.hpp>

#include <vector>

std::vector<double> measured();

double f() {
#ifdef CORRECTED
  const std::vector<double> shares = measured();
  const hocket::curve::shared_out experts{hocket::curve::affine{.per_size = 1}, shares};
#else
  const hocket::curve::shared_out experts{hocket::curve::affine{.per_size = 1}, measured()};
#endif
  return experts.time(80);
}
