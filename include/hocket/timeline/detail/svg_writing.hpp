// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/timeline/detail/writing.hpp>
#include <hocket/timeline/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hocket::inline HOCKET_ABI::detail {

/// A colour as 0xRRGGBB.
using colour = std::uint32_t;

/// The fill of a bar: the hue tells the kind, the shade the chunk, light for the first and deep for the last.
/// Hues stay apart for the common forms of colour blindness (forward blue, backward orange).
/// @param chunk, chunks  which of how many shades; chunks >= 1
[[nodiscard]] constexpr colour colour_of(activity kind, std::uint32_t chunk, std::uint32_t chunks) noexcept {
  struct range {
    colour light, deep;
  };
  constexpr range ranges[] = {
      {0xa9ccf5, 0x1f5fb4},  // forward
      {0xfcd29a, 0xd9731a},  // backward
      {0xf9b8a6, 0xc8452f},  // input gradient
      {0xbfe3b4, 0x3d8f4a},  // weight gradient
      {0xa9ccf5, 0x1f5fb4},  // compute
      {0xdcc3ee, 0x8444ae},  // communication
      {0xf3c6dc, 0xb03a78},  // optimizer
      {0xe6e8eb, 0xb8bdc5},  // wait
      {0xd9d4c7, 0x8d8467},  // other
      {0xf5ec9e, 0xb09b10},  // recompute
  };
  const range r = ranges[static_cast<std::size_t>(kind)];
  const std::uint32_t steps = chunks > 1 ? chunks - 1 : 1, step = chunk < steps ? chunk : chunks > 1 ? steps : 0;
  colour mixed = 0;
  for (int shift = 16; shift >= 0; shift -= 8) {
    const std::uint32_t from = r.light >> shift & 255u, to = r.deep >> shift & 255u;
    mixed |= (from * (steps - step) + to * step) / steps << shift;
  }
  return mixed;
}

/// Black or white, whichever reads better on `fill` (relative luminance of ITU-R BT.601).
[[nodiscard]] constexpr colour ink_on(colour fill) noexcept {
  const std::uint32_t light = 299 * (fill >> 16 & 255u) + 587 * (fill >> 8 & 255u) + 114 * (fill & 255u);
  return light > 140'000 ? 0x14202e : 0xffffff;
}

/// A coordinate in hundredths of a pixel, and a colour, as they are written.
struct pixels {
  std::int64_t hundredths;
};
inline void put(std::string& out, pixels x) { put_scaled(out, x.hundredths, 2); }
struct hex {
  colour c;
};
inline void put(std::string& out, hex h) {
  constexpr std::string_view digits = "0123456789abcdef";
  out += '#';
  for (int shift = 20; shift >= 0; shift -= 4) out += digits[h.c >> shift & 15u];
}

/// The area below steps, as one path of one colour.
/// @param x  size + 1 edges, rising    @param y  where each step ends, above `bottom`; all in hundredths of a pixel
template <class X, class Y>
void put_steps(std::string& out, std::size_t size, const X& x, const Y& y, std::int64_t bottom) {
  put_all(out, "<path d=\"M", pixels{x(0)}, " ", pixels{bottom});
  std::int64_t level = bottom;
  for (std::size_t i = 0; i < size; ++i) {
    const std::int64_t next = y(i);
    if (next == level) continue;  // equal steps are one
    if (i > 0) put_all(out, "H", pixels{x(i)});
    put_all(out, "V", pixels{next});
    level = next;
  }
  if (level != bottom) put_all(out, "H", pixels{x(size)}, "V", pixels{bottom});
  out += "Z\"";
}

}  // namespace hocket::inline HOCKET_ABI::detail
