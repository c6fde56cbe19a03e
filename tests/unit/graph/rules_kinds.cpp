// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Edges of different kinds, and programs that run again and again, against the interpreter of rules_program.hpp.
#include <hocket/graph/edge_kinds.hpp>
#include <hocket/graph/unroll.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "rules_program.hpp"

using namespace rules;
using hocket::errc;
using hocket::graph::dependencies_by_kind;
using hocket::graph::dependencies_of_steps;
using hocket::graph::edge_kind;
using hocket::graph::edge_status;
using hocket::graph::kinded_edge;

namespace {

bool in(const std::vector<edge>& edges, edge e) { return std::find(edges.begin(), edges.end(), e) != edges.end(); }

// What the definition keeps of edges that close no cycle; `all` holds those of every kind.
std::vector<kinded_edge> kept_by_kind(node_id count, const std::vector<edge>& all, const std::vector<edge>& data,
                                      const std::vector<edge>& lifetime) {
  const std::vector<edge> order = graph_oracle(count, all).reduction(), visible = graph_oracle(count, data).reduction();
  std::vector<kinded_edge> kept;
  for (node_id a = 0; a < count; ++a) {
    for (node_id b = 0; b < count; ++b) {
      const edge e{a, b};
      if (in(visible, e)) kept.push_back({e, edge_kind::data});
      if (in(order, e) && !in(data, e) && !in(lifetime, e)) kept.push_back({e, edge_kind::control});
      if (in(lifetime, e)) kept.push_back({e, edge_kind::lifetime});
    }
  }
  return kept;
}

}  // namespace

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
    for (node_id a = 0; a < count; ++a) {
      for (node_id b = 0; b < count; ++b) {
        CHECK(deps->reaches(a, b) == order.reaches(a, b));
        CHECK(deps->data_reaches(a, b) == visible.reaches(a, b));
      }
    }
    const std::vector<kinded_edge> expected = kept_by_kind(count, all, data, lifetime);
    CHECK(deps->edges() == expected);
    const std::vector<edge> shortest = order.reduction();
    for (const kinded_edge& k : expected) {
      kept_beside_a_path += k.kind == edge_kind::data && !in(shortest, k.what) ? 1u : 0u;
      controls += k.kind == edge_kind::control ? 1u : 0u;
    }
  }
  CHECK(kept_beside_a_path > 100);  // a single kind would have lost these: the streams would not know of them
  CHECK(controls > 100);
}

TEST_CASE("edges of three kinds that come one by one: the same definition", "[graph]") {
  random_source random(80);
  for (int round = 0; round < 200; ++round) {
    hocket::graph::kinded_dependencies<> g;
    std::vector<edge> all, of[3];
    const auto offered = [&](node_id a, node_id b, edge_kind kind) {
      all.push_back({a, b});
      of[static_cast<std::size_t>(kind)].push_back({a, b});
    };
    constexpr edge_kind kinds[] = {edge_kind::data, edge_kind::control, edge_kind::lifetime};
    for (node_id b = 0; b < 12; ++b) {
      std::vector<node_id> preds[3];
      for (const edge_kind k : kinds) {
        for (node_id left = random.below(3); b != 0 && left != 0; --left) {
          preds[static_cast<std::size_t>(k)].push_back(random.below(b));
          offered(preds[static_cast<std::size_t>(k)].back(), b, k);
        }
      }
      REQUIRE(g.append(preds[0], preds[1], preds[2]).value() == b);
      const edge late{random.below(b + std::size_t{1}), random.below(b + std::size_t{1})};
      const edge_kind k = kinds[random.below(3)];
      const auto status = g.add_edge(late.source, late.target, k);
      if (status != edge_status::cycle && status != edge_status::self) offered(late.source, late.target, k);
      REQUIRE(g.edges() == kept_by_kind(b + 1, all, of[0], of[2]));
      REQUIRE(std::is_sorted(g.lifetime().begin(), g.lifetime().end()));
    }
  }
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
  CHECK(dependencies_by_kind(p, {.reasons = true}).value().why(2, 0)->rule == rule::control);
  p.ops[2].outlives = {0};
  CHECK(dependencies_by_kind(p).error().code == errc::cycle);
  p.ops[2].outlives = {2};
  CHECK(dependencies_by_kind(p).error().code == errc::self_edge);
  p.ops[2].outlives = {3};
  CHECK(dependencies_by_kind(p).error().code == errc::unknown_node);
}

TEST_CASE("kinds have names, and a resource of which nothing is said is the collectives' ring 0", "[graph]") {
  for (const hocket::graph::op_kind kind : {op_kind::compute, op_kind::collective, op_kind::random, op_kind::io})
    CHECK(hocket::graph::parse_op_kind(to_string(kind)) == kind);
  for (const std::string_view none : {"", "comput", "computes", "IO"})
    CHECK_FALSE(hocket::graph::parse_op_kind(none).has_value());

  program p{std::vector<op>(3), {}};
  p.ops[0].uses = {ordered_resource{}};
  p.ops[1].uses = {{op_kind::collective, 1}};
  p.ops[2].uses = {{op_kind::collective, 0}};
  CHECK(hocket::graph::dependencies(p, dependency_options::ordered()).value().graph().edges() ==
        std::vector<edge>{{0, 2}});
}

TEST_CASE("an owner that is named twice is one lifetime edge", "[graph]") {
  program p{std::vector<op>(3), {}};
  p.ops[2].outlives = {1, 0, 1, 1};
  const auto deps = dependencies_by_kind(p);
  REQUIRE(deps);
  CHECK(std::vector<edge>(deps->lifetime().begin(), deps->lifetime().end()) == std::vector<edge>{{0, 2}, {1, 2}});
  CHECK(deps->edges() == std::vector<kinded_edge>{{{0, 2}, edge_kind::lifetime}, {{1, 2}, edge_kind::lifetime}});
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
