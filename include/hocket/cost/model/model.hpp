// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>
#include <hocket/cost/formula/reflect.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::cost {

struct layer_list;

/// A decoder-only transformer of equal layers by its sizes: a short way to write a layer_list, to which it converts.
/// Flags are 0 or 1.
/// Read one from a published config with interop/hugging_face.hpp, or fill it in:
///
///     hocket::cost::model m{.layers = 32, .hidden = 4096, .heads = 32, .kv_heads = 32, .head_dim = 128,
///                           .ffn = 11008, .vocabulary = 32000};
struct model {
  std::int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t ffn = 0;  ///< width of the dense FFN; 0 if every layer is a mixture of experts
  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;     ///< rows of a learned position embedding, 0 if none (RoPE, ALiBi)
  std::int64_t ffn_matrices = 3;  ///< 3: gated (SwiGLU, GeGLU); 2: plain
  std::int64_t norm_weights = 1;  ///< vectors per norm: 1 RMSNorm, 2 LayerNorm (weight and bias)
  std::int64_t layer_norms = 2;   ///< norms of width `hidden` per layer
  bool final_norm = true, embedding_norm = false, tied = false;
  bool qkv_bias = false, output_bias = false, ffn_bias = false, head_bias = false;
  bool qk_norm = false;          ///< a norm of width head_dim on queries and one on keys
  bool qk_norm_all = false;      ///< the same with weights of their own for each head (OLMo 2)
  bool attention_sinks = false;  ///< a learned logit per head beside the scores (gpt-oss)
  // mixture of experts: moe_layers of the layers have it in place of the dense FFN
  std::int64_t moe_layers = 0, experts = 0, active_experts = 0, expert_ffn = 0;
  std::int64_t shared_ffn = 0;  ///< width of all shared experts together
  bool shared_gate = false, router_bias = false, expert_bias = false;
  // multi-head latent attention (DeepSeek-V2), if `latent`
  bool latent = false;
  std::int64_t query_rank = 0;  ///< 0: queries are not compressed
  std::int64_t kv_rank = 0, nope_dim = 0, rope_dim = 0, value_dim = 0;
  // sliding-window attention: window_layers of the layers see `window` positions
  std::int64_t window = 0, window_layers = 0;
  std::int64_t mtp_layers = 0;  ///< multi-token-prediction modules (DeepSeek-V3): a layer, a 2h x h matrix, three norms

  /// The model as its layers, which all costs are counted of: to_layers (uniform_list.hpp).
  constexpr operator layer_list() const;  // NOLINT(google-explicit-constructor): one way to write a list
  friend constexpr bool operator==(const model&, const model&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::cost

HOCKET_DETAIL_STRUCT(hocket::cost::model, layers, hidden, heads, kv_heads, head_dim, ffn, vocabulary, positions,
                     ffn_matrices, norm_weights, layer_norms, final_norm, embedding_norm, tied, qkv_bias, output_bias,
                     ffn_bias, head_bias, qk_norm, qk_norm_all, attention_sinks, moe_layers, experts, active_experts,
                     expert_ffn, shared_ffn, shared_gate, router_bias, expert_bias, latent, query_rank, kv_rank,
                     nope_dim, rope_dim, value_dim, window, window_layers, mtp_layers);
