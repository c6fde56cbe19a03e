// SPDX-License-Identifier: Apache-2.0
// FLOPs against the output of Megatron-LM's own function, exact in its convention.
#include <hocket/cost/flops.hpp>
#include <hocket/interop/hugging_face.hpp>

#include <map>

#include "catch.hpp"
#include "published_models.hpp"

namespace cost = hocket::cost;

TEST_CASE("FLOPs of a step equal Megatron-LM's, in its convention", "[cost]") {
  std::map<std::string, cost::model> models;
  for (const auto& r : csv::read("models.csv")) {
    const auto m = hocket::hugging_face::read_model(config_of(r));
    REQUIRE(m);
    models.emplace(r.at("name"), *m);
  }
  int rows = 0;
  for (const auto& r : csv::read("megatron_flops.csv")) {
    INFO(r.at("model") << " s " << r.at("seq_len") << " B " << r.at("global_batch"));
    cost::model m = models.at(r.at("model"));
    m.vocabulary = csv::number(r, "padded_vocab");
    const cost::training t{.sequence = csv::number(r, "seq_len"), .global_batch = csv::number(r, "global_batch")};
    const auto count = cost::count_flops(m, t, cost::parallel{}, cost::convention::megatron());
    REQUIRE(count);
    CHECK(to_string(count->model_step) == r.at("flops_total"));
    CHECK(count->hardware_step == count->model_step);
    ++rows;
  }
  CHECK(rows == 197);
}
