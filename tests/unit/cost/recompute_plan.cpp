// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans by operation, layer and rank, against layers that are all recomputed alike and sums written out here.
#include <hocket/cost/model/recompute_plan.hpp>
#include <hocket/cost/model/uniform_list.hpp>
#include <hocket/cost/report.hpp>

#include <algorithm>

#include "catch.hpp"

namespace {
namespace plans {
namespace cost = hocket::cost;

constexpr cost::model llama_13b{
    .layers = 40, .hidden = 5120, .heads = 40, .kv_heads = 40, .head_dim = 128, .ffn = 13824, .vocabulary = 32000};
constexpr std::int64_t s = 4096, h = 5120, f = 13824;

std::vector<cost::rank_layers> planned(const cost::layer_list& list, const cost::parallel& p,
                                       const cost::recompute_plan& plan) {
  return cost::with_plan(cost::layers_of_ranks(list, p).value(), plan).value();
}
// Whole layers by their number in each rank.
cost::recompute_plan whole_layers(const cost::layer_list& list, const cost::parallel& p,
                                  const std::vector<std::int64_t>& n) {
  cost::recompute_plan plan;
  plan.full = cost::first_layers(n, cost::layer_counts(cost::layers_of_ranks(list, p).value()));
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
  for (const cost::layer_list list : {llama_13b, mixture, half, windowed})
    for (const std::int64_t vp : {1, 2}) {
      const cost::training t{.sequence = s, .global_batch = 64};
      cost::parallel p{.tp = 2, .pp = 4, .vp = vp, .dp = 2, .sequence_parallel = true, .offload_activations = vp == 2};
      const auto ranks = planned(list, p, whole_layers(list, p, {10, 10, 10, 10}));
      const auto by_plan = cost::count_flops(list, t, p, counted, ranks).value();
      cost::parallel full = p;
      full.recompute = cost::recompute::full;
      const auto uniform = cost::count_flops(list, t, full, counted).value();
      CHECK(by_plan.hardware_step == uniform.hardware_step);
      CHECK(by_plan.model_step == uniform.model_step);
      const auto alike = cost::layers_of_ranks(list, full).value();
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        const auto held = cost::held_share_by_1f1b(t, p, static_cast<std::int64_t>(i)).value();
        const auto mine = cost::memory_of_rank(list, ranks[i], t, p, held).value(),
                   theirs = cost::memory_of_rank(list, alike[i], t, full, held).value();
        CHECK(mine.peak.total_bytes() == theirs.peak.total_bytes());
        CHECK(mine.activation_bytes == theirs.activation_bytes);
      }
      // Runs that are taken apart are the same layers.
      cost::rank_layers apart = ranks[1];
      const auto is_many = [](const cost::rank_run& run) { return run.count > 1; };
      const auto many = std::find_if(apart.layers.begin(), apart.layers.end(), is_many);
      if (many != apart.layers.end()) {
        cost::rank_run one = *many;
        one.count = 1;
        --many->count;
        apart.layers.insert(many, one);
        const auto held = cost::held_share_by_1f1b(t, p, 1).value();
        CHECK(cost::memory_of_rank(list, apart, t, p, held)->activation_bytes ==
              cost::memory_of_rank(list, ranks[1], t, p, held)->activation_bytes);
      }
      // An operation everywhere, as a plan and as a set.
      cost::recompute_plan norms;
      const std::vector<std::int64_t> counts = cost::layer_counts(ranks);
      norms.operations.push_back({hocket::cost::layer_operation::norm, cost::first_layers(counts, counts)});
      const auto by_name = planned(list, p, norms), by_set = cost::layers_of_ranks(list, p, {}, {.norm = true}).value();
      for (std::size_t i = 0; i < by_name.size(); ++i) CHECK(by_name[i].layers == by_set[i].layers);
    }
}

TEST_CASE("the guide's lists: recompute [4, 0], and SiLU and Mul in the other layers", "[cost]") {
  const cost::layer_list list = llama_13b;
  const cost::training t{.sequence = s, .global_batch = 128};
  const cost::parallel p{.pp = 2, .dp = 8};
  cost::recompute_plan plan = whole_layers(list, p, {4, 0});
  const auto each = cost::layer_counts(cost::layers_of_ranks(list, p).value());
  CHECK(each == std::vector<std::int64_t>{20, 20});
  plan.operations.push_back({cost::layer_operation::activation, cost::first_layers(each, each)});
  const auto ranks = planned(list, p, plan);
  // 4 whole layers, 16 with the activation; 20 with the activation.
  REQUIRE(ranks[0].layers.size() == 2);
  CHECK(ranks[0].layers[0].count == 4);
  CHECK(to_string(ranks[0].layers[0].how) == "full");
  CHECK(ranks[0].layers[1].count == 16);
  CHECK(to_string(ranks[0].layers[1].how) == "activation");
  REQUIRE(ranks[1].layers.size() == 1);
  CHECK(ranks[1].layers[0].count == 20);
  // Four layers more, forward: 2 s h (4 h + 3 f) and 4 h kappa a sequence.
  const cost::convention half{.attention = cost::attention_count::causal_half};
  const auto flops = cost::count_flops(list, t, p, half, ranks).value();
  const std::int64_t layer = 2 * s * h * (4 * h + 3 * f) + 4 * h * (s * s / 2);
  CHECK(flops.hardware_step - flops.model_step == cost::rational(128) * cost::rational(4 * layer));
  const double share = flops.hardware_step.real() / flops.model_step.real() - 1;
  CHECK((share > 0.0325 && share < 0.0330));  // a tenth of a third, but for the head
  // What is kept, micro-batches of one sequence, two in flight on rank 0: the input of 4 layers, and of 16 all but the
  // activation's output.
  const auto held = cost::held_share_by_1f1b(t, p, 0).value();
  const std::int64_t input = 2 * s * h, statistics = 4 * 40 * s;
  const std::int64_t without = 4 * input + 4 * input + statistics + 2 * 2 * s * f;  // norms, q k v o; gate and up
  const auto peak = cost::memory_of_rank(list, ranks[0], t, p, held).value().peak;
  CHECK(peak.kept_bytes == cost::rational(2 * (4 * input + 16 * without)));
  // And, for a moment, the layer that is being recomputed: all of it.
  CHECK(peak.at_backward_bytes == cost::rational(without + 2 * s * f));
}

TEST_CASE("plans by layer, and plans that do not fit", "[cost]") {
  const cost::layer_list list = llama_13b;
  const cost::parallel p{.pp = 2};
  const auto even = cost::layers_of_ranks(list, p).value();
  cost::recompute_plan plan;
  plan.full = {std::vector<bool>(20, false), std::vector<bool>(20, false)};
  plan.full[1][3] = plan.full[1][4] = true;
  const auto ranks = planned(list, p, plan);
  REQUIRE(ranks[1].layers.size() == 3);  // 3, 2, 15
  CHECK(ranks[1].layers[1].count == 2);
  CHECK(ranks[1].layers[1].how.level == cost::recompute::full);
  CHECK(ranks[1].layers[2].count == 15);
  cost::recompute_plan wrong = plan;
  wrong.full[0].pop_back();
  CHECK(cost::with_plan(even, wrong).error().code == hocket::errc::bad_shape);
  wrong.full.pop_back();
  CHECK(cost::with_plan(even, wrong).error().code == hocket::errc::bad_shape);
  wrong.full.clear();
  wrong.operations.push_back({cost::layer_operation::norm, {std::vector<bool>(20, true)}});
  CHECK(cost::with_plan(even, wrong).error().code == hocket::errc::bad_shape);

  // The report of a plan: each choice once, and the rest as of even ranks.
  const cost::training t{.sequence = s, .global_batch = 8};
  const auto alike = cost::make_report(list, t, p, {}, even).value(),
             report = cost::make_report(list, t, p, {}, ranks).value();
  const auto rows = cost::plan_rows(list, t, p, {}, ranks).value();
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].rank == 0);
  CHECK(rows[0].layers.count == 20);
  CHECK(rows[2].kept_bytes == cost::rational(2 * s * h));
  CHECK(rows[0].again_flops == cost::rational(0));
  const auto lines_of = [&](const std::string& group) {
    return std::count_if(report.lines.begin(), report.lines.end(),
                         [&](const cost::report_line& line) { return line.group == group; });
  };
  CHECK(lines_of("kept by one layer, recompute full") == 1);  // its input
  CHECK(lines_of("kept by one layer, recompute none") > 1);
  CHECK(lines_of("kept by one layer") == 0);
  const auto rest = [](const cost::report& x) {
    std::vector<std::string> out;
    for (const cost::report_line& line : x.lines)
      if (line.group.find("by one layer") == std::string::npos) out.push_back(line.group + line.name + line.numbers);
    return out;
  };
  CHECK(rest(report) == rest(alike));
  CHECK(cost::make_report(list, t, p, {}, std::span(ranks).first(1)).error().code == hocket::errc::bad_shape);
}

TEST_CASE("prediction modules and what stands beside the layers keep their own choice", "[cost]") {
  cost::model m = llama_13b;
  m.mtp_layers = 2;
  cost::layer_list list = m;
  list.front = {cost::projection{.outputs = 64}};
  list.back = {cost::projection{.outputs = 32}};
  const cost::parallel p{.pp = 2, .recompute = cost::recompute::full};
  cost::recompute_plan plan = whole_layers(list, p, {0, 20});
  const auto ranks = planned(list, p, plan);
  REQUIRE(ranks[0].layers.size() == 2);
  CHECK(ranks[0].layers[0].place == cost::run_place::front);
  CHECK(ranks[0].layers[0].how.level == cost::recompute::full);
  CHECK(ranks[0].layers[1].how.level == cost::recompute::none);
  REQUIRE(ranks[1].layers.size() == 3);
  CHECK(ranks[1].layers[1].place == cost::run_place::prediction);
  CHECK(ranks[1].layers[1].count == 2);
  CHECK(ranks[1].layers[2].place == cost::run_place::back);
  // Their joint inputs are done again with the modules.
  const cost::training t{.sequence = 8, .global_batch = 4};
  const auto all = cost::count_flops(list, t, p, {}).value(),
             by_rank = cost::count_flops(list, t, p, {}, cost::layers_of_ranks(list, p).value()).value();
  CHECK(by_rank.hardware_step == all.hardware_step);
  cost::layer_list without = list;
  without.sizes.prediction_heads = 0;
  const auto less = cost::count_flops(without, t, p, {}).value();
  const cost::rational joint = cost::rational(4 * 8) * cost::rational(2 * 2 * 2 * h * h);
  const cost::rational heads = cost::rational(4 * 8) * cost::rational(2 * 2 * h * 32000);
  CHECK((all.hardware_step - all.model_step) - (less.hardware_step - less.model_step) == joint);
  CHECK(all.model_step - less.model_step == cost::rational(3) * (joint + heads));
}

}  // namespace plans
}  // namespace
