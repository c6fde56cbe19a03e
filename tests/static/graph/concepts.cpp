// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/graph.hpp>

#include <type_traits>

namespace g = hocket::graph;
using hocket::node_id;

static_assert(g::holds(g::edge_status::added) && g::holds(g::edge_status::redundant));
static_assert(g::holds(g::edge_status::duplicate) && !g::holds(g::edge_status::self));
static_assert(!g::holds(g::edge_status::cycle) && !g::holds(g::edge_status::unknown_node));
static_assert(g::edge{0, 5} < g::edge{1, 0} && g::edge{1, 0} < g::edge{1, 2} && g::edge{1, 2} == g::edge{1, 2});

static_assert(!g::dependency_options::data().chains(g::op_kind::collective));
static_assert(g::dependency_options::ordered().chains(g::op_kind::collective));
static_assert(g::dependency_options::ordered().chains(g::op_kind::random));
static_assert(!g::dependency_options::ordered().chains(g::op_kind::io));
static_assert(!g::dependency_options{.collectives = true, .random = true, .io = true}.chains(g::op_kind::compute));

static_assert(g::counting_index<g::persistent_index> && g::truncating_index<g::persistent_index>);
static_assert(g::rebuildable_index<g::persistent_index> && g::bounded_index<g::persistent_index>);
static_assert(!g::reachability_index<int>);

// A result<dag> can be assigned, and a dag handed on, without a throw.
static_assert(std::is_nothrow_move_constructible_v<g::dag<>> && std::is_copy_constructible_v<g::dag<>>);
static_assert(std::is_nothrow_move_constructible_v<g::dependency_graph<>>);

// Policies: a node may be any integer; other node types must be enumerable, and numbered to have successors.
struct host {};
struct pointers {
  using node = const host*;
  static std::size_t node_count(const host&);
  static void for_each_successor(const host&, node, auto&&);
};
struct enumerable : pointers {
  static void for_each_node(const host&, auto&&);
};
struct numbered : enumerable {
  static std::size_t index_of(const host&, node);
};
struct by_operands : enumerable {
  static std::size_t index_of(const host&, node);
  static void for_each_predecessor(const host&, node, auto&&);
};
struct operands_only {
  using node = std::uint32_t;
  static std::size_t node_count(const host&);
  static void for_each_predecessor(const host&, node, auto&&);
};
static_assert(!g::node_policy<pointers, host>);
static_assert(g::node_policy<enumerable, host> && !g::successors_policy<enumerable, host>);
static_assert(g::successors_policy<numbered, host> && g::index_policy<numbered, host>);
static_assert(g::predecessors_policy<by_operands, host> && g::successors_policy<by_operands, host>);
static_assert(g::predecessors_policy<operands_only, host> && !g::successors_policy<operands_only, host>);
static_assert(!g::predecessors_policy<numbered, host>);
static_assert(!g::effects_policy<numbered, host>);
static_assert(!g::node_policy<hocket::graph_access<host>, host>);
static_assert(g::successors_policy<hocket::graph_access<std::vector<std::vector<int>>>, std::vector<std::vector<int>>>);
