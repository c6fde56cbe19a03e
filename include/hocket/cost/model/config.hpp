// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/config.hpp>
#include <hocket/cost/formula/reflect.hpp>

#include <cstdint>
#include <string_view>

namespace hocket::inline HOCKET_ABI::cost {

/// The sizes of a decoder-only transformer: everything its parameter count depends on. Flags are 0 or 1.
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

  friend constexpr bool operator==(const model&, const model&) = default;
};

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
enum class recompute : std::uint8_t { none, selective, full };
/// What optimizer sharding over data-parallel ranks divides: nothing; optimizer states; also gradients; also weights.
enum class zero : std::uint8_t { none, optimizer, gradients, weights };

/// How context-parallel ranks, each with a part of the sequence, see each other's keys and values. Megatron-LM's
/// cp_comm_type: p2p, all_gather, a2a.
enum class context_exchange : std::uint8_t {
  ring,        ///< blocks of keys and values pass from rank to rank while attention works on the one before
  all_gather,  ///< every rank gathers all keys and values of its layer
  all_to_all   ///< Ulysses: parts of the sequence are exchanged for heads, and back; heads must divide over cp
};

[[nodiscard]] constexpr std::string_view to_string(context_exchange how) noexcept {
  switch (how) {
    case context_exchange::ring: return "p2p";
    case context_exchange::all_gather: return "all_gather";
    case context_exchange::all_to_all: return "a2a";
  }
  return "";
}

/// The framework whose buffers memory counts beside states and saved tensors. A choice, by name, in place of a margin.
enum class workspace : std::uint8_t {
  none,
  megatron_te  ///< Megatron-LM with Transformer Engine: buffers of the type of the weights that stand in for gradients
};

/// What is counted. It travels with every number that depends on it.
struct convention {
  attention_count attention = attention_count::causal_exact;
  recompute_count replay = recompute_count::exact;
  bool router = true;         ///< the router's matrix product
  bool latent_norms = false;  ///< norms of the latent vectors, one multiply-add per element

  friend constexpr bool operator==(const convention&, const convention&) = default;

  /// Megatron-LM's num_floating_point_operations.
  static constexpr convention megatron() noexcept {
    return {attention_count::causal_half, recompute_count::exact, false, true};
  }
};

/// One training step. Bytes are per parameter or per activation element.
struct training {
  std::int64_t sequence = 0;      ///< tokens per sequence
  std::int64_t micro_batch = 1;   ///< sequences per micro-batch
  std::int64_t global_batch = 1;  ///< sequences per step over all ranks
  std::int64_t weight_bytes = 2, gradient_bytes = 4, master_bytes = 4, moment_bytes = 8, activation_bytes = 2;
  bool flash_attention = true;  ///< the s x s scores are never stored
  bool dropout = false;         ///< three dropouts a layer, one byte of mask per element
  bool wide_norm = false;       ///< norms work on a copy of their input cast to 32 bits, and keep that copy
  bool fused_loss = false;      ///< cross-entropy in one kernel: no copy of the logits in 32 bits
  cost::workspace workspace = cost::workspace::none;
  bool fused_activation = true;  ///< SiLU and Mul in one kernel: SiLU's output is not kept
  /// Packed sequences: the sum of the squares of their lengths in one `sequence`; 0: it is one document.
  std::int64_t squared_lengths = 0;
  /// And the pairs of positions within the model's window, over all documents (cost::packed); 0: it is one document.
  std::int64_t windowed_pairs = 0;

  friend constexpr bool operator==(const training&, const training&) = default;
};

/// How the model is spread. devices() ranks in all.
struct parallel {
  std::int64_t tp = 1, pp = 1, vp = 1, dp = 1, cp = 1, ep = 1;
  std::int64_t etp = 1;            ///< tensor parallel size inside an expert
  std::int64_t copies = 1;         ///< of a layer's work, whose collectives hide behind each other's compute
  bool sequence_parallel = false;  ///< norms and residuals are split over tp, too
  cost::zero zero = cost::zero::none;
  cost::recompute recompute = cost::recompute::none;
  bool offload_optimizer = false;    ///< master weights and moments live on the host
  bool offload_activations = false;  ///< what layers keep moves to the host until it is needed
  context_exchange cp_exchange = context_exchange::ring;

  [[nodiscard]] constexpr std::int64_t devices() const noexcept { return tp * pp * dp * cp; }
  friend constexpr bool operator==(const parallel&, const parallel&) = default;
};

/// What the backward pass computes again although the recompute level would keep it, operation by operation; each
/// drops the tensors that the table of saved tensors (activations.hpp) says the operation makes.
struct replay_set {
  bool cast = false;       ///< the cast of a wide norm's input: the narrow one is kept in its place
  bool cast_back = false;  ///< the cast of a wide norm's output: the wide one is kept in its place, a loss
  bool norm = false;       ///< norms: the inputs of the projections after them are dropped
  bool gather = true;      ///< the all-gather after a sequence-parallel norm: a rank keeps its part, not the whole
  bool qkv = false;        ///< queries, keys and values
  bool core = false;       ///< the scores inside the attention; what `selective` stands for
  bool attention_output = false;  ///< the attention's output and statistics, too
  bool projection = false;        ///< output projection and residual sum: the input of the FFN's norm
  bool ffn_in = false;            ///< the products before the activation function
  bool activation = false;        ///< SiLU and Mul (GELU)
  bool ffn_out = false;  ///< the product after the activation: takes time and drops nothing, for plans that list it
  friend constexpr bool operator==(const replay_set&, const replay_set&) = default;
};

/// A part of the model that one rank holds. `layers` and so on take the place of the model's own numbers, so the same
/// formulas give the whole model and each pipeline rank. Multi-token-prediction modules count as layers of the last
/// one.
struct part {
  std::int64_t layers = 0, moe_layers = 0, window_layers = 0;
  bool first = true, last = true;  ///< holds the embedding; holds the final norm, the head and MTP modules
  std::int64_t rank = 0;           ///< of the pipeline

  static constexpr part whole(const model& m) noexcept {
    return {
        m.layers + m.mtp_layers, m.moe_layers + (m.moe_layers > 0 ? m.mtp_layers : 0), m.window_layers, true, true, 0};
  }
  friend constexpr bool operator==(const part&, const part&) = default;
};

/// Activations held at once: how many layers' worth of saved tensors, over all chunks of the rank.
/// A pipeline schedule supplies it; in_flight.hpp has the closed forms for 1F1B.
struct held {
  std::int64_t layer_passes = 0;      ///< sum over held micro-batches of the layers they passed on this rank
  std::int64_t moe_layer_passes = 0;  ///< those of them with experts
  std::int64_t embedding_passes = 0;  ///< held micro-batches that passed the embedding on this rank
  friend constexpr bool operator==(const held&, const held&) = default;
};

/// Parameters of one rank, by the group that shares their optimizer states.
struct rank_parameters {
  std::int64_t dense = 0, expert = 0;
};
/// Parameters of one layer on one rank, of the kind of layer that has most.
struct layer_parameters {
  std::int64_t layer_dense = 0, layer_expert = 0;
};

/// A measured run, for utilization.
struct measured_run {
  double step_flops = 0, step_seconds = 0, peak_flops = 0;
  std::int64_t devices = 1;
};

}  // namespace hocket::inline HOCKET_ABI::cost

HOCKET_DETAIL_STRUCT(hocket::cost::model, layers, hidden, heads, kv_heads, head_dim, ffn, vocabulary, positions,
                     ffn_matrices, norm_weights, layer_norms, final_norm, embedding_norm, tied, qkv_bias, output_bias,
                     ffn_bias, head_bias, qk_norm, qk_norm_all, attention_sinks, moe_layers, experts, active_experts,
                     expert_ffn, shared_ffn, shared_gate, router_bias, expert_bias, latent, query_rank, kv_rank,
                     nope_dim, rope_dim, value_dim, window, window_layers, mtp_layers);
HOCKET_DETAIL_STRUCT(hocket::cost::convention, attention, replay, router, latent_norms);
HOCKET_DETAIL_STRUCT(hocket::cost::training, sequence, micro_batch, global_batch, weight_bytes, gradient_bytes,
                     master_bytes, moment_bytes, activation_bytes, flash_attention, dropout, fused_loss, workspace,
                     wide_norm, fused_activation, squared_lengths, windowed_pairs);
HOCKET_DETAIL_STRUCT(hocket::cost::parallel, tp, pp, vp, dp, cp, ep, etp, copies, sequence_parallel, zero, recompute,
                     offload_optimizer, offload_activations, cp_exchange);
HOCKET_DETAIL_STRUCT(hocket::cost::replay_set, cast, cast_back, norm, gather, qkv, core, attention_output, projection,
                     ffn_in, activation, ffn_out);
HOCKET_DETAIL_STRUCT(hocket::cost::part, layers, moe_layers, window_layers, first, last, rank);
HOCKET_DETAIL_STRUCT(hocket::cost::held, layer_passes, moe_layer_passes, embedding_passes);
HOCKET_DETAIL_STRUCT(hocket::cost::rank_parameters, dense, expert);
HOCKET_DETAIL_STRUCT(hocket::cost::layer_parameters, layer_dense, layer_expert);
HOCKET_DETAIL_STRUCT(hocket::cost::measured_run, step_flops, step_seconds, peak_flops, devices);
