// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// FLOPs and memory against the output of other systems' own functions, each in its convention.
#include <hocket/cost/model/list_cost.hpp>
#include "closed_forms.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "catch.hpp"
#include "published_models.hpp"

namespace cost = hocket::cost;

TEST_CASE("sizes of the models that peers name add up to their published totals", "[cost]") {
  for (const auto& [name, size] : more_models()) {
    INFO(name);
    CHECK(cost::count_parameters(size.model).value().total == size.total);
  }
}

TEST_CASE("FLOPs of a step equal Megatron-LM's, in its convention", "[cost]") {
  int rows = 0, packed_rows = 0;
  for (const auto& r : csv::read("megatron_flops.csv")) {
    INFO(r.at("model") << " s " << r.at("seq_len") << " B " << r.at("global_batch"));
    const bool predicts = r.at("model") == "deepseek-v3+mtp1";
    cost::model m = all_models().at(predicts ? "deepseek-v3" : r.at("model"));
    m.mtp_layers = predicts ? 1 : 0;
    m.vocabulary = csv::number(r, "padded_vocab");
    const bool packed = r.at("global_batch").find("packed") == 0;
    cost::training t{.sequence = csv::number(r, "seq_len")};
    if (packed) {
      t.squared_lengths = csv::number(r, "seqlen_squared_sum");
      t.sequence = csv::number(r, "total_tokens");
      ++packed_rows;
    } else {
      t.global_batch = csv::number(r, "global_batch");
    }
    const auto count = cost::count_flops(m, t, cost::parallel{}, cost::convention::megatron());
    REQUIRE(count);
    CHECK(std::abs(count->model_step.real() / std::stod(r.at("flops_total")) - 1) < 1e-15);
    if (r.at("flops_total").find('.') == std::string::npos) CHECK(to_string(count->model_step) == r.at("flops_total"));
    CHECK(count->hardware_step == count->model_step);
    ++rows;
  }
  CHECK(rows == 302);
  CHECK(packed_rows > 0);
}

TEST_CASE("memory of the most loaded rank equals Megatron-LM's, in its convention", "[cost]") {
  int rows = 0, wrong = 0;
  for (const auto& r : csv::read("megatron_memory.csv")) {
    const auto n = [&](const char* column) { return csv::number(r, column); };
    cost::model m = all_models().at(r.at("model"));
    m.vocabulary = n("padded_vocab");
    const cost::parallel p{.tp = n("tp"),
                           .pp = n("pp"),
                           .vp = n("vpp"),
                           .dp = n("dp"),
                           .ep = n("ep"),
                           .etp = n("etp"),
                           .zero = n("dist_opt") != 0 ? cost::zero::optimizer : cost::zero::none};
    const cost::training t{.sequence = n("seq_len"),
                           .micro_batch = n("micro_batch"),
                           .global_batch = n("micro_batch") * n("dp") * n("num_microbatches")};
    const cost::environment numbers(m, t, p);
    // The file went through floating point.
    const auto equals = [&](const auto& formula, const char* column) {
      return std::abs(cost::exact(formula, numbers).value().real() / std::stod(r.at(column)) - 1) < 1e-15;
    };
    if (!equals(cost::megatron::static_bytes, "weight_opt_bytes") ||
        !equals(cost::megatron::activation_bytes, "act_bytes_sp_selective") ||
        !equals(cost::megatron::activation_bytes_without_sp, "act_bytes_without_sp")) {
      ++wrong;
      UNSCOPED_INFO(r.at("model") << " tp " << p.tp << " pp " << p.pp << " dp " << p.dp);
    }
    ++rows;
  }
  CHECK(wrong == 0);
  CHECK(rows == 1616);
}

TEST_CASE("FLOPs per token are those of Megatron-Bridge's measured runs", "[cost]") {
  std::vector<double> differences;
  for (const auto& r : csv::read("megatron_bridge_perf.csv")) {
    if (r.at("model_csv_name").empty()) continue;
    cost::model m = all_models().at(r.at("model_csv_name"));
    if (r.at("model_csv_name") == "deepseek-v3") m.mtp_layers = 1;
    const cost::training t{.sequence = csv::number(r, "seq"), .global_batch = 1};
    const double ours = cost::count_flops(m, t, {}, cost::convention::megatron()).value().model_step.real() /
                        static_cast<double>(t.sequence);
    differences.push_back(std::abs(std::stod(r.at("implied_flops_per_token")) / ours - 1));
  }
  std::sort(differences.begin(), differences.end());
  REQUIRE(differences.size() > 80);
  CHECK(differences[differences.size() / 2] <= 1e-3);
}

TEST_CASE("FLOPs of nanotron and torchtitan, in their conventions", "[cost]") {
  int rows = 0;
  for (const auto& r : csv::read("nanotron_flops.csv")) {
    INFO(r.at("model") << " s " << r.at("seq"));
    const cost::training t{.sequence = csv::number(r, "seq"), .global_batch = csv::number(r, "batch")};
    const auto count =
        cost::count_flops(all_models().at(r.at("model")), t, {}, {.attention = cost::attention_count::full});
    CHECK(to_string(count.value().model_step) == r.at("model_flops"));
    ++rows;
  }
  CHECK(rows == 37);
  for (const auto& r : csv::read("torchtitan_flops_per_token.csv")) {
    INFO(r.at("model") << " s " << r.at("seq"));
    const cost::model& m = all_models().at(r.at("model"));
    const cost::rank_parameters n{cost::count_parameters(m).value().total, 0};
    const cost::training t{.sequence = csv::number(r, "seq")};
    CHECK(n.dense == csv::number(r, "nparams"));
    CHECK(cost::to_string(cost::whole(cost::torchtitan::flops_per_token, cost::environment(m, t, n)).value()) ==
          r.at("flops_per_token"));
    ++rows;
  }
  CHECK(rows == 37 + 22);
}
