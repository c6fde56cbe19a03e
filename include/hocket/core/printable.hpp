// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hocket::inline HOCKET_ABI {

/// A character of UTF-8: its code point, and how many bytes it takes; 0 bytes if there is none at the front of a text.
struct utf8_character {
  std::uint32_t code = 0;
  std::size_t length = 0;
};

/// What stands at the front of a text. Surrogates, overlong forms and U+FFFE, U+FFFF, which XML cannot hold, are none.
/// Precondition: !text.empty(). O(1).
///
///     first_character("\xc3\xa9t\xc3\xa9").length == 2;
[[nodiscard]] constexpr utf8_character first_character(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(text[i])}; };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {};
  std::uint32_t code = lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0u) != 0x80u) return {};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < least[length] || code > 0x10ffff || surrogate || code == 0xfffe || code == 0xffff) return {};
  return {code, length};
}

/// Whether a terminal takes the character as a command, a new line or another direction of writing. O(1).
[[nodiscard]] constexpr bool is_control_character(std::uint32_t code) noexcept {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return true;                    // C0, DEL, C1
  if (code == 0x2028 || code == 0x2029) return true;                                // line, paragraph
  return code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||  // direction
         (code >= 0x2066 && code <= 0x2069) || code == 0x061c || code == 0xfeff;
}

/// Whether foreign text is one line of UTF-8 that holds no commands for a terminal. O(bytes).
[[nodiscard]] constexpr bool is_printable(std::string_view text) noexcept {
  while (!text.empty()) {
    const utf8_character c = first_character(text);
    if (c.length == 0 || is_control_character(c.code)) return false;
    text.remove_prefix(c.length);
  }
  return true;
}

/// Appends foreign text so that it can be shown on a terminal: '?' stands for each control character and for each byte
/// that is not UTF-8. All that the library and the tool say about foreign words goes through it. O(bytes).
///
///     append_printable(out, "a\x1b[31m");   // a?[31m
inline void append_printable(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const utf8_character c = first_character(text);
    if (c.length == 0 || is_control_character(c.code)) out += '?';
    else out += text.substr(0, c.length);
    text.remove_prefix(c.length == 0 ? 1 : c.length);
  }
}

/// The same as a string of its own.
[[nodiscard]] inline std::string to_printable(std::string_view text) {
  std::string out;
  append_printable(out, text);
  return out;
}

}  // namespace hocket::inline HOCKET_ABI
