// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The shapes of hosts obey the laws of graph access; for each law there is a policy that breaks it, and is told so.
#include <hocket/testing/access_laws.hpp>

#include <hocket/graph.hpp>

#include <string>
#include <vector>

#include "../../../examples/graph_host.hpp"
#include "catch.hpp"

namespace wrong_access {
namespace {

using hocket::graph::op_kind;
using hocket::graph::storage_range;
using hocket::testing::broken_law;

/// Op n reads what the two before it wrote.
my::program chain(int ops) {
  my::program p;
  for (int n = 0; n < ops; ++n) p.ops.push_back({{n - 1, n - 2}, {n}});
  return p;
}

struct host {
  std::vector<std::vector<std::size_t>> down, up;
  std::vector<std::size_t> number;
};
struct view {
  struct node {
    std::size_t place = 0;
    friend bool operator==(const node&, const node&) = default;
  };
  std::size_t extra = 0;
  mutable std::size_t asked = 0;
  std::size_t moody_from = 1000;

  std::size_t node_count(const host& h) const { return h.number.size() + extra; }
  void for_each_node(const host& h, auto&& f) const {
    ++asked;
    for (std::size_t i = 0; i < h.number.size(); ++i) f(node{asked >= moody_from ? 0 : i});
  }
  static std::size_t index_of(const host& h, node n) { return h.number[n.place]; }
  static void for_each_successor(const host& h, node n, auto&& f) {
    for (const std::size_t i : h.down[n.place]) f(node{i});
  }
  static void for_each_predecessor(const host& h, node n, auto&& f) {
    for (const std::size_t i : h.up[n.place]) f(node{i});
  }
};
/// 0 -> 1 -> 2, and 0 -> 2.
host triangle() { return {{{1, 2}, {2}, {}}, {{}, {0}, {1, 0}}, {0, 1, 2}}; }

struct operands_only {
  using node = view::node;
  static std::size_t node_count(const host& h) { return h.number.size(); }
  static void for_each_node(const host& h, auto&& f) { view{}.for_each_node(h, f); }
  static std::size_t index_of(const host& h, node n) { return h.number[n.place]; }
  static void for_each_predecessor(const host& h, node n, auto&& f) { view::for_each_predecessor(h, n, f); }
};

struct ranges : hocket::graph_access<my::program> {
  std::uint64_t bytes = 4;
  void for_each_write(const my::program& p, node n, auto&& f) const {
    for (const int v : p.ops[n].out) {
      const auto first = static_cast<std::uint64_t>(v) * 4;
      f(storage_range{0, first, first + (n == 1 ? bytes : 4)});
    }
  }
};
struct moody_reads : hocket::graph_access<my::program> {
  mutable int asked = 0;
  void for_each_read(const my::program&, node n, auto&& f) const { f(n == 2 ? ++asked : 0); }
};
// Members that change their minds: what they tell of node 2 depends on how often they were asked.
struct moody : hocket::graph_access<my::program> {
  mutable std::uint32_t asked = 0;
  std::uint32_t again(node n) const { return n == 2 ? ++asked : 0; }
};
struct moody_parts : moody {
  void for_each_part(const my::program&, int variable, auto&& f) const {
    f(10 * variable);
    if (again(static_cast<node>(variable)) % 2 == 1) f(7);
  }
};
struct moody_stream : moody {
  hocket::stream_id stream(const my::program&, node n) const { return again(n); }
};
struct moody_starts : moody {
  bool starts(const my::program&, node n) const { return again(n) % 2 == 1; }
};
struct moody_kind : moody {
  op_kind kind(const my::program&, node n) const { return static_cast<op_kind>(again(n) % 2); }
};
struct moody_barrier : moody {
  hocket::graph::barrier barrier(const my::program&, node n) const {
    return again(n) % 2 == 1 ? hocket::graph::barrier::none : hocket::graph::barrier::both;
  }
};
struct moody_resources : moody {
  void for_each_resource(const my::program&, node n, auto&& f) const {
    f(hocket::graph::ordered_resource{op_kind::collective, again(n)});
  }
};
struct moody_lifetime : moody {
  void for_each_lifetime(const my::program&, node n, auto&& f) const {
    if (again(n) % 2 == 1) f(n - 1);
  }
};
// Tells the truth in all of them.
struct steady : hocket::graph_access<my::program> {
  static void for_each_part(const my::program&, int variable, auto&& f) { f(variable / 2); }
  static hocket::stream_id stream(const my::program&, node n) { return n % 2; }
  static bool starts(const my::program&, node n) { return n == 0; }
  static hocket::graph::barrier barrier(const my::program&, node) { return hocket::graph::barrier::none; }
  static void for_each_resource(const my::program&, node n, auto&& f) {
    f(hocket::graph::ordered_resource{op_kind::collective, n});
  }
  static void for_each_lifetime(const my::program&, node n, auto&& f) {
    if (n > 0) f(n - 1);
  }
};
struct odd_kind : hocket::graph_access<my::program> {
  static op_kind kind(const my::program&, node n) { return static_cast<op_kind>(n == 2 ? 9 : 0); }
};
struct wild_control : hocket::graph_access<my::program> {
  std::uint32_t target = 7;
  void for_each_control(const my::program&, node n, auto&& f) const {
    if (n == 1) f(target);
  }
};

}  // namespace
}  // namespace wrong_access

TEST_CASE("policies that tell the truth", "[testing]") {
  using namespace wrong_access;
  CHECK(broken_law(chain(40), hocket::graph_access<my::program>{}) == "");
  CHECK(broken_law(chain(0), hocket::graph_access<my::program>{}) == "");
  CHECK(broken_law(chain(40), ranges{}) == "");
  CHECK(broken_law(chain(40), steady{}) == "");
  CHECK(broken_law(triangle(), view{}) == "");
  CHECK(broken_law(triangle(), operands_only{}) == "");
  const std::vector<std::vector<int>> lists{{1, 2}, {2}, {}};
  CHECK(broken_law(lists, hocket::graph_access<std::vector<std::vector<int>>>{}) == "");
}

TEST_CASE("policies that miscount or misnumber", "[testing]") {
  using namespace wrong_access;
  CHECK(broken_law(triangle(), view{.extra = 1}) == "node_count is 4, but for_each_node visits 3");
  CHECK(broken_law(triangle(), view{.moody_from = 2}) == "for_each_node visits other nodes when it is called again");
  host h = triangle();
  h.number = {0, 5, 2};
  CHECK(broken_law(h, view{}) == "index_of node 1 is 5, but node_count is 3");
  h.number = {0, 2, 2};
  CHECK(broken_law(h, view{}) == "index_of node 2 is 2, as of node 1");
}

TEST_CASE("neighbours that cannot be", "[testing]") {
  using namespace wrong_access;
  host h = triangle();
  h.down[1] = {1};
  CHECK(broken_law(h, view{}) == "a successor of node 1 is the node itself");
  h = triangle();
  h.up[2] = {1};
  CHECK(broken_law(h, view{}) == "edge 0 -> 2 is among the successors or the predecessors, not both");
  h = triangle();
  h.down[2] = {0};
  h.up[0] = {2};
  CHECK(broken_law(h, view{}).find("cycle") != std::string::npos);
  CHECK(broken_law(h, operands_only{}).find("cycle") != std::string::npos);
  h.up[1] = {1};
  CHECK(broken_law(h, operands_only{}) == "a predecessor of node 1 is the node itself");
  CHECK(broken_law(chain(5), wild_control{}) == "a control of node 1 is 7, beyond the last node");
  CHECK(broken_law(chain(5), wild_control{{}, 0}) == "");
  CHECK(broken_law(chain(5), wild_control{{}, 3}).find("cycle") != std::string::npos);
}

TEST_CASE("effects that cannot be", "[testing]") {
  using namespace wrong_access;
  CHECK(broken_law(chain(5), ranges{{}, 0}) == "node 1 touches an empty range, bytes 4 to 4 of space 0");
  CHECK(broken_law(chain(5), moody_reads{}) == "node 2 reads or writes something else when asked again");
  CHECK(broken_law(chain(5), odd_kind{}) == "the kind of node 2 is 9");
}

TEST_CASE("members that change their minds", "[testing]") {
  using namespace wrong_access;
  const my::program p = chain(5);
  CHECK(broken_law(p, moody_parts{}) == "for_each_part of node 2 gives \"10, 0, 20, 7\" and then \"10, 0, 20\"");
  CHECK(broken_law(p, moody_stream{}) == "stream of node 2 gives \"1\" and then \"2\"");
  CHECK(broken_law(p, moody_starts{}) == "starts of node 2 gives \"1\" and then \"0\"");
  CHECK(broken_law(p, moody_kind{}) == "kind of node 2 gives \"0\" and then \"1\"");
  CHECK(broken_law(p, moody_barrier{}) == "barrier of node 2 gives \"0\" and then \"3\"");
  CHECK(broken_law(p, moody_resources{}) == "for_each_resource of node 2 gives \"1:1\" and then \"1:2\"");
  CHECK(broken_law(p, moody_lifetime{}) == "for_each_lifetime of node 2 gives \"1\" and then \"\"");
}
