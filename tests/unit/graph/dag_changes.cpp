// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Erasing, fusing and taking back, against a model that only keeps the set of offered edges: every graph on four nodes,
// then long random lives of larger ones, with memory that runs out at every moment.
#include <hocket/graph/dag.hpp>
#include <hocket/graph/edge_kinds.hpp>
#include <hocket/testing/dense_index.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <memory_resource>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "scarce_memory.hpp"

using hocket::errc;
using hocket::no_id;
using hocket::node_id;
using hocket::graph::dag;
using hocket::graph::edge;
using hocket::graph::edge_status;
using hocket::graph::persistent_index;
using hocket::testing::dense_index;
using hocket::testing::graph_oracle;
using hocket::testing::random_source;
using hocket_test::plenty;
using hocket_test::until_it_succeeds;

namespace {

std::size_t allocations_left = plenty;
std::size_t allocations = 0;

void* take(std::size_t bytes, std::size_t alignment) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left != plenty) --allocations_left;
  ++allocations;
  bytes = (bytes + alignment - 1) / alignment * alignment;
  void* const p = alignment <= 16 ? std::malloc(bytes == 0 ? 1 : bytes) : std::aligned_alloc(alignment, bytes);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

// Every allocation of this program, whoever makes it.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return take(bytes, 1); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t a) {
  return take(bytes, static_cast<std::size_t>(a));
}
// Replaced as well, because a sanitizer brings its own: std::stable_sort asks without throwing and frees as usual.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes); }
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace {

// An index of a host's own, as plain as can be, that can truncate: rolling back appends takes its short way.
class plain_index {
 public:
  explicit plain_index(std::pmr::memory_resource*) {}
  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return rows_.size() * rows_.size(); }
  [[nodiscard]] bool reaches(node_id a, node_id b) const noexcept { return has(rows_[b], a); }
  [[nodiscard]] std::size_t reduce(node_id, std::span<node_id> preds) {
    rows_.reserve(rows_.size() + 1);
    std::vector<bool> row;
    for (const node_id p : preds) unite(row, rows_[p]);
    const auto middle = std::partition(preds.begin(), preds.end(), [&](node_id p) { return !has(row, p); });
    for (const node_id p : preds) set(row, p);
    staged_ = std::move(row);
    return static_cast<std::size_t>(middle - preds.begin());
  }
  void commit(node_id b) noexcept {
    if (b == rows_.size()) rows_.push_back(std::move(staged_));
    else rows_[b] = std::move(staged_);
    staged_ = {};
  }
  void resize(std::size_t n) { rows_.resize(n); }
  void link(node_id a, std::span<const node_id> affected) {
    std::vector<std::vector<bool>> linked;
    for (const node_id d : affected) {
      linked.push_back(rows_[d]);
      unite(linked.back(), rows_[a]);
      set(linked.back(), a);
    }
    for (std::size_t i = 0; i < affected.size(); ++i) rows_[affected[i]].swap(linked[i]);
  }
  void clear() noexcept { rows_.clear(); }
  void truncate(std::size_t n) noexcept {
    while (rows_.size() > n) {
      rows_.pop_back();
      ++truncated;
    }
  }
  static inline std::size_t truncated = 0;

 private:
  static bool has(const std::vector<bool>& row, node_id a) noexcept { return a < row.size() && row[a]; }
  static void set(std::vector<bool>& row, node_id a) {
    if (a >= row.size()) row.resize(a + std::size_t{1});
    row[a] = true;
  }
  static void unite(std::vector<bool>& row, const std::vector<bool>& other) {
    for (node_id a = 0; a < other.size(); ++a)
      if (other[a]) set(row, a);
  }
  std::vector<std::vector<bool>> rows_;
  std::vector<bool> staged_;
};
static_assert(hocket::graph::truncating_index<plain_index> && !hocket::graph::listing_index<plain_index>);

// The same with nothing but what the concept asks for: rolling back builds another.
class bare_index : plain_index {
 public:
  using plain_index::bytes;
  using plain_index::clear;
  using plain_index::commit;
  using plain_index::link;
  using plain_index::plain_index;
  using plain_index::reaches;
  using plain_index::reduce;
  using plain_index::resize;
  using plain_index::size;
};
static_assert(hocket::graph::reachability_index<bare_index> && !hocket::graph::truncating_index<bare_index>);

// What a dag is meant to be.
struct model {
  node_id nodes = 0;
  std::vector<edge> offered;  // sorted
  std::vector<bool> fused;

  void offer(edge e) {
    const auto at = std::lower_bound(offered.begin(), offered.end(), e);
    if (at == offered.end() || *at != e) offered.insert(at, e);
  }
  [[nodiscard]] graph_oracle oracle() const { return {nodes, offered}; }
  // The graph in which `group` is one node, or nothing if that has a cycle.
  [[nodiscard]] bool fuse(const std::vector<node_id>& group) {
    const graph_oracle now = oracle();
    const auto in = [&](node_id n) { return std::find(group.begin(), group.end(), n) != group.end(); };
    for (const node_id a : group)
      for (const node_id b : group)
        for (node_id x = 0; x < nodes; ++x)
          if (!in(x) && now.reaches(a, x) && now.reaches(x, b)) return false;
    const node_id one = *std::min_element(group.begin(), group.end());
    const std::vector<edge> old = std::move(offered);
    offered.clear();
    for (const edge& e : old) {
      const edge m{in(e.source) ? one : e.source, in(e.target) ? one : e.target};
      if (m.source != m.target) offer(m);
    }
    for (const node_id n : group) fused[n] = fused[n] || n != one;
    return true;
  }
};

template <class Index>
std::string difference(const dag<Index>& g, const model& m) {
  const graph_oracle oracle = m.oracle();
  if (g.node_count() != m.nodes) return "nodes";
  const std::vector<edge> kept = oracle.reduction();
  if (g.edges() != kept || g.edge_count() != kept.size()) return "kept edges";
  std::vector<edge> dropped;
  std::set_difference(m.offered.begin(), m.offered.end(), kept.begin(), kept.end(), std::back_inserter(dropped));
  if (g.logs_dropped_edges() ? g.dropped_edges() != dropped : !g.dropped_edges().empty()) return "dropped edges";
  std::vector<node_id> sources, sinks;
  for (node_id a = 0; a < m.nodes; ++a) {
    std::vector<node_id> before, after, up, listed_before, listed_after;
    for (node_id b = 0; b < m.nodes; ++b) {
      if (g.reaches(a, b) != oracle.reaches(a, b)) return "order of " + std::to_string(a) + ", " + std::to_string(b);
      if (oracle.reaches(b, a)) before.push_back(b);
      if (oracle.reaches(a, b)) after.push_back(b);
      if (std::binary_search(kept.begin(), kept.end(), edge{b, a})) up.push_back(b);
    }
    if (std::vector<node_id>(g.upstream(a).begin(), g.upstream(a).end()) != up) return "upstream";
    g.for_each_ancestor(a, [&](node_id n) { listed_before.push_back(n); });
    g.for_each_descendant(a, [&](node_id n) { listed_after.push_back(n); });
    if (listed_before != before || g.ancestor_count(a) != before.size()) return "ancestors";
    if (listed_after != after || g.descendant_count(a) != after.size()) return "descendants";
    if (m.fused[a] != (g.fused_into(a) != a)) return "fused";
    if (!m.fused[a] && before.empty()) sources.push_back(a);
    if (!m.fused[a] && after.empty()) sinks.push_back(a);
  }
  if (g.sources() != sources || g.sinks() != sinks) return "ends";
  return {};
}

template <class Index>
void same(const dag<Index>& g, const model& m) {
  if (const std::string what = difference(g, m); !what.empty()) FAIL(what);
}

std::vector<edge> all_pairs(node_id nodes) {
  std::vector<edge> pairs;
  for (node_id a = 0; a < nodes; ++a)
    for (node_id b = 0; b < nodes; ++b)
      if (a != b) pairs.push_back({a, b});
  return pairs;
}

// Every DAG on 4 nodes × every edge erased, every group fused, every edge tried and taken back.
template <class Index>
std::size_t every_change() {
  const std::vector<edge> pairs = all_pairs(4);
  std::size_t cases = 0;
  for (unsigned mask = 0; mask < 1u << pairs.size(); ++mask) {
    model m{4, {}, std::vector<bool>(4)};
    for (std::size_t i = 0; i < pairs.size(); ++i)
      if ((mask >> i & 1u) != 0) m.offer(pairs[i]);
    if (m.oracle().has_cycle()) continue;
    dag<Index> g;
    g.log_dropped_edges();
    REQUIRE(g.assign(4, m.offered));
    same(g, m);
    const auto start = g.snapshot();
    for (const edge& e : pairs) {
      model without = m;
      const auto at = std::find(without.offered.begin(), without.offered.end(), e);
      const bool there = at != without.offered.end();
      if (there) without.offered.erase(at);
      const auto erased = g.erase_edge(e.source, e.target);
      CHECK(erased.has_value() == there);
      if (!there) CHECK(erased.error().code == errc::no_such_edge);
      same(g, without);
      REQUIRE(g.rollback(start));
      same(g, m);

      model with = m;
      if (holds(g.add_edge(e.source, e.target))) with.offer(e);
      same(g, with);
      REQUIRE(g.rollback(start));
      same(g, m);
      cases += 2;
    }
    for (unsigned members = 1; members < 16; ++members, ++cases) {
      std::vector<node_id> group;
      for (node_id n = 4; n-- > 0;)
        if ((members >> n & 1u) != 0) group.push_back(n);
      model fused = m;
      const bool possible = fused.fuse(group);
      std::pmr::vector<node_id> cycle;
      const auto r = g.contract(group, &cycle);
      REQUIRE(r.has_value() == possible);
      if (possible) {
        CHECK(*r == group.back());
        same(g, fused);
        for (const node_id n : group) CHECK(g.fused_into(n) == *r);
        for (const node_id n : group)
          if (n != *r) CHECK(g.add_edge(n, *r) == edge_status::unknown_node);
      } else {
        CHECK(r.error().code == errc::fusion_closes_cycle);
        const auto in = [&](node_id n) { return std::find(group.begin(), group.end(), n) != group.end(); };
        REQUIRE(cycle.size() >= 3);
        CHECK((in(cycle.front()) && in(cycle.back())));
        for (std::size_t i = 0; i + 1 < cycle.size(); ++i) {
          CHECK(m.oracle().reaches(cycle[i], cycle[i + 1]));
          CHECK((i == 0 || !in(cycle[i])));
        }
        same(g, m);
      }
      REQUIRE(g.rollback(start));
      same(g, m);
    }
  }
  return cases;
}

// A long life. `out_of_memory`: each call is first made with 0, 1, 2, … allocations allowed, until it succeeds.
template <class Index>
void live(std::uint64_t seed, bool logging, bool out_of_memory, int steps) {
  random_source random(seed);
  dag<Index> g;
  if (logging) g.log_dropped_edges();
  model m;
  std::vector<std::pair<hocket::graph::dag_snapshot, model>> snapshots;
  std::size_t failures = 0;
  const auto attempt = [&](auto call) {
    if (!out_of_memory) return call();
    failures += until_it_succeeds(allocations_left, call, [&] { same(g, m); });
  };
  for (int step = 0; step < steps; ++step) {
    const std::uint32_t what = random.below(20);
    if (m.nodes < 3 || (what < 6 && m.nodes < 24)) {
      std::vector<node_id> preds;
      for (std::uint32_t k = m.nodes == 0 ? 0 : random.below(4); k-- > 0;)
        if (const node_id p = random.below(m.nodes); !m.fused[p]) preds.push_back(p);
      node_id id = no_id;
      attempt([&] { id = g.append(preds).value_or(no_id); });
      REQUIRE(id == m.nodes);
      for (const node_id p : preds) m.offer({p, m.nodes});
      ++m.nodes;
      m.fused.push_back(false);
    } else if (what < 12) {
      const edge e{random.below(m.nodes), random.below(m.nodes)};
      bool in = false;
      attempt([&] { in = holds(g.add_edge(e.source, e.target)); });
      const bool may =
          e.source != e.target && !m.fused[e.source] && !m.fused[e.target] && !m.oracle().reaches(e.target, e.source);
      REQUIRE(in == may);
      if (in) m.offer(e);
    } else if (what < 15 && !m.offered.empty()) {
      const std::size_t i = random.below(m.offered.size());
      const edge e = m.offered[i];
      errc code{};
      attempt([&] {
        const auto r = g.erase_edge(e.source, e.target);
        if (!r) code = r.error().code;
      });
      CHECK(code == (logging ? errc{} : errc::dropped_edges_not_logged));
      if (logging) m.offered.erase(m.offered.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (what == 15) {
      std::vector<node_id> group;
      for (std::uint32_t k = 1 + random.below(3); k-- > 0;)
        if (const node_id n = random.below(m.nodes); !m.fused[n]) group.push_back(n);
      if (group.empty()) continue;
      model after = m;
      const bool possible = after.fuse(group);
      bool fused = false;
      attempt([&] { fused = g.contract(group).has_value(); });
      REQUIRE(fused == possible);
      if (possible) m = after;
    } else if (what < 18) {
      hocket::graph::dag_snapshot now;
      attempt([&] { now = g.snapshot(); });
      snapshots.emplace_back(now, m);
    } else if (what == 18 && !snapshots.empty()) {
      const std::size_t i = random.below(snapshots.size());
      bool back = false;
      attempt([&] { back = g.rollback(snapshots[i].first).has_value(); });
      REQUIRE(back);
      m = snapshots[i].second;
      if (i + 1 < snapshots.size() && snapshots[i + 1].second.nodes != m.nodes)
        CHECK(g.rollback(snapshots[i + 1].first).error().code == errc::stale_snapshot);
      snapshots.erase(snapshots.begin() + static_cast<std::ptrdiff_t>(i) + 1, snapshots.end());
    } else if (what == 19 && random.below(8) == 0) {
      g.forget_snapshots();
      if (!snapshots.empty()) CHECK(g.rollback(snapshots[0].first).error().code == errc::stale_snapshot);
      snapshots.clear();
    }
    INFO("seed " << seed << " step " << step << " what " << what << " nodes " << m.nodes);
    same(g, m);
  }
  if (out_of_memory) CHECK(failures > 50);
}

}  // namespace

TEST_CASE("every DAG on four nodes: erase, fuse, try and take back", "[graph]") {
  CHECK(every_change<dense_index>() == 543 * (2 * 12 + 15));
  CHECK(every_change<plain_index>() == 543 * (2 * 12 + 15));
  CHECK(every_change<persistent_index>() == 543 * (2 * 12 + 15));
}

TEST_CASE("random lives of a dag", "[graph]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    live<dense_index>(seed, seed % 2 == 0, false, 150);
    live<persistent_index>(seed + 100, seed % 2 == 0, false, 150);
    live<plain_index>(seed + 400, seed % 2 == 0, false, 150);
    live<bare_index>(seed + 600, seed % 2 == 0, false, 150);
  }
  CHECK(plain_index::truncated > 50);
}

TEST_CASE("random lives of a dag with every allocation failing once", "[graph]") {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    live<dense_index>(seed + 200, seed % 2 == 0, true, 120);
    live<persistent_index>(seed + 300, seed % 2 == 0, true, 120);
    live<plain_index>(seed + 500, seed % 2 == 0, true, 120);
    live<bare_index>(seed + 700, seed % 2 == 0, true, 120);
  }
}

// Ops and edges of every kind, first with 0, 1, 2, … allocations allowed: what fails changes nothing.
TEST_CASE("edges by kind: a call that runs out of memory changes nothing", "[graph]") {
  using hocket::graph::edge_kind;
  random_source random(5);
  hocket::graph::kinded_dependencies<> g;
  std::size_t failures = 0;
  const auto attempt = [&](auto call) {
    const auto before = g.edges();
    const std::size_t nodes = g.node_count();
    failures += until_it_succeeds(allocations_left, call, [&] {
      REQUIRE(g.node_count() == nodes);
      REQUIRE(g.data().node_count() == nodes);
      REQUIRE(g.edges() == before);
    });
  };
  for (node_id b = 0; b < 40; ++b) {
    std::vector<node_id> preds[3];
    for (std::vector<node_id>& list : preds)
      for (node_id k = random.below(3); b != 0 && k != 0; --k) list.push_back(random.below(b));
    attempt([&] { (void)g.append(preds[0], preds[1], preds[2]); });
    for (const edge_kind kind : {edge_kind::data, edge_kind::control, edge_kind::lifetime}) {
      const node_id a = random.below(b + std::size_t{1}), c = random.below(b + std::size_t{1});
      attempt([&] { (void)g.add_edge(a, c, kind); });
    }
  }
  CHECK(failures > 100);
  CHECK(g.lifetime().size() > 20);
}

TEST_CASE("a second build after clear allocates nothing", "[graph]") {
  random_source random(5);
  constexpr node_id nodes = 3000;
  std::vector<edge> forward, any;
  for (node_id b = 1; b < nodes; ++b)
    for (int k = 0; k < 3; ++k) {
      const node_id a = random.below(b);
      forward.push_back({a, b});
      any.push_back({nodes - 1 - a, nodes - 1 - b});
    }
  dag<> g;
  for (const std::vector<edge>* edges : {&forward, &any}) {
    REQUIRE(g.assign(nodes, *edges));
    const std::vector<edge> first = g.edges();
    g.clear();
    const std::size_t before = allocations;
    const bool built = g.assign(nodes, *edges).has_value();
    const std::size_t after = allocations;
    REQUIRE(built);
    CHECK(after == before);
    CHECK(g.edges() == first);
    g.clear();
  }
  const auto append_all = [&] {
    g.reserve(nodes);  // else rows come first, and are given back when they get too long
    for (node_id b = 0; b < nodes; ++b) {
      const std::span<const edge> own(forward.data() + (b == 0 ? 0 : (b - 1) * 3), b == 0 ? 0u : 3u);
      node_id preds[3] = {};
      for (std::size_t i = 0; i < own.size(); ++i) preds[i] = own[i].source;
      (void)g.append(std::span<const node_id>(preds, own.size()));
    }
  };
  append_all();
  g.clear();
  const std::size_t before = allocations;
  append_all();
  CHECK(allocations == before);
}

TEST_CASE("a million bad edges leave the graph as it was, to the byte", "[graph]") {
  random_source random(6);
  dag<> g;
  for (node_id b = 0; b < 200; ++b) {
    std::vector<node_id> preds;
    for (int k = 0; b != 0 && k < 2; ++k) preds.push_back(random.below(b));
    REQUIRE(g.append(preds));
  }
  const auto state = [&] {
    std::vector<std::uint32_t> s{static_cast<std::uint32_t>(g.edge_count()), static_cast<std::uint32_t>(g.bytes())};
    for (node_id a = 0; a < g.node_count(); ++a) {
      s.insert(s.end(), g.downstream(a).begin(), g.downstream(a).end());
      s.push_back(no_id);
      s.insert(s.end(), g.upstream(a).begin(), g.upstream(a).end());
      s.push_back(no_id);
      for (node_id b = 0; b < g.node_count(); ++b) s.push_back(g.reaches(a, b) ? 1 : 0);
    }
    return s;
  };
  const std::vector<unsigned char> image(reinterpret_cast<const unsigned char*>(&g),
                                         reinterpret_cast<const unsigned char*>(&g) + sizeof(g));
  const auto before = state();
  const std::size_t taken = allocations;
  std::size_t rejected = 0;
  while (rejected < 1'000'000) {
    node_id a = random.below(203), b = random.below(203);
    if (a > 199) a = no_id - (a - 200);  // ids at the limit
    const bool known = a < 200 && b < 200;
    if (known && a != b && !g.reaches(b, a)) continue;
    const edge_status s = g.add_edge(a, b);
    if (s != (!known ? edge_status::unknown_node : a == b ? edge_status::self : edge_status::cycle)) FAIL("status");
    ++rejected;
  }
  CHECK(allocations == taken);
  CHECK(std::equal(image.begin(), image.end(), reinterpret_cast<const unsigned char*>(&g)));
  CHECK(state() == before);
}

TEST_CASE("a second build beyond bit rows allocates nothing either", "[graph]") {
  dag<persistent_index> g;
  constexpr node_id nodes = 12'000;
  std::vector<edge> edges;
  for (node_id b = 1; b < nodes; ++b) {
    edges.push_back({b - 1 - b % 7 % b, b});
    edges.push_back({b / 2, b});
  }
  REQUIRE(g.assign(nodes, edges));
  const std::vector<edge> first = g.edges();
  g.clear();
  const std::size_t before = allocations;
  const bool built = g.assign(nodes, edges).has_value();
  const std::size_t after = allocations;
  CHECK(built);
  CHECK(after == before);
  CHECK(g.edges() == first);
}

TEST_CASE("limits: nothing to change, ids at the end of their range", "[graph]") {
  dag<> g;
  const auto empty = g.snapshot();
  CHECK(g.contract(std::vector<node_id>{0}).error().code == errc::unknown_node);
  CHECK(g.append(std::vector<node_id>{no_id}).error() == hocket::error{errc::bad_order, 0, no_id});
  CHECK(g.assign(std::size_t{no_id} + 1, {}).error().code == errc::limit_exceeded);
  CHECK(g.assign(1, std::vector<edge>{{no_id, 0}}).error().code == errc::unknown_node);
  CHECK(g.node_count() == 0);
  REQUIRE(g.append({}));
  CHECK(g.contract(std::vector<node_id>{0, 0, 0}).value() == 0);
  CHECK(g.descendant_count(0) == 0);
  CHECK(g.ancestor_count(0) == 0);
  for (node_id n = 1; n < 300; ++n) REQUIRE(g.append(std::vector<node_id>{n - 1, n - 1, n / 2}));
  CHECK(g.descendant_count(0) == 299);
  CHECK(g.edge_count() == 299);
  std::vector<node_id> all(300);
  for (node_id n = 0; n < 300; ++n) all[n] = 299 - n;
  CHECK(g.contract(all).value() == 0);  // the whole program as one op
  CHECK(g.edge_count() == 0);
  CHECK(g.sources() == std::vector<node_id>{0});
  CHECK(g.fused_into(299) == 0);
  REQUIRE(g.rollback(empty));
  CHECK(g.node_count() == 0);
  REQUIRE(g.append({}));
  CHECK(g.fused_into(0) == 0);
}

TEST_CASE("erasing needs the log, fusing needs members, a shared graph has many readers", "[graph]") {
  dag<> plain;
  REQUIRE(plain.assign(3, std::vector<edge>{{0, 1}, {1, 2}, {0, 2}}));
  CHECK(plain.erase_edge(1, 2).error() == hocket::error{errc::dropped_edges_not_logged, 1, 2});
  CHECK(plain.dropped_edges().empty());
  CHECK(plain.contract({}).error().code == errc::invalid_argument);
  CHECK(plain.contract(std::vector<node_id>{1, 3}).error().code == errc::unknown_node);
  CHECK(plain.contract(std::vector<node_id>{0, 2}).error() == hocket::error{errc::fusion_closes_cycle, 0, 1, 2});

  dag<> logged;
  logged.log_dropped_edges();
  REQUIRE(logged.assign(3, std::vector<edge>{{0, 1}, {1, 2}, {0, 2}}));
  CHECK(logged.dropped_edges() == std::vector<edge>{{0, 2}});
  REQUIRE(logged.erase_edge(1, 2));
  CHECK(logged.edges() == std::vector<edge>{{0, 1}, {0, 2}});  // 0 -> 2 has returned
  CHECK(logged.erase_edge(1, 2).error().code == errc::no_such_edge);
  CHECK(logged.erase_edge(7, no_id).error().code == errc::no_such_edge);

  dag<> clone = logged;
  const std::shared_ptr<const dag<>> shared = std::move(logged).share();
  const std::shared_ptr<const dag<>> reader = shared;
  CHECK(reader->edges() == clone.edges());
  CHECK(clone.add_edge(1, 2) == edge_status::added);
  CHECK(reader->edge_count() == 2);
  CHECK_FALSE(reader->reaches(1, 2));
}
