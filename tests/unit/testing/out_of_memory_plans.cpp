// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// As out_of_memory.cpp, for models, the planner, and what answers by a status instead of throwing: event pools and
// threads as streams.
#include <hocket/cost/model/list_cost.hpp>
#include <hocket/cost/model/list_stages.hpp>
#include <hocket/cost/model/uniform_list.hpp>
#include <hocket/launch/backends/host.hpp>
#include <hocket/launch/command.hpp>
#include <hocket/launch/event_pool.hpp>
#include <hocket/planner/micro_batches/assign.hpp>
#include <hocket/planner/saved_tensors/solve.hpp>
#include <hocket/planner/schedule/solve.hpp>
#include <hocket/planner/split/layout.hpp>
#include <hocket/planner/split/solve.hpp>
#include <hocket/planner/strategy/solve.hpp>

#include <chrono>
#include <new>
#include <vector>

#include "catch.hpp"
#include "data/cost/published_shapes.hpp"
#include "out_of_memory.hpp"
#include "unit/planner/guide_cluster.hpp"

using namespace hocket;
using namespace hocket::literals;
using namespace std::chrono_literals;
using out_of_memory::exhaust;

TEST_CASE("out of memory: models", "[testing]") {
  const cost::layer_list list = cost::to_layers(published::llama_7b);
  exhaust("a list of layers", [&] { return cost::count_parameters(cost::to_layers(published::deepseek_v3))->total; });
  exhaust("a copy", [&] { return cost::count_parameters(cost::layer_list(list))->total; });
  CHECK(exhaust("layers of ranks",
                [&] { return cost::layers_of_ranks(list, cost::parallel{.tp = 2, .pp = 4})->size(); }) > 2);
}

TEST_CASE("out of memory: plans of layers", "[testing]") {
  const planner::level_list levels{{44_MiB, 0ms}, {24_MiB, 2ms}, {3_MiB, 19ms}};
  for (const bool several_chunks : {false, true}) {
    const planner::split_problem split{
        .layers = {{{.time = 57ms, .weights = 20_MiB, .levels = levels}, 9}},
        .ranks = {{801_MiB, 40_MiB, 6ms}, {801_MiB}, {801_MiB}, {801_MiB, 39_MiB, 5ms}},
        .in_flight = several_chunks
                       ? planner::in_flight_profile::make(pipeline::interleaved::make({4, 2, 4}).value()).value()
                       : planner::in_flight_profile::make_one_f_one_b(4, 4).value(),
        .micro_batches = 4,
        .budget = 200};
    CHECK(exhaust("split", [&] { return planner::solve(split)->step_time.count(); }) > 2);
  }
  const planner::layout_problem layout{
      .layers = {5, 5, 7, 5, 9, 5, 5}, .embedding = 3, .loss = 6, .ranks = 2, .chunks = 2};
  exhaust("layout", [&] { return planner::solve(layout)->layout; });
  const planner::saved_tensor_problem saved{
      .classes = {{4, 40_MiB, 3ms, 2ms, true, true}, {4, 20_MiB, 1ms, 5ms, true, true}},
      .in_flight = 4,
      .capacity = 500_MiB,
      .compute = 40ms};
  exhaust("saved tensors", [&] { return planner::solve(saved)->extra.count(); });
  const planner::assignment_problem deal{.times = {9, 7, 6, 5, 5, 4, 3, 1}, .pipelines = 2, .steps = 2};
  exhaust("micro-batches", [&] { return planner::solve(deal)->total; });
}

TEST_CASE("out of memory: searches", "[testing]") {
  const pipeline::costs unit{.forward = 1, .backward = {1, 1, 1}};
  const planner::schedule_problem orders{.shape = {2, 1, 3}, .split_backward = true, .memory_cap = {2, 2}};
  exhaust("schedule", [&] { return planner::solve(orders, unit)->makespan; });
  const cost::training step{.sequence = 4096, .global_batch = 8};
  const planner::strategy_space space{.micro_batches = {1}, .copies = {1}};
  const auto best = [](const auto& found) { return found->front.front().cost.step.count(); };
  exhaust("strategy", [&] {
    return best(planner::solve(planner::strategy_problem{published::llama_7b, step, cluster_of(4), space}));
  });
  const planner::strategy_problem of_list{cost::to_layers(published::llama_7b), step, cluster_of(4), space};
  CHECK(exhaust("strategy of a list", [&] { return best(planner::solve(of_list)); }) > 2);
}

TEST_CASE("out of memory: events and threads", "[testing]") {
  using namespace launch;
  std::vector<command> commands;
  for (std::uint32_t i = 0; i < 12; ++i) {
    commands.push_back(run_op(i, i % 2));
    commands.push_back(record_event(i, i % 2));
    commands.push_back(wait_event(i, (i + 1) % 2));
  }
  const auto list = command_list::make(commands, 2).value();
  // What says by a code that memory ran out must say so, and nothing else.
  const auto or_throw = [](bool good, bool lacks_memory) {
    if (!good && lacks_memory) throw std::bad_alloc();
    return good;
  };
  CHECK(exhaust("threads as streams", [&] {
          const auto device = host_backend::start(2);
          return or_throw(device.has_value(), !device && device.error().code == errc::out_of_memory);
        }) > 2);
  CHECK(exhaust("events and a step", [&] {
          auto device = host_backend::start(2);
          if (!or_throw(device.has_value(), !device && device.error().code == errc::out_of_memory)) return false;
          event_pool events(*device);
          const auto ready = events.prepare(list);
          const bool no_event = !ready && ready.error().code == errc::event_not_created;
          if (!or_throw(ready.has_value(), no_event)) return false;
          const auto report = device->run(list, [](node_id, stream_id) {});
          return or_throw(static_cast<bool>(report), report.status == host_status::out_of_memory);
        }) > 2);
}
