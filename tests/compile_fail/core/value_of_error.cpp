// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In a constant expression, taking the value of a failed result is a compile error.
// expect: this_result_has_an_error_and_no_value
// expect: require_value(
#include <hocket/core/ids.hpp>
#ifdef CORRECTED
constexpr auto id = hocket::to_id(3, "node").value();
#else
constexpr auto id = hocket::to_id(-3, "node").value();
#endif
static_assert(id == 3);
