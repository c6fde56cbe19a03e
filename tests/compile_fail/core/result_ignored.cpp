// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: nodiscard
#include <hocket/core/ids.hpp>
void use(long value) {
#ifdef CORRECTED
  static_cast<void>(hocket::to_id(value, "node"));
#else
  hocket::to_id(value, "node");
#endif
}
