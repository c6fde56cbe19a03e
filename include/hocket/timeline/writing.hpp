// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/ticks.hpp>

#include <charconv>
#include <concepts>
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
  if (value < 0) out += '-', value = -value;
  put(out, value / unit);
  std::int64_t rest = value % unit;
  if (rest == 0) return;
  out += '.';
  for (unit /= 10; rest != 0; rest %= unit, unit /= 10) out += static_cast<char>('0' + rest / unit);
}

/// Appends all parts, numbers and text, one after another.
template <class... Parts>
void put_all(std::string& out, const Parts&... parts) {
  (put(out, parts), ...);
}

/// Appends foreign text so that it is text in XML, in element content and in quoted attributes. Characters that XML 1.0
/// cannot hold become '?'.
inline void put_xml(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' ? '?' : c;
    }
  }
}

/// Appends foreign text as a JSON string with its quotes.
inline void put_json(std::string& out, std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\', out += c;
    } else if (u < 0x20 || u == 0x7f) {
      out += "\\u00", out += hex[u >> 4], out += hex[u & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace hocket::inline HOCKET_ABI::detail
