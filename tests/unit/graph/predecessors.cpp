// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Hosts that know an op's operands: graphs through predecessors_policy, in program order and out of it.
#include <hocket/graph.hpp>
#include <hocket/testing/dense_index.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"

using hocket::errc;
using hocket::node_id;
using hocket::graph::dag;
using hocket::graph::edge;
using hocket::testing::broken_law;
using hocket::testing::graph_oracle;
using hocket::testing::random_source;

namespace operand_ir {
namespace {

struct op {
  std::size_t number = 0;
  std::vector<const op*> operands;
};
struct function {
  std::vector<op> ops;           // in no order
  std::vector<const op*> order;  // in which they are listed
  std::size_t count = 0;         // that it admits to
};
struct operands {
  using node = const op*;
  static std::size_t node_count(const function& f) { return f.count; }
  static void for_each_node(const function& f, auto&& visit) {
    for (const op* o : f.order) visit(o);
  }
  static std::size_t index_of(const function&, node n) { return n->number; }
  static void for_each_predecessor(const function&, node n, auto&& visit) {
    for (const op* o : n->operands) visit(o);
  }
};
static_assert(hocket::graph::predecessors_policy<operands, function>);
static_assert(!hocket::graph::successors_policy<operands, function>);

function without_operands(std::size_t nodes) {
  function f{std::vector<op>(nodes), {}, nodes};
  for (std::size_t n = 0; n < nodes; ++n) {
    f.ops[n].number = n;
    f.order.push_back(&f.ops[n]);
  }
  return f;
}

// Operand lists of any length, unsorted, with repetitions.
function random_function(random_source& random, std::size_t nodes) {
  function f = without_operands(nodes);
  for (std::size_t b = 1; b < nodes; ++b) {
    const std::size_t length = random.below(10) == 0 ? b : random.below(4);
    for (std::size_t i = 0; i < length; ++i) f.ops[b].operands.push_back(&f.ops[random.below(b)]);
  }
  return f;
}
std::vector<edge> edges_of(const function& f) {
  std::vector<edge> edges;
  for (const op& o : f.ops)
    for (const op* before : o.operands)
      edges.push_back({static_cast<node_id>(before->number), static_cast<node_id>(o.number)});
  return edges;
}
template <class T>
void shuffle(std::vector<T>& items, random_source& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}
void number_anyhow(function& f, random_source& random) {
  std::vector<std::size_t> numbers(f.ops.size());
  for (std::size_t n = 0; n < numbers.size(); ++n) numbers[n] = n;
  shuffle(numbers, random);
  for (std::size_t n = 0; n < numbers.size(); ++n) f.ops[n].number = numbers[n];
}

}  // namespace

TEST_CASE("operands in program order, and out of it, give the same order as brute force", "[graph]") {
  random_source random(27);
  dag<> reused;
  for (int round = 0; round < 60; ++round) {
    function f = random_function(random, 1 + random.below(60));
    if (round % 3 == 1) shuffle(f.order, random);  // listed in any order
    if (round % 3 == 2) number_anyhow(f, random);  // numbered against the order
    const graph_oracle truth(f.count, edges_of(f));
    const auto g = dag<>::make(f, operands{});
    REQUIRE(g);
    CHECK(broken_law(*g, truth) == "");
    reused.clear();
    REQUIRE(reused.assign(f, operands{}));
    CHECK(reused.edges() == g->edges());
    REQUIRE(reused.assign(f, operands{}));  // over what is there
    CHECK(reused.edges() == g->edges());
    CHECK(hocket::graph::edge_list(f, operands{})->size() == edges_of(f).size());
  }
}

TEST_CASE("more nodes than one window, with every index", "[graph]") {
  random_source random(28);
  for (const std::size_t nodes : {700u, 2500u}) {
    const function f = random_function(random, nodes);
    const std::vector<edge> edges = edges_of(f);
    const auto expected = dag<>::make(nodes, edges).value().edges();
    CHECK(dag<>::make(f, operands{}).value().edges() == expected);
    CHECK(dag<hocket::testing::dense_index>::make(f, operands{}).value().edges() == expected);
    CHECK(dag<hocket::graph::persistent_index>::make(f, operands{}).value().edges() == expected);
  }
}

TEST_CASE("what assign keeps and forgets, by operands too", "[graph]") {
  random_source random(29);
  const function f = random_function(random, 40);
  dag<> logged;
  logged.log_dropped_edges();
  const auto before = logged.snapshot();
  REQUIRE(logged.assign(f, operands{}));
  CHECK(logged.logs_dropped_edges());
  std::vector<edge> all = edges_of(f), known = logged.edges();
  for (const edge& e : logged.dropped_edges()) known.push_back(e);
  std::sort(all.begin(), all.end());
  std::sort(known.begin(), known.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  CHECK(known == all);
  CHECK(logged.rollback(before).error().code == errc::stale_snapshot);
}

TEST_CASE("a host that lies about its operands is refused, and nothing changes", "[graph]") {
  function f = without_operands(4);
  for (std::size_t n = 1; n < 4; ++n) f.ops[n].operands = {&f.ops[n - 1]};
  dag<> g = dag<>::make(f, operands{}).value();
  const std::vector<edge> chain = g.edges();

  f.ops[0].operands = {&f.ops[3]};
  std::pmr::vector<node_id> cycle;
  CHECK(g.assign(f, operands{}, &cycle).error().code == errc::cycle);
  CHECK(cycle == std::pmr::vector<node_id>{0, 1, 2, 3});
  f.ops[0].operands = {&f.ops[0]};
  CHECK(g.assign(f, operands{}).error().code == errc::self_edge);
  function alone = without_operands(1);
  alone.ops[0].operands = {&alone.ops[0]};
  CHECK(dag<>::make(alone, operands{}).error().code == errc::self_edge);
  for (const std::size_t number : {std::size_t{4}, std::size_t{7}}) {
    const op stranger{number, {}};
    f.ops[0].operands = {&stranger};
    CHECK(g.assign(f, operands{}).error() == hocket::error{errc::unknown_node, static_cast<std::int64_t>(number), 4});
    CHECK(dag<>::make(f, operands{}).error().code == errc::unknown_node);
  }
  f.ops[0].operands = {};
  f.count = 3;
  CHECK(dag<>::make(f, operands{}).error().code == errc::unknown_node);
  CHECK(g.edges() == chain);

  f.count = 5;  // one is never listed: it has no edges
  CHECK(dag<>::make(f, operands{}).value().node_count() == 5);
  f.count = 4;
  f.order.push_back(&f.ops[3]);  // listed twice: once is enough
  CHECK(dag<>::make(f, operands{}).value().edges() == chain);
}

}  // namespace operand_ir
