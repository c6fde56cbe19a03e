// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The curve belongs to measurements that are gone at the end of the expression.
// expect: deleted
#include <hocket/cost/measured_hardware.hpp>

#include <utility>

bool known(hocket::cost::measured_hardware measured) {
#ifdef CORRECTED
  const auto* const curve = measured.find(hocket::cost::collective::all_reduce, 8);
#else
  const auto* const curve = std::move(measured).find(hocket::cost::collective::all_reduce, 8);
#endif
  return curve != nullptr;
}
