// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random programs against the meaning of "happens before": two ops must keep their order if some chain of conflicting
// ops leads from one to the other; ops conflict when one writes a variable that the other reads or writes.
#include <hocket/graph/dependencies.hpp>
#include <hocket/graph/transitive_reduction.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"

using hocket::node_id;
using hocket::graph::dependencies;
using hocket::graph::dependency_options;
using hocket::graph::edge;
using hocket::graph::op_kind;
using hocket::testing::broken_law;
using hocket::testing::graph_oracle;
using hocket::testing::random_source;

namespace {

struct op {
  std::vector<std::uint64_t> in, out;
  op_kind kind = op_kind::compute;
};
struct program {
  std::vector<op> ops;
};

}  // namespace

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program& p) { return p.ops.size(); }
  static void for_each_read(const program& p, node n, auto&& f) {
    for (auto v : p.ops[n].in) f(v);
  }
  static void for_each_write(const program& p, node n, auto&& f) {
    for (auto v : p.ops[n].out) f(v);
  }
  static hocket::graph::op_kind kind(const program& p, node n) { return p.ops[n].kind; }
};

namespace {

bool meet(const std::vector<std::uint64_t>& x, const std::vector<std::uint64_t>& y) {
  for (const auto v : x)
    if (std::find(y.begin(), y.end(), v) != y.end()) return true;
  return false;
}

// Every conflicting pair, without any cleverness about last writers.
std::vector<edge> conflicts(const program& p, const dependency_options& options) {
  std::vector<edge> edges;
  for (node_id b = 0; b < p.ops.size(); ++b) {
    for (node_id a = 0; a < b; ++a) {
      const op &x = p.ops[a], &y = p.ops[b];
      const bool data = meet(x.out, y.in) || meet(x.in, y.out) || meet(x.out, y.out);
      const bool chain = x.kind == y.kind && options.chains(x.kind);
      if (data || chain || options.sequential) edges.push_back({a, b});
    }
  }
  return edges;
}

program random_program(random_source& random, std::size_t ops, std::size_t variables, std::uint64_t spread) {
  program p;
  for (std::size_t i = 0; i < ops; ++i) {
    op o;
    for (std::uint32_t k = random.below(4); k-- > 0;) o.in.push_back(random.below(variables) * spread);
    for (std::uint32_t k = random.below(3); k-- > 0;) o.out.push_back(random.below(variables) * spread);
    if (!o.in.empty() && random.below(3) == 0) o.out.push_back(o.in.front());  // in place
    o.kind = static_cast<op_kind>(random.below(4));
    p.ops.push_back(o);
  }
  return p;
}

}  // namespace

TEST_CASE("random programs: the graph is the transitive reduction of all conflicts", "[graph]") {
  random_source random(21);
  const dependency_options choices[] = {{},
                                        dependency_options::ordered(),
                                        {.io = true},
                                        {.collectives = true, .random = true, .io = true},
                                        {.sequential = true}};
  for (int round = 0; round < 400; ++round) {
    const dependency_options options = choices[round % 5];
    // Sparse variable numbers go through the hash map, dense ones through the array, and 37 through both.
    const std::uint64_t spread = round % 3 == 0 ? 1 : round % 3 == 1 ? 37 : std::uint64_t{1} << 40;
    const program p = random_program(random, random.below(60), 1 + random.below(40), spread);
    const auto deps = dependencies(p, options);
    REQUIRE(deps);
    const std::vector<edge> all = conflicts(p, options);
    if (const std::string law = broken_law(deps->graph(), graph_oracle(p.ops.size(), all)); !law.empty()) FAIL(law);

    const std::vector<edge> rules = hocket::graph::rule_edges(p, options).value();
    CHECK(rules.size() == deps->rule_edges());
    const auto reduced = hocket::graph::transitive_reduction(p.ops.size(), rules);
    REQUIRE(reduced);
    CHECK(reduced->kept == deps->graph().edges());
    CHECK(reduced->offered == rules.size());
  }
}

TEST_CASE("the rules, one by one", "[graph]") {
  program p;
  const auto rules = [&] { return hocket::graph::rule_edges(p).value(); };
  using edges = std::vector<edge>;
  p.ops = {{{}, {1}}, {{1}, {}}};
  CHECK(rules() == edges{{0, 1}});  // read after write
  p.ops = {{{1}, {}}, {{}, {1}}};
  CHECK(rules() == edges{{0, 1}});  // write after read
  p.ops = {{{}, {1}}, {{}, {1}}};
  CHECK(rules() == edges{{0, 1}});  // write after write
  p.ops = {{{1}, {}}, {{1}, {}}};
  CHECK(rules().empty());  // reads do not order each other
  p.ops = {{{}, {1}}, {{1}, {}}, {{1}, {}}, {{}, {1}}};
  CHECK(rules() == edges{{0, 1}, {0, 2}, {1, 3}, {2, 3}});  // the readers stand for the writer
  p.ops = {{{}, {1}}, {{1}, {1}}, {{1}, {1}}};
  CHECK(rules() == edges{{0, 1}, {1, 2}});  // in place
  p.ops = {{{1, 1}, {1, 1}}, {{1, 1}, {1}}};
  CHECK(rules() == edges{{0, 1}});  // named twice is once, and no op waits for itself
}

TEST_CASE("a hundred thousand readers of one variable, and one op with as many inputs", "[graph]") {
  constexpr std::uint64_t count = 100'000;
  program p;
  p.ops.push_back({{}, {0}});
  for (std::uint64_t i = 0; i < count; ++i) p.ops.push_back({{0}, {i + 1}});
  p.ops.push_back({{}, {0}});
  op all;
  for (std::uint64_t i = 0; i < count; ++i) all.in.push_back(i + 1);
  p.ops.push_back(all);
  const auto deps = dependencies(p);
  REQUIRE(deps);
  CHECK(deps->rule_edges() == 3 * count);
  CHECK(deps->edge_count() == 3 * count);
  CHECK(deps->upstream(count + 1).size() == count);
  CHECK(deps->upstream(count + 2).size() == count);
  CHECK(deps->downstream(0).size() == count);
  CHECK(deps->reaches(0, count + 2));
  CHECK_FALSE(deps->reaches(count + 1, count + 2));
}

TEST_CASE("the smallest programs", "[graph]") {
  CHECK(dependencies(program{}).value().node_count() == 0);
  const auto one = dependencies(program{{{{1}, {1}}}});
  CHECK(one->node_count() == 1);
  CHECK(one->edge_count() == 0);
  CHECK_FALSE(one->reaches(0, 0));
}
