// SPDX-License-Identifier: Apache-2.0
// In a constant expression, taking the value of a failed result is a compile error.
// expect: abort
#include <hocket/core/ids.hpp>
#ifdef CORRECTED
constexpr auto id = hocket::to_id(3, "node").value();
#else
constexpr auto id = hocket::to_id(-3, "node").value();
#endif
static_assert(id == 3);
