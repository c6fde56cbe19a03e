// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/int128.hpp>
#include <hocket/core/printable.hpp>
#include <hocket/core/result.hpp>
#include <hocket/core/ticks.hpp>

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hocket::inline HOCKET_ABI::detail {

/// Appends a whole number.
template <std::integral T>
void put(std::string& out, T value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, static_cast<std::size_t>(end - digits));
}
inline void put(std::string& out, std::string_view text) { out += text; }

/// Appends value / 10^digits, without trailing zeros: coordinates and microseconds are kept as scaled integers, so that
/// the same timeline gives the same bytes on every machine.
inline void put_scaled(std::string& out, std::int64_t value, int digits) {
  std::int64_t unit = 1;
  for (int i = 0; i < digits; ++i) unit *= 10;
  if (value < 0) {
    out += '-';
    value = -value;
  }
  put(out, value / unit);
  std::int64_t rest = value % unit;
  if (rest == 0) return;
  out += '.';
  for (unit /= 10; rest != 0; rest %= unit, unit /= 10) out += static_cast<char>('0' + rest / unit);
}

/// Appends a time in microseconds with up to three decimals, the rest cut off. Any time and any rate >= 1 will do.
inline void put_microseconds(std::string& out, std::int64_t at, std::int64_t ticks_per_second) {
  const std::int64_t seconds = at / ticks_per_second;
  const auto rest = static_cast<std::int64_t>(int128{at % ticks_per_second} * 1'000'000'000 / ticks_per_second);
  constexpr std::int64_t max_seconds = 9'000'000'000;  // so many seconds fit 64 bits as nanoseconds
  if (seconds > -max_seconds && seconds < max_seconds) return put_scaled(out, seconds * 1'000'000'000 + rest, 3);
  put(out, seconds);
  std::string decimals;  // "1" and the nine digits of the nanoseconds
  put(decimals, 1'000'000'000 + (rest < 0 ? -rest : rest));
  out.append(decimals, 1, 6);
  while (decimals.back() == '0' && decimals.size() > 7) decimals.pop_back();
  if (decimals.size() > 7) {
    out += '.';
    out.append(decimals, 7);
  }
}

/// Appends all parts, numbers and text, one after another.
template <class... Parts>
void put_all(std::string& out, const Parts&... parts) {
  (put(out, parts), ...);
}

/// Calls put_ascii(c) for each ASCII character of foreign text and appends all others as they are; what is not UTF-8
/// becomes '?', because one such byte makes a whole file unreadable.
template <class PutAscii>
void put_characters(std::string& out, std::string_view text, PutAscii&& put_ascii) {
  while (!text.empty()) {
    const std::size_t length = first_character(text).length;
    if (length == 1) put_ascii(text[0]);
    else if (length == 0) out += '?';
    else out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

/// The first `most` bytes of text, fewer if that would cut a character.
[[nodiscard]] constexpr std::string_view cut_text(std::string_view text, std::size_t max_bytes) noexcept {
  if (text.size() <= max_bytes) return text;
  while (max_bytes > 0 && (static_cast<unsigned char>(text[max_bytes]) & 0xc0u) == 0x80u) --max_bytes;
  return text.substr(0, max_bytes);
}

/// Appends foreign text so that it is text in XML, in element content and in quoted attributes. Characters that XML 1.0
/// cannot hold become '?'.
inline void put_xml(std::string& out, std::string_view text) {
  put_characters(out, text, [&](char c) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' ? '?' : c;
    }
  });
}

/// Appends foreign text as a JSON string with its quotes; bytes that are not UTF-8 become '?'.
inline void put_json(std::string& out, std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  out += '"';
  put_characters(out, text, [&](char c) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (u < 0x20 || u == 0x7f) {
      out += "\\u00";
      out += hex[u >> 4];
      out += hex[u & 15];
    } else {
      out += c;
    }
  });
  out += '"';
}

}  // namespace hocket::inline HOCKET_ABI::detail
