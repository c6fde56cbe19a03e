// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/cost/config.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

/// Sizes of a model from its Hugging Face `config.json`, as published.
namespace hocket::inline HOCKET_ABI::hugging_face {

/// A model and what its config left unsaid: "tie_word_embeddings = false", each the default that the architecture's
/// configuration class in `transformers` documents. Show them; nothing else was filled in.
struct reading {
  cost::model model;
  std::string architecture;  ///< the config's model_type
  std::vector<std::string> assumed;
};

/// Reads a config. Architectures: llama, mistral, mixtral, qwen2, qwen2_moe, qwen3, qwen3_moe, gemma, gemma2, phi3,
/// starcoder2, gpt2, gptj, gpt_neox, opt, bloom, deepseek_v2, deepseek_v3, kimi_k2.
/// Errors, each naming the field: errc::missing_field, errc::contradictory_field, errc::out_of_range (a size that is no
/// whole number from 1 to 2^31 - 1), errc::invalid_argument (0: no whole number, 1: not true or false, 2: no list of
/// layer numbers), errc::indivisible, errc::unknown_architecture, errc::malformed (not JSON).
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

// Reads fields and keeps the first error, so that an architecture reads like a list of its fields.
class fields {
 public:
  fields(const nlohmann::json& config, reading& out) : config_(config), out_(out) {}

  bool has(const char* name) const {
    const auto at = config_.find(name);
    return at != config_.end() && !at->is_null();
  }
  std::int64_t size(const char* name) {
    if (!has(name)) return fail(error{errc::missing_field}.with(name));
    return number(name);
  }
  /// A field that transformers also calls `other`; if both are there they must agree.
  std::int64_t size(const char* name, const char* other) {
    if (!has(name) && has(other)) return number(other);
    const std::int64_t n = size(name);
    if (has(name) && has(other)) expect(other, n);
    return n;
  }
  /// A field whose absence means `otherwise`; the assumption is recorded.
  std::int64_t size_or(const char* name, std::int64_t otherwise) {
    if (has(name)) return number(name);
    assume(name, std::to_string(otherwise));
    return otherwise;
  }
  /// A size for which null means none; if the field is absent, the architecture's default is `otherwise`, 0 for none,
  /// and the assumption is recorded.
  std::int64_t size_or_none(const char* name, std::int64_t otherwise) {
    if (has(name)) return number(name, 0);
    if (config_.contains(name)) return 0;
    assume(name, otherwise == 0 ? "null" : std::to_string(otherwise));
    return otherwise;
  }
  /// The same where no default may be filled in: it would decide how large the model is.
  std::int64_t size_or_null(const char* name) {
    if (has(name)) return number(name, 0);
    return config_.contains(name) ? 0 : fail(error{errc::missing_field}.with(name));
  }
  bool flag_or(const char* name, bool otherwise) {
    if (!has(name)) {
      assume(name, otherwise ? "true" : "false");
      return otherwise;
    }
    const auto& v = config_.at(name);
    if (!v.is_boolean()) {
      fail(error{errc::invalid_argument, 1}.with(name));
      return otherwise;
    }
    return v.get<bool>();
  }
  std::string word_or(const char* name, const char* otherwise) const {
    return has(name) && config_.at(name).is_string() ? config_.at(name).get<std::string>() : otherwise;
  }
  /// If the field is there it must have this value: the architecture has no other.
  void expect(const char* name, std::int64_t value) {
    if (!has(name)) return;
    const std::int64_t n = number(name, 0);
    if (n != value) fail(error{errc::contradictory_field, n, value}.with(name));
  }
  void expect_flag(const char* name, bool value) {
    if (!has(name)) return;
    if (flag_or(name, value) != value) fail(error{errc::contradictory_field, value ? 0 : 1, value ? 1 : 0}.with(name));
  }
  std::int64_t fail(const error& e) {
    if (ok_) error_ = e, ok_ = false;
    return 1;
  }
  void assume(const char* name, const std::string& value) { out_.assumed.push_back(std::string(name) + " = " + value); }
  bool ok() const { return ok_; }
  const error& why() const { return error_; }
  const nlohmann::json& json() const { return config_; }

 private:
  std::int64_t number(const char* name, std::int64_t from = 1) {
    constexpr std::int64_t limit = (std::numeric_limits<std::int32_t>::max)();
    const auto& v = config_.at(name);
    if (!v.is_number_integer()) return fail(error{errc::invalid_argument, 0}.with(name));
    const bool huge = v.is_number_unsigned() && v.get<std::uint64_t>() > static_cast<std::uint64_t>(limit);
    const std::int64_t n = huge ? limit + 1 : v.get<std::int64_t>();
    if (n < from || n > limit) return fail(error{errc::out_of_range, n, from, limit}.with(name));
    return n;
  }

  const nlohmann::json& config_;
  reading& out_;
  error error_{};
  bool ok_ = true;
};

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
inline void read_llama_like(fields& in, cost::model& m, bool tied, bool may_lack_kv_heads = false) {
  read_common(in, m);
  m.kv_heads = may_lack_kv_heads || in.json().contains("num_key_value_heads")
                 ? in.size_or("num_key_value_heads", m.heads)
                 : in.size("num_key_value_heads");
  m.head_dim = in.has("head_dim") ? in.size("head_dim") : head_dim_of(in, m);
  m.tied = in.flag_or("tie_word_embeddings", tied);
}
inline void no_grouped_queries(cost::model& m) { m.kv_heads = m.heads; }

inline void layer_norm_everywhere(cost::model& m) {
  m.norm_weights = 2, m.ffn_matrices = 2;
  m.qkv_bias = m.output_bias = m.ffn_bias = true;
}

inline void read_gpt2(fields& in, cost::model& m) {
  m.hidden = in.size("n_embd"), m.layers = in.size("n_layer"), m.heads = in.size("n_head");
  m.vocabulary = in.size("vocab_size");
  m.positions = in.size("n_positions", "n_ctx");
  m.head_dim = head_dim_of(in, m);
  m.ffn = in.has("n_inner") ? in.size("n_inner") : 4 * m.hidden;  // n_inner: null means 4 n_embd, by definition
  m.tied = in.flag_or("tie_word_embeddings", true);
  no_grouped_queries(m), layer_norm_everywhere(m);
}

inline void read_gptj(fields& in, cost::model& m) {
  m.hidden = in.size("n_embd"), m.layers = in.size("n_layer"), m.heads = in.size("n_head");
  m.vocabulary = in.size("vocab_size");
  m.head_dim = head_dim_of(in, m);
  m.ffn = in.has("n_inner") ? in.size("n_inner") : 4 * m.hidden;
  m.tied = in.flag_or("tie_word_embeddings", false);
  no_grouped_queries(m);
  // One norm feeds attention and FFN in parallel; only the FFN and the head have biases.
  m.norm_weights = 2, m.ffn_matrices = 2, m.layer_norms = 1;
  m.ffn_bias = m.head_bias = true;
}

inline void read_gpt_neox(fields& in, cost::model& m) {
  read_common(in, m);
  m.ffn = in.size("intermediate_size");
  m.head_dim = head_dim_of(in, m);
  m.tied = in.flag_or("tie_word_embeddings", false);
  no_grouped_queries(m), layer_norm_everywhere(m);
  m.qkv_bias = m.output_bias = in.flag_or("attention_bias", true);
}

inline void read_opt(fields& in, cost::model& m) {
  read_common(in, m);
  m.ffn = in.size("ffn_dim");
  m.positions = in.size("max_position_embeddings") + 2;  // two rows before position 0, as in the published weights
  m.head_dim = head_dim_of(in, m);
  in.expect("word_embed_proj_dim", m.hidden);  // the projections of opt-350m are not modelled
  in.expect_flag("do_layer_norm_before", true);
  in.expect_flag("_remove_final_layer_norm", false);
  m.tied = in.flag_or("tie_word_embeddings", true);
  no_grouped_queries(m), layer_norm_everywhere(m);
  m.qkv_bias = m.output_bias = m.ffn_bias = in.flag_or("enable_bias", true);
}

inline void read_bloom(fields& in, cost::model& m) {
  m.hidden = in.size("hidden_size", "n_embed"), m.layers = in.size("n_layer", "num_hidden_layers");
  m.heads = in.size("n_head", "num_attention_heads");
  m.vocabulary = in.size("vocab_size");
  m.ffn = 4 * m.hidden;
  m.head_dim = head_dim_of(in, m);
  m.tied = in.flag_or("tie_word_embeddings", true);
  m.embedding_norm = true;
  no_grouped_queries(m), layer_norm_everywhere(m);
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

// Every layer a mixture, or the pattern of Qwen's MoE configs: each decoder_sparse_step-th, except mlp_only_layers.
inline void read_qwen_experts(fields& in, cost::model& m) {
  m.experts = in.size("num_experts"), m.active_experts = in.size("num_experts_per_tok");
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

inline void read_deepseek(fields& in, cost::model& m, const std::string& type) {
  read_common(in, m);
  in.expect_flag("attention_bias", false);
  m.latent = true;
  m.query_rank = in.size_or_null("q_lora_rank"), m.kv_rank = in.size("kv_lora_rank");
  m.nope_dim = in.size("qk_nope_head_dim"), m.rope_dim = in.size("qk_rope_head_dim");
  m.value_dim = in.size("v_head_dim");
  in.expect("num_key_value_heads", m.heads);  // latent attention has no groups
  m.kv_heads = m.heads;
  m.head_dim = m.nope_dim + m.rope_dim;
  m.ffn = in.size("intermediate_size");
  m.tied = in.flag_or("tie_word_embeddings", false);
  m.experts = in.size("n_routed_experts"), m.active_experts = in.size("num_experts_per_tok");
  m.expert_ffn = in.size("moe_intermediate_size");
  m.shared_ffn = in.size_or_null("n_shared_experts") * m.expert_ffn;
  in.expect("moe_layer_freq", 1);
  const std::int64_t dense = in.size_or_null("first_k_dense_replace");
  if (dense > m.layers) in.fail(error{errc::contradictory_field, dense, m.layers}.with("first_k_dense_replace"));
  m.moe_layers = m.layers - dense;
  m.router_bias = in.word_or("topk_method", type == "deepseek_v2" ? "greedy" : "noaux_tc") == "noaux_tc";
}

inline void check(fields& in, const cost::model& m) {
  if (!in.ok()) return;
  if (m.kv_heads > m.heads) in.fail(error{errc::contradictory_field, m.kv_heads, m.heads}.with("num_key_value_heads"));
  else if (m.heads % m.kv_heads != 0)
    in.fail(error{errc::indivisible, m.heads, m.kv_heads}.with("num_attention_heads"));
  if (m.active_experts > m.experts)
    in.fail(error{errc::contradictory_field, m.active_experts, m.experts}.with("num_experts_per_tok"));
}

inline bool read_architecture(const std::string& type, fields& in, cost::model& m) {
  if (type == "llama") {
    read_llama_like(in, m, false, true);
    m.ffn = in.size("intermediate_size");
    m.qkv_bias = m.output_bias = in.flag_or("attention_bias", false);
    m.ffn_bias = in.flag_or("mlp_bias", false);
  } else if (type == "mistral" || type == "phi3") {
    read_llama_like(in, m, false, type == "phi3");
    m.ffn = in.size("intermediate_size");
    m.window = in.size_or_none("sliding_window", type == "mistral" ? 4096 : 0);
    m.window_layers = m.window > 0 ? m.layers : 0;
  } else if (type == "mixtral") {
    read_llama_like(in, m, false);
    m.experts = in.size("num_local_experts"), m.active_experts = in.size("num_experts_per_tok");
    m.expert_ffn = in.size("intermediate_size");
    m.moe_layers = m.layers;
    m.window = in.size_or_none("sliding_window", 0);
    m.window_layers = m.window > 0 ? m.layers : 0;
  } else if (type == "qwen2" || type == "qwen2_moe") {
    read_llama_like(in, m, false);
    m.qkv_bias = true;
    if (type == "qwen2") m.ffn = in.size("intermediate_size");
    else read_qwen_experts(in, m), m.shared_ffn = in.size("shared_expert_intermediate_size"), m.shared_gate = true;
    if (in.flag_or("use_sliding_window", false)) {
      m.window = in.size("sliding_window");
      const std::int64_t above = in.size("max_window_layers");
      m.window_layers = above < m.layers ? m.layers - above : 0;
    }
  } else if (type == "qwen3" || type == "qwen3_moe") {
    read_llama_like(in, m, false);
    m.qk_norm = true;
    m.qkv_bias = m.output_bias = in.flag_or("attention_bias", false);
    if (type == "qwen3") m.ffn = in.size("intermediate_size");
    else read_qwen_experts(in, m);
  } else if (type == "gemma" || type == "gemma2") {
    read_llama_like(in, m, true);
    if (!in.has("head_dim")) in.fail(error{errc::missing_field}.with("head_dim"));
    m.ffn = in.size("intermediate_size");
    m.qkv_bias = m.output_bias = in.flag_or("attention_bias", false);
    if (type == "gemma2") {
      m.layer_norms = 4;
      m.window = in.size("sliding_window");
      m.window_layers = (m.layers + 1) / 2;  // layers 0, 2, 4, … are windowed
    }
  } else if (type == "starcoder2") {
    read_starcoder2(in, m);
  } else if (type == "gpt2") {
    read_gpt2(in, m);
  } else if (type == "gptj") {
    read_gptj(in, m);
  } else if (type == "gpt_neox") {
    read_gpt_neox(in, m);
  } else if (type == "opt") {
    read_opt(in, m);
  } else if (type == "bloom") {
    read_bloom(in, m);
  } else if (type == "deepseek_v2" || type == "deepseek_v3" || type == "kimi_k2") {
    read_deepseek(in, m, type);
  } else {
    return false;
  }
  return true;
}
}  // namespace detail

inline result<reading> read_config(const nlohmann::json& config) {
  if (!config.is_object()) return error{errc::malformed, 1, 1}.with("config");
  reading out;
  detail::fields in(config, out);
  if (!in.has("model_type")) return error{errc::missing_field}.with("model_type");
  out.architecture = in.word_or("model_type", "");
  if (!detail::read_architecture(out.architecture, in, out.model))
    return error{errc::unknown_architecture}.with(out.architecture);
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
