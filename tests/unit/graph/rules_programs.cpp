// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random programs with everything a host can say, against the interpreter of rules_program.hpp.
#include "rules_program.hpp"

#include <string>
#include <vector>

#include "catch.hpp"

using namespace rules;
using hocket::errc;
using hocket::graph::dependencies;
using hocket::graph::reason;
using hocket::testing::broken_law;

TEST_CASE("random programs with views, resources, barriers, control edges, start-up ops", "[graph]") {
  random_source random(77);
  int impossible = 0, late = 0, explained = 0;
  for (int round = 0; round < 3000; ++round) {
    const program p = random_program(random, random.below(28));
    const dependency_options options = random_options(random);
    std::vector<edge> truth;
    const bool possible = happens_before(p, options, truth);
    const auto deps = dependencies(p, options);
    REQUIRE(deps.has_value() == possible);
    if (!possible) {
      CHECK(deps.error().code == errc::cycle);
      CHECK(hocket::graph::rule_edges(p, options).error() == dependencies(p, options).error());
      ++impossible;
      continue;
    }
    if (const std::string law = broken_law(deps->graph(), graph_oracle(p.ops.size(), truth)); !law.empty()) FAIL(law);
    const std::vector<edge> rules = hocket::graph::rule_edges(p, options).value();
    CHECK(rules.size() == deps->rule_edges());
    for (const edge& e : rules) late += e.source > e.target ? 1 : 0;

    for (const edge& e : deps->graph().edges()) {
      const auto why = deps->why(e.source, e.target);
      if (!options.reasons) {
        CHECK_FALSE(why);
        continue;
      }
      REQUIRE(why);
      ++explained;
      CHECK_FALSE(deps->why(e.target, e.source));
      if (why->rule == rule::start_up) {
        CHECK((options.start_up && p.ops[e.source].starts));
      } else if (e.source > e.target) {
        CHECK(why->rule == rule::control);
      } else {
        const std::vector<rule> possible_rules = rules_between(p, options, e.source, e.target);
        REQUIRE(!possible_rules.empty());
        CHECK(std::find(possible_rules.begin(), possible_rules.end(), why->rule) != possible_rules.end());
        CHECK((why->rule == rule::read_after_write) == (possible_rules.front() == rule::read_after_write));
        CHECK((why->rule <= rule::write_after_read) == (possible_rules.front() <= rule::write_after_read));
        if (why->rule <= rule::write_after_read) {
          const op &x = p.ops[e.source], &y = p.ops[e.target];
          CHECK(meet({why->subject},
                     why->rule == rule::write_after_read ? storage(p, x.in, x.inplace) : storage(p, x.out, x.inplace)));
          CHECK(meet({why->subject},
                     why->rule == rule::read_after_write ? storage(p, y.in, y.inplace) : storage(p, y.out, y.inplace)));
        }
      }
    }
  }
  CHECK(impossible > 50);
  CHECK(late > 50);
  CHECK(explained > 5000);
}

TEST_CASE("barriers cost no edge to every op", "[graph]") {
  program p;
  constexpr node_id count = 30'000;
  for (node_id i = 0; i < count; ++i) {
    op o;
    o.in.push_back(i % 10);
    o.out.push_back(i % 10);
    if (i % 100 == 99) o.separates = barrier::both;
    p.ops.push_back(o);
  }
  const auto deps = dependencies(p);
  REQUIRE(deps);
  CHECK(deps->rule_edges() < 2 * count);
  CHECK(deps->reaches(0, 99));
  CHECK(deps->reaches(98, 99));
  CHECK(deps->reaches(99, 100));
  CHECK(deps->upstream(199).size() == 10);
  CHECK(deps->downstream(199).size() == 10);
  CHECK_FALSE(deps->graph().ordered(100, 101));

  program sync;  // all wait for one op, but only those that nothing else holds back have an edge
  sync.ops.resize(3);
  sync.ops[0].separates = barrier::after;
  sync.ops[1].out = {1};
  sync.ops[2].in = {1};
  CHECK(hocket::graph::rule_edges(sync).value() == std::vector<edge>{{0, 1}, {1, 2}});
}

TEST_CASE("control edges: against the program order, to themselves, beyond the program", "[graph]") {
  program p;
  p.ops.resize(3);
  p.ops[0].after = {2};
  const auto deps = dependencies(p, dependency_options{.reasons = true});
  REQUIRE(deps);
  CHECK(deps->graph().edges() == std::vector<edge>{{2, 0}});
  CHECK(deps->why(2, 0) == reason{rule::control, 0});
  CHECK(dependencies(p, dependency_options{.control = false}).value().edge_count() == 0);
  p.ops[2].after = {0};
  CHECK(dependencies(p).error() == hocket::error{errc::cycle, 2, 0});
  p.ops[2].after = {2};
  CHECK(dependencies(p).error() == hocket::error{errc::self_edge, 2});
  p.ops[2].after = {hocket::no_id};
  CHECK(dependencies(p).error() == hocket::error{errc::unknown_node, hocket::no_id, 3});
  p.ops[2].after = {3};
  CHECK(dependencies(p).error() == hocket::error{errc::unknown_node, 3, 3});
}

TEST_CASE("why, one by one", "[graph]") {
  program p;
  p.ops.resize(8);
  p.parts = {{5, 6}};
  p.ops[0].out = {1};
  p.ops[1].in = {1};
  p.ops[2].out = {1};
  p.ops[3].inplace = {1};
  p.ops[4].uses = {{op_kind::collective, 9}};
  p.ops[5].uses = {{op_kind::collective, 9}, {op_kind::random, 2}};
  p.ops[6].uses = {{op_kind::random, 2}};
  p.ops[6].out = {6};
  p.ops[7].in = {1000};
  const auto deps = dependencies(p, dependency_options{.collectives = true, .random = true, .reasons = true});
  REQUIRE(deps);
  CHECK(deps->why(0, 1) == reason{rule::read_after_write, 1});
  CHECK(deps->why(1, 2) == reason{rule::write_after_read, 1});
  CHECK(deps->why(2, 3) == reason{rule::read_after_write, 1});
  CHECK(deps->why(4, 5) == reason{rule::collective, 9});
  CHECK(deps->why(5, 6) == reason{rule::random, 2});
  CHECK(deps->why(6, 7) == reason{rule::read_after_write, 6});  // the part that the view and the variable share
  CHECK_FALSE(deps->why(0, 2));                                 // implied, so not kept
  CHECK(to_string(rule::start_up) == "start-up");
}
