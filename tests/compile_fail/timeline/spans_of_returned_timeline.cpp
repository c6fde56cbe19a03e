// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The timeline would be gone with the expression.
// expect: spans
// expect: deleted
#include <hocket/timeline.hpp>

#include <cstddef>

hocket::timeline measured();

std::size_t f() {
#ifdef CORRECTED
  const hocket::timeline all = measured();
  const auto spans = all.spans();
#else
  const auto spans = measured().spans();
#endif
  return spans.size();
}
