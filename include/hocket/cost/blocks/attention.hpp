// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/blocks/block_terms.hpp>
#include <hocket/cost/formula/reflect.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::cost {

/// Softmax attention with grouped queries (arXiv:2305.13245), and what this year's models change in it: a window,
/// values of another width, keys and values of an earlier layer or keys that serve as values, an output gate.
///
///     cost::attention{.heads = 16, .kv_heads = 2, .head_dim = 256, .gate_width = 16 * 256, .qk_norm = true}  //
///     Qwen3-Next
struct attention {
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t value_dim = 0;   ///< width of a value; 0: head_dim
  std::int64_t input = 0;       ///< width of what is projected to queries, keys and values; 0: the model's
  std::int64_t window = 0;      ///< positions that a position sees, itself among them; 0: all before it
  std::int64_t selected = 0;    ///< positions that sparse attention keeps of all before, 0: all
  bool chunked = false;         ///< `window` is a chunk: a position sees those of its own chunk (Llama 4)
  std::int64_t gate_width = 0;  ///< elements of an output gate per token: heads x width, or one per head
  std::int64_t norm_weights = 1;
  bool qk_norm = false;      ///< a norm of width head_dim on queries and one on keys
  bool qk_norm_all = false;  ///< the same with weights of their own for each head
  bool qkv_bias = false, output_bias = false, gate_bias = false;
  bool attention_sinks = false;  ///< a learned logit per head
  bool shared_kv = false;        ///< keys and values are those of an earlier layer (Gemma 3n)
  bool key_is_value = false;     ///< no projection of values: the keys serve (Gemma 4)
  friend constexpr bool operator==(const attention&, const attention&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::cost
HOCKET_DETAIL_STRUCT(hocket::cost::attention, heads, kv_heads, head_dim, value_dim, input, window, selected, chunked,
                     gate_width, norm_weights, qk_norm, qk_norm_all, qkv_bias, output_bias, gate_bias, attention_sinks,
                     shared_kv, key_is_value);

namespace hocket::inline HOCKET_ABI::cost::detail::blocks {

using letters::d, letters::d_v, letters::h, letters::h_i, letters::w;
inline constexpr auto value_width = choose(least(d_v, 1), 1 * d, 1 * d_v);
inline constexpr auto input_width = choose(least(h_i, 1), 1 * h, 1 * h_i);
inline constexpr auto own_kv = 1 - letters::shared_kv;
inline constexpr auto own_values = own_kv * (1 - letters::key_is_value);
// Elements of keys and values that a token gets here.
inline constexpr auto kv_made =
    choose(letters::shared_kv, choose(letters::key_is_value, letters::g* d + letters::g * value_width, letters::g* d),
           literal(0));
inline constexpr auto keys_made = choose(letters::shared_kv, letters::g* d, literal(0));
inline constexpr auto in_own_chunk = define(
    "kappa_c",
    s* choose(letters::attention_counted, least(w, s), least(w, s) / 2, (least(w, s) + 1) / 2, (least(w, s) + 1) / 2));
/// Pairs that sparse attention keeps: as many for a position as it selects, or as there are before it.
inline constexpr auto selected_pairs =
    choose(least(letters::k_x, 1), flop::attended, pairs_within("kappa_x", letters::k_x));
inline constexpr auto attended_pairs =
    choose(least(w, 1), selected_pairs, choose(letters::chunked, flop::attended_in_window, in_own_chunk));
inline constexpr auto positions_kept = choose(least(w, 1), 1 * s, least(w, s));

}  // namespace hocket::inline HOCKET_ABI::cost::detail::blocks
namespace hocket::inline HOCKET_ABI::cost::letters::blocks {
using detail::blocks::keys_made, detail::blocks::kv_made;
using detail::blocks::value_width, detail::blocks::input_width, detail::blocks::own_kv, detail::blocks::own_values,
    detail::blocks::in_own_chunk, detail::blocks::attended_pairs, detail::blocks::positions_kept,
    detail::blocks::selected_pairs;
}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks

namespace hocket::inline HOCKET_ABI::cost::letters::blocks::attention_terms {

inline constexpr auto parameters = [] {
  constexpr auto kv_ranks = detail::kv_split;
  return terms(
      weights("queries", L * (input_width * a * d), L, tp, transformer),
      weights("keys", L * (input_width * g * d), own_kv, kv_ranks, "arXiv:2305.13245"),
      weights("values", L * (input_width * g * value_width), own_values, kv_ranks, "arXiv:2305.13245"),
      weights("attention output", L * (h * a * value_width), L, tp, transformer),
      weights("output gate", L * (h * g_o), g_o, tp, "arXiv:2505.06708"),
      weights("output gate bias", L * g_o, gate_bias, tp, "arXiv:2505.06708"),
      weights("query bias", L * (a * d), qkv_bias, tp, "GPT-2"),
      weights("key bias", L * (g * d), qkv_bias * own_kv, kv_ranks, "GPT-2"),
      weights("value bias", L * (g * value_width), qkv_bias * own_values, kv_ranks, "GPT-2"),
      weights("output bias", L * h, output_bias, one_rank, "GPT-2"),
      weights("query norm", L * (n_w * d), qk_norm, one_rank, "arXiv:2505.09388"),
      weights("key norm", L * (n_w * d), qk_norm * own_kv, one_rank, "arXiv:2505.09388"),
      weights("query and key norm, all heads", L * (n_w * (a + g) * d), qk_norm_all, one_rank, "arXiv:2501.00656"),
      weights("attention sinks", L * a, attention_sinks, tp, "gpt-oss"));
}();
inline constexpr auto forward = [] {
  using detail::flop::core_once_more, detail::flop::replays;
  constexpr std::string_view megatron = "arXiv:2104.04473 appendix";
  return terms(flops("queries, keys and values", product(input_width * (a * d + kv_made)), L, tp, replays(r_qkv),
                     megatron, layer_operation::qkv, a * d + kv_made),
               flops("output gate", product(h * g_o), g_o, tp, replays(r_qkv), "arXiv:2505.06708", layer_operation::qkv,
                     1 * g_o),
               flops("attention core", 2 * FLOP * B * (a * (d + value_width)) * attended_pairs * L, L, tp,
                     core_once_more, megatron, layer_operation::attention),
               flops("attention output", product(h * a * value_width), L, tp, replays(r_output), megatron,
                     layer_operation::output, 1 * h));
}();
inline constexpr auto saved = [] {
  using detail::saved::inner, detail::saved::kept_if_none, detail::saved::region, detail::saved::unless;
  constexpr auto kept = unless(r_attention);
  constexpr auto scores = kept_if_none * (1 - flash) * (1 - r_core) * (1 - r_attention);
  constexpr auto gathered = choose(r_gather, cp, region);
  constexpr auto kv_ranks = least(tp, g) * cp;
  constexpr auto wide = 4 * byte * (s * b * input_width);
  constexpr auto input = choose(wide_norm * r_cast_back, input_of(input_width), wide);
  constexpr auto head_norms = unless(r_qkv) * greatest(qk_norm, qk_norm_all);
  constexpr std::string_view table = "arXiv:2205.05198 section 4.1";
  return terms(
      tensor("attention input", input, unless(r_norm), gathered, table, layer_operation::norm),
      tensor("queries", stream_of(a * d), unless(r_qkv), inner, table, layer_operation::qkv),
      tensor("keys and values", stream_of(g * d + g * value_width), unless(r_qkv) * own_kv, kv_ranks, table,
             layer_operation::qkv),
      tensor("query norm, input", stream_of(a * d), head_norms, inner, "arXiv:2505.09388", layer_operation::qkv,
             origin::derived),
      tensor("key norm, input", stream_of(g * d), head_norms * own_kv, kv_ranks, "arXiv:2505.09388",
             layer_operation::qkv, origin::derived),
      tensor("output gate", 2 * stream_of(1 * g_o), unless(r_qkv) * g_o, inner, "arXiv:2505.06708",
             layer_operation::qkv, origin::derived),
      tensor("softmax output", c * (element * (a * squared(s) * b)), scores, inner, table, layer_operation::core),
      tensor("softmax dropout mask", byte * (a * squared(s) * b), scores * dropout, inner, table,
             layer_operation::core),
      tensor("softmax dropout output", c * (element * (a * squared(s) * b)), scores * dropout, inner, table,
             layer_operation::core),
      tensor("softmax statistics", 4 * byte * (a * s * b), kept * flash, inner, "arXiv:2205.14135",
             layer_operation::attention),
      tensor("attention output", stream_of(a * value_width), kept, inner, table, layer_operation::attention),
      tensor("attention dropout mask", byte * (s * b * h), unless(r_output) * dropout, region, table,
             layer_operation::output));
}();
inline constexpr auto state = [] {
  return terms(tensor("keys and values", c * (element * (positions_kept * g * (d + value_width))), own_kv, least(tp, g),
                      "arXiv:2305.13245", layer_operation::qkv, origin::definition));
}();

inline constexpr auto moved =
    cost::detail::joined(mixer_moves("rotary positions", a* d + keys_made), cost::terms(scores_moved));
template <class Width, class Ranks>
consteval auto cut(const Width& width, const Ranks& ranks) noexcept {
  return detail::blocks::stream_of(width) / (cp * ranks);
}
inline constexpr auto keys_values = cut(g * (d + value_width), least(tp, g));
inline constexpr auto queries = cut(a * d, 1 * tp);
inline constexpr auto context_transfers = detail::context::lines(keys_values, queries, cut(a* value_width, 1 * tp));
inline constexpr auto moment = moment_of_attention(keys_values, queries);

}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks::attention_terms

namespace hocket::inline HOCKET_ABI::cost {

template <>
struct formulas_of<attention> {
  static constexpr block_terms lists() noexcept {
    return {.parameters = letters::blocks::attention_terms::parameters,
            .forward = letters::blocks::attention_terms::forward,
            .saved = letters::blocks::attention_terms::saved,
            .state = letters::blocks::attention_terms::state,
            .moment = letters::blocks::attention_terms::moment,
            .moved = letters::blocks::attention_terms::moved,
            .tensor_transfers = letters::blocks::mixer_transfers,
            .context_transfers = letters::blocks::attention_terms::context_transfers};
  }
};

}  // namespace hocket::inline HOCKET_ABI::cost
