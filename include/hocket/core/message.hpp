// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/detail/sentences.hpp>
#include <hocket/core/error.hpp>
#include <hocket/core/printable.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace hocket::inline HOCKET_ABI {

/// The error as one English sentence that names the offending values, without a trailing full stop.
/// The offending word is made printable: '?' for control characters and for bytes that are not UTF-8.
/// Complexity: linear in the length of the sentence.
///
///     message(error{errc::self_edge, 7}) == "node 7 cannot happen before itself"
[[nodiscard]] inline std::string message(const error& e) {
  const std::string_view text = sentence(e.code);
  std::string out;
  out.reserve(text.size() + error::word_capacity);
  detail::render(
      text, e, [&out](char c) { out += c; }, [&out](std::string_view word) { append_printable(out, word); },
      [&out](std::int64_t v) { out += std::to_string(v); });
  return out;
}

}  // namespace hocket::inline HOCKET_ABI
