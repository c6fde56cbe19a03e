// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/blocks/attention.hpp>

namespace hocket::inline HOCKET_ABI::cost {

/// Attention over a window and over compressed blocks of all before it (DeepSeek-V4). One head of keys serves as values
/// too; every `ratio` positions are pooled into one. With an indexer a position sees the `selected` best blocks, else
/// all of them; with ratio 0 it sees the window alone. The output goes through groups of narrow matrices.
/// Source: the DeepSeek-V4 report; transformers deepseek_v4.
struct compressed_attention {
  std::int64_t heads = 0, head_dim = 0, query_rank = 0;
  std::int64_t output_groups = 1, output_rank = 0;
  std::int64_t window = 0;
  std::int64_t ratio = 0;     ///< positions of a compressed block; 0: none
  bool overlaps = false;      ///< blocks are pooled from twice as wide projections of neighbouring ones
  std::int64_t selected = 0;  ///< blocks that a position sees, 0: all
  std::int64_t index_heads = 0, index_dim = 0;
  friend constexpr bool operator==(const compressed_attention&, const compressed_attention&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::cost
HOCKET_DETAIL_STRUCT(hocket::cost::compressed_attention, heads, head_dim, query_rank, output_groups, output_rank,
                     window, ratio, overlaps, selected, index_heads, index_dim);

namespace hocket::inline HOCKET_ABI::cost::letters::blocks::compressed_attention_terms {

inline constexpr std::string_view source = "transformers deepseek_v4";
inline constexpr auto pooled = (1 + letters::overlaps) * letters::d;
inline constexpr auto parameters = [] {
  constexpr auto indexed = a_x * least(q_c, 1);
  return terms(
      weights("queries", L * (h * r_q + r_q + r_q * a * d), L, tp, source),
      weights("keys that are values", L * (h * d + d), L, one_rank, source),
      weights("attention output", L * (a * d * r_o + g_r * r_o * h), L, tp, source),
      weights("attention sinks", L * a, L, tp, "gpt-oss"),
      weights("compressor", L * (2 * h * pooled + q_c * pooled + d), q_c, one_rank, source),
      weights("indexer, compressor", L * (2 * h * (2 * d_x) + q_c * (2 * d_x) + d_x), indexed, one_rank, source),
      weights("indexer, queries", L * (r_q * a_x * d_x + h * a_x), indexed, one_rank, source));
}();
inline constexpr auto blocks = letters::s / greatest(letters::q_c, 1);
/// Pairs of a position with a compressed block before it: all, or those selected.
inline constexpr auto block_pairs = [] {
  constexpr auto all = choose(attention_counted, s * blocks, s * blocks / 2, s * blocks / 2, s * blocks / 2);
  constexpr auto u = least(k_x, blocks);
  constexpr auto some = choose(attention_counted, u * s, q_c * (u * blocks - squared(u) / 2),
                               q_c * (u * blocks - squared(u) / 2), q_c * (u * blocks - squared(u) / 2));
  return choose(least(k_x, 1), all, some);
}();
/// Pairs that the indexer scores: all of them, by the convention of the attention.
inline constexpr auto scored_pairs = choose(letters::attention_counted, letters::s* blocks, letters::s* blocks / 2,
                                            letters::s* blocks / 2, letters::s* blocks / 2);
inline constexpr auto forward = [] {
  using detail::flop::core_once_more, detail::flop::replays, detail::flop::once_more;
  return terms(flops("queries and keys", product(h * r_q + r_q * a * d + h * d), L, tp, replays(r_qkv), source,
                     layer_operation::qkv, a * d + d),
               flops("compressor", product(2 * h * pooled), q_c, one_rank, replays(r_qkv), source, layer_operation::qkv,
                     2 * pooled),
               flops("attention core, window", 2 * FLOP * B * (a * 2 * d) * pairs_within("kappa_w", w) * L, L, tp,
                     core_once_more, source, layer_operation::attention),
               flops("attention core, blocks", 2 * FLOP * B * (a * 2 * d) * block_pairs * L, q_c, tp, core_once_more,
                     source, layer_operation::attention),
               flops("attention output", product(a * d * r_o + g_r * r_o * h), L, tp, replays(r_output), source,
                     layer_operation::output, 1 * h),
               flops("indexer, projections", product(r_q * a_x * d_x + h * a_x + 2 * h * (2 * d_x)), q_c * a_x,
                     one_rank, once_more, source, layer_operation::router, a_x * d_x),
               flops("indexer, scores", 2 * FLOP * B * (a_x * (d_x + index_reduced)) * scored_pairs * L, q_c * a_x,
                     one_rank, once_more, source, layer_operation::router));
}();
inline constexpr auto saved = [] {
  using detail::saved::inner, detail::saved::region, detail::saved::unless;
  constexpr std::string_view assumed = "transformers deepseek_v4; assumes that inputs of all products are kept";
  return terms(
      tensor("attention input", input_of(1 * h), unless(r_norm), choose(r_gather, cp, region), assumed,
             layer_operation::norm, origin::estimated),
      tensor("compressed query and keys", stream_of(2 * (r_q + d)), unless(r_qkv), region, assumed,
             layer_operation::qkv, origin::estimated),
      tensor("queries", stream_of(a * d), unless(r_qkv), inner, assumed, layer_operation::qkv, origin::estimated),
      tensor("pooled", stream_of(2 * pooled), unless(r_qkv) * q_c, region, assumed, layer_operation::qkv,
             origin::estimated),
      tensor("softmax statistics", 4 * byte * (a * s * b), unless(r_attention), inner, "arXiv:2205.14135",
             layer_operation::attention, origin::estimated),
      tensor("attention output", stream_of(a * d + g_r * r_o), unless(r_attention), inner, assumed,
             layer_operation::attention, origin::estimated));
}();
inline constexpr auto state = [] {
  return terms(tensor("window of keys", c * (element * (least(w, s) * d)), L, one_rank, source, layer_operation::qkv,
                      origin::definition),
               tensor("compressed blocks", c * (element * (blocks * d)), q_c, one_rank, source, layer_operation::qkv,
                      origin::definition),
               tensor("keys of the indexer", c * (element * (blocks * d_x)), q_c * a_x, one_rank, source,
                      layer_operation::router, origin::definition));
}();

inline constexpr auto moved = mixer_moves("rotary positions and pooling", a* d + d + 2 * least(q_c, 1) * pooled);
inline constexpr auto keys_values = detail::blocks::stream_of(1 * d) / cp;
inline constexpr auto queries = detail::blocks::stream_of(a * d) / (cp * tp);
inline constexpr auto context_transfers = detail::context::lines(keys_values, queries, queries);
inline constexpr auto moment = moment_of_attention(keys_values, queries);

}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks::compressed_attention_terms

namespace hocket::inline HOCKET_ABI::cost {

template <>
struct formulas_of<compressed_attention> {
  static constexpr block_terms lists() noexcept {
    return {.parameters = letters::blocks::compressed_attention_terms::parameters,
            .forward = letters::blocks::compressed_attention_terms::forward,
            .saved = letters::blocks::compressed_attention_terms::saved,
            .state = letters::blocks::compressed_attention_terms::state,
            .moment = letters::blocks::compressed_attention_terms::moment,
            .moved = letters::blocks::compressed_attention_terms::moved,
            .tensor_transfers = letters::blocks::mixer_transfers,
            .context_transfers = letters::blocks::compressed_attention_terms::context_transfers};
  }
};

}  // namespace hocket::inline HOCKET_ABI::cost
