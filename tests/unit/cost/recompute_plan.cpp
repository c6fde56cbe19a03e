// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans by operation, layer and stage, against uniform recompute and sums written out here.
#include <hocket/cost/plan_report.hpp>

#include <algorithm>

#include "catch.hpp"

namespace {
namespace plans {
namespace cost = hocket::cost;

constexpr cost::model llama_13b{
    .layers = 40, .hidden = 5120, .heads = 40, .kv_heads = 40, .head_dim = 128, .ffn = 13824, .vocabulary = 32000};
constexpr std::int64_t s = 4096, h = 5120, f = 13824;

// Whole layers by their number in each stage.
cost::recompute_plan whole_layers(const cost::model& m, const cost::parallel& p, const std::vector<std::int64_t>& n) {
  cost::recompute_plan plan;
  plan.full = cost::first_layers(n, cost::layers_of_stages(m, p));
  return plan;
}

TEST_CASE("a plan that treats all layers alike is the uniform choice", "[cost]") {
  cost::model mixture = llama_13b;
  mixture.moe_layers = 40;
  mixture.experts = 8;
  mixture.active_experts = 2;
  mixture.expert_ffn = 512;
  mixture.ffn = 0;
  cost::model half = mixture;
  half.moe_layers = 20;
  half.ffn = 13824;
  cost::model windowed = llama_13b;
  windowed.window = 512;
  windowed.window_layers = 20;
  const cost::convention counted{.attention = cost::attention_count::window};
  for (const cost::model& m : {llama_13b, mixture, half, windowed})
    for (const std::int64_t vp : {1, 2}) {
      const cost::training t{.sequence = s, .global_batch = 64};
      cost::parallel p{.tp = 2, .pp = 4, .vp = vp, .dp = 2, .sequence_parallel = true, .offload_activations = vp == 2};
      const auto stages = cost::planned_stages(m, p, whole_layers(m, p, {10, 10, 10, 10})).value();
      const auto by_plan = cost::count_flops(m, t, p, counted, stages).value();
      cost::parallel full = p;
      full.recompute = cost::recompute::full;
      const auto uniform = cost::count_flops(m, t, full, counted).value();
      CHECK(by_plan.hardware_step == uniform.hardware_step);
      CHECK(by_plan.model_step == uniform.model_step);
      const auto parts = cost::even_parts(m, p);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto held = cost::held_by_1f1b(m, t, p, parts[i]).value();
        CHECK(cost::peak_memory(m, t, p, parts[i], held, stages[i]).value().total_bytes() ==
              cost::peak_memory(m, t, full, parts[i], held).value().total_bytes());
        CHECK(cost::activation_bytes(m, t, p, parts[i], held, stages[i]).value() ==
              cost::activation_bytes(m, t, full, parts[i], held).value());
      }
      // Groups that are taken apart are the same layers.
      auto apart = stages[1];
      const auto is_many = [](const cost::layer_group& g) { return g.count > 1; };
      if (const auto many = std::find_if(apart.begin(), apart.end(), is_many); many != apart.end()) {
        cost::layer_group one = *many;
        one.count = 1;
        --many->count;
        apart.push_back(one);
        const auto held = cost::held_by_1f1b(m, t, p, parts[1]).value();
        CHECK(cost::activation_bytes(m, t, p, parts[1], held, apart).value() ==
              cost::activation_bytes(m, t, p, parts[1], held, stages[1]).value());
      }
      // An operation everywhere, as a plan and as a set.
      cost::recompute_plan norms;
      norms.operations.push_back({hocket::cost::layer_operation::norm,
                                  cost::first_layers(cost::layers_of_stages(m, p), cost::layers_of_stages(m, p))});
      const auto by_name = cost::planned_stages(m, p, norms).value();
      CHECK(by_name == cost::even_stages(m, p, {.norm = true}));
    }
}

TEST_CASE("the guide's lists: recompute [4, 0], and SiLU and Mul in the other layers", "[cost]") {
  const cost::training t{.sequence = s, .global_batch = 128};
  const cost::parallel p{.pp = 2, .dp = 8};
  cost::recompute_plan plan = whole_layers(llama_13b, p, {4, 0});
  const auto each = cost::layers_of_stages(llama_13b, p);
  CHECK(each == std::vector<std::int64_t>{20, 20});
  plan.operations.push_back({cost::layer_operation::activation, cost::first_layers(each, each)});
  const auto stages = cost::planned_stages(llama_13b, p, plan).value();
  // Embedding; 4 whole layers; 16 with the activation. 20 with the activation; head.
  REQUIRE(stages[0].size() == 3);
  CHECK(stages[0][1].count == 4);
  CHECK(to_string(stages[0][1].how) == "full");
  CHECK(stages[0][2].count == 16);
  CHECK(to_string(stages[0][2].how) == "activation");
  REQUIRE(stages[1].size() == 2);
  CHECK(stages[1][0].count == 20);
  // Four layers more, forward: 2 s h (4 h + 3 f) and 4 h kappa a sequence.
  const cost::convention half{.attention = cost::attention_count::causal_half};
  const auto flops = cost::count_flops(llama_13b, t, p, half, stages).value();
  const std::int64_t layer = 2 * s * h * (4 * h + 3 * f) + 4 * h * (s * s / 2);
  CHECK(flops.hardware_step - flops.model_step == cost::rational(128) * cost::rational(4 * layer));
  const double share = flops.hardware_step.real() / flops.model_step.real() - 1;
  CHECK((share > 0.0325 && share < 0.0330));  // a tenth of a third, but for the head
  // What is kept, micro-batches of one sequence, two in flight on rank 0: the input of 4 layers, and of 16 all but the
  // activation's output.
  const auto held = cost::held_by_1f1b(llama_13b, t, p, cost::even_parts(llama_13b, p)[0]).value();
  const std::int64_t input = 2 * s * h, statistics = 4 * 40 * s;
  const std::int64_t without = 4 * input + 4 * input + statistics + 2 * 2 * s * f;  // norms, q k v o; gate and up
  const auto peak = cost::peak_memory(llama_13b, t, p, cost::even_parts(llama_13b, p)[0], held, stages[0]).value();
  CHECK(peak.kept_bytes == cost::rational(2 * (4 * input + 16 * without)));
  // And, for a moment, the layer that is being recomputed: all of it.
  CHECK(peak.at_backward_bytes == cost::rational(without + 2 * s * f));
}

TEST_CASE("plans by layer, and plans that do not fit", "[cost]") {
  const cost::parallel p{.pp = 2};
  cost::recompute_plan plan;
  plan.full = {std::vector<bool>(20, false), std::vector<bool>(20, false)};
  plan.full[1][3] = plan.full[1][4] = true;
  const auto stages = cost::planned_stages(llama_13b, p, plan).value();
  REQUIRE(stages[1].size() == 4);  // 3, 2, 15, head
  CHECK(stages[1][1].count == 2);
  CHECK(stages[1][1].how.level == cost::recompute::full);
  CHECK(stages[1][2].count == 15);
  plan.full[0].pop_back();
  CHECK(cost::planned_stages(llama_13b, p, plan).error().code == hocket::errc::bad_shape);
  plan.full.pop_back();
  CHECK(cost::planned_stages(llama_13b, p, plan).error().code == hocket::errc::bad_shape);

  // The report of a plan: each choice once, and the rest as it was.
  const cost::training t{.sequence = s, .global_batch = 8};
  auto report = cost::make_report(llama_13b, t, p, {}).value();
  const std::size_t lines = report.lines.size();
  const auto rows = cost::restate(report, llama_13b, t, p, {}, stages).value();
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].stage == 0);
  CHECK(rows[0].layers.count == 20);
  CHECK(rows[2].kept_bytes == cost::rational(2 * s * h));
  CHECK(rows[0].again_flops == cost::rational(0));
  bool full = false, none = false, uniform = false;
  for (const auto& line : report.lines) {
    full = full || line.group == "kept by one layer, recompute full";
    none = none || line.group == "kept by one layer, recompute none";
    uniform = uniform || line.group == "kept by one layer";
  }
  CHECK((full && none && !uniform));
  CHECK(report.lines.size() == lines + 1);  // the input of a layer that is computed again
  CHECK(cost::restate(report, llama_13b, t, p, {}, {}).error().code == hocket::errc::bad_shape);
}

}  // namespace plans
}  // namespace
