// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/action.hpp>

#include <cstddef>
#include <cstdint>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

/// Actions that follow each other with others in turn between them: the bits of the next, and what the one after adds.
struct strand {
  std::uint32_t bits = 0;
  std::uint32_t stride = 1;
};

inline constexpr std::uint32_t most_strands = 6;

template <std::uint32_t Width>
constexpr void weave_rounds(action* out, const strand* strands, std::size_t rounds) noexcept {
  std::uint32_t bits[Width], stride[Width];
  for (std::uint32_t l = 0; l < Width; ++l) bits[l] = strands[l].bits, stride[l] = strands[l].stride;
  for (std::size_t r = 0; r < rounds; ++r, out += Width)
    for (std::uint32_t l = 0; l < Width; ++l) out[l] = action::from_bits(bits[l]), bits[l] += stride[l];
}

/// Writes `count` actions of the first `width` strands in turn, from strand `at` on, and moves on behind them.
/// Returns the strand that is next.
constexpr std::uint32_t weave(action* out, std::size_t count, strand (&strands)[most_strands], std::uint32_t width,
                              std::uint32_t at) noexcept {
  const auto one = [&] {
    *out++ = action::from_bits(strands[at].bits);
    strands[at].bits += strands[at].stride;
    --count;
    if (++at == width) at = 0;
  };
  while (count > 0 && at != 0) one();
  const std::size_t rounds = count / width;
  switch (width) {
    case 1: weave_rounds<1>(out, strands, rounds); break;
    case 2: weave_rounds<2>(out, strands, rounds); break;
    case 3: weave_rounds<3>(out, strands, rounds); break;
    case 4: weave_rounds<4>(out, strands, rounds); break;
    case 5: weave_rounds<5>(out, strands, rounds); break;
    default: weave_rounds<6>(out, strands, rounds); break;
  }
  for (std::uint32_t l = 0; l < width; ++l) strands[l].bits += static_cast<std::uint32_t>(rounds) * strands[l].stride;
  out += rounds * width, count -= rounds * width;
  while (count > 0) one();
  return at;
}

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
