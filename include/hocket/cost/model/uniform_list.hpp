// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/check.hpp>
#include <hocket/cost/model/layer_list.hpp>

namespace hocket::inline HOCKET_ABI::cost {

namespace detail {

/// The blocks of one layer.
[[nodiscard]] constexpr layer_blocks uniform_layer(const model& m, bool with_experts, bool windowed) {
  const bool parallel_blocks = m.layer_norms == 1;
  layer_blocks blocks;
  const auto add_norms = [&](norm_place place, std::int64_t count) {
    if (count > 0) blocks.push_back(norms{.count = count, .norm_weights = m.norm_weights, .place = place});
  };
  add_norms(norm_place::first, 1);
  if (m.latent)
    blocks.push_back(latent_attention{.heads = m.heads,
                                      .query_rank = m.query_rank,
                                      .kv_rank = m.kv_rank,
                                      .nope_dim = m.nope_dim,
                                      .rope_dim = m.rope_dim,
                                      .value_dim = m.value_dim});
  else
    blocks.push_back(attention{.heads = m.heads,
                               .kv_heads = m.kv_heads,
                               .head_dim = m.head_dim,
                               .window = windowed ? m.window : 0,
                               .norm_weights = m.norm_weights,
                               .qk_norm = m.qk_norm,
                               .qk_norm_all = m.qk_norm_all,
                               .qkv_bias = m.qkv_bias,
                               .output_bias = m.output_bias,
                               .attention_sinks = m.attention_sinks});
  if (!parallel_blocks) add_norms(norm_place::between, 1);
  if (with_experts)
    blocks.push_back(mixture{.experts = m.experts,
                             .active_experts = m.active_experts,
                             .expert_ffn = m.expert_ffn,
                             .shared_ffn = m.shared_ffn,
                             .ffn_matrices = m.ffn_matrices,
                             .shared_gate = m.shared_gate,
                             .router_bias = m.router_bias,
                             .expert_bias = m.expert_bias,
                             .shares_input = parallel_blocks});
  else
    blocks.push_back(feed_forward{
        .ffn = m.ffn, .ffn_matrices = m.ffn_matrices, .ffn_bias = m.ffn_bias, .shares_input = parallel_blocks});
  add_norms(norm_place::behind, m.layer_norms - 2);
  return blocks;
}

}  // namespace detail

/// A model given by numbers of layers, as a list: layers without experts first, windowed layers spread evenly. Where
/// its numbers do not fit together, the list says why to the caller of check (layer_list::refused). O(layers) with
/// windows.
///
///     static_assert(to_layers({.layers = 4, .hidden = 64, .heads = 4, .kv_heads = 4, .head_dim = 16, .ffn = 256})
///                       .layer_count() == 4);
[[nodiscard]] constexpr layer_list to_layers(const model& m) {
  constexpr std::int64_t max_runs = std::int64_t{1} << 20;  // with windows every layer is a run
  result<void> sound = check(m);
  if (sound && m.window_layers > 0 && m.layers > max_runs)
    sound = error{errc::limit_exceeded, m.layers, max_runs}.with("layers, some with a window");
  if (!sound) {
    layer_list none;
    none.refused = sound.error();
    return none;
  }
  layer_list out{.sizes = {.hidden = m.hidden,
                           .vocabulary = m.vocabulary,
                           .positions = m.positions,
                           .norm_weights = m.norm_weights,
                           .final_norm = m.final_norm,
                           .embedding_norm = m.embedding_norm,
                           .tied = m.tied,
                           .head_bias = m.head_bias}};
  const bool alternate = m.window_layers > 0 && m.window_layers < m.layers;
  const std::int64_t dense = m.layers - m.moe_layers;
  for (std::int64_t at = 0; at < m.layers;) {
    const bool windowed = (at + 1) * m.window_layers / m.layers > at * m.window_layers / m.layers;
    const std::int64_t count = alternate ? 1 : (at < dense ? dense : m.layers) - at;
    out.add(detail::uniform_layer(m, at >= dense, windowed), count);
    at += count;
  }
  if (m.mtp_layers > 0) {
    out.sizes.prediction_heads = m.mtp_layers;
    out.predictions.push_back({detail::uniform_layer(m, m.moe_layers > 0, false), m.mtp_layers});
  }
  return out;
}

constexpr model::operator layer_list() const { return to_layers(*this); }

}  // namespace hocket::inline HOCKET_ABI::cost
