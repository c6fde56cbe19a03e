// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/cost/model/model.hpp>
#include <hocket/cost/model/parallel.hpp>
#include <hocket/cost/model/part.hpp>
#include <hocket/cost/model/training.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::cost {

/// Weights of one shape on one tensor-parallel rank: the length of their first dimension, the product of the others,
/// and how many there are of them.
struct weight_shape {
  std::string_view name;  ///< literal
  std::int64_t first = 0, rest = 1, count = 1;
  [[nodiscard]] constexpr std::int64_t elements() const noexcept { return first * rest * count; }
};

/// What optimizer parallelism leaves on a rank. Frameworks that cut weights along their first dimension can cut only
/// those whose first dimension the number of ranks divides; the others stay whole everywhere.
struct optimizer_shards {
  std::int64_t cut = 0, whole = 0;  ///< elements of both kinds before the cut
  std::int64_t held = 0;            ///< elements a rank holds: cut / ways + whole
  friend constexpr bool operator==(const optimizer_shards&, const optimizer_shards&) = default;
};

/// True if weights of this shape can be cut over so many ranks. Precondition: ways >= 1.
[[nodiscard]] constexpr bool can_be_cut(const weight_shape& w, std::int64_t ways) noexcept {
  HOCKET_ASSERT(ways >= 1);
  return w.first % ways == 0;
}
/// The condition applied to all weights. Multiply `held` by the bytes per element of the states that are sharded.
/// Errors: errc::out_of_range unless ways >= 1. O(shapes).
[[nodiscard]] constexpr result<optimizer_shards> shard_over(std::span<const weight_shape> shapes,
                                                            std::int64_t ways) noexcept {
  if (ways < 1) return error{errc::out_of_range, ways, 1, (std::numeric_limits<std::int32_t>::max)()}.with("ranks");
  optimizer_shards out;
  for (const weight_shape& w : shapes) (can_be_cut(w, ways) ? out.cut : out.whole) += w.elements();
  out.held = out.cut / ways + out.whole;
  return out;
}

/// The shapes of the weights of a model without latent attention, as frameworks store them (outputs first), on one
/// tensor-parallel rank. Precondition: check(m, t, p) succeeded and !m.latent.
[[nodiscard]] inline std::vector<weight_shape> weight_shapes(const model& m, const parallel& p) {
  HOCKET_ASSERT(!m.latent);
  std::vector<weight_shape> shapes;
  const auto add = [&](std::string_view name, std::int64_t first, std::int64_t rest, std::int64_t count) {
    if (first * rest * count > 0) shapes.push_back({name, first, rest, count});
  };
  const std::int64_t kv_ways = p.tp < m.kv_heads ? p.tp : m.kv_heads, layers = m.layers, dense = layers - m.moe_layers;
  const std::int64_t q = m.heads * m.head_dim / p.tp, kv = m.kv_heads * m.head_dim / kv_ways;
  add("token embedding", m.vocabulary / p.tp, m.hidden, 1);
  add("position embedding", m.positions, m.hidden, 1);
  add("embedding norm", m.hidden, 1, m.embedding_norm ? m.norm_weights : 0);
  add("query", q, m.hidden, layers);
  add("key and value", kv, m.hidden, 2 * layers);
  add("attention output", m.hidden, q, layers);
  add("query bias", q, 1, m.qkv_bias ? layers : 0);
  add("key and value bias", kv, 1, m.qkv_bias ? 2 * layers : 0);
  add("output bias", m.hidden, 1, m.output_bias ? layers : 0);
  add("query and key norm", m.head_dim, 1, m.qk_norm ? 2 * m.norm_weights * layers : 0);
  add("query norm, all heads", m.heads * m.head_dim, 1, m.qk_norm_all ? m.norm_weights * layers : 0);
  add("key norm, all heads", m.kv_heads * m.head_dim, 1, m.qk_norm_all ? m.norm_weights * layers : 0);
  add("attention sinks", m.heads / p.tp, 1, m.attention_sinks ? layers : 0);
  add("FFN, inner", m.ffn / p.tp, m.hidden, (m.ffn_matrices - 1) * dense);
  add("FFN, outer", m.hidden, m.ffn / p.tp, dense);
  add("FFN bias, inner", m.ffn / p.tp, 1, m.ffn_bias ? (m.ffn_matrices - 1) * dense : 0);
  add("FFN bias, outer", m.hidden, 1, m.ffn_bias ? dense : 0);
  add("router", m.experts, m.hidden, m.moe_layers);
  add("router bias", m.experts, 1, m.router_bias ? m.moe_layers : 0);
  add("experts, inner", m.expert_ffn / p.etp, m.hidden, (m.ffn_matrices - 1) * m.moe_layers * (m.experts / p.ep));
  add("experts, outer", m.hidden, m.expert_ffn / p.etp, m.moe_layers * (m.experts / p.ep));
  add("expert bias, inner", m.expert_ffn / p.etp, 1,
      m.expert_bias ? (m.ffn_matrices - 1) * m.moe_layers * (m.experts / p.ep) : 0);
  add("expert bias, outer", m.hidden, 1, m.expert_bias ? m.moe_layers * (m.experts / p.ep) : 0);
  add("shared experts, inner", m.shared_ffn / p.tp, m.hidden, (m.ffn_matrices - 1) * m.moe_layers);
  add("shared experts, outer", m.hidden, m.shared_ffn / p.tp, m.moe_layers);
  add("shared expert gate", 1, m.hidden, m.shared_gate ? m.moe_layers : 0);
  add("layer norms", m.hidden, 1, m.layer_norms * m.norm_weights * layers);
  add("final norm", m.hidden, 1, m.final_norm ? m.norm_weights : 0);
  add("output head", m.vocabulary / p.tp, m.hidden, m.tied ? 0 : 1);
  add("output head bias", m.vocabulary / p.tp, 1, m.head_bias ? 1 : 0);
  return shapes;
}

}  // namespace hocket::inline HOCKET_ABI::cost
