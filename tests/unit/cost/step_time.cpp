// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measured memory and step times; a step taken apart; recompute tables and their rules.
#include <hocket/cost/machines.hpp>
#include <hocket/cost/measure_step.hpp>
#include <hocket/cost/measured_hardware.hpp>
#include <hocket/cost/model/collective_of_layout.hpp>
#include <hocket/cost/model/optimizer_parallel.hpp>
#include <hocket/cost/model/peak_memory.hpp>
#include <hocket/cost/model/replay_table.hpp>
#include <hocket/cost/model/uniform_list.hpp>

#include <array>
#include <cmath>

#include "b200.hpp"
#include "catch.hpp"

namespace {
namespace step_time {

namespace cost = hocket::cost;
using level = cost::recompute;

constexpr cost::model llama_13b{
    .layers = 40, .hidden = 5120, .heads = 40, .kv_heads = 40, .head_dim = 128, .ffn = 13824, .vocabulary = 32000};

TEST_CASE("measured B200 memory: mean within 1.5 %, worst within 3 %", "[cost]") {
  std::vector<csv::row> rows;
  const auto steps = b200_dense_rows(&rows);
  REQUIRE(steps.size() == 18);
  double sum = 0, worst = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    cost::training t = steps[i].training;
    t.fused_loss = true;
    t.workspace = cost::workspace::megatron_te;
    double most = 0;
    const auto ranks = cost::layers_of_ranks(steps[i].model, steps[i].parallel).value();
    for (const auto& on_rank : ranks) {
      const auto held = cost::held_share_by_1f1b(t, steps[i].parallel, on_rank.ends.rank).value();
      const auto memory = cost::memory_of_rank(steps[i].model, on_rank, t, steps[i].parallel, held).value();
      most = std::max(most, memory.peak.total_bytes().real());
    }
    const double off = std::abs(most / 1073741824 / std::stod(rows[i].at("real_alloc_gib")) - 1);
    sum += off;
    worst = std::max(worst, off);
  }
  INFO("mean " << 100 * sum / 18 << " %, worst " << 100 * worst << " %");
  CHECK(sum / 18 <= 0.005);  // the aim; 0.47 % and 1.31 % when this was written
  CHECK(worst <= 0.014);
}

TEST_CASE("measured B200 step times: four fitted rates, in sample and held out", "[cost]") {
  using cost::machine;
  const auto steps = b200_dense_rows();
  const std::array rates{&machine::gemm_flops, &machine::attention_flops, &machine::tensor_bytes, &machine::data_bytes};
  const auto fitted = cost::fit_machine(steps, rates, cost::machines::b200_fitted.rates).value();
  INFO("mean " << 100 * fitted.mean_error << " %, worst " << 100 * fitted.worst_error << " %");
  CHECK(fitted.mean_error <= 0.03);
  CHECK(fitted.worst_error <= 0.08);
  // The machine that is shipped is this fit.
  const cost::machine_data& shipped = cost::machines::b200_fitted;
  CHECK(std::abs(fitted.mean_error - shipped.mean_error) < 1e-4);
  CHECK(std::abs(fitted.worst_error - shipped.worst_error) < 1e-4);
  for (const auto rate : rates) CHECK(std::abs(fitted.rates.*rate / shipped.rates.*rate - 1) < 1e-3);
  // Each way of spreading a model is predicted from the others.
  double sum = 0;
  int predicted = 0;
  std::vector<bool> done(steps.size(), false);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (done[i]) continue;
    std::vector<cost::measured_step> known, unknown;
    for (std::size_t j = 0; j < steps.size(); ++j) {
      const bool same = steps[i].model == steps[j].model && steps[i].parallel == steps[j].parallel &&
                        steps[i].training.sequence == steps[j].training.sequence;
      (same ? unknown : known).push_back(steps[j]);
      if (same) done[j] = true;
    }
    const auto without = cost::fit_machine(known, rates, cost::machines::b200_fitted.rates).value();
    for (const auto& s : unknown) {
      sum += std::abs(cost::prediction_error(s, without.rates).value());
      ++predicted;
    }
  }
  CHECK(predicted == 18);
  INFO("held out " << 100 * sum / predicted << " %");
  CHECK(sum / predicted <= 0.05);
}

TEST_CASE("measured B200 rows with experts: memory as for dense rows; time once their two rates are fitted", "[cost]") {
  using cost::machine;
  std::vector<csv::row> rows;
  const auto steps = b200_expert_rows(&rows);
  REQUIRE(steps.size() == 5);
  double sum = 0, worst = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    cost::training t = steps[i].training;
    t.fused_loss = true;
    t.workspace = cost::workspace::megatron_te;
    double most = 0;
    const auto ranks = cost::layers_of_ranks(steps[i].model, steps[i].parallel).value();
    for (const auto& on_rank : ranks) {
      const auto held = cost::held_share_by_1f1b(t, steps[i].parallel, on_rank.ends.rank).value();
      const auto memory = cost::memory_of_rank(steps[i].model, on_rank, t, steps[i].parallel, held).value();
      most = std::max(most, memory.peak.total_bytes().real());
    }
    const double off = std::abs(most / 1073741824 / std::stod(rows[i].at("real_alloc_gib")) - 1);
    sum += off;
    worst = std::max(worst, off);
  }
  INFO("memory: mean " << 100 * sum / 5 << " %, worst " << 100 * worst << " %");
  CHECK(sum / 5 <= 0.005);  // 0.33 % and 0.73 % when this was written: no row was looked at to fit anything
  CHECK(worst <= 0.01);
  // The rates of the dense rows know nothing of the exchange of tokens, nor of how fast tokens are permuted: too fast.
  for (const auto& s : steps) {
    const double off = cost::prediction_error(s, cost::machines::b200_fitted.rates).value();
    INFO("time by the dense rows' rates " << 100 * off << " %");
    CHECK((off < -0.10 && off > -0.18));
  }
  // All 23 rows at once, six rates fitted.
  auto all = b200_dense_rows();
  for (const auto& s : steps) all.push_back(s);
  const std::array six{&machine::gemm_flops, &machine::attention_flops, &machine::tensor_bytes,
                       &machine::data_bytes, &machine::expert_bytes,    &machine::memory_bytes};
  const auto fitted = cost::fit_machine(all, six, cost::machines::b200_fitted.rates).value();
  INFO("time, 23 rows: mean " << 100 * fitted.mean_error << " %, worst " << 100 * fitted.worst_error << " %");
  CHECK(fitted.mean_error <= 0.03);  // 2.3 % and 7.4 % when this was written
  CHECK(fitted.worst_error <= 0.08);
}

TEST_CASE("the guide's Llama2-13B story, calibrated on its second step alone", "[cost]") {
  const cost::recompute_choice full{level::full, {}}, none{}, silu_mul{level::none, {.activation = true}},
      all_but_qkv{level::none,
                  {.cast = true,
                   .norm = true,
                   .attention_output = true,
                   .projection = true,
                   .ffn_in = true,
                   .activation = true,
                   .ffn_out = true}};
  const cost::layer_list list = llama_13b;
  const cost::layer_blocks layer = list.layers.front().blocks;
  struct run {
    double tokens_per_second;
    cost::parallel spread;
    std::int64_t batch;
    std::vector<std::vector<cost::rank_run>> ranks;
  };
  const auto two = [&](std::int64_t a, const cost::recompute_choice& how_a, const cost::recompute_choice& rest_a,
                       std::int64_t b, const cost::recompute_choice& how_b, const cost::recompute_choice& rest_b) {
    return std::vector<std::vector<cost::rank_run>>{{{layer, a, how_a}, {layer, 20 - a, rest_a}},
                                                    {{layer, b, how_b}, {layer, 20 - b, rest_b}}};
  };
  // One machine: data parallel 8, one sequence per device and step, optimizer parallel; then two machines, pipeline of
  // two stages, 128 micro-batches. Recompute as the guide lists it, stage by stage.
  const cost::parallel eight{.dp = 8, .zero = cost::zero::optimizer},
      sixteen{.pp = 2, .dp = 8, .zero = cost::zero::optimizer};
  const std::vector<run> runs{{1860, eight, 8, {{{layer, 40, full}}}},
                              {2136, sixteen, 1024, two(20, full, full, 20, full, full)},
                              {2189, sixteen, 1024, two(20, all_but_qkv, none, 20, all_but_qkv, none)},
                              {2210, sixteen, 1024, two(20, all_but_qkv, none, 8, silu_mul, none)},
                              {2353, sixteen, 1024, two(13, full, silu_mul, 5, full, silu_mul)},
                              {2562, sixteen, 1024, two(4, full, silu_mul, 0, full, silu_mul)}};
  const auto predict = [&](const run& r, const cost::machine& on) {
    const cost::training t{.sequence = 4096, .global_batch = r.batch, .gradient_bytes = 2};
    auto ranks = cost::layers_of_ranks(list, r.spread).value();
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) ranks[rank].layers = r.ranks[rank];
    return cost::predict_step(list, t, r.spread, on, ranks).value().tokens_per_second_per_device;
  };
  // One number is calibrated: the rate of products and attention.
  cost::machine on = cost::machines::guide_device.rates;
  double low = 0.1 * on.gemm_flops, high = on.gemm_flops;
  for (int i = 0; i < 50; ++i) {
    on.gemm_flops = on.attention_flops = (low + high) / 2;
    (predict(runs[1], on) < 2136 ? low : high) = on.gemm_flops;
  }
  double before = 0;
  for (const run& r : runs) {
    const double predicted = predict(r, on);
    INFO(r.tokens_per_second << ": " << predicted);
    CHECK(predicted > before);
    CHECK(std::abs(predicted / r.tokens_per_second - 1) <= 0.06);
    before = predicted;
  }
}

TEST_CASE("what to compute again: the guide's rules follow from the table of saved tensors", "[cost]") {
  const cost::training t{.sequence = 4096, .wide_norm = true, .fused_activation = false};
  const cost::parallel p{.tp = 8, .sequence_parallel = true};
  const cost::layer_list list = llama_13b;
  const cost::layer_blocks& blocks = list.layers.front().blocks;
  const auto rows = cost::replay_table(list, blocks, t, p, cost::machines::a100_peak.rates).value();
  const auto row = [&](cost::layer_operation which) {
    for (const auto& r : rows)
      if (r.which == which) return r;
    return cost::replay_row{};
  };
  const std::int64_t sbh = 4096 * 5120, sbf = 4096 * 13824;
  // A cast to 32 bits before each norm: 4 bytes become 2.
  CHECK(row(cost::layer_operation::cast).saves_memory());
  CHECK(row(cost::layer_operation::cast).bytes_kept - row(cost::layer_operation::cast).bytes_if_again ==
        cost::rational(2 * (4 - 2) * sbh / 8));
  // A cast back to 16 bits: 2 bytes become 4.
  CHECK(!row(cost::layer_operation::cast_back).saves_memory());
  CHECK(row(cost::layer_operation::cast_back).bytes_kept < row(cost::layer_operation::cast_back).bytes_if_again);
  // SiLU and Mul: the input of w2 and the first input of Mul.
  CHECK(row(cost::layer_operation::activation).bytes_kept - row(cost::layer_operation::activation).bytes_if_again ==
        cost::rational(2 * 2 * sbf / 8));
  // The gather after a sequence-parallel norm: each rank keeps its eighth.
  CHECK(row(cost::layer_operation::gather).bytes_kept - row(cost::layer_operation::gather).bytes_if_again ==
        cost::rational(2 * 2 * (sbh - sbh / 8)));
  CHECK(row(cost::layer_operation::gather).time_again.count() > 0);
  CHECK(row(cost::layer_operation::ffn_in).time_again > row(cost::layer_operation::activation).time_again);
  CHECK(!row(cost::layer_operation::ffn_out).saves_memory());
  for (const auto& r : rows) {  // the time is what a layer takes more
    const auto took = [&](bool again) {
      cost::recompute_choice how{level::none, {.gather = false}};
      how.operations.*cost::flag_of(r.which) = again;
      return cost::time_of_layer(list, blocks, t, p, cost::machines::a100_peak.rates, how)->total().count();
    };
    CHECK(std::abs(r.time_again.count() - (took(true) - took(false))) < 1e-12);
  }
  // All of it, and still less than full recompute takes.
  cost::parallel whole = p;
  whole.recompute = level::full;
  CHECK(cost::layer_activation_bytes(list, blocks, t, whole).value() == cost::rational(2 * sbh / 8));
  const auto full = cost::time_of_layer(list, blocks, t, p, cost::machines::a100_peak.rates, {level::full, {}}).value();
  CHECK(full.again > full.forward * 0.999);
}

TEST_CASE("a step taken apart adds up, and reacts to what it should", "[cost]") {
  const cost::training t{.sequence = 4096, .global_batch = 64};
  cost::parallel p{.tp = 4, .pp = 4, .dp = 2, .sequence_parallel = true, .zero = cost::zero::optimizer};
  cost::machine on = cost::machines::a100_peak.rates;
  on.load_seconds = 0.25;
  on.post_seconds = 0.125;
  on.data_overlap = 0.5;
  const auto step = cost::predict_step(llama_13b, t, p, on).value();
  CHECK(step.parts.data_loading == hocket::seconds(0.25));
  CHECK(step.parts.post_processing == hocket::seconds(0.125));
  CHECK(step.parts.bubble.count() > 0);
  CHECK(step.parts.scheduling.count() == 0);
  CHECK(std::abs(step.tokens_per_second_per_device * step.step_time().count() * 32 / (64 * 4096) - 1) < 1e-12);
  CHECK(step.rank_times.size() == 4);
  CHECK(step.busiest == 3);  // the head
  // The bubble of equal stages is (p - 1)/m of the work: without a head the ranks are equal.
  cost::model no_head = llama_13b;
  no_head.vocabulary = 4;
  cost::machine far = on;
  far.memory_bytes = 1e30;
  const auto even = cost::predict_step(no_head, t, p, far).value();
  CHECK(std::abs(even.parts.bubble / (32 * even.rank_times[1].total()) - 3.0 / 32) < 1e-4);
  // Two copies hide half of the tensor-parallel collectives.
  p.copies = 2;
  const auto hidden = cost::predict_step(llama_13b, t, p, on).value();
  CHECK(hidden.parts.communication_hidden > step.parts.communication_hidden);
  CHECK(hidden.step_time() < step.step_time());
  on.launches = 100;
  on.launch_seconds = 1e-2;
  CHECK(cost::predict_step(llama_13b, t, p, on).value().parts.scheduling.count() > 0);
  // No roofline is slower than the rates behind it... and a rate that is needed and 0 is an error, not an infinity.
  const auto ideal = cost::predict_step(llama_13b, t, p, cost::roofline{cost::machines::a100_peak.rates}).value();
  CHECK(ideal.parts.forward_backward <= hidden.parts.forward_backward * (1 + 1e-12));
  on.gemm_flops = 0;
  CHECK(cost::predict_step(llama_13b, t, p, on).error().code == hocket::errc::undefined_value);
}

TEST_CASE("copies: the exposed part is that of a flow shop of two machines", "[cost]") {
  using namespace hocket::cost::letters;
  for (const double compute : {1.0, 3.0, 8.0}) {
    for (const double wire : {0.5, 3.0, 9.0}) {
      for (const std::int64_t copies : {1, 2, 3, 7}) {
        double computed = 0, sent = 0;  // one copy after the other: its collective starts when it and the last are done
        for (std::int64_t i = 0; i < copies; ++i) {
          computed += compute / static_cast<double>(copies);
          sent = std::max(sent, computed) + wire / static_cast<double>(copies);
        }
        const cost::parallel p{.copies = copies};
        const cost::detail::layer_numbers both{compute, wire};
        CHECK(std::abs(cost::real(cost::exposed_of_copies(T_k, T_c), cost::environment(p, both)) - (sent - compute)) <
              1e-12);
      }
    }
  }
}

TEST_CASE("a measured timeline is taken apart under the same names", "[cost]") {
  hocket::timeline t;
  const auto compute = t.add_lane("compute"), network = t.add_lane("network"), other = t.add_lane("another device");
  using hocket::activity;
  t.add({.start = 0, .finish = 3, .lane = compute, .kind = activity::other});
  t.add({.start = 3, .finish = 10, .lane = compute, .kind = activity::forward});
  t.add({.start = 8, .finish = 14, .lane = network, .kind = activity::communication});
  t.add({.start = 15, .finish = 20, .lane = compute, .kind = activity::backward});
  t.add({.start = 20, .finish = 22, .lane = compute, .kind = activity::wait});
  t.add({.start = 22, .finish = 25, .lane = compute, .kind = activity::optimizer});
  t.add({.start = 25, .finish = 26, .lane = compute, .kind = activity::other});
  t.add({.start = 0, .finish = 27, .lane = other, .kind = activity::forward});
  const std::uint32_t device[] = {compute, network};
  const auto parts = cost::measure_step(t, device);
  const auto us = [](hocket::seconds x) { return std::llround(x.count() * 1e6); };
  CHECK(us(parts.data_loading) == 3);
  CHECK(us(parts.forward_backward) == 12);
  CHECK(us(parts.communication_hidden) == 2);
  CHECK(us(parts.communication_exposed) == 4);
  CHECK(us(parts.scheduling) == 2);  // from 14 to 15, and from 26 to 27
  CHECK(us(parts.bubble) == 2);
  CHECK(us(parts.optimizer) == 3);
  CHECK(us(parts.post_processing) == 1);
  CHECK(us(parts.total()) == 27);
}

TEST_CASE("the collective that a split of a product needs", "[cost]") {
  using cost::collective;
  const auto of = [](const cost::matmul_layout& l) { return cost::expected_collective(l); };
  // The guide's wo: in_strategy ((1, 4), (1, 4)) with the second factor transposed, so both are cut along k.
  CHECK(of({.left_inner = 4, .right_inner = 4}).value() == cost::needed_collective{collective::all_reduce, 4, false});
  CHECK(of({.left_inner = 4, .right_inner = 4, .rows_wanted = 4}).value().kind == collective::reduce_scatter);
  CHECK(of({.right_columns = 4}).value().kind == collective::none);
  CHECK(of({.right_columns = 4, .columns_wanted = 1}).value() ==
        cost::needed_collective{collective::all_gather, 4, false});
  CHECK(of({.left_inner = 4}).value() == cost::needed_collective{collective::all_gather, 4, true});
  CHECK(of({.left_inner = 4, .right_inner = 2}).error().code == hocket::errc::bad_shape);
  CHECK(of({.left_rows = 0}).error().code == hocket::errc::out_of_range);
}

TEST_CASE("optimizer parallelism cuts what its ranks divide along the first dimension", "[cost]") {
  const auto shapes = cost::weight_shapes(llama_13b, {});
  std::int64_t all = 0;
  for (const auto& s : shapes) all += s.elements();
  CHECK(all == cost::count_parameters(llama_13b).value().total);
  CHECK(cost::shard_over(shapes, 8).value() == cost::optimizer_shards{all, 0, all / 8});
  // 13824 and 32000 are no multiples of 40 x 16; 5120 is.
  const auto odd = cost::shard_over(shapes, 640).value();
  CHECK(odd.whole == 40 * (2 * 13824 * std::int64_t{5120}));
  CHECK(odd.held == odd.cut / 640 + odd.whole);
  CHECK(cost::shard_over(shapes, 0).error().code == hocket::errc::out_of_range);
}

TEST_CASE("measured curves in place of rates", "[cost]") {
  namespace curve = hocket::curve;
  const cost::machine rates = cost::machines::a100_peak.rates;
  // Curves that say what the rates say give what the rates give.
  cost::measured_hardware same(curve::affine{.per_size = 1e9 / rates.gemm_flops * 1e6},
                               curve::affine{.per_size = 1e9 / rates.attention_flops * 1e6},
                               curve::affine{.per_size = 1048576 / rates.memory_bytes * 1e6}, rates);
  const cost::training t{.sequence = 4096, .global_batch = 16};
  const cost::parallel p{.tp = 4, .dp = 2, .sequence_parallel = true};
  const auto by_rates = cost::predict_step(llama_13b, t, p, rates).value(),
             by_curves = cost::predict_step(llama_13b, t, p, same).value();
  CHECK(std::abs(by_curves.step_time() / by_rates.step_time() - 1) < 1e-12);
  // A measured collective replaces the link's rate, by kind and group; a latency per call is felt.
  same.add({cost::collective::all_gather, 4, cost::placement::node,
            curve::affine{.fixed = 50, .per_size = 1048576 / rates.tensor_bytes * 1e6}, "test"});
  const auto slower = cost::predict_step(llama_13b, t, p, same).value();
  // 2 forward, 2 backward, 2 of saved inputs; 40 layers, 8 micro-batches; 50 us each.
  CHECK(std::abs((slower.step_time() - by_curves.step_time()).count() - 6 * 40 * 8 * 50e-6) < 1e-9);
  CHECK(!same.covers({.kind = cost::collective::all_reduce, .ranks = 4}));
  CHECK(same.covers(
      {.bytes = cost::quantity<cost::units::bytes>(1048576), .kind = cost::collective::all_gather, .ranks = 4}));
  const auto band = cost::with_band(hocket::seconds(1), cost::machines::b200_fitted);
  CHECK((band.least.count() < 1 && band.most.count() > 1));
}

}  // namespace step_time
}  // namespace
