// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/formula/expression.hpp>

/// The letters of the formulas: one meaning per letter, each tied to the member of a config (config.hpp) it is read
/// from. A namespace of its own, because single letters should not leak: `using namespace hocket::cost::letters;`.
namespace hocket::inline HOCKET_ABI::cost::letters {

// model
inline constexpr auto L = named("layers", "L");
inline constexpr auto h = named("hidden", "h");
inline constexpr auto a = named("heads", "a");
inline constexpr auto g = named("kv_heads", "g");
inline constexpr auto d = named("head_dim", "d");
inline constexpr auto f = named("ffn", "f");
inline constexpr auto V = named("vocabulary", "V");
inline constexpr auto n_pos = named("positions", "n_pos");
inline constexpr auto n_f = named("ffn_matrices", "n_f");
inline constexpr auto n_w = named("norm_weights", "n_w");
inline constexpr auto final_norm = named("final_norm", "final_norm");
inline constexpr auto embedding_norm = named("embedding_norm", "embedding_norm");
inline constexpr auto tied = named("tied", "tied");
inline constexpr auto qkv_bias = named("qkv_bias", "qkv_bias");
inline constexpr auto output_bias = named("output_bias", "output_bias");
inline constexpr auto ffn_bias = named("ffn_bias", "ffn_bias");
inline constexpr auto head_bias = named("head_bias", "head_bias");
inline constexpr auto qk_norm = named("qk_norm", "qk_norm");
inline constexpr auto qk_norm_all = named("qk_norm_all", "qk_norm_all");
inline constexpr auto attention_sinks = named("attention_sinks", "attention_sinks");
inline constexpr auto E = named("experts", "E");
inline constexpr auto k = named("active_experts", "k");
inline constexpr auto f_e = named("expert_ffn", "f_e");
inline constexpr auto f_s = named("shared_ffn", "f_s");
inline constexpr auto shared_gate = named("shared_gate", "shared_gate");
inline constexpr auto router_bias = named("router_bias", "router_bias");
inline constexpr auto expert_bias = named("expert_bias", "expert_bias");
inline constexpr auto r_q = named("query_rank", "r_q");
inline constexpr auto r_k = named("kv_rank", "r_k");
inline constexpr auto d_n = named("nope_dim", "d_n");
inline constexpr auto d_r = named("rope_dim", "d_r");
inline constexpr auto d_v = named("value_dim", "d_v");
inline constexpr auto w = named("window", "w");
inline constexpr auto n_mtp = named("prediction_heads", "n_mtp");
// the part a rank holds
inline constexpr auto first = named("first", "first");
inline constexpr auto last = named("last", "last");
inline constexpr auto i = named("rank", "i");
inline constexpr auto n_held = named("layer_passes", "n_held");
inline constexpr auto n_held_embedding = named("embedding_passes", "n_emb");
inline constexpr auto N_r = named<units::elements>("dense", "N_r");
inline constexpr auto N_e = named<units::elements>("expert", "N_e");
inline constexpr auto N_l = named<units::elements>("layer_dense", "N_l");
inline constexpr auto N_le = named<units::elements>("layer_expert", "N_le");
// training
inline constexpr auto s = named("sequence", "s");
inline constexpr auto b = named("micro_batch", "b");
inline constexpr auto B = named("global_batch", "B");
inline constexpr auto c_d = named<units::bytes_per_element>("dispatch_bytes", "c_d");
inline constexpr auto c_w = named<units::bytes_per_element>("weight_bytes", "c_w");
inline constexpr auto c_g = named<units::bytes_per_element>("gradient_bytes", "c_g");
inline constexpr auto c_m = named<units::bytes_per_element>("master_bytes", "c_m");
inline constexpr auto c_o = named<units::bytes_per_element>("moment_bytes", "c_o");
inline constexpr auto c = named<units::bytes_per_element>("activation_bytes", "c");
inline constexpr auto narrow_inputs = named("narrow_inputs", "narrow_inputs");
inline constexpr auto c_i = named<units::bytes_per_element>("input_bytes", "c_i");
inline constexpr auto flash = named("flash_attention", "flash");
inline constexpr auto dropout = named("dropout", "dropout");
inline constexpr auto wide_norm = named("wide_norm", "wide_norm");
inline constexpr auto fused = named("fused_activation", "fused");
inline constexpr auto s_2 = named("squared_lengths", "s_2");
inline constexpr auto s_w = named("windowed_pairs", "s_w");
inline constexpr auto fused_loss = named("fused_loss", "fused_loss");
inline constexpr auto buffers = named("workspace", "workspace");
// parallel
inline constexpr auto tp = named("tp", "tp");
inline constexpr auto pp = named("pp", "pp");
inline constexpr auto vp = named("vp", "vp");
inline constexpr auto dp = named("dp", "dp");
inline constexpr auto cp = named("cp", "cp");
inline constexpr auto ep = named("ep", "ep");
inline constexpr auto etp = named("etp", "etp");
inline constexpr auto sp = named("sequence_parallel", "sp");
inline constexpr auto zero_level = named("zero", "zero");
inline constexpr auto recomputed = named("recompute", "recompute");
inline constexpr auto n_c = named("copies", "n_c");
inline constexpr auto offload_optimizer = named("offload_optimizer", "offload_optimizer");
inline constexpr auto offload_activations = named("offload_activations", "offload_activations");
inline constexpr auto cp_exchange = named("cp_exchange", "cp_exchange");
// what is computed again, by operation
inline constexpr auto r_cast = named("cast", "r_cast");
inline constexpr auto r_cast_back = named("cast_back", "r_cast_back");
inline constexpr auto r_norm = named("norm", "r_norm");
inline constexpr auto r_gather = named("gather", "r_gather");
inline constexpr auto r_qkv = named("qkv", "r_qkv");
inline constexpr auto r_core = named("core", "r_core");
inline constexpr auto r_attention = named("attention_output", "r_attention");
inline constexpr auto r_output = named("projection", "r_output");
inline constexpr auto r_ffn_in = named("ffn_in", "r_ffn_in");
inline constexpr auto r_activation = named("activation", "r_activation");
inline constexpr auto r_ffn_out = named("ffn_out", "r_ffn_out");
// conventions
inline constexpr auto attention_counted = named("attention", "attention");
inline constexpr auto replay_counted = named("replay", "replay");
inline constexpr auto router_counted = named("router", "router");
inline constexpr auto latent_norms_counted = named("latent_norms", "latent_norms");
// a measured run
inline constexpr auto F_step = named<units::flops>("step_flops", "F");
inline constexpr auto T = named<units::seconds>("step_seconds", "T");
inline constexpr auto P = named<units::flops_per_second>("peak_flops", "P");
inline constexpr auto W = named("devices", "W");

// what hardware does in a second (step_time.hpp)
inline constexpr auto P_g = named<units::flops_per_second>("gemm_flops", "P_g");
inline constexpr auto P_a = named<units::flops_per_second>("attention_flops", "P_a");
inline constexpr auto M = named<units::bytes_per_second>("memory_bytes", "M");
inline constexpr auto D_t = named<units::bytes_per_second>("tensor_bytes", "D_t");
inline constexpr auto D_e = named<units::bytes_per_second>("expert_bytes", "D_e");
inline constexpr auto D_p = named<units::bytes_per_second>("pipeline_bytes", "D_p");
inline constexpr auto D_d = named<units::bytes_per_second>("data_bytes", "D_d");
inline constexpr auto D_h = named<units::bytes_per_second>("host_bytes", "D_h");
inline constexpr auto o_d = named("data_overlap", "o_d");
inline constexpr auto o_e = named("expert_overlap", "o_e");
inline constexpr auto o_h = named("host_overlap", "o_h");

}  // namespace hocket::inline HOCKET_ABI::cost::letters
