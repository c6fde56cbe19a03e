// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <concepts>
#include <cstdint>

namespace hocket::inline HOCKET_ABI::pipeline {

/// Where stages live: a bijection between stages in model order and (rank, chunk) pairs.
template <class P>
concept placement_policy = requires(const P& place, std::uint32_t x) {
  { place.rank_of(x) } -> std::convertible_to<std::uint32_t>;
  { place.chunk_of(x) } -> std::convertible_to<std::uint32_t>;
  { place.stage(x, x) } -> std::convertible_to<std::uint32_t>;
};

/// Stage s = chunk·p + rank: every chunk walks over the ranks from first to last.
struct loop_placement {
  std::uint32_t ranks = 1;
  [[nodiscard]] constexpr std::uint32_t rank_of(std::uint32_t stage) const noexcept { return stage % ranks; }
  [[nodiscard]] constexpr std::uint32_t chunk_of(std::uint32_t stage) const noexcept { return stage / ranks; }
  [[nodiscard]] constexpr std::uint32_t stage(std::uint32_t rank, std::uint32_t chunk) const noexcept {
    return chunk * ranks + rank;
  }
  friend constexpr bool operator==(const loop_placement&, const loop_placement&) = default;
};

/// Odd chunks walk back: with two chunks, the first rank holds the first and the last stage of the model.
struct v_placement {
  std::uint32_t ranks = 1;
  [[nodiscard]] constexpr std::uint32_t rank_of(std::uint32_t stage) const noexcept {
    const std::uint32_t x = stage % ranks;
    return (stage / ranks) % 2 == 0 ? x : ranks - 1 - x;
  }
  [[nodiscard]] constexpr std::uint32_t chunk_of(std::uint32_t stage) const noexcept { return stage / ranks; }
  [[nodiscard]] constexpr std::uint32_t stage(std::uint32_t rank, std::uint32_t chunk) const noexcept {
    return chunk * ranks + (chunk % 2 == 0 ? rank : ranks - 1 - rank);
  }
  friend constexpr bool operator==(const v_placement&, const v_placement&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
