// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/cost/model/model.hpp>
#include <hocket/interop/config_fields.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The table of families whose layers are equal, but for windows and leading dense layers: one row each.
namespace hocket::inline HOCKET_ABI::hugging_face::detail {

/// What a field is called: nullptr, a family has none; `other`, what transformers also calls it.
struct field_name {
  const char* name = nullptr;
  const char* other = nullptr;
};
inline std::int64_t size_of(fields& in, field_name of) {
  return of.other == nullptr ? in.size(of.name) : in.size(of.name, of.other);
}
/// A flag, its default, and what it switches on.
struct flag_field {
  const char* name = nullptr;
  bool otherwise = false;
  bool cost::model::* sets[3] = {};
};
/// Reads what is left to read.
using reader = void (*)(fields&, cost::model&);
inline constexpr std::size_t max_steps = 4;
inline constexpr std::int64_t max_uniform_layers = 1 << 20;  // whoever lists them one by one is done in a moment
/// How many heads keys and values have.
enum class kv_heads : std::uint8_t {
  per_head,  ///< one for each head
  required,  ///< num_key_value_heads
  nullable,  ///< that field must be there, as the class's own default fits one size alone; null means one per head
  optional   ///< its absence means the same
};

/// A row: what a config calls itself, and what is not as in most families.
struct architecture {
  std::string_view type;  ///< model_type, literal
  cost::model is{};       ///< what all of its models have
  bool tied = false;      ///< where the config does not say
  field_name hidden{"hidden_size"}, layers{"num_hidden_layers"}, heads{"num_attention_heads"}, vocabulary{"vocab_size"};
  field_name positions{};
  kv_heads keys = kv_heads::nullable;
  field_name width{"head_dim"};      ///< of a head; nullptr, or a key-value head for each: hidden / heads
  std::int64_t width_otherwise = 0;  ///< 0: hidden / heads
  bool needs_width = false;          ///< the field must be there
  field_name ffn{"intermediate_size"};
  std::int64_t ffn_factor = 0;  ///< of hidden, where `ffn` is null or absent; 0: it must be there
  flag_field flags[4] = {};
  reader then[max_steps] = {};  ///< what is left, in order
};

// hidden / heads unless the config says otherwise: then the quotient must be whole.
inline std::int64_t quotient_width(fields& in, const cost::model& m) {
  if (m.hidden % m.heads != 0) in.fail(error{errc::indivisible, m.hidden, m.heads}.with("hidden_size / heads"));
  return m.hidden / m.heads;
}
inline std::int64_t kv_heads_of(fields& in, const cost::model& m, kv_heads how) {
  constexpr const char* name = "num_key_value_heads";
  if (how == kv_heads::per_head) return m.heads;
  const bool may_lack = how == kv_heads::optional || (how == kv_heads::nullable && in.json().contains(name));
  return may_lack ? in.size_or(name, m.heads) : in.size(name);
}
inline std::int64_t head_width(fields& in, const cost::model& m, const architecture& row) {
  const char* name = row.width.name;
  if (row.needs_width) return in.size(name);
  if (name == nullptr || row.keys == kv_heads::per_head || (row.width_otherwise == 0 && !in.has(name)))
    return quotient_width(in, m);
  return in.size_or(name, row.width_otherwise);
}
inline void read_row(const architecture& row, fields& in, cost::model& m) {
  m = row.is;
  m.hidden = size_of(in, row.hidden);
  m.layers = size_of(in, row.layers);
  if (m.layers > max_uniform_layers)
    in.fail(error{errc::out_of_range, m.layers, 1, max_uniform_layers}.with(row.layers.name));
  m.heads = size_of(in, row.heads);
  m.vocabulary = size_of(in, row.vocabulary);
  if (row.positions.name != nullptr) m.positions = size_of(in, row.positions);
  m.kv_heads = kv_heads_of(in, m, row.keys);
  m.head_dim = head_width(in, m, row);
  m.tied = in.flag_or("tie_word_embeddings", row.tied);
  if (row.ffn_factor > 0 && (row.ffn.name == nullptr || !in.has(row.ffn.name))) m.ffn = row.ffn_factor * m.hidden;
  else if (row.ffn.name != nullptr) m.ffn = in.size(row.ffn.name);
  for (const flag_field& each : row.flags) {
    if (each.name == nullptr) break;
    const bool value = in.flag_or(each.name, each.otherwise);
    for (const auto member : each.sets)
      if (member != nullptr) m.*member = value;
  }
  for (const reader more : row.then)
    if (more != nullptr) more(in, m);
}

// Mixtures. Every layer is one, and they are as wide as "intermediate_size".
inline void experts_called(fields& in, cost::model& m, const char* count) {
  m.experts = in.size(count);
  m.active_experts = in.size("num_experts_per_tok");
  m.expert_ffn = in.size("intermediate_size");
  m.moe_layers = m.layers;
}
inline void local_experts(fields& in, cost::model& m) { experts_called(in, m, "num_local_experts"); }
inline void all_experts(fields& in, cost::model& m) { experts_called(in, m, "num_experts"); }
// Every layer a mixture, or the pattern of Qwen's configs: each decoder_sparse_step-th, except mlp_only_layers.
inline void qwen_experts(fields& in, cost::model& m) {
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
inline void qwen2_bias(fields& in, cost::model& m) {
  if (in.has("qkv_bias")) m.qkv_bias = in.flag_or("qkv_bias", true);
}
inline void qwen_shared_expert(fields& in, cost::model& m) {
  m.shared_ffn = in.size("shared_expert_intermediate_size");
}
inline void deepseek_experts(fields& in, cost::model& m) {
  m.experts = in.size("n_routed_experts");
  m.active_experts = in.size("num_experts_per_tok");
  m.expert_ffn = in.size("moe_intermediate_size");
  m.shared_ffn = in.size_or_null("n_shared_experts") * m.expert_ffn;
  in.expect("moe_layer_freq", 1);
  const std::int64_t dense = in.size_or_null("first_k_dense_replace");
  if (dense > m.layers) in.fail(error{errc::contradictory_field, dense, m.layers}.with("first_k_dense_replace"));
  m.moe_layers = m.layers - dense;
}

// Windows: of every layer, where the field is no null. `Otherwise`: where it is absent; 0: none.
template <std::int64_t Otherwise>
void window_everywhere(fields& in, cost::model& m) {
  m.window = in.size_or_none("sliding_window", Otherwise);
  m.window_layers = m.window > 0 ? m.layers : 0;
}
// Of the layers that "layer_types" lists, else of those of the family's rule.
inline void window_of(fields& in, cost::model& m, std::int64_t by_rule) {
  m.window = in.size("sliding_window");
  m.window_layers = in.has("layer_types")
                      ? in.layers_called("layer_types", "sliding_attention", "full_attention", m.layers)
                      : by_rule;
}
inline void window_in_every_second(fields& in, cost::model& m) { window_of(in, m, (m.layers + 1) / 2); }  // 0, 2, 4, …
template <std::int64_t Pattern>
void window_but_in_each(fields& in, cost::model& m) {
  const bool listed = in.has("layer_types");
  window_of(in, m, listed ? 0 : m.layers - m.layers / in.size_or("sliding_window_pattern", Pattern));
}
template <std::int64_t Pattern>
void window_but_in_first_of_each(fields& in, cost::model& m) {
  window_of(in, m, m.layers - (m.layers + Pattern - 1) / Pattern);
}
inline void window_of_listed(fields& in, cost::model& m) {
  if (in.has("sliding_window")) window_of(in, m, m.layers);
}
inline void qwen_window(fields& in, cost::model& m) {
  if (!in.flag_or("use_sliding_window", false)) return;
  const std::int64_t above = in.has("layer_types") ? 0 : in.size_or_null("max_window_layers");
  window_of(in, m, above < m.layers ? m.layers - above : 0);
}
inline void qwen3_window(fields& in, cost::model& m) {
  if (in.has("use_sliding_window")) qwen_window(in, m);
}
inline void gpt_neo_window(fields& in, cost::model& m) {
  m.window = in.size("window_size");
  m.window_layers = in.layers_called("attention_layers", "local", "global", m.layers);
}

// The output's product is hidden x hidden, whatever the heads are: transformers 5.24, HeliumAttention.
inline void heads_fill_hidden(fields& in, cost::model& m) {
  if (m.heads * m.head_dim != m.hidden)
    in.fail(error{errc::contradictory_field, m.head_dim, m.hidden / m.heads}.with("head_dim"));
}
inline void no_query_norm(fields& in, cost::model&) { in.expect_flag("qk_layernorm", false); }
inline void no_biases(fields& in, cost::model&) { in.expect_flag("no_bias", true); }

// Families with words of their own.
inline void one_key_head(fields& in, cost::model& m) {
  if (in.flag_or("multi_query", true)) m.kv_heads = 1;
}
inline void parallel_residual(fields& in, cost::model& m) {
  m.layer_norms = in.flag_or("use_parallel_residual", false) ? 1 : 2;
}
inline void falcon_generations(fields& in, cost::model& m) {
  const bool grouped = in.flag_or("new_decoder_architecture", false);
  m.kv_heads = grouped ? in.size_or("num_kv_heads", m.heads) : in.flag_or("multi_query", true) ? 1 : m.heads;
  const bool parallel = in.flag_or("parallel_attn", true);
  m.layer_norms = parallel ? in.size_or("num_ln_in_parallel_attn", grouped ? 2 : 1) : 2;
}
inline void mpt_parts(fields& in, cost::model& m) {
  m.ffn = in.size_or("expansion_ratio", 4) * m.hidden;
  in.within("attn_config", [](fields& attention) {
    attention.one_of("attn_type", "multihead_attention", {"multihead_attention"});
    attention.expect_flag("alibi", true);
    attention.expect_flag("qk_ln", false);
  });
}
inline void dbrx_parts(fields& in, cost::model& m) {
  in.within("attn_config", [&](fields& attention) { m.kv_heads = attention.size("kv_n_heads"); });
  in.within("ffn_config", [&](fields& ffn) {
    m.experts = ffn.size("moe_num_experts");
    m.active_experts = ffn.size("moe_top_k");
    m.expert_ffn = ffn.size("ffn_hidden_size");
  });
  m.moe_layers = m.layers;
}
inline void chatglm_groups(fields& in, cost::model& m) {
  if (in.flag_or("multi_query_attention", false)) m.kv_heads = in.size("multi_query_group_num");
  in.expect_flag("add_bias_linear", false);
  in.expect_flag("rmsnorm", true);
  in.expect_flag("post_layer_norm", true);
}
// Of Qwen before 1.5: intermediate_size is that of both products before SiLU together.
inline void half_of_ffn(fields& in, cost::model& m) {
  if (m.ffn % 2 != 0) in.fail(error{errc::indivisible, m.ffn, 2}.with("intermediate_size"));
  m.ffn /= 2;
}
// Two rows before position 0, as in the published weights.
inline void two_more_positions(fields&, cost::model& m) { m.positions += 2; }
inline void post_norms(fields& in, cost::model& m) { m.layer_norms = in.flag_or("use_post_norm", true) ? 4 : 2; }
inline void opt_layout(fields& in, cost::model& m) {
  two_more_positions(in, m);
  in.expect("word_embed_proj_dim", m.hidden);  // the projections of opt-350m are not modelled
  in.expect_flag("do_layer_norm_before", true);
  in.expect_flag("_remove_final_layer_norm", false);
  in.expect_flag("layer_norm_elementwise_affine", true);
}
inline void latent_heads(fields& in, cost::model& m) {
  in.expect_flag("attention_bias", false);
  m.query_rank = in.size_or_null("q_lora_rank");
  m.kv_rank = in.size("kv_lora_rank");
  m.nope_dim = in.size("qk_nope_head_dim");
  m.rope_dim = in.size("qk_rope_head_dim");
  m.value_dim = in.size("v_head_dim");
  in.expect("num_key_value_heads", m.heads);  // latent attention has no groups
  m.head_dim = m.nope_dim + m.rope_dim;
}
template <bool Bias>
void router_bias(fields& in, cost::model& m) {
  m.router_bias = in.one_of("topk_method", Bias ? "noaux_tc" : "greedy",
                            {"greedy", "group_limited_greedy", "noaux_tc"}) == "noaux_tc";
}
inline void deepseek_v2_parts(fields& in, cost::model& m) {
  in.expect_flag("mlp_bias", false);  // a list of layers has the biases of shared experts
  router_bias<false>(in, m);
}

using M = cost::model;
inline constexpr flag_field attention_bias{"attention_bias", false, {&M::qkv_bias, &M::output_bias}},
    query_bias{"attention_bias", false, {&M::qkv_bias}}, mlp_bias{"mlp_bias", false, {&M::ffn_bias}},
    every_bias{"use_bias", true, {&M::qkv_bias, &M::output_bias, &M::ffn_bias}};
/// LayerNorm and a bias everywhere, a plain FFN: GPT-2 and what came before Llama.
inline constexpr M gpt{.ffn_matrices = 2, .norm_weights = 2, .qkv_bias = true, .output_bias = true, .ffn_bias = true};
inline constexpr field_name none{};

// Rows that others are like.
inline constexpr architecture llama{.type = "llama", .keys = kv_heads::optional, .flags = {attention_bias, mlp_bias}};
inline constexpr architecture gpt2{.type = "gpt2",
                                   .is = gpt,
                                   .tied = true,
                                   .hidden = {"n_embd"},
                                   .layers = {"n_layer"},
                                   .heads = {"n_head"},
                                   .positions = {"n_positions", "n_ctx"},
                                   .keys = kv_heads::per_head,
                                   .ffn = {"n_inner"},
                                   .ffn_factor = 4};
inline constexpr architecture gptj{
    .type = "gptj",
    .is = {.ffn_matrices = 2, .norm_weights = 2, .layer_norms = 1, .ffn_bias = true, .head_bias = true},
    .hidden = {"n_embd"},
    .layers = {"n_layer"},
    .heads = {"n_head"},
    .keys = kv_heads::per_head,
    .ffn = {"n_inner"},
    .ffn_factor = 4};
inline constexpr architecture latent{.type = "deepseek_v3",
                                     .is = {.latent = true},
                                     .keys = kv_heads::per_head,
                                     .width = {"qk_nope_head_dim"},  // a head is wider; latent_heads says how much
                                     .needs_width = true,
                                     .then = {latent_heads, deepseek_experts}};
/// The row under another name, with one more step.
constexpr architecture like(architecture row, std::string_view type, reader more = nullptr) {
  row.type = type;
  *std::find(row.then, row.then + max_steps, nullptr) = more;
  return row;
}

inline constexpr architecture architectures[] = {
    llama,
    like(llama, "granite"),
    {.type = "emu3_text_model", .flags = {attention_bias, mlp_bias}},
    {.type = "exaone", .flags = {attention_bias, mlp_bias}},
    {.type = "iquestcoder", .width_otherwise = 128, .flags = {attention_bias, mlp_bias}},
    {.type = "hyperclovax", .width_otherwise = 128, .flags = {attention_bias, mlp_bias}, .then = {post_norms}},
    {.type = "helium", .width_otherwise = 128, .flags = {query_bias, mlp_bias}, .then = {heads_fill_hidden}},
    {.type = "cwm", .width_otherwise = 128, .flags = {mlp_bias}, .then = {window_but_in_first_of_each<4>}},
    {.type = "granite_swa",
     .is = {.attention_sinks = true},
     .tied = true,
     .flags = {attention_bias, mlp_bias},
     .then = {window_but_in_first_of_each<4>}},
    {.type = "minicpm", .tied = true, .keys = kv_heads::optional, .flags = {attention_bias}},
    {.type = "smollm3", .tied = true, .flags = {attention_bias, mlp_bias}, .then = {qwen_window}},
    {.type = "olmo", .is = {.norm_weights = 0}, .keys = kv_heads::optional, .flags = {attention_bias}},
    {.type = "seed_oss",
     .width_otherwise = 128,
     .flags = {{"attention_bias", true, {&M::qkv_bias}}, {"attention_out_bias", false, {&M::output_bias}}, mlp_bias}},
    {.type = "internlm2", .flags = {{"bias", true, {&M::qkv_bias, &M::output_bias}}}},
    {.type = "ernie4_5",
     .tied = true,
     .width_otherwise = 128,
     .flags = {{"use_bias", false, {&M::qkv_bias, &M::output_bias, &M::ffn_bias}}}},
    {.type = "glm", .width_otherwise = 128, .flags = {query_bias}},
    {.type = "glm4", .is = {.layer_norms = 4}, .width_otherwise = 128, .flags = {query_bias}},
    {.type = "glm4_moe",
     .is = {.router_bias = true},
     .flags = {query_bias, {"use_qk_norm", false, {&M::qk_norm}}},
     .then = {deepseek_experts}},
    {.type = "stablelm",
     .is = {.norm_weights = 2},
     .flags = {{"use_qkv_bias", false, {&M::qkv_bias}}},
     .then = {parallel_residual, no_query_norm}},
    {.type = "cohere",
     .is = {.layer_norms = 1},  // feeds attention and FFN in parallel
     .tied = true,
     .keys = kv_heads::optional,
     .flags = {attention_bias, {"use_qk_norm", false, {&M::qk_norm_all}}}},
    {.type = "cohere2",
     .is = {.layer_norms = 1},
     .tied = true,
     .keys = kv_heads::optional,
     .flags = {attention_bias},
     .then = {window_but_in_each<4>}},
    {.type = "olmo2", .is = {.qk_norm_all = true}, .keys = kv_heads::optional, .flags = {attention_bias}},
    {.type = "olmoe",
     .is = {.qk_norm_all = true},
     .keys = kv_heads::optional,
     .ffn = none,
     .flags = {attention_bias},
     .then = {all_experts}},
    {.type = "gpt_oss",
     .is = {.attention_sinks = true, .router_bias = true, .expert_bias = true},
     .width_otherwise = 64,
     .ffn = none,
     .flags = {{"attention_bias", true, {&M::qkv_bias, &M::output_bias}}},
     .then = {local_experts, window_in_every_second}},
    {.type = "baichuan", .keys = kv_heads::per_head},
    {.type = "mistral", .then = {window_everywhere<4096>}},
    {.type = "phi3", .keys = kv_heads::optional, .then = {window_everywhere<0>}},
    {.type = "mixtral", .ffn = none, .then = {local_experts, window_everywhere<0>}},
    {.type = "granitemoe", .ffn = none, .flags = {attention_bias}, .then = {local_experts}},
    {.type = "phimoe",
     .is = {.norm_weights = 2},
     .ffn = none,
     .flags = {attention_bias, {"lm_head_bias", false, {&M::head_bias}}},
     .then = {local_experts, window_everywhere<0>}},
    {.type = "qwen2", .is = {.qkv_bias = true}, .then = {qwen_window}},
    {.type = "qwen2_moe",
     .is = {.qkv_bias = true, .shared_gate = true},
     .ffn = none,
     .then = {qwen_experts, qwen_shared_expert, qwen_window, qwen2_bias}},
    {.type = "qwen3",
     .is = {.qk_norm = true},
     .width_otherwise = 128,
     .flags = {attention_bias},
     .then = {qwen3_window}},
    {.type = "qwen3_moe",
     .is = {.qk_norm = true},
     .width_otherwise = 128,
     .ffn = none,
     .flags = {attention_bias},
     .then = {qwen_experts, qwen3_window}},
    {.type = "gemma", .tied = true, .needs_width = true, .flags = {attention_bias}},
    {.type = "gemma2",
     .is = {.layer_norms = 4},
     .tied = true,
     .needs_width = true,
     .flags = {attention_bias},
     .then = {window_in_every_second}},
    {.type = "gemma3_text",
     .is = {.layer_norms = 4, .qk_norm = true},
     .tied = true,
     .needs_width = true,
     .flags = {attention_bias},
     .then = {window_but_in_each<6>}},
    {.type = "vaultgemma",
     .tied = true,
     .needs_width = true,
     .flags = {attention_bias},
     .then = {window_in_every_second}},
    {.type = "nanochat", .is = {.ffn_matrices = 2, .norm_weights = 0}, .flags = {attention_bias}},
    {.type = "nemotron", .is = {.ffn_matrices = 2, .norm_weights = 2}, .flags = {attention_bias, mlp_bias}},
    {.type = "jais2",
     .is = {.ffn_matrices = 2, .norm_weights = 2},
     .width_otherwise = 128,
     .flags = {{"attention_bias", true, {&M::qkv_bias, &M::output_bias}}, {"mlp_bias", true, {&M::ffn_bias}}}},
    {.type = "ministral", .then = {window_of_listed}},
    {.type = "persimmon", .is = gpt, .keys = kv_heads::per_head, .flags = {{"qk_layernorm", true, {&M::qk_norm}}}},
    {.type = "biogpt",
     .is = gpt,
     .tied = true,
     .positions = {"max_position_embeddings"},
     .keys = kv_heads::per_head,
     .then = {two_more_positions}},
    {.type = "starcoder2",
     .is = gpt,
     .tied = true,
     .keys = kv_heads::required,
     .width = none,
     .flags = {every_bias},
     .then = {window_everywhere<0>}},
    gpt2,
    like(gpt2, "gpt_bigcode", one_key_head),
    {.type = "gpt_neo",
     .is = {.ffn_matrices = 2, .norm_weights = 2, .output_bias = true, .ffn_bias = true},
     .tied = true,
     .layers = {"num_layers"},
     .heads = {"num_heads"},
     .positions = {"max_position_embeddings"},
     .keys = kv_heads::per_head,
     .ffn_factor = 4,
     .then = {gpt_neo_window}},
    gptj,
    like(gptj, "codegen"),
    {.type = "gpt_neox",
     .is = gpt,
     .keys = kv_heads::per_head,
     .flags = {{"attention_bias", true, {&M::qkv_bias, &M::output_bias}}}},
    {.type = "opt",
     .is = gpt,
     .tied = true,
     .positions = {"max_position_embeddings"},
     .keys = kv_heads::per_head,
     .ffn = {"ffn_dim"},
     .flags = {{"enable_bias", true, {&M::qkv_bias, &M::output_bias, &M::ffn_bias}}},
     .then = {opt_layout}},
    {.type = "bloom",
     .is = {.ffn_matrices = 2,
            .norm_weights = 2,
            .embedding_norm = true,
            .qkv_bias = true,
            .output_bias = true,
            .ffn_bias = true},
     .tied = true,
     .hidden = {"hidden_size", "n_embed"},
     .layers = {"n_layer", "num_hidden_layers"},
     .heads = {"n_head", "num_attention_heads"},
     .keys = kv_heads::per_head,
     .ffn = none,
     .ffn_factor = 4},
    {.type = "phi",
     .is = {.ffn_matrices = 2,
            .norm_weights = 2,
            .layer_norms = 1,  // feeds attention and FFN in parallel
            .qkv_bias = true,
            .output_bias = true,
            .ffn_bias = true,
            .head_bias = true},
     .keys = kv_heads::optional,
     .width = none,
     .then = {no_query_norm}},
    {.type = "falcon",
     .is = gpt,
     .tied = true,
     .keys = kv_heads::per_head,
     .ffn = {"ffn_hidden_size"},
     .ffn_factor = 4,
     .flags = {{"bias", false, {&M::qkv_bias, &M::output_bias, &M::ffn_bias}}},
     .then = {falcon_generations}},
    {.type = "mpt",
     .is = {.ffn_matrices = 2},
     .tied = true,
     .hidden = {"d_model"},
     .layers = {"n_layers"},
     .heads = {"n_heads"},
     .keys = kv_heads::per_head,
     .ffn = none,
     .then = {no_biases, mpt_parts}},
    {.type = "dbrx",
     .hidden = {"d_model"},
     .layers = {"n_layers"},
     .heads = {"n_heads"},
     .keys = kv_heads::per_head,
     .ffn = none,
     .then = {dbrx_parts}},
    {.type = "chatglm",
     .layers = {"num_layers"},
     .vocabulary = {"padded_vocab_size"},
     .keys = kv_heads::per_head,
     .width = {"kv_channels"},
     .needs_width = true,
     .ffn = {"ffn_hidden_size"},
     .flags = {{"add_qkv_bias", false, {&M::qkv_bias}}},
     .then = {chatglm_groups}},
    {.type = "qwen",
     .is = {.qkv_bias = true},
     .keys = kv_heads::per_head,
     .width = {"kv_channels"},
     .needs_width = true,
     .then = {half_of_ffn, no_biases}},
    {.type = "deepseek", .keys = kv_heads::optional, .flags = {attention_bias}, .then = {deepseek_experts}},
    like(latent, "deepseek_v2", deepseek_v2_parts),
    like(latent, "deepseek_v3", router_bias<true>),
    like(latent, "kimi_k2", router_bias<true>),
};

}  // namespace hocket::inline HOCKET_ABI::hugging_face::detail
