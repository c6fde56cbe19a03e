// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/cost/model/model.hpp>
#include <hocket/interop/config_fields.hpp>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

/// Sizes of a model from its Hugging Face `config.json`, as published.
namespace hocket::inline HOCKET_ABI::hugging_face {

/// Reads a config. Architectures:
///
///     llama, mistral, mixtral, qwen, qwen2, qwen2_moe, qwen3, qwen3_moe, gemma, gemma2, gemma3_text, phi, phi3,
///     phimoe, starcoder2, gpt2, gpt_bigcode, gpt_neo, gptj, codegen, gpt_neox, opt, bloom, falcon, mpt, baichuan,
///     internlm2, chatglm, glm, glm4, glm4_moe, minicpm, ernie4_5, seed_oss, smollm3, stablelm, cohere, cohere2, dbrx,
///     olmo, olmo2, olmoe, gpt_oss, granite, granitemoe, deepseek, deepseek_v2, deepseek_v3, kimi_k2
///
/// Errors, each naming the field: errc::missing_field, errc::contradictory_field, errc::indivisible,
/// errc::unknown_architecture, errc::malformed (not JSON).
/// - errc::out_of_range: a size that is no whole number from 1 to 2^31 - 1.
/// - errc::invalid_argument: 0, no whole number; 1, not true or false; 2, no list of layer numbers; 3, no list of one
///   word per layer.
/// - errc::unknown_value: a word or class that is not the architecture's.
///
/// Multi-token-prediction layers (num_nextn_predict_layers) are not part of the model's published size and not counted.
///
///     auto r = hocket::hugging_face::parse_config(text);
///     r->model.layers == 40 && r->assumed.empty();
[[nodiscard]] result<reading> read_config(const nlohmann::json& config);
/// The same from the text of the file.
[[nodiscard]] result<reading> parse_config(std::string_view text);

/// The model alone, for callers to whom documented defaults are fine.
[[nodiscard]] inline result<cost::model> read_model(const nlohmann::json& config) {
  auto r = read_config(config);
  if (!r) return r.error();
  return r->model;
}

namespace detail {

inline void read_common(fields& in, cost::model& m) {
  m.hidden = in.size("hidden_size");
  m.layers = in.size("num_hidden_layers");
  m.heads = in.size("num_attention_heads");
  m.vocabulary = in.size("vocab_size");
}

// hidden / heads unless the config says otherwise: then the quotient must be whole.
inline std::int64_t head_dim_of(fields& in, const cost::model& m) {
  if (m.hidden % m.heads != 0) in.fail(error{errc::indivisible, m.hidden, m.heads}.with("hidden_size / heads"));
  return m.hidden / m.heads;
}

// Llama and what descends from it: RMSNorm, gated FFN, rotary positions, grouped queries.
// Their classes take one key-value head per head where num_key_value_heads is null; where it is absent, llama and phi3
// do, and the others have numbers of their own that fit one size of model only.
// A head's width is hidden / heads, but for the classes that have a default of their own.
inline void read_llama_like(fields& in, cost::model& m, bool tied, bool may_lack_kv_heads = false,
                            std::int64_t head_dim = 0) {
  read_common(in, m);
  m.kv_heads = may_lack_kv_heads || in.json().contains("num_key_value_heads")
                 ? in.size_or("num_key_value_heads", m.heads)
                 : in.size("num_key_value_heads");
  m.head_dim = head_dim == 0 && !in.has("head_dim") ? head_dim_of(in, m) : in.size_or("head_dim", head_dim);
  m.tied = in.flag_or("tie_word_embeddings", tied);
}
inline void no_grouped_queries(cost::model& m) { m.kv_heads = m.heads; }

inline void layer_norm_everywhere(cost::model& m) {
  m.norm_weights = 2;
  m.ffn_matrices = 2;
  m.qkv_bias = m.output_bias = m.ffn_bias = true;
}

inline void read_gpt2(fields& in, cost::model& m) {
  m.hidden = in.size("n_embd");
  m.layers = in.size("n_layer");
  m.heads = in.size("n_head");
  m.vocabulary = in.size("vocab_size");
  m.positions = in.size("n_positions", "n_ctx");
  m.head_dim = head_dim_of(in, m);
  m.ffn = in.has("n_inner") ? in.size("n_inner") : 4 * m.hidden;  // n_inner: null means 4 n_embd, by definition
  m.tied = in.flag_or("tie_word_embeddings", true);
  no_grouped_queries(m);
  layer_norm_everywhere(m);
}

inline void read_gpt_neo(fields& in, cost::model& m) {
  m.hidden = in.size("hidden_size");
  m.layers = in.size("num_layers");
  m.heads = in.size("num_heads");
  m.vocabulary = in.size("vocab_size");
  m.positions = in.size("max_position_embeddings");
  m.head_dim = head_dim_of(in, m);
  m.ffn = in.has("intermediate_size") ? in.size("intermediate_size") : 4 * m.hidden;  // null, by definition
  m.tied = in.flag_or("tie_word_embeddings", true);
  no_grouped_queries(m);
  layer_norm_everywhere(m);
  m.qkv_bias = false;
  m.window = in.size("window_size");
  m.window_layers = in.layers_called("attention_layers", "local", "global", m.layers);
}

inline void read_gptj(fields& in, cost::model& m) {
  m.hidden = in.size("n_embd");
  m.layers = in.size("n_layer");
  m.heads = in.size("n_head");
  m.vocabulary = in.size("vocab_size");
  m.head_dim = head_dim_of(in, m);
  m.ffn = in.has("n_inner") ? in.size("n_inner") : 4 * m.hidden;
  m.tied = in.flag_or("tie_word_embeddings", false);
  no_grouped_queries(m);
  m.norm_weights = 2;
  m.ffn_matrices = 2;
  m.layer_norms = 1;
  m.ffn_bias = m.head_bias = true;
}

inline void read_gpt_neox(fields& in, cost::model& m) {
  read_common(in, m);
  m.ffn = in.size("intermediate_size");
  m.head_dim = head_dim_of(in, m);
  m.tied = in.flag_or("tie_word_embeddings", false);
  no_grouped_queries(m);
  layer_norm_everywhere(m);
  m.qkv_bias = m.output_bias = in.flag_or("attention_bias", true);
}

inline void read_phi(fields& in, cost::model& m) {
  read_common(in, m);
  m.kv_heads = in.size_or("num_key_value_heads", m.heads);
  m.ffn = in.size("intermediate_size");
  m.head_dim = head_dim_of(in, m);
  m.tied = in.flag_or("tie_word_embeddings", false);
  in.expect_flag("qk_layernorm", false);
  layer_norm_everywhere(m);
  m.layer_norms = 1;
  m.head_bias = true;  // one norm feeds attention and FFN in parallel
}

inline void read_falcon(fields& in, cost::model& m) {
  read_common(in, m);
  const bool grouped = in.flag_or("new_decoder_architecture", false);
  m.kv_heads = grouped ? in.size_or("num_kv_heads", m.heads) : in.flag_or("multi_query", true) ? 1 : m.heads;
  m.ffn = in.has("ffn_hidden_size") ? in.size("ffn_hidden_size") : 4 * m.hidden;
  m.head_dim = head_dim_of(in, m);
  m.tied = in.flag_or("tie_word_embeddings", true);
  layer_norm_everywhere(m);
  const bool parallel = in.flag_or("parallel_attn", true);
  m.layer_norms = parallel ? in.size_or("num_ln_in_parallel_attn", grouped ? 2 : 1) : 2;
  m.qkv_bias = m.output_bias = m.ffn_bias = in.flag_or("bias", false);
}

inline void read_mpt(fields& in, cost::model& m) {
  m.hidden = in.size("d_model");
  m.layers = in.size("n_layers");
  m.heads = in.size("n_heads");
  m.vocabulary = in.size("vocab_size");
  m.head_dim = head_dim_of(in, m);
  m.ffn = in.size_or("expansion_ratio", 4) * m.hidden;
  m.tied = in.flag_or("tie_word_embeddings", true);
  in.expect_flag("no_bias", true);
  no_grouped_queries(m);
  m.ffn_matrices = 2;
  in.within("attn_config", [](fields& attention) {
    attention.one_of("attn_type", "multihead_attention", {"multihead_attention"});
    attention.expect_flag("alibi", true);
    attention.expect_flag("qk_ln", false);
  });
}

inline void read_dbrx(fields& in, cost::model& m) {
  m.hidden = in.size("d_model");
  m.layers = in.size("n_layers");
  m.heads = in.size("n_heads");
  m.vocabulary = in.size("vocab_size");
  m.head_dim = head_dim_of(in, m);
  m.tied = in.flag_or("tie_word_embeddings", false);
  in.within("attn_config", [&](fields& attention) { m.kv_heads = attention.size("kv_n_heads"); });
  in.within("ffn_config", [&](fields& ffn) {
    m.experts = ffn.size("moe_num_experts");
    m.active_experts = ffn.size("moe_top_k");
    m.expert_ffn = ffn.size("ffn_hidden_size");
  });
  m.moe_layers = m.layers;
}

inline void read_chatglm(fields& in, cost::model& m) {
  m.hidden = in.size("hidden_size");
  m.layers = in.size("num_layers");
  m.heads = in.size("num_attention_heads");
  m.vocabulary = in.size("padded_vocab_size");
  m.head_dim = in.size("kv_channels");
  m.ffn = in.size("ffn_hidden_size");
  m.kv_heads = in.flag_or("multi_query_attention", false) ? in.size("multi_query_group_num") : m.heads;
  m.tied = in.flag_or("tie_word_embeddings", false);
  m.qkv_bias = in.flag_or("add_qkv_bias", false);
  in.expect_flag("add_bias_linear", false);
  in.expect_flag("rmsnorm", true);
  in.expect_flag("post_layer_norm", true);
}

// Of Qwen before 1.5: intermediate_size is that of both products before SiLU together.
inline void read_qwen(fields& in, cost::model& m) {
  read_common(in, m);
  m.head_dim = in.size("kv_channels");
  const std::int64_t both = in.size("intermediate_size");
  if (both % 2 != 0) in.fail(error{errc::indivisible, both, 2}.with("intermediate_size"));
  m.ffn = both / 2;
  m.tied = in.flag_or("tie_word_embeddings", false);
  in.expect_flag("no_bias", true);
  no_grouped_queries(m);
  m.qkv_bias = true;
}

inline void read_opt(fields& in, cost::model& m) {
  read_common(in, m);
  m.ffn = in.size("ffn_dim");
  m.positions = in.size("max_position_embeddings") + 2;  // two rows before position 0, as in the published weights
  m.head_dim = head_dim_of(in, m);
  in.expect("word_embed_proj_dim", m.hidden);  // the projections of opt-350m are not modelled
  in.expect_flag("do_layer_norm_before", true);
  in.expect_flag("_remove_final_layer_norm", false);
  in.expect_flag("layer_norm_elementwise_affine", true);
  m.tied = in.flag_or("tie_word_embeddings", true);
  no_grouped_queries(m);
  layer_norm_everywhere(m);
  m.qkv_bias = m.output_bias = m.ffn_bias = in.flag_or("enable_bias", true);
}

inline void read_bloom(fields& in, cost::model& m) {
  m.hidden = in.size("hidden_size", "n_embed");
  m.layers = in.size("n_layer", "num_hidden_layers");
  m.heads = in.size("n_head", "num_attention_heads");
  m.vocabulary = in.size("vocab_size");
  m.ffn = 4 * m.hidden;
  m.head_dim = head_dim_of(in, m);
  m.tied = in.flag_or("tie_word_embeddings", true);
  m.embedding_norm = true;
  no_grouped_queries(m);
  layer_norm_everywhere(m);
}

inline void read_starcoder2(fields& in, cost::model& m) {
  read_common(in, m);
  m.kv_heads = in.size("num_key_value_heads");
  m.ffn = in.size("intermediate_size");
  m.head_dim = head_dim_of(in, m);
  m.tied = in.flag_or("tie_word_embeddings", true);
  layer_norm_everywhere(m);
  m.qkv_bias = m.output_bias = m.ffn_bias = in.flag_or("use_bias", true);
  m.window = in.size_or_none("sliding_window", 0);
  m.window_layers = m.window > 0 ? m.layers : 0;
}

// Every layer a mixture.
inline void read_experts(fields& in, cost::model& m, const char* count) {
  m.experts = in.size(count);
  m.active_experts = in.size("num_experts_per_tok");
  m.expert_ffn = in.size("intermediate_size");
  m.moe_layers = m.layers;
}

// Every layer a mixture, or the pattern of Qwen's MoE configs: each decoder_sparse_step-th, except mlp_only_layers.
inline void read_qwen_experts(fields& in, cost::model& m) {
  m.experts = in.size("num_experts");
  m.active_experts = in.size("num_experts_per_tok");
  m.expert_ffn = in.size("moe_intermediate_size");
  const std::int64_t step = in.size_or("decoder_sparse_step", 1);
  m.moe_layers = m.layers / step;
  if (in.has("mlp_only_layers")) {
    const auto& only = in.json().at("mlp_only_layers");
    std::vector<std::int64_t> dense;
    if (!only.is_array()) in.fail(error{errc::invalid_argument, 2}.with("mlp_only_layers"));
    else
      for (const auto& at : only) {
        const std::int64_t layer = at.is_number_integer() ? at.get<std::int64_t>() : -1;  // beyond 2^63: negative
        if (layer < 0 || layer >= m.layers) in.fail(error{errc::invalid_argument, 2}.with("mlp_only_layers"));
        else if ((layer + 1) % step == 0) dense.push_back(layer);
      }
    std::sort(dense.begin(), dense.end());  // a layer named twice is still one layer
    m.moe_layers -= std::unique(dense.begin(), dense.end()) - dense.begin();
  }
  if (m.moe_layers < m.layers) m.ffn = in.size("intermediate_size");
}

inline void read_deepseek_experts(fields& in, cost::model& m) {
  m.experts = in.size("n_routed_experts");
  m.active_experts = in.size("num_experts_per_tok");
  m.expert_ffn = in.size("moe_intermediate_size");
  m.shared_ffn = in.size_or_null("n_shared_experts") * m.expert_ffn;
  in.expect("moe_layer_freq", 1);
  const std::int64_t dense = in.size_or_null("first_k_dense_replace");
  if (dense > m.layers) in.fail(error{errc::contradictory_field, dense, m.layers}.with("first_k_dense_replace"));
  m.moe_layers = m.layers - dense;
}

inline void read_deepseek_v2(fields& in, cost::model& m, std::string_view type) {
  read_common(in, m);
  in.expect_flag("attention_bias", false);
  m.latent = true;
  m.query_rank = in.size_or_null("q_lora_rank");
  m.kv_rank = in.size("kv_lora_rank");
  m.nope_dim = in.size("qk_nope_head_dim");
  m.rope_dim = in.size("qk_rope_head_dim");
  m.value_dim = in.size("v_head_dim");
  in.expect("num_key_value_heads", m.heads);  // latent attention has no groups
  m.kv_heads = m.heads;
  m.head_dim = m.nope_dim + m.rope_dim;
  m.ffn = in.size("intermediate_size");
  m.tied = in.flag_or("tie_word_embeddings", false);
  read_deepseek_experts(in, m);
  m.router_bias = in.one_of("topk_method", type == "deepseek_v2" ? "greedy" : "noaux_tc",
                            {"greedy", "group_limited_greedy", "noaux_tc"}) == "noaux_tc";
}

// Windowed layers: those that "layer_types" lists, else those of the architecture's rule.
inline void read_window(fields& in, cost::model& m, std::int64_t by_rule) {
  m.window = in.size("sliding_window");
  m.window_layers = in.has("layer_types")
                      ? in.layers_called("layer_types", "sliding_attention", "full_attention", m.layers)
                      : by_rule;
}
// Each pattern-th layer sees everything.
inline std::int64_t all_but_each(fields& in, const cost::model& m, std::int64_t otherwise) {
  if (in.has("layer_types")) return 0;
  return m.layers - m.layers / in.size_or("sliding_window_pattern", otherwise);
}
inline void read_qwen_window(fields& in, cost::model& m) {
  if (!in.flag_or("use_sliding_window", false)) return;
  const std::int64_t above = in.has("layer_types") ? 0 : in.size_or_null("max_window_layers");
  read_window(in, m, above < m.layers ? m.layers - above : 0);
}

inline void check(fields& in, const cost::model& m) {
  if (!in.ok()) return;
  if (m.kv_heads > m.heads) in.fail(error{errc::contradictory_field, m.kv_heads, m.heads}.with("num_key_value_heads"));
  else if (m.heads % m.kv_heads != 0)
    in.fail(error{errc::indivisible, m.heads, m.kv_heads}.with("num_attention_heads"));
  if (m.active_experts > m.experts)
    in.fail(error{errc::contradictory_field, m.active_experts, m.experts}.with("num_experts_per_tok"));
}

// "LlamaForCausalLM" is a class of "llama": both as letters and digits, without what the class is for.
inline std::string family_of(std::string_view name) {
  for (const std::string_view purpose : {"For", "LMHead", "Model"})
    if (const auto at = name.find(purpose); at != name.npos && at > 0) name = name.substr(0, at);
  std::string out;
  for (const char c : name)
    if (c != '_') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}
// What classes of a model_type begin with.
inline std::string own_family(std::string_view type) {
  if (type == "kimi_k2") return "deepseekv3";
  if (type.ends_with("_text")) type.remove_suffix(5);
  return family_of(type);
}
// A config that was put together from two is noticed by its class.
inline void check_class(fields& in, const std::string& type) {
  if (!in.has("architectures")) return;
  const std::string own = own_family(type);
  const auto& classes = in.json().at("architectures");
  const auto is_own = [&](const auto& c) { return c.is_string() && family_of(c.template get<std::string>()) == own; };
  if (!classes.is_array() || !std::all_of(classes.begin(), classes.end(), is_own))
    return void(in.fail(error{errc::unknown_value}.with("architectures")));
  // A classifier has the layers, but another head than the one that is counted.
  for (const auto& each : classes) {
    const auto name = each.get<std::string>();
    if (name.find("For") != name.npos && name.find("CausalLM") == name.npos &&
        name.find("ConditionalGeneration") == name.npos)
      in.assume("lm_head", "vocab_size rows, though the class is none for causal language models");
  }
}

inline void read_llama(fields& in, cost::model& m, std::string_view type) {
  read_llama_like(in, m, type == "minicpm" || type == "smollm3", type != "smollm3");
  m.ffn = in.size("intermediate_size");
  m.qkv_bias = m.output_bias = in.flag_or("attention_bias", false);
  if (type == "olmo") m.norm_weights = 0;  // norms without weights
  if (type != "minicpm" && type != "olmo") m.ffn_bias = in.flag_or("mlp_bias", false);
  if (type == "smollm3") read_qwen_window(in, m);
}
inline void read_seed_oss(fields& in, cost::model& m) {
  read_llama_like(in, m, false, false, 128);
  m.ffn = in.size("intermediate_size");
  m.qkv_bias = in.flag_or("attention_bias", true);
  m.output_bias = in.flag_or("attention_out_bias", false);
  m.ffn_bias = in.flag_or("mlp_bias", false);
}
inline void read_internlm2(fields& in, cost::model& m, std::string_view type) {
  read_llama_like(in, m, type == "ernie4_5", false, type == "ernie4_5" ? 128 : 0);
  m.ffn = in.size("intermediate_size");
  m.qkv_bias = m.output_bias = type == "internlm2" ? in.flag_or("bias", true) : in.flag_or("use_bias", false);
  if (type == "ernie4_5") m.ffn_bias = m.qkv_bias;
}
inline void read_glm(fields& in, cost::model& m, std::string_view type) {
  read_llama_like(in, m, false, false, 128);
  m.ffn = in.size("intermediate_size");
  m.qkv_bias = in.flag_or("attention_bias", false);
  m.layer_norms = type == "glm4" ? 4 : 2;
}
inline void read_glm4_moe(fields& in, cost::model& m) {
  read_llama_like(in, m, false, false);
  m.ffn = in.size("intermediate_size");
  m.qkv_bias = in.flag_or("attention_bias", false);
  m.qk_norm = in.flag_or("use_qk_norm", false);
  read_deepseek_experts(in, m);
  m.router_bias = true;
}
inline void read_stablelm(fields& in, cost::model& m) {
  read_llama_like(in, m, false);
  m.ffn = in.size("intermediate_size");
  m.norm_weights = 2;
  m.layer_norms = in.flag_or("use_parallel_residual", false) ? 1 : 2;
  m.qkv_bias = in.flag_or("use_qkv_bias", false);
  in.expect_flag("qk_layernorm", false);
}
inline void read_cohere(fields& in, cost::model& m, std::string_view type) {
  read_llama_like(in, m, true, true);
  m.ffn = in.size("intermediate_size");
  m.layer_norms = 1;  // feeds attention and FFN in parallel
  m.qkv_bias = m.output_bias = in.flag_or("attention_bias", false);
  if (type == "cohere") m.qk_norm_all = in.flag_or("use_qk_norm", false);
  if (type == "cohere2") read_window(in, m, all_but_each(in, m, 4));
}
inline void read_olmo2(fields& in, cost::model& m, std::string_view type) {
  read_llama_like(in, m, false, true);
  m.qkv_bias = m.output_bias = in.flag_or("attention_bias", false);
  m.qk_norm_all = true;
  if (type == "olmo2") m.ffn = in.size("intermediate_size");
  else read_experts(in, m, "num_experts");
}
inline void read_gpt_oss(fields& in, cost::model& m) {
  read_llama_like(in, m, false, false, 64);
  m.qkv_bias = m.output_bias = in.flag_or("attention_bias", true);
  read_experts(in, m, "num_local_experts");
  m.attention_sinks = m.router_bias = m.expert_bias = true;
  read_window(in, m, (m.layers + 1) / 2);
}
inline void read_baichuan(fields& in, cost::model& m) {
  read_common(in, m);
  m.ffn = in.size("intermediate_size");
  m.head_dim = head_dim_of(in, m);
  m.tied = in.flag_or("tie_word_embeddings", false);
  no_grouped_queries(m);
}
inline void read_mistral(fields& in, cost::model& m, std::string_view type) {
  read_llama_like(in, m, false, type == "phi3");
  m.ffn = in.size("intermediate_size");
  m.window = in.size_or_none("sliding_window", type == "mistral" ? 4096 : 0);
  m.window_layers = m.window > 0 ? m.layers : 0;
}
inline void read_mixtral(fields& in, cost::model& m, std::string_view type) {
  read_llama_like(in, m, false);
  if (type != "mixtral") m.qkv_bias = m.output_bias = in.flag_or("attention_bias", false);
  if (type == "phimoe") {
    m.norm_weights = 2;
    m.head_bias = in.flag_or("lm_head_bias", false);
  }
  read_experts(in, m, "num_local_experts");
  if (type != "granitemoe") m.window = in.size_or_none("sliding_window", 0);
  m.window_layers = m.window > 0 ? m.layers : 0;
}
inline void read_qwen2(fields& in, cost::model& m, std::string_view type) {
  read_llama_like(in, m, false);
  m.qkv_bias = true;
  if (type == "qwen2") m.ffn = in.size("intermediate_size");
  else {
    read_qwen_experts(in, m);
    m.shared_ffn = in.size("shared_expert_intermediate_size");
    m.shared_gate = true;
  }
  read_qwen_window(in, m);
}
inline void read_qwen3(fields& in, cost::model& m, std::string_view type) {
  read_llama_like(in, m, false, false, 128);
  m.qk_norm = true;
  m.qkv_bias = m.output_bias = in.flag_or("attention_bias", false);
  if (type == "qwen3") m.ffn = in.size("intermediate_size");
  else read_qwen_experts(in, m);
  if (in.has("use_sliding_window")) read_qwen_window(in, m);
}
inline void read_gemma(fields& in, cost::model& m, std::string_view type) {
  read_llama_like(in, m, true);
  if (!in.has("head_dim")) in.fail(error{errc::missing_field}.with("head_dim"));
  m.ffn = in.size("intermediate_size");
  m.qkv_bias = m.output_bias = in.flag_or("attention_bias", false);
  if (type != "gemma") m.layer_norms = 4;
  if (type == "gemma2") read_window(in, m, (m.layers + 1) / 2);  // layers 0, 2, 4, … are windowed
  if (type == "gemma3_text") {
    m.qk_norm = true;
    read_window(in, m, all_but_each(in, m, 6));
  }
}
inline void read_gpt_bigcode(fields& in, cost::model& m) {
  read_gpt2(in, m);
  if (in.flag_or("multi_query", true)) m.kv_heads = 1;
}
inline void read_deepseek(fields& in, cost::model& m) {
  read_llama_like(in, m, false, true);
  m.qkv_bias = m.output_bias = in.flag_or("attention_bias", false);
  m.ffn = in.size("intermediate_size");
  read_deepseek_experts(in, m);
}

// Who reads the config of which model_type.
struct architecture {
  std::string_view type;  ///< literal
  void (*read)(fields&, cost::model&, std::string_view type);
};
template <void (*Read)(fields&, cost::model&)>
void without_type(fields& in, cost::model& m, std::string_view) {
  Read(in, m);
}
inline constexpr architecture architectures[] = {
    {"llama", read_llama},
    {"granite", read_llama},
    {"minicpm", read_llama},
    {"smollm3", read_llama},
    {"olmo", read_llama},
    {"seed_oss", without_type<read_seed_oss>},
    {"internlm2", read_internlm2},
    {"ernie4_5", read_internlm2},
    {"glm", read_glm},
    {"glm4", read_glm},
    {"glm4_moe", without_type<read_glm4_moe>},
    {"stablelm", without_type<read_stablelm>},
    {"cohere", read_cohere},
    {"cohere2", read_cohere},
    {"olmo2", read_olmo2},
    {"olmoe", read_olmo2},
    {"gpt_oss", without_type<read_gpt_oss>},
    {"baichuan", without_type<read_baichuan>},
    {"mistral", read_mistral},
    {"phi3", read_mistral},
    {"mixtral", read_mixtral},
    {"granitemoe", read_mixtral},
    {"phimoe", read_mixtral},
    {"qwen2", read_qwen2},
    {"qwen2_moe", read_qwen2},
    {"qwen3", read_qwen3},
    {"qwen3_moe", read_qwen3},
    {"gemma", read_gemma},
    {"gemma2", read_gemma},
    {"gemma3_text", read_gemma},
    {"starcoder2", without_type<read_starcoder2>},
    {"gpt2", without_type<read_gpt2>},
    {"gpt_bigcode", without_type<read_gpt_bigcode>},
    {"gpt_neo", without_type<read_gpt_neo>},
    {"gptj", without_type<read_gptj>},
    {"codegen", without_type<read_gptj>},
    {"gpt_neox", without_type<read_gpt_neox>},
    {"opt", without_type<read_opt>},
    {"bloom", without_type<read_bloom>},
    {"phi", without_type<read_phi>},
    {"falcon", without_type<read_falcon>},
    {"mpt", without_type<read_mpt>},
    {"dbrx", without_type<read_dbrx>},
    {"chatglm", without_type<read_chatglm>},
    {"qwen", without_type<read_qwen>},
    {"deepseek", without_type<read_deepseek>},
    {"deepseek_v2", read_deepseek_v2},
    {"deepseek_v3", read_deepseek_v2},
    {"kimi_k2", read_deepseek_v2},
};

inline bool read_architecture(std::string_view type, fields& in, cost::model& m) {
  for (const architecture& each : architectures) {
    if (each.type != type) continue;
    each.read(in, m, type);
    return true;
  }
  return false;
}
}  // namespace detail

inline result<reading> read_config(const nlohmann::json& config) {
  if (!config.is_object()) return error{errc::malformed, 1, 1}.with("config");
  reading out;
  detail::fields in(config, out);
  if (!in.has("model_type")) return error{errc::missing_field}.with("model_type");
  const auto& type = config.at("model_type");
  if (!type.is_string())
    return error{errc::unknown_architecture}.with(type.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  out.architecture = type.get<std::string>();
  if (!detail::read_architecture(out.architecture, in, out.model))
    return error{errc::unknown_architecture}.with(out.architecture);
  in.expect_flag("is_encoder_decoder", false);
  in.expect_flag("add_cross_attention", false);
  in.check_lists_of_layers(out.model.layers);
  detail::check_class(in, out.architecture);
  detail::check(in, out.model);
  if (!in.ok()) return in.why();
  return out;
}

inline result<reading> parse_config(std::string_view text) {
  const nlohmann::json config = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (config.is_discarded()) return error{errc::malformed, 1, 1}.with("config.json");
  return read_config(config);
}

}  // namespace hocket::inline HOCKET_ABI::hugging_face
