// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every allocation of every call that makes something fails once: the call throws, nothing is left behind, what it was
// asked about is as before, and called again it gives what it gives with memory enough.
#include "out_of_memory.hpp"

#include <hocket/core/message.hpp>
#include <hocket/curve.hpp>
#include <hocket/graph.hpp>
#include <hocket/graph/compare.hpp>
#include <hocket/graph/steady_stream_plan.hpp>
#include <hocket/graph/unroll.hpp>
#include <hocket/launch/bridges/graph.hpp>
#include <hocket/launch/bridges/pipeline.hpp>
#include <hocket/launch/bridges/tiling.hpp>
#include <hocket/launch/command.hpp>
#include <hocket/launch/event_pool.hpp>
#include <hocket/launch/fenced.hpp>
#include <hocket/launch/reuse_events.hpp>
#include <hocket/launch/single_wait_list.hpp>
#include <hocket/pipeline.hpp>
#include <hocket/pipeline/any_schedule.hpp>
#include <hocket/pipeline/communication.hpp>
#include <hocket/pipeline/critical_path.hpp>
#include <hocket/pipeline/lower.hpp>
#include <hocket/text.hpp>
#include <hocket/text/edges_csv.hpp>
#include <hocket/text/graph_dot.hpp>
#include <hocket/text/ops_csv.hpp>
#include <hocket/text/samples_csv.hpp>
#include <hocket/text/schedule_csv.hpp>
#include <hocket/text/schedule_jobs.hpp>
#include <hocket/tiling.hpp>
#include <hocket/tiling/timeline.hpp>
#include <hocket/timeline.hpp>

#include <array>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace hocket;
using out_of_memory::exhaust;

namespace {

constexpr std::string_view ops =
    "op,stream,kind,reads,writes\n0,0,io,,1\n1,1,compute,1,2\n2,0,collective,1,3\n3,1,compute,2 3,4\n4,0,random,4,1\n"
    "5,1,collective,1,5\n";

graph::dag<graph::persistent_index> some_graph() {
  graph::dag<graph::persistent_index> g;
  for (node_id b = 0; b < 200; ++b) (void)g.append(b < 3 ? std::vector<node_id>{} : std::vector<node_id>{b - 3, b / 2});
  return g;
}
std::vector<stream_id> some_streams(std::size_t nodes) {
  std::vector<stream_id> out;
  for (std::size_t n = 0; n < nodes; ++n) out.push_back(static_cast<stream_id>(n % 3));
  return out;
}

}  // namespace

TEST_CASE("out of memory: graphs", "[testing]") {
  const auto program = text::parse_ops_csv(ops).value();
  const std::vector<graph::edge> edges{{0, 1}, {1, 2}, {0, 2}, {2, 3}, {0, 3}};
  exhaust("dependencies",
          [&] { return graph::dependencies(program, graph::dependency_options::ordered()).value().graph().edges(); });
  exhaust("rule edges", [&] { return graph::rule_edges(program).value(); });
  exhaust("dependencies of steps", [&] { return graph::dependencies_of_steps(program)->across; });
  exhaust("reduction", [&] { return graph::transitive_reduction(4, edges)->kept; });
  exhaust("a cycle", [&] {
    std::pmr::vector<node_id> cycle;
    const std::vector<graph::edge> round{{0, 1}, {1, 2}, {2, 0}};
    const bool refused = !graph::transitive_reduction(3, round, &cycle);
    return std::pair(refused, std::vector<node_id>(cycle.begin(), cycle.end()));
  });
  const auto g = some_graph();
  exhaust("compare", [&] { return graph::compare(g, edges)->missing; });
  exhaust("assign streams", [&] { return graph::assign_streams(g, 3).value(); });
  const auto streams = some_streams(g.node_count());
  exhaust("stream plan", [&] {
    const auto plan = graph::stream_plan::make(g, streams).value();
    return plan.event_count() * 1000 + plan.waits().size();
  });
  const auto plan = graph::stream_plan::make(g, streams).value();
  exhaust("stream clock", [&] { return graph::clock_of(plan).done(199, 1); });
  exhaust("commands of a graph", [&] { return launch::from_graph(plan).value(); });
  exhaust("DOT", [&] { return text::write_dot(g); });
}

TEST_CASE("out of memory: schedules", "[testing]") {
  using pipeline::any_schedule;
  for (const std::string_view name : pipeline::schedule_names) {
    INFO(name);
    const pipeline::shape s{4, pipeline::default_chunks(name), 8};
    exhaust(name, [&] {
      const auto plan = any_schedule::make(name, s).value();
      return pipeline::fingerprint_of(plan);
    });
    const auto plan = any_schedule::make(name, s).value();
    exhaust("a copy as lists",
            [&] { return text::write_schedule_csv(pipeline::table_schedule::make_copy(plan).value()); });
    exhaust("simulate", [&] { return pipeline::simulate(plan, pipeline::costs{})->makespan; });
    exhaust("check", [&] { return pipeline::check(plan, pipeline::communication::batched).has_value(); });
    exhaust("critical path", [&] { return pipeline::critical_path(plan, pipeline::costs{})->size(); });
    exhaust("lower", [&] {
      const auto lowered = pipeline::lower(plan, {.transfers = pipeline::transfer_policy::eager});
      return lowered ? text::write_schedule_csv(*lowered) : message(lowered.error());
    });
    exhaust("program", [&] {
      const auto made = launch::from_pipeline(plan);
      return made ? made->steps(0).size() : std::size_t{0};
    });
  }
  // What is drawn into stays as it is until the drawing is whole.
  const auto plan = any_schedule::make("zbv", {4, 2, 8}).value();
  timeline drawn;
  drawn.add_lane("here before");
  exhaust(
      "simulate into a timeline",
      [&] {
        timeline copy = drawn;
        const auto run = pipeline::simulate(plan, pipeline::costs{}, {.into = &copy}).value();
        return copy.spans().size() + static_cast<std::size_t>(run.makespan);
      },
      [&] { CHECK(drawn.lane_count() == 1); });
  exhaust("groups",
          [&] { return pipeline::choose_groups({5, 2, 13}, {.forward = 10, .backward = 20, .hop = 3})->kappa; });
  const auto deadlocked = text::parse_schedule_csv("0B0,0F0\n1F0,1B0\n").value();
  exhaust("a deadlock", [&] {
    std::pmr::vector<pipeline::blocked> witness;
    const bool refused = !pipeline::check(deadlocked, &witness);
    return std::pair(refused, witness.size());
  });
}

TEST_CASE("out of memory: texts", "[testing]") {
  exhaust("ops", [&] { return text::parse_ops_csv(ops)->size(); });
  exhaust("edges", [&] { return text::parse_edges_csv("source,target\n0,1\n1,2\n")->edges; });
  exhaust("pairs", [&] { return text::parse_pairs_csv("source,target\n0,1\n1,2\n", 3).value(); });
  exhaust("samples", [&] { return text::parse_samples_csv("size,time_us\n1,2\n2,3\n4,5\n")->size(); });
  const auto table = text::parse_schedule_csv("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n").value();
  exhaust("schedule",
          [&] { return text::write_schedule_csv(text::parse_schedule_csv(text::write_schedule_csv(table)).value()); });
  exhaust("schedule as JSON", [&] { return text::write_schedule_json(table); });
}

TEST_CASE("out of memory: curves and tilings", "[testing]") {
  const std::vector<curve::sample> samples{{1, 5}, {2, 6}, {2, 7}, {4, 6.5}, {8, 20}, {16, 30}, {32, 80}};
  exhaust("isotonic", [&] { return curve::fit_isotonic(samples)->mean_error; });
  exhaust("segments", [&] { return curve::fit_segments(samples, 3)->mean_error; });
  exhaust("sizes to measure", [&] {
    double out[4];
    return curve::sizes_to_measure(samples, {1, 100}, out).value();
  });
  const auto fitted = curve::fit_isotonic(samples)->curve;
  exhaust("any curve", [&] { return curve::any_curve(fitted).time(3); });
  tiling::any_problem p;
  p.axis = {.rows = 4096, .align = 128};
  p.phases = {{tiling::phase_kind::compute, curve::affine{.fixed = 3, .per_size = 0.2}},
              {tiling::phase_kind::comm, fitted},
              {tiling::phase_kind::compute, curve::affine{.fixed = 1, .per_size = 0.1}}};
  for (const tiling::policy by : {tiling::policy::automatic, tiling::policy::exact})
    exhaust("tiling", [&] { return tiling::solve(p, {.policy = by})->predicted.count(); });
  const auto plan = tiling::solve(p).value();
  exhaust("a tiling drawn", [&] { return tiling::before_and_after(p, plan.tiles())->spans().size(); });
  exhaust("commands of a tiling", [&] { return launch::from_tiling(plan, std::array<stream_id, 3>{0, 1, 2}).value(); });
}

TEST_CASE("out of memory: timelines", "[testing]") {
  timeline t;
  const auto plan = pipeline::any_schedule::make("interleaved", {4, 2, 8}).value();
  REQUIRE(pipeline::simulate(plan, pipeline::costs{}, {.into = &t}));
  exhaust("SVG", [&] { return to_svg(t, {.title = "a title that is longer than a short string"}); });
  exhaust("text", [&] { return to_ascii(t, {.curve_rows = 3}); });
  exhaust("trace", [&] { return to_chrome_trace(t); });
  exhaust("use", [&] { return lane_uses(t).size(); });
  const auto spans = t.spans().size();
  exhaust(
      "a timeline that grows",
      [&] {
        timeline more = t;
        more.add_lane("a name that is longer than a short string");
        more.add({.start = 0, .finish = 1, .lane = 0});
        more.add_change({.at = 0, .lane = 0, .by = 1});
        more.add_mark(3, "a label that is longer than a short string");
        more.append(t, 7);
        return more.spans().size();
      },
      [&] { CHECK(t.spans().size() == spans); });
}

TEST_CASE("out of memory: commands", "[testing]") {
  using namespace launch;
  std::vector<command> commands;
  for (std::uint32_t i = 0; i < 40; ++i) {
    commands.push_back(run_op(i, i % 4));
    commands.push_back(record_event(i, i % 4));
    commands.push_back(wait_event(i, (i + 1) % 4));
    if (i % 3 == 0) commands.push_back(wait_event(i, (i + 2) % 4));
  }
  exhaust("commands", [&] { return command_list::make(commands, 4).value(); });
  const auto list = command_list::make(commands, 4).value();
  exhaust("reused events", [&] { return reuse_events(list); });
  exhaust("single waits", [&] { return single_wait_list::make(list)->size(); });
  exhaust("fenced", [&] { return fenced(list)->size(); });
}
