// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is refused rather than guessed, and what stays as it was: options nobody can keep, snapshots of other graphs,
// numbers that run out, memory that runs out while a graph is built.
#include <hocket/core/message.hpp>
#include <hocket/graph.hpp>
#include <hocket/graph/detail/block_pool.hpp>
#include <hocket/testing/dense_index.hpp>

#include <array>
#include <memory_resource>
#include <new>
#include <string>
#include <vector>

#include "catch.hpp"
#include "graph_programs.hpp"
#include "scarce_memory.hpp"

using hocket::errc;
using hocket::node_id;
using hocket::graph::dag;
using hocket::graph::edge;
using hocket::graph::edge_kind;
using hocket::graph::edge_status;
using hocket::graph::kinded_dependencies;
using hocket::graph::kinded_edge;
using hocket_test::scarce_memory;
using hocket_test::until_it_succeeds;
using edges = std::vector<edge>;

namespace {

struct program {
  std::vector<int> ops;
};
// Tells no kinds.
struct silent {
  using node = std::uint32_t;
  static std::size_t node_count(const program& p) { return p.ops.size(); }
  static void for_each_read(const program& p, node n, auto&& f) { f(p.ops[n]); }
  static void for_each_write(const program&, node, auto&&) {}
};
struct telling : silent {
  static hocket::graph::op_kind kind(const program&, node) { return hocket::graph::op_kind::io; }
};
// Says how many ops it has, and visits three.
struct visits_three {
  using node = std::uint32_t;
  std::int64_t stated = 3;
  std::size_t node_count(const program&) const { return static_cast<std::size_t>(stated); }
  static void for_each_node(const program&, auto&& f) {
    for (node n = 0; n < 3; ++n) f(n);
  }
  static void for_each_read(const program& p, node n, auto&& f) { f(p.ops[n]); }
  static void for_each_write(const program&, node, auto&&) {}
};
// Starts the step, and owns the memory of the op two before.
struct full : telling {
  static bool starts(const program&, node n) { return n == 1; }
  static void for_each_lifetime(const program&, node n, auto&& f) {
    if (n >= 2) f(n - 2);
  }
};

// An index that can number three nodes.
class tiny_index : public hocket::testing::dense_index {
 public:
  using hocket::testing::dense_index::dense_index;
  [[nodiscard]] bool has_room(std::size_t) const noexcept { return size() < 3; }
};

}  // namespace

TEST_CASE("the option start_up needs a policy that tells which ops start", "[graph]") {
  const program p{{1, 2, 3}};
  CHECK(message(hocket::graph::dependencies(p, silent{}, {.start_up = true}).error()) ==
        "the option start_up makes ops wait for those that start the step, but the policy has no starts");
  CHECK(hocket::graph::rule_edges(p, silent{}, {.start_up = true}).error().code == errc::starts_not_told);
  CHECK(hocket::graph::dependencies_of_steps(p, silent{}, {.start_up = true}));  // a rule of the first step alone
}

TEST_CASE("options that chain kinds need a policy that tells them", "[graph]") {
  const program p{{1, 2, 3}};
  for (const hocket::graph::dependency_options& o :
       {hocket::graph::dependency_options::ordered(), hocket::graph::dependency_options{.io = true}}) {
    CHECK(hocket::graph::dependencies(p, silent{}, o).error().code == errc::kind_not_told);
    CHECK(hocket::graph::dependencies_by_kind(p, silent{}, o).error().code == errc::kind_not_told);
    CHECK(hocket::graph::dependencies_of_steps(p, silent{}, o).error().code == errc::kind_not_told);
    CHECK(hocket::graph::rule_edges(p, silent{}, o).error().code == errc::kind_not_told);
  }
  CHECK(hocket::graph::dependencies(p, silent{}).value().edge_count() == 0);
  CHECK(hocket::graph::dependencies(p, telling{}, {.io = true}).value().edge_count() == 2);
  CHECK(hocket::graph::dependencies(p, silent{}, {.sequential = true}).value().edge_count() == 2);
}

TEST_CASE("a policy that miscounts its ops is refused in a sentence", "[graph]") {
  const program p{{1, 2, 3}};
  CHECK(hocket::graph::dependencies(p, visits_three{}));
  for (const std::int64_t stated : {0, 2, 4}) {
    const auto deps = hocket::graph::dependencies(p, visits_three{.stated = stated});
    REQUIRE(!deps);
    CHECK(message(deps.error()) ==
          "the policy says that there are " + std::to_string(stated) + " ops, but for_each_node visits 3");
    CHECK(hocket::graph::rule_edges(p, visits_three{.stated = stated}).error() == deps.error());
  }
  // More than there can be: refused before any memory is asked for.
  // With 32 bits for a size, -1 is all that there is of it.
  for (const std::int64_t stated : {std::int64_t{-1}, sizeof(std::size_t) == 8 ? std::int64_t{1} << 33 : -1})
    CHECK(hocket::graph::dependencies(p, visits_three{.stated = stated}).error().code == hocket::errc::limit_exceeded);
}

TEST_CASE("two steps show whatever one step shows", "[graph]") {
  const program p{{1, 2, 3}};
  const hocket::graph::two_step_access<full, program> twice;
  const auto deps = hocket::graph::dependencies_by_kind(p, twice, {.io = true});
  REQUIRE(deps);
  CHECK(deps->order().edges() == edges{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}});
  CHECK(std::vector<edge>(deps->lifetime().begin(), deps->lifetime().end()) == edges{{0, 2}, {3, 5}});
  const auto started = hocket::graph::dependencies(p, twice, {.start_up = true});
  REQUIRE(started);
  CHECK(started->graph().edges() == edges{{1, 0}, {1, 2}, {1, 3}, {1, 4}, {1, 5}});  // by the first step's op 1 alone
}

TEST_CASE("edges by kind: appended, added late, and why", "[graph]") {
  kinded_dependencies<> g;
  REQUIRE(g.append({}));
  REQUIRE(g.append(std::array<node_id, 1>{0}));
  REQUIRE(g.append({}, std::array<node_id, 2>{0, 1}));                             // control
  REQUIRE(g.append(std::array<node_id, 1>{0}, {}, std::array<node_id, 2>{1, 1}));  // data and lifetime
  using list = std::vector<kinded_edge>;
  const list first{{{0, 1}, edge_kind::data},
                   {{0, 3}, edge_kind::data},
                   {{1, 2}, edge_kind::control},
                   {{1, 3}, edge_kind::lifetime}};
  CHECK(g.edges() == first);
  CHECK(g.append(std::array<node_id, 1>{4}).error().code == errc::bad_order);
  CHECK(g.append({}, std::array<node_id, 1>{9}).error().code == errc::bad_order);
  CHECK(g.append({}, {}, std::array<node_id, 1>{9}).error().code == errc::bad_order);
  CHECK(g.add_edge(2, 0, edge_kind::data) == edge_status::cycle);
  CHECK(g.add_edge(2, 2, edge_kind::lifetime) == edge_status::self);
  CHECK(g.add_edge(2, 4, edge_kind::control) == edge_status::unknown_node);
  CHECK(g.add_edge(4, 2, edge_kind::control) == edge_status::unknown_node);
  CHECK(g.add_edge(1, 3, edge_kind::lifetime) == edge_status::duplicate);
  CHECK(g.add_edge(0, 2, edge_kind::control) == edge_status::redundant);
  CHECK(g.node_count() == 4);
  CHECK(g.data().node_count() == 4);
  CHECK(g.edges() == first);

  CHECK(g.add_edge(0, 2, edge_kind::data) == edge_status::added);  // a control path makes nothing visible
  CHECK(g.data_reaches(0, 2));
  CHECK(g.add_edge(1, 3, edge_kind::data) == edge_status::added);  // and makes 0 -> 3 redundant among the data
  CHECK(g.add_edge(0, 3, edge_kind::data) == edge_status::redundant);
  CHECK(g.edges() == list{{{0, 1}, edge_kind::data},
                          {{0, 2}, edge_kind::data},
                          {{1, 2}, edge_kind::control},
                          {{1, 3}, edge_kind::data},
                          {{1, 3}, edge_kind::lifetime}});
  CHECK(g.add_edge(2, 3, edge_kind::lifetime) == edge_status::added);
  CHECK(g.reaches(2, 3));
  CHECK_FALSE(g.data_reaches(2, 3));

  const program p{{1, 2, 3}};
  const auto told = hocket::graph::dependencies_by_kind(p, full{}, {.io = true, .reasons = true});
  REQUIRE(told);
  REQUIRE(told->why(0, 1).has_value());
  CHECK(told->why(0, 1)->rule == hocket::graph::rule::io);
  REQUIRE(told->why(0, 2).has_value());
  CHECK(told->why(0, 2)->rule == hocket::graph::rule::lifetime);
  CHECK_FALSE(told->why(1, 0).has_value());
  CHECK(to_string(hocket::graph::rule::lifetime) == "lifetime");
}

TEST_CASE("a snapshot belongs to its dag and to later copies of it", "[graph]") {
  dag<> one, other;
  const auto start = one.snapshot();
  const auto foreign = other.snapshot();
  REQUIRE(one.append({}));
  REQUIRE(other.append({}));
  CHECK(one.rollback(foreign).error().code == errc::stale_snapshot);
  CHECK(one.rollback({}).error().code == errc::stale_snapshot);
  CHECK(one.node_count() == 1);
  dag<> copy = one;
  const auto later = copy.snapshot();
  (void)one.snapshot();
  CHECK(one.rollback(later).error().code == errc::stale_snapshot);
  REQUIRE(copy.rollback(start));
  CHECK(copy.node_count() == 0);
  CHECK(copy.rollback(later).error().code == errc::stale_snapshot);
  CHECK(one.node_count() == 1);
}

TEST_CASE("no snapshot outlives clear, assign or forget_snapshots", "[graph]") {
  const edges chain{{0, 1}, {1, 2}};
  const auto refused_after = [&](auto&& call) {
    dag<> g;
    REQUIRE(g.append({}));
    const auto start = g.snapshot();
    call(g);
    const std::size_t nodes = g.node_count();
    CHECK(g.rollback(start).error().code == errc::stale_snapshot);
    CHECK(g.node_count() == nodes);
  };
  refused_after([](dag<>& g) { g.clear(); });
  refused_after([&](dag<>& g) { REQUIRE(g.assign(3, chain)); });
  refused_after([](dag<>& g) { g.forget_snapshots(); });
}

TEST_CASE("a build that runs out of memory leaves an empty dag with its snapshots", "[graph]") {
  scarce_memory memory;
  dag<> g(&memory);
  const auto empty = g.snapshot();
  std::vector<edge> chain;
  for (node_id b = 1; b < 3000; ++b) chain.push_back({b - 1, b});
  const std::size_t failures = until_it_succeeds(
      memory.left, [&] { (void)g.assign(3000, chain); },
      [&] {
        REQUIRE(g.node_count() == 0);
        REQUIRE(g.rollback(empty).has_value());
      });
  CHECK(failures > 3);
  CHECK(g.edge_count() == 2999);
  CHECK(g.rollback(empty).error().code == errc::stale_snapshot);  // build ends the journal
}

TEST_CASE("numbers that run out", "[graph]") {
  struct block {
    std::uint64_t words[1024];
  };
  hocket::graph::detail::block_pool<block, 32> pool(std::pmr::get_default_resource());
  std::uint32_t added = 0;
  bool threw = false;
  try {
    for (; added < 100; ++added) (void)pool.add();
  } catch (const std::bad_alloc&) {
    threw = true;
  }
  CHECK(threw);
  CHECK(added == 31);  // number 0 is taken
  CHECK(pool.size() == 32);

  dag<tiny_index> g;
  for (node_id b = 0; b < 3; ++b) REQUIRE(g.append({}));
  CHECK(g.append(std::array<node_id, 1>{0}).error().code == errc::limit_exceeded);
  CHECK(g.node_count() == 3);
  CHECK(g.add_edge(0, 1) == edge_status::added);
}

TEST_CASE("more than 2^32 pairs", "[graph]") {
  constexpr node_id nodes = 140'000;
  dag<hocket::graph::persistent_index> sets;
  hocket::testing::random_source random(8);
  for (node_id b = 0; b < nodes; ++b) {
    const std::vector<node_id> all = b == 0 ? std::vector<node_id>{} : std::vector<node_id>{b - 1, random.below(b)};
    REQUIRE(sets.append(all));
  }
  CHECK(sets.edge_count() == nodes - 1);
  CHECK(sets.reachable_pairs() == std::uint64_t{nodes} * (nodes - 1) / 2);  // 9.8 · 10⁹
  CHECK(sets.reaches(0, nodes - 1));
}

TEST_CASE("the reduction without an index to keep: large programs, and graphs without structure", "[graph]") {
  const auto shuffle = [](std::vector<edge>& list, hocket::testing::random_source& random) {
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random.below(i)]);
  };
  hocket::testing::random_source random(9);
  const auto program = graph_programs::gpt_program({8, 2, 2}, 0);
  std::vector<edge> list = hocket::graph::rule_edges(program).value();
  shuffle(list, random);
  REQUIRE(program.size() > 4096 / 2);
  for (const bool structured : {true, false}) {
    std::size_t nodes = structured ? 2 * program.size() : 6000;
    std::vector<edge> all;
    if (structured) {  // twice, the second half numbered backwards: no numbering is a topological order
      const auto n = static_cast<node_id>(program.size());
      for (const edge& e : list) {
        all.push_back(e);
        all.push_back({2 * n - 1 - e.source, 2 * n - 1 - e.target});
      }
    } else {
      const auto rows = graph_programs::random_rows(nodes, 2.5, 3);
      for (node_id b = 0; b < nodes; ++b)
        for (const node_id a : rows.predecessors(b)) all.push_back({a, b});
    }
    dag<> g;
    REQUIRE(g.assign(nodes, all));
    const auto reduced = hocket::graph::transitive_reduction(nodes, all);
    REQUIRE(reduced);
    CHECK(reduced->kept == g.edges());
    CHECK(reduced->reachable_pairs == g.reachable_pairs());
    CHECK(reduced->bytes <= 280 * nodes);
  }
}
