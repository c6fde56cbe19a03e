// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/int128.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace hocket::inline HOCKET_ABI::ascend::detail {

/// A decimal number as mantissa * 10^exponent, exact in its first 24 digits.
struct decimal {
  int128 mantissa = 0;
  int exponent = 0;
};

/// Reads 1699529622790614.8, -0.5 or 4.2e-05, which must fill the text.
[[nodiscard]] constexpr std::optional<decimal> parse_decimal(std::string_view text) noexcept {
  constexpr int128 full = int128{100'000'000'000} * 1'000'000'000'000;  // 10^23: a last digit goes behind less
  constexpr int max_exponent = 400;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  decimal out;
  bool any = false, behind_point = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !behind_point) {
      behind_point = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    any = true;
    if (out.mantissa < full) {
      out.mantissa = out.mantissa * 10 + (c - '0');
      out.exponent -= behind_point ? 1 : 0;
    } else {
      out.exponent += behind_point ? 0 : 1;
    }
    if (out.exponent > max_exponent || out.exponent < -max_exponent) return std::nullopt;
  }
  if (!any) return std::nullopt;
  if (at < text.size()) {
    if (text[at] != 'e' && text[at] != 'E') return std::nullopt;
    ++at;
    const bool down = at < text.size() && text[at] == '-';
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    if (at == text.size()) return std::nullopt;
    int exponent = 0;
    for (; at < text.size(); ++at) {
      if (text[at] < '0' || text[at] > '9') return std::nullopt;
      exponent = exponent * 10 + (text[at] - '0');
      if (exponent > max_exponent) return std::nullopt;
    }
    out.exponent += down ? -exponent : exponent;
  }
  out.mantissa = negative ? -out.mantissa : out.mantissa;
  return out;
}

/// The number times `factor`, to the nearest whole number; nothing if that does not fit 64 bits.
/// Precondition: 1 <= factor <= 10^12.
[[nodiscard]] constexpr std::optional<std::int64_t> scaled(const decimal& d, std::int64_t factor) noexcept {
  constexpr int128 limit = (std::numeric_limits<std::int64_t>::max)();
  int128 value = (d.mantissa < 0 ? -d.mantissa : d.mantissa) * factor;  // below 10^36
  for (int e = d.exponent; e > 0 && value != 0; --e) {
    value *= 10;
    if (value > limit) return std::nullopt;
  }
  int last = 0;
  for (int e = d.exponent; e < 0; ++e) {
    last = static_cast<int>(value % 10);
    value /= 10;
    if (value == 0 && e < -1) {
      last = 0;
      break;
    }
  }
  value += last >= 5 ? 1 : 0;
  if (value > limit) return std::nullopt;
  return static_cast<std::int64_t>(d.mantissa < 0 ? -value : value);
}

/// The same from the text.
[[nodiscard]] constexpr std::optional<std::int64_t> parse_scaled(std::string_view text, std::int64_t factor) noexcept {
  const auto number = parse_decimal(text);
  if (!number) return std::nullopt;
  return scaled(*number, factor);
}

static_assert(parse_scaled("1736413971558972.912", 1000) == 1'736'413'971'558'972'912);
static_assert(parse_scaled("0.0005", 1000) == 1 && parse_scaled("4.2e-05", 1'000'000) == 42);

}  // namespace hocket::inline HOCKET_ABI::ascend::detail
