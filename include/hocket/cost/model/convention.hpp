// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>
#include <hocket/cost/formula/reflect.hpp>

#include <cstdint>
#include <string_view>

namespace hocket::inline HOCKET_ABI::cost {

/// Which pairs of positions the attention is said to compute. Kernels that skip the masked half do close to
/// causal_exact; a ratio of FLOPs means nothing without this word.
enum class attention_count : std::uint8_t {
  full,          ///< s^2: PaLM, nanotron, torchtitan
  causal_half,   ///< s^2/2: Megatron-LM
  causal_exact,  ///< s(s+1)/2: the pairs on and below the diagonal
  window         ///< causal_exact, and only `window` positions back in sliding-window layers
};
/// How much work a recomputed core attention adds.
enum class recompute_count : std::uint8_t {
  exact,       ///< one more forward of what is recomputed
  korthikanti  ///< core attention counted twice, as in the HFU of arXiv:2205.05198
};
[[nodiscard]] constexpr std::string_view to_string(attention_count a) noexcept {
  switch (a) {
    case attention_count::full: return "full";
    case attention_count::causal_half: return "causal_half";
    case attention_count::causal_exact: return "causal_exact";
    case attention_count::window: return "window";
  }
  return "";
}
[[nodiscard]] constexpr std::string_view to_string(recompute_count r) noexcept {
  return r == recompute_count::exact ? "exact" : "korthikanti";
}

/// How attention with a state of fixed size is said to work.
enum class linear_count : std::uint8_t {
  recurrent,  ///< position by position, the fewest FLOPs: Megatron-LM, MaxText
  chunked     ///< chunk by chunk, as kernels do
};
/// Whether the indexer of sparse attention is trained with a loss of its own, over which pairs.
enum class index_loss_count : std::uint8_t { none, dense, selected };
[[nodiscard]] constexpr std::string_view to_string(linear_count l) noexcept {
  return l == linear_count::recurrent ? "recurrent" : "chunked";
}

/// What is counted. It travels with every number that depends on it.
struct convention {
  attention_count attention = attention_count::causal_exact;
  recompute_count replay = recompute_count::exact;
  bool router = true;         ///< the router's matrix product
  bool latent_norms = false;  ///< norms of the latent vectors, one multiply-add per element
  linear_count linear = linear_count::recurrent;
  index_loss_count index_loss = index_loss_count::none;
  bool index_reduction = true;  ///< the sum of an indexer's scores over its heads
  bool state_space_convolution =
      true;  ///< the short convolution of state-space blocks; of delta rules it always counts

  friend constexpr bool operator==(const convention&, const convention&) = default;

  /// Megatron-LM's num_floating_point_operations.
  static constexpr convention megatron() noexcept {
    return {.attention = attention_count::causal_half,
            .router = false,
            .latent_norms = true,
            .index_reduction = false,
            .state_space_convolution = false};
  }
};

}  // namespace hocket::inline HOCKET_ABI::cost

HOCKET_DETAIL_STRUCT(hocket::cost::convention, attention, replay, router, latent_norms, linear, index_loss,
                     index_reduction, state_space_convolution);
