// SPDX-License-Identifier: Apache-2.0
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
    s.model = small_one ? cost::model{.hidden = 8192, .heads = 64, .kv_heads = 8, .head_dim = 128, .ffn = 28672}
                        : cost::model{.hidden = 16384, .heads = 128, .kv_heads = 8, .head_dim = 128, .ffn = 53248};
    s.model.layers = csv::number(r, "layers"), s.model.vocabulary = 128256;
    s.parallel = {.tp = csv::number(r, "tp"),
                  .pp = csv::number(r, "pp"),
                  .dp = csv::number(r, "dp"),
                  .cp = csv::number(r, "cp"),
                  .sequence_parallel = true,
                  .zero = cost::zero::optimizer};
    s.training = {.sequence = csv::number(r, "seq"),
                  .global_batch = csv::number(r, "micro_batch_count") * s.parallel.dp};
    s.seconds = std::stod(r.at("real_ms")) / 1e3;
    steps.push_back(s);
    if (rows) rows->push_back(r);
  }
  return steps;
}
