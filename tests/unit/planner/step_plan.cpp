// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plan of a step: one number whoever asks, memory as the report has it, every schedule, the sizes against brute
// force.
#include <hocket/cost/machines.hpp>
#include <hocket/cost/model/uniform_list.hpp>
#include <hocket/cost/report.hpp>
#include <hocket/planner/plan/changes.hpp>
#include <hocket/planner/plan/choose_sizes.hpp>
#include <hocket/planner/plan/step_plan.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "catch.hpp"
#include "data/cost/published_shapes.hpp"

using namespace hocket::planner;
namespace cost = hocket::cost;
namespace pipeline = hocket::pipeline;
using hocket::errc;
using hocket::seconds;
using namespace hocket::literals;

namespace {

/// Llama 7B on 80 GiB devices.
step_problem llama(const cost::parallel& p, std::int64_t batch = 32) {
  step_problem q;
  q.model = published::llama_7b;
  q.training = {.sequence = 4096, .global_batch = batch};
  q.parallel = p;
  q.memory = {.capacity = 80_GiB};
  q.on = cost::machines::find("h100_sxm")->rates;
  return q;
}
schedule_choice usual(const cost::parallel& p) { return detail::usual_choice(p); }

}  // namespace

TEST_CASE("a plan, a report and a search's simulation have one number for a layout", "[planner][plan]") {
  for (const cost::parallel& p :
       {cost::parallel{.tp = 2, .dp = 4}, cost::parallel{.tp = 2, .pp = 4}, cost::parallel{.pp = 4, .vp = 2},
        cost::parallel{.pp = 3, .dp = 2}, cost::parallel{.tp = 4, .pp = 2, .dp = 2, .sequence_parallel = true}}) {
    step_problem q = llama(p);
    q.schedule = usual(p);
    const step_plan plan = plan_step(q).value();
    const auto ranks = cost::layers_of_ranks(q.model, p).value();
    const auto alone = simulate_step(q.model, q.training, p, *q.on, ranks).value();
    CHECK(std::abs((plan.step->step_time() - alone.step_time()).count()) < 1e-9 * alone.step_time().count() + 1e-7);
    const auto report = cost::make_report(q.model, q.training, p, q.counted).value();
    REQUIRE(report.memory.size() == plan.memory.size());
    for (std::size_t r = 0; r < report.memory.size(); ++r)
      CHECK(report.memory[r].peak.total_bytes() == plan.memory[r].peak.total_bytes());
  }
}

TEST_CASE("a searched schedule is no longer than the usual one", "[planner][plan]") {
  for (const cost::parallel& p : {cost::parallel{.pp = 4}, cost::parallel{.pp = 4, .vp = 2}}) {
    step_problem q = llama(p, 8);
    const step_plan found = plan_step(q).value();
    q.schedule = usual(p);
    const step_plan named = plan_step(q).value();
    CHECK(found.run.makespan <= named.run.makespan);
    CHECK(!found.found_by.empty());
    CHECK(named.found_by.empty());
  }
}

TEST_CASE("every schedule of the library can be planned", "[planner][plan]") {
  for (const std::string_view name : pipeline::schedule_names) {
    const cost::parallel p{.pp = 4, .vp = pipeline::default_chunks(name)};
    step_problem q = llama(p, 16);
    q.schedule = {std::string(name), "balanced", 0};
    const auto plan = plan_step(q);
    INFO(name);
    REQUIRE(plan);
    CHECK(plan->run.makespan >= plan->run.lower_bound);
    CHECK(plan->step->parts.bubble.count() >= 0);
    // The passes of all ranks are those of all stages, whatever stands where.
    double work = 0, busy = 0;
    for (const stage_time& stage : plan->stages) work += 16 * (stage.forward + stage.backward).count();
    for (const auto& rank : plan->run.ranks) busy += static_cast<double>(rank.busy) / 1e9;
    CHECK(std::abs(work - busy) < 1e-4 * work);
    std::int64_t layers = 0;
    for (const cost::rank_layers& rank : plan->ranks) layers += rank.layer_count;
    CHECK(layers == 32 * plan->schedule->directions());
    // A rank computes each micro-batch once, in two directions as in one.
    const auto one = cost::predict_step(q.model, q.training, q.parallel, *q.on).value();
    CHECK(plan->step->numbers.compute_seconds <= 1.2 * one.numbers.compute_seconds);
  }
}

TEST_CASE("where there are more stages than layers, an open split leaves the ends empty", "[planner][plan]") {
  step_problem q = llama({.pp = 4, .vp = 2});
  cost::model six = published::llama_7b;
  six.layers = 6;
  q.model = six;
  q.schedule = usual(q.parallel);
  const step_plan even = plan_step(q).value();
  q.search_split = true;
  const step_plan open = plan_step(q).value();
  CHECK(open.run.makespan == even.run.makespan);
  std::int64_t layers = 0;
  for (const cost::rank_layers& rank : open.ranks) layers += rank.layer_count;
  CHECK(layers == 6);
}

TEST_CASE("a plan fits where its own peak and the reserve do", "[planner][plan]") {
  step_problem q = llama({.pp = 4});
  q.memory.reserve = 2_GiB;
  const step_plan whole = plan_step(q).value();
  const auto peak = bytes_up(whole.fullest().peak.total_bytes());
  q.memory.capacity = peak + q.memory.reserve;
  CHECK(plan_step(q).value().fits(q.memory));
  q.memory.capacity -= hocket::bytes(1);
  CHECK(!plan_step(q).value().fits(q.memory));
}

TEST_CASE("a split that is open fits and is no longer than the even one", "[planner][plan]") {
  for (const std::int64_t vp : {1, 2}) {
    step_problem q = llama({.pp = 4, .vp = vp}, 16);
    q.schedule = usual(q.parallel);
    q.search_split = q.search_recompute = true;
    q.memory.capacity = 40_GiB;
    const step_plan plan = plan_step(q).value();
    REQUIRE(plan.split);
    CHECK(plan.fits(q.memory));
    CHECK(plan.split->step_seconds <= plan.split->even_seconds);
    CHECK(std::abs(plan.split->step_seconds - plan.makespan().count()) < 1e-6);
    step_problem given = q;  // given back, the split takes as long
    given.search_split = false;
    for (const split_stage& stage : plan.split->plan.stages) given.split.push_back(stage.layers);
    CHECK(plan_step(given).value().run.makespan <= plan.run.makespan);
  }
}

TEST_CASE("what does not go together is refused", "[planner][plan]") {
  step_problem q = llama({.pp = 4});
  q.on.reset();
  CHECK(plan_step(q).error().code == errc::bad_rate);
  q.flops_per_second = 1e14;
  CHECK(plan_step(q));
  CHECK(!plan_step(q)->step);
  q.measured = measured_passes{seconds(0.1), seconds(0.2)};
  q.split = {8, 8, 8, 8};
  CHECK(plan_step(q).error().code == errc::contradictory_field);
  q.split.clear();
  CHECK(std::abs(plan_step(q)->makespan().count() - 0.3 * (32 + 3)) < 1e-3);
  q.schedule.name = "zigzag";
  CHECK(plan_step(q).error().code == errc::unknown_schedule);
  step_problem both = llama({.pp = 4}, 16);
  both.schedule.name = "dualpipe";
  both.split = {8, 8, 8, 8};
  CHECK(plan_step(both).error().code == errc::contradictory_field);
}

TEST_CASE("sizes that are open are those of the best plan, against all plans", "[planner][plan]") {
  step_problem q = llama({}, 16);
  q.memory.capacity = 60_GiB;
  const auto found = choose_sizes(q, {.tp = true, .pp = true}, 8).value();
  REQUIRE(found.chosen);
  double best = 1e30;
  for (const std::int64_t tp : {1, 2, 4, 8})
    for (std::int64_t pp = 1; tp * pp <= 8; pp *= 2) {
      step_problem one = q;
      one.parallel.tp = tp;
      one.parallel.pp = pp;
      one.parallel.dp = 8 / (tp * pp);
      one.schedule = usual(one.parallel);
      const auto plan = plan_step(one);
      if (plan && plan->fits(one.memory)) best = std::min(best, plan->step->step_time().count());
    }
  CHECK(found.step_time.count() == best);
  CHECK(found.planned <= 10);
  CHECK(found.covered);
  step_problem timed = q;  // measured passes are of some other sizes: they choose none
  timed.measured = measured_passes{seconds(1), seconds(2)};
  const auto of_timed = choose_sizes(timed, {.tp = true, .pp = true}, 8).value();
  REQUIRE(of_timed.chosen);
  CHECK(of_timed.chosen->parallel == found.chosen->parallel);
  CHECK(of_timed.chosen->measured);
  q.memory.capacity = 3_GiB;
  q.memory.reserve = 1_GiB;
  CHECK(!choose_sizes(q, {.tp = true, .pp = true}, 8).value().chosen);
}

TEST_CASE("no simulated step is below the least of its strategy, and the space is covered", "[planner][plan]") {
  const cost::mixture experts{.experts = 16, .active_experts = 2, .expert_ffn = 1024, .shared_ffn = 1024};
  const cost::attention full{.heads = 16, .kv_heads = 8, .head_dim = 64};
  step_problem q = llama({}, 64);
  q.model = {.sizes = {.hidden = 1024, .vocabulary = 32000}};
  q.model.add({cost::norms{}, full, cost::norms{.place = cost::norm_place::between}, cost::feed_forward{.ffn = 4096}},
              2);
  q.model.add({cost::norms{}, full, cost::norms{.place = cost::norm_place::between}, experts}, 10);
  q.memory.capacity = 40_GiB;
  q.replay.norm = true;
  const open_sizes open{.tp = true,
                        .pp = true,
                        .vp = true,
                        .ep = true,
                        .etp = true,
                        .zero = true,
                        .recompute = true,
                        .sequence_parallel = true,
                        .micro_batch = true};
  const auto found = choose_sizes(q, open, 16).value();
  REQUIRE(found.chosen);
  CHECK(found.covered);
  CHECK(static_cast<std::int64_t>(found.planned) < found.searched.fitting / 4);
  double best = 1e30;
  std::int64_t compared = 0, cut_experts = 0;
  bool complete = true;
  strategy_space space{.context = {1}, .zero_bubble = false, .expert_tensor = {1, 2, 4, 8}};
  space.copies = {1};
  space.recomputes = {cost::recompute::none, cost::recompute::selective, cost::recompute::full};
  const cluster on{16, 8, q.memory, *q.on};
  for (const std::int64_t tp : {1, 2, 4, 8})
    for (const std::int64_t micro_batch : {1, 2, 4, 8}) {
      space.tensor = {tp};
      space.micro_batches = {micro_batch};
      const auto part = solve(strategy_problem{q.model, q.training, on, space, q.replay}).value();
      CHECK(part.by_least.size() <= most_by_least);
      complete = complete && static_cast<std::int64_t>(part.by_least.size()) == part.fitting;
      for (const scored_strategy& x : part.by_least) {
        step_problem one = q;
        one.parallel = x.of.how;
        one.training.micro_batch = x.of.micro_batch;
        one.schedule = usual(one.parallel);
        const auto plan = plan_step(one, {.record = false});
        REQUIRE(plan);
        const double took = plan->step->step_time().count();
        CHECK(std::chrono::duration<double>(x.cost.least).count() <= took);
        if (plan->fits(one.memory)) best = std::min(best, took);
        ++compared;
        cut_experts += x.of.how.etp > 1 ? 1 : 0;
      }
    }
  CHECK(complete);
  CHECK(compared == found.searched.fitting);
  CHECK(cut_experts > 100);
  CHECK(found.step_time.count() == best);
}

TEST_CASE("a search that is stopped has the best until then", "[planner][plan]") {
  const step_problem q = llama({}, 16);
  const open_sizes open{.tp = true, .pp = true, .zero = true, .recompute = true, .micro_batch = true};
  int asked = 0;
  const auto whole =
      choose_sizes(q, open, 8, 8, [&](search_progress at) { return at.done <= at.all || ++asked < 0; }).value();
  CHECK(!whole.stopped);
  CHECK(whole.covered);
  const auto stopped = choose_sizes(q, open, 8, 8, [&](search_progress) { return ++asked < 8; }).value();
  CHECK(stopped.stopped);
  CHECK(!stopped.covered);
  REQUIRE(stopped.chosen);
  CHECK(stopped.planned < whole.planned);
  CHECK(stopped.step_time >= whole.step_time);
  const auto at_once = choose_sizes(q, open, 8, 8, [](search_progress) { return false; }).value();
  CHECK(at_once.searched.evaluated == 0);
  CHECK(!at_once.chosen);
}

TEST_CASE("a change is the plan of the changed problem", "[planner][plan]") {
  step_problem q = llama({.tp = 2, .pp = 4}, 16);
  q.schedule = usual(q.parallel);
  const step_plan plan = plan_step(q).value();
  const tried_changes tried = try_changes(q, plan, compare_schedules(q).value()).value();
  CHECK(tried.now.step_seconds == plan.step->step_time().count());
  std::size_t checked = 0;
  for (const planned_change& x : tried.possible) {
    step_problem other = q;
    if (x.what == "recompute full") other.parallel.recompute = cost::recompute::full;
    else if (x.what == "2 chunks a rank") {
      other.parallel.vp = 2;
      other.schedule.name = "interleaved";
    } else if (x.what == "tp 4, pp 2") {
      other.parallel.tp = 4;
      other.parallel.pp = 2;
    } else continue;
    ++checked;
    CHECK(x.step_seconds == plan_step(other)->step->step_time().count());
  }
  CHECK(checked == 3);
  for (std::size_t i = 1; i < tried.possible.size(); ++i) CHECK(tried.possible[i - 1].fits >= tried.possible[i].fits);
}
