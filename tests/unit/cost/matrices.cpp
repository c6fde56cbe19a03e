// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The matrices of every kind of block are its parameters but for vectors and convolutions, which are written out here.
#include <hocket/cost/model/list_stages.hpp>

#include <vector>

#include "catch.hpp"

namespace {
namespace matrices {

namespace cost = hocket::cost;
constexpr std::int64_t width = 96;

/// A block, and what of its weights on one of `tp` ranks is no matrix.
struct known_block {
  const char* name;
  cost::block what;
  std::int64_t copied = 0, cut = 0;  // the same on every rank; over tp ranks
};
struct element_sums {
  std::int64_t dense = 0, expert = 0;
};

element_sums matrices_of(const cost::block& b, const cost::parallel& p, std::int64_t count = 1) {
  const auto found = cost::matrices_of({b}, width, p, count);
  element_sums out;
  for (const cost::weight_shape& x : found.dense) {
    CHECK(x.elements() > 0);
    out.dense += x.elements();
  }
  for (const cost::weight_shape& x : found.expert) {
    CHECK(x.elements() > 0);
    out.expert += x.elements();
  }
  return out;
}
/// All weights on a rank of a layer that is this block alone, without embedding and head.
cost::rank_parameters held_of(const cost::block& b, const cost::parallel& p) {
  cost::layer_list list{.sizes = {.hidden = width, .final_norm = false}};
  list.add({b});
  const auto ranks = cost::layers_of_ranks(list, p).value();
  return cost::count_rank_parameters(list, ranks.front(), p).value();
}

std::vector<known_block> known_blocks() {
  const std::int64_t h = width;
  std::vector<known_block> out;
  const cost::attention plain{.heads = 8, .kv_heads = 4, .head_dim = 12};
  out.push_back({"attention", plain});
  cost::attention rich = plain;
  rich.value_dim = 20;
  rich.input = 48;
  rich.gate_width = 40;
  rich.norm_weights = 2;
  rich.qk_norm = rich.qkv_bias = rich.output_bias = rich.gate_bias = rich.attention_sinks = true;
  // Norms of queries and keys, the bias of the output; biases of queries, keys, values, gate; a sink of each head.
  out.push_back({"attention with all there is", rich, 2 * 2 * 12 + h, 8 * 12 + 4 * 12 + 4 * 20 + 40 + 8});
  cost::attention all_norms = plain;
  all_norms.qk_norm_all = true;
  out.push_back({"attention, norms of all heads", all_norms, (8 + 4) * 12});
  cost::attention shared = plain;
  shared.shared_kv = true;
  out.push_back({"attention, keys of an earlier layer", shared});
  cost::attention keys = plain;
  keys.key_is_value = true;
  out.push_back({"attention, keys are values", keys});

  const cost::latent_attention narrow{
      .heads = 8, .query_rank = 20, .kv_rank = 16, .nope_dim = 12, .rope_dim = 4, .value_dim = 8};
  out.push_back({"latent attention", narrow, 20 + 16});
  cost::latent_attention whole = narrow;
  whole.query_rank = 0;
  whole.gate_width = 64;
  out.push_back({"latent attention, queries not compressed", whole, 16});
  cost::latent_attention sparse = narrow;
  sparse.selected = 32;
  sparse.index_heads = 6;
  sparse.index_dim = 10;
  sparse.bias = true;
  out.push_back({"latent attention with an indexer", sparse, 20 + 16 + (20 + 16 + 4 + h) + 2 * 10});

  const cost::compressed_attention window{
      .heads = 8, .head_dim = 12, .query_rank = 20, .output_groups = 4, .output_rank = 24, .window = 8};
  out.push_back({"compressed attention, a window alone", window, 12, 20 + 8});
  cost::compressed_attention blocks = window;
  blocks.ratio = 4;
  out.push_back({"compressed attention, all blocks", blocks, 12 + 4 * 12 + 12, 20 + 8});
  cost::compressed_attention chosen = blocks;
  chosen.overlaps = true;
  chosen.selected = 8;
  chosen.index_heads = 6;
  chosen.index_dim = 10;
  out.push_back({"compressed attention, chosen blocks", chosen, 12 + 4 * 24 + 12 + 4 * 20 + 10, 20 + 8});

  const cost::native_sparse_attention pooled{
      .heads = 8, .kv_heads = 4, .head_dim = 12, .value_dim = 20, .pooled_width = 8, .stride = 4};
  out.push_back({"native sparse attention", pooled, 0, 4 * 8 * (12 + 20)});  // positions within a block
  cost::native_sparse_attention means = pooled;
  means.learned_pooling = false;
  means.branches = 1;
  means.value_dim = 0;
  out.push_back({"native sparse attention, one branch, means", means});

  const cost::gated_delta delta{.key_heads = 4, .value_heads = 8, .key_dim = 12, .value_dim = 20, .kernel = 4};
  out.push_back({"gated delta", delta, 20, (2 * 4 * 12 + 8 * 20) * 4 + 2 * 8});
  const cost::kimi_delta gates{.heads = 8, .head_dim = 12, .kernel = 4, .gate_rank = 0};
  const std::int64_t of_kimi = 3 * 96 * 4 + 96 + 8;
  out.push_back({"Kimi delta, whole gates", gates, 12, of_kimi});
  cost::kimi_delta low = gates;
  low.gate_rank = 16;
  out.push_back({"Kimi delta, narrow gates", low, 12, of_kimi});
  low.whole_output_gate = true;
  out.push_back({"Kimi delta, a narrow gate and a whole one", low, 12, of_kimi});
  out.push_back({"lightning attention", cost::lightning_attention{.heads = 8, .head_dim = 12}, 0, 96});
  out.push_back({"short convolution", cost::short_convolution{.kernel = 3, .conv_bias = true}, 0, 3 * h + 5 * h});
  const cost::mamba2 heads{
      .heads = 8, .head_dim = 12, .groups = 2, .state = 10, .kernel = 4, .bias = true, .output_bias = true};
  out.push_back({"Mamba-2", heads, h, (96 + 2 * 20) * 5 + (2 * 96 + 2 * 20 + 8) + 3 * 8 + 96});
  const cost::mamba channels{.inner = 192, .state = 16, .step_rank = 8, .kernel = 4, .bias = true, .inner_norms = true};
  out.push_back({"Mamba", channels, 8 + 2 * 16, 192 * 5 + (2 * 192 + h) + 192 + (192 * 16 + 192)});
  out.push_back({"FFN", cost::feed_forward{.ffn = 160, .ffn_bias = true}, h, 2 * 160});
  out.push_back({"FFN of two matrices", cost::feed_forward{.ffn = 160, .ffn_matrices = 2}});
  cost::mixture experts{.experts = 8, .active_experts = 2, .expert_ffn = 40, .shared_ffn = 24};
  out.push_back({"mixture", experts});
  experts.zero_experts = 4;
  experts.latent_width = 32;
  experts.ffn_matrices = 2;
  experts.shared_gate = experts.router_bias = true;
  out.push_back({"mixture in a latent space", experts, 8 + 4 + h});
  experts.bias = true;
  out.push_back({"the same with biases", experts, 8 + 4 + h + (32 + h) + h, 24});
  experts.router_width = 20;
  out.push_back({"the same with a narrow router", experts, 8 + 4 + h + (32 + h) + h, 24});
  out.push_back({"alternating updates", cost::alternating_updates{.streams = 3}, 2 * h});
  out.push_back({"hyper-connections", cost::hyper_connections{.streams = 3, .count = 2}, 2 * (2 * 3 + 9 + 3)});
  out.push_back({"attention residuals", cost::attention_residuals{.sources = 3, .count = 2}, 4 * h});
  out.push_back({"attention residuals without weights of norms",
                 cost::attention_residuals{.sources = 3, .count = 2, .norm_weights = 0}, 2 * h});
  out.push_back({"indexer of blocks", cost::block_indexer{.index_heads = 6, .index_dim = 10, .ratio = 4}, 2 * 10});
  out.push_back({"per-layer input", cost::per_layer_input{.inner = 24}, h});
  out.push_back({"projection", cost::projection{.outputs = 40, .count = 3, .bias = true}, 3 * 40});
  out.push_back({"projection of another width", cost::projection{.input = 30, .outputs = 40}});
  out.push_back({"norms", cost::norms{.count = 2, .norm_weights = 2}, 4 * h});
  out.push_back({"table", cost::table{.elements = 500, .count = 2}, 1000});
  return out;
}

TEST_CASE("matrices are all weights but vectors and convolutions, of every kind of block", "[cost][muon]") {
  for (const known_block& each : known_blocks())
    for (const std::int64_t tp : {1, 2, 4}) {
      INFO(each.name << ", tp " << tp);
      const cost::parallel p{.tp = tp};
      const cost::rank_parameters held = held_of(each.what, p);
      const element_sums found = matrices_of(each.what, p);
      CHECK(found.dense == held.dense - each.copied - each.cut / tp);
      CHECK(found.expert == held.expert);
      // Of five equal layers as many each; of weights that an earlier block has, none.
      CHECK(matrices_of(each.what, p, 5).dense == 5 * found.dense);
      CHECK(matrices_of(each.what, p, 5).expert == 5 * found.expert);
      cost::block elsewhere = each.what;
      elsewhere.weights_elsewhere = true;
      CHECK(matrices_of(elsewhere, p).dense + matrices_of(elsewhere, p).expert == 0);
    }
}

TEST_CASE("experts are divided over their ranks, and by etp", "[cost][muon]") {
  const cost::block experts = cost::mixture{.experts = 8, .active_experts = 2, .expert_ffn = 40, .ffn_matrices = 3};
  for (const std::int64_t ep : {1, 2, 8})
    for (const std::int64_t etp : {1, 2, 4}) {
      const auto found = cost::matrices_of({experts}, width, {.dp = ep * etp, .ep = ep, .etp = etp}, 3);
      std::int64_t count = 0;
      for (const cost::weight_shape& x : found.expert) {
        CHECK(x.first * x.rest == width * 40 / etp);
        count += x.count;
      }
      CHECK(count == 3 * 3 * 8 / ep);  // each expert's three matrices, of three layers
    }
}

TEST_CASE("a shard that does not come out whole is padded", "[cost][muon]") {
  const auto ffn = cost::matrices_of({cost::feed_forward{.ffn = 10, .ffn_matrices = 2}}, width, {.tp = 4});
  REQUIRE(ffn.dense.size() == 2);
  for (const cost::weight_shape& x : ffn.dense) CHECK(x.elements() == 3 * width);
  // Fewer key-value heads than ranks: copied, not cut further.
  const cost::attention grouped{.heads = 8, .kv_heads = 2, .head_dim = 12};
  const auto few = cost::matrices_of({grouped}, width, {.tp = 8});
  std::int64_t elements = 0;
  for (const cost::weight_shape& x : few.dense) elements += x.elements();
  CHECK(elements == (12 + 12 + 12 + 12) * width);  // a head of queries, of keys, of values; its part of the output
}

}  // namespace matrices
}  // namespace
