// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Models as ordered lists of layers, against published figures and sums written out here.
#include <hocket/cost/model/activations.hpp>
#include <hocket/cost/model/list_stages.hpp>
#include <hocket/cost/model/list_time.hpp>
#include <hocket/cost/model/uniform_list.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "catch.hpp"

namespace cost = hocket::cost;

namespace {

// GLM-5.2: zai-org/GLM-5.2 config.json, with its prediction module. The first three layers and every fourth behind
// them choose positions; that makes 21 of 78, and the module chooses for itself.
cost::layer_list glm_5_2(bool sparse, bool absorbed) {
  cost::latent_attention indexed{.heads = 64,
                                 .query_rank = 2048,
                                 .kv_rank = 512,
                                 .nope_dim = 192,
                                 .rope_dim = 64,
                                 .value_dim = 256,
                                 .absorbed = absorbed,
                                 .selected = sparse ? 2048 : 0};
  const cost::latent_attention shared = indexed;
  indexed.index_heads = sparse ? 32 : 0;
  indexed.index_dim = sparse ? 128 : 0;
  const cost::feed_forward dense{.ffn = 12288};
  const cost::mixture experts{
      .experts = 256, .active_experts = 8, .expert_ffn = 2048, .shared_ffn = 2048, .router_bias = true};
  cost::layer_list out{.sizes = {.hidden = 6144, .vocabulary = 154880}};
  const auto layer = [](const cost::block& attention, const cost::block& ffn) {
    return cost::layer_blocks{cost::norms{}, attention, cost::norms{.place = cost::norm_place::between}, ffn};
  };
  for (int at = 0; at < 78; ++at)
    out.add(layer(at < 3 || (at >= 6 && (at - 2) % 4 == 0) ? indexed : shared,
                  at < 3 ? cost::block(dense) : cost::block(experts)));
  out.sizes.prediction_heads = 1;
  out.predictions.push_back({layer(indexed, experts), 1});
  return out;
}
double giga_per_token(const cost::layer_list& list, std::int64_t tokens, cost::index_loss_count loss) {
  cost::convention counted = cost::convention::megatron();
  counted.index_loss = loss;
  return cost::count_flops(list, {.sequence = tokens}, {}, counted)->model_step.real() / static_cast<double>(tokens) /
         1e9;
}
bool printed_as(double value, double figure) { return std::abs(value - figure) <= 0.0501; }

cost::layer_list qwen3_next() {
  const cost::attention full{.heads = 16, .kv_heads = 2, .head_dim = 256, .gate_width = 4096, .qk_norm = true};
  const cost::gated_delta linear{.key_heads = 16, .value_heads = 32, .key_dim = 128, .value_dim = 128};
  const cost::mixture experts{
      .experts = 512, .active_experts = 10, .expert_ffn = 512, .shared_ffn = 512, .shared_gate = true};
  const cost::norms between{.place = cost::norm_place::between};
  cost::layer_list out{.sizes = {.hidden = 2048, .vocabulary = 151936}};
  for (int i = 0; i < 12; ++i) {
    out.add({cost::norms{}, linear, between, experts}, 3);
    out.add({cost::norms{}, full, between, experts});
  }
  return out;
}

}  // namespace

TEST_CASE("Qwen3-Next has the parameters that its page states", "[cost][layers]") {
  const auto count = cost::count_parameters(qwen3_next());
  CHECK(count->total == 79674391296);
}

TEST_CASE("DSA figures of GLM-5.2, Megatron-LM pull request 6148", "[cost][layers]") {
  const struct {
    std::int64_t tokens;
    double dense, sparse;
  } rows[] = {{4096, 280.9, 274.9}, {32768, 503.6, 289.6}, {131072, 1267.0, 316.9}, {262144, 2284.9, 352.5}};
  for (const auto& row : rows) {
    INFO(row.tokens);
    CHECK(printed_as(giga_per_token(glm_5_2(false, false), row.tokens, cost::index_loss_count::none), row.dense));
    CHECK(printed_as(giga_per_token(glm_5_2(true, false), row.tokens, cost::index_loss_count::dense), row.sparse));
  }
  // The indexer's own loss costs most of the difference at length; with the loss over selected pairs it nearly goes.
  const double none = giga_per_token(glm_5_2(true, false), 131072, cost::index_loss_count::none),
               selected = giga_per_token(glm_5_2(true, false), 131072, cost::index_loss_count::selected),
               dense = giga_per_token(glm_5_2(true, false), 131072, cost::index_loss_count::dense);
  CHECK((none < selected && selected < dense));
  CHECK(selected - none < 0.1 * (dense - none));
}

TEST_CASE("keys and values of Kimi K3 are those of its 24 latent layers", "[cost][layers]") {
  const cost::latent_attention latent{.heads = 64, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .value_dim = 128};
  const cost::kimi_delta linear{.heads = 64, .head_dim = 128};
  cost::layer_list k3{.sizes = {.hidden = 7168, .vocabulary = 163840}};
  for (int at = 1; at <= 93; ++at)  // full_attn_layers of moonshotai/Kimi-K3: 4, 8, …, 92, 93
    k3.add({at % 4 == 0 || at == 93 ? cost::block(latent) : cost::block(linear)});
  const auto at = [&](std::int64_t tokens) { return cost::count_state_bytes(k3, tokens, 2).value(); };
  CHECK(at(1001) - at(1000) == cost::rational(27648));         // 24 x 576 x 2
  CHECK_FALSE(at(1001) - at(1000) == cost::rational(107136));  // 93 x 576 x 2, as some tools print
  CHECK(at(0) == cost::rational(69 * (4 * 64 * 128 * 128 + 2 * 3 * 64 * 128 * 4)));  // states do not grow
}

TEST_CASE("stages of unequal length hold what Megatron Bridge counts, pull request 5077", "[cost][layers]") {
  cost::layer_list list{.sizes = {.hidden = 16, .vocabulary = 32, .norm_weights = 2, .tied = true}};
  list.add({cost::norms{.count = 2, .norm_weights = 2}, cost::attention{.heads = 4, .kv_heads = 4, .head_dim = 4},
            cost::feed_forward{.ffn = 64, .ffn_matrices = 2}},
           8);
  const std::int64_t stages[] = {1, 2, 2, 3};
  const cost::training t{.sequence = 8, .global_batch = 4};
  const cost::parallel p{.pp = 4};
  const auto ranks = cost::layers_of_ranks(list, p, stages);
  REQUIRE(ranks);
  std::int64_t most = 0, sum = 0;
  for (const cost::rank_layers& on : *ranks) {
    const auto memory = cost::memory_of_rank(list, on, t, p, {});
    REQUIRE(memory);
    most = std::max(most, memory->parameters.dense);
    sum += memory->parameters.dense;
  }
  CHECK(most == 9952);                                          // 6,792 if layers were dealt out evenly
  CHECK(sum == cost::count_parameters(list)->total + 32 * 16);  // the last rank has a copy of the tied embedding
  const cost::parallel long_pipeline{.pp = 10};                 // more stages than layers
  const std::int64_t with_empty_stages[] = {0, 3, 0, 0, 1, 1, 1, 2, 0, 0};
  CHECK(cost::check(list, {.sequence = 8, .global_batch = 4}, long_pipeline));
  const auto uneven = cost::layers_of_ranks(list, long_pipeline, with_empty_stages);
  REQUIRE(uneven);
  CHECK(cost::count_rank_parameters(list, (*uneven)[0], long_pipeline)->dense == 32 * 16);  // the embedding alone
  CHECK(cost::count_rank_parameters(list, (*uneven)[2], long_pipeline)->dense == 0);
  const cost::machine on{.gemm_flops = 1e12, .attention_flops = 1e12, .memory_bytes = 1e12, .pipeline_bytes = 1e9};
  CHECK(cost::predict_step(list, t, long_pipeline, on, with_empty_stages));
  const cost::parallel longer{.pp = 11};  // the ends alone may be empty there
  CHECK(cost::layers_of_ranks(list, long_pipeline));
  for (const auto& even :
       {cost::layers_of_ranks(list, longer).error(), cost::predict_step(list, t, longer, on).error()}) {
    CHECK(even.code == hocket::errc::out_of_range);
    CHECK(even.word() == "layers for pp x vp stages");
  }
  const std::int64_t too_few[] = {1, 2, 2, 2}, wrong[] = {1, 7};
  CHECK(cost::layers_of_ranks(list, p, too_few).error().code == hocket::errc::contradictory_field);
  CHECK(cost::layers_of_ranks(list, p, wrong).error().code == hocket::errc::bad_shape);
}

TEST_CASE("of layers as large the first stands for the largest", "[cost][layers]") {
  // 3 x 6 x 511 and 6 of the router are 3 x 3068.
  cost::model m{.layers = 4, .hidden = 512, .heads = 8, .kv_heads = 4, .head_dim = 64, .ffn = 3068, .vocabulary = 1024};
  m.moe_layers = 2;
  m.experts = 6;
  m.active_experts = 2;
  m.expert_ffn = 511;
  const cost::layer_list list = m;
  REQUIRE(list.layers.size() == 2);
  const cost::training t{.sequence = 64, .global_batch = 8, .workspace = cost::workspace::megatron_te};
  const std::int64_t layer = 512 * (8 + 4 + 4 + 8) * 64 + 3 * 512 * 3068 + 2 * 512;
  for (const auto zero : {cost::zero::gradients, cost::zero::weights}) {
    const cost::parallel p{.dp = 2, .zero = zero};
    const auto on = cost::layers_of_ranks(list, p).value()[0];
    const auto share = cost::held_share_by_1f1b(t, p, 0).value();
    const auto peak = cost::memory_of_rank(list, on, t, p, share).value().peak;
    // All of the dense layer: weights in 2 bytes and gradients in 4. The buffers of the framework are its, too.
    const std::int64_t bytes = zero == cost::zero::weights ? 6 : 4;
    const std::int64_t inside = 2 * 4 * 64 * 3068;  // gradients inside the FFN: its output, and both inputs
    CHECK_FALSE(peak.at_backward_bytes < cost::rational(bytes * layer));
    CHECK_FALSE(cost::rational(bytes * layer + 2 * inside) < peak.at_backward_bytes);
    CHECK(peak.workspace_bytes == cost::rational(2 * layer + 2 * 512 * 1024));
  }
}

TEST_CASE("a rank holds one copy of each set of weights that its layers share", "[cost][layers]") {
  std::mt19937 random(11);
  const auto draw = [&](int least, int most) {
    return std::int64_t{least} + static_cast<std::int64_t>(random() % static_cast<unsigned>(most - least + 1));
  };
  const cost::attention shared{.heads = 6, .kv_heads = 2, .head_dim = 8, .input = 96};  // as Zamba2: twice as wide
  const cost::feed_forward own{.ffn = 160};
  const std::int64_t of_shared = 96 * 48 + 2 * 96 * 16 + 48 * 48, of_own = 3 * 48 * 160, ends = 1000 * 48;
  int copies = 0;
  for (int round = 0; round < 30; ++round) {
    const std::int64_t sets = draw(1, 3), layers = draw(8, 24);
    const cost::parallel p{.pp = draw(1, 4), .vp = draw(1, 2), .zero = static_cast<cost::zero>(draw(0, 3))};
    cost::layer_list list{.sizes = {.hidden = 48, .vocabulary = 1000}};
    std::vector<std::int64_t> set_of;  // -1: none
    std::int64_t uses = 0;
    for (std::int64_t at = 0; at < layers; ++at) {
      const bool hybrid = draw(0, 2) == 0;
      set_of.push_back(hybrid ? uses % sets : -1);
      if (!hybrid) list.add({own});
      else list.add({cost::block(shared, uses >= sets, uses % sets), own});
      uses += hybrid ? 1 : 0;
    }
    CHECK(cost::count_parameters(list)->total ==
          2 * ends + 48 + layers * of_own + std::min(uses, sets) * of_shared);  // each weight once
    const cost::training t{.sequence = 32, .global_batch = 64};
    const auto ranks = cost::layers_of_ranks(list, p).value();
    const auto sizes = cost::dealt_stages(list, p).value();
    std::int64_t first = 0;
    std::vector<std::set<std::int64_t>> seen(ranks.size());
    std::vector<std::int64_t> of_rank(ranks.size(), 0);
    for (std::int64_t stage = 0; stage < p.pp * p.vp; ++stage) {
      const auto rank = static_cast<std::size_t>(stage % p.pp);
      const std::int64_t here = sizes[static_cast<std::size_t>(stage)];
      for (std::int64_t at = first; at < first + here; ++at) {
        of_rank[rank] += of_own;
        const std::int64_t set = set_of[static_cast<std::size_t>(at)];
        if (set >= 0 && seen[rank].insert(set).second) of_rank[rank] += of_shared;
      }
      first += here;
    }
    std::int64_t all = 0;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const std::int64_t expected = of_rank[rank] + (rank == 0 ? ends : 0) + (rank + 1 == ranks.size() ? ends + 48 : 0);
      CHECK(cost::count_rank_parameters(list, ranks[rank], p)->dense == expected);
      all += expected;
      const auto held = cost::held_share_by_1f1b(t, p, ranks[rank].ends.rank).value();
      const auto memory = cost::memory_of_rank(list, ranks[rank], t, p, held).value();
      // Sharded weights are gathered for a whole layer, also those that it shares.
      if (p.zero == cost::zero::weights && !seen[rank].empty() && rank + 1 < ranks.size())
        CHECK_FALSE(memory.peak.at_backward_bytes < cost::rational((2 + 4) * (of_own + of_shared)));
    }
    copies += all > cost::count_parameters(list)->total ? 1 : 0;
  }
  CHECK(copies > 10);
}

TEST_CASE("the last rank has a copy of the embedding that multi-token prediction reads", "[cost][layers]") {
  for (const bool tied : {false, true}) {
    const cost::model m{.layers = 4,
                        .hidden = 48,
                        .heads = 6,
                        .kv_heads = 2,
                        .head_dim = 8,
                        .ffn = 160,
                        .vocabulary = 1000,
                        .tied = tied,
                        .mtp_layers = 1};
    const cost::layer_list list = cost::to_layers(m);
    const std::int64_t layer = 48 * (6 + 2 + 2 + 6) * 8 + 3 * 48 * 160 + 2 * 48, embedding = 1000 * 48;
    const std::int64_t module = layer + 2 * 48 * 48 + 3 * 48;
    CHECK(cost::count_parameters(m)->total == 4 * layer + module + 48 + (tied ? 1 : 2) * embedding);
    for (const std::int64_t stages : {std::int64_t{1}, std::int64_t{2}}) {
      const cost::parallel p{.pp = stages};
      const auto ranks = cost::layers_of_ranks(list, p).value();
      const std::int64_t read = stages > 1 ? embedding : 0;  // a tied one is the head, too
      const std::int64_t last =
          (stages > 1 ? 2 : 4) * layer + module + 48 + (tied ? 0 : embedding) + (stages > 1 ? read : embedding);
      CHECK(cost::count_rank_parameters(list, ranks.back(), p)->dense == last);
    }
  }
}

// The goldens of tests/unit/flop_calculation_test.py of MaxText (commit e591f30cb), evaluated; its tolerance is 5 %.
TEST_CASE("MaxText's goldens are met within its own tolerance", "[cost][layers]") {
  const cost::convention half{.attention = cost::attention_count::causal_half};
  const auto tera = [&](const cost::layer_list& list, std::int64_t sequences, const cost::convention& counted) {
    return cost::count_flops(list, {.sequence = 4096, .global_batch = sequences}, {}, counted)->model_step.real() /
           1e12;
  };
  const auto meets = [](double value, double golden) {
    return std::abs(value - golden) <= 0.05 * std::max(value, golden);
  };
  cost::convention chunked = half;
  chunked.linear = cost::linear_count::chunked;
  CHECK(meets(tera(qwen3_next(), 1, half), 92.6586));
  CHECK(meets(tera(qwen3_next(), 1, chunked), 92.6586));

  // DeepSeek-V3.2: 37e9 active parameters and dense attention at 4,096 tokens.
  cost::layer_list v32{.sizes = {.hidden = 7168, .vocabulary = 129280}};
  const cost::latent_attention sparse{.heads = 128,
                                      .query_rank = 1536,
                                      .kv_rank = 512,
                                      .nope_dim = 128,
                                      .rope_dim = 64,
                                      .value_dim = 128,
                                      .selected = 2048,
                                      .index_heads = 64,
                                      .index_dim = 128};
  v32.add({cost::norms{.count = 2}, sparse, cost::feed_forward{.ffn = 18432}}, 3);
  v32.add({cost::norms{.count = 2}, sparse,
           cost::mixture{.experts = 256, .active_experts = 8, .expert_ffn = 2048, .shared_ffn = 2048}},
          58);
  cost::convention trained = half;
  trained.index_loss = cost::index_loss_count::dense;
  CHECK(meets(tera(v32, 4, trained), 4140.2746));

  cost::layer_list v4{.sizes = {.hidden = 4096, .vocabulary = 129280, .streams = 4}};
  const cost::compressed_attention window{
      .heads = 64, .head_dim = 512, .query_rank = 1024, .output_groups = 8, .output_rank = 1024, .window = 128};
  cost::compressed_attention heavy = window, chosen = window;
  heavy.ratio = 128;
  chosen.ratio = 4;
  chosen.overlaps = true;
  chosen.selected = 512;
  chosen.index_heads = 64;
  chosen.index_dim = 128;
  const cost::mixture experts{.experts = 256, .active_experts = 6, .expert_ffn = 2048, .shared_ffn = 2048};
  for (int at = 0; at < 43; ++at)
    v4.add({cost::hyper_connections{.streams = 4}, cost::norms{.count = 2},
            at < 2        ? window
            : at % 2 == 0 ? chosen
                          : heavy,
            experts});
  CHECK(meets(tera(v4, 4, half), 1409.3379));
}
