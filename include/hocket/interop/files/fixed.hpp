// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <cstdio>
#include <string>

namespace hocket::inline HOCKET_ABI::interop {

inline constexpr double bytes_per_gib = 1073741824.0;

/// The number with so many decimals.
inline std::string fixed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

}  // namespace hocket::inline HOCKET_ABI::interop
