// SPDX-License-Identifier: Apache-2.0
// A config.json as the architecture's own configuration class writes it, from the neutral columns of models.csv.
#pragma once
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
    c["n_embd"] = n("hidden"), c["n_layer"] = n("layers"), c["n_head"] = n("heads");
    c["n_positions"] = n("max_pos");
    c["n_inner"] = n("ffn") == 4 * n("hidden") ? nlohmann::json(nullptr) : nlohmann::json(n("ffn"));
    return c;
  }
  if (family == "bloom") {
    c["model_type"] = "bloom";
    c["n_embed"] = n("hidden"), c["n_layer"] = n("layers"), c["num_attention_heads"] = n("heads");
    return c;
  }
  c["hidden_size"] = n("hidden"), c["num_hidden_layers"] = n("layers"), c["num_attention_heads"] = n("heads");
  c["max_position_embeddings"] = n("max_pos");
  if (family == "opt") {
    c["model_type"] = "opt", c["ffn_dim"] = n("ffn");
    c["word_embed_proj_dim"] = n("hidden"), c["do_layer_norm_before"] = true;
    return c;
  }
  if (family == "neox") {
    c["model_type"] = "gpt_neox", c["intermediate_size"] = n("ffn");
    return c;
  }
  c["model_type"] = family;
  if (n("ffn") != 0) c["intermediate_size"] = n("ffn");
  c["num_key_value_heads"] = n("kv_heads");
  if (family == "deepseek_v2" || family == "deepseek_v3") {
    c["q_lora_rank"] = n("q_lora"), c["kv_lora_rank"] = n("kv_lora");
    c["qk_nope_head_dim"] = n("qk_nope"), c["qk_rope_head_dim"] = n("qk_rope"), c["v_head_dim"] = n("v_dim");
    c["n_routed_experts"] = n("n_experts"), c["num_experts_per_tok"] = n("top_k");
    c["moe_intermediate_size"] = n("moe_ffn"), c["n_shared_experts"] = n("shared_ffn") / n("moe_ffn");
    c["first_k_dense_replace"] = n("n_dense"), c["moe_layer_freq"] = 1;
    c["topk_method"] = n("router_bias") != 0 ? "noaux_tc" : "group_limited_greedy";
    return c;
  }
  if (n("head_dim") * n("heads") != n("hidden") || family == "gemma" || family == "gemma2" || family == "qwen3")
    c["head_dim"] = n("head_dim");
  if (family == "mixtral") {
    c["intermediate_size"] = n("moe_ffn");
    c["num_local_experts"] = n("n_experts"), c["num_experts_per_tok"] = n("top_k");
  }
  if (family == "starcoder2") c["use_bias"] = true;
  if (n("window") != 0) c["sliding_window"] = n("window");
  return c;
}
