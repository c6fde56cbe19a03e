// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A config.json as the architecture's own configuration class writes it, from the neutral columns of models.csv.
#pragma once
#include <hocket/interop/hugging_face.hpp>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "csv.hpp"

inline nlohmann::json config_of(const csv::row& r) {
  const auto n = [&](const char* column) { return csv::number(r, column); };
  const std::string family = r.at("family");
  nlohmann::json c;
  const bool tied = n("tied") != 0;
  c["vocab_size"] = n("vocab");
  c["tie_word_embeddings"] = tied;
  if (family == "gpt2" || family == "gpt3" || family == "gptj") {
    c["model_type"] = family == "gptj" ? "gptj" : "gpt2";
    c["n_embd"] = n("hidden");
    c["n_layer"] = n("layers");
    c["n_head"] = n("heads");
    c["n_positions"] = n("max_pos");
    c["n_inner"] = n("ffn") == 4 * n("hidden") ? nlohmann::json(nullptr) : nlohmann::json(n("ffn"));
    return c;
  }
  if (family == "bloom") {
    c["model_type"] = "bloom";
    c["n_embed"] = n("hidden");
    c["n_layer"] = n("layers");
    c["num_attention_heads"] = n("heads");
    return c;
  }
  c["hidden_size"] = n("hidden");
  c["num_hidden_layers"] = n("layers");
  c["num_attention_heads"] = n("heads");
  c["max_position_embeddings"] = n("max_pos");
  if (family == "opt") {
    c["model_type"] = "opt";
    c["ffn_dim"] = n("ffn");
    c["word_embed_proj_dim"] = n("hidden");
    c["do_layer_norm_before"] = true;
    return c;
  }
  if (family == "neox") {
    c["model_type"] = "gpt_neox";
    c["intermediate_size"] = n("ffn");
    return c;
  }
  c["model_type"] = family;
  if (n("ffn") != 0) c["intermediate_size"] = n("ffn");
  c["num_key_value_heads"] = n("kv_heads");
  if (family == "deepseek_v2" || family == "deepseek_v3") {
    c["q_lora_rank"] = n("q_lora");
    c["kv_lora_rank"] = n("kv_lora");
    c["qk_nope_head_dim"] = n("qk_nope");
    c["qk_rope_head_dim"] = n("qk_rope");
    c["v_head_dim"] = n("v_dim");
    c["n_routed_experts"] = n("n_experts");
    c["num_experts_per_tok"] = n("top_k");
    c["moe_intermediate_size"] = n("moe_ffn");
    c["n_shared_experts"] = n("shared_ffn") / n("moe_ffn");
    c["first_k_dense_replace"] = n("n_dense");
    c["moe_layer_freq"] = 1;
    c["topk_method"] = n("router_bias") != 0 ? "noaux_tc" : "group_limited_greedy";
    return c;
  }
  if (n("head_dim") * n("heads") != n("hidden") || family == "gemma" || family == "gemma2" || family == "qwen3")
    c["head_dim"] = n("head_dim");
  if (family == "mixtral") {
    c["intermediate_size"] = n("moe_ffn");
    c["num_local_experts"] = n("n_experts");
    c["num_experts_per_tok"] = n("top_k");
  }
  if (family == "starcoder2") c["use_bias"] = true;
  if (n("window") != 0) c["sliding_window"] = n("window");
  return c;
}

struct published_size {
  long long total;  ///< parameters, as the model's page states them
  hocket::cost::model model;
};
/// Models that peers' files name and models.csv does not have: sizes of their published config.json.
inline const std::map<std::string, published_size>& more_models() {
  static const std::map<std::string, published_size> models{
      {"llama-13b",
       {13015864320,
        {.layers = 40,
         .hidden = 5120,
         .heads = 40,
         .kv_heads = 40,
         .head_dim = 128,
         .ffn = 13824,
         .vocabulary = 32000}}},
      {"llama-65b",
       {65285660672,
        {.layers = 80,
         .hidden = 8192,
         .heads = 64,
         .kv_heads = 64,
         .head_dim = 128,
         .ffn = 22016,
         .vocabulary = 32000}}},
      {"llama3-70b",
       {70553706496,
        {.layers = 80,
         .hidden = 8192,
         .heads = 64,
         .kv_heads = 8,
         .head_dim = 128,
         .ffn = 28672,
         .vocabulary = 128256}}},
      {"llama3.2-3b",
       {3212749824,
        {.layers = 28,
         .hidden = 3072,
         .heads = 24,
         .kv_heads = 8,
         .head_dim = 128,
         .ffn = 8192,
         .vocabulary = 128256,
         .tied = true}}},
      {"mistral-7b-v0.1",
       {7241732096,
        {.layers = 32,
         .hidden = 4096,
         .heads = 32,
         .kv_heads = 8,
         .head_dim = 128,
         .ffn = 14336,
         .vocabulary = 32000,
         .window = 4096,
         .window_layers = 32}}},
      {"qwen2-7b",
       {7615616512,
        {.layers = 28,
         .hidden = 3584,
         .heads = 28,
         .kv_heads = 4,
         .head_dim = 128,
         .ffn = 18944,
         .vocabulary = 152064,
         .qkv_bias = true}}},
      {"qwen2-72b",
       {72706203648,
        {.layers = 80,
         .hidden = 8192,
         .heads = 64,
         .kv_heads = 8,
         .head_dim = 128,
         .ffn = 29568,
         .vocabulary = 152064,
         .qkv_bias = true}}},
      {"qwen2.5-0.5b",
       {494032768,
        {.layers = 24,
         .hidden = 896,
         .heads = 14,
         .kv_heads = 2,
         .head_dim = 64,
         .ffn = 4864,
         .vocabulary = 151936,
         .tied = true,
         .qkv_bias = true}}},
      {"qwen2.5-1.5b",
       {1543714304,
        {.layers = 28,
         .hidden = 1536,
         .heads = 12,
         .kv_heads = 2,
         .head_dim = 128,
         .ffn = 8960,
         .vocabulary = 151936,
         .tied = true,
         .qkv_bias = true}}},
      {"qwen2.5-32b",
       {32763876352,
        {.layers = 64,
         .hidden = 5120,
         .heads = 40,
         .kv_heads = 8,
         .head_dim = 128,
         .ffn = 27648,
         .vocabulary = 152064,
         .qkv_bias = true}}},
      {"gemma2-9b",
       {9241705984,
        {.layers = 42,
         .hidden = 3584,
         .heads = 16,
         .kv_heads = 8,
         .head_dim = 256,
         .ffn = 14336,
         .vocabulary = 256000,
         .layer_norms = 4,
         .tied = true,
         .window = 4096,
         .window_layers = 21}}},
      {"bloom-560m",
       {559214592,
        {.layers = 24,
         .hidden = 1024,
         .heads = 16,
         .kv_heads = 16,
         .head_dim = 64,
         .ffn = 4096,
         .vocabulary = 250880,
         .ffn_matrices = 2,
         .norm_weights = 2,
         .embedding_norm = true,
         .tied = true,
         .qkv_bias = true,
         .output_bias = true,
         .ffn_bias = true}}},
      {"qwen3-30b-a3b",
       {30532122624,
        {.layers = 48,
         .hidden = 2048,
         .heads = 32,
         .kv_heads = 4,
         .head_dim = 128,
         .vocabulary = 151936,
         .qk_norm = true,
         .moe_layers = 48,
         .experts = 128,
         .active_experts = 8,
         .expert_ffn = 768}}},
      {"qwen3-235b-a22b",
       {235093634560,
        {.layers = 94,
         .hidden = 4096,
         .heads = 64,
         .kv_heads = 4,
         .head_dim = 128,
         .vocabulary = 151936,
         .qk_norm = true,
         .moe_layers = 94,
         .experts = 128,
         .active_experts = 8,
         .expert_ffn = 1536}}},
      {"phi-2",
       {2779683840,
        {.layers = 32,
         .hidden = 2560,
         .heads = 32,
         .kv_heads = 32,
         .head_dim = 80,
         .ffn = 10240,
         .vocabulary = 51200,
         .ffn_matrices = 2,
         .norm_weights = 2,
         .layer_norms = 1,
         .qkv_bias = true,
         .output_bias = true,
         .ffn_bias = true,
         .head_bias = true}}},
      {"deepseek-v2-lite",
       {15706484224,
        {.layers = 27,
         .hidden = 2048,
         .heads = 16,
         .kv_heads = 16,
         .head_dim = 192,
         .ffn = 10944,
         .vocabulary = 102400,
         .moe_layers = 26,
         .experts = 64,
         .active_experts = 6,
         .expert_ffn = 1408,
         .shared_ffn = 2816,
         .latent = true,
         .kv_rank = 512,
         .nope_dim = 128,
         .rope_dim = 64,
         .value_dim = 128}}},
  };
  return models;
}

/// All of them, by name.
inline const std::map<std::string, hocket::cost::model>& all_models() {
  static const auto models = [] {
    std::map<std::string, hocket::cost::model> m;
    for (const auto& r : csv::read("models.csv"))
      m.emplace(r.at("name"), hocket::hugging_face::read_model(config_of(r)).value());
    for (const auto& [name, size] : more_models()) m.emplace(name, size.model);
    return m;
  }();
  return models;
}
