// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Differences by their definition, over breadth-first search of both graphs; every proof is walked.
#include <hocket/graph/adjacency.hpp>
#include <hocket/graph/capture_plan.hpp>
#include <hocket/graph/compare.hpp>
#include <hocket/graph/rule.hpp>
#include <hocket/graph/storage_range.hpp>
#include <hocket/graph/stream_plan.hpp>
#include <hocket/graph/transitive_reduction.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "stream_device.hpp"

using hocket::node_id;
using hocket::graph::comparison;
using hocket::graph::difference;
using hocket::graph::difference_kind;
using hocket::graph::edge;
using hocket::testing::graph_oracle;

namespace {

bool has(const std::vector<edge>& edges, const edge& e) {
  return std::find(edges.begin(), edges.end(), e) != edges.end();
}

bool walks(const std::vector<node_id>& path, node_id a, node_id b, const std::vector<edge>& edges) {
  if (path.size() < 2 || path.front() != a || path.back() != b) return false;
  for (std::size_t i = 1; i < path.size(); ++i)
    if (!has(edges, {path[i - 1], path[i]})) return false;
  return true;
}

std::string wrong(const comparison& c, std::size_t nodes, const std::vector<edge>& ours,
                  const std::vector<edge>& theirs) {
  const graph_oracle mine(nodes, ours), other(nodes, theirs);
  std::vector<difference> expected;
  const std::set<edge> distinct(theirs.begin(), theirs.end());
  std::size_t kept = 0;
  for (const edge& e : mine.reduction()) {
    ++kept;
    if (!other.reaches(e.source, e.target)) expected.push_back({difference_kind::missing_order, e, {}});
  }
  const std::vector<edge> reduced = other.reduction();
  for (const edge& e : reduced)
    if (!mine.reaches(e.source, e.target)) expected.push_back({difference_kind::extra_order, e, {}});
  for (const edge& e : distinct)
    if (!has(reduced, e)) expected.push_back({difference_kind::redundant_edge, e, {}});
  const auto count = [&](difference_kind k) {
    return static_cast<std::size_t>(
        std::count_if(expected.begin(), expected.end(), [&](const difference& d) { return d.kind == k; }));
  };
  if (c.ours != kept || c.theirs != distinct.size()) return "edges counted";
  if (c.missing != count(difference_kind::missing_order)) return "missing";
  if (c.extra != count(difference_kind::extra_order)) return "extra";
  if (c.redundant != count(difference_kind::redundant_edge)) return "redundant";
  bool equal = true;
  for (node_id a = 0; a < nodes; ++a)
    for (node_id b = 0; b < nodes; ++b) equal = equal && mine.reaches(a, b) == other.reaches(a, b);
  if (c.equal_order() != equal) return "equal_order";
  if (c.first.size() != expected.size()) return "differences";
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const difference& d = c.first[i];
    const auto [a, b] = d.pair;
    if (d.kind != expected[i].kind || d.pair != expected[i].pair) return "difference";
    const bool from_ours = d.kind == difference_kind::missing_order;
    const bool order = d.kind != difference_kind::redundant_edge;
    if (d.opposite() != (order && (from_ours ? other : mine).reaches(b, a))) return "opposite";
    if (d.path_is_ours() != (from_ours != d.opposite())) return "path_is_ours";
    const std::vector<edge>& in = d.path_is_ours() ? ours : theirs;
    if (d.opposite() ? !walks(d.path, b, a, in) : !walks(d.path, a, b, in)) return "path";
    if (d.kind == difference_kind::redundant_edge && d.path.size() < 3) return "redundant by itself";
  }
  return {};
}

}  // namespace

TEST_CASE("of nothing compared nothing is counted", "[graph]") {
  const comparison c;
  CHECK(c.ours + c.theirs + c.missing + c.extra + c.redundant == 0);
  CHECK(c.equal_order());
  CHECK(edge{}.source + edge{}.target == 0);
  CHECK(hocket::graph::storage_range{}.space + hocket::graph::storage_range{}.first +
            hocket::graph::storage_range{}.end ==
        0);
  const hocket::graph::reduction r;
  CHECK(r.offered + r.bytes + r.kept.size() == 0);
  CHECK(r.reachable_pairs == 0);
  CHECK(hocket::graph::reason{}.subject == 0);
  CHECK(hocket::graph::ordered_resource{}.id == 0);
  CHECK(hocket::graph::strided_view{}.space + hocket::graph::strided_view{}.first == 0);
  CHECK(hocket::graph::strided_view{}.item_bytes == 1);
  CHECK(hocket::graph::compare_options{}.limit == 20);
  const hocket::graph::stream_wait wait;
  CHECK(wait.recorder + wait.waiter + wait.record_stream + wait.wait_stream == 0);
  CHECK(hocket::graph::capture_plan{}.origin == 0);
  const char bytes[24] = {};
  const auto range = hocket::graph::storage_range::of(&bytes[4], 16, 3);
  CHECK(range.space == 3);
  CHECK(range.end - range.first == 16);
  CHECK(range.first - hocket::graph::storage_range::of(bytes, 1).first == 4);
}

TEST_CASE("all pairs of graphs on 4 nodes", "[graph]") {
  const std::vector<edge> pairs{{0, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}, {2, 3}};
  const auto edges_of = [&](unsigned mask, bool mirrored) {
    std::vector<edge> edges;
    for (unsigned i = 0; i < 6; ++i)
      if ((mask >> i & 1u) != 0) edges.push_back(mirrored ? edge{3 - pairs[i].source, 3 - pairs[i].target} : pairs[i]);
    return edges;
  };
  for (unsigned x = 0; x < 64; ++x)
    for (unsigned y = 0; y < 128; ++y) {
      const std::vector<edge> ours = edges_of(x, false), theirs = edges_of(y & 63, y >= 64);
      const auto c = hocket::graph::compare(hocket_test::dag_of(4, ours), theirs);
      if (!c) FAIL("no answer");
      if (const std::string w = wrong(*c, 4, ours, theirs); !w.empty()) FAIL(w << ' ' << x << ' ' << y);
    }
}

TEST_CASE("random graphs with edges left out, added and repeated", "[graph]") {
  hocket::testing::random_source random(23);
  for (int round = 0; round < 150; ++round) {
    const node_id nodes = 2 + random.below(40);
    const std::vector<edge> ours = hocket_test::random_edges(random, nodes, 3);
    std::vector<edge> theirs;
    for (const edge& e : ours)
      if (random.below(8) != 0) theirs.insert(theirs.end(), 1 + random.below(2), e);
    for (std::uint32_t k = random.below(5); k-- > 0;) {
      const node_id b = 1 + random.below(nodes - 1);
      theirs.push_back({random.below(b), b});
    }
    const auto c = hocket::graph::compare(hocket_test::dag_of(nodes, ours), theirs, {.limit = 1'000});
    REQUIRE(c);
    if (const std::string w = wrong(*c, nodes, ours, theirs); !w.empty()) FAIL(w);
    const auto few = hocket::graph::compare(hocket_test::dag_of(nodes, ours), theirs, {.limit = 1});
    REQUIRE(few);
    CHECK(few->missing == c->missing);
    CHECK(few->first.size() == (c->missing != 0 ? 1u : 0u) + (c->extra != 0 ? 1u : 0u) + (c->redundant != 0 ? 1u : 0u));
    if (!few->first.empty()) CHECK(few->first.front() == c->first.front());
  }
}

TEST_CASE("compare takes a host's graph, and refuses what is none", "[graph]") {
  const auto ours = hocket_test::dag_of(3, {{0, 1}, {1, 2}});
  const std::vector<std::vector<int>> lists{{1, 2}, {2}, {}};
  const auto c = hocket::graph::compare(ours, lists);
  REQUIRE(c);
  CHECK(c->equal_order());
  CHECK(c->redundant == 1);
  REQUIRE(c->first.size() == 1);
  CHECK(c->first[0].path == std::vector<node_id>{0, 1, 2});

  std::pmr::vector<node_id> cycle;
  const std::vector<edge> round{{1, 2}, {2, 0}, {0, 1}}, wild{{0, 3}}, self{{1, 1}};
  CHECK(hocket::graph::compare(ours, round, {}, &cycle).error().code == hocket::errc::cycle);
  CHECK(cycle == std::pmr::vector<node_id>{0, 1, 2});
  CHECK(hocket::graph::compare(ours, wild).error() == hocket::error(hocket::errc::unknown_node, 3, 3));
  CHECK(hocket::graph::compare(ours, self).error().code == hocket::errc::self_edge);
  const std::vector<std::vector<int>> beyond{{7}, {}, {}};
  CHECK(hocket::graph::compare(ours, beyond).error().code == hocket::errc::unknown_node);
}

TEST_CASE("20 differences of each kind are kept if nothing is said, and a wait of which nothing is said is all 0",
          "[graph]") {
  std::vector<edge> ours;
  for (hocket::node_id b = 1; b <= 30; ++b) ours.push_back({0, b});
  const auto c = hocket::graph::compare(hocket_test::dag_of(31, ours), std::vector<edge>{});
  REQUIRE(c);
  CHECK(c->missing == 30);
  CHECK(c->first.size() == 20);
  CHECK(hocket::graph::stream_wait{} == hocket::graph::stream_wait{0, 0, 0, 0});
}
