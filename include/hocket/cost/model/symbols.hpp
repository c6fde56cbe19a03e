// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/cost/formula/expression.hpp>
#include <hocket/cost/formula/reflect.hpp>

/// The letters of the formulas: one meaning per letter, each tied to the member of a config (config.hpp) it is read
/// from. A namespace of its own, because single letters should not leak: `using namespace hocket::cost::letters;`.
namespace hocket::inline HOCKET_ABI::cost::letters {

// The names sit inside a plain type: Hana strings among the template arguments of formulas would have every operator of
// Hana looked at for every operator of a formula.
// NOLINTBEGIN(bugprone-macro-parentheses): names
#define HOCKET_DETAIL_LETTER(name, unit, member, letter)             \
  struct printed_##name {                                            \
    using key = detail::hana_string<member>;                         \
    static constexpr const char* c_str() noexcept { return letter; } \
  };                                                                 \
  inline constexpr symbol<printed_##name, units::unit> name {}
// NOLINTEND(bugprone-macro-parentheses)

// model
HOCKET_DETAIL_LETTER(L, pure, "layers", "L");
HOCKET_DETAIL_LETTER(h, pure, "hidden", "h");
HOCKET_DETAIL_LETTER(a, pure, "heads", "a");
HOCKET_DETAIL_LETTER(g, pure, "kv_heads", "g");
HOCKET_DETAIL_LETTER(d, pure, "head_dim", "d");
HOCKET_DETAIL_LETTER(f, pure, "ffn", "f");
HOCKET_DETAIL_LETTER(V, pure, "vocabulary", "V");
HOCKET_DETAIL_LETTER(n_pos, pure, "positions", "n_pos");
HOCKET_DETAIL_LETTER(n_f, pure, "ffn_matrices", "n_f");
HOCKET_DETAIL_LETTER(n_w, pure, "norm_weights", "n_w");
HOCKET_DETAIL_LETTER(n_n, pure, "layer_norms", "n_n");
HOCKET_DETAIL_LETTER(final_norm, pure, "final_norm", "final_norm");
HOCKET_DETAIL_LETTER(embedding_norm, pure, "embedding_norm", "embedding_norm");
HOCKET_DETAIL_LETTER(tied, pure, "tied", "tied");
HOCKET_DETAIL_LETTER(qkv_bias, pure, "qkv_bias", "qkv_bias");
HOCKET_DETAIL_LETTER(output_bias, pure, "output_bias", "output_bias");
HOCKET_DETAIL_LETTER(ffn_bias, pure, "ffn_bias", "ffn_bias");
HOCKET_DETAIL_LETTER(head_bias, pure, "head_bias", "head_bias");
HOCKET_DETAIL_LETTER(qk_norm, pure, "qk_norm", "qk_norm");
HOCKET_DETAIL_LETTER(qk_norm_all, pure, "qk_norm_all", "qk_norm_all");
HOCKET_DETAIL_LETTER(attention_sinks, pure, "attention_sinks", "attention_sinks");
HOCKET_DETAIL_LETTER(L_m, pure, "moe_layers", "L_m");
HOCKET_DETAIL_LETTER(E, pure, "experts", "E");
HOCKET_DETAIL_LETTER(k, pure, "active_experts", "k");
HOCKET_DETAIL_LETTER(f_e, pure, "expert_ffn", "f_e");
HOCKET_DETAIL_LETTER(f_s, pure, "shared_ffn", "f_s");
HOCKET_DETAIL_LETTER(shared_gate, pure, "shared_gate", "shared_gate");
HOCKET_DETAIL_LETTER(router_bias, pure, "router_bias", "router_bias");
HOCKET_DETAIL_LETTER(expert_bias, pure, "expert_bias", "expert_bias");
HOCKET_DETAIL_LETTER(latent, pure, "latent", "latent");
HOCKET_DETAIL_LETTER(r_q, pure, "query_rank", "r_q");
HOCKET_DETAIL_LETTER(r_k, pure, "kv_rank", "r_k");
HOCKET_DETAIL_LETTER(d_n, pure, "nope_dim", "d_n");
HOCKET_DETAIL_LETTER(d_r, pure, "rope_dim", "d_r");
HOCKET_DETAIL_LETTER(d_v, pure, "value_dim", "d_v");
HOCKET_DETAIL_LETTER(w, pure, "window", "w");
HOCKET_DETAIL_LETTER(L_w, pure, "window_layers", "L_w");
HOCKET_DETAIL_LETTER(n_mtp, pure, "mtp_layers", "n_mtp");
// the part a rank holds
HOCKET_DETAIL_LETTER(first, pure, "first", "first");
HOCKET_DETAIL_LETTER(last, pure, "last", "last");
HOCKET_DETAIL_LETTER(i, pure, "rank", "i");
HOCKET_DETAIL_LETTER(n_held, pure, "layer_passes", "n_held");
HOCKET_DETAIL_LETTER(n_held_moe, pure, "moe_layer_passes", "n_heldmoe");
HOCKET_DETAIL_LETTER(n_held_embedding, pure, "embedding_passes", "n_emb");
HOCKET_DETAIL_LETTER(N_r, elements, "dense", "N_r");
HOCKET_DETAIL_LETTER(N_e, elements, "expert", "N_e");
HOCKET_DETAIL_LETTER(N_l, elements, "layer_dense", "N_l");
HOCKET_DETAIL_LETTER(N_le, elements, "layer_expert", "N_le");
// training
HOCKET_DETAIL_LETTER(s, pure, "sequence", "s");
HOCKET_DETAIL_LETTER(b, pure, "micro_batch", "b");
HOCKET_DETAIL_LETTER(B, pure, "global_batch", "B");
HOCKET_DETAIL_LETTER(c_w, bytes_per_element, "weight_bytes", "c_w");
HOCKET_DETAIL_LETTER(c_g, bytes_per_element, "gradient_bytes", "c_g");
HOCKET_DETAIL_LETTER(c_m, bytes_per_element, "master_bytes", "c_m");
HOCKET_DETAIL_LETTER(c_o, bytes_per_element, "moment_bytes", "c_o");
HOCKET_DETAIL_LETTER(c, bytes_per_element, "activation_bytes", "c");
HOCKET_DETAIL_LETTER(flash, pure, "flash_attention", "flash");
HOCKET_DETAIL_LETTER(dropout, pure, "dropout", "dropout");
HOCKET_DETAIL_LETTER(wide_norm, pure, "wide_norm", "wide_norm");
HOCKET_DETAIL_LETTER(fused, pure, "fused_activation", "fused");
HOCKET_DETAIL_LETTER(s_2, pure, "squared_lengths", "s_2");
HOCKET_DETAIL_LETTER(s_w, pure, "windowed_pairs", "s_w");
HOCKET_DETAIL_LETTER(fused_loss, pure, "fused_loss", "fused_loss");
HOCKET_DETAIL_LETTER(buffers, pure, "workspace", "workspace");
// parallel
HOCKET_DETAIL_LETTER(tp, pure, "tp", "tp");
HOCKET_DETAIL_LETTER(pp, pure, "pp", "pp");
HOCKET_DETAIL_LETTER(vp, pure, "vp", "vp");
HOCKET_DETAIL_LETTER(dp, pure, "dp", "dp");
HOCKET_DETAIL_LETTER(cp, pure, "cp", "cp");
HOCKET_DETAIL_LETTER(ep, pure, "ep", "ep");
HOCKET_DETAIL_LETTER(etp, pure, "etp", "etp");
HOCKET_DETAIL_LETTER(sp, pure, "sequence_parallel", "sp");
HOCKET_DETAIL_LETTER(zero_level, pure, "zero", "zero");
HOCKET_DETAIL_LETTER(recomputed, pure, "recompute", "recompute");
HOCKET_DETAIL_LETTER(n_c, pure, "copies", "n_c");
HOCKET_DETAIL_LETTER(offload_optimizer, pure, "offload_optimizer", "offload_optimizer");
HOCKET_DETAIL_LETTER(offload_activations, pure, "offload_activations", "offload_activations");
HOCKET_DETAIL_LETTER(cp_exchange, pure, "cp_exchange", "cp_exchange");
// what is computed again, by operation
HOCKET_DETAIL_LETTER(r_cast, pure, "cast", "r_cast");
HOCKET_DETAIL_LETTER(r_cast_back, pure, "cast_back", "r_cast_back");
HOCKET_DETAIL_LETTER(r_norm, pure, "norm", "r_norm");
HOCKET_DETAIL_LETTER(r_gather, pure, "gather", "r_gather");
HOCKET_DETAIL_LETTER(r_qkv, pure, "qkv", "r_qkv");
HOCKET_DETAIL_LETTER(r_core, pure, "core", "r_core");
HOCKET_DETAIL_LETTER(r_attention, pure, "attention_output", "r_attention");
HOCKET_DETAIL_LETTER(r_output, pure, "projection", "r_output");
HOCKET_DETAIL_LETTER(r_ffn_in, pure, "ffn_in", "r_ffn_in");
HOCKET_DETAIL_LETTER(r_activation, pure, "activation", "r_activation");
HOCKET_DETAIL_LETTER(r_ffn_out, pure, "ffn_out", "r_ffn_out");
// conventions
HOCKET_DETAIL_LETTER(attention_counted, pure, "attention", "attention");
HOCKET_DETAIL_LETTER(replay_counted, pure, "replay", "replay");
HOCKET_DETAIL_LETTER(router_counted, pure, "router", "router");
HOCKET_DETAIL_LETTER(latent_norms_counted, pure, "latent_norms", "latent_norms");
// a measured run
HOCKET_DETAIL_LETTER(F_step, flops, "step_flops", "F");
HOCKET_DETAIL_LETTER(T, seconds, "step_seconds", "T");
HOCKET_DETAIL_LETTER(P, flops_per_second, "peak_flops", "P");
HOCKET_DETAIL_LETTER(W, pure, "devices", "W");

// what hardware does in a second (step_time.hpp)
HOCKET_DETAIL_LETTER(P_g, flops_per_second, "gemm_flops", "P_g");
HOCKET_DETAIL_LETTER(P_a, flops_per_second, "attention_flops", "P_a");
HOCKET_DETAIL_LETTER(M, bytes_per_second, "memory_bytes", "M");
HOCKET_DETAIL_LETTER(D_t, bytes_per_second, "tensor_bytes", "D_t");
HOCKET_DETAIL_LETTER(D_e, bytes_per_second, "expert_bytes", "D_e");
HOCKET_DETAIL_LETTER(D_p, bytes_per_second, "pipeline_bytes", "D_p");
HOCKET_DETAIL_LETTER(D_d, bytes_per_second, "data_bytes", "D_d");
HOCKET_DETAIL_LETTER(D_h, bytes_per_second, "host_bytes", "D_h");
HOCKET_DETAIL_LETTER(o_d, pure, "data_overlap", "o_d");
HOCKET_DETAIL_LETTER(o_e, pure, "expert_overlap", "o_e");
HOCKET_DETAIL_LETTER(o_h, pure, "host_overlap", "o_h");
#undef HOCKET_DETAIL_LETTER

}  // namespace hocket::inline HOCKET_ABI::cost::letters
