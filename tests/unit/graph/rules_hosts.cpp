// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The optional members of a policy over a host whose ops are pointers and whose tensors are names: what a compiler's
// intermediate representation looks like.
#include <hocket/graph/edge_kinds.hpp>
#include <hocket/graph/unroll.hpp>

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"

using hocket::node_id;
using hocket::graph::dependencies;
using hocket::graph::dependencies_by_kind;
using hocket::graph::dependencies_of_steps;
using hocket::graph::dependency_options;
using hocket::graph::edge;
using hocket::graph::edge_kind;
using hocket::graph::kinded_edge;
using hocket::graph::reason;
using hocket::graph::rule;

namespace ir {

struct instruction {
  std::size_t number;
  std::vector<std::string> reads, writes;
  std::vector<const instruction*> after, frees_after;
  bool synchronises = false;
};
struct function {
  std::deque<instruction> body;
  instruction& add(std::vector<std::string> reads, std::vector<std::string> writes) {
    return body.emplace_back(instruction{body.size(), std::move(reads), std::move(writes), {}, {}});
  }
};

}  // namespace ir

template <>
struct hocket::graph_access<ir::function> {
  using node = const ir::instruction*;
  static std::size_t node_count(const ir::function& f) { return f.body.size(); }
  static void for_each_node(const ir::function& f, auto&& visit) {
    for (const ir::instruction& i : f.body) visit(&i);
  }
  static std::size_t index_of(const ir::function&, node n) { return n->number; }
  static void for_each_read(const ir::function&, node n, auto&& f) {
    for (const std::string& v : n->reads) f(v);
  }
  static void for_each_write(const ir::function&, node n, auto&& f) {
    for (const std::string& v : n->writes) f(v);
  }
  // "flat" is a buffer that gradients were coalesced into.
  static void for_each_part(const ir::function&, std::string_view v, auto&& f) {
    if (v == "flat") {
      f(std::string_view("grad_a"));
      f(std::string_view("grad_b"));
    }
  }
  static void for_each_control(const ir::function&, node n, auto&& f) {
    for (node a : n->after) f(a);
  }
  static void for_each_lifetime(const ir::function&, node n, auto&& f) {
    for (node a : n->frees_after) f(a);
  }
  static graph::barrier barrier(const ir::function&, node n) {
    return n->synchronises ? graph::barrier::after : graph::barrier::none;
  }
};

namespace {

ir::function training_step() {
  ir::function f;
  ir::instruction& a = f.add({"weight"}, {"grad_a"});
  ir::instruction& b = f.add({"weight"}, {"grad_b"});
  ir::instruction& reduce = f.add({"flat"}, {"flat"});
  ir::instruction& update = f.add({"grad_a", "weight"}, {"weight"});
  ir::instruction& log = f.add({}, {});
  b.after.push_back(&a);
  log.after.push_back(&reduce);
  log.frees_after.push_back(&a);
  log.frees_after.push_back(&update);
  return f;
}

}  // namespace

TEST_CASE("pointer ops, named tensors, a fused buffer, control edges", "[graph]") {
  const ir::function f = training_step();
  const auto deps = dependencies(f, dependency_options{.reasons = true});
  REQUIRE(deps);
  CHECK(deps->graph().edges() == std::vector<edge>{{0, 1}, {1, 2}, {2, 3}, {2, 4}});
  CHECK(deps->why(0, 1) == reason{rule::control, 0});
  CHECK(deps->why(1, 2) == reason{rule::read_after_write, 2});  // weight, grad_a, grad_b: numbered as they are met
  CHECK(deps->why(2, 3) == reason{rule::read_after_write, 1});
  CHECK(deps->why(2, 4) == reason{rule::control, 0});

  const auto kinds = dependencies_by_kind(f);
  REQUIRE(kinds);
  using kind = edge_kind;
  CHECK(kinds->edges() == std::vector<kinded_edge>{{{0, 1}, kind::control},
                                                   {{0, 2}, kind::data},  // the control path is no reason to drop it
                                                   {{0, 4}, kind::lifetime},
                                                   {{1, 2}, kind::data},
                                                   {{2, 3}, kind::data},
                                                   {{3, 4}, kind::lifetime}});
}

TEST_CASE("edges of rules stand by target, then source, also those that are told late", "[graph]") {
  ir::function f;
  ir::instruction& first = f.add({}, {"x"});
  ir::instruction& second = f.add({"x"}, {"y"});
  const ir::instruction& third = f.add({}, {"z"});
  second.after.push_back(&third);  // which comes later
  first.after.push_back(&third);
  CHECK(hocket::graph::rule_edges(f).value() == std::vector<edge>{{2, 0}, {0, 1}, {2, 1}});
}

TEST_CASE("the same step again and again", "[graph]") {
  ir::function f = training_step();
  const auto loop = dependencies_of_steps(f);
  REQUIRE(loop);
  CHECK(loop->within == std::vector<edge>{{0, 1}, {1, 2}, {2, 3}, {2, 4}});
  CHECK(loop->across == std::vector<edge>{{3, 0}});  // the next step reads the weight that this one updates

  // What ops keep alive is seen in both steps.
  const hocket::graph::two_step_access<hocket::graph_access<ir::function>, ir::function> twice{};
  const auto kinds = dependencies_by_kind(f, twice);
  REQUIRE(kinds);
  const auto alive = kinds->lifetime();
  CHECK(std::vector<edge>(alive.begin(), alive.end()) == std::vector<edge>{{0, 4}, {3, 4}, {5, 9}, {8, 9}});
  f.body[4].synchronises = true;
  const auto synchronised = dependencies_of_steps(f);
  REQUIRE(synchronised);
  CHECK(synchronised->across == std::vector<edge>{{3, 0}, {4, 0}});
}

namespace {

// The same functions, without their last instruction.
struct all_but_last : hocket::graph_access<ir::function> {
  static std::size_t node_count(const ir::function& f) { return f.body.size() - 1; }
  static void for_each_node(const ir::function& f, auto&& visit) {
    for (std::size_t i = 0; i + 1 < f.body.size(); ++i) visit(&f.body[i]);
  }
};

}  // namespace

TEST_CASE("a policy may be all that is passed", "[graph]") {
  ir::function f;
  f.add({}, {"x"});
  f.add({"x"}, {"y"});
  f.add({"x", "y"}, {"z"});
  const std::vector<edge> first{{0, 1}};
  CHECK(dependencies(f, all_but_last{}).value().graph().edges() == first);
  CHECK(hocket::graph::rule_edges(f, all_but_last{}).value() == first);
  CHECK(dependencies_by_kind(f, all_but_last{}).value().edges() == std::vector<kinded_edge>{{{0, 1}, edge_kind::data}});
  CHECK(dependencies_of_steps(f, all_but_last{})->within == first);
  CHECK(dependencies_by_kind(f).value().edges().size() == 2);
  CHECK(hocket::graph::rule_edges(f, dependency_options{})->size() == 3);
}
