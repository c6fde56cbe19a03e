// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that runs out at every possible moment: the call throws, the graph is what it was, and the call succeeds
// later.
#include <hocket/graph/dag.hpp>
#include <hocket/testing/dense_index.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <algorithm>
#include <memory_resource>
#include <string>
#include <vector>

#include "catch.hpp"
#include "scarce_memory.hpp"

using hocket::node_id;
using hocket::graph::dag;
using hocket::graph::edge;
using hocket::testing::broken_law;
using hocket::testing::graph_oracle;
using hocket::testing::random_source;
using hocket_test::scarce_memory;
using hocket_test::until_it_succeeds;

namespace {

template <class Index>
void run_out_of_memory() {
  scarce_memory memory;
  std::size_t failures = 0;
  {
    random_source random(51);
    dag<Index> g(&memory);
    std::vector<edge> edges;
    node_id nodes = 0;
    bool accepted = false;
    const auto unchanged = [&] {
      if (const std::string law = broken_law(g, graph_oracle(nodes, edges)); !law.empty()) FAIL(law);
    };
    for (int step = 0; step < 150; ++step) {
      if (nodes < 3 || random.below(3) != 0) {
        std::vector<node_id> preds;
        for (std::uint32_t k = nodes == 0 ? 0 : random.below(5); k-- > 0;) preds.push_back(random.below(nodes));
        failures += until_it_succeeds(memory.left, [&] { accepted = g.append(preds).has_value(); }, unchanged);
        REQUIRE(accepted);
        for (const node_id p : preds) edges.push_back({p, nodes});
        ++nodes;
      } else {
        const edge e{random.below(nodes), random.below(nodes)};
        bool in = false;
        failures += until_it_succeeds(memory.left, [&] { in = holds(g.add_edge(e.source, e.target)); }, unchanged);
        if (in) edges.push_back(e);
      }
      unchanged();
    }
    const std::vector<edge> other{{3, 1}, {1, 0}, {3, 0}, {2, 3}};
    failures += until_it_succeeds(memory.left, [&] { accepted = g.assign(4, other).has_value(); }, unchanged);
    CHECK(accepted);
    CHECK(broken_law(g, graph_oracle(4, other)).empty());
  }
  CHECK(failures > 30);
  CHECK(memory.out == 0);
}

}  // namespace

TEST_CASE("out of memory at every allocation: bit rows", "[graph]") {
  run_out_of_memory<hocket::testing::dense_index>();
}
TEST_CASE("out of memory at every allocation: tries", "[graph]") {
  run_out_of_memory<hocket::graph::persistent_index>();
}
TEST_CASE("out of memory while a dag is copied: nothing is left behind", "[graph]") {
  dag<hocket::graph::persistent_index> g;
  for (node_id b = 0; b < 4000; ++b)
    REQUIRE(g.append(b < 3 ? std::vector<node_id>{} : std::vector<node_id>{b - 3, b / 2}));
  scarce_memory memory;
  std::size_t copied = 0, left_behind = 0;
  std::pmr::memory_resource* const usual = std::pmr::set_default_resource(&memory);
  const std::size_t failures = until_it_succeeds(
      memory.left, [&] { copied = dag<hocket::graph::persistent_index>(g).node_count(); },
      [&] { left_behind += memory.out; });
  std::pmr::set_default_resource(usual);
  CHECK(copied == 4000);
  CHECK(left_behind == 0);
  CHECK(memory.out == 0);
  CHECK(failures > 4);
}
namespace {

// Nodes that are tried and rolled back again and again, while the rest of the graph is asked and changed.
template <class Index>
void run_trials(std::size_t nodes, std::size_t trials) {
  random_source random(nodes);
  dag<Index> g;
  std::vector<edge> edges;
  const auto grow = [&](std::size_t count, std::vector<edge>* kept) {
    for (; count != 0; --count) {
      const auto b = static_cast<node_id>(g.node_count());
      std::vector<node_id> preds;
      for (std::size_t k = b == 0 ? 0 : random.below(4); k != 0; --k)
        preds.push_back(b - 1 - random.below(b < 70 ? b : random.below(9) == 0 ? b : 70));
      REQUIRE(g.append(preds));
      for (const node_id a : preds)
        if (kept != nullptr) kept->push_back({a, b});
    }
  };
  grow(nodes, &edges);
  const auto start = g.snapshot();
  std::size_t before = 0;
  for (std::size_t t = 0; t < trials; ++t) {
    grow(1 + t % 3, nullptr);
    REQUIRE(g.rollback(start));
    if (t <= trials / 2) before = std::max(before, g.bytes());
  }
  CHECK(g.bytes() < before + before / 2);
  CHECK(broken_law(g, graph_oracle(nodes, edges)).empty());
  grow(40, &edges);  // over blocks and words that trials used
  CHECK(broken_law(g, graph_oracle(g.node_count(), edges)).empty());
}

}  // namespace

TEST_CASE("trials that are rolled back use their memory again", "[graph]") {
  run_trials<hocket::testing::dense_index>(150, 20000);
  run_trials<hocket::graph::persistent_index>(150, 20000);
  run_trials<hocket::graph::persistent_index>(700, 20000);
}
