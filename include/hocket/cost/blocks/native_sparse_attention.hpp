// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/blocks/attention.hpp>

namespace hocket::inline HOCKET_ABI::cost {

/// Native sparse attention (NSA): each query attends three times, to pooled blocks of all before it, to the positions
/// of the blocks that it scores highest, and to a window; gates add the three up. Blocks of `pooled_width` positions
/// begin every `stride`; a query sees those that end before or at it. It chooses `selected_blocks` of
/// `selected_width`, its own among them. The choice reuses the scores of pooled blocks: it has no products of its own.
///
/// Convention: a matrix for a block's keys, one for its values, and positions within it, per key-value head
/// (`learned_pooling`), or means without weights; gates are a plain product, three per head. The paper gives each
/// branch keys and values of its own (`branches` 3); flash-linear-attention shares them (1).
/// Source: arXiv:2502.11089.
///
///     cost::native_sparse_attention{.heads = 64, .kv_heads = 4, .head_dim = 192, .value_dim = 128}   // the paper's
///     27B
struct native_sparse_attention {
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t value_dim = 0;  ///< width of a value; 0: head_dim
  std::int64_t pooled_width = 32, stride = 16;
  std::int64_t selected_blocks = 16, selected_width = 64;
  std::int64_t window = 512;
  std::int64_t branches = 3;  ///< keys and values: 3, of each branch its own; 1, shared
  bool learned_pooling = true;
  friend constexpr bool operator==(const native_sparse_attention&, const native_sparse_attention&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::cost
HOCKET_DETAIL_STRUCT(hocket::cost::native_sparse_attention, heads, kv_heads, head_dim, value_dim, pooled_width, stride,
                     selected_blocks, selected_width, window, branches, learned_pooling);

namespace hocket::inline HOCKET_ABI::cost::letters {

inline constexpr auto l_p = named("pooled_width", "l_p");
inline constexpr auto t_p = named("stride", "t_p");
inline constexpr auto n_x = named("selected_blocks", "n_x");
inline constexpr auto l_x = named("selected_width", "l_x");
inline constexpr auto n_kv = named("branches", "n_kv");
inline constexpr auto learned_pooling = named("learned_pooling", "learned_pooling");

}  // namespace hocket::inline HOCKET_ABI::cost::letters
namespace hocket::inline HOCKET_ABI::cost::letters::blocks::native_sparse_attention_terms {

inline constexpr std::string_view source = "arXiv:2502.11089";
/// Keys and values of one position and branch, of all key-value heads.
inline constexpr auto pair_width = letters::g * (letters::d + value_width);
/// How many positions a pooled block may begin at, and how many blocks there are.
inline constexpr auto starts = greatest(letters::s - letters::l_p + 1, 0);
inline constexpr auto pooled_blocks = define("n_p", divide_up(starts, letters::t_p));
inline constexpr auto pooled_pairs = [] {
  constexpr auto exact = pooled_blocks * starts - t_p * pooled_blocks * (pooled_blocks - 1) / 2;
  return define("kappa_p", choose(attention_counted, s * pooled_blocks, s * pooled_blocks / 2, 1 * exact, 1 * exact));
}();
// All positions at first; then the whole blocks chosen before, and on average half of the query's own.
inline constexpr auto selected_pairs = [] {
  constexpr auto u = least(n_x * l_x, s);
  constexpr auto exact = u * (u + 1) / 2 + (s - u) * ((n_x - 1) * l_x + (l_x + 1) / 2);
  return define("kappa_x", choose(attention_counted, u * s, u * s - squared(u) / 2, 1 * exact, 1 * exact));
}();
inline constexpr auto parameters = [] {
  constexpr auto kv_ranks = detail::kv_split;
  return terms(weights("queries", L * (h * a * d), L, tp, source),
               weights("keys and values", L * (n_kv * h * pair_width), L, kv_ranks, source),
               weights("pooling", L * (g * l_p * (squared(d) + squared(value_width) + d + value_width)),
                       learned_pooling, kv_ranks, source),
               weights("gates of branches", L * (3 * h * a), L, tp, source),
               weights("attention output", L * (a * value_width * h), L, tp, source));
}();
inline constexpr auto forward = [] {
  using detail::flop::core_once_more, detail::flop::replays;
  constexpr auto core = [](const auto& pairs) { return 2 * FLOP * B * (a * (d + value_width)) * pairs * L; };
  constexpr auto pooling = 2 * FLOP * B * pooled_blocks * (g * l_p * (squared(d) + squared(value_width))) * L;
  constexpr layer_operation by = layer_operation::attention;
  return terms(
      flops("queries, keys and values", product(h * (a * d + n_kv * pair_width)), L, tp, replays(r_qkv), source,
            layer_operation::qkv, a * d + n_kv * pair_width),
      flops("gates of branches", product(3 * h * a), L, tp, replays(r_qkv), source, layer_operation::qkv),
      flops("pooling", pooling, learned_pooling, detail::kv_split, replays(r_qkv), source, layer_operation::qkv),
      flops("attention core, pooled blocks", core(pooled_pairs), L, tp, core_once_more, source, by),
      flops("attention core, selected blocks", core(selected_pairs), L, tp, core_once_more, source, by),
      flops("attention core, window", core(pairs_within("kappa_w", w)), L, tp, core_once_more, source, by),
      flops("attention output", product(a * value_width * h), L, tp, replays(r_output), source, layer_operation::output,
            1 * h));
}();
inline constexpr auto saved = [] {
  using detail::saved::inner, detail::saved::region, detail::saved::unless;
  constexpr std::string_view assumed =
      "arXiv:2502.11089; assumes that a kernel keeps its inputs, output and statistics";
  constexpr auto kv_ranks = least(tp, g) * cp;
  constexpr auto kept = unless(r_attention);
  constexpr layer_operation by = layer_operation::attention;
  return terms(
      tensor("attention input", input_of(1 * h), unless(r_norm), choose(r_gather, cp, region), assumed,
             layer_operation::norm, origin::estimated),
      tensor("queries", stream_of(a * d), unless(r_qkv), inner, assumed, layer_operation::qkv, origin::estimated),
      tensor("keys and values", stream_of(n_kv * pair_width), unless(r_qkv), kv_ranks, assumed, layer_operation::qkv,
             origin::estimated),
      tensor("pooled keys and values", c * (element * (pooled_blocks * b * pair_width)), unless(r_qkv), kv_ranks,
             assumed, layer_operation::qkv, origin::estimated),
      tensor("gates of branches", stream_of(3 * a), unless(r_qkv), inner, assumed, layer_operation::qkv,
             origin::estimated),
      tensor("selected blocks", 4 * byte * (s * b * g * n_x), kept, kv_ranks, assumed, by, origin::estimated),
      tensor("softmax statistics", 3 * 4 * byte * (a * s * b), kept, inner, "arXiv:2205.14135", by, origin::estimated),
      tensor("outputs of branches, and their sum", stream_of(4 * a * value_width), kept, inner, assumed, by,
             origin::estimated));
}();
// The window's own keys and values are those of the window alone; those of a block that is not pooled yet are small.
inline constexpr auto state = [] {
  constexpr layer_operation by = layer_operation::qkv;
  constexpr auto own_window = greatest(n_kv - 2, 0);
  return terms(tensor("keys and values to select", c * (element * (s * pair_width)), L, least(tp, g), source, by,
                      origin::definition),
               tensor("pooled keys and values", c * (element * (pooled_blocks * pair_width)), L, least(tp, g), source,
                      by, origin::definition),
               tensor("window of keys and values", c * (element * (least(w, s) * pair_width)), own_window, least(tp, g),
                      source, by, origin::definition));
}();

inline constexpr auto moved = mixer_moves("rotary positions and gates", a* d + n_kv * g * d + 3 * a * value_width);
template <class Width, class Ranks>
consteval auto cut(const Width& width, const Ranks& ranks) noexcept {
  return detail::blocks::stream_of(width) / (cp * ranks);
}
inline constexpr auto keys_values = cut(n_kv * pair_width, least(tp, g));
inline constexpr auto queries = cut(a * d, 1 * tp);
inline constexpr auto context_transfers = detail::context::lines(keys_values, queries, cut(a* value_width, 1 * tp));
inline constexpr auto moment = moment_of_attention(keys_values, queries);

}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks::native_sparse_attention_terms

namespace hocket::inline HOCKET_ABI::cost {

template <>
struct formulas_of<native_sparse_attention> {
  static constexpr block_terms lists() noexcept {
    return {.parameters = letters::blocks::native_sparse_attention_terms::parameters,
            .forward = letters::blocks::native_sparse_attention_terms::forward,
            .saved = letters::blocks::native_sparse_attention_terms::saved,
            .state = letters::blocks::native_sparse_attention_terms::state,
            .moment = letters::blocks::native_sparse_attention_terms::moment,
            .moved = letters::blocks::native_sparse_attention_terms::moved,
            .tensor_transfers = letters::blocks::mixer_transfers,
            .context_transfers = letters::blocks::native_sparse_attention_terms::context_transfers};
  }
};

}  // namespace hocket::inline HOCKET_ABI::cost
