// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/formula/number.hpp>

#include <cstdint>

// Types of 8 and 4 bits with a scale per block of elements: a fraction of a byte each.
namespace hocket::inline HOCKET_ABI::cost {

/// A number format whose elements share scales. Its bytes_per_element is what the sizes of `training` take.
struct scaled_format {
  std::int64_t element_bits = 16;
  std::int64_t scale_bits = 0;   ///< of one block's scale
  std::int64_t block = 1;        ///< elements that share one
  std::int64_t tensor_bits = 0;  ///< of a scale of the whole tensor
  friend constexpr bool operator==(const scaled_format&, const scaled_format&) = default;
};
inline constexpr scaled_format bf16{};
/// OCP Microscaling Formats 1.0: a power of two in 8 bits for 32 elements.
inline constexpr scaled_format mxfp8{.element_bits = 8, .scale_bits = 8, .block = 32},
    mxfp6{.element_bits = 6, .scale_bits = 8, .block = 32}, mxfp4{.element_bits = 4, .scale_bits = 8, .block = 32};
/// NVIDIA's FP4: an E4M3 scale for 16 elements, one of 32 bits for the tensor (arXiv:2509.25149).
inline constexpr scaled_format nvfp4{.element_bits = 4, .scale_bits = 8, .block = 16, .tensor_bits = 32};
/// DeepSeek-V3's FP8: a scale of 32 bits for 128 elements of a row of activations, or 128 x 128 weights
/// (arXiv:2412.19437 section 3.3.2).
inline constexpr scaled_format fp8_rows{.element_bits = 8, .scale_bits = 32, .block = 128},
    fp8_tiles{.element_bits = 8, .scale_bits = 32, .block = 16'384};

/// Bytes of one element with its part of the block's scale, exact.
///
///     static_assert(bytes_per_element(mxfp8) == rational(33) / rational(32));
///     static_assert(bytes_per_element(nvfp4) == rational(9) / rational(16));
[[nodiscard]] constexpr rational bytes_per_element(const scaled_format& x) noexcept {
  return (rational(x.element_bits) + rational(x.scale_bits) / rational(x.block)) / rational(8);
}

/// Bytes of a tensor of so many rows, whose blocks lie along a row; a row's last block may be short, but has a whole
/// scale. Precondition: sizes >= 0, block >= 1.
[[nodiscard]] constexpr rational bytes_of(const scaled_format& x, std::int64_t rows, std::int64_t columns) noexcept {
  HOCKET_ASSERT(rows >= 0 && columns >= 0 && x.block >= 1);
  const rational blocks = (rational(columns) / rational(x.block)).ceiling();
  return rational(rows) * (rational(columns) * rational(x.element_bits) + blocks * rational(x.scale_bits)) /
             rational(8) +
         rational(x.tensor_bits) / rational(8);
}

}  // namespace hocket::inline HOCKET_ABI::cost
