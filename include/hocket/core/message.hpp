// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/detail/sentences.hpp>
#include <hocket/core/error.hpp>
#include <hocket/core/printable.hpp>

#include <string>
#include <string_view>

namespace hocket::inline HOCKET_ABI {

/// The English sentence of an error, with {0} … {3} for the offending values and {w} for the offending word.
/// Kept apart from the rendering so that it is constexpr and can be translated or logged as a key.
[[nodiscard]] constexpr std::string_view sentence(errc code) noexcept {
  for (const detail::error_sentence& s : detail::error_sentences)
    if (s.code == code) return s.text;
  return "unknown error";
}

/// The error as one English sentence that names the offending values, without a trailing full stop.
/// The offending word is made printable: '?' for control characters and for bytes that are not UTF-8.
/// Complexity: linear in the length of the sentence.
///
///     message(error{errc::self_edge, 7}) == "node 7 cannot happen before itself"
[[nodiscard]] inline std::string message(const error& e) {
  const std::string_view text = sentence(e.code);
  std::string out;
  out.reserve(text.size() + error::word_capacity);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool placeholder = text[i] == '{' && i + 2 < text.size() && text[i + 2] == '}';
    if (!placeholder) {
      out += text[i];
      continue;
    }
    if (text[i + 1] == 'w') append_printable(out, e.word());
    else out += std::to_string(e.values[static_cast<std::size_t>(text[i + 1] - '0')]);
    i += 2;
  }
  return out;
}

}  // namespace hocket::inline HOCKET_ABI
