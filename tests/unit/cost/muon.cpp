// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// States of Muon on a rank, by hand: which weights are matrices, who holds them whole, what AdamW has of the rest.
#include <hocket/cost/machines.hpp>
#include <hocket/cost/model/list_stages.hpp>
#include <hocket/cost/model/list_time.hpp>
#include <hocket/cost/model/uniform_list.hpp>
#include <hocket/interop/hugging_face_layers.hpp>

#include <algorithm>
#include <fstream>

#include "catch.hpp"
#include "published_models.hpp"

namespace cost = hocket::cost;
using cost::rational;

namespace {

const cost::training under_muon{.sequence = 8, .global_batch = 8, .muon = true};

rational static_of_rank_0(const cost::layer_list& list, const cost::parallel& p, const cost::training& t = under_muon) {
  const auto ranks = cost::layers_of_ranks(list, p).value();
  return cost::memory_of_rank(list, ranks[0], t, p, {}).value().static_bytes;
}
std::int64_t elements_of(const std::vector<cost::weight_shape>& shapes) {
  std::int64_t sum = 0;
  for (const cost::weight_shape& x : shapes) sum += x.elements();
  return sum;
}

}  // namespace

TEST_CASE("Muon's states of a dense model: whole matrices on the fullest of two ranks", "[cost][muon]") {
  const cost::layer_list list = cost::to_layers(
      {.layers = 3, .hidden = 64, .heads = 4, .kv_heads = 2, .head_dim = 16, .ffn = 160, .vocabulary = 1000});
  const std::int64_t matrices = 3 * (2 * 64 * 64 + 2 * 32 * 64 + 3 * 64 * 160), others = 2 * 64000 + 7 * 64;
  // Weights in 2 bytes, gradients and master copies in 4, one moment of 4 or two.
  CHECK(static_of_rank_0(list, {}) == rational(6 * (matrices + others) + 8 * matrices + 12 * others));
  // Without ZeRO the other ranks hold the same. With it: nine of the largest, 5 and 4; six of 64 x 64, each half the
  // work of one of those, 2 and 4; six of 32 x 64, 3 and 3.
  CHECK(static_of_rank_0(list, {.dp = 2}) == static_of_rank_0(list, {}));
  const std::int64_t held = 5 * 64 * 160 + 2 * 64 * 64 + 3 * 32 * 64;
  CHECK(static_of_rank_0(list, {.dp = 2, .zero = cost::zero::optimizer}) ==
        rational(6 * (matrices + others) + 8 * held + 12 * others / 2));
  // Moments of 2 bytes: AdamW's two are 4, Muon's is 2.
  cost::training narrow = under_muon;
  narrow.moment_bytes = 4;
  CHECK(static_of_rank_0(list, {}, narrow) == rational(6 * (matrices + others) + 6 * matrices + 8 * others));
  CHECK(static_of_rank_0(list, {.offload_optimizer = true}) == rational(6 * (matrices + others)));
}

TEST_CASE("no rank holds less of whole matrices than their share, nor than the largest", "[cost][muon]") {
  for (std::int64_t count = 1; count < 12; ++count)
    for (std::int64_t ways = 1; ways < 15; ++ways) {
      const cost::weight_shape shapes[] = {{"a", 3, 7, count}, {"b", 11, 5, 1}};
      const auto shards = cost::shard_whole(shapes, ways).value();
      const std::int64_t all = 21 * count + 55;
      CHECK(shards.matrices == all);
      CHECK(shards.least_held == (std::max)(all / ways + (all % ways > 0 ? 1 : 0), std::int64_t{55}));
      CHECK(shards.held >= shards.least_held);
      if (ways == 1) CHECK(shards.most_flops == shards.flops);
      CHECK_FALSE(shards.most_flops * rational(ways) < shards.flops);
    }
}

TEST_CASE("Muon's states of experts: fewer ranks share them", "[cost][muon]") {
  cost::layer_list list{.sizes = {.hidden = 8, .vocabulary = 16}};
  list.add({cost::norms{}, cost::attention{.heads = 2, .kv_heads = 1, .head_dim = 4},
            cost::norms{.place = cost::norm_place::between},
            cost::mixture{.experts = 4, .active_experts = 2, .expert_ffn = 6}},
           2);
  const cost::parallel p{.dp = 4, .ep = 2, .zero = cost::zero::optimizer};
  // A layer: two of 8 x 8, and keys, values and the router of 4 x 8. Of eight and six on four ranks the fullest has one
  // and two. Others: embedding, head, five norms.
  const std::int64_t dense = 2 * (2 * 64 + 3 * 32), others = 2 * 128 + 5 * 8;
  // Two experts a rank and layer, three matrices of 48 each, over dp / ep = 2 ranks.
  const std::int64_t experts = 2 * 2 * 3 * 48;
  CHECK(static_of_rank_0(list, p) ==
        rational(6 * (dense + others + experts) + 8 * (64 + 2 * 32) + 12 * others / 4 + 8 * experts / 2));
  // A prediction module: a layer more, its joint input of 8 x 16, three norms; on one rank, where nothing is dealt out.
  cost::layer_list predicting = list;
  predicting.predictions = {{list.layers[0].blocks, 1}};
  predicting.sizes.prediction_heads = 1;
  const auto whole = [](std::int64_t under, std::int64_t rest) { return rational(14 * under + 18 * rest); };
  CHECK(static_of_rank_0(list, {}) == whole(dense + 2 * experts, others));
  CHECK(static_of_rank_0(predicting, {}) == whole(dense / 2 * 3 + 3 * experts + 8 * 16, others + 2 * 8 + 3 * 8));
}

TEST_CASE("matrices of published models are those of weight_shapes", "[cost][muon]") {
  int compared = 0;
  for (const auto& [name, m] : all_models()) {
    if (m.latent) continue;
    for (const std::int64_t tp : {1, 2}) {
      const cost::parallel p{.tp = tp};
      if (!cost::check(m, {.sequence = 8}, p)) continue;
      INFO(name << ", tp " << tp);
      std::int64_t matrices = 0;
      for (const cost::weight_shape& x : cost::weight_shapes(m, p))
        if (cost::is_under_muon(x)) matrices += x.elements();
      std::int64_t found = 0;
      const cost::layer_list list = cost::to_layers(m);
      for (const cost::repeated_layer& each : list.layers) {
        const auto some = cost::matrices_of(each.blocks, m.hidden, p, each.count);
        for (const auto* shapes : {&some.dense, &some.expert})
          for (const cost::weight_shape& x : *shapes)
            if (cost::is_under_muon(x)) found += x.elements();
      }
      CHECK(found == matrices);
      ++compared;
    }
  }
  CHECK(compared > 40);
}

TEST_CASE("what is no matrix is little, in every family", "[cost][muon]") {
  std::ifstream file(std::string(HOCKET_TEST_DATA) + "/cost/layer_families.json");
  const auto records = nlohmann::json::parse(file);
  int compared = 0, cut = 0;
  for (const auto& [name, record] : records.items()) {
    if (name.find("default") == std::string::npos) continue;
    INFO(name);
    const auto read = hocket::hugging_face::read_layers(record.at("config"));
    REQUIRE(read);
    const cost::layer_list& list = read->layers;
    std::int64_t known = 0;
    static_cast<void>(cost::detail::for_each_run(
        list, [&](const cost::layer_blocks& blocks, std::int64_t count) -> hocket::result<void> {
          const auto some = cost::matrices_of(blocks, list.sizes.hidden, {}, count);
          known += elements_of(some.dense) + elements_of(some.expert);
          for (const cost::block& b : blocks)
            if (const auto* x = std::get_if<cost::table>(&b.what)) known += count * x->elements * x->count;
          return {};
        }));
    const std::int64_t ends = list.sizes.vocabulary * list.sizes.hidden * (list.sizes.tied ? 1 : 2);
    const std::int64_t total = cost::count_parameters(list)->total, rest = total - known - ends;
    CHECK(rest >= 0);  // norms, convolutions, the decay of Mamba
    CHECK(rest * 100 < total);
    ++compared;
    // Cut over two ranks, no rank has more matrices than weights, and what is none stays little.
    const cost::parallel two{.tp = 2};
    if (!cost::check(list, {.sequence = 8}, two)) continue;
    const auto ranks = cost::layers_of_ranks(list, two);
    if (!ranks) continue;
    const auto held = cost::count_rank_parameters(list, ranks->front(), two);
    REQUIRE(held);
    std::int64_t dense = 0, experts = 0, tables = 0;
    for (const cost::rank_run& each : ranks->front().layers) {
      const auto some = cost::matrices_of(each.blocks, list.sizes.hidden, two, each.count);
      dense += elements_of(some.dense);
      experts += elements_of(some.expert);
      for (const cost::block& b : each.blocks)
        if (std::holds_alternative<cost::table>(b.what)) tables = held->dense;
    }
    CHECK(dense <= held->dense);
    CHECK(experts <= held->expert);
    if (tables == 0) CHECK((held->dense - dense - ends / 2) * 50 < total);
    CHECK((held->expert - experts) * 50 < total);
    ++cut;
  }
  CHECK(compared > 50);
  CHECK(cut > 40);
}

TEST_CASE("what knows no shapes refuses Muon", "[cost][muon]") {
  const cost::layer_list list = cost::to_layers(
      {.layers = 4, .hidden = 64, .heads = 4, .kv_heads = 4, .head_dim = 16, .ffn = 64, .vocabulary = 64});
  CHECK(cost::static_bytes({.dense = 10}, under_muon, {}).error().code == hocket::errc::invalid_argument);
  CHECK(!cost::predict_step(list, under_muon, {}, cost::machines::b200_fitted.rates));
  const auto ranks = cost::layers_of_ranks(list, {}).value();
  const auto cut = cost::memory_of_rank(list, ranks[0], under_muon, {.dp = 2, .zero = cost::zero::gradients}, {});
  REQUIRE(!cut);
  CHECK(cut.error().code == hocket::errc::out_of_range);
  CHECK(cut.error().word() == "zero with Muon");
}
