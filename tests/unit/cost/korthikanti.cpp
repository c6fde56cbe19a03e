// SPDX-License-Identifier: Apache-2.0
// arXiv:2205.05198: table 2 (bytes kept by a layer), tables 3 and 5 (MFU, HFU).
#include <hocket/cost/activations.hpp>
#include <hocket/cost/closed_forms.hpp>
#include <hocket/cost/static_memory.hpp>
#include <hocket/cost/utilization.hpp>

#include <cmath>

#include "catch.hpp"
#include "csv.hpp"

namespace cost = hocket::cost;

namespace {
cost::model gpt(std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  return {.layers = layers,
          .hidden = hidden,
          .heads = heads,
          .kv_heads = heads,
          .head_dim = hidden / heads,
          .ffn = 4 * hidden,
          .vocabulary = 51200,
          .ffn_matrices = 2,
          .norm_weights = 2};
}
bool near(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance; }
}  // namespace

TEST_CASE("the tensors a layer keeps add up to table 2, and to its closed forms", "[cost]") {
  int rows = 0;
  for (const auto& r : csv::read("korthikanti_table2_vectors.csv")) {
    const std::string config = r.at("config");
    INFO(r.at("model") << " " << config);
    const cost::model m = gpt(1, csv::number(r, "h"), csv::number(r, "a"));
    const cost::training t{
        .sequence = csv::number(r, "s"), .micro_batch = csv::number(r, "b"), .flash_attention = false, .dropout = true};
    cost::parallel p;
    if (config.find("tp") == 0) p.tp = csv::number(r, "t");
    p.sequence_parallel = config.find("+sp") != config.npos;
    if (config.find("selective") != config.npos) p.recompute = cost::recompute::selective;
    if (config.find("full") != config.npos) p.recompute = cost::recompute::full;
    const auto bytes = cost::layer_activation_bytes(m, t, p);
    REQUIRE(bytes);
    // The file went through floating point: 2868903936.0000001.
    CHECK(near(bytes->real(), std::stod(r.at("bytes_per_layer")), 1e-3));

    const cost::environment numbers(m, t, p);
    const auto closed = [&](const auto& f) { return cost::exact(f, numbers).value() == *bytes; };
    if (config == "no_parallelism") CHECK(closed(cost::korthikanti::no_parallelism));
    if (config == "tp") CHECK(closed(cost::korthikanti::tensor));
    if (config == "tp+sp") CHECK(closed(cost::korthikanti::tensor_sequence));
    if (config == "tp+selective") CHECK(closed(cost::korthikanti::tensor_selective));
    if (config == "tp+sp+selective") CHECK(closed(cost::korthikanti::tensor_sequence_selective));
    if (config == "full_recompute") CHECK(closed(cost::korthikanti::full));
    ++rows;
  }
  CHECK(rows == 24);
}

TEST_CASE("MFU and HFU of tables 3 and 5, within 0.2 point of the published figures", "[cost]") {
  int rows = 0;
  for (const auto& r : csv::read("korthikanti_table5.csv")) {
    INFO(r.at("model"));
    const cost::model m = gpt(csv::number(r, "layers"), csv::number(r, "hidden"), csv::number(r, "heads"));
    const cost::training t{.sequence = csv::number(r, "seq"), .global_batch = csv::number(r, "global_batch")};
    const cost::parallel p{
        .tp = csv::number(r, "tp"), .pp = csv::number(r, "pp"), .recompute = cost::recompute::selective};
    REQUIRE(p.devices() == csv::number(r, "gpus"));
    const double seconds = std::stod(r.at("iter_s_present_work"));
    const cost::convention counted{.attention = cost::attention_count::full,
                                   .replay = cost::recompute_count::korthikanti};
    const auto mfu = cost::utilization_of<cost::work::model>(m, t, p, counted, seconds, 312e12);
    const auto hfu = cost::utilization_of<cost::work::hardware>(m, t, p, counted, seconds, 312e12);
    REQUIRE(mfu);
    REQUIRE(hfu);
    CHECK(near(100 * mfu->ratio_by_convention(), std::stod(r.at("mfu_pct_published")), 0.2));
    CHECK(near(100 * hfu->ratio_by_convention(), std::stod(r.at("hfu_pct_published")), 0.2));
    // One more forward pass of what is recomputed, as it is really computed: the other reading, by its name.
    const auto exact = cost::convert(*hfu, {.attention = cost::attention_count::full}, m, t, p);
    REQUIRE(exact);
    CHECK(near(100 * exact->ratio_by_convention(), std::stod(r.at("recomputed_hfu_four_thirds")), 0.006));

    const cost::environment numbers(m, t);
    const auto count = cost::count_flops(m, t, p, counted);
    REQUIRE(count);
    CHECK(count->model_step == cost::exact(cost::korthikanti::model_flops, numbers).value());
    CHECK(count->hardware_step == cost::exact(cost::korthikanti::selective_flops, numbers).value());
    ++rows;
  }
  CHECK(rows == 4);
}

TEST_CASE("the guide's closed rows equal the sum of terms for grouped queries", "[cost]") {
  for (const std::int64_t groups : {1, 4, 8}) {
    cost::model m = gpt(24, 4096, 32);
    m.kv_heads = m.heads / groups;
    const cost::training t{.sequence = 2048, .global_batch = 8};
    const cost::environment numbers(m, t);
    const cost::convention counted{.attention = cost::attention_count::full};
    const auto hardware = [&](cost::recompute r) {
      return cost::count_flops(m, t, cost::parallel{.recompute = r}, counted).value().hardware_step;
    };
    CHECK(hardware(cost::recompute::none) == cost::exact(cost::mindformers::model_flops, numbers).value());
    CHECK(hardware(cost::recompute::selective) == cost::exact(cost::mindformers::selective_flops, numbers).value());
    CHECK(hardware(cost::recompute::full) == cost::exact(cost::mindformers::full_flops, numbers).value());
  }
}

TEST_CASE("static memory by ZeRO level: 16 bytes a parameter, divided as the paper says", "[cost]") {
  const cost::rank_parameters n{.dense = 7'500'000'000, .expert = 0};
  const cost::training t{.gradient_bytes = 2};  // 2 + 2 + (4 + 8)
  const auto gb = [&](cost::zero level) {
    return cost::static_bytes(n, t, cost::parallel{.dp = 64, .zero = level}).value().real() / 1e9;
  };
  // arXiv:1910.02054, figure 1: 120, 31.4, 16.6, 1.9 GB for 7.5e9 parameters on 64 ranks.
  CHECK(near(gb(cost::zero::none), 120, 1e-9));
  CHECK(near(gb(cost::zero::optimizer), 31.4, 0.05));
  CHECK(near(gb(cost::zero::gradients), 16.6, 0.05));
  CHECK(near(gb(cost::zero::weights), 1.9, 0.05));
}
