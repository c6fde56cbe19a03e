// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/blocks/attention.hpp>

namespace hocket::inline HOCKET_ABI::cost {

/// Multi-head latent attention (DeepSeek-V2), expanded or absorbed, dense or sparse. In the expanded form each head has
/// keys and values of its own, made of the latent vector. The absorbed form multiplies queries and outputs by those
/// matrices instead, and attends to the latent vector itself: as many products per token, but a wider core, as
/// inference and sparse attention run it.
/// With `selected` positions a head attends to those alone (DeepSeek sparse attention, DSA). An indexer chooses them:
/// it scores all pairs. A layer without indexer of its own takes the positions of an earlier one (index sharing).
/// Source: arXiv:2405.04434; arXiv:2512.02556 for DSA.
struct latent_attention {
  std::int64_t heads = 0;
  std::int64_t query_rank = 0;  ///< 0: queries are not compressed
  std::int64_t kv_rank = 0, nope_dim = 0, rope_dim = 0, value_dim = 0;
  std::int64_t gate_width = 0;  ///< elements of an output gate per token, 0: none
  bool bias = false;            ///< on the compressing projections and the output
  bool absorbed = false;
  std::int64_t window = 0;                      ///< positions that a position sees, 0: all before it
  std::int64_t selected = 0;                    ///< positions that sparse attention keeps, 0: all
  std::int64_t index_heads = 0, index_dim = 0;  ///< of an indexer of its own; 0: none
  friend constexpr bool operator==(const latent_attention&, const latent_attention&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::cost
HOCKET_DETAIL_STRUCT(hocket::cost::latent_attention, heads, query_rank, kv_rank, nope_dim, rope_dim, value_dim,
                     gate_width, bias, absorbed, window, selected, index_heads, index_dim);

namespace hocket::inline HOCKET_ABI::cost::letters::blocks::latent_attention_terms {

inline constexpr auto parameters = [] {
  return terms(weights("query, compressed", L * (h * r_q + r_q), r_q, one_rank, mla),
               weights("query, from compressed", L * (r_q * a * (d_n + d_r)), r_q, tp, mla),
               weights("query, not compressed", L * (h * a * (d_n + d_r)), 1 - least(r_q, 1), tp, mla),
               weights("key and value, compressed", L * (h * (r_k + d_r) + r_k), L, one_rank, mla),
               weights("key and value, from compressed", L * (r_k * a * (d_n + d_v)), L, tp, mla),
               weights("latent output", L * (a * d_v * h), L, tp, mla),
               weights("output gate", L * (h * g_o), g_o, tp, "arXiv:2505.06708"),
               weights("biases", L * (r_q + r_k + d_r + h), n_b, one_rank, mla),
               weights("indexer", L * (r_q * a_x * d_x + h * d_x + 2 * d_x + h * a_x), a_x, one_rank, dsa));
}();
inline constexpr auto core_pairs = choose(least(w, 1), selected_pairs, detail::flop::attended_in_window);
// The indexer: projections, then for each pair a product of each head and a weighted sum over them.
inline constexpr auto index_projections = [] { return detail::blocks::product(r_q * a_x * d_x + h * d_x + h * a_x); }();
inline constexpr auto index_scores = [] {
  return 2 * FLOP * B * (a_x * (d_x + index_reduced)) * detail::flop::attended * L;
}();
inline constexpr auto forward = [] {
  using detail::flop::core_once_more, detail::flop::replays;
  constexpr auto core_width = choose(absorbed, d_n + d_r + d_v, 2 * r_k + d_r);
  return terms(
      flops("latent query, compressed", product(h * r_q + r_q * a * (d_n + d_r)), r_q, tp, replays(r_qkv), mla,
            layer_operation::qkv, a * (d_n + d_r)),
      flops("latent query", product(h * a * (d_n + d_r)), 1 - least(r_q, 1), tp, replays(r_qkv), mla,
            layer_operation::qkv, a * (d_n + d_r)),
      flops("latent key and value", product(h * (r_k + d_r) + r_k * a * (d_n + d_v)), L, tp, replays(r_qkv), mla,
            layer_operation::qkv, a * (d_n + d_v)),
      flops("latent attention core", 2 * FLOP * B * (a * core_width) * core_pairs * L, L, tp, core_once_more, mla,
            layer_operation::attention),
      flops("latent output", product(a * d_v * h), L, tp, replays(r_output), mla, layer_operation::output, 1 * h),
      flops("output gate", product(h * g_o), g_o, tp, replays(r_qkv), "arXiv:2505.06708", layer_operation::qkv,
            1 * g_o),
      flops("latent norms", product(r_q + r_k), latent_norms_counted, tp, replays(r_qkv),
            "Megatron-LM num_floating_point_operations", layer_operation::qkv));
}();
// Without a loss of its own the indexer has no backward pass. With one, its projections get gradients of weights but
// none of their input, which is detached, and the scores both of theirs: over all pairs, or those selected.
inline constexpr auto whole_step = [] {
  constexpr auto projections = choose(index_loss_counted, 1, 2, 2);
  constexpr auto scores =
      choose(index_loss_counted, 1 * literal(1), 3 * literal(1), 1 + 2 * selected_pairs / detail::flop::attended);
  return terms(flops("indexer, projections", projections * index_projections, a_x, one_rank,
                     detail::flop::once_more / projections, "Megatron-LM pull request 6148", layer_operation::router),
               flops("indexer, scores", scores * index_scores, a_x, one_rank, detail::flop::once_more / scores,
                     "Megatron-LM pull requests 6148 and 7157", layer_operation::router));
}();
inline constexpr auto saved = [] {
  using detail::saved::inner, detail::saved::kept_if_none, detail::saved::region, detail::saved::unless;
  constexpr auto kept = unless(r_attention);
  constexpr auto scores = kept_if_none * (1 - flash) * (1 - r_core) * (1 - r_attention);
  constexpr auto wide = 4 * byte * (s * b * h);
  constexpr auto input = choose(wide_norm * r_cast_back, input_of(h), wide);
  constexpr std::string_view table = "arXiv:2205.05198 section 4.1",
                             assumed = "arXiv:2405.04434; assumes that compressed and expanded vectors are kept";
  constexpr auto expanded = choose(absorbed, a * (2 * (d_n + d_r) + d_v), a * (d_n + d_r) + a * (r_k + d_r));
  return terms(
      tensor("attention input", input, unless(r_norm), choose(r_gather, cp, region), table, layer_operation::norm),
      tensor("compressed query, key and value", stream_of(2 * (r_q + r_k)), unless(r_qkv), region, assumed,
             layer_operation::qkv, origin::estimated),
      tensor("expanded query, key and value", stream_of(expanded), unless(r_qkv), inner, assumed, layer_operation::qkv,
             origin::estimated),
      tensor("selected positions", 4 * byte * (s * b * least(k_x, s)), kept * k_x, cp,
             "arXiv:2512.02556; assumes that the choice is kept, in 32 bits", layer_operation::router,
             origin::estimated),
      tensor("output gate", 2 * stream_of(1 * g_o), unless(r_qkv) * g_o, inner, "arXiv:2505.06708",
             layer_operation::qkv, origin::derived),
      tensor("softmax output", c * (element * (a * squared(s) * b)), scores, inner, table, layer_operation::core),
      tensor("softmax dropout mask", byte * (a * squared(s) * b), scores * dropout, inner, table,
             layer_operation::core),
      tensor("softmax dropout output", c * (element * (a * squared(s) * b)), scores * dropout, inner, table,
             layer_operation::core),
      tensor("softmax statistics", 4 * byte * (a * s * b), kept * flash, inner, "arXiv:2205.14135",
             layer_operation::attention),
      tensor("latent attention output", stream_of(a * choose(absorbed, d_v, r_k)), kept, inner, assumed,
             layer_operation::attention, origin::estimated),
      tensor("attention dropout mask", byte * (s * b * h), unless(r_output) * dropout, region, table,
             layer_operation::output));
}();
inline constexpr auto state = [] {
  return terms(tensor("latent keys and values", c * (element * (positions_kept * (r_k + d_r))), L, one_rank, mla,
                      layer_operation::qkv, origin::definition),
               tensor("keys of the indexer", c * (element * (s * d_x)), a_x, one_rank, dsa, layer_operation::router,
                      origin::definition));
}();

inline constexpr auto moved =
    cost::detail::joined(mixer_moves("rotary positions", a* d_r + d_r), cost::terms(scores_moved));
template <class Width>
consteval auto cut(const Width& width) noexcept {
  return detail::blocks::stream_of(width) / (cp * tp);
}
inline constexpr auto keys_values = cut(a * (d_n + d_r + d_v));
inline constexpr auto queries = cut(a * (d_n + d_r));
inline constexpr auto context_transfers = detail::context::lines(keys_values, queries, cut(a* d_v));
inline constexpr auto moment = moment_of_attention(keys_values, queries);

}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks::latent_attention_terms

namespace hocket::inline HOCKET_ABI::cost {

template <>
struct formulas_of<latent_attention> {
  static constexpr block_terms lists() noexcept {
    return {.parameters = letters::blocks::latent_attention_terms::parameters,
            .forward = letters::blocks::latent_attention_terms::forward,
            .whole_step = letters::blocks::latent_attention_terms::whole_step,
            .saved = letters::blocks::latent_attention_terms::saved,
            .state = letters::blocks::latent_attention_terms::state,
            .moment = letters::blocks::latent_attention_terms::moment,
            .moved = letters::blocks::latent_attention_terms::moved,
            .tensor_transfers = letters::blocks::mixer_transfers,
            .context_transfers = letters::blocks::latent_attention_terms::context_transfers};
  }
};

}  // namespace hocket::inline HOCKET_ABI::cost
