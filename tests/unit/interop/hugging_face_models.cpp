// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every model of models.csv: config.json -> model -> parameter count, against the published total.
#include <hocket/cost/model/list_cost.hpp>
#include <hocket/interop/hugging_face.hpp>

#include "../cost/published_models.hpp"
#include "catch.hpp"

#include <fstream>

namespace cost = hocket::cost;

TEST_CASE("parameter counts equal the published totals, to the last digit", "[cost][hugging_face]") {
  int exact = 0;
  for (const auto& r : csv::read("models.csv")) {
    INFO(r.at("name"));
    const auto config = hocket::hugging_face::read_config(config_of(r));
    REQUIRE(config);
    const auto count = cost::count_parameters(config->model);
    REQUIRE(count);
    CHECK(count->total == csv::number(r, "computed_total"));
    if (csv::number(r, "n_experts") == 0) CHECK(count->active == count->total);
    if (r.at("published").empty()) continue;
    CHECK(count->total == csv::number(r, "published"));
    ++exact;
  }
  CHECK(exact == 39);
}

TEST_CASE("the groups of terms add up to the published components", "[cost][hugging_face]") {
  for (const auto& r : csv::read("models.csv")) {
    INFO(r.at("name"));
    const auto config = hocket::hugging_face::read_config(config_of(r));
    REQUIRE(config);
    const cost::model& m = config->model;
    const cost::layer_list list = m;
    long long embedding = 0, head = 0, norms = 0;
    const auto add = [&](const cost::term_view& t) {
      const auto value = static_cast<long long>(t.amount().num());
      if (t.name.find("embedding") != t.name.npos) embedding += value;
      if (t.name.find("head") != t.name.npos) head += value;
      if (t.name == "norms" || t.name == "final norm") norms += value;
    };
    cost::for_each_term(cost::end_parameter_terms, cost::numbers_of(cost::setting{.sizes = list.sizes}), add);
    for (const cost::repeated_layer& run : list.layers)
      for (const cost::block& b : run.blocks)
        cost::visit_block(b, {.on_rank = {.layers = run.count}, .sizes = list.sizes},
                          [&](const cost::block_terms& lists, const cost::numbers_view& numbers) {
                            cost::for_each_term(lists.parameters, numbers, add);
                          });
    // BLOOM's norm of the embedding counts as a norm in the file.
    const long long embedding_norm = m.embedding_norm ? 2 * m.hidden : 0;
    CHECK(embedding - embedding_norm == csv::number(r, "embedding_params"));
    CHECK(head == csv::number(r, "lm_head_params"));
    if (!m.qk_norm) CHECK(norms + embedding_norm == csv::number(r, "norm_params"));
  }
}

TEST_CASE("one published model or more of each further family", "[cost][hugging_face]") {
  std::ifstream file(std::string(HOCKET_TEST_DATA) + "/cost/families.json");
  REQUIRE(file);
  const auto families = nlohmann::json::parse(file);
  CHECK(families.size() >= 38);
  for (const auto& [name, model] : families.items()) {
    INFO(name);
    const auto config = hocket::hugging_face::read_config(model.at("config"));
    REQUIRE(config);
    CHECK(cost::count_parameters(config->model).value().total == model.at("published").get<long long>());
  }
}
