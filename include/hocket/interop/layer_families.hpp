// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/interop/recent_families.hpp>

#include <variant>

/// The table of families whose layers differ: one row each. A row names what a family has; layer_fields.hpp has the
/// words. Sizes follow the family's modules in transformers 5.24; where those count otherwise, the row says so.
namespace hocket::inline HOCKET_ABI::hugging_face::detail {

/// Layers that all see a window or everything, with a dense FFN or a mixture.
template <class Window>
void softmax_layers(layer_fields& in, const cost::attention& full, const cost::attention& windowed,
                    const Window& sees_all, const std::vector<bool>& mixes, const cost::block& dense,
                    const cost::block& mixture, std::int64_t behind = 0) {
  for (std::int64_t at = 0; at < in.layers(); ++at)
    in.layer(sees_all[index(at)] ? full : windowed, mixes[index(at)] ? mixture : dense, behind);
}

/// Which layers of Qwen's mixtures are dense.
inline std::vector<bool> qwen_mixes(layer_fields& in) {
  std::vector<bool> dense, out;
  if (!in.numbers("mlp_only_layers", dense)) dense = all(in, false);
  const std::int64_t step = in.size_or({"decoder_sparse_step"}, 1);
  for (std::int64_t at = 0; at < in.layers(); ++at) out.push_back(each(at, step) && !dense[index(at)]);
  return out;
}

/// Softmax attention and a mixture in nearly all layers: how such families differ.
struct mixed_traits {
  bool qk_norm = false, qk_norm_all = false, sinks = false;
  bool qk_norm_otherwise = true;  ///< where "use_qk_norm" is not there
  bool output_bias = true;        ///< "attention_bias" is that of the output, too
  bool router_bias = true;
  bool mlp_bias = false;  ///< shared experts have the biases of "mlp_bias", too
  bool gate = false;      ///< of the output: an element for each of it
  std::int64_t norms_behind = 0;
  std::int64_t period = 0;      ///< each so many layers see everything, the others a window; 0: no layer has one
  bool first_sees_all = false;  ///< those layers are the first of each period, not the last
};
/// Which layers are mixtures: by the list of words, a number of dense ones, or as Qwen's configs say.
inline std::vector<bool> mixed_layers(layer_fields& in) {
  const bool said = in.has({"mlp_layer_types", "moe_layer_freq", "first_k_dense_replace", "num_dense_layers"});
  if (!said && in.has({"mlp_only_layers", "decoder_sparse_step"})) return qwen_mixes(in);
  return in.mixes(in.has({"num_dense_layers"}) ? names{"num_dense_layers"} : names{"first_k_dense_replace"});
}
template <mixed_traits Has>
void read_mixed(layer_fields& in) {
  in.ends(false);
  auto full = in.attention();
  full.qk_norm = Has.qk_norm && (in.has({"use_qk_norm"}) ? in.flag("use_qk_norm", false) : Has.qk_norm_otherwise);
  full.qk_norm_all = Has.qk_norm_all;
  full.attention_sinks = Has.sinks;
  full.output_bias = full.output_bias && Has.output_bias;
  full.gate_width = Has.gate ? full.heads * full.head_dim : 0;
  const auto mixes = mixed_layers(in);
  const auto dense = every(mixes) ? cost::feed_forward{} : in.dense();
  cost::mixture experts;
  if (any(mixes)) {
    experts = in.experts({"moe_intermediate_size", "intermediate_size"});
    experts.router_bias = Has.router_bias;
    experts.bias = Has.mlp_bias && in.optional_flag("mlp_bias");
    experts.shared_ffn += in.optional({"shared_expert_intermediate_size", "shared_intermediate_size"});
  }
  const auto sees_all = in.sees_all("sliding_attention", [](std::int64_t at) {
    if constexpr (Has.period == 0) return true;
    else return Has.first_sees_all ? at % Has.period == 0 : each(at, Has.period);
  });
  const bool windowed = !every(sees_all);
  softmax_layers(in, full, windowed ? with_window(full, in.size({"sliding_window"})) : full, sees_all, mixes, dense,
                 experts, Has.norms_behind);
}

/// Laguna: heads may differ from layer to layer, and each has a gate, or each of its elements.
inline void read_laguna(layer_fields& in) {
  in.ends(false);
  auto first = in.attention();
  first.qk_norm = true;
  const bool listed = in.has({"num_attention_heads_per_layer"});
  const auto heads = listed ? in.raw().first_numbers("num_attention_heads_per_layer", in.layers())
                            : std::vector<std::int64_t>(index(in.layers()), first.heads);
  const auto gating = in.has({"gating"}) ? in.raw().json().at("gating") : nlohmann::json(true);
  const bool per_head = gating == true || gating == "per-head";
  if (!per_head && gating != false && gating != "per-element") in.raw().fail(error{errc::unknown_value}.with("gating"));
  const auto mixes = in.mixes({"first_k_dense_replace"});
  const auto dense = every(mixes) ? cost::feed_forward{} : in.dense();
  cost::mixture experts;
  if (any(mixes)) {
    experts = in.experts({"moe_intermediate_size"});
    experts.router_bias = true;
    experts.shared_ffn = in.optional({"shared_expert_intermediate_size"});
  }
  const auto sees_all = in.sees_all("sliding_attention", [](std::int64_t) { return true; });
  for (std::int64_t at = 0; at < in.layers(); ++at) {
    auto attention = first;
    attention.heads = heads[index(at)];
    if (attention.heads < 1 || attention.heads % attention.kv_heads != 0)
      in.raw().fail(
          error{errc::indivisible, attention.heads, attention.kv_heads}.with("num_attention_heads_per_layer"));
    attention.gate_width = per_head ? attention.heads : attention.heads * attention.head_dim;
    if (!sees_all[index(at)]) attention.window = in.size({"sliding_window"});
    in.layer(attention, mixes[index(at)] ? cost::block(experts) : cost::block(dense));
  }
}

inline void read_qwen3_next(layer_fields& in, bool dense_only) {
  in.ends(false);
  cost::attention full = in.attention(256);
  full.qk_norm = true;
  full.gate_width = full.heads * full.head_dim;
  full.gate_bias = full.qkv_bias;
  const auto linear = in.gated_delta();
  const auto mixes = dense_only ? all(in, false) : qwen_mixes(in);
  const cost::feed_forward dense = every(mixes) ? cost::feed_forward{} : in.dense();
  cost::mixture experts;
  if (any(mixes)) {
    experts = in.experts({"moe_intermediate_size"});
    experts.shared_ffn = in.size({"shared_expert_intermediate_size"});
    experts.shared_gate = true;
  }
  const std::int64_t interval = in.has({"layer_types"}) ? 1 : in.size_or({"full_attention_interval"}, 4);
  const auto sees_all = in.sees_all("linear_attention", [&](std::int64_t at) { return each(at, interval); });
  for (std::int64_t at = 0; at < in.layers(); ++at)
    in.layer(sees_all[index(at)] ? cost::block(full) : cost::block(linear),
             mixes[index(at)] ? cost::block(experts) : cost::block(dense));
}

/// What classes of latent attention have.
struct latent_traits {
  bool router_bias = false;
  bool dense = false;     ///< no layer has experts
  bool mlp_bias = false;  ///< products of every FFN have the biases of "mlp_bias"
};
/// Latent attention with experts: DeepSeek and what descends from it.
inline void read_latent(layer_fields& in, latent_traits has) {
  in.ends(has.dense);
  const auto attention = in.latent();
  const auto mixes = has.dense ? all(in, false) : in.mixes({"first_k_dense_replace"});
  auto dense = every(mixes) ? cost::feed_forward{} : in.dense();
  cost::mixture experts;
  if (any(mixes)) experts = in.experts({"moe_intermediate_size"});
  experts.router_bias = has.router_bias;
  const bool bias = has.mlp_bias && in.optional_flag("mlp_bias");
  dense.ffn_bias = bias;
  experts.bias = bias;
  for (std::int64_t at = 0; at < in.layers(); ++at)
    in.layer(attention, mixes[index(at)] ? cost::block(experts) : cost::block(dense));
}
/// DeepSeek-V3: without a word about it, the router's scores are corrected.
inline void read_deepseek_v3(layer_fields& in) {
  const std::string method = in.raw().one_of("topk_method", "noaux_tc", {"greedy", "group_limited_greedy", "noaux_tc"});
  in.raw().expect("num_key_value_heads", in.size({"num_attention_heads"}));
  read_latent(in, {.router_bias = method == "noaux_tc"});
}
/// The same with a norm behind each mixture.
inline void read_axk1(layer_fields& in) {
  read_latent(in, {.router_bias = true});
  for (cost::repeated_layer& run : in.list().layers)
    if (std::holds_alternative<cost::mixture>(run.blocks.back().what))
      run.blocks.push_back(cost::norms{.place = cost::norm_place::behind});
}
/// The same with sparse attention: a layer has an indexer, or takes the choice of an earlier one. `indexed_each`: how
/// many layers share one, where the config does not say.
inline void read_sparse_latent(layer_fields& in, std::int64_t indexed_each) {
  in.ends(false);
  auto indexed = in.latent();
  indexed.absorbed = true;
  indexed.selected = in.size({"index_topk"});
  auto shared = indexed;
  indexed.index_heads = in.size({"index_n_heads"});
  indexed.index_dim = in.size({"index_head_dim"});
  const std::int64_t period = in.size_or({"index_topk_freq"}, indexed_each),
                     skipped = in.size_or({"index_skip_topk_offset"}, 2);
  const auto indexers = in.words({"indexer_types"}, {"full", "shared"}, [&](std::int64_t at) {
    return (std::max)(at - skipped + 1, std::int64_t{0}) % period == 0 ? "full" : "shared";
  });
  const auto mixes = in.mixes({"first_k_dense_replace"});
  auto dense = every(mixes) ? cost::feed_forward{} : in.dense();
  dense.ffn_bias = false;  // "mlp_bias" is there, and no class reads it
  auto experts = in.experts({"moe_intermediate_size"});
  experts.router_bias = true;
  for (std::int64_t at = 0; at < in.layers(); ++at)
    in.layer(indexers[index(at)] == "full" ? indexed : shared,
             mixes[index(at)] ? cost::block(experts) : cost::block(dense));
}

/// That each layer stands in one of the two lists of linear_attn_config, which count from 1.
inline void check_partition(fields& inner, const std::vector<bool>& linear, const std::vector<bool>& full) {
  for (std::size_t at = 0; at < full.size(); ++at) {
    if (linear[at] != full[at]) continue;
    const error one{errc::invalid_argument, static_cast<std::int64_t>(at) + 1};
    inner.fail(
        one.with(full[at] ? "layer in both kda_ and full_attn_layers" : "layer not in kda_ or full_attn_layers"));
  }
}
/// Kimi Linear, and what Kimi K3 adds to it: gates, experts in a narrower space with a norm, attention residuals.
inline void read_kimi(layer_fields& in) {
  in.ends_untied();
  auto full = in.latent();
  if (in.has({"mla_use_output_gate"}) && in.flag("mla_use_output_gate", false))
    full.gate_width = full.heads * full.value_dim;
  cost::kimi_delta linear;
  std::vector<bool> sees_all;
  if (in.has({"linear_attn_config"})) {  // as published: layers are counted from 1
    in.raw().within("linear_attn_config", [&](fields& inner) {
      linear = {.heads = inner.size("num_heads"),
                .head_dim = inner.size("head_dim"),
                .kernel = inner.size("short_conv_kernel_size"),
                .whole_output_gate = inner.has("use_full_rank_gate") && inner.flag_or("use_full_rank_gate", false)};
      sees_all = inner.listed_layers("full_attn_layers", 1, in.layers());
      if (inner.has("kda_layers")) check_partition(inner, inner.listed_layers("kda_layers", 1, in.layers()), sees_all);
    });
  } else if (!in.has({"linear_num_heads"})) {
    in.raw().fail(error{errc::missing_field}.with("linear_attn_config"));
  } else {
    linear = {.heads = in.size({"linear_num_heads"}),
              .head_dim = in.size({"linear_head_dim"}),
              .kernel = in.size({"linear_conv_kernel_dim"})};
    sees_all = in.sees_all("linear_attention", [](std::int64_t at) { return at != 0 && at % 4 == 0; });
  }
  if (!in.ok()) return;
  linear.gate_rank = linear.head_dim;
  const auto mixes = in.mixes({"first_k_dense_replace"});
  const auto dense = every(mixes) ? cost::feed_forward{} : in.dense();
  auto experts = in.experts({"moe_intermediate_size"});
  experts.router_bias = true;
  experts.latent_width = in.optional({"routed_expert_hidden_size"});
  const bool latent_norm = in.has({"latent_moe_use_norm"}) && in.flag("latent_moe_use_norm", false);
  const std::int64_t period = in.optional({"attn_res_block_size"});
  for (std::int64_t at = 0; at < in.layers(); ++at) {
    const bool mixed = mixes[index(at)];
    cost::layer_blocks blocks{cost::norms{}, sees_all[index(at)] ? cost::block(full) : cost::block(linear),
                              after_mixer(), mixed ? cost::block(experts) : cost::block(dense)};
    if (mixed && latent_norm) blocks.push_back(cost::table{experts.latent_width});
    if (period > 0) mix_sources(blocks, at, period);
    in.layer(std::move(blocks));
  }
  if (period > 0 && in.layers() > 0)
    in.list().back = {cost::attention_residuals{.sources = (in.layers() - 1) / period + 2, .count = 1}};
}
inline void read_bailing(layer_fields& in) {
  in.ends_untied();
  auto full = in.latent();
  full.gate_width = full.heads;
  const cost::kimi_delta linear{.heads = in.size({"linear_num_heads"}),
                                .head_dim = in.size({"linear_head_dim"}),
                                .kernel = in.size({"linear_conv_kernel_dim", "short_conv_kernel_size"})};
  const std::int64_t period = in.size_or({"layer_group_size"}, 6);
  const auto sees_all = in.sees_all("linear_attention", [&](std::int64_t at) { return each(at, period); });
  const auto mixes = in.mixes({"first_k_dense_replace"});
  const auto dense = every(mixes) ? cost::feed_forward{} : in.dense();
  auto experts = in.experts({"moe_intermediate_size"});
  experts.router_bias = true;
  for (std::int64_t at = 0; at < in.layers(); ++at)
    in.layer(sees_all[index(at)] ? cost::block(full) : cost::block(linear),
             mixes[index(at)] ? cost::block(experts) : cost::block(dense));
}

inline void read_deepseek_v4(layer_fields& in) {
  in.ends(false);
  auto& list = in.list();
  list.sizes.streams = in.size({"hc_mult"});
  const std::int64_t n = list.sizes.streams;
  if (n > max_streams) in.raw().fail(error{errc::out_of_range, n, 1, max_streams}.with("hc_mult"));
  if (!in.ok()) return;
  const cost::compressed_attention windowed{.heads = in.size({"num_attention_heads"}),
                                            .head_dim = in.size({"head_dim"}),
                                            .query_rank = in.size({"q_lora_rank"}),
                                            .output_groups = in.size({"o_groups"}),
                                            .output_rank = in.size({"o_lora_rank"}),
                                            .window = in.size({"sliding_window"})};
  cost::compressed_attention heavy = windowed;
  cost::compressed_attention sparse = windowed;
  heavy.ratio = 128;
  sparse.ratio = 4;
  if (in.has({"compress_rates"}))
    in.raw().within("compress_rates", [&](fields& rates) {
      heavy.ratio = rates.size("heavily_compressed_attention");
      sparse.ratio = rates.size("compressed_sparse_attention");
    });
  sparse.overlaps = true;
  sparse.selected = in.size({"index_topk"});
  sparse.index_heads = in.size({"index_n_heads"});
  sparse.index_dim = in.size({"index_head_dim"});
  // As published: a ratio per layer, and one for each prediction module behind them.
  const auto ratios = in.has({"layer_types"}) || !in.has({"compress_ratios"})
                        ? std::vector<std::int64_t>{}
                        : in.raw().first_numbers("compress_ratios", in.layers());
  constexpr const char *sparse_word = "compressed_sparse_attention", *heavy_word = "heavily_compressed_attention",
                       *window_word = "sliding_attention";
  const auto kinds = in.words({"layer_types"}, {sparse_word, heavy_word, window_word}, [&](std::int64_t at) {
    const std::int64_t ratio = ratios.empty() ? (at > 1 && at % 2 == 1 ? 4 : 128) : ratios[index(at)];
    return ratio == 4 ? sparse_word : ratio == 0 ? window_word : heavy_word;
  });
  auto experts = in.experts({"moe_intermediate_size"});
  experts.bias = in.optional_flag("mlp_bias");
  auto by_table = experts;
  experts.router_bias = true;
  const std::int64_t by_hash = in.has({"mlp_layer_types"}) ? 0 : in.size_or({"num_hash_layers"}, 3);
  const auto routers = in.words({"mlp_layer_types"}, {"hash_moe", "moe"},
                                [&](std::int64_t at) { return at < by_hash ? "hash_moe" : "moe"; });
  for (std::int64_t at = 0; at < in.layers(); ++at) {
    const std::string& kind = kinds[index(at)];
    in.layer({cost::hyper_connections{.streams = n}, cost::norms{},
              kind == sparse_word  ? sparse
              : kind == heavy_word ? heavy
                                   : windowed,
              after_mixer(), routers[index(at)] == "hash_moe" ? by_table : experts});
  }
  list.back = {cost::projection{.input = n * in.hidden(), .outputs = n}, cost::table{.elements = n + 1}};
}

inline void read_minimax(layer_fields& in) {
  in.ends(false);
  const auto full = in.attention();
  const cost::lightning_attention linear{
      .heads = full.heads, .head_dim = full.head_dim, .chunk = in.size_or({"block_size"}, 256)};
  const auto sees_all = in.sees_all("linear_attention", [](std::int64_t at) { return at % 2 == 0; });
  const auto experts = in.experts({"intermediate_size"});
  for (std::int64_t at = 0; at < in.layers(); ++at)
    in.layer(sees_all[index(at)] ? cost::block(full) : cost::block(linear), experts);
}
inline void read_llama4(layer_fields& in) {
  in.ends(false);
  const auto full = in.attention();
  auto chunked = full;
  chunked.window = in.optional({"attention_chunk_size"});
  chunked.chunked = chunked.window > 0;
  const auto sees_all = in.sees_all("chunked_attention", [](std::int64_t at) { return each(at, 4); });
  std::vector<bool> mixes;
  if (!in.numbers("moe_layers", mixes)) {
    const std::int64_t step = in.size_or({"interleave_moe_layer_step"}, 1);
    for (std::int64_t at = 0; at < in.layers(); ++at) mixes.push_back(each(at, step));
  }
  auto experts = in.experts({"intermediate_size"});
  experts.shared_ffn = experts.expert_ffn;
  const cost::feed_forward dense{.ffn = every(mixes) ? 0 : in.size({"intermediate_size_mlp"})};
  softmax_layers(in, full, chunked, sees_all, mixes, dense, experts);
}

inline void read_gemma3(layer_fields& in) {
  in.ends(true);
  auto full = in.attention(256);
  full.qk_norm = true;
  const std::int64_t period =
      in.has({"layer_types"}) ? 6 : in.size_or({"sliding_window_pattern", "_sliding_window_pattern"}, 6);
  const auto sees_all = in.sees_all("sliding_attention", [&](std::int64_t at) { return each(at, period); });
  const auto dense = in.dense();
  softmax_layers(in, full, with_window(full, in.size({"sliding_window"})), sees_all, all(in, false), dense, dense, 2);
}
/// Vectors that each token has for each layer: their table, their projection from the embedding, a norm.
inline void per_layer_inputs(layer_fields& in, std::int64_t width) {
  in.list().front.push_back(
      cost::table{.elements = width, .count = in.size({"vocab_size_per_layer_input"}) * in.layers()});
  in.list().front.push_back(cost::table{width});
  in.list().front.push_back(cost::projection{.outputs = in.layers() * width});
}
inline void read_gemma3n(layer_fields& in) {
  in.ends(true);
  auto full = in.attention(256);
  full.qk_norm = true;
  const std::int64_t shared = in.shared_kv_layers(), width = in.size({"hidden_size_per_layer_input"}),
                     n = in.size({"altup_num_inputs"}), rank = in.size({"laurel_rank"}), h = in.hidden(),
                     window = in.size({"sliding_window"});
  if (n > max_streams) in.raw().fail(error{errc::out_of_range, n, 1, max_streams}.with("altup_num_inputs"));
  const auto sees_all = in.sees_all("sliding_attention", [](std::int64_t at) { return each(at, 5); });
  const auto widths = in.raw().sizes("intermediate_size", in.layers());
  for (std::int64_t at = 0; at < in.layers(); ++at) {
    auto attention = with_window(full, sees_all[index(at)] ? 0 : window);
    attention.shared_kv = at >= in.layers() - shared;
    in.layer({cost::norms{}, attention, after_mixer(), cost::feed_forward{.ffn = widths[index(at)]},
              cost::norms{.count = 2, .place = cost::norm_place::behind}, cost::projection{.outputs = rank},
              cost::projection{.input = rank, .outputs = h}, cost::table{h}, cost::alternating_updates{n},
              cost::per_layer_input{width}});
  }
  per_layer_inputs(in, width);
  in.list().front.push_back(cost::projection{.outputs = h, .count = n - 1});
  in.list().back = {cost::projection{.outputs = h, .count = n - 1}};
  in.list().sizes.streams = n;
}
inline void read_gemma4(layer_fields& in) {
  in.ends(true);
  auto windowed = in.attention(256);
  windowed.qk_norm = true;
  auto full = windowed;
  full.key_is_value = in.flag("attention_k_eq_v", false);
  const auto sees_all = in.sees_all("sliding_attention", [](std::int64_t at) { return each(at, 6); });
  if (in.has({"per_layer_config"})) {  // as transformers saves it: what differs from the others
    full.head_dim = in.raw().first_override("head_dim", full.head_dim);
    full.kv_heads = in.raw().first_override("num_key_value_heads", full.kv_heads);
  } else {
    full.head_dim = in.size_or({"global_head_dim"}, 512);
    if (full.key_is_value && in.has({"num_global_key_value_heads"}))
      full.kv_heads = in.size({"num_global_key_value_heads"});
  }
  windowed.window = in.size({"sliding_window"});
  const std::int64_t shared = in.shared_kv_layers(), width = in.optional({"hidden_size_per_layer_input"});
  const bool mixes = in.flag("enable_moe_block", false), wide = in.flag("use_double_wide_mlp", false);
  for (std::int64_t at = 0; at < in.layers(); ++at) {
    auto attention = sees_all[index(at)] ? full : windowed;
    attention.shared_kv = at >= in.layers() - shared;
    auto dense = in.dense();
    if (wide && attention.shared_kv) dense.ffn *= 2;
    cost::layer_blocks blocks{cost::norms{}, attention, after_mixer(), dense,
                              cost::norms{.count = mixes ? 5 : 2, .place = cost::norm_place::behind}};
    if (mixes) {
      const auto experts = in.experts({"moe_intermediate_size"});
      blocks.push_back(experts);
      blocks.push_back(cost::table{in.hidden() + experts.experts});
    }
    if (width > 0) blocks.push_back(cost::per_layer_input{width});
    in.layer(std::move(blocks));
  }
  if (width > 0) per_layer_inputs(in, width);
}

inline void read_nemotron_h(layer_fields& in) {
  constexpr std::string_view letters = "ME*-";
  constexpr const char* words[] = {"linear_attention", "moe", "full_attention", "mlp"};
  const std::string pattern = in.raw().word_or("hybrid_override_pattern", "");
  in.ends_untied();
  const layer_words known = {"linear_attention", "mamba", "moe", "full_attention", "attention", "mlp"};
  const bool by_pattern = !in.has({"layers_block_type", "layer_types"});
  for (std::size_t at = 0; by_pattern && at < pattern.size(); ++at)
    if (letters.find(pattern[at]) == letters.npos)
      in.raw().refuse_layer("hybrid_override_pattern", pattern.substr(at, 1), at);
  if (by_pattern && pattern.size() != index(in.layers()))
    in.raw().fail(error{errc::contradictory_field, static_cast<std::int64_t>(pattern.size()), in.layers()}.with(
        "letters of hybrid_override_pattern"));
  if (!in.ok()) return;
  const auto kinds = in.words({"layers_block_type", "layer_types"}, known,
                              [&](std::int64_t at) { return words[letters.find(pattern[index(at)])]; });
  const auto is = [&](std::string_view kind) { return std::find(kinds.begin(), kinds.end(), kind) != kinds.end(); };
  auto state_space = in.mamba2(128);
  state_space.bias = state_space.output_bias = in.optional_flag("use_bias");  // not "mamba_proj_bias", which is there
  auto attention = in.attention(128);
  attention.qkv_bias = attention.output_bias = false;
  const auto dense = is("mlp") ? in.dense(2) : cost::feed_forward{};
  cost::mixture experts;
  if (is("moe")) {
    experts = in.experts({"moe_intermediate_size"});
    experts.ffn_matrices = 2;
    experts.shared_ffn = in.size({"moe_shared_expert_intermediate_size"});
    experts.latent_width = in.optional({"moe_latent_size"});
    experts.router_bias = true;
    experts.bias = in.optional_flag("mlp_bias");
  }
  for (const std::string& kind : kinds)
    in.layer({cost::norms{}, kind == "linear_attention" || kind == "mamba" ? cost::block(state_space)
                             : kind == "moe"                               ? cost::block(experts)
                             : kind == "mlp"                               ? cost::block(dense)
                                                                           : cost::block(attention)});
}

inline void read_falcon_h1(layer_fields& in) {
  in.ends(false);
  const auto attention = in.attention();
  auto state_space = in.mamba2();
  state_space.gated_norm = in.flag("mamba_rms_norm", false);
  state_space.output_bias = in.optional_flag("projectors_bias");
  for (std::int64_t at = 0; at < in.layers(); ++at)
    in.layer({cost::norms{}, state_space, attention, after_mixer(), in.dense()});
}
inline void read_mamba(layer_fields& in) {
  in.ends(true);
  for (std::int64_t at = 0; at < in.layers(); ++at) in.layer({cost::norms{}, in.mamba()});
}
inline void read_mamba2(layer_fields& in) {
  in.ends(false);
  for (std::int64_t at = 0; at < in.layers(); ++at) in.layer({cost::norms{}, in.mamba2()});
}
inline void read_jamba(layer_fields& in) {
  in.ends(false);
  auto attention = in.attention();
  attention.qkv_bias = attention.output_bias = false;
  auto state_space = in.mamba();
  state_space.inner_norms = true;
  const std::int64_t attends = in.size({"attn_layer_period"}), first = in.raw().size_or_null("attn_layer_offset"),
                     mixes = in.size({"expert_layer_period"}), first_mix = in.raw().size_or_null("expert_layer_offset");
  const auto dense = in.dense();
  const auto experts = in.experts({"intermediate_size"});
  for (std::int64_t at = 0; at < in.layers(); ++at)
    in.layer(at % attends == first ? cost::block(attention) : cost::block(state_space),
             at % mixes == first_mix && experts.experts > 1 ? cost::block(experts) : cost::block(dense));
}
inline void read_bamba(layer_fields& in) {
  in.ends(false);
  const auto attention = in.attention();
  const auto state_space = in.mamba2();
  std::vector<bool> attends;
  if (!in.numbers("attn_layer_indices", attends)) attends = all(in, false);
  for (std::int64_t at = 0; at < in.layers(); ++at)
    in.layer(attends[index(at)] ? cost::block(attention) : cost::block(state_space), in.dense());
}
inline void read_granite(layer_fields& in, bool hybrid) {
  in.ends(false);
  const auto attention = in.attention();
  const auto sees_all = hybrid ? in.sees_all("linear_attention", [](std::int64_t) { return false; }) : all(in, true);
  cost::block mixer = attention;
  if (!every(sees_all)) mixer = in.mamba2();
  const std::int64_t shared = in.optional({"shared_intermediate_size"});
  cost::block ffn = cost::feed_forward{.ffn = shared};
  if (in.optional({"num_local_experts"}) > 0) {
    auto experts = in.experts({"intermediate_size"});
    experts.shared_ffn = shared;
    ffn = experts;
  }
  for (std::int64_t at = 0; at < in.layers(); ++at) in.layer(sees_all[index(at)] ? cost::block(attention) : mixer, ffn);
}
/// Some layers run a transformer layer on the stream and the embedding together first. There are num_mem_blocks of
/// them, taken in turns; each use has a narrow adapter of its own.
inline void read_zamba2(layer_fields& in) {
  in.ends(true);
  const std::int64_t h = in.hidden(), heads = in.size({"num_attention_heads"}), blocks = in.size({"num_mem_blocks"}),
                     rank = in.size({"adapter_rank"}), ffn = in.size({"intermediate_size"});
  const cost::mamba2 state_space{.heads = in.size({"n_mamba_heads"}),
                                 .head_dim = in.size({"mamba_expand"}) * h / in.size({"n_mamba_heads"}),
                                 .groups = in.size({"mamba_ngroups"}),
                                 .state = in.size({"mamba_d_state"}),
                                 .kernel = in.size({"mamba_d_conv"}),
                                 .chunk = in.size_or({"chunk_size"}, 256),
                                 .bias = in.flag("add_bias_linear", false),
                                 .output_bias = in.flag("add_bias_linear", false)};
  in.raw().expect("attention_hidden_size", 2 * h);  // the stream and the embedding, one behind the other
  const bool own_width = in.has({"attention_head_dim", "head_dim"});
  const cost::attention attention{.heads = heads,
                                  .kv_heads = in.size({"num_key_value_heads"}),
                                  .head_dim = own_width ? in.size({"attention_head_dim", "head_dim"}) : 2 * h / heads,
                                  .input = 2 * h};
  if (!in.list().sizes.tied)
    in.raw().assume("tie_word_embeddings",
                    "false: then transformers 5.24 gives each use of a shared block its own weights");
  const bool adapted = in.flag("use_shared_attention_adapter", false);
  const auto kinds = in.words({"layers_block_type"}, {"hybrid", "linear_attention", "mamba"}, [&](std::int64_t) {
    in.raw().fail(error{errc::missing_field}.with("layers_block_type"));
    return "";
  });
  const std::int64_t all_uses = std::count(kinds.begin(), kinds.end(), "hybrid");
  // A block has the adapters of all of its uses; where each use has a copy, it has those of the others in vain.
  const std::int64_t adapters = rank * (h + 2 * ffn) + (adapted ? 12 * h * rank : 0);
  std::int64_t uses = 0;
  for (const std::string& kind : kinds) {
    if (kind != "hybrid") {
      in.layer({cost::norms{}, state_space});
      continue;
    }
    const std::int64_t set = uses % blocks;  // in turns
    const bool again = uses++ >= blocks && in.list().sizes.tied;
    cost::layer_blocks layer{cost::block(cost::table{2 * h + h}, again, set), cost::block(attention, again, set)};
    if (adapted)
      layer.insert(layer.end(), {cost::projection{.input = 2 * h, .outputs = rank, .count = 3},
                                 cost::projection{.input = rank, .outputs = 2 * h, .count = 3}});
    layer.insert(layer.end(), {cost::block(cost::feed_forward{.ffn = ffn, .ffn_bias = state_space.bias}, again, set),
                               cost::projection{.outputs = rank}, cost::projection{.input = rank, .outputs = 2 * ffn},
                               cost::projection{.outputs = h}, cost::norms{}, state_space});
    const std::int64_t in_vain = in.list().sizes.tied ? 0 : (all_uses - set - 1) / blocks;
    if (in_vain > 0) layer.push_back(cost::table{.elements = adapters, .count = in_vain});
    in.layer(std::move(layer));
  }
}
/// Two attentions and two dense FFNs a layer, and a mixture beside them. transformers 5.24 makes room for the first
/// product of zero experts too, which has no weights in the published model: it counts zero_expert_num more of them.
inline void read_longcat(layer_fields& in) {
  in.ends(false);
  const auto attention = in.latent();
  in.raw().expect("qk_head_dim", attention.nope_dim + attention.rope_dim);
  auto experts = in.experts({"expert_ffn_hidden_size"});
  experts.zero_experts = in.optional({"zero_expert_num"});
  experts.router_bias = true;
  for (std::int64_t at = 0; at < in.layers(); ++at)
    in.layer({cost::norms{}, attention, after_mixer(), experts, in.dense(), cost::norms{}, attention, after_mixer(),
              in.dense()});
}
inline void read_ernie_moe(layer_fields& in) {
  in.ends(true);
  auto attention = in.attention();
  attention.qkv_bias = attention.output_bias = in.flag("use_bias", false);
  const std::int64_t from = in.raw().size_or_null("moe_layer_start_index"), step = in.size({"moe_layer_interval"});
  std::int64_t to = in.layers() - 1;
  if (in.has({"moe_layer_end_index"}) && !in.raw().is_minus_one("moe_layer_end_index"))
    to = in.size({"moe_layer_end_index"});
  auto dense = in.dense();
  dense.ffn_bias = in.list().sizes.head_bias = attention.qkv_bias;
  auto experts = in.experts({"moe_intermediate_size"});
  experts.router_bias = true;
  experts.bias = attention.qkv_bias;
  for (std::int64_t at = 0; at < in.layers(); ++at)
    in.layer(attention, each(at, step) && at >= from && at <= to ? cost::block(experts) : cost::block(dense));
}
inline void read_hunyuan(layer_fields& in, bool mixes) {
  in.ends(false);
  auto attention = in.attention();
  attention.qk_norm = true;
  cost::block ffn = in.dense();
  if (mixes) {
    auto experts = in.experts({"intermediate_size"});
    experts.shared_ffn = experts.expert_ffn;
    ffn = experts;
  }
  for (std::int64_t at = 0; at < in.layers(); ++at) in.layer(attention, ffn);
}
inline void read_lfm2(layer_fields& in, bool mixes) {
  in.ends(true);
  auto attention = in.attention();
  attention.qkv_bias = attention.output_bias = false;
  attention.qk_norm = true;
  const cost::short_convolution convolution{.kernel = in.size({"conv_L_cache"}),
                                            .conv_bias = in.flag("conv_bias", false)};
  auto dense = in.dense();
  if (!mixes && in.flag("block_auto_adjust_ff_dim", true)) {
    const std::int64_t unit = in.size_or({"block_multiple_of"}, 256);
    dense.ffn = (2 * dense.ffn / 3 + unit - 1) / unit * unit;  // block_ffn_dim_multiplier is 1 in what is published
    in.raw().expect_one("block_ffn_dim_multiplier");
  }
  cost::mixture experts;
  std::int64_t first = in.layers();
  if (mixes) {
    experts = in.experts({"moe_intermediate_size"});
    experts.router_bias = in.flag("use_expert_bias", true);
    first = in.dense_layers({"num_dense_layers"});
  }
  const auto sees_all = in.sees_all("conv", [](std::int64_t) { return true; });
  for (std::int64_t at = 0; at < in.layers(); ++at)
    in.layer(sees_all[index(at)] ? cost::block(attention) : cost::block(convolution),
             at < first ? cost::block(dense) : cost::block(experts));
}
inline void read_olmo3(layer_fields& in) {
  in.ends(false);
  auto full = in.attention();
  full.qk_norm_all = true;
  const auto sees_all = in.sees_all("sliding_attention", [](std::int64_t at) { return each(at, 4); });
  const auto dense = in.dense();
  softmax_layers(in, full, with_window(full, in.size({"sliding_window"})), sees_all, all(in, false), dense, dense);
}
inline void read_exaone4(layer_fields& in) {
  in.ends(false);
  auto full = in.attention();
  full.qk_norm = true;
  const std::int64_t window = in.optional({"sliding_window"});
  const auto sees_all = in.sees_all("sliding_attention", [&](std::int64_t at) { return window == 0 || each(at, 4); });
  const auto dense = in.dense();
  softmax_layers(in, full, with_window(full, window), sees_all, all(in, false), dense, dense);
}
/// One kind of attention, one of FFN: what has few flags of its own.
inline void read_plain(layer_fields& in, std::int64_t ffn_matrices, bool qk_norm, std::int64_t extra) {
  in.ends(false);
  auto full = in.attention();
  full.qk_norm = qk_norm;
  full.window = in.optional({"sliding_window"});
  const auto dense = in.dense(ffn_matrices);
  for (std::int64_t at = 0; at < in.layers(); ++at) {
    cost::layer_blocks blocks{cost::norms{}, full, after_mixer(), dense};
    if (extra > 0) blocks.push_back(cost::table{extra});
    in.layer(std::move(blocks));
  }
}
/// Apertus 1.5; a head of fewer rows than the embedding is refused.
inline void read_apertus1p5(layer_fields& in) {
  read_plain(in, 2, true, 2);
  in.raw().expect("output_vocab_size", in.list().sizes.vocabulary);
}
/// Key-value heads of windowed layers: named in the published files, twice those of the others in transformers.
inline std::int64_t windowed_kv_heads(layer_fields& in, std::int64_t full) {
  return in.size_or({"swa_num_key_value_heads"}, 2 * full);
}
inline void read_mimo(layer_fields& in) {
  in.ends(false);
  auto full = in.attention();
  full.output_bias = false;
  full.value_dim = in.size({"v_head_dim"});
  auto windowed = with_window(full, in.size({"sliding_window"}));
  windowed.kv_heads = windowed_kv_heads(in, full.kv_heads);
  windowed.attention_sinks = true;
  const auto sees_all = in.sees_all("sliding_attention", [](std::int64_t at) { return at == 0 || each(at, 6); });
  auto experts = in.experts({"moe_intermediate_size"});
  experts.router_bias = true;
  const auto mixes = in.mixes({"first_k_dense_replace"});
  softmax_layers(in, full, windowed, sees_all, mixes, in.dense(), experts);
}
/// Layers with an indexer are refused: the published ones have none.
inline void read_minimax_m3(layer_fields& in) {
  in.ends(false);
  auto full = in.attention();
  full.qk_norm = true;
  const auto mixes = mixed_layers(in);
  const cost::feed_forward dense{.ffn = every(mixes) ? 0 : in.size({"dense_intermediate_size"})};
  auto experts = in.experts({"intermediate_size"});
  experts.router_bias = true;
  experts.shared_ffn = in.optional({"shared_intermediate_size"});
  const auto sees_all = in.sees_all("full_attention", [](std::int64_t) { return true; });
  softmax_layers(in, full, full, sees_all, mixes, dense, experts);
}
/// One norm feeds attention and FFN in parallel.
inline void read_cohere2_moe(layer_fields& in) {
  in.ends(true);
  const auto full = in.attention(128);
  const auto mixes = mixed_layers(in);
  const cost::feed_forward dense{.ffn = in.has({"prefix_dense_intermediate_size"})
                                          ? in.size({"prefix_dense_intermediate_size"})
                                          : in.size({"intermediate_size"}),
                                 .shares_input = true};
  auto experts = in.experts({"intermediate_size"});
  experts.shares_input = true;
  const auto windowed = with_window(full, in.optional({"sliding_window"}));
  const auto sees_all = in.sees_all("sliding_attention", [](std::int64_t at) { return each(at, 4); });
  for (std::int64_t at = 0; at < in.layers(); ++at)
    in.layer({cost::norms{}, sees_all[index(at)] ? full : windowed,
              mixes[index(at)] ? cost::block(experts) : cost::block(dense)});
}
inline void read_olmo_hybrid(layer_fields& in) {
  in.ends(false);
  auto full = in.attention();
  full.qk_norm_all = true;
  const auto linear = in.gated_delta();
  const auto dense = in.dense();
  const auto sees_all = in.sees_all("linear_attention", [](std::int64_t at) { return each(at, 4); });
  for (std::int64_t at = 0; at < in.layers(); ++at)
    in.layer(sees_all[index(at)] ? cost::block(full) : cost::block(linear), dense);
}
inline void read_lara(layer_fields& in) {
  in.ends(true);
  auto full = in.attention(128);
  full.qk_norm = true;
  const auto windowed = with_window(full, in.size({"sliding_window"}));
  const auto linear = in.gated_delta();
  auto experts = in.experts({"moe_intermediate_size"});
  experts.shared_ffn = in.size({"shared_expert_intermediate_size"});
  for (const std::string& kind :
       in.words({"layer_types"}, {"linear_attention", "sliding_attention", "full_attention"}, [&](std::int64_t) {
         in.raw().fail(error{errc::missing_field}.with("layer_types"));
         return "full_attention";
       }))
    in.layer(kind == "linear_attention" ? cost::block(linear) : kind == "full_attention" ? full : windowed, experts);
}
/// Norms inside attention and FFN, before their last products.
inline void read_bitnet(layer_fields& in) {
  in.ends(false);
  const auto full = in.attention();
  const auto dense = in.dense();
  const cost::table inner{full.heads * full.head_dim + dense.ffn};
  for (std::int64_t at = 0; at < in.layers(); ++at) in.layer({cost::norms{}, full, after_mixer(), dense, inner});
}
inline void read_lfm3(layer_fields& in) {
  in.ends(true);
  auto full = in.attention();
  full.qk_norm = true;
  if (in.flag("use_attention_gate", true)) full.gate_width = full.heads;
  const auto windowed = with_window(full, in.size({"sliding_window"}));
  const cost::short_convolution convolution{.kernel = in.size({"conv_L_cache"}),
                                            .conv_bias = in.flag("conv_bias", false)};
  const std::int64_t behind = in.flag("use_sandwich_norm", true) ? 2 : 0;
  const auto dense = in.dense();
  for (const std::string& kind :
       in.words({"layer_types"}, {"conv", "sliding_attention", "full_attention"}, [&](std::int64_t) {
         in.raw().fail(error{errc::missing_field}.with("layer_types"));
         return "conv";
       }))
    in.layer(kind == "conv" ? cost::block(convolution) : kind == "full_attention" ? full : windowed, dense, behind);
}
/// Sparse latent attention with sinks and a gate; streams that are mixed by two weights each, not by a matrix.
inline void read_hy_v4(layer_fields& in) {
  read_sparse_latent(in, 4);
  const std::int64_t n = in.size({"hc_mult"}), h = in.hidden();
  if (n > max_streams) in.raw().fail(error{errc::out_of_range, n, 1, max_streams}.with("hc_mult"));
  if (!in.ok()) return;
  auto& list = in.list();
  list.sizes.streams = n;
  for (auto& run : list.layers) {
    auto& attention = std::get<cost::latent_attention>(run.blocks[1].what);
    attention.gate_width = attention.heads * attention.value_dim;
    run.blocks.push_back(cost::table{attention.heads});  // sinks
    run.blocks.push_back(cost::projection{.input = n * h, .outputs = 2 * n, .count = 2});
    run.blocks.push_back(cost::table{2 * (2 * n + 2)});
  }
  list.back = {cost::projection{.input = n * h, .outputs = n}, cost::table{.elements = n + 1}};
}

/// Sandwich norms, an output gate with one bias per head; each sixth layer and the last one see everything.
inline void read_beam(layer_fields& in) {
  in.ends(false);
  auto full = in.attention(128);
  full.qk_norm = true;
  full.gate_width = full.heads * full.head_dim;
  const auto sees_all =
      in.sees_all("sliding_attention", [&](std::int64_t at) { return each(at, 6) || at + 1 == in.layers(); });
  const auto mixes = in.mixes({"first_k_dense_replace"});
  const auto dense = every(mixes) ? cost::feed_forward{} : in.dense();
  auto experts = in.experts({"moe_intermediate_size"});
  experts.router_bias = true;
  const auto windowed = every(sees_all) ? full : with_window(full, in.size({"sliding_window"}));
  for (std::int64_t at = 0; at < in.layers(); ++at)
    in.layer({cost::norms{}, sees_all[index(at)] ? full : windowed, after_mixer(),
              mixes[index(at)] ? cost::block(experts) : cost::block(dense),
              cost::norms{.count = 2, .place = cost::norm_place::behind}, cost::table{full.heads}});
}
/// Sparse latent attention whose queries and output gate read the compressed query twice; norms with a narrow gate.
inline void read_axk2(layer_fields& in) {
  read_sparse_latent(in, 1);
  const std::int64_t rank = in.size({"gated_norm_rank"});
  for (auto& run : in.list().layers) {
    const auto attention = std::get<cost::latent_attention>(run.blocks[1].what);
    const bool mixes = std::holds_alternative<cost::mixture>(run.blocks.back().what);
    const std::int64_t gates = mixes ? 2 : 1;  // the norm before a dense FFN has none
    run.blocks.push_back(cost::projection{.input = attention.query_rank,
                                          .outputs = attention.heads * (attention.nope_dim + attention.rope_dim)});
    run.blocks.push_back(
        cost::projection{.input = 2 * attention.query_rank, .outputs = attention.heads * attention.value_dim});
    run.blocks.push_back(cost::projection{.outputs = rank, .count = gates});
    run.blocks.push_back(cost::projection{.input = rank, .outputs = in.hidden(), .count = gates});
  }
}

/// Two stacks of equal layers: in each of H_cycles the low one runs L_cycles times, then the high one once. Norms have
/// no weights. Saved files have the number of passes in num_hidden_layers, and num_layers_per_stack beside it.
inline void read_hrm(layer_fields& in) {
  in.ends(false);
  auto full = in.attention(128);
  full.kv_heads = full.heads;
  full.gate_width = full.heads * full.head_dim;
  full.gate_bias = full.qkv_bias;
  const std::int64_t high = in.size_or({"H_cycles"}, 2), low = in.size_or({"L_cycles"}, 3);
  const std::int64_t layers = in.has({"num_layers_per_stack"}) ? in.size({"num_layers_per_stack"}) : in.layers();
  in.check_passes(layers * high, low + 1);
  if (in.has({"num_layers_per_stack"})) in.raw().expect("num_hidden_layers", layers * high * (low + 1));
  const cost::norms norm{.norm_weights = 0};
  const cost::layer_blocks layer{norm, full, cost::norms{.norm_weights = 0, .place = cost::norm_place::between},
                                 in.dense()};
  if (!in.ok()) return;
  for (std::int64_t cycle = 0; cycle < high; ++cycle)
    for (std::int64_t pass = 0; pass <= low; ++pass)
      for (std::int64_t at = 0; at < layers; ++at) {
        const bool is_high = pass == low;
        in.layer(numbered(layer, is_high ? layers + at : at, cycle > 0 || (pass > 0 && !is_high)));
      }
  in.list().front = {cost::table{in.hidden()}};  // where the low stack begins
  in.list().sizes.norm_weights = 0;
  in.raw().assume("L_bp_cycles", "all passes: one that is run without gradients counts with its backward pass, too");
}
/// Layers on the unit sphere, scales in place of norms; those in the middle run n_recurrent_loops times. Saved files
/// count attention and FFN as a layer each.
inline void read_dory(layer_fields& in) {
  in.ends(false);
  auto full = in.attention(256);
  full.gate_width = full.heads * full.head_dim;
  const auto dense = in.dense();
  std::vector<std::string> kinds =
      in.words({"layer_types"}, {"full_attention", "sliding_attention", "mlp"}, [&](std::int64_t) {
        in.raw().fail(error{errc::missing_field}.with("layer_types"));
        return "full_attention";
      });
  const bool split = std::find(kinds.begin(), kinds.end(), "mlp") != kinds.end();
  kinds.erase(std::remove(kinds.begin(), kinds.end(), "mlp"), kinds.end());
  const auto layers = static_cast<std::int64_t>(kinds.size());
  if (split && 2 * layers != in.layers()) in.raw().fail(error{errc::invalid_argument, 3}.with("layer_types"));
  const std::int64_t unit = split ? 2 : 1;
  const std::int64_t before = in.size_or({"n_input_layers"}, 8 * unit) / unit,
                     behind = in.size_or({"n_output_layers"}, 8 * unit) / unit,
                     loops = in.size_or({"n_recurrent_loops"}, 2), looped = layers - before - behind;
  if (looped < 0) in.raw().fail(error{errc::contradictory_field, before + behind, layers}.with("n_input_layers"));
  in.raw().expect("n_recurrent_layers", looped * unit);
  in.check_passes(layers, loops);
  const auto windowed = with_window(full, in.size({"sliding_window"}));
  if (!in.ok()) return;
  const cost::table scales{2 * full.heads * full.head_dim + 2 * in.hidden() + 2 * dense.ffn};
  const cost::norms norm{.norm_weights = 0};
  for (std::int64_t loop = 0; loop < loops; ++loop)
    for (std::int64_t at = 0; at < layers; ++at) {
      const bool repeats = at >= before && at < layers - behind;
      if (!repeats && (at < before ? loop > 0 : loop + 1 < loops)) continue;
      in.layer(numbered({norm, kinds[index(at)] == "full_attention" ? full : windowed,
                         cost::norms{.norm_weights = 0, .place = cost::norm_place::between}, dense,
                         cost::norms{.count = 2, .norm_weights = 0, .place = cost::norm_place::behind}, scales},
                        at, repeats && loop > 0));
    }
  in.list().back = {cost::table{in.list().sizes.vocabulary}};  // a scale of each logit
  in.list().sizes.norm_weights = 0;
}

/// The table: what a config calls itself, and how it is read.
inline constexpr family families[] = {
    {"qwen3_next", [](layer_fields& in) { read_qwen3_next(in, false); }},
    {"qwen3_5_text", [](layer_fields& in) { read_qwen3_next(in, true); }},
    {"qwen3_5_moe_text", [](layer_fields& in) { read_qwen3_next(in, false); }},
    {"qwen3_moe", read_mixed<mixed_traits{.qk_norm = true, .router_bias = false}>},
    {"deepseek_v2", [](layer_fields& in) { read_latent(in, {.mlp_bias = true}); }},
    {"deepseek_v3", read_deepseek_v3},
    {"deepseek_v32", [](layer_fields& in) { read_sparse_latent(in, 1); }, 3},
    {"deepseek_v4", read_deepseek_v4},
    {"glm4_moe", read_mixed<mixed_traits{.qk_norm = true, .qk_norm_otherwise = false, .output_bias = false}>, 1},
    {"glm4_moe_lite", [](layer_fields& in) { read_latent(in, {.router_bias = true}); }, 1},
    {"axk1", read_axk1, 1},
    {"axk2", read_axk2, 1},
    {"beam", read_beam, 3},
    {"zaya", read_zaya},
    {"inkling_text", read_inkling},
    {"inkling2_text", [](layer_fields& in) { read_inkling2(in, false); }},
    {"inkling2_loop_text", [](layer_fields& in) { read_inkling2(in, true); }},
    {"qwen4_exp_text", read_qwen4_exp},
    {"dots3_note", read_dots3_note, 1},
    {"dots3_note_text", read_dots3_note, 1},
    {"hrm_text", read_hrm},
    {"dory", read_dory},
    {"sarvam_mla", [](layer_fields& in) { read_latent(in, {.router_bias = true}); }, 1},
    {"minicpm3", [](layer_fields& in) { read_latent(in, {.dense = true, .mlp_bias = true}); }},
    {"glm_moe_dsa", [](layer_fields& in) { read_sparse_latent(in, 1); }, 3},
    {"kimi_linear", read_kimi, 1},
    {"bailing_hybrid", read_bailing, 2},
    {"youtu", [](layer_fields& in) { read_latent(in, {.dense = true}); }},
    {"minimax", read_minimax},
    {"minimax_m2", read_mixed<mixed_traits{.qk_norm_all = true}>},
    {"llama4_text", read_llama4},
    {"gemma3_text", read_gemma3},
    {"gemma3n_text", read_gemma3n},
    {"gemma4_text", read_gemma4},
    {"gemma4_unified_text", read_gemma4},
    {"nemotron_h", read_nemotron_h},
    {"falcon_h1", read_falcon_h1},
    {"falcon_mamba", read_mamba},
    {"mamba", read_mamba},
    {"mamba2", read_mamba2},
    {"jamba", read_jamba},
    {"bamba", read_bamba},
    {"zamba2", read_zamba2},
    {"granitemoehybrid", [](layer_fields& in) { read_granite(in, true); }},
    {"granitemoeshared", [](layer_fields& in) { read_granite(in, false); }},
    {"longcat_flash", read_longcat},
    {"ernie4_5_moe", read_ernie_moe},
    {"exaone4", read_exaone4},
    {"hy_v3", read_mixed<mixed_traits{.qk_norm = true, .mlp_bias = true}>, 1},
    {"hunyuan_v1_dense", [](layer_fields& in) { read_hunyuan(in, false); }},
    {"hunyuan_v1_moe", [](layer_fields& in) { read_hunyuan(in, true); }},
    {"lfm2", [](layer_fields& in) { read_lfm2(in, false); }},
    {"lfm2_moe", [](layer_fields& in) { read_lfm2(in, true); }, 2},
    {"lfm3", read_lfm3},
    {"olmo3", read_olmo3},
    {"olmo_hybrid", read_olmo_hybrid},
    {"lara_mini", read_lara},
    {"bitnet", read_bitnet},
    {"hy_v4", read_hy_v4, 1},
    {"flex_olmo", read_mixed<mixed_traits{.qk_norm_all = true, .router_bias = false}>},
    {"ministral3", [](layer_fields& in) { read_plain(in, 3, false, 0); }},
    {"internlm3", [](layer_fields& in) { read_plain(in, 3, false, 0); }},
    {"phi4_multimodal", [](layer_fields& in) { read_plain(in, 3, false, 0); }},
    {"apertus1p5_text", read_apertus1p5},
    {"apertus", [](layer_fields& in) { read_plain(in, 2, true, 2); }},  // the activation has two weights a layer
    {"arcee", [](layer_fields& in) { read_plain(in, 2, false, 0); }},
    {"afmoe", read_mixed<mixed_traits{.qk_norm = true, .gate = true, .norms_behind = 2, .period = 4}>, 1},
    {"solar_open", read_mixed<mixed_traits{.output_bias = false}>},
    {"exaone_moe", read_mixed<mixed_traits{.qk_norm = true, .period = 4}>, 1},
    {"dots1", read_mixed<mixed_traits{.qk_norm = true}>},
    {"sarvam_moe", read_mixed<mixed_traits{.qk_norm = true, .output_bias = false}>, 1},
    {"mellum", read_mixed<mixed_traits{.qk_norm = true, .router_bias = false}>},
    {"kolibri1", read_mixed<mixed_traits{.qk_norm = true, .norms_behind = 2, .period = 5}>},
    {"flint", read_mixed<mixed_traits{.qk_norm = true, .sinks = true, .router_bias = false}>},
    {"laguna", read_laguna, 1},
    {"aria_text", read_mixed<mixed_traits{.router_bias = false, .mlp_bias = true}>},
    {"granitemoe_swa",
     read_mixed<mixed_traits{.sinks = true, .router_bias = false, .period = 4, .first_sees_all = true}>},
    {"minimax_m3_vl_text", read_minimax_m3},
    {"cohere2_moe", read_cohere2_moe},
    {"mimo_v2_flash", read_mimo, 1},
};

}  // namespace hocket::inline HOCKET_ABI::hugging_face::detail
