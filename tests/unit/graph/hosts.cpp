// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The shapes in which frameworks keep their programs, each seen through a policy of a few lines.
#include <hocket/graph.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../../../examples/graph_host.hpp"
#include "catch.hpp"

using hocket::node_id;
using hocket::graph::edge;

TEST_CASE("the ten-line host", "[graph]") {
  const my::program p{{{{}, {0}}, {{0}, {1}}, {{0, 1}, {2}}}};
  const auto deps = hocket::graph::dependencies(p);
  REQUIRE(deps);
  CHECK(deps->reaches(0, 2));
  CHECK(deps->edge_count() == 2);
  CHECK(deps->rule_edges() == 3);
  CHECK(deps->downstream(0).size() == 1);
  CHECK(deps->downstream(0)[0] == 1);
}

TEST_CASE("adjacency lists", "[graph]") {
  const std::vector<std::vector<int>> lists{{}, {2, 0}, {0}};
  const auto g = hocket::graph::dag<>::make(lists);
  REQUIRE(g);
  const std::vector<edge> edges{{1, 2}, {1, 0}, {2, 0}};
  CHECK(hocket::testing::broken_law(*g, hocket::testing::graph_oracle(3, edges)).empty());

  std::pmr::vector<node_id> cycle;
  const std::vector<std::vector<std::int64_t>> bad{{1}, {2}, {0}}, wild{{5}}, negative{{-1}}, self{{0}};
  CHECK(hocket::graph::dag<>::make(bad, hocket::graph_access<std::vector<std::vector<std::int64_t>>>{}, &cycle)
            .error()
            .code == hocket::errc::cycle);
  CHECK(cycle == std::pmr::vector<node_id>{0, 1, 2});
  CHECK(hocket::graph::dag<>::make(wild).error() == hocket::error{hocket::errc::unknown_node, 5, 1});
  CHECK(hocket::graph::dag<>::make(negative).error().code == hocket::errc::unknown_node);
  CHECK(hocket::graph::dag<>::make(self).error().code == hocket::errc::self_edge);
}

// An intrusive IR: ops and values are objects, operands are pointers.
namespace ir {
struct value {};
struct op {
  std::vector<const value*> operands, results;
  const op* next = nullptr;
  int stream = 0;
};
struct block {
  const op* first = nullptr;
  std::size_t size = 0;
};

// A policy object: the view carries what the view needs, here the numbering.
struct view {
  using node = const op*;
  std::map<const op*, std::size_t> number;
  static std::size_t node_count(const block& b) { return b.size; }
  static void for_each_node(const block& b, auto&& f) {
    for (const op* o = b.first; o != nullptr; o = o->next) f(o);
  }
  static void for_each_read(const block&, node n, auto&& f) {
    for (const value* v : n->operands) f(v);
  }
  static void for_each_write(const block&, node n, auto&& f) {
    for (const value* v : n->results) f(v);
  }
  // Data flow alone: who uses my results. Anti-dependences are not in this view.
  static void for_each_successor(const block&, node n, auto&& f) {
    for (const op* o = n->next; o != nullptr; o = o->next)
      for (const value* used : o->operands)
        for (const value* made : n->results)
          if (used == made) f(o);
  }
  std::size_t index_of(const block&, node n) const { return number.at(n); }
  static hocket::stream_id stream(const block&, node n) { return static_cast<hocket::stream_id>(n->stream); }
};
}  // namespace ir

TEST_CASE("a pointer IR, seen twice: memory hazards and data flow", "[graph]") {
  const ir::value x, y;
  ir::op overwrite{{}, {&x}, nullptr, 0}, use{{&x}, {&y}, &overwrite, 1}, make{{}, {&x}, &use, 0};
  const ir::block b{&make, 3};
  const ir::view view{{{&make, 0}, {&use, 1}, {&overwrite, 2}}};

  const auto hazards = hocket::graph::dependencies(b, view);
  REQUIRE(hazards);
  CHECK(hazards->graph().edges() == std::vector<edge>{{0, 1}, {1, 2}});
  const auto flow = hocket::graph::dag<>::make(b, view);
  REQUIRE(flow);
  CHECK(flow->edges() == std::vector<edge>{{0, 1}});
  const auto plan = hocket::graph::stream_plan::make(hazards->graph(), b, view);
  REQUIRE(plan);
  CHECK(plan->waits().size() == 2);
  CHECK(plan->stream_of(1) == 1);
}

// Everything named by strings, and names made up on the fly.
namespace named {
struct op {
  std::string name;
  std::vector<std::string> inputs, outputs;
};
using list = std::vector<op>;
}  // namespace named

template <>
struct hocket::graph_access<named::list> {
  using node = std::size_t;
  static std::size_t node_count(const named::list& l) { return l.size(); }
  static void for_each_read(const named::list& l, node n, auto&& f) {
    for (const std::string& s : l[n].inputs) f("scope/" + s);
  }
  static void for_each_write(const named::list& l, node n, auto&& f) {
    for (const std::string& s : l[n].outputs) f("scope/" + s);
  }
};

TEST_CASE("a list of ops named by strings", "[graph]") {
  const named::list ops{{"load", {}, {"w"}}, {"mul", {"w", "x"}, {"y"}}, {"step", {"y", "w"}, {"w"}}};
  const auto deps = hocket::graph::dependencies(ops);
  REQUIRE(deps);
  CHECK(deps->graph().edges() == std::vector<edge>{{0, 1}, {1, 2}});
  CHECK(deps->rule_edges() == 3);
}

static_assert(hocket::graph::effects_policy<hocket::graph_access<my::program>, my::program>);
static_assert(!hocket::graph::successors_policy<hocket::graph_access<my::program>, my::program>);
static_assert(!hocket::graph::stream_policy<hocket::graph_access<my::program>, my::program>);
static_assert(hocket::graph::effects_policy<ir::view, ir::block>);
static_assert(hocket::graph::successors_policy<ir::view, ir::block>);
static_assert(hocket::graph::stream_policy<ir::view, ir::block>);
static_assert(!hocket::graph::node_policy<hocket::graph_access<int>, int>);

// A host whose namespace has functions of the names that the library uses inside. Policies are the only way in, so they
// must neither be called nor make a call ambiguous.
namespace crowded {
struct program {
  std::vector<std::vector<unsigned>> reads, writes;
};
struct access {
  using node = unsigned;
  static std::size_t node_count(const program& p) { return p.reads.size(); }
  static void for_each_read(const program& p, node n, auto&& f) {
    for (const unsigned v : p.reads[n]) f(v);
  }
  static void for_each_write(const program& p, node n, auto&& f) {
    for (const unsigned v : p.writes[n]) f(v);
  }
  static void for_each_part(const program&, unsigned v, auto&& f) { f(v); }
  static void for_each_control(const program&, node n, auto&& f) {
    if (n != 0) f(n - 1);
  }
  static void for_each_successor(const program& p, node n, auto&& f) {
    if (n + 1 < p.reads.size()) f(n + 1);
  }
  static hocket::stream_id stream(const program&, node n) { return n % 2; }
};
template <class P, class G, class F>
void for_each_node(const P&, const G&, F&&) = delete;
template <class P, class G, class N>
void index_of(const P&, const G&, const N&) = delete;
template <class P, class G, class N>
void kind_of(const P&, const G&, const N&) = delete;
template <class P, class G, class V, class F>
void for_each_part(const P&, const G&, const V&, F&&) = delete;
template <class G, class P>
void edge_list(const G&, const P&) = delete;
template <class... T>
void feed(T&&...) = delete;
template <class... T>
void dependencies(const T&...) = delete;
template <class... T>
void compare(const T&...) = delete;
}  // namespace crowded

TEST_CASE("a host whose namespace has functions of our names", "[graph]") {
  const crowded::program p{{{0}, {1}, {2}}, {{1}, {2}, {3}}};
  const crowded::access policy;
  const std::vector<edge> chain{{0, 1}, {1, 2}};
  const auto deps = hocket::graph::dependencies(p, policy);
  REQUIRE(deps);
  CHECK(deps->graph().edges() == chain);
  CHECK(hocket::graph::rule_edges(p, policy).value() == chain);
  const auto kinds = hocket::graph::dependencies_by_kind(p, policy).value();
  CHECK(kinds.order().edges() == chain);
  CHECK(hocket::graph::dependencies_of_steps(p, policy)->within == chain);
  CHECK(hocket::graph::edge_list(p, policy).value() == chain);
  const auto own = hocket::graph::dag<>::make(p, policy);
  REQUIRE(own);
  CHECK(hocket::graph::compare(*own, p, policy)->equal_order());
  const auto plan = hocket::graph::stream_plan::make(*own, p, policy).value();
  CHECK(plan.waits().size() == 2);
}
