// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Micro-batches that differ: prices against sums over layers, peaks against those of equal micro-batches.
#include <hocket/core/message.hpp>
#include <hocket/cost/machines.hpp>
#include <hocket/cost/model/micro_batch_lengths.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "all_rates.hpp"
#include "catch.hpp"
#include "data/cost/published_shapes.hpp"

namespace {
namespace lengths {

namespace cost = hocket::cost;
using cost::rational;

bool close(double mine, double theirs, double part = 1e-9) {
  return std::abs(mine - theirs) <= part * std::abs(theirs);
}
cost::training step() { return {.sequence = 4096, .micro_batch = 1, .global_batch = 32}; }

constexpr cost::machine on_links = all_rates;

/// Layers of three kinds, something before and behind them, and a module that predicts.
cost::layer_list small_list() {
  const cost::norms between{.place = cost::norm_place::between};
  const cost::attention full{.heads = 8, .kv_heads = 4, .head_dim = 32};
  cost::attention windowed = full;
  windowed.window = 64;
  const cost::mixture experts{.experts = 4, .active_experts = 2, .expert_ffn = 128};
  cost::layer_list list{.sizes = {.hidden = 256, .vocabulary = 1024}};
  list.front = {cost::projection{.outputs = 64}};
  list.add({cost::norms{}, full, between, cost::feed_forward{.ffn = 512}}, 3);
  list.add({cost::norms{}, windowed, between, experts}, 2);
  list.add({cost::norms{}, full, between, experts}, 3);
  list.predictions = {{list.layers.back().blocks, 1}};
  list.sizes.prediction_heads = 1;
  list.back = {cost::projection{.outputs = 32}};
  return list;
}

/// The price of a stage by hand: entries of layers with how each is computed again, the head, a hop there and back.
struct by_hand {
  double forward = 0, backward = 0, exposed = 0;
  rational kept = 0;
};
struct entry {
  cost::layer_blocks blocks;
  std::int64_t count;
  cost::recompute_choice how;
};
by_hand sum_of(const cost::layer_list& list, const std::vector<entry>& entries, const cost::training& t,
               const cost::parallel& p) {
  by_hand out;
  for (const entry& e : entries) {
    const auto one = cost::time_of_layer(list, e.blocks, t, p, on_links, e.how).value();
    const auto times = static_cast<double>(e.count);
    out.forward += times * one.forward.count();
    out.backward += times * (one.backward + one.again).count();
    out.exposed += times * one.exposed.count();
    cost::parallel at = p;
    at.recompute = e.how.level;
    out.kept =
        out.kept + rational(e.count) * cost::layer_activation_bytes(list, e.blocks, t, at, e.how.operations).value();
  }
  return out;
}

TEST_CASE("micro-batches: a stage's price is the sum over its layers", "[cost][lengths]") {
  const cost::layer_list list = small_list();
  const cost::layer_blocks dense = list.layers[0].blocks, windowed = list.layers[1].blocks,
                           experts = list.layers[2].blocks;
  const cost::recompute_choice whole{cost::recompute::full, {}}, some{cost::recompute::none, {.activation = true}},
      selective{cost::recompute::selective, {}};
  // Four stages on two ranks: 1, 3, 2 and 2 layers, of which 0, 2, 1 and 2 whole.
  const cost::parallel p{.tp = 2, .pp = 2, .vp = 2, .sequence_parallel = true};
  const std::vector<cost::stage_choice> stages{{1, 0, some}, {3, 2, {}}, {2, 1, selective}, {2, 2, some}};
  const std::vector<cost::document_lengths> batches{{512}, {128, 384}, {64}, {384, 128}, {512}};
  const auto prices = cost::price_micro_batches(list, step(), p, on_links, stages, batches).value();
  REQUIRE(prices.stages == 4);
  REQUIRE(prices.count == 5);
  for (std::size_t j = 0; j < batches.size(); ++j) {
    const cost::training t = cost::training_of(list, step(), batches[j]).value();
    const std::vector<entry> entries[] = {{{list.front, 1, some}, {dense, 1, some}},
                                          {{dense, 2, whole}, {windowed, 1, {}}},
                                          {{windowed, 1, whole}, {experts, 1, selective}},
                                          {{experts, 2, whole}, {experts, 1, some}, {list.back, 1, some}}};
    // A rank sends its half of each token's 256 elements of two bytes, and gets as much back.
    const double hop = 2.0 * static_cast<double>(t.sequence) * 256 * 2 / 2 / on_links.pipeline_bytes;
    const auto head = cost::time_of_head(list, t, p, on_links).value();
    for (std::size_t s = 0; s < 4; ++s) {
      INFO("micro-batch " << j << ", stage " << s);
      by_hand sum = sum_of(list, entries[s], t, p);
      if (s == 3) {
        sum.forward += head.forward.count();
        sum.backward += head.backward.count();
      }
      const cost::stage_price found = prices.at(s, j);
      CHECK(close(found.forward.count(), sum.forward + (sum.exposed + hop) / 2));
      CHECK(close(found.backward.count(), sum.backward + (sum.exposed + hop) / 2));
      CHECK(rational(found.kept_bytes) == sum.kept.ceiling());
    }
  }
  // What stands before the first layer is never computed again whole.
  const std::vector<cost::stage_choice> first_whole{{1, 1, some}, {3, 2, {}}, {2, 1, selective}, {2, 2, some}};
  const std::vector<cost::document_lengths> one{{512}};
  const by_hand front =
      sum_of(list, {{list.front, 1, some}, {dense, 1, whole}}, cost::training_of(list, step(), one[0]).value(), p);
  CHECK(rational(cost::price_micro_batches(list, step(), p, on_links, first_whole, one)->at(0, 0).kept_bytes) ==
        front.kept.ceiling());
  CHECK(prices.at(2, 0) == prices.at(2, 4));
  CHECK(prices.at(2, 1) == prices.at(2, 3));
  CHECK_FALSE(prices.at(2, 1) == prices.at(2, 0));
}

TEST_CASE("micro-batches: choices are dealt out as layers are", "[cost][lengths]") {
  const cost::layer_list list = small_list();
  const cost::recompute_choice how{cost::recompute::selective, {}};
  for (const std::int64_t pp : {1, 2, 3})
    for (const std::int64_t vp : {1, 2}) {
      const auto choices = cost::even_choices(list, {.pp = pp, .vp = vp}, how);
      REQUIRE(choices.size() == static_cast<std::size_t>(pp * vp));
      std::int64_t all = 0;
      for (std::size_t s = 0; s < choices.size(); ++s) {
        CHECK(choices[s].whole == 0);
        CHECK(choices[s].others == how);
        CHECK(choices[s].layers <= choices.front().layers);
        if (s + 1 < choices.size()) CHECK(choices[s].layers + 1 >= choices.front().layers);
        if (s > 0) CHECK(choices[s].layers <= choices[s - 1].layers);
        all += choices[s].layers;
      }
      CHECK(all == 8);
    }
}

TEST_CASE("micro-batches: equal ones need on each rank what 1F1B needs of them", "[cost][lengths]") {
  const cost::layer_list list = small_list();
  for (const cost::recompute_choice& how :
       {cost::recompute_choice{}, cost::recompute_choice{cost::recompute::full, {}},
        cost::recompute_choice{cost::recompute::none, {.norm = true, .activation = true}},
        cost::recompute_choice{cost::recompute::full, {.norm = true, .activation = true}}})
    for (const std::int64_t pp : {1, 2, 4}) {
      cost::parallel p{.pp = pp, .dp = 2};
      const std::vector<cost::document_lengths> batches(3, {512});
      const auto choices = cost::even_choices(list, p, how);
      const auto prices = cost::price_micro_batches(list, step(), p, on_links, choices, batches).value();
      cost::training t = step();
      t.sequence = 512;
      t.global_batch = 3 * 2;
      std::vector<std::uint32_t> in_flight;
      for (std::int64_t rank = 0; rank < pp; ++rank)
        in_flight.push_back(static_cast<std::uint32_t>((std::min)(pp - rank, std::int64_t{3})));
      const auto peaks = cost::peak_bytes(list, t, p, choices, batches, prices, in_flight).value();
      cost::parallel otherwise = p;  // what each stage does again is told by its choice
      otherwise.recompute = cost::recompute::full;
      CHECK(cost::peak_bytes(list, t, otherwise, choices, batches, prices, in_flight).value() == peaks);
      p.recompute = how.level;
      const auto ranks = cost::layers_of_ranks(list, p, {}, how.operations).value();
      REQUIRE(peaks.size() == ranks.size());
      for (std::size_t r = 0; r < ranks.size(); ++r) {
        const auto share = cost::held_share_by_1f1b(t, p, static_cast<std::int64_t>(r)).value();
        CHECK(share.layers == rational(in_flight[r]));
        const auto memory = cost::memory_of_rank(list, ranks[r], t, p, share).value();
        CHECK(rational(peaks[r]) == memory.peak.total_bytes().ceiling());
      }
    }
}

TEST_CASE("micro-batches: those that keep most are taken to be in flight together", "[cost][lengths]") {
  const cost::layer_list list = small_list();
  const cost::parallel p{.pp = 2, .vp = 2};
  std::vector<cost::stage_choice> choices = cost::even_choices(list, p);
  choices[0].whole = 1;
  const std::vector<cost::document_lengths> batches{{64}, {512}, {256}, {128, 128, 64}};
  const auto prices = cost::price_micro_batches(list, step(), p, on_links, choices, batches).value();
  const auto at = [&](std::uint32_t first, std::uint32_t second) {
    return cost::peak_bytes(list, step(), p, choices, batches, prices, std::vector<std::uint32_t>{first, second})
        .value();
  };
  const auto empty = at(0, 0);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    std::vector<std::int64_t> kept;  // of both chunks of the rank
    for (const std::size_t stage : {rank, rank + 2})
      for (std::size_t j = 0; j < batches.size(); ++j) kept.push_back(prices.at(stage, j).kept_bytes);
    std::sort(kept.rbegin(), kept.rend());
    std::int64_t sum = empty[rank];
    for (std::uint32_t n = 1; n < 12; ++n) {
      if (n <= kept.size()) sum += kept[n - 1];
      CHECK((rank == 0 ? at(n, 0) : at(0, n))[rank] == sum);
    }
  }
  // The longest is inside the backward pass: of the rank with a whole layer it is made again.
  std::vector<cost::stage_choice> none = cost::even_choices(list, p);
  const auto without =
      cost::peak_bytes(list, step(), p, none, batches, prices, std::vector<std::uint32_t>{0, 0}).value();
  CHECK(without[0] < empty[0]);
  CHECK(without[1] == empty[1]);
}

TEST_CASE("micro-batches: what does not fit together is refused", "[cost][lengths]") {
  using hocket::errc;
  const cost::layer_list list = small_list();
  const cost::parallel p{.pp = 2};
  const auto choices = cost::even_choices(list, p);
  const std::vector<cost::document_lengths> batches{{64}, {128}};
  const auto prices = cost::price_micro_batches(list, step(), p, on_links, choices, batches).value();
  const std::vector<std::uint32_t> in_flight{2, 1};
  const auto peaks = [&](const cost::parallel& at, const std::vector<cost::stage_choice>& stages,
                         const std::vector<cost::document_lengths>& all, const std::vector<std::uint32_t>& held) {
    return cost::peak_bytes(list, step(), at, stages, all, prices, held);
  };
  CHECK(peaks(p, choices, batches, in_flight));
  CHECK(peaks(p, choices, batches, {2}).error().code == errc::bad_shape);
  CHECK(peaks(p, {choices[0]}, batches, in_flight).error().code == errc::bad_shape);
  CHECK(peaks(p, choices, {{64}}, in_flight).error().code == errc::bad_shape);
  CHECK(peaks({.pp = 2, .vp = 2}, choices, batches, in_flight).error().code == errc::bad_shape);

  const auto price = [&](const cost::layer_list& of, const cost::parallel& at, const cost::machine& on) {
    return cost::price_micro_batches(of, step(), at, on, cost::even_choices(of, at), batches);
  };
  CHECK(price(list, {.tp = 3}, on_links).error().code == errc::indivisible);
  cost::machine wrong = on_links;
  wrong.data_bytes = -1;
  CHECK(price(list, {}, wrong).error().code == errc::bad_rate);
  wrong.data_bytes = wrong.gemm_flops = 0;
  CHECK(price(list, {}, wrong).error().code == errc::undefined_value);
  auto negative = choices;
  negative[0].whole = -1;
  CHECK(cost::price_micro_batches(list, step(), p, on_links, negative, batches).error().code == errc::out_of_range);
  // Packed documents reach over the borders of chunks.
  cost::layer_list chunked = list;
  for (cost::repeated_layer& each : chunked.layers)
    for (cost::block& b : each.blocks)
      if (auto* x = std::get_if<cost::attention>(&b.what); x != nullptr && x->window > 0) x->chunked = true;
  const std::vector<cost::document_lengths> packed{{64, 64}};
  CHECK(cost::price_micro_batches(chunked, step(), p, on_links, choices, packed).error().code ==
        errc::invalid_argument);
  CHECK(cost::price_micro_batches(chunked, step(), p, on_links, choices, batches));
  // Nor is it told what a sparse attention selects of them.
  for (const std::int64_t selected : {0, 32}) {
    cost::layer_list latent{.sizes = list.sizes};
    latent.add(cost::layer_blocks(1, cost::latent_attention{.heads = 4,
                                                            .kv_rank = 64,
                                                            .nope_dim = 32,
                                                            .rope_dim = 16,
                                                            .value_dim = 32,
                                                            .selected = selected,
                                                            .index_heads = selected > 0 ? 2 : 0,
                                                            .index_dim = selected > 0 ? 16 : 0}),
               2);
    const auto of_latent = cost::even_choices(latent, p);
    CHECK(cost::price_micro_batches(latent, step(), p, on_links, of_latent, packed).has_value() == (selected == 0));
    CHECK(cost::price_micro_batches(latent, step(), p, on_links, of_latent, batches));
  }
}

TEST_CASE("micro-batches: each has the price that it has alone", "[cost][lengths]") {
  cost::layer_list without_windows{.sizes = {.hidden = 256, .vocabulary = 1024}};
  without_windows.add(small_list().layers[0].blocks, 4);
  const std::vector<cost::document_lengths> batches{{512}, {256, 256}, {128, 384}, {384, 128}, {64}, {512}, {32, 32}};
  const cost::parallel p{.pp = 2};
  for (const cost::layer_list& list : {without_windows, small_list()}) {
    const auto choices = cost::even_choices(list, p);
    const auto all = cost::price_micro_batches(list, step(), p, on_links, choices, batches).value();
    for (std::size_t j = 0; j < batches.size(); ++j) {
      const std::vector<cost::document_lengths> one{batches[j]};
      const auto alone = cost::price_micro_batches(list, step(), p, on_links, choices, one).value();
      for (std::size_t s = 0; s < 2; ++s) CHECK(all.at(s, j) == alone.at(s, 0));
    }
  }
}

TEST_CASE("micro-batches: sizes that are not read need not divide", "[cost][lengths]") {
  const cost::layer_list list = small_list();
  cost::training odd = step();
  odd.sequence = 4095;
  odd.micro_batch = 7;
  odd.global_batch = 13;
  odd.squared_lengths = 11;
  const std::vector<cost::document_lengths> batches{{480}, {240, 240}};
  for (const cost::parallel& p : {cost::parallel{.tp = 4, .dp = 3, .cp = 5, .copies = 3, .sequence_parallel = true},
                                  cost::parallel{.tp = 8, .dp = 5, .cp = 3, .copies = 7},
                                  cost::parallel{.tp = 2, .pp = 2, .dp = 4, .copies = 5, .sequence_parallel = true}}) {
    const auto choices = cost::even_choices(list, p);
    const auto expected = cost::price_micro_batches(list, step(), p, on_links, choices, batches);
    const auto prices = cost::price_micro_batches(list, odd, p, on_links, choices, batches);
    if (!prices) FAIL(message(prices.error()));
    CHECK(prices->all == expected->all);
  }
}

TEST_CASE("micro-batches: a step sees its documents as one sequence", "[cost][lengths]") {
  using hocket::errc;
  const cost::layer_list list = small_list();
  const auto of = [&](const cost::document_lengths& documents) { return cost::training_of(list, step(), documents); };
  const cost::training one = of({300}).value();
  CHECK(one.sequence == 300);
  CHECK(one.micro_batch == 1);
  CHECK(one.squared_lengths == 0);
  CHECK(one.windowed_pairs == 0);
  const cost::training two = of({100, 40}).value();
  CHECK(two.sequence == 140);
  CHECK(two.squared_lengths == 100 * 100 + 40 * 40);
  std::int64_t pairs = 0;  // within a window of 64
  for (const std::int64_t n : {100, 40})
    for (std::int64_t at = 0; at < n; ++at) pairs += (std::min)(at + 1, std::int64_t{64});
  CHECK(two.windowed_pairs == pairs);
  // What the step said of other documents is forgotten; a window needs its pairs told.
  cost::training packed = step();
  packed.squared_lengths = 7;
  packed.windowed_pairs = 5;
  CHECK(cost::training_of(list, packed, cost::document_lengths{300}).value() == one);
  packed.sequence = 64;
  CHECK(cost::check(list, packed, {}));
  packed.windowed_pairs = 0;
  CHECK(cost::check(list, packed, {}).error().code == errc::invalid_argument);
  constexpr std::int64_t most = (std::int64_t{1} << 31) - 1;
  CHECK(of({most}));
  CHECK(of({most + 1}).error().code == errc::out_of_range);
  CHECK(of({most, 1}).error().code == errc::limit_exceeded);
  CHECK(of({5, 0}).error().code == errc::out_of_range);
  CHECK(of({}).error().code == errc::out_of_range);
}

TEST_CASE("micro-batches: beside the pipeline a step loads, exchanges, updates and ends", "[cost][lengths]") {
  cost::step_prediction step_of;
  step_of.parts.data_loading = hocket::seconds(1);
  step_of.parts.optimizer = hocket::seconds(2);
  step_of.parts.post_processing = hocket::seconds(4);
  step_of.parts.bubble = step_of.parts.forward_backward = hocket::seconds(100);
  step_of.numbers.exchange_seconds = 32;
  step_of.numbers.data_overlap = 0.75;
  CHECK(cost::beside_pipeline(step_of).count() == 15);
}

TEST_CASE("micro-batches: a stage passes on as many sources as its last layer mixes", "[cost][lengths]") {
  const cost::layer_list plain = cost::to_layers(published::llama_13b);
  cost::layer_list list{.sizes = plain.sizes};
  for (std::int64_t at = 0; at < 40; ++at) {
    cost::layer_blocks blocks = plain.layers[0].blocks;
    blocks.push_back(cost::attention_residuals{.sources = 1 + at / 5, .count = 2});
    list.add(blocks);
  }
  const cost::machine& on = cost::machines::b200_fitted.rates;
  cost::machine at_once = on;
  at_once.pipeline_bytes = 1e30;
  const cost::parallel p{.pp = 4, .dp = 2};
  const std::vector<cost::document_lengths> batches(8, {4096});
  const auto price = [&](const cost::machine& x) {
    return cost::price_micro_batches(list, step(), p, x, cost::even_choices(list, p), batches).value();
  };
  const auto uniform = cost::predict_step(list, step(), p, on).value();
  const auto prices = price(on), without = price(at_once);
  for (std::size_t s = 0; s < 4; ++s) {
    const double here = (prices.at(s, 3).forward + prices.at(s, 3).backward).count(),
                 computed = (without.at(s, 3).forward + without.at(s, 3).backward).count();
    CHECK(close(here, uniform.rank_times[s].total().count()));
    // Layers 9, 19, 29 and 39 mix 2, 4, 6 and 8 sources of 4096 x 5120 elements of two bytes, there and back.
    const double sources = 2 * static_cast<double>(s + 1);
    CHECK(close(here - computed, sources * 2 * 2 * 4096 * 5120 / on.pipeline_bytes, 1e-6));
  }
}

TEST_CASE("micro-batches: attention by squares, the rest by tokens", "[cost][lengths]") {
  const cost::layer_list list = cost::to_layers(published::llama_13b);
  const cost::machine& on = cost::machines::b200_fitted.rates;
  const cost::parallel p{};
  const std::vector<cost::document_lengths> batches{{4096}, {2048, 2048}, {1024, 3072}, {8192}, {4096, 4096}};
  const auto x = cost::price_micro_batches(list, step(), p, on, cost::even_choices(list, p), batches).value();
  const auto forward = [&](std::size_t j) { return x.at(0, j).forward.count(); };
  CHECK(forward(1) < forward(2));
  CHECK(forward(2) < forward(0));
  CHECK(forward(3) > 2 * forward(0));
  CHECK(close(forward(4), 2 * forward(0)));
  // Affine in tokens and pairs: from three of them the fourth follows. Pairs of l tokens: l (l + 1) / 2.
  const double by_pairs = (forward(0) - forward(1)) / (4096.0 * 4097 / 2 - 2 * 2048.0 * 2049 / 2);
  const double pairs = 1024.0 * 1025 / 2 + 3072.0 * 3073 / 2;
  CHECK(close(forward(2), forward(1) + by_pairs * (pairs - 2 * 2048.0 * 2049 / 2)));
  CHECK(x.at(0, 1).kept_bytes == x.at(0, 0).kept_bytes);
  CHECK(x.at(0, 3).kept_bytes == 2 * x.at(0, 0).kept_bytes);
  // Two sequences of a micro-batch are two documents of one.
  cost::training two = step();
  two.micro_batch = 2;
  const auto pair = cost::time_of_layer(list, list.layers[0].blocks, two, p, on).value();
  const auto packed =
      cost::time_of_layer(list, list.layers[0].blocks,
                          cost::training_of(list, step(), std::vector<std::int64_t>{4096, 4096}).value(), p, on);
  CHECK(close(packed.value().total().count(), pair.total().count()));
}

TEST_CASE("micro-batches: whole layers again take the forward pass once more and keep their input", "[cost][lengths]") {
  const cost::layer_list list = cost::to_layers(published::llama_13b);
  const cost::machine& on = cost::machines::b200_fitted.rates;
  const cost::parallel p{.pp = 2};
  const std::vector<cost::document_lengths> batches{{4096}};
  std::vector<cost::stage_choice> choices = cost::even_choices(list, p);
  const auto kept = cost::price_micro_batches(list, step(), p, on, choices, batches).value();
  choices[0].whole = choices[0].layers;
  const auto again = cost::price_micro_batches(list, step(), p, on, choices, batches).value();
  CHECK(again.at(0, 0).kept_bytes == choices[0].layers * 4096 * published::llama_13b.hidden * 2);
  CHECK(again.at(0, 0).backward > kept.at(0, 0).backward);
  CHECK(again.at(1, 0) == kept.at(1, 0));
  choices[1].whole = 21;
  CHECK(cost::price_micro_batches(list, step(), p, on, choices, batches).error().code == hocket::errc::out_of_range);
  choices.pop_back();
  CHECK(!cost::price_micro_batches(list, step(), p, on, choices, batches));
  const std::vector<cost::document_lengths> empty{{}};
  CHECK(!cost::price_micro_batches(list, step(), p, on, cost::even_choices(list, p), empty));
}

}  // namespace lengths
}  // namespace
