// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/list_cost.hpp>

#include <cstdint>

// Types of 8 and 4 bits with a scale per block of elements: a fraction of a byte each.
namespace hocket::inline HOCKET_ABI::cost {

/// A number format whose elements share scales.
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
    fp8_tiles{.element_bits = 8, .scale_bits = 32, .block = 128 * 128};

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

/// A quantity for a type whose size is a fraction. All formulas of bytes are linear in the sizes of types, so that the
/// values for 0 and for 1 byte tell the value for any: exact for states, saved tensors and what is sent.
/// @param member  the size in question, such as &training::weight_bytes
/// @param quantity  result<rational>(const training&)
/// Errors: those of `quantity`. Complexity: two calls.
///
///     at_bytes(t, &training::weight_bytes, bytes_per_element(mxfp8),
///              [&](const training& x) { return static_bytes(n, x, p); })
template <class Quantity>
[[nodiscard]] constexpr result<rational> at_bytes(const training& t, std::int64_t training::* member,
                                                  const rational& bytes, Quantity&& quantity) {
  training sized = t;
  sized.*member = 0;
  const result<rational> without = quantity(sized);
  if (!without) return without;
  sized.*member = 1;
  const result<rational> with = quantity(sized);
  if (!with) return with;
  return *without + bytes * (*with - *without);
}

/// Bytes that one layer keeps on one rank where inputs of matrix products are quantized before they are kept: those of
/// the projections, of both products of an FFN and of experts. All else stays in t.activation_bytes: queries, keys and
/// values, the attention's output (its backward pass needs it), inputs of activations, statistics.
/// Source: the convention of Transformer Engine, which keeps the quantized input of a linear layer.
/// Errors: errc::undefined_value. Complexity: two passes over the formulas.
///
///     saved_bytes_in(list, list.layers[0].blocks, t, p, mxfp8)
[[nodiscard]] inline result<rational> saved_bytes_in(const layer_list& list, const layer_blocks& blocks,
                                                     const training& t, const parallel& p, const scaled_format& format,
                                                     const replay_set& replayed = {}) {
  const auto inputs = [&](const training& sized) {
    rational sum = 0;
    const block_setting all{.sizes = list.sizes, .training = sized, .parallel = p, .replayed = replayed};
    for (const block& b : blocks)
      visit_block(b, all, [&](const block_terms& lists, const numbers_view& numbers) {
        for_each_term(lists.saved, numbers, [&](const term_view& x) {
          using enum layer_operation;
          if (x.by == norm || x.by == activation || x.by == dispatch) sum = sum + x.amount() / x.ranks();
        });
      });
    return sum.ok() ? result<rational>(sum) : error{errc::undefined_value}.with("saved inputs of products");
  };
  const auto whole = layer_activation_bytes(list, blocks, t, p, replayed), wide = inputs(t);
  const auto narrow = at_bytes(t, &training::activation_bytes, bytes_per_element(format), inputs);
  if (!whole || !wide || !narrow) return !whole ? whole : !wide ? wide : narrow;
  return *whole - *wide + *narrow;
}

}  // namespace hocket::inline HOCKET_ABI::cost
