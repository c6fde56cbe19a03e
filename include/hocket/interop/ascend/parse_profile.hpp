// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/interop/ascend/detail/profile_json.hpp>
#include <hocket/interop/ascend/detail/profile_tables.hpp>
#include <hocket/interop/ascend/profile.hpp>

#include <string_view>

namespace hocket::inline HOCKET_ABI::ascend {

/// Reads a file of a profiler; which one it is, its first line tells, and not its name. Spellings of CANN 6 to 8,
/// MindSpore 2.2 to 2.10 and torch_npu are understood; columns that are not needed may be missing or be more. Of a
/// trace it keeps what ran on the device (a CPU, where ops ran there), and the steps that it names.
///
/// Errors, each with line and column: errc::unknown_table, errc::no_such_column, errc::duplicate_column,
/// errc::missing_column (a row of another length), errc::bad_decimal, errc::truncated (a last line without an end),
/// errc::unclosed_bracket (a quote), errc::ill_formed_json, errc::too_large. Nothing of a file that is refused is
/// returned. That a file was cut off exactly between two rows cannot be seen. Complexity: linear in the text, and O(k
/// log k) for k kernels. Source: mindspore 2.10.0, mindspore/profiler; samples of github.com/Ascend/msprof-analyze.
///
///     const auto p = hocket::ascend::parse_profile("Name,Type,Accelerator Core,Start Time(us),Duration(us)\n"
///                                                  "MatMul91,MatMul,AI_CORE,1699529623118495.2,1478.18\n");
///     p->kernels[0].duration == hocket::ascend::nanoseconds(1'478'180);
[[nodiscard]] inline result<profile> parse_profile(std::string_view text, const profile_options& options = {}) {
  const std::size_t first = text.find_first_not_of("\xef\xbb\xbf \t\r\n");
  const std::size_t second = first == text.npos ? first : first + 1;
  const bool is_word = second < text.size() && text[second] >= 'A' && text[second] <= 'Z';  // a log: [WARNING] ME(...
  const bool is_json = first != text.npos && (text[first] == '{' || (text[first] == '[' && !is_word));
  return is_json ? detail::read_json(text, options) : detail::read_table(text, options);
}

}  // namespace hocket::inline HOCKET_ABI::ascend
