// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that repeats: the plan from two copies against the plan, and the device, of a long unrolled run.
#include <hocket/core/message.hpp>
#include <hocket/graph/assign_streams.hpp>
#include <hocket/graph/dependencies.hpp>
#include <hocket/graph/steady_stream_plan.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "catch.hpp"
#include "stream_device.hpp"

using hocket::node_id;
using hocket::stream_id;
using hocket::graph::edge;
using hocket::graph::steady_stream_plan;
using hocket::graph::stream_wait;
using hocket::testing::random_source;

namespace {

struct op {
  std::vector<int> reads, writes;
};
using program = std::vector<op>;

bool conflict(const op& x, const op& y) {
  const auto meet = [](const std::vector<int>& a, const std::vector<int>& b) {
    return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
  };
  return meet(x.writes, y.reads) || meet(x.reads, y.writes) || meet(x.writes, y.writes);
}

// Every pair that conflicts, in a run of so many steps: the rules by definition, far more edges than needed.
std::vector<edge> conflicts(const program& p, node_id steps) {
  std::vector<edge> edges;
  const auto n = static_cast<node_id>(p.size());
  for (node_id b = 0; b < n * steps; ++b)
    for (node_id a = 0; a < b; ++a)
      if (conflict(p[a % n], p[b % n])) edges.push_back({a, b});
  return edges;
}

std::vector<stream_id> repeated(const std::vector<stream_id>& streams, node_id steps) {
  std::vector<stream_id> all;
  for (node_id k = 0; k < steps; ++k) all.insert(all.end(), streams.begin(), streams.end());
  return all;
}

// The waits of a run of so many steps that a steady plan says.
std::vector<stream_wait> unrolled(const steady_stream_plan& plan, node_id n, node_id steps) {
  std::vector<stream_wait> waits;
  for (node_id k = 0; k < steps; ++k) {
    for (stream_wait w : plan.step().waits()) {
      w.recorder += k * n;
      w.waiter += k * n;
      waits.push_back(w);
    }
    for (stream_wait w : plan.previous_waits()) {
      if (k == 0) continue;
      w.recorder += (k - 1) * n;
      w.waiter += k * n;
      waits.push_back(w);
    }
  }
  std::sort(waits.begin(), waits.end(), [](const stream_wait& x, const stream_wait& y) {
    return x.waiter != y.waiter ? x.waiter < y.waiter : x.recorder < y.recorder;
  });
  return waits;
}

program random_program(random_source& random, node_id n) {
  program p(n);
  const std::uint32_t variables = 1 + random.below(4 * n);
  for (op& o : p) {
    for (std::uint32_t k = random.below(4); k-- > 0;) o.reads.push_back(static_cast<int>(random.below(variables)));
    for (std::uint32_t k = random.below(3); k-- > 0;) o.writes.push_back(static_cast<int>(random.below(variables)));
  }
  return p;
}

}  // namespace

template <>
struct hocket::graph_access<program> {
  using node = node_id;
  static std::size_t node_count(const program& p) { return p.size(); }
  static void for_each_read(const program& p, node n, auto&& f) {
    for (const int v : p[n].reads) f(v);
  }
  static void for_each_write(const program& p, node n, auto&& f) {
    for (const int v : p[n].writes) f(v);
  }
};

TEST_CASE("two copies of a program decide the waits of a run of six steps", "[graph]") {
  random_source random(91);
  constexpr node_id steps = 6;
  std::size_t waits = 0;
  for (int round = 0; round < 120; ++round) {
    const node_id n = 1 + random.below(12);
    const std::uint32_t count = 1 + random.below(4);
    const program p = random_program(random, n);
    std::vector<stream_id> streams;
    for (node_id i = 0; i < n; ++i) streams.push_back(random.below(count));

    program twice = p;
    twice.insert(twice.end(), p.begin(), p.end());
    const auto deps = hocket::graph::dependencies(twice);
    REQUIRE(deps);
    const auto plan = steady_stream_plan::make(deps->graph(), streams);
    REQUIRE(plan);

    const std::vector<stream_id> all = repeated(streams, steps);
    std::vector<edge> order = conflicts(p, steps);
    const auto whole = hocket::graph::stream_plan::make(hocket_test::dag_of(all.size(), order), all);
    REQUIRE(whole);
    const std::vector<stream_wait> expected(whole->waits().begin(), whole->waits().end());
    REQUIRE(unrolled(*plan, n, steps) == expected);
    waits += plan->previous_waits().size();

    // As issued: one event an op, recorded again every step.
    REQUIRE_FALSE(plan->alternating());
    std::vector<bool> records(n);
    for (const auto& w : plan->step().waits()) records[w.recorder] = true;
    for (const auto& w : plan->previous_waits()) records[w.recorder] = true;
    CHECK(plan->event_count() == static_cast<std::size_t>(std::count(records.begin(), records.end(), true)));
    hocket_test::stream_device device;
    for (node_id k = 0; k < steps; ++k) {
      for (node_id b = 0; b < n; ++b) {
        for (const auto& w : plan->previous_waits_of(b)) device.wait(static_cast<int>(w.recorder), w.wait_stream);
        for (const auto& w : plan->step().waits_of(b)) device.wait(static_cast<int>(w.recorder), w.wait_stream);
        device.run(k * n + b, streams[b]);
        if (records[b]) device.record(static_cast<int>(b), streams[b]);
      }
    }
    const std::vector<edge> lines = hocket_test::fifo(all);
    order.insert(order.end(), lines.begin(), lines.end());
    const hocket::testing::graph_oracle truth(all.size(), order);
    for (node_id a = 0; a < n * steps; ++a)
      for (node_id b = 0; b < n * steps; ++b) REQUIRE(device.reaches(a, b) == truth.reaches(a, b));
  }
  CHECK(waits > 100);
}

TEST_CASE("an edge of the host's own may need two events in turn", "[graph]") {
  // Op 1 of a step waits for op 0 of the step before, but not for op 0 of its own: nothing conflicts so.
  const std::vector<edge> edges{{0, 3}};
  const std::array<stream_id, 2> streams{0, 1};
  const auto plan = steady_stream_plan::make(hocket_test::dag_of(4, edges), streams);
  REQUIRE(plan);
  CHECK(plan->step().waits().empty());
  REQUIRE(plan->previous_waits().size() == 1);
  CHECK(plan->previous_waits()[0] == stream_wait{0, 1, 0, 1});
  CHECK(plan->alternating());
  CHECK(plan->event_count() == 1);
}

TEST_CASE("the first step of a steady plan is the plan of one step, with what was fused in it", "[graph]") {
  random_source random(5);
  for (int round = 0; round < 100; ++round) {
    const node_id n = 2 + random.below(10);
    std::vector<stream_id> streams;
    for (node_id i = 0; i < n; ++i) streams.push_back(random.below(3));
    program p = random_program(random, n), twice = p;
    twice.insert(twice.end(), p.begin(), p.end());
    auto one = hocket::graph::dependencies(p).value().graph(), two = hocket::graph::dependencies(twice).value().graph();
    const std::vector<node_id> pair{random.below(n - 1), n - 1}, next{pair[0] + n, pair[1] + n};
    if (!one.contract(pair) || !two.contract(pair) || !two.contract(next)) continue;
    const auto step = hocket::graph::stream_plan::make(one, streams);
    const auto plan = steady_stream_plan::make(two, streams);
    REQUIRE(step.has_value() == plan.has_value());
    if (!plan) continue;
    const auto& first = plan->step();
    CHECK(std::equal(first.waits().begin(), first.waits().end(), step->waits().begin(), step->waits().end()));
    CHECK(first.event_count() == step->event_count());
    CHECK(first.cross_stream_edges() == step->cross_stream_edges());
    CHECK(first.stream_count() == step->stream_count());
    for (node_id i = 0; i < n; ++i) CHECK(first.issues(i) == (i != pair[1]));
    CHECK(first.node_count() == n);
    for (node_id i = 0; i < n; ++i) CHECK(first.stream_of(i) == streams[i]);
  }
  auto later = hocket_test::dag_of(4, {});
  REQUIRE(later.contract(std::vector<node_id>{1, 2}));  // the first op, in the second step alone
  CHECK(steady_stream_plan::make(later, std::vector<stream_id>{0, 1}).error().code == hocket::errc::invalid_argument);
  auto two = hocket_test::dag_of(4, {});
  REQUIRE(two.contract(std::vector<node_id>{0, 1}));
  CHECK(steady_stream_plan::make(two, std::vector<stream_id>{0, 1}).error().code == hocket::errc::invalid_argument);
}

TEST_CASE("what does not repeat has no steady plan", "[graph]") {
  const std::array<stream_id, 2> streams{0, 1};
  CHECK(message(steady_stream_plan::make(hocket_test::dag_of(3, {}), streams).error()) ==
        "number of ops in two steps: 3 is not divisible by 2");
  CHECK(message(steady_stream_plan::make(hocket_test::dag_of(6, {}), streams).error()) ==
        "2 streams are given, but 3 are needed: one for each op");
  CHECK(steady_stream_plan::make(hocket_test::dag_of(4, {{0, 1}}), streams).error() ==
        hocket::error(hocket::errc::not_periodic, 0, 1));
  CHECK(steady_stream_plan::make(hocket_test::dag_of(4, {{2, 3}}), streams).error() ==
        hocket::error(hocket::errc::not_periodic, 0, 1));
  CHECK(steady_stream_plan::make(hocket_test::dag_of(4, {{3, 2}}), streams).error().code == hocket::errc::bad_order);
  const auto empty = steady_stream_plan::make(hocket::graph::dag<>{}, std::span<const stream_id>{});
  REQUIRE(empty);
  CHECK(empty->previous_waits().empty());
}

TEST_CASE("plans take what dependencies returns, and its error", "[graph]") {
  using hocket::graph::assign_streams;
  using hocket::graph::dag;
  using hocket::graph::dependencies;
  using hocket::graph::steady_stream_plan;
  using hocket::graph::stream_plan;
  const program p{{{}, {0}}, {{}, {1}}, {{0, 1}, {2}}};
  const auto made = dependencies(p);
  const auto& deps = made.value();
  const std::vector<hocket::ticks> durations{1, 2, 3};
  const auto streams = assign_streams(deps.graph(), 2).value();
  CHECK(assign_streams(made, 2).value() == streams);
  CHECK(assign_streams(deps, 2).value() == streams);
  CHECK(assign_streams(dependencies(p), 2).value() == streams);
  CHECK(assign_streams(deps, 2, durations).value() == assign_streams(deps.graph(), 2, durations).value());
  CHECK(hocket::graph::time_on_streams(made, streams, durations).value() == 5);
  const auto expected = stream_plan::make(deps.graph(), streams).value();
  const auto of_result = stream_plan::make(made, streams).value(), of_deps = stream_plan::make(deps, streams).value();
  CHECK(std::ranges::equal(of_result.waits(), expected.waits()));
  CHECK(std::ranges::equal(of_deps.waits(), expected.waits()));
  const hocket::result<dag<>> made_of_edges = dag<>::make(3, std::vector<edge>{{0, 2}, {1, 2}});
  CHECK(assign_streams(made_of_edges, 2).value() == streams);
  const auto two_steps = dependencies(program{p[0], p[1], p[2], p[0], p[1], p[2]});
  CHECK(steady_stream_plan::make(two_steps, streams).value().event_count() ==
        steady_stream_plan::make(two_steps.value().graph(), streams).value().event_count());

  const auto refused = dependencies(p, hocket::graph::dependency_options::ordered());
  CHECK(assign_streams(refused, 2).error() == refused.error());
  CHECK(stream_plan::make(refused, streams).error() == refused.error());
}
