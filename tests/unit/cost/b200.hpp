// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The measured B200 rows as settings.
#pragma once
#include <hocket/cost/fit_machine.hpp>

#include <vector>

#include "csv.hpp"

inline std::vector<hocket::cost::measured_step> b200_dense_rows(std::vector<csv::row>* rows = nullptr) {
  namespace cost = hocket::cost;
  std::vector<cost::measured_step> steps;
  for (const auto& r : csv::read("simumax_b200_measured.csv")) {
    const bool small_one = r.at("model") == "llama3_70b";
    if (!small_one && r.at("model") != "llama3_405b") continue;
    cost::measured_step s;
    cost::model m = small_one
                      ? cost::model{.hidden = 8192, .heads = 64, .kv_heads = 8, .head_dim = 128, .ffn = 28672}
                      : cost::model{.hidden = 16384, .heads = 128, .kv_heads = 8, .head_dim = 128, .ffn = 53248};
    m.layers = csv::number(r, "layers");
    m.vocabulary = 128256;
    s.model = m;
    s.parallel = {.tp = csv::number(r, "tp"),
                  .pp = csv::number(r, "pp"),
                  .dp = csv::number(r, "dp"),
                  .cp = csv::number(r, "cp"),
                  .sequence_parallel = true,
                  .zero = cost::zero::optimizer};
    s.training = {.sequence = csv::number(r, "seq"),
                  .global_batch = csv::number(r, "micro_batch_count") * s.parallel.dp};
    s.step_time = hocket::seconds(std::stod(r.at("real_ms")) / 1e3);
    steps.push_back(s);
    if (rows) rows->push_back(r);
  }
  return steps;
}

// The rows with experts, whose launcher makes the first layer dense (--moe-layer-freq "[0]*1+[1]*…") for both models.
inline std::vector<hocket::cost::measured_step> b200_expert_rows(std::vector<csv::row>* rows = nullptr) {
  namespace cost = hocket::cost;
  std::vector<cost::measured_step> steps;
  for (const auto& r : csv::read("simumax_b200_measured.csv")) {
    const bool v2 = r.at("model") == "deepseekv2";
    if (!v2 && r.at("model") != "deepseekv3") continue;
    cost::measured_step s;
    cost::model m = v2 ? cost::model{.hidden = 5120, .ffn = 12288, .vocabulary = 102400}
                       : cost::model{.hidden = 7168, .ffn = 18432, .vocabulary = 129280};
    m.experts = v2 ? 160 : 256;
    m.active_experts = v2 ? 6 : 8;
    m.expert_ffn = v2 ? 1536 : 2048;
    m.shared_ffn = v2 ? 3072 : 2048;
    m.heads = m.kv_heads = m.head_dim = 128;
    m.latent = true;
    m.query_rank = 1536;
    m.kv_rank = 512;
    m.nope_dim = 128;
    m.rope_dim = 64;
    m.value_dim = 128;
    m.layers = csv::number(r, "layers");
    m.moe_layers = m.layers - 1;
    s.model = m;
    s.parallel = {.tp = csv::number(r, "tp"),
                  .pp = csv::number(r, "pp"),
                  .dp = csv::number(r, "dp"),
                  .cp = csv::number(r, "cp"),
                  .ep = csv::number(r, "ep"),
                  .sequence_parallel = true,
                  .zero = cost::zero::optimizer};
    s.training = {.sequence = csv::number(r, "seq"),
                  .global_batch = csv::number(r, "micro_batch_count") * s.parallel.dp};
    s.step_time = hocket::seconds(std::stod(r.at("real_ms")) / 1e3);
    steps.push_back(s);
    if (rows) rows->push_back(r);
  }
  return steps;
}
