// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/activations.hpp>
#include <hocket/cost/model/communication.hpp>
#include <hocket/cost/model/flops.hpp>
#include <hocket/cost/model/parameters.hpp>
#include <hocket/cost/model/symbols.hpp>

/// The letters that blocks add to those of symbols.hpp. A member of a block goes before one of the same name elsewhere.
namespace hocket::inline HOCKET_ABI::cost::letters {

inline constexpr auto h_i = named("input", "h_i");
inline constexpr auto n = named("count", "n");
inline constexpr auto n_b = named("bias", "n_b");
inline constexpr auto n_s = named("streams", "n_s");
inline constexpr auto a_k = named("key_heads", "a_k");
inline constexpr auto a_v = named("value_heads", "a_v");
inline constexpr auto d_k = named("key_dim", "d_k");
inline constexpr auto k_c = named("kernel", "k_c");
inline constexpr auto c_k = named("chunk", "c_k");
inline constexpr auto d_s = named("state", "d_s");
inline constexpr auto g_s = named("groups", "g_s");
inline constexpr auto h_m = named("inner", "h_m");
inline constexpr auto n_u = named("uses", "n_u");
inline constexpr auto h_r = named("router_width", "h_r");
inline constexpr auto r_t = named("step_rank", "r_t");
inline constexpr auto r_g = named("gate_rank", "r_g");
inline constexpr auto whole_output_gate = named("whole_output_gate", "whole_output_gate");
inline constexpr auto g_o = named("gate_width", "g_o");
inline constexpr auto gate_bias = named("gate_bias", "gate_bias");
inline constexpr auto shared_kv = named("shared_kv", "shared_kv");
inline constexpr auto key_is_value = named("key_is_value", "key_is_value");
inline constexpr auto chunked = named("chunked", "chunked");
inline constexpr auto absorbed = named("absorbed", "absorbed");
inline constexpr auto a_x = named("index_heads", "a_x");
inline constexpr auto d_x = named("index_dim", "d_x");
inline constexpr auto k_x = named("selected", "k_x");
inline constexpr auto q_c = named("ratio", "q_c");
inline constexpr auto r_o = named("output_rank", "r_o");
inline constexpr auto g_r = named("output_groups", "g_r");
inline constexpr auto h_l = named("latent_width", "h_l");
inline constexpr auto E_z = named("zero_experts", "E_z");
inline constexpr auto conv_bias = named("conv_bias", "conv_bias");
inline constexpr auto gated_norm = named("gated_norm", "gated_norm");
inline constexpr auto inner_norms = named("inner_norms", "inner_norms");
inline constexpr auto overlaps = named("overlaps", "overlaps");
inline constexpr auto shares_input = named("shares_input", "shares_input");
inline constexpr auto n_o = named("sources", "n_o");
inline constexpr auto closes_block = named("closes_block", "closes_block");
inline constexpr auto h_o = named("outputs", "h_o");
inline constexpr auto n_e = named("elements", "n_e");
inline constexpr auto linear_counted = named("linear", "linear");
inline constexpr auto index_loss_counted = named("index_loss", "index_loss");
inline constexpr auto index_reduced = named("index_reduction", "index_reduction");
inline constexpr auto convolution_counted = named("state_space_convolution", "state_space_convolution");

}  // namespace hocket::inline HOCKET_ABI::cost::letters
