// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/blocks/attention.hpp>
#include <hocket/cost/blocks/block_indexer.hpp>
#include <hocket/cost/blocks/compressed_attention.hpp>
#include <hocket/cost/blocks/feed_forward.hpp>
#include <hocket/cost/blocks/latent_attention.hpp>
#include <hocket/cost/blocks/linear_attention.hpp>
#include <hocket/cost/blocks/native_sparse_attention.hpp>
#include <hocket/cost/blocks/norms.hpp>
#include <hocket/cost/blocks/residual.hpp>
#include <hocket/cost/blocks/state_space.hpp>
#include <hocket/cost/model/list_sizes.hpp>

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

/// A model as an ordered list of layers, each an ordered list of blocks.
namespace hocket::inline HOCKET_ABI::cost {

/// One part of a layer, with its sizes.
using block_sizes = std::variant<norms, attention, latent_attention, compressed_attention, native_sparse_attention,
                                 gated_delta, kimi_delta, lightning_attention, short_convolution, mamba2, mamba,
                                 feed_forward, mixture, hyper_connections, attention_residuals, alternating_updates,
                                 per_layer_input, block_indexer, projection, table>;
struct block {
  block_sizes what;
  bool weights_elsewhere = false;  ///< it works with the weights of an earlier block, which has counted them
  std::int64_t set = 0;            ///< which one: that of the same sizes and the same number

  template <class Sizes>
  constexpr block(const Sizes& sizes, bool elsewhere = false,
                  std::int64_t number = 0)  // NOLINT(google-explicit-constructor): a block is its sizes
      : what(sizes), weights_elsewhere(elsewhere), set(number) {}
  /// Whether both work with one set of weights, if one of them has none of its own.
  [[nodiscard]] constexpr bool shares_with(const block& other) const { return set == other.set && what == other.what; }
  friend constexpr bool operator==(const block&, const block&) = default;
};

/// A layer: its blocks in order.
using layer_blocks = std::vector<block>;
/// Equal layers in a row, stored once.
struct repeated_layer {
  layer_blocks blocks;
  std::int64_t count = 1;
  friend constexpr bool operator==(const repeated_layer&, const repeated_layer&) = default;
};

/// A model: embedding, layers in order, heads. What has equal layers is shorter to write as a `model`, which converts.
///
///     using namespace hocket;
///     const cost::attention full{.heads = 16, .kv_heads = 2, .head_dim = 256, .gate_width = 4096, .qk_norm = true};
///     const cost::gated_delta linear{.key_heads = 16, .value_heads = 32, .key_dim = 128, .value_dim = 128};
///     const cost::mixture experts{.experts = 512, .active_experts = 10, .expert_ffn = 512, .shared_ffn = 512,
///                                 .shared_gate = true};
///     cost::layer_list qwen3_next{.sizes = {.hidden = 2048, .vocabulary = 151936}};
///     for (int i = 0; i < 12; ++i) {
///       qwen3_next.add({cost::norms{}, linear, cost::norms{.place = cost::norm_place::between}, experts}, 3);
///       qwen3_next.add({cost::norms{}, full, cost::norms{.place = cost::norm_place::between}, experts});
///     }
///     cost::count_parameters(qwen3_next)->total == 79674391296;
struct layer_list {
  list_sizes sizes;
  layer_blocks front{};                  ///< once, with the embedding
  std::vector<repeated_layer> layers{};  ///< in model order
  layer_blocks back{};                   ///< once, before the final norm and the head
  /// Multi-token-prediction modules. Each has the head once more, and shares the weights of embedding and head; one
  /// with weights of its own has them as a `table` among its blocks.
  /// As many as sizes.prediction_heads says, each with its layer here.
  std::vector<repeated_layer> predictions{};
  /// What is wrong with the sizes that the list was made of; check says it.
  std::optional<error> refused{};

  /// Appends equal layers; a run that goes on is stored once.
  constexpr void add(layer_blocks blocks, std::int64_t count = 1) {
    if (count < 1) return;
    if (!layers.empty() && layers.back().blocks == blocks) layers.back().count += count;
    else layers.push_back({std::move(blocks), count});
  }
  [[nodiscard]] constexpr std::int64_t layer_count() const noexcept {
    std::int64_t sum = 0;
    for (const repeated_layer& each : layers) sum += each.count;
    return sum;
  }
  friend constexpr bool operator==(const layer_list&, const layer_list&) = default;
};

/// Residual streams, each as wide as the model, that a stage which ends with such a layer passes on.
[[nodiscard]] constexpr std::int64_t streams_behind(const list_sizes& sizes, const layer_blocks& last) noexcept {
  std::int64_t streams = sizes.streams;
  for (const block& b : last)
    if (const auto* x = std::get_if<attention_residuals>(&b.what); x != nullptr && x->sources > streams)
      streams = x->sources;
  return streams;
}

/// The formulas of a block.
[[nodiscard]] constexpr block_terms formulas(const block& b) noexcept {
  return std::visit([]<class Sizes>(const Sizes&) { return formulas_of<Sizes>::lists(); }, b.what);
}

}  // namespace hocket::inline HOCKET_ABI::cost
