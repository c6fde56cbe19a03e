// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/error.hpp>
#include <hocket/core/result.hpp>

#include <cstdint>
#include <string_view>

namespace hocket::inline HOCKET_ABI::detail {

/// One comparison of the check that every solver ends with: what the answer really needs or takes, computed anew from
/// the problem, against a limit of the problem or against what the answer claims. The check is always on. A value
/// outside is a defect of the library, and the solver then returns errc::wrong_answer, never the answer.
/// @param what  names the value and, if there are several, its place: at most 39 characters
[[nodiscard]] constexpr result<void> expect_within(std::int64_t value, std::int64_t least, std::int64_t most,
                                                   std::string_view what) noexcept {
  if (value < least || value > most) return error{errc::wrong_answer, value, least, most}.with(what);
  return {};
}

/// The same for a value that must equal one number.
[[nodiscard]] constexpr result<void> expect_equal(std::int64_t value, std::int64_t must,
                                                  std::string_view what) noexcept {
  return expect_within(value, must, must, what);
}

}  // namespace hocket::inline HOCKET_ABI::detail
