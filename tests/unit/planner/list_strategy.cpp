// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Strategies of a list of layers: those of the model by its numbers where layers are equal, else those that the
// formulas of the list give one by one.
#include <hocket/cost/model/uniform_list.hpp>
#include <hocket/planner/strategy/solve.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "catch.hpp"
#include "data/cost/published_shapes.hpp"
#include "guide_cluster.hpp"

using namespace hocket::planner;
namespace cost = hocket::cost;
using namespace published;

namespace {

cost::training step(std::int64_t global_batch) {
  return {.sequence = 4096, .global_batch = global_batch, .workspace = cost::workspace::megatron_te};
}
/// Linear attention, and in every fourth layer full attention, which has one set of weights; dense FFNs first, mixtures
/// behind.
cost::layer_list hybrid() {
  const cost::norms between{.place = cost::norm_place::between};
  const cost::attention full{.heads = 16, .kv_heads = 8, .head_dim = 128, .gate_width = 2048};
  const cost::gated_delta linear{.key_heads = 16, .value_heads = 32, .key_dim = 128, .value_dim = 128};
  const cost::mixture experts{.experts = 64, .active_experts = 4, .expert_ffn = 512, .shared_ffn = 512};
  cost::layer_list out{.sizes = {.hidden = 2048, .vocabulary = 65536}};
  for (int at = 0; at < 21; ++at) {
    const cost::block mixer = at % 4 == 3 ? cost::block(full, at > 3) : cost::block(linear);
    const cost::block ffn = at < 2 ? cost::block(cost::feed_forward{.ffn = 8192}) : cost::block(experts);
    out.add({cost::norms{}, mixer, between, ffn});
  }
  return out;
}

/// By the formulas of the list, rank by rank.
strategy_cost one_alone(const cost::layer_list& list, cost::training t, const cluster& on, const strategy& s) {
  t.micro_batch = s.micro_batch;
  const cost::replay_set again{.activation = s.replay_activation};
  double most = 0;
  const auto ranks = cost::layers_of_ranks(list, s.how, {}, again).value();
  const auto predicted = cost::predict_step(list, t, s.how, on.rates, ranks).value();
  for (const cost::rank_layers& x : ranks) {
    const auto held = cost::held_share_by_1f1b(t, s.how, x.ends.rank).value();
    const auto memory = cost::memory_of_rank(list, x, t, s.how, held).value();
    most = std::max(most, memory.peak.total_bytes().real());
  }
  return {std::chrono::nanoseconds(std::llround(predicted.step_time().count() * 1e9)),
          hocket::bytes(static_cast<std::int64_t>(std::ceil(most)))};
}
bool close(const strategy_cost& a, const strategy_cost& b) {
  const auto off = [](std::int64_t x, std::int64_t y) {
    return static_cast<double>(std::llabs(x - y)) > 2 + 1e-7 * static_cast<double>(y);
  };
  return !off(a.step.count(), b.step.count()) && !off(a.memory.count(), b.memory.count());
}

}  // namespace

TEST_CASE("strategies of unequal layers are priced as the list prices them, and none is missed",
          "[planner][strategy][layers]") {
  const cost::layer_list list = hybrid();
  const strategy_space space{.tensor = {1, 2},
                             .expert = {1, 4},
                             .chunks = {1, 2},
                             .micro_batches = {1, 2},
                             .copies = {1},
                             .zeros = {cost::zero::none, cost::zero::optimizer, cost::zero::weights},
                             .zero_bubble = false,
                             .recomputes = {cost::recompute::none, cost::recompute::full}};
  for (const double gib : {10.0, 20.0, 60.0}) {
    const cluster on = cluster_of(8, gib);
    const cost::training t = step(32);
    const auto found = solve(strategy_problem{list, t, on, space});
    REQUIRE(found);
    std::int64_t legal = 0, fitting = 0;
    for (const std::int64_t tp : space.tensor)
      for (const std::int64_t pp : {1, 2, 4, 8})
        for (const std::int64_t ep : space.expert)
          for (const std::int64_t vp : space.chunks)
            for (const std::int64_t micro_batch : space.micro_batches)
              for (const bool sequence : {false, true})
                for (const auto zero : space.zeros)
                  for (const auto level : space.recomputes) {
                    if (8 % (tp * pp) != 0) continue;
                    const std::int64_t dp = 8 / (tp * pp);
                    const strategy s{.how = {.tp = tp,
                                             .pp = pp,
                                             .vp = vp,
                                             .dp = dp,
                                             .ep = ep,
                                             .sequence_parallel = sequence,
                                             .zero = zero,
                                             .recompute = level},
                                     .micro_batch = micro_batch};
                    cost::training one = t;
                    one.micro_batch = micro_batch;
                    const bool same = (tp == 1 && sequence) || (dp == 1 && zero != cost::zero::none);
                    if (same || (pp == 1 && vp > 1) || !cost::check(list, one, s.how)) continue;
                    if (!cost::check_even_stages(list.layer_count(), s.how)) continue;
                    if (vp > 1 && 32 / (micro_batch * dp) < pp) continue;
                    ++legal;
                    const strategy_cost exact = one_alone(list, t, on, s);
                    const auto price = price_of_strategy(strategy_problem{list, t, on}, s);
                    REQUIRE(price);
                    CHECK(close(*price, exact));
                    if (!on.memory.fits(exact.memory)) continue;
                    ++fitting;
                    CHECK(std::any_of(found->front.begin(), found->front.end(), [&](const scored_strategy& x) {
                      return x.cost.step <= exact.step + std::chrono::nanoseconds(2) &&
                             x.cost.memory <= exact.memory + hocket::bytes(2);
                    }));
                  }
    CHECK(legal == found->evaluated);
    CHECK(fitting == found->fitting);
    CHECK(legal > 100);
  }
}

TEST_CASE("modules that predict several tokens are no part of the question", "[planner][strategy][layers]") {
  cost::model m = deepseek_v3;
  m.mtp_layers = 1;
  const cost::layer_list with = cost::to_layers(m);
  REQUIRE(!with.predictions.empty());
  cost::layer_list without = with;
  without.predictions.clear();
  without.sizes.prediction_heads = 0;
  const strategy_space space{.tensor = {2}, .expert = {4}, .micro_batches = {1}, .copies = {1}, .pipeline = {4}};
  const auto a = solve(strategy_problem{with, step(64), cluster_of(64), space}).value(),
             b = solve(strategy_problem{without, step(64), cluster_of(64), space}).value();
  REQUIRE(a.front.size() == b.front.size());
  for (std::size_t i = 0; i < a.front.size(); ++i) {
    CHECK(a.front[i].cost.step == b.front[i].cost.step);
    CHECK(a.front[i].cost.memory == b.front[i].cost.memory);
  }
}

TEST_CASE("what is wrong with a list is said", "[planner][strategy][layers]") {
  cost::layer_list list = hybrid();
  list.sizes.hidden = -4;
  CHECK(solve(strategy_problem{list, step(32), cluster_of(8, 60)}).error().code == hocket::errc::out_of_range);
  const auto none = solve(strategy_problem{hybrid(), step(32), cluster_of(8, 1)});
  REQUIRE(none);
  CHECK(none->front.empty());
  CHECK(none->best_beyond_memory.size() == 1);
  const auto counts = solve(strategy_problem{hybrid(), step(32), cluster_of(8, 60)}, std::vector<std::int64_t>{2, 8});
  REQUIRE(counts);
  CHECK(counts->counts.size() == 2);
}
