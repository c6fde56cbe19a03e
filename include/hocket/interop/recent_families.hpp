// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/interop/family_parts.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

/// Readers of families whose attention is put together of many small parts: convolutions over time, biases by distance,
/// routers of several products, streams. Source of all: the classes of transformers 5.24.
namespace hocket::inline HOCKET_ABI::hugging_face::detail {

/// A convolution over time of each channel alone, so many positions long.
inline cost::projection depthwise(std::int64_t channels, std::int64_t taps) {
  return {.input = 1, .outputs = taps, .count = channels};
}
inline cost::norms no_norm(cost::norm_place place) { return {.norm_weights = 0, .place = place}; }

/// Zaya: queries and keys go through two convolutions, one of them over the channels of a head, too. The router is a
/// small FFN, and one of its choices is no expert.
inline void read_zaya(layer_fields& in) {
  in.ends(true);
  in.list().sizes.head_bias = in.flag("lm_head_bias", false);
  const auto full = in.attention(128);
  const std::int64_t h = in.hidden(), router = in.size({"router_hidden_size"}), first = in.size({"cca_time0"}),
                     second = in.size({"cca_time1"}), heads = full.heads + full.kv_heads,
                     channels = heads * full.head_dim;
  auto experts = in.experts({"moe_intermediate_size"});
  experts.router_width = router;
  experts.zero_experts = 1;
  experts.router_bias = true;
  const auto kinds = in.words({"layer_types"}, {"hybrid", "hybrid_sliding"}, [](std::int64_t) { return "hybrid"; });
  const bool windowed = std::find(kinds.begin(), kinds.end(), "hybrid_sliding") != kinds.end();
  const auto narrow = windowed ? with_window(full, in.size({"sliding_window"})) : full;
  for (std::int64_t at = 0; at < in.layers(); ++at) {
    const std::int64_t of_layer_before = at > 0 ? router : 0;  // the router adds the last one's state, scaled
    in.layer({cost::norms{}, kinds[index(at)] == "hybrid" ? full : narrow, depthwise(channels, first),
              cost::projection{.input = full.head_dim, .outputs = full.head_dim, .count = heads * second},
              cost::table{2 * channels + full.kv_heads}, after_mixer(),
              cost::projection{.outputs = router, .bias = true},
              cost::projection{.input = router, .outputs = router, .count = 2, .bias = true},
              cost::table{router + of_layer_before}, experts, cost::table{.elements = 4 * h, .count = 2}});
  }
  in.list().front = {cost::table{.elements = h, .count = 2}};
}

/// Which layers of Inkling see all positions, and the attention of both kinds.
struct inkling_attention {
  cost::attention full, windowed;
  std::vector<bool> sees_all;
};
inline inkling_attention read_inkling_attention(layer_fields& in) {
  inkling_attention out;
  out.full = in.attention(128, false);
  out.windowed = out.full;
  out.windowed.heads = in.size({"swa_num_attention_heads"});
  out.windowed.kv_heads = in.size({"swa_num_key_value_heads"});
  out.windowed.head_dim = in.size({"swa_head_dim"});
  out.windowed.window = in.size({"sliding_window_size", "sliding_window"});
  if (in.ok() && out.windowed.heads % out.windowed.kv_heads != 0)
    in.raw().fail(error{errc::indivisible, out.windowed.heads, out.windowed.kv_heads}.with("swa_num_attention_heads"));
  std::vector<bool> local;
  const bool listed = !in.has({"layer_types"}) && in.numbers("local_layer_ids", local);
  for (const std::string& kind : in.words({"layer_types"}, {"hybrid", "hybrid_sliding"}, [&](std::int64_t at) {
         const bool wide = listed ? !local[index(at)] : each(at, 6);
         return wide ? "hybrid" : "hybrid_sliding";
       }))
    out.sees_all.push_back(kind == "hybrid");
  return out;
}
/// A bias of the scores by distance: of each head a token has so many numbers, which mix learned profiles.
inline void add_distance_bias(layer_fields& in, const cost::attention& of, cost::layer_blocks& out) {
  const std::int64_t width = in.size({"d_rel"}), reach = of.window > 0 ? of.window : in.size({"rel_extent"});
  out.push_back(cost::projection{.outputs = of.heads * width});
  out.push_back(cost::projection{.input = width, .outputs = reach, .uses = of.heads});
}
/// Inkling: convolutions over time of keys, values and what both halves of a layer add. Router rows for shared experts.
inline void read_inkling(layer_fields& in) {
  in.ends_untied();
  in.list().sizes.embedding_norm = true;
  auto attention = read_inkling_attention(in);
  attention.full.qk_norm = attention.windowed.qk_norm = true;
  const std::int64_t h = in.hidden(), taps = in.size({"conv_kernel_size", "sconv_kernel_size"});
  const bool published = in.has({"dense_intermediate_size"});  // then intermediate_size is that of an expert
  const std::int64_t dense_layers = in.optional({"dense_mlp_idx"});
  const auto kinds = in.words({"mlp_layer_types"}, {"dense", "sparse"},
                              [&](std::int64_t at) { return at < dense_layers ? "dense" : "sparse"; });
  const bool has_dense = std::find(kinds.begin(), kinds.end(), "dense") != kinds.end();
  cost::feed_forward dense;
  if (has_dense) dense.ffn = published ? in.size({"dense_intermediate_size"}) : in.size({"intermediate_size"});
  auto experts = in.experts(published ? names{"intermediate_size"} : names{"moe_intermediate_size"});
  experts.router_bias = true;
  const std::int64_t shared = in.optional({"n_shared_experts"});
  for (std::int64_t at = 0; at < in.layers(); ++at) {
    const auto& mixer = attention.sees_all[index(at)] ? attention.full : attention.windowed;
    cost::layer_blocks blocks{cost::norms{}, mixer, depthwise(2 * mixer.kv_heads * mixer.head_dim, taps)};
    add_distance_bias(in, mixer, blocks);
    blocks.insert(blocks.end(), {depthwise(2 * h, taps), after_mixer(), cost::table{1}});  // a scale
    if (kinds[index(at)] == "dense") blocks.push_back(dense);
    else blocks.insert(blocks.end(), {experts, cost::projection{.outputs = shared}});
    in.layer(std::move(blocks));
  }
  if (const std::int64_t modules = in.optional({"num_mtp_layers"}); modules > 0)
    in.raw().assume("num_mtp_layers", "0: the " + std::to_string(modules) + " given are no part of the size");
}

/// Convolutions of keys and values in Inkling 2: in layers that see all positions their taps depend on the token.
inline void add_key_convolutions(layer_fields& in, const cost::attention& of, cost::layer_blocks& out) {
  const std::int64_t taps = in.size({"conv_kernel_size", "sconv_kernel_size"});
  if (of.window > 0) out.push_back(depthwise(2 * of.kv_heads * of.head_dim, taps));
  else
    out.insert(out.end(), {cost::projection{.outputs = of.kv_heads * taps, .count = 2},
                           cost::table{.elements = taps * of.kv_heads * of.head_dim, .count = 2}});
}
/// A layer of Inkling 2: `at` counts those before it, each `period` of them are one source of later mixes.
inline cost::layer_blocks inkling2_layer(layer_fields& in, const cost::attention& mixer, const cost::mixture& experts,
                                         std::int64_t at, std::int64_t period) {
  const bool wide = mixer.window == 0;
  const auto mix = [](std::int64_t sources, std::int64_t count) {
    return cost::attention_residuals{.sources = sources, .count = count, .norm_weights = 0};
  };
  cost::layer_blocks blocks{cost::norms{}, mixer, cost::table{mixer.heads * (mixer.head_dim + in.size({"d_rel"}))}};
  if (wide) blocks.push_back(cost::norms{.count = 2});         // queries, keys and values read mixes of their own
  blocks.push_back(cost::projection{.outputs = mixer.heads});  // sinks
  add_key_convolutions(in, mixer, blocks);
  add_distance_bias(in, mixer, blocks);
  blocks.insert(blocks.end(), {depthwise(2 * in.hidden(), in.size({"conv_kernel_size", "sconv_kernel_size"})),
                               after_mixer(), experts});
  if (at > 0) blocks.push_back(mix((at + period - 1) / period + 1, wide ? 3 : 1));
  auto last = mix(at / period + 2, 1);
  last.closes_block = at % period == 0;
  blocks.push_back(last);
  return blocks;
}
/// Sizes that both classes of Inkling 2 have at their ends. The head has rows for the vocabulary alone, the embedding
/// more.
inline void read_inkling2_ends(layer_fields& in, std::int64_t period) {
  auto& list = in.list();
  const std::int64_t rows = list.sizes.vocabulary;
  const std::int64_t vocabulary = in.size({"unpadded_vocab_size"});
  if (vocabulary > rows) in.raw().fail(error{errc::contradictory_field, vocabulary, rows}.with("unpadded_vocab_size"));
  list.sizes.vocabulary = vocabulary;
  list.sizes.embedding_norm = true;
  if (rows > vocabulary) list.front = {cost::table{.elements = in.hidden(), .count = rows - vocabulary}};
  list.back = {cost::attention_residuals{.sources = (in.layers() - 1) / period + 2, .count = 1, .norm_weights = 0}};
}
/// What a token's state of the pass before adds to the mixes of a layer: four messages, each behind a narrow gate.
inline cost::layer_blocks inkling2_messages(layer_fields& in, std::int64_t sources) {
  const std::int64_t rank = in.size({"loop_gate_rank"}), h = in.hidden();
  return {cost::attention_residuals{.sources = sources, .count = 4, .norm_weights = 0},
          cost::projection{.input = 2 * h, .outputs = rank, .count = 4},
          cost::projection{.input = rank, .outputs = h, .count = 8}};
}
/// Inkling 2; `loops`: those of a stack in the middle run several times, and each pass reads messages of the last one.
inline void read_inkling2(layer_fields& in, bool loops) {
  in.ends_untied();
  auto attention = read_inkling_attention(in);
  for (cost::attention* each : {&attention.full, &attention.windowed}) each->gate_width = each->heads * each->head_dim;
  auto experts = in.experts({"moe_intermediate_size"});
  experts.router_bias = true;
  const std::int64_t period = in.size({"n_layers_per_attn_res_block"}), layers = in.layers();
  const std::int64_t begin = loops ? in.size({"loop_layer_index_start"}) : 0,
                     end = loops ? in.size({"loop_layer_index_end"}) : 0,
                     passes = loops ? in.size({"loop_num_passes"}) : 1;
  if (end < begin || end > layers || (period > 0 && (begin % period != 0 || end % period != 0)))
    in.raw().fail(error{errc::contradictory_field, begin, end}.with("loop_layer_index_start"));
  in.check_passes(layers, passes);
  if (!in.ok()) return;
  const auto layer = [&](std::int64_t at) {
    const auto& mixer = attention.sees_all[index(at)] ? attention.full : attention.windowed;
    return inkling2_layer(in, mixer, experts, at, period);
  };
  for (std::int64_t at = 0; at < end; ++at) in.layer(at < begin ? layer(at) : numbered(layer(at), at));
  const auto messages = loops ? inkling2_messages(in, (end - begin) / period) : cost::layer_blocks{};
  for (std::int64_t pass = 1; pass < passes; ++pass)
    for (std::int64_t at = begin; at < end; ++at) {
      cost::layer_blocks blocks = weights_of(layer(at), at);
      const cost::layer_blocks gates = pass > 1 ? weights_of(messages, at) : numbered(messages, at);
      blocks.insert(blocks.end(), gates.begin(), gates.end());
      in.layer(std::move(blocks));
    }
  for (std::int64_t at = end; at < layers; ++at) in.layer(layer(at));
  read_inkling2_ends(in, period);
}

/// Weights of mixes of Qwen4's streams: a norm of all of them, a narrow product and one back, and one weight for each
/// stream where the result is added again.
inline void add_stream_mix(cost::layer_blocks& out, std::int64_t streams, std::int64_t h, std::int64_t rank,
                           bool adds) {
  out.push_back(cost::table{streams * h});
  out.push_back(cost::projection{.input = streams * h, .outputs = rank + (adds ? streams : 0)});
  out.push_back(cost::projection{.input = rank, .outputs = streams * h});
}
inline bool is_prime(std::int64_t value) {
  if (value < 2 || value % 2 == 0) return value == 2;
  for (std::int64_t by = 3; by * by <= value; by += 2)
    if (value % by == 0) return false;
  return true;
}
/// The so many next primes from `at` on, added up; `at` is the number after the last.
inline std::int64_t sum_of_primes(std::int64_t& at, std::int64_t count) {
  std::int64_t sum = 0;
  for (; count > 0; ++at) {
    if (!is_prime(at)) continue;
    sum += at;
    --count;
  }
  return sum;
}
/// What Qwen4 adds of hashed n-grams in a layer: tables as large as primes, projections to keys and values, norms, and
/// a convolution of all streams. `prime`: where the next table's size is looked for.
inline void add_ngrams(layer_fields& in, std::int64_t streams, std::int64_t& prime, cost::layer_blocks& out) {
  const std::int64_t h = in.hidden(), width = in.has({"ple_embed_dim"}) ? in.size({"ple_embed_dim"}) : h,
                     heads = (in.size({"ngram_size"}) - 1) * in.size({"heads_per_ngram"}),
                     unit = in.size({"make_ngram_vocab_size_divisible_by"}), all = streams * h;
  constexpr std::int64_t max_heads = 256;
  if (heads < 1 || heads > max_heads)
    in.raw().fail(error{errc::out_of_range, heads, 1, max_heads}.with("heads_per_ngram over all n-grams"));
  if (!in.ok()) return;
  if (width % heads != 0) in.raw().fail(error{errc::indivisible, width, heads}.with("ple_embed_dim over n-gram heads"));
  const std::int64_t rows = (sum_of_primes(prime, heads) + unit - 1) / unit * unit;
  out.insert(out.end(), {cost::table{.elements = width / heads, .count = rows},
                         cost::projection{.input = width, .outputs = all + h}, cost::table{.elements = all, .count = 3},
                         depthwise(all, in.size({"ple_conv_kernel_size"}))});
}
/// Qwen4: linear attention and attention over chosen blocks on one mix of several streams, tables of n-grams.
inline void read_qwen4_exp(layer_fields& in) {
  in.ends(false);
  const std::int64_t streams = in.size({"hc_count"}), rank = in.size({"hc_lowrank"}), h = in.hidden();
  if (streams > max_streams) in.raw().fail(error{errc::out_of_range, streams, 1, max_streams}.with("hc_count"));
  auto full = in.attention(256);
  full.qk_norm = true;
  full.gate_width = full.heads * full.head_dim;
  full.gate_bias = full.qkv_bias;
  const auto linear = in.gated_delta();
  auto experts = in.experts({"moe_intermediate_size"});
  experts.shared_ffn = in.size({"shared_expert_intermediate_size"});
  experts.shared_gate = true;
  constexpr const char *linear_word = "linear_attention", *full_word = "indexed_attention";
  const std::int64_t period = in.has({"layer_types"}) ? 1 : in.size_or({"full_attention_interval"}, 4);
  const auto kinds = in.words({"layer_types"}, {linear_word, full_word, "full_attention"},
                              [&](std::int64_t at) { return each(at, period) ? full_word : linear_word; });
  cost::block_indexer indexer;
  if (!every_is(kinds, linear_word)) {
    indexer = {.index_heads = in.size({"indexer_n_heads"}),
               .index_dim = in.size({"indexer_head_dim"}),
               .ratio = in.size({"indexer_compress_ratio"})};
    full.selected = in.size({"indexer_budget"});
    in.raw().expect("indexer_kv_heads", 1);
  }
  std::vector<bool> with_ngrams = all(in, false);
  if (in.has({"ple_layer_ids"})) with_ngrams = in.raw().listed_layers("ple_layer_ids", 1, in.layers());
  std::int64_t prime = any(with_ngrams) ? in.size({"ngram_vocab_size_base"}) : 0;
  for (std::int64_t at = 0; at < in.layers(); ++at) {
    cost::layer_blocks blocks;
    if (with_ngrams[index(at)]) add_ngrams(in, streams, prime, blocks);
    add_stream_mix(blocks, streams, h, rank, true);
    blocks.push_back(no_norm(cost::norm_place::first));
    if (kinds[index(at)] == linear_word) blocks.push_back(linear);
    else blocks.insert(blocks.end(), {indexer, full});
    add_stream_mix(blocks, streams, h, rank, true);
    blocks.insert(blocks.end(), {no_norm(cost::norm_place::between), experts});
    in.layer(std::move(blocks));
  }
  auto& list = in.list();
  list.sizes.streams = streams;
  list.sizes.norm_weights = 0;  // the last mix has one of all streams
  add_stream_mix(list.back, streams, h, rank, false);
}

/// Sizes of the windowed layers of dots3.note: saved files have them by layer, published ones with a prefix.
inline cost::latent_attention windowed_latent(layer_fields& in, const cost::latent_attention& full) {
  const auto size = [&](const char* name, const char* prefixed, std::int64_t otherwise) {
    if (in.has({prefixed})) return in.size({prefixed});
    return in.raw().first_override(name, otherwise);
  };
  cost::latent_attention out = full;
  out.heads = size("num_attention_heads", "swa_num_attention_heads", 64);
  out.query_rank = size("q_lora_rank", "swa_q_lora_rank", 1024);
  out.kv_rank = size("kv_lora_rank", "swa_kv_lora_rank", 1024);
  out.nope_dim = size("qk_nope_head_dim", "swa_qk_nope_head_dim", 192);
  out.rope_dim = size("qk_rope_head_dim", "swa_qk_rope_head_dim",
                      size("head_dim", "swa_head_dim", out.nope_dim + 64) - out.nope_dim);
  out.value_dim = size("v_head_dim", "swa_v_head_dim", 128);
  out.window = in.size_or({"sliding_window", "sliding_window_size"}, 512);
  out.gate_width = out.heads;
  return out;
}
/// dots3.note: latent attention with a gate for each head, over chosen positions or in a window.
inline void read_dots3_note(layer_fields& in) {
  in.ends(false);
  auto full = in.latent();
  full.gate_width = full.heads;
  const bool windows = !in.has({"use_sliding_window"}) || in.flag("use_sliding_window", true);
  const bool saved = in.has({"per_layer_config"});
  const bool indexed = in.has({"use_dsa"}) ? in.flag("use_dsa", true) : !saved;  // what "full_attention" means
  const auto kinds = in.words(
      {"layer_types"}, {"full_attention", "indexed_attention", "sliding_attention"},
      [&](std::int64_t at) { return !windows || at < 2 || at % 4 == 1 ? "full_attention" : "sliding_attention"; });
  auto chosen = full;
  chosen.absorbed = true;
  chosen.selected = in.size({"index_topk"});
  chosen.index_heads = in.size({"index_n_heads"});
  chosen.index_dim = in.size({"index_head_dim"});
  const bool has_windows = std::find(kinds.begin(), kinds.end(), "sliding_attention") != kinds.end();
  const auto narrow = has_windows ? windowed_latent(in, full) : full;
  const auto mixes = in.mixes({"first_k_dense_replace"});
  auto dense = every(mixes) ? cost::feed_forward{} : in.dense();
  dense.ffn_bias = false;  // "mlp_bias" is there, and no class reads it
  auto experts = in.experts({"moe_intermediate_size"});
  experts.router_bias = true;
  experts.shared_ffn = in.size({"n_shared_experts"}) *
                       in.size_or({"shared_experts_intermediate_size", "moe_shared_expert_intermediate_size"}, 1536);
  for (std::int64_t at = 0; at < in.layers(); ++at) {
    const std::string& kind = kinds[index(at)];
    const bool chooses = kind == "indexed_attention" || (kind == "full_attention" && indexed);
    const auto& mixer = kind == "sliding_attention" ? narrow : chooses ? chosen : full;
    in.layer({cost::norms{}, mixer, cost::table{mixer.rope_dim}, after_mixer(),
              mixes[index(at)] ? cost::block(experts) : cost::block(dense)});
  }
}

}  // namespace hocket::inline HOCKET_ABI::hugging_face::detail
