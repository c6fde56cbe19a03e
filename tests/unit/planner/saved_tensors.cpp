// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keep, recompute or offload: against all 3^n choices, the bound, the limits of the copy engine.
#include <hocket/core/message.hpp>
#include <hocket/cost/machines.hpp>
#include <hocket/cost/model/recompute_plan.hpp>
#include <hocket/cost/model/uniform_list.hpp>
#include <hocket/planner/detail/random_numbers.hpp>
#include <hocket/planner/saved_tensors/stage.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "catch.hpp"
#include "data/cost/published_shapes.hpp"

using namespace hocket::planner;
using namespace hocket::literals;
namespace cost = hocket::cost;
using hocket::bytes;
using hocket::errc;
using std::chrono::nanoseconds;

namespace {

struct sums {
  std::int64_t held = 0, extra = 0;
};
/// Layer by layer and class by class: 0 keeps, 1 computes again, 2 moves. Straight from the definition.
sums of(const saved_tensor_problem& q, const std::vector<int>& ways) {
  sums out;
  std::int64_t again = 0, copies = 0;
  std::size_t at = 0;
  for (const saved_class& x : q.classes) {
    std::int64_t count[3] = {0, 0, 0};
    for (std::int64_t l = 0; l < x.layers; ++l) ++count[ways[at++]];
    again += count[1] * x.again.count();
    copies += count[2] * x.copy.count();
    out.held +=
        x.size.count() * (q.in_flight * count[0] + std::min<std::int64_t>(2, q.in_flight * count[2]) + (count[1] > 0));
  }
  const std::int64_t hidden = q.overlap * (q.compute.count() + again),
                     thousandths = std::max<std::int64_t>(0, copies * 1000 - hidden);
  out.extra = again + (thousandths + 999) / 1000;
  return out;
}
std::optional<std::int64_t> best_of_all(const saved_tensor_problem& q) {
  std::size_t n = 0;
  for (const saved_class& x : q.classes) n += static_cast<std::size_t>(x.layers);
  std::vector<int> ways(n, 0);
  std::optional<std::int64_t> best;
  while (true) {
    bool allowed = true;
    std::size_t at = 0;
    for (const saved_class& x : q.classes)
      for (std::int64_t l = 0; l < x.layers; ++l, ++at)
        allowed = allowed && !(ways[at] == 1 && !x.recomputable) && !(ways[at] == 2 && !x.movable);
    const sums s = of(q, ways);
    if (allowed && s.held <= q.capacity.count() && (!best || s.extra < *best)) best = s.extra;
    std::size_t i = 0;
    while (i < n && ways[i] == 2) ways[i++] = 0;
    if (i == n) return best;
    ++ways[i];
  }
}
saved_tensor_problem random_problem(detail::random_numbers& draw, std::size_t most) {
  saved_tensor_problem q;
  q.in_flight = 1 + draw.below(5);
  std::int64_t all = 0;
  for (std::size_t n = 0; n < most;) {
    const std::int64_t layers = 1 + draw.below(3);
    n += static_cast<std::size_t>(layers);
    q.classes.push_back({layers, bytes(1 + draw.below(50)), nanoseconds(draw.below(60)), nanoseconds(draw.below(60)),
                         draw.below(4) > 0, draw.below(4) > 0});
    all += layers * q.classes.back().size.count() * q.in_flight;
  }
  q.capacity = bytes(all * draw.below(110) / 100);
  q.compute = nanoseconds(draw.below(150));
  q.overlap = draw.below(2) == 0 ? 1000 : draw.below(1001);
  return q;
}

}  // namespace

TEST_CASE("the best of all ways to keep, recompute and offload") {
  detail::random_numbers draw(21);
  int fitting = 0, moving = 0, again = 0;
  for (int round = 0; round < 150; ++round) {
    saved_tensor_problem q = random_problem(draw, 6);
    const auto best = best_of_all(q);
    const auto plan = solve(q);
    REQUIRE(plan.has_value() == best.has_value());
    if (!plan) {
      CHECK(plan.error().code == errc::does_not_fit);
      q.capacity += bytes(plan.error().values[1]);  // with so many bytes more it fits, with one less it does not
      CHECK(solve(q).has_value());
      q.capacity -= bytes(1);
      CHECK(!solve(q).has_value());
      continue;
    }
    ++fitting;
    CHECK(plan->extra.count() == *best);
    CHECK(plan->proved);
    std::vector<int> ways;
    for (std::size_t i = 0; i < q.classes.size(); ++i)
      for (std::int64_t l = 0; l < q.classes[i].layers; ++l)
        ways.push_back(l < plan->choices[i].again ? 1 : l < plan->choices[i].again + plan->choices[i].moved ? 2 : 0);
    CHECK(of(q, ways).held == plan->held.count());
    CHECK(of(q, ways).extra == plan->extra.count());
    CHECK(plan->held <= q.capacity);
    moving += plan->copies.count() > 0 ? 1 : 0;
    again += plan->again.count() > 0 ? 1 : 0;
    for (const std::size_t budget : {2u, 3u}) {  // whether anything fits is known however little is looked at
      q.budget = budget;
      const auto quick = solve(q).value();
      CHECK(quick.held <= q.capacity);
      CHECK(quick.lower_bound.count() <= *best);
      CHECK(quick.extra.count() >= *best);
    }
    q.budget = 1;
    CHECK(solve(q).error().code == errc::out_of_range);
  }
  CHECK(fitting > 80);
  CHECK(moving > 30);
  CHECK(again > 30);
}

TEST_CASE("a class that says nothing of its layers is in one, which one micro-batch passes") {
  const saved_tensor_problem q{.classes = {{.size = bytes(10), .again = nanoseconds(3), .movable = false}},
                               .capacity = bytes(10)};
  const auto kept = solve(q).value();
  CHECK(kept.held == bytes(10));
  CHECK(kept.extra.count() == 0);
}

TEST_CASE("a stage of forty layers: near the bound") {
  detail::random_numbers draw(4);
  std::int64_t above = 0;
  for (int round = 0; round < 4; ++round) {
    saved_tensor_problem q{
        .classes = {}, .in_flight = 8, .compute = nanoseconds(8'000'000), .overlap = 900, .budget = 500};
    std::int64_t all = 0;
    for (int i = 0; i < 8; ++i) {
      q.classes.push_back({10, bytes(1'000'000 + draw.below(90'000'000)), nanoseconds(100'000 + draw.below(900'000)),
                           nanoseconds(100'000 + draw.below(900'000)), i != 3, i != 5});
      all += 10 * q.classes.back().size.count() * q.in_flight;
    }
    q.capacity = bytes(all / 10 * (3 + round));
    const auto plan = solve(q).value();
    CHECK(plan.held <= q.capacity);
    CHECK(plan.lower_bound <= plan.extra);
    CHECK(static_cast<double>(plan.extra.count() - plan.lower_bound.count()) <
          0.02 * static_cast<double>(plan.extra.count()) + 400'000);
    for (const std::size_t budget : {10u, 40u, 160u}) {
      q.budget = budget;
      const auto quick = solve(q).value();
      CHECK(quick.held <= q.capacity);
      above += quick.extra.count() - quick.lower_bound.count();
      for (const bool again : {false, true}) {  // never slower than one way alone
        saved_tensor_problem one = q;
        for (saved_class& x : one.classes) (again ? x.movable : x.recomputable) = false;
        if (const auto alone = solve(one)) CHECK(quick.extra <= alone->extra);
      }
    }
  }
  CHECK(above <= 10'400'000);  // as near as they are today
}

TEST_CASE("what the copy engine can hide") {
  using namespace std::chrono_literals;
  saved_tensor_problem q{
      .classes = {{.layers = 10, .size = 10_MiB, .again = 5ms, .copy = 1ms}}, .in_flight = 4, .capacity = 20_MiB};
  q.compute = 10ms;
  CHECK(solve(q)->choices[0] == saved_class_choice{0, 10});  // all moves, and all of it hides
  CHECK(solve(q)->extra == 0ms);
  q.compute = 7ms;  // three copies would show: as cheap as waiting for them
  CHECK(solve(q)->extra == 3ms);
  q.classes[0].copy = 100ms;  // a slow link: all is computed again
  CHECK(solve(q)->choices[0] == saved_class_choice{10, 0});
  q.capacity = 400_MiB;
  CHECK(solve(q)->choices[0] == saved_class_choice{0, 0});
  q.capacity = 9_MiB;
  CHECK(solve(q).error().code == errc::does_not_fit);
  q.overlap = 1001;
  CHECK(message(solve(q).error()).find("1001") != std::string::npos);
}

const cost::device_memory roomy{bytes(std::int64_t{1} << 44), bytes(0)};

TEST_CASE("classes of a stage are all that a layer saves, and recomputing all of them leaves the rest") {
  using namespace published;
  const cost::training t{.sequence = 4096, .micro_batch = 1, .global_batch = 32};
  cost::machine on = cost::machines::b200_fitted.rates;
  on.host_bytes = 50e9;
  for (const cost::model& m : {llama_13b, deepseek_v3}) {
    const cost::parallel p{.tp = 2, .pp = 4, .ep = m.experts > 0 ? 2 : 1, .sequence_parallel = true};
    const cost::layer_list list = m;
    const cost::rank_layers on_rank = cost::layers_of_ranks(list, p).value()[1];
    const bool experts = m.moe_layers > 0;
    const cost::layer_blocks& blocks = on_rank.layers.front().blocks;
    const auto stage = saved_tensors_of(list, on_rank, t, p, on, 3, roomy).value();
    REQUIRE(stage.kinds.size() == 1);
    CHECK(cost::has_experts(stage.kinds[0].blocks) == experts);
    std::int64_t all = 0, rest = 0;
    cost::replay_set again{};
    for (std::size_t i = 0; i < stage.names.size(); ++i) {
      const saved_class& x = stage.problem.classes[i];
      CHECK(x.layers == on_rank.layer_count);
      all += x.size.count();
      if (stage.names[i].by == cost::layer_operation::none) rest += x.size.count();
      else again.*cost::flag_of(stage.names[i].by) = true;
    }
    CHECK(static_cast<double>(all) == cost::layer_activation_bytes(list, blocks, t, p).value().real());
    CHECK(static_cast<double>(rest) == cost::layer_activation_bytes(list, blocks, t, p, again).value().real());
    CHECK(stage.names.size() > 3);
    // All that can be computed again takes as much time as its flags together say.
    const auto with = cost::time_of_layer(list, blocks, t, p, on, {cost::recompute::none, again}).value().total(),
               without = cost::time_of_layer(list, blocks, t, p, on).value().total();
    double sum = 0;
    for (const saved_class& x : stage.problem.classes) sum += static_cast<double>(x.again.count()) * 1e-9;
    CHECK(std::abs(sum - (with - without).count()) < 1e-3 * sum);
    for (const cost::recompute level : {cost::recompute::selective, cost::recompute::full}) {  // that is what is asked
      cost::parallel given = p;
      given.recompute = level;
      given.offload_activations = true;
      const auto same = saved_tensors_of(list, cost::with_choice(on_rank, {level, {}}), t, given, on, 3, roomy).value();
      CHECK(same.names == stage.names);
      CHECK(same.beside == stage.beside);
      CHECK(same.time == stage.time);
      CHECK(same.problem.compute == stage.problem.compute);
      for (std::size_t i = 0; i < same.names.size(); ++i)
        CHECK(same.problem.classes[i].again == stage.problem.classes[i].again);
    }
    const auto plan = solve(stage.problem).value();  // memory for all
    CHECK(plan.extra.count() == 0);
    CHECK(plan.copies.count() == 0);
    CHECK(saved_tensors_of(list, on_rank, t, p, on, 3, {bytes(1), bytes(0)}).error().code == errc::does_not_fit);
    // Exactly what stands beside, with the reserve, is enough to ask; a byte less is not.
    const cost::device_memory just{stage.beside + bytes(5), bytes(5)}, less{stage.beside + bytes(4), bytes(5)};
    CHECK(saved_tensors_of(list, on_rank, t, p, on, 3, just)->problem.capacity == bytes(0));
    CHECK(saved_tensors_of(list, on_rank, t, p, on, 3, less).error().values[1] == 1);
  }
}

TEST_CASE("what a stage may move, and how long it takes, follows from its machine") {
  const cost::layer_list list = published::deepseek_v3;
  const cost::training t{.sequence = 4096, .micro_batch = 1, .global_batch = 32};
  const cost::parallel p{.tp = 2, .pp = 4, .ep = 2, .sequence_parallel = true};
  cost::machine on = cost::machines::b200_fitted.rates;
  on.host_bytes = 50e9;
  on.host_overlap = 0.75;
  const auto ranks = cost::layers_of_ranks(list, p).value();
  for (const cost::rank_layers& x : {ranks.front(), ranks.back()}) {
    const auto stage = saved_tensors_of(list, x, t, p, on, 3, roomy).value();
    CHECK(stage.problem.overlap == 750);
    CHECK(stage.problem.in_flight == 3);
    CHECK(stage.problem.capacity + stage.beside == roomy.capacity);
    double all = 0, compute = 0;
    const auto add = [&](const cost::layer_time& one, std::int64_t count) {
      all += static_cast<double>(count) * one.total().count();
      compute += static_cast<double>(count) * one.compute().count();
    };
    for (const cost::rank_run& run : x.layers) add(cost::time_of_layer(list, run.blocks, t, p, on).value(), run.count);
    if (x.ends.last) add(cost::time_of_head(list, t, p, on).value(), 1);
    CHECK(std::abs(static_cast<double>(stage.time.count()) - all * 1e9) <= 1);
    CHECK(std::abs(static_cast<double>(stage.problem.compute.count()) - compute * 1e9) <= 1);
    CHECK(stage.time >= stage.problem.compute);
    REQUIRE(stage.names.size() == stage.problem.classes.size());
    for (std::size_t i = 0; i < stage.names.size(); ++i) {
      const saved_class& one = stage.problem.classes[i];
      CHECK(one.movable);
      CHECK(std::abs(static_cast<double>(one.copy.count()) - 2e9 * static_cast<double>(one.size.count()) / 50e9) <= 1);
      CHECK(one.recomputable == (stage.names[i].by != cost::layer_operation::none));
      CHECK(one.recomputable == (one.again.count() > 0));
    }
    cost::machine apart = on;
    apart.host_bytes = 0;
    const auto stays = saved_tensors_of(list, x, t, p, apart, 3, roomy).value();
    for (const saved_class& one : stays.problem.classes) CHECK((!one.movable && one.copy.count() == 0));
  }
}

TEST_CASE("a stage of unequal layers has the classes of each kind, and knows which layers they are") {
  const cost::norms between{.place = cost::norm_place::between};
  const cost::attention full{.heads = 8, .kv_heads = 8, .head_dim = 64};
  cost::layer_list list{.sizes = {.hidden = 512, .vocabulary = 1024}};
  const cost::layer_blocks narrow{cost::norms{}, full, between, cost::feed_forward{.ffn = 1024}};
  const cost::layer_blocks wide{cost::norms{}, full, between, cost::feed_forward{.ffn = 4096}};
  for (int pair = 0; pair < 4; ++pair) {
    list.add(narrow);
    list.add(wide, 2);
  }
  list.sizes.prediction_heads = 1;
  list.predictions = {{wide, 1}};
  const cost::training t{.sequence = 256, .micro_batch = 1, .global_batch = 8};
  const cost::parallel p{.pp = 2};
  cost::machine on = cost::machines::b200_fitted.rates;
  on.host_bytes = 50e9;
  const cost::rank_layers last = cost::layers_of_ranks(list, p).value()[1];
  const auto stage = saved_tensors_of(list, last, t, p, on, 2, roomy).value();
  REQUIRE(stage.kinds.size() == 2);
  CHECK(stage.kinds[0].blocks == narrow);
  CHECK(stage.kinds[0].layers == std::vector<std::int64_t>{0, 3});
  CHECK(stage.kinds[1].layers == std::vector<std::int64_t>{1, 2, 4, 5});
  double kept[2] = {};
  for (std::size_t i = 0; i < stage.names.size(); ++i) {
    const saved_class& x = stage.problem.classes[i];
    CHECK(x.layers == static_cast<std::int64_t>(stage.kinds[stage.names[i].kind].layers.size()));
    kept[stage.names[i].kind] += static_cast<double>(x.size.count());
  }
  const double of_wide = cost::layer_activation_bytes(list, wide, t, p).value().real();
  CHECK(kept[0] == cost::layer_activation_bytes(list, narrow, t, p).value().real());
  CHECK(kept[1] == of_wide);
  // What the prediction module keeps stands beside, for each micro-batch in flight.
  const auto states = cost::memory_of_rank(list, last, t, p, {0, 0}).value().peak.total_bytes();
  CHECK(cost::rational(stage.beside.count()) ==
        (states + cost::rational(2) * cost::rational(std::int64_t(of_wide))).ceiling());
}

TEST_CASE("a three-way choice is never slower than two of its ways") {
  const cost::training t{.sequence = 4096, .micro_batch = 1, .global_batch = 32};
  const cost::parallel p{.tp = 2, .pp = 4, .sequence_parallel = true};
  cost::machine on = cost::machines::b200_fitted.rates;
  on.host_bytes = 50e9;
  const cost::layer_list list = published::llama_13b;
  const cost::rank_layers first = cost::layers_of_ranks(list, p).value()[0];
  const auto all = saved_tensors_of(list, first, t, p, on, 4, roomy).value();
  for (const std::int64_t percent : {20, 40, 60, 80}) {
    saved_tensor_problem q = all.problem;
    q.budget = 4'000;
    std::int64_t sum = 0;
    for (const saved_class& x : q.classes) sum += x.size.count() * x.layers * q.in_flight;
    q.capacity = bytes(sum / 100 * percent);
    const auto three = solve(q).value();
    CHECK(three.held <= q.capacity);
    auto without_link = q, without_again = q;
    for (saved_class& x : without_link.classes) x.movable = false;
    for (saved_class& x : without_again.classes) x.recomputable = false;
    for (const saved_tensor_problem& two : {without_link, without_again})
      if (const auto plan = solve(two)) CHECK(three.extra <= plan->extra);
    CHECK(three.extra - three.lower_bound <= three.extra / 10 + nanoseconds(500'000));
  }
}
