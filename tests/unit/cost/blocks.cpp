// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks, encoders, Muon and scaled formats against counts that do not use their formulas: torch's FLOP counter, loops
// over positions, sums by hand from published shapes.
#include <hocket/core/message.hpp>
#include <hocket/cost/formula/print.hpp>
#include <hocket/cost/machines.hpp>
#include <hocket/cost/model/encoder.hpp>
#include <hocket/cost/model/list_stages.hpp>
#include <hocket/cost/model/list_time.hpp>
#include <hocket/cost/model/muon.hpp>
#include <hocket/cost/model/scaled_format.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "catch.hpp"
#include "csv.hpp"

namespace cost = hocket::cost;
using cost::rational;

namespace {

constexpr std::int64_t width = 48;
const cost::training small_step{.sequence = 64, .global_batch = 2};

/// FLOPs of a forward pass of one block, without those of a term of that name.
rational forward_flops(const cost::block& b, const cost::convention& counted, const cost::training& t = small_step,
                       std::string_view without = "") {
  rational sum = 0;
  cost::visit_block(b, {.sizes = {.hidden = width}, .training = t, .counted = counted},
                    [&](const cost::block_terms& lists, const cost::numbers_view& numbers) {
                      cost::for_each_term(lists.forward, numbers, [&](const cost::term_view& x) {
                        if (x.name != without) sum = sum + x.amount();
                      });
                    });
  return sum;
}
std::int64_t parameters_of(const cost::layer_blocks& blocks, std::int64_t hidden = width) {
  cost::layer_list list{.sizes = {.hidden = hidden, .final_norm = false}};
  list.add(blocks);
  return cost::count_parameters(list)->total;
}

const cost::native_sparse_attention tiny_nsa{.heads = 6,
                                             .kv_heads = 2,
                                             .head_dim = 8,
                                             .value_dim = 10,
                                             .pooled_width = 8,
                                             .stride = 4,
                                             .selected_blocks = 2,
                                             .selected_width = 8,
                                             .window = 24};

/// Pairs of positions that NSA's three branches see, position by position.
struct seen_pairs {
  std::int64_t pooled = 0, selected = 0, window = 0;
};
seen_pairs seen_by(const cost::native_sparse_attention& x, std::int64_t s) {
  seen_pairs out;
  for (std::int64_t at = 0; at < s; ++at) {
    for (std::int64_t start = 0; start + x.pooled_width <= s; start += x.stride)
      if (start + x.pooled_width - 1 <= at) ++out.pooled;
    const std::int64_t own = at / x.selected_width, inside = at % x.selected_width + 1;
    out.selected += std::min(own, x.selected_blocks - 1) * x.selected_width + inside;
    out.window += std::min(at + 1, x.window);
  }
  return out;
}

}  // namespace

TEST_CASE("blocks have the FLOPs that torch counts", "[cost][blocks]") {
  const std::map<std::string, cost::block> blocks{
      {"attention", cost::attention{.heads = 6, .kv_heads = 2, .head_dim = 8, .value_dim = 10, .gate_width = 60}},
      {"latent_attention",
       cost::latent_attention{
           .heads = 4, .query_rank = 20, .kv_rank = 12, .nope_dim = 8, .rope_dim = 4, .value_dim = 6}},
      {"latent_attention, absorbed", cost::latent_attention{.heads = 4,
                                                            .query_rank = 20,
                                                            .kv_rank = 12,
                                                            .nope_dim = 8,
                                                            .rope_dim = 4,
                                                            .value_dim = 6,
                                                            .absorbed = true}},
      {"native_sparse_attention", tiny_nsa},
      {"gated_delta", cost::gated_delta{.key_heads = 2, .value_heads = 4, .key_dim = 6, .value_dim = 10, .chunk = 16}},
      {"kimi_delta", cost::kimi_delta{.heads = 3, .head_dim = 8, .chunk = 16, .gate_rank = 5}},
      {"lightning_attention", cost::lightning_attention{.heads = 3, .head_dim = 8, .chunk = 16}},
      {"mamba2", cost::mamba2{.heads = 4, .head_dim = 6, .groups = 2, .state = 10, .chunk = 16}},
      {"feed_forward", cost::feed_forward{.ffn = 40}},
      {"mixture", cost::mixture{.experts = 8,
                                .active_experts = 2,
                                .expert_ffn = 20,
                                .shared_ffn = 12,
                                .latent_width = 30,
                                .shared_gate = true}},
      {"attention_residuals", cost::attention_residuals{.sources = 5}},
      {"per_layer_input", cost::per_layer_input{10}}};
  const cost::convention all{.attention = cost::attention_count::full, .linear = cost::linear_count::chunked};
  std::size_t compared = 0;
  for (const auto& row : csv::read("torch_flops.csv")) {
    INFO(row.at("block"));
    // Blocks are linear in each of their factors, so that a backward pass takes twice the FLOPs.
    CHECK(csv::number(row, "backward") == 2 * csv::number(row, "forward"));
    const auto found = blocks.find(row.at("block"));
    if (found == blocks.end()) {
      CHECK(row.at("block") == "newton_schulz");
      CHECK(cost::newton_schulz_flops({.name = "", .first = 20, .rest = 30}, 5) == csv::number(row, "forward"));
      continue;
    }
    ++compared;
    CHECK(forward_flops(found->second, all, small_step, "short convolution") == csv::number(row, "forward"));
  }
  CHECK(compared == blocks.size());
}

TEST_CASE("native sparse attention sees the pairs that a loop counts", "[cost][blocks]") {
  for (const std::int64_t s : {8, 64, 128, 1024}) {
    for (const std::int64_t blocks : {1, 2, 5})
      for (const std::int64_t stride : {2, 4, 8}) {
        cost::native_sparse_attention x = tiny_nsa;
        x.selected_blocks = blocks;
        x.stride = stride;
        const seen_pairs pairs = seen_by(x, s);
        const std::int64_t core = 2 * 3 * 6 * (8 + 10), starts = (s - 8) / stride + 1;
        const std::int64_t projections = width * (6 * 8 + 3 * 2 * 18 + 3 * 6 + 60);
        const std::int64_t pooling = 2 * 8 * (64 + 100) * starts;
        CHECK(forward_flops(x, {}, {.sequence = s, .global_batch = 3}) ==
              rational(2 * 3 * (s * projections + pooling) + core * (pairs.pooled + pairs.selected + pairs.window)));
      }
  }
  // Fewer positions than a pooled block: that branch sees nothing.
  CHECK(forward_flops(tiny_nsa, {}, {.sequence = 4, .global_batch = 1}) ==
        rational(2 * 4 * width * (48 + 108 + 18 + 60) + 2 * 6 * 18 * (10 + 10)));
}

TEST_CASE("attention over chosen positions has the pairs that a loop counts", "[cost][blocks]") {
  const cost::attention plain{.heads = 6, .kv_heads = 3, .head_dim = 8};
  const cost::latent_attention latent{
      .heads = 6, .query_rank = 20, .kv_rank = 12, .nope_dim = 8, .rope_dim = 4, .value_dim = 6};
  const std::int64_t core = 2 * 6 * (8 + 8), latent_core = 2 * 6 * (8 + 4 + 6);
  for (const std::int64_t s : {1, 7, 64}) {
    const cost::training one{.sequence = s, .global_batch = 1};
    const auto without = forward_flops(plain, {}, one), narrow_without = forward_flops(latent, {}, one);
    for (const std::int64_t kept : {1, 5, 64, 100}) {
      std::int64_t pairs = 0;
      for (std::int64_t at = 1; at <= s; ++at) pairs += (std::min)(at, kept);
      const rational fewer(s * (s + 1) / 2 - pairs);
      auto chosen = plain;
      chosen.selected = kept;
      CHECK(forward_flops(chosen, {}, one) == without - rational(core) * fewer);
      auto windowed = latent;
      windowed.window = kept;
      const cost::convention windows{.attention = cost::attention_count::window};
      CHECK(forward_flops(windowed, windows, one) == narrow_without - rational(latent_core) * fewer);
      // What is chosen from stays; what leaves a window does not.
      const auto kept_of = [&](const cost::block& b) {
        cost::layer_list list{.sizes = {.hidden = width}};
        list.add({b});
        return cost::count_state_bytes(list, s, 2).value();
      };
      CHECK(kept_of(chosen) == kept_of(plain));
      CHECK(kept_of(windowed) == 2 * (std::min)(s, kept) * (12 + 4));
    }
  }
}

TEST_CASE("an indexer of blocks scores one average for each so many keys", "[cost][blocks]") {
  const cost::block_indexer x{.index_heads = 5, .index_dim = 6, .ratio = 4};
  const cost::convention all{.attention = cost::attention_count::full};
  CHECK(forward_flops(x, all, {.sequence = 64, .global_batch = 3}) ==
        rational(3 * 64 * 2 * (width * 6 * 6 + 5 * 6 * 64 / 4)));
  CHECK(forward_flops(x, {}, {.sequence = 64, .global_batch = 3}) ==
        rational(3 * 64 * 2 * (width * 6 * 6 + 5 * 6 * 64 / 8)));
}

TEST_CASE("native sparse attention holds its branches' weights, and generation their keys", "[cost][blocks]") {
  const std::int64_t queries = 48 * 48, pairs = 48 * 2 * 18, gates = 48 * 18, output = 60 * 48;
  const std::int64_t pooling = 2 * 8 * (64 + 100 + 18);
  CHECK(parameters_of({tiny_nsa}) == queries + 3 * pairs + gates + output + pooling);
  cost::native_sparse_attention shared = tiny_nsa;
  shared.branches = 1;
  shared.learned_pooling = false;
  CHECK(parameters_of({shared}) == queries + pairs + gates + output);
  cost::layer_list list{.sizes = {.hidden = width}};
  list.add({tiny_nsa}, 5);
  // 100 positions to select from, 24 blocks of 8 each 4, a window of 24.
  CHECK(cost::count_state_bytes(list, 100, 2).value() == rational(5 * 2 * 36 * (100 + 24 + 24)));
  list.layers.front().blocks = {shared};
  CHECK(cost::count_state_bytes(list, 100, 2).value() == rational(5 * 2 * 36 * (100 + 24)));
  // The paper's model: 64 heads in 4 groups, keys of 192, values of 128; a position of 64k sees 5,376 at most.
  const cost::native_sparse_attention paper{.heads = 64, .kv_heads = 4, .head_dim = 192, .value_dim = 128};
  const seen_pairs at_64k = seen_by(paper, 65536);
  const auto flops = forward_flops(paper, {}, {.sequence = 65536, .global_batch = 1});
  cost::native_sparse_attention blind = paper;
  blind.learned_pooling = false;
  CHECK(flops - forward_flops(blind, {}, {.sequence = 65536, .global_batch = 1}) ==
        rational(2 * 4 * 32 * (192 * 192 + 128 * 128)) * rational(4095));
  CHECK(at_64k.pooled + at_64k.selected + at_64k.window < 65536LL * (65536 / 16 / 2 + 16 * 64 + 512));
}

TEST_CASE("what NSA keeps is divided as its heads are, and dropped as it is computed again", "[cost][blocks]") {
  const cost::layer_list list{.sizes = {.hidden = width}};
  const cost::training t{.sequence = 64, .micro_batch = 3, .global_batch = 3};
  const auto kept = [&](const cost::parallel& p, const cost::replay_set& again = {}) {
    return cost::layer_activation_bytes(list, {tiny_nsa}, t, p, again).value();
  };
  // Of each position: input, queries, keys and values of three branches, gates, three outputs and their sum, in 16
  // bits; two chosen blocks per key-value head and three statistics per head, in 32. Of each block its pair.
  const std::int64_t tokens = 64 * 3, blocks = 15 * 3;
  const std::int64_t mixer = 48 + 3 * 36 + 18, behind = 4 * 60, words = 2 * 2 + 3 * 6;
  CHECK(kept({}) == rational(tokens * (2 * (48 + mixer + behind) + 4 * words) + blocks * 2 * 36));
  CHECK(kept({.tp = 2, .sequence_parallel = true}, {.gather = true}) == kept({}) / rational(2));
  CHECK(kept({}, {.attention_output = true}) == rational(tokens * 2 * (48 + mixer) + blocks * 2 * 36));
  CHECK(kept({.recompute = cost::recompute::full}) == rational(tokens * 2 * 48));
  cost::layer_list model{.sizes = {.hidden = width, .vocabulary = 64}};
  model.add({tiny_nsa}, 2);
  const auto refused = cost::check(model, {.sequence = 64, .global_batch = 4}, {.tp = 4});
  REQUIRE_FALSE(refused);
  CHECK(message(refused.error()).find("attention heads over tp") != std::string::npos);
}

TEST_CASE("attention residuals: two queries and norms a layer, and stages that pass all sources on", "[cost][blocks]") {
  CHECK(parameters_of({cost::attention_residuals{.sources = 9}}) == 4 * width);
  CHECK(forward_flops(cost::attention_residuals{.sources = 9}, {}) == rational(2 * 2 * 64 * (2 * 9 * 2 * width)));
  const cost::layer_list sizes{.sizes = {.hidden = width}};
  const auto kept = [&](const cost::attention_residuals& x, cost::recompute how) {
    return cost::layer_activation_bytes(sizes, {x}, {.sequence = 64}, {.recompute = how}).value();
  };
  using enum cost::recompute;
  CHECK(kept({.sources = 9}, none) == rational(64 * (2 * 2 * width + 2 * 4 * 2 * 9)));
  CHECK(kept({.sources = 9, .closes_block = true}, none) - kept({.sources = 9}, none) == rational(64 * 2 * width));
  // Under full recompute the layer's input is kept, and the sum that it finishes.
  CHECK(kept({.sources = 9, .closes_block = true}, full) == rational(64 * 2 * 2 * width));

  const auto step_with = [](std::int64_t sources) {
    cost::layer_list list{.sizes = {.hidden = 1024, .vocabulary = 1024}};
    list.add(
        {cost::norms{}, cost::attention{.heads = 8, .kv_heads = 8, .head_dim = 128}, cost::feed_forward{.ffn = 4096}});
    list.add({cost::norms{}, cost::attention{.heads = 8, .kv_heads = 8, .head_dim = 128},
              cost::feed_forward{.ffn = 4096}, cost::attention_residuals{.sources = sources, .count = 0}});
    list.add(list.layers.front().blocks, 2);
    return cost::predict_step(list, {.sequence = 4096, .global_batch = 8}, {.pp = 2},
                              cost::machines::b200_fitted.rates);
  };
  const auto one = step_with(1), two = step_with(2), five = step_with(5);
  REQUIRE((one && two && five));
  const double more = two->rank_times[0].exposed.count() - one->rank_times[0].exposed.count();
  CHECK(more > 0);
  const double most = five->rank_times[0].exposed.count() - one->rank_times[0].exposed.count();
  CHECK(std::abs(most - 4 * more) < 1e-9 * most);
}

TEST_CASE("an encoder's items cost what each costs alone", "[cost][blocks]") {
  // SiglipVisionModel of transformers 5.24 with default sizes, without its pooling head: 85,797,120 parameters.
  const cost::norms norm{.norm_weights = 2};
  cost::encoder siglip{.layers = {.sizes = {.hidden = 768, .positions = 196, .norm_weights = 2}}};
  siglip.layers.front = {cost::projection{.input = 3 * 16 * 16, .outputs = 768, .bias = true}};
  siglip.layers.add(
      {norm, cost::attention{.heads = 12, .kv_heads = 12, .head_dim = 64, .qkv_bias = true, .output_bias = true}, norm,
       cost::feed_forward{.ffn = 3072, .ffn_matrices = 2, .ffn_bias = true}},
      12);
  CHECK(cost::count_parameters(siglip.layers)->total == 85797120);

  const std::int64_t items[] = {196, 16, 100, 16, 4};
  const auto all = cost::cost_of_encoder(siglip, items, {}, {});
  REQUIRE(all);
  std::int64_t by_hand = 0, tokens = 0;
  for (const std::int64_t n : items) {
    by_hand += 3 * 2 * (n * (768 * 768 + 12 * (4 * 768 * 768 + 2 * 768 * 3072)) + 12 * 2 * 768 * n * n);
    tokens += n;
  }
  CHECK(all->flops == rational(by_hand));
  CHECK(all->tokens == tokens);
  CHECK(all->longest == 196);
  siglip.merged = 4;
  siglip.frozen = true;
  const auto frozen = cost::cost_of_encoder(siglip, items, {}, {});
  CHECK(frozen->flops == rational(by_hand / 3));
  CHECK(frozen->saved_bytes == rational(0));
  CHECK(frozen->passed_on == tokens / 4);
  // Twice the items keep twice the bytes; without the quadratic scores an item of 100 as much as 25 of 4.
  siglip.frozen = false;
  const std::int64_t large[] = {100}, pieces[] = {20, 20, 20, 20, 20};
  CHECK(cost::cost_of_encoder(siglip, large, {}, {})->saved_bytes ==
        cost::cost_of_encoder(siglip, pieces, {}, {})->saved_bytes);
  CHECK(rational(0) < cost::cost_of_encoder(siglip, large, {}, {})->saved_bytes);
  const std::int64_t odd[] = {16, 6}, huge[] = {200}, nothing[] = {0};
  CHECK(message(cost::cost_of_encoder(siglip, odd, {}, {}).error()) ==
        "tokens of an item over merged: 6 is not divisible by 4");
  CHECK(cost::cost_of_encoder(siglip, huge, {}, {}).error().code == hocket::errc::out_of_range);
  CHECK(cost::cost_of_encoder(siglip, nothing, {}, {}).error().code == hocket::errc::out_of_range);
}

TEST_CASE("an encoder with learned positions takes items of as many tokens", "[cost][blocks]") {
  for (const std::int64_t positions : {0, 1, 4}) {
    cost::encoder e{.layers = {.sizes = {.hidden = 8, .positions = positions}}, .merged = 1};
    e.layers.add(cost::layer_blocks(1, cost::feed_forward{.ffn = 16}), 2);
    for (const std::int64_t tokens : {1, 2, 4, 5}) {
      const std::int64_t item[] = {tokens};
      CHECK(cost::cost_of_encoder(e, item, {}, {}).has_value() == (positions == 0 || tokens <= positions));
    }
  }
}

TEST_CASE("Muon: matrices stay whole, one moment each", "[cost][blocks]") {
  const cost::model m{
      .layers = 3, .hidden = 64, .heads = 4, .kv_heads = 2, .head_dim = 16, .ffn = 160, .vocabulary = 1000};
  const auto shapes = cost::weight_shapes(m, {});
  const auto one = cost::shard_whole(shapes, 1);
  REQUIRE(one);
  const std::int64_t layer = 2 * 64 * 64 + 2 * 32 * 64 + 3 * 64 * 160;
  CHECK(one->matrices == 3 * layer);
  CHECK(one->others == 2 * 64000 + 7 * 64);
  CHECK(one->held == one->matrices);
  CHECK(one->flops ==
        rational(3 * 5) * rational(2 * (4 + 2) * 64 * 64 * 64 + 2 * (4 * 32 * 32 * 64 + 2 * 32 * 32 * 32) +
                                   3 * (4 * 64 * 64 * 160 + 2 * 64 * 64 * 64)));
  CHECK(cost::muon_state_bytes(*one, 1, {}) == rational(8 * one->matrices + 12 * one->others));
  CHECK(cost::muon_gathered_bytes(*one, 4) == rational(2 * one->matrices * 3 / 4));
  // The deal is within 4/3 of the best one, which all deals of a few matrices show.
  std::mt19937 random(25);
  for (int round = 0; round < 40; ++round) {
    std::vector<cost::weight_shape> few;
    const int count = 1 + static_cast<int>(random() % 7);
    for (int at = 0; at < count; ++at)
      few.push_back({"w", 2 + static_cast<std::int64_t>(random() % 30), 2 + static_cast<std::int64_t>(random() % 30)});
    const int ways = 2 + static_cast<int>(random() % 2);
    double best = -1;
    int deals = 1;
    for (int at = 0; at < count; ++at) deals *= ways;
    for (int deal = 0; deal < deals; ++deal) {
      std::vector<double> load(static_cast<std::size_t>(ways), 0.0);
      for (int at = 0, rest = deal; at < count; ++at, rest /= ways)
        load[static_cast<std::size_t>(rest % ways)] +=
            cost::newton_schulz_flops(few[static_cast<std::size_t>(at)], 5).real();
      const double most = *std::max_element(load.begin(), load.end());
      if (best < 0 || most < best) best = most;
    }
    const auto dealt = cost::shard_whole(few, ways);
    REQUIRE(dealt);
    CHECK(dealt->most_flops.real() >= best);
    CHECK(dealt->most_flops.real() <= best * 4 / 3);
    CHECK(dealt->held >= dealt->least_held);
  }
  CHECK(cost::shard_whole(shapes, 0).error().code == hocket::errc::out_of_range);
  const cost::weight_shape many[] = {{"w", 2, 2, std::int64_t{1} << 30}};
  CHECK(cost::shard_whole(many, 2).error().code == hocket::errc::limit_exceeded);
  const cost::weight_shape huge[] = {{"w", std::int64_t{1} << 30, std::int64_t{1} << 30, 16}};
  CHECK(cost::shard_whole(huge, 2).error().code == hocket::errc::overflow);
}

TEST_CASE("formats with block scales take fractions of a byte", "[cost][blocks]") {
  CHECK(cost::bytes_per_element(cost::bf16) == rational(2));
  CHECK(cost::bytes_per_element(cost::mxfp8) == rational(33) / rational(32));
  CHECK(cost::bytes_per_element(cost::mxfp6) == rational(25) / rational(32));
  CHECK(cost::bytes_per_element(cost::mxfp4) == rational(17) / rational(32));
  CHECK(cost::bytes_per_element(cost::nvfp4) == rational(9) / rational(16));
  CHECK(cost::bytes_per_element(cost::fp8_rows) == rational(33) / rational(32));
  CHECK(cost::bytes_of(cost::mxfp4, 3, 64) == rational(3 * 64 * 17 / 32));
  CHECK(cost::bytes_of(cost::mxfp8, 3, 33) == rational(3 * (33 + 2)));  // a row's last block is short
  CHECK(cost::bytes_of(cost::nvfp4, 2, 16) == rational(2 * (8 + 1) + 4));

  // Weights of a rank, and what it sends of them: 12 bytes of states and a fraction.
  const cost::rank_parameters n{.dense = 6400, .expert = 3200};
  const cost::training t{.sequence = 32, .micro_batch = 2, .global_batch = 8};
  const auto with_weights = [&](const cost::scaled_format& format) {
    cost::training x = t;
    x.weight_bytes = cost::bytes_per_element(format);
    return x;
  };
  CHECK(cost::static_bytes(n, with_weights(cost::mxfp8), {}).value() ==
        rational(9600 * 16) + rational(9600 * 33) / rational(32));
  CHECK(cost::static_bytes(n, with_weights(cost::bf16), {}).value() == cost::static_bytes(n, t, {}).value());
  CHECK(cost::print(cost::letters::c_w * cost::letters::N_r, cost::style::numbers,
                    cost::environment(n, with_weights(cost::mxfp8))) == "33/32*6400");
  const cost::parallel sharded{.dp = 4, .zero = cost::zero::optimizer};
  const auto sent = [&](const cost::training& x) {
    return cost::total(cost::data_transfer_terms,
                       cost::numbers_of({.parameters = n, .training = x, .parallel = sharded}));
  };
  CHECK(sent(t).value() - sent(with_weights(cost::nvfp4)).value() ==
        rational(9600) * (rational(2) - rational(9) / rational(16)) * rational(3) / rational(4));

  // A dense layer keeps the inputs of four products: of attention and FFN once each, of the last product of the FFN.
  cost::layer_list list{.sizes = {.hidden = width}};
  const cost::layer_blocks layer{cost::norms{}, cost::attention{.heads = 6, .kv_heads = 2, .head_dim = 8},
                                 cost::norms{.place = cost::norm_place::between}, cost::feed_forward{.ffn = 160}};
  const rational whole = cost::layer_activation_bytes(list, layer, t, {}).value();
  const rational inputs(32 * 2 * (48 + 48 + 160));
  for (const cost::scaled_format& format : {cost::bf16, cost::mxfp8, cost::nvfp4}) {
    cost::training narrow = t;
    narrow.narrow_inputs = true;
    narrow.input_bytes = cost::bytes_per_element(format);
    const rational less = inputs * (rational(2) - cost::bytes_per_element(format));
    CHECK(cost::layer_activation_bytes(list, layer, narrow, {}).value() == whole - less);
    // Kept alone of a layer that is computed again: its input, which is no product's.
    const cost::parallel full{.recompute = cost::recompute::full};
    CHECK(cost::layer_activation_bytes(list, layer, narrow, full).value() == rational(32 * 2 * 48 * 2));
  }

  // A size that is no number, negative or too long is none.
  for (const rational& wrong : {rational(-1), rational(1) / rational(0), rational(std::int64_t{1} << 40),
                                rational(1) / rational(std::int64_t{1} << 40)}) {
    cost::training x = t;
    x.weight_bytes = wrong;
    CHECK(cost::check(x).error().code == hocket::errc::out_of_range);
    CHECK(cost::check(x).error().word() == "weight_bytes");
  }
}

TEST_CASE("stages of unequal length with experts hold what Megatron Bridge counts, pull request 5077",
          "[cost][layers]") {
  const cost::norms norm{.count = 2, .norm_weights = 2};
  const cost::attention attention{.heads = 4, .kv_heads = 4, .head_dim = 4};
  cost::layer_list list{.sizes = {.hidden = 16, .vocabulary = 32, .norm_weights = 2}};
  for (const int mixed : {0, 1, 0, 0, 1, 0, 1, 1}) {
    if (mixed == 1)
      list.add(
          {norm, attention, cost::mixture{.experts = 2, .active_experts = 1, .expert_ffn = 32, .ffn_matrices = 2}});
    else list.add({norm, attention, cost::feed_forward{.ffn = 64, .ffn_matrices = 2}});
  }
  const std::int64_t stages[] = {1, 2, 2, 3};
  const cost::parallel p{.pp = 4};
  std::int64_t dense = 0, expert = 0;
  const auto ranks = cost::layers_of_ranks(list, p, stages);
  REQUIRE(ranks);
  for (const cost::rank_layers& on : *ranks) {
    const auto memory = cost::memory_of_rank(list, on, {.sequence = 8, .global_batch = 4}, p, {});
    REQUIRE(memory);
    dense = std::max(dense, memory->parameters.dense);
    expert = std::max(expert, memory->parameters.expert);
  }
  CHECK(expert == 4096);
  // It leaves routers out: 32 weights in each of the two mixtures of the last stage. Dealt out evenly: 4,744.
  CHECK(dense - 2 * 32 == 5856);
}
