// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>
#include <hocket/cost/formula/number.hpp>
#include <hocket/cost/formula/reflect.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hocket::inline HOCKET_ABI::cost {

/// The framework whose buffers memory counts beside states and saved tensors. A choice, by name, in place of a margin.
enum class workspace : std::uint8_t {
  none,
  megatron_te  ///< Megatron-LM with Transformer Engine: buffers of the type of the weights that stand in for gradients
};

/// The number format in which matrix products of layers multiply. Attention, the router and the head stay in 16 bits,
/// as frameworks keep them; what is stored is said by the bytes of `training`.
enum class precision : std::uint8_t { bf16, fp8, mxfp8, nvfp4 };
inline constexpr std::size_t precision_count = 4;
[[nodiscard]] constexpr std::string_view to_string(precision which) noexcept {
  constexpr std::string_view names[precision_count] = {"bf16", "fp8", "mxfp8", "nvfp4"};
  return names[static_cast<std::size_t>(which)];
}
/// Bytes of an element that a product reads in a format, its share of the scales left out.
[[nodiscard]] constexpr double bytes_of(precision which) noexcept {
  constexpr double each[precision_count] = {2, 1, 1, 0.5};
  return each[static_cast<std::size_t>(which)];
}

/// One training step. Bytes are per parameter or per activation element; formats whose elements share scales have
/// fractions (scaled_format.hpp).
struct training {
  std::int64_t sequence = 0;      ///< tokens per sequence
  std::int64_t micro_batch = 1;   ///< sequences per micro-batch
  std::int64_t global_batch = 1;  ///< sequences per step over all ranks
  rational weight_bytes = 2, gradient_bytes = 4, master_bytes = 4, moment_bytes = 8, activation_bytes = 2;
  /// Whether inputs of matrix products are kept in a narrower format, of `input_bytes` an element: those of the
  /// projections, of both products of an FFN and of experts. All else that is kept takes activation_bytes.
  bool narrow_inputs = false;
  rational input_bytes = 2;                           ///< not read unless narrow_inputs
  cost::precision precision = cost::precision::bf16;  ///< of matrix products; picks the rate of the machine
  /// Bytes of an element that goes to its expert, scales left out; 0: activation_bytes. What comes back is not
  /// narrowed.
  rational dispatch_bytes = 0;
  bool flash_attention = true;  ///< the s x s scores are never stored
  bool dropout = false;         ///< three dropouts a layer, one byte of mask per element
  bool wide_norm = false;       ///< norms work on a copy of their input cast to 32 bits, and keep that copy
  bool fused_loss = false;      ///< cross-entropy in one kernel: no copy of the logits in 32 bits
  cost::workspace workspace = cost::workspace::none;
  bool fused_activation = true;  ///< SiLU and Mul in one kernel: SiLU's output is not kept
  /// Matrices of layers are under Muon, with half of moment_bytes; all else is under AdamW (muon_memory.hpp).
  bool muon = false;
  /// Packed sequences: the sum of the squares of their lengths in one `sequence`; 0: it is one document.
  std::int64_t squared_lengths = 0;
  /// And the pairs of positions within the model's window, over all documents (cost::packed); 0: it is one document.
  std::int64_t windowed_pairs = 0;

  friend constexpr bool operator==(const training&, const training&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::cost

HOCKET_DETAIL_STRUCT(hocket::cost::training, sequence, micro_batch, global_batch, weight_bytes, gradient_bytes,
                     master_bytes, moment_bytes, activation_bytes, flash_attention, dropout, fused_loss, workspace,
                     wide_norm, fused_activation, narrow_inputs, input_bytes, squared_lengths, windowed_pairs,
                     precision, dispatch_bytes);
