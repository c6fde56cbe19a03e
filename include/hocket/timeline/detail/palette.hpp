// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/timeline/timeline.hpp>

#include <cstdint>

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

}  // namespace hocket::inline HOCKET_ABI::detail
