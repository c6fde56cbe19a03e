// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes of published models, for tests and benchmarks: Llama 2 (arXiv:2307.09288), DeepSeek-V3 (arXiv:2412.19437).
#pragma once
#include <hocket/cost/model/model.hpp>

namespace published {

inline constexpr hocket::cost::model llama_7b{
    .layers = 32, .hidden = 4096, .heads = 32, .kv_heads = 32, .head_dim = 128, .ffn = 11008, .vocabulary = 32000};
inline constexpr hocket::cost::model llama_13b{
    .layers = 40, .hidden = 5120, .heads = 40, .kv_heads = 40, .head_dim = 128, .ffn = 13824, .vocabulary = 32000};
inline constexpr hocket::cost::model llama_70b{
    .layers = 80, .hidden = 8192, .heads = 64, .kv_heads = 8, .head_dim = 128, .ffn = 28672, .vocabulary = 32000};
inline constexpr hocket::cost::model deepseek_v3{.layers = 61,
                                                 .hidden = 7168,
                                                 .heads = 128,
                                                 .kv_heads = 128,
                                                 .head_dim = 192,
                                                 .ffn = 18432,
                                                 .vocabulary = 129280,
                                                 .moe_layers = 58,
                                                 .experts = 256,
                                                 .active_experts = 8,
                                                 .expert_ffn = 2048,
                                                 .shared_ffn = 2048,
                                                 .router_bias = true,
                                                 .latent = true,
                                                 .query_rank = 1536,
                                                 .kv_rank = 512,
                                                 .nope_dim = 128,
                                                 .rope_dim = 64,
                                                 .value_dim = 128};

}  // namespace published
