// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Published tables: FLOPs, utilization, memory, communication, bubble, activations in flight.
#include <hocket/cost/model/activations.hpp>
#include <hocket/cost/model/communication.hpp>
#include <hocket/cost/model/in_flight.hpp>
#include <hocket/cost/model/list_cost.hpp>
#include <hocket/cost/model/utilization.hpp>
#include "closed_forms.hpp"

#include <cmath>

#include "catch.hpp"
#include "csv.hpp"
#include "equal_layers.hpp"

namespace {
namespace published {

namespace cost = hocket::cost;

cost::model gpt(const csv::row& r) {
  const auto h = csv::number(r, "hidden"), a = csv::number(r, "heads");
  return {.layers = csv::number(r, "layers"),
          .hidden = h,
          .heads = a,
          .kv_heads = a,
          .head_dim = h / a,
          .ffn = 4 * h,
          .vocabulary = 51200,
          .ffn_matrices = 2,
          .norm_weights = 2};
}
double number(const csv::row& r, const char* column) { return std::stod(r.at(column)); }
bool within(double a, double b, double relative) { return std::abs(a / b - 1) <= relative; }

TEST_CASE("SC21 table 1: parameters and FLOPs of a step to the last digit printed, throughput, share of the peak",
          "[cost]") {
  int rows = 0;
  for (const auto& r : csv::read("sc21_table1.csv")) {
    INFO(r.at("params_b") << " billion");
    const cost::model m = gpt(r);
    const cost::training t{.sequence = csv::number(r, "seq"), .global_batch = csv::number(r, "global_batch")};
    const cost::environment numbers(m, t);
    CHECK(within(cost::exact(cost::sc21::parameters, numbers).value().real(), number(r, "params_formula"), 1e-9));
    const auto closed = cost::exact(cost::sc21::flops_of_step, numbers).value();
    CHECK(within(closed.real(), number(r, "flops_per_iter_96"), 5e-7));  // seven digits in the file
    const auto count =
        cost::count_flops(m, t, {.recompute = cost::recompute::full}, {.attention = cost::attention_count::full});
    CHECK(count.value().hardware_step == closed);
    const double seconds = number(r, "iter_seconds_implied"), gpus = number(r, "gpus");
    CHECK(within(closed.real() / seconds / gpus / 1e12, number(r, "tflops_per_gpu"), 5e-4));
    CHECK(within(number(r, "tflops_per_gpu") * gpus / 1e3, number(r, "aggregate_pflops"), 0.01));
    CHECK(std::abs(number(r, "tflops_per_gpu") / 3.12 - number(r, "pct_peak")) <= 0.51);  // printed without decimals
    ++rows;
  }
  CHECK(rows == 10);
}

TEST_CASE("SC21 table 2: days of training on 300 billion tokens, by equation 3", "[cost]") {
  int rows = 0;
  for (const auto& r : csv::read("sc21_table2.csv")) {
    const bool gpt3 = r.at("params_b") == "174.6";
    const cost::model m{.layers = gpt3 ? 96 : 105, .hidden = gpt3 ? 12288 : 20480, .vocabulary = 51200};
    const cost::training one_sequence{.sequence = 2048, .global_batch = 1};
    const double flops =
        cost::exact(cost::sc21::flops_of_step, cost::environment(m, one_sequence)).value().real() / 2048 * 300e9;
    const double days = flops / (number(r, "gpus") * number(r, "tflops_per_gpu") * 1e12) / 86400;
    CHECK(within(days, number(r, "computed_days"), 1e-4));
    CHECK(within(days, number(r, "train_days_300B"), 0.015));
    ++rows;
  }
  CHECK(rows == 12);
}

TEST_CASE("MT-NLG: TFLOP/s of a device from its times", "[cost]") {
  for (const auto& r : csv::read("mtnlg.csv")) {
    const cost::model m{.layers = 105, .hidden = 20480, .vocabulary = 51200};
    const cost::training t{.sequence = 2048, .global_batch = csv::number(r, "global_batch")};
    const double rate = cost::exact(cost::sc21::flops_of_step, cost::environment(m, t)).value().real() /
                        number(r, "iter_s") / number(r, "gpus") / 1e12;
    INFO(r.at("gpus") << " devices: " << rate);
    CHECK(within(rate, number(r, "tflops_per_gpu"), 0.006));
  }
}

TEST_CASE("PaLM: MFU with and without attention, within 0.2 point", "[cost]") {
  int rows = 0;
  for (const auto& r : csv::read("palm_mfu.csv")) {
    if (r.at("tokens_per_s").empty()) continue;
    INFO(r.at("model"));
    const cost::model m{.layers = csv::number(r, "L"), .heads = csv::number(r, "H"), .head_dim = csv::number(r, "Q")};
    const cost::training t{.sequence = csv::number(r, "T")};
    const cost::rank_parameters n{static_cast<std::int64_t>(number(r, "N")), 0};
    const cost::environment numbers(m, t, n);
    const double tokens_flops = number(r, "chips") * number(r, "peak_flops") / number(r, "tokens_per_s");
    const double with = cost::exact(cost::palm::flops_per_token, numbers).value().real() / tokens_flops,
                 without = cost::exact(cost::palm::weights_flops_per_token, numbers).value().real() / tokens_flops;
    CHECK(std::abs(100 * with - number(r, "mfu_pct")) <= 0.2);
    CHECK(std::abs(100 * without - number(r, "mfu_no_attn_pct")) <= 0.2);
    ++rows;
  }
  CHECK(rows == 2);
}

TEST_CASE("Llama 3 table 4 and DeepSeek-V3: rates and hours agree with each other", "[cost]") {
  const cost::model m{
      .layers = 126, .hidden = 16384, .heads = 128, .kv_heads = 8, .head_dim = 128, .ffn = 53248, .vocabulary = 128256};
  for (const auto& r : csv::read("llama3_table4.csv")) {
    const cost::parallel p{
        .tp = csv::number(r, "tp"), .pp = csv::number(r, "pp"), .dp = csv::number(r, "dp"), .cp = csv::number(r, "cp")};
    CHECK(p.devices() == csv::number(r, "gpus"));
    const cost::training t{.sequence = csv::number(r, "seq"),
                           .global_batch = csv::number(r, "batch_per_dp") * csv::number(r, "dp")};
    const auto f = cost::count_flops(m, t, p, {.attention = cost::attention_count::causal_half}).value();
    const double seconds = f.model_step.real() / (number(r, "gpus") * number(r, "tflops_per_gpu") * 1e12);
    const auto mfu =
        cost::utilization_of<cost::work::model>(m, t, p, f.counted, hocket::seconds(seconds), 989e12).value();
    CHECK(std::abs(100 * mfu.ratio_by_convention() - number(r, "recomputed_mfu")) <= 0.05);
    // A ratio of FLOPs in which the FLOPs cancel: exactly the table's rate over the peak.
    CHECK(std::abs(mfu.ratio_by_convention() / (number(r, "tflops_per_gpu") / 989) - 1) < 1e-12);
    // The paper prints 43, 41 and 38 % beside 430, 400 and 380 TFLOP/s. By these rates they are 43.48, 40.44 and
    // 38.42 %: no formula gives both columns of one row within 0.2 point. They agree only within their rounding: a rate
    // that rounds to the printed one, to tens, has an MFU that rounds to the printed one.
    const double printed = number(r, "bf16_mfu_pct"), rate = number(r, "tflops_per_gpu");
    const double least = 100 * (rate - 5) / 989, most = 100 * (rate + 5) / 989;
    CHECK((least < printed + 0.5 && most > printed - 0.5));
    if (rate == 400) CHECK(std::abs(100 * rate / 989 - printed) > 0.5);  // no rounding of 40.44 prints 41
  }
  std::map<std::string, double> v3;
  for (const auto& r : csv::read("deepseek_v3_cost.csv")) v3[r.at("quantity")] = number(r, "value");
  CHECK(v3.at("per_trillion_tokens") * 14.8 == v3.at("pretrain_gpu_hours"));
  CHECK(within(v3.at("per_trillion_tokens") / v3.at("gpus") / 24, v3.at("days_per_trillion"), 0.015));
}

TEST_CASE("figure 1: activations of the first rank and 18 bytes a parameter; figure 7: what is left", "[cost]") {
  struct size {
    std::int64_t layers, hidden, heads, pp, vp, b;
  };
  const std::map<std::string, size> sizes{{"22B", {48, 6144, 64, 1, 1, 4}},
                                          {"175B", {96, 12288, 96, 8, 3, 1}},
                                          {"530B", {105, 20480, 128, 35, 3, 1}},
                                          {"1T", {128, 25600, 160, 64, 1, 1}}};
  const auto layer = [&](const size& x, bool sequence, cost::recompute level) {
    const cost::model m{.layers = 1,
                        .hidden = x.hidden,
                        .heads = x.heads,
                        .kv_heads = x.heads,
                        .head_dim = x.hidden / x.heads,
                        .ffn = 4 * x.hidden,
                        .ffn_matrices = 2};
    const cost::training t{.sequence = 2048, .micro_batch = x.b, .flash_attention = false, .dropout = true};
    return equal_layers::kept_by_last(m, t, {.tp = 8, .sequence_parallel = sequence, .recompute = level})
        .value()
        .real();
  };
  int rows = 0;
  for (const auto& r : csv::read("korthikanti_fig1_memory.csv")) {
    INFO(r.at("model") << " " << r.at("mode"));
    const size& x = sizes.at(r.at("model"));
    const bool reduced = r.at("mode") == "seqsel";
    const double one = layer(x, reduced, reduced ? cost::recompute::selective : cost::recompute::none);
    const double passes = static_cast<double>(x.layers) *
                          (x.vp > 1 ? 1 + static_cast<double>(x.pp - 1) / static_cast<double>(x.pp * x.vp) : 1.0);
    CHECK(within(one * passes / 1073741824, number(r, "activation_gib"), 1e-9));
    const double weights = 12.0 * static_cast<double>(x.layers * x.hidden * x.hidden) / static_cast<double>(8 * x.pp);
    CHECK(within(18 * weights / 1073741824, number(r, "param_opt_gib"), 1e-9));
    ++rows;
  }
  CHECK(rows == 8);
  for (const auto& r : csv::read("korthikanti_fig7_pct.csv")) {
    const size& x = sizes.at(r.at("model"));
    const double base = layer(x, false, cost::recompute::none) / 100;
    CHECK(std::abs(layer(x, true, cost::recompute::none) / base - number(r, "seq_par")) < 0.15);
    CHECK(std::abs(layer(x, false, cost::recompute::selective) / base - number(r, "selective")) < 0.15);
    CHECK(std::abs(layer(x, true, cost::recompute::selective) / base - number(r, "seq+selective")) < 0.15);
  }
}

TEST_CASE("communication volumes are those of the papers", "[cost]") {
  int rows = 0;
  for (const auto& r : csv::read("comm_volume.csv")) {
    INFO(r.at("kind") << " " << r.at("h") << " " << r.at("note_or_params"));
    const std::string kind = r.at("kind");
    const std::int64_t n = csv::number(r, "group");
    // One byte per element: bytes are elements.
    cost::setting all{};
    all.training.activation_bytes = all.training.weight_bytes = all.training.gradient_bytes = 1;
    double sent = 0;
    const auto add = [&](const auto& list, auto&& wanted) {
      const auto numbers = cost::numbers_of(all);
      cost::for_each_term(list, numbers, [&](const auto& x) {
        if (wanted(x)) sent += cost::exact(x.formula, numbers).value().real();
      });
    };
    if (r.at("s").empty()) {
      all.parallel.dp = n;
      all.parallel.zero = kind == "ddp_allreduce" ? cost::zero::none
                        : kind == "zero1_rs+ag"   ? cost::zero::optimizer
                        : kind == "zero2_rs+ag"   ? cost::zero::gradients
                                                  : cost::zero::weights;
      all.parameters.dense = csv::number(r, "note_or_params");
      add(cost::data_transfer_terms, [](const auto&) { return true; });
    } else {
      all.training.sequence = csv::number(r, "s");
      all.training.micro_batch = csv::number(r, "b");
      all.sizes.hidden = csv::number(r, "h");
      all.parallel.tp = n;
      all.on_rank.layers = 1;
      all.parallel.sequence_parallel =
          kind.find("+sp") != kind.npos || r.at("note_or_params") == "scatter/gather or SP";
      if (kind.find("pp_p2p") == 0) {
        all.parallel.pp = 2;
        add(cost::pipeline_transfer_terms, [](const auto& x) { return x.in == cost::pass_kind::forward; });
      } else {
        const bool extra = kind.find("extra") != kind.npos;
        const auto of_pass = [&](const auto& x) { return (x.in == cost::pass_kind::again) == extra; };
        add(cost::formulas_of<cost::attention>::lists().tensor_transfers, of_pass);
        add(cost::formulas_of<cost::feed_forward>::lists().tensor_transfers, of_pass);
      }
    }
    CHECK(sent == number(r, "value"));
    ++rows;
  }
  CHECK(rows == 37);
}

TEST_CASE("what is sharded moves with every micro-batch", "[cost]") {
  cost::setting all{};
  all.training.weight_bytes = all.training.gradient_bytes = 1;
  all.training.micro_batch = 2;
  all.parallel.dp = 4;
  all.parameters = {4000, 800};
  const auto sent = [&](cost::zero level, std::int64_t micro_batches) {
    all.parallel.zero = level;
    all.training.global_batch = micro_batches * 2 * 4;
    const auto numbers = cost::numbers_of(all);
    cost::rational sum = 0;
    cost::for_each_term(cost::data_transfer_terms, numbers,
                        [&](const auto& x) { sum = sum + cost::exact(x.formula, numbers).value(); });
    return sum;
  };
  const cost::rational once = 4800 * 3 / 4;  // a ring over four ranks
  for (const std::int64_t m : {1, 2, 7}) {
    CHECK(sent(cost::zero::none, m) == once * 2);
    CHECK(sent(cost::zero::optimizer, m) == once * 2);
    CHECK(sent(cost::zero::gradients, m) == once * (m + 1));
    CHECK(sent(cost::zero::weights, m) == once * (3 * m));
  }
}

TEST_CASE("the bubble and what is in flight under 1F1B", "[cost]") {
  int rows = 0;
  for (const auto& r : csv::read("pipeline_bubble.csv")) {
    const cost::parallel p{.pp = csv::number(r, "p"), .vp = csv::number(r, "v")};
    const cost::training t{.global_batch = csv::number(r, "m")};
    const cost::environment numbers(t, p);
    CHECK(std::abs(cost::real(cost::bubble_over_work, numbers) - number(r, "bubble_over_ideal")) < 1e-9);
    CHECK(std::abs(cost::real(cost::bubble_over_total, numbers) - number(r, "bubble_over_total")) < 1e-9);
    ++rows;
  }
  CHECK(rows == 135);
  for (const auto& r : csv::read("inflight_1f1b_vpp.csv")) {
    const cost::part on_rank{.rank = csv::number(r, "stage")};
    const cost::parallel p{.pp = csv::number(r, "p"), .vp = csv::number(r, "vpp")};
    const cost::training t{.global_batch = csv::number(r, "micro_batches")};
    const auto chunks = cost::whole(cost::chunks_in_flight, cost::environment(on_rank, t, p)).value();
    const auto theirs = csv::number(r, "megatron_inflight_chunks");
    // Their formula goes on where their schedule does not: with fewer micro-batches than ranks less is held.
    if (p.vp > 1 && t.global_batch < p.pp) CHECK(chunks <= theirs);
    else CHECK(chunks == theirs);
    ++rows;
  }
  CHECK(rows == 135 + 223);
}

}  // namespace published
}  // namespace
