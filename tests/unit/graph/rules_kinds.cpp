// SPDX-License-Identifier: Apache-2.0
// Edges of different kinds, and programs that run again and again, against the interpreter of rules_program.hpp.
#include <hocket/graph/edge_kinds.hpp>
#include <hocket/graph/unroll.hpp>

#include <algorithm>
#include <vector>

#include "catch.hpp"
#include "rules_program.hpp"

using namespace rules;
using hocket::errc;
using hocket::graph::dependencies_by_kind;
using hocket::graph::dependencies_of_steps;
using hocket::graph::edge_kind;
using hocket::graph::kinded_edge;

TEST_CASE("edges of three kinds: kept is exactly what the definition says", "[graph]") {
  random_source random(78);
  std::size_t kept_beside_a_path = 0, controls = 0;
  for (int round = 0; round < 1500; ++round) {
    const program p = random_program(random, random.below(24));
    dependency_options options = random_options(random);
    options.start_up = false;
    std::vector<edge> all, data, lifetime;
    const auto count = static_cast<node_id>(p.ops.size());
    const bool possible = happens_before(p, options, all);
    for (node_id b = 0; b < count; ++b) {
      for (node_id a = 0; a < b; ++a) {
        const auto why = rules_between(p, options, a, b);
        if (!why.empty() && why.front() <= rule::write_after_read) data.push_back({a, b});
      }
      for (const node_id a : p.ops[b].outlives) lifetime.push_back({a, b});
    }
    all.insert(all.end(), lifetime.begin(), lifetime.end());
    const graph_oracle order(count, all), visible(count, data);
    const auto deps = dependencies_by_kind(p, options);
    REQUIRE(deps.has_value() == (possible && !order.has_cycle()));
    if (!deps) {
      CHECK(deps.error().code == errc::cycle);
      continue;
    }
    std::sort(lifetime.begin(), lifetime.end());
    lifetime.erase(std::unique(lifetime.begin(), lifetime.end()), lifetime.end());
    const auto in = [](const std::vector<edge>& edges, edge e) {
      return std::find(edges.begin(), edges.end(), e) != edges.end();
    };
    std::vector<kinded_edge> expected;
    for (node_id a = 0; a < count; ++a) {
      for (node_id b = 0; b < count; ++b) {
        CHECK(deps->reaches(a, b) == order.reaches(a, b));
        CHECK(deps->data_reaches(a, b) == visible.reaches(a, b));
        bool between = false, data_between = false;
        for (node_id c = 0; c < count; ++c) {
          between = between || (order.reaches(a, c) && order.reaches(c, b));
          data_between = data_between || (visible.reaches(a, c) && visible.reaches(c, b));
        }
        const edge e{a, b};
        if (in(data, e) && !data_between) {
          expected.push_back({e, edge_kind::data});
          kept_beside_a_path += between ? 1u : 0u;
        }
        if (in(all, e) && !between && !in(data, e) && !in(lifetime, e)) {
          expected.push_back({e, edge_kind::control});
          ++controls;
        }
        if (in(lifetime, e)) expected.push_back({e, edge_kind::lifetime});
      }
    }
    CHECK(deps->edges() == expected);
  }
  CHECK(kept_beside_a_path > 100);  // a single kind would have lost these: the streams would not know of them
  CHECK(controls > 100);
}

TEST_CASE("an edge against the program order says why it is there", "[graph]") {
  program p{std::vector<op>(3), {}};
  p.ops[0].outlives = {2};
  p.ops[1].after = {2};
  const auto deps = dependencies_by_kind(p, {.reasons = true});
  REQUIRE(deps);
  REQUIRE(deps->edges() == std::vector<kinded_edge>{{{2, 0}, edge_kind::lifetime}, {{2, 1}, edge_kind::control}});
  CHECK(deps->why(2, 0)->rule == rule::lifetime);
  CHECK(deps->why(2, 1)->rule == rule::control);

  p.ops[0].after = {2};  // both asked for it
  CHECK(dependencies_by_kind(p, {.reasons = true})->why(2, 0)->rule == rule::control);
  p.ops[2].outlives = {0};
  CHECK(dependencies_by_kind(p).error().code == errc::cycle);
  p.ops[2].outlives = {2};
  CHECK(dependencies_by_kind(p).error().code == errc::self_edge);
  p.ops[2].outlives = {3};
  CHECK(dependencies_by_kind(p).error().code == errc::unknown_node);
}

TEST_CASE("a program that runs again and again: two steps say it all", "[graph]") {
  random_source random(79);
  std::size_t backwards = 0;
  for (int round = 0; round < 300; ++round) {
    program p = random_program(random, 1 + random.below(10));
    dependency_options options = random_options(random);
    std::vector<edge> once;
    options.start_up = false;
    const bool possible = happens_before(p, options, once);
    const auto loop = dependencies_of_steps(p, options);
    REQUIRE(loop.has_value() == possible);
    if (!possible) continue;

    // Four steps as one program, interpreted without any knowledge of steps.
    constexpr node_id steps = 4;
    const auto count = static_cast<node_id>(p.ops.size());
    program whole;
    whole.parts = p.parts;
    for (node_id s = 0; s < steps; ++s) {
      for (op o : p.ops) {
        for (node_id& a : o.after) a += s * count;
        whole.ops.push_back(o);
      }
    }
    std::vector<edge> all, repeated;
    REQUIRE(happens_before(whole, options, all));
    for (node_id s = 0; s < steps; ++s) {
      for (const edge& e : loop->within) repeated.push_back({e.source + s * count, e.target + s * count});
      for (const edge& e : loop->across)
        if (s + 1 < steps) repeated.push_back({e.source + s * count, e.target + (s + 1) * count});
    }
    std::sort(repeated.begin(), repeated.end());
    CHECK(repeated == graph_oracle(steps * count, all).reduction());
    for (const edge& e : loop->across) backwards += e.source >= e.target ? 1u : 0u;
    CHECK(loop->two_steps.node_count() == 2 * count);
  }
  CHECK(backwards > 100);
}
