// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/list_cost.hpp>
#include <hocket/cost/model/muon.hpp>
#include <hocket/cost/model/rank_layers.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

// Optimizer states of a list under Muon: which of its weights are matrices, and what a rank holds for them.
namespace hocket::inline HOCKET_ABI::cost {

/// The matrices of some blocks on one tensor-parallel rank, as frameworks store them (outputs first).
struct block_matrices {
  std::vector<weight_shape> dense;
  std::vector<weight_shape> expert;  ///< of experts, which fewer ranks have copies of
};

namespace detail {

/// Collects them. A length that does not divide over its ranks is rounded up: the shard is padded.
struct matrix_list {
  std::int64_t hidden = 0, count = 1;  // of equal blocks
  parallel spread;
  block_matrices out;

  [[nodiscard]] static std::int64_t share(std::int64_t length, std::int64_t ways) { return (length + ways - 1) / ways; }
  void add(std::int64_t first, std::int64_t rest, std::int64_t times = 1) {
    if (first * rest * times > 0) out.dense.push_back({"matrix", first, rest, times * count});
  }
  /// Cut along its outputs, or along its inputs, over tensor-parallel ranks.
  void add_outputs(std::int64_t first, std::int64_t rest, std::int64_t times = 1) {
    add(share(first, spread.tp), rest, times);
  }
  void add_inputs(std::int64_t first, std::int64_t rest, std::int64_t times = 1) {
    add(first, share(rest, spread.tp), times);
  }
  /// Key-value heads are copied, not divided, once there are fewer of them than ranks.
  void add_kv(std::int64_t heads, std::int64_t width, std::int64_t rest, std::int64_t times = 1) {
    if (heads > 0) add(share(heads * width, (std::min)(spread.tp, heads)), rest, times);
  }
  void add_ffn(std::int64_t ffn, std::int64_t matrices) {
    add_outputs(ffn, hidden, matrices - 1);
    add_inputs(hidden, ffn);
  }

  void operator()(const attention& x) {
    const std::int64_t input = x.input > 0 ? x.input : hidden, values = x.value_dim > 0 ? x.value_dim : x.head_dim;
    add_outputs(x.heads * x.head_dim, input);
    if (!x.shared_kv) add_kv(x.kv_heads, x.head_dim, input);
    if (!x.shared_kv && !x.key_is_value) add_kv(x.kv_heads, values, input);
    add_inputs(hidden, x.heads * values);
    add_outputs(x.gate_width, hidden);
  }
  void operator()(const latent_attention& x) {
    add(x.query_rank, hidden);
    add_outputs(x.heads * (x.nope_dim + x.rope_dim), x.query_rank > 0 ? x.query_rank : hidden);
    add(x.kv_rank + x.rope_dim, hidden);
    add_outputs(x.heads * (x.nope_dim + x.value_dim), x.kv_rank);
    add_inputs(hidden, x.heads * x.value_dim);
    add_outputs(x.gate_width, hidden);
    add(x.index_heads * x.index_dim, x.query_rank);
    if (x.index_heads > 0) add(x.index_dim, hidden);
    add(x.index_heads, hidden);
  }
  void operator()(const compressed_attention& x) {
    add_outputs(x.query_rank, hidden);
    add_outputs(x.heads * x.head_dim, x.query_rank);
    add(x.head_dim, hidden);
    if (x.output_groups > 0) add_outputs(x.output_groups * x.output_rank, x.heads * x.head_dim / x.output_groups);
    add_inputs(hidden, x.output_groups * x.output_rank);
    if (x.ratio == 0) return;
    add((x.overlaps ? 2 : 1) * x.head_dim, hidden, 2);
    if (x.index_heads == 0) return;
    add(2 * x.index_dim, hidden, 2);
    add(x.index_heads * x.index_dim, x.query_rank);
    add(x.index_heads, hidden);
  }
  void operator()(const native_sparse_attention& x) {
    const std::int64_t values = x.value_dim > 0 ? x.value_dim : x.head_dim;
    add_outputs(x.heads * x.head_dim, hidden);
    add_kv(x.kv_heads, x.head_dim, hidden, x.branches);
    add_kv(x.kv_heads, values, hidden, x.branches);
    add_outputs(3 * x.heads, hidden);
    add_inputs(hidden, x.heads * values);
    if (!x.learned_pooling) return;
    const std::int64_t heads = share(x.kv_heads, (std::min)(spread.tp, x.kv_heads));
    add(x.head_dim, x.pooled_width * x.head_dim, heads);
    add(values, x.pooled_width * values, heads);
  }
  void operator()(const gated_delta& x) {
    const std::int64_t keys = x.key_heads * x.key_dim, values = x.value_heads * x.value_dim;
    add_outputs(2 * keys + 2 * values, hidden);
    add_outputs(2 * x.value_heads, hidden);
    add_inputs(hidden, values);
  }
  void operator()(const kimi_delta& x) {
    const std::int64_t width = x.heads * x.head_dim;
    add_outputs(width, hidden, 3);
    for (const bool whole : {x.gate_rank == 0, x.gate_rank == 0 || x.whole_output_gate}) {
      if (whole) add_outputs(width, hidden);
      else add_inputs(x.gate_rank, hidden);
      if (!whole) add_outputs(width, x.gate_rank);
    }
    add_outputs(x.heads, hidden);
    add_inputs(hidden, width);
  }
  void operator()(const lightning_attention& x) {
    add_outputs(x.heads * x.head_dim, hidden, 4);
    add_inputs(hidden, x.heads * x.head_dim);
  }
  void operator()(const short_convolution&) {
    add_outputs(3 * hidden, hidden);
    add_inputs(hidden, hidden);
  }
  void operator()(const mamba2& x) {
    const std::int64_t inner = x.heads * x.head_dim;
    add_outputs(2 * inner + 2 * x.groups * x.state + x.heads, hidden);
    add_inputs(hidden, inner);
  }
  void operator()(const mamba& x) {
    add_outputs(2 * x.inner, hidden);
    add_inputs(x.step_rank + 2 * x.state, x.inner);
    add_outputs(x.inner, x.step_rank);
    add_inputs(hidden, x.inner);
  }
  void operator()(const feed_forward& x) { add_ffn(x.ffn, x.ffn_matrices); }
  void operator()(const mixture& x) {
    add(x.experts + x.zero_experts, x.router_width > 0 ? x.router_width : hidden);
    add(x.latent_width, hidden);
    add(hidden, x.latent_width);
    add_ffn(x.shared_ffn, x.ffn_matrices);
    const std::int64_t width = x.latent_width > 0 ? x.latent_width : hidden, inner = share(x.expert_ffn, spread.etp),
                       experts = share(x.experts, spread.ep) * count;
    out.expert.push_back({"expert", inner, width, (x.ffn_matrices - 1) * experts});
    out.expert.push_back({"expert", width, inner, experts});
  }
  void operator()(const hyper_connections& x) {
    add(2 * x.streams + x.streams * x.streams, x.streams * hidden, x.count);
  }
  void operator()(const alternating_updates& x) {
    add(x.streams, hidden);
    add(x.streams * x.streams, x.streams);
    add(x.streams, x.streams);
  }
  void operator()(const per_layer_input& x) {
    add(x.inner, hidden);
    add(hidden, x.inner);
  }
  void operator()(const block_indexer& x) { add((x.index_heads + 1) * x.index_dim, hidden); }
  void operator()(const projection& x) { add(x.outputs, x.input > 0 ? x.input : hidden, x.count); }
  void operator()(const norms&) {}
  void operator()(const attention_residuals&) {}  // vectors
  void operator()(const table&) {}
};

/// Bytes of the states of one group of weights that `ways` ranks share.
inline result<rational> muon_bytes(std::span<const weight_shape> matrices, std::int64_t elements, std::int64_t ways,
                                   const training& t) {
  const muon how{.momentum_bytes = t.moment_bytes / rational(2)};
  auto dealt = shard_whole(matrices, ways, how);
  if (!dealt) return dealt.error();
  // A vector that looks like a matrix (one row) is under AdamW, like all that is no matrix.
  dealt->others = (std::max)(elements - dealt->matrices, std::int64_t{0});
  return muon_state_bytes(*dealt, ways, t, how);
}

}  // namespace detail

/// The matrices of `count` equal layers on one rank; blocks whose weights are elsewhere have none. O(blocks).
[[nodiscard]] inline block_matrices matrices_of(const layer_blocks& blocks, std::int64_t hidden, const parallel& p,
                                                std::int64_t count = 1) {
  detail::matrix_list list{hidden, count, p, {}};
  for (const block& b : blocks)
    if (!b.weights_elsewhere) std::visit(list, b.what);
  return std::move(list.out);
}

/// Bytes of master weights and moments of one rank under Muon: one moment for each matrix of a layer, AdamW's two for
/// embeddings, head, norms, biases and convolutions.
///
/// Convention: an update needs whole matrices, so from ZeRO 1 on each matrix and its states belong to one of the
/// data-parallel ranks, as Megatron-LM's layer-wise distributed optimizer (dist_muon) has it; the fullest rank counts.
/// What AdamW updates is cut element by element. Queries, keys and values, and the inner matrices of an FFN, are
/// matrices of their own, and so is each expert's; what tensor parallelism cuts is updated shard by shard.
/// `moment_bytes` are AdamW's two moments, Muon's is half of them.
/// Source: arXiv:2502.16982 (Moonlight); Megatron-LM core/optimizer/layer_wise_optimizer.py.
///
/// @param layers   what the rank has, as layers_of_ranks says, with a copy of weights that others count
/// @param last     whether it has the joint inputs of multi-token-prediction modules
/// @param n        all its parameters
/// Errors: errc::out_of_range for ZeRO 2 and 3, which cut matrices; those of shard_whole. O(matrices log ranks).
///
///     muon_states_of_rank(list, on.layers, true, *count_rank_parameters(list, on, p), t, p)
[[nodiscard]] inline result<rational> muon_states_of_rank(const layer_list& list, std::span<const rank_run> layers,
                                                          bool last, const rank_parameters& n, const training& t,
                                                          const parallel& p) {
  if (p.zero > zero::optimizer)
    return error{errc::out_of_range, static_cast<std::int64_t>(p.zero), 0, 1}.with("zero with Muon");
  if (p.offload_optimizer) return rational(0);
  block_matrices all;
  if (last && list.sizes.prediction_heads > 0)
    all.dense.push_back({"joint input", detail::matrix_list::share(list.sizes.hidden, p.tp), 2 * list.sizes.hidden,
                         list.sizes.prediction_heads});
  for (const rank_run& each : layers) {
    const block_matrices some = matrices_of(each.blocks, list.sizes.hidden, p, each.count);
    all.dense.insert(all.dense.end(), some.dense.begin(), some.dense.end());
    all.expert.insert(all.expert.end(), some.expert.begin(), some.expert.end());
  }
  const bool shared = p.zero == zero::optimizer;
  const auto dense = detail::muon_bytes(all.dense, n.dense, shared ? p.dp * p.cp : 1, t);
  if (!dense) return dense;
  const auto expert = detail::muon_bytes(all.expert, n.expert, shared ? p.dp * p.cp * p.tp / (p.ep * p.etp) : 1, t);
  if (!expert) return expert;
  return *dense + *expert;
}

}  // namespace hocket::inline HOCKET_ABI::cost
