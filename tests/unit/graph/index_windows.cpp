// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A persistent_index keeps the ancestors in a node's own window of 512 ids apart from its trie: everything that can
// happen to a node before, while and after its window passes, against bit rows.
#include <hocket/graph/dag.hpp>
#include <hocket/graph/persistent_index.hpp>
#include <hocket/testing/dense_index.hpp>
#include <hocket/testing/graph_benchmark.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "graph_programs.hpp"

using hocket::node_id;
using hocket::graph::dag;
using hocket::graph::dag_snapshot;
using hocket::graph::persistent_index;
using hocket::testing::dense_index;
using hocket::testing::random_source;

namespace {

template <class X, class Y>
std::size_t differences(const X& x, const Y& y, random_source& random) {
  std::size_t wrong = 0;
  const auto nodes = static_cast<node_id>(x.node_count());
  for (int i = 0; i < 100'000; ++i) {
    const node_id b = random.below(nodes),
                  a = i % 2 == 0 ? random.below(nodes) : b - random.below(std::min(b, 700u) + 1);
    wrong += x.reaches(a, b) != y.reaches(a, b) ? 1u : 0u;
  }
  for (node_id b = 0; b < nodes; b += 7) wrong += x.ancestor_count(b) != y.ancestor_count(b) ? 1u : 0u;
  wrong += x.edges() != y.edges() ? 1u : 0u;
  wrong += x.reachable_pairs() != y.reachable_pairs() ? 1u : 0u;
  return wrong;
}

// Runs, joins, forks, and references far back.
std::vector<node_id> preds_of(node_id b, random_source& random) {
  std::vector<node_id> preds;
  if (b == 0 || random.below(30) == 0) return preds;
  preds.push_back(random.below(3) == 0 ? b - 1 - random.below(std::min(b, 40u)) : b - 1);
  for (std::uint32_t k = random.below(4); k > 1; --k)
    preds.push_back(random.below(3) == 0 ? random.below(b) : b - 1 - random.below(std::min(b, 600u)));
  return preds;
}

}  // namespace

TEST_CASE("windows: late edges along the numbering between appends", "[graph]") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    random_source random(seed);
    const bool against = seed > 3;  // later also edges against the numbering
    dag<dense_index> dense;
    dag<persistent_index> persistent;
    const node_id nodes = 3100;
    for (node_id b = 0; b < nodes; ++b) {
      const std::vector<node_id> preds = preds_of(b, random);
      REQUIRE(dense.append(preds));
      REQUIRE(persistent.append(preds));
      if (b < 10 || random.below(25) != 0) continue;
      for (int tries = 0; tries < 2; ++tries) {
        const node_id x = random.below(3) == 0 ? b - random.below(b) : b - random.below(std::min(b, 30u));
        const node_id y = random.below(x == 0 ? 1 : x);
        const bool back = against && b > 1700 && random.below(10) == 0;
        const auto status = back ? dense.add_edge(x, y) : dense.add_edge(y, x);
        REQUIRE((back ? persistent.add_edge(x, y) : persistent.add_edge(y, x)) == status);
      }
      if (b % 400 == 0) {
        REQUIRE(differences(dense, persistent, random) == 0);
      }
    }
    CHECK(differences(dense, persistent, random) == 0);
    const dag<persistent_index> copy = persistent, before = persistent;
    for (node_id x = 3; x < nodes; x += 61) REQUIRE(persistent.add_edge(x / 3, x) == dense.add_edge(x / 3, x));
    CHECK(differences(dense, persistent, random) == 0);
    CHECK(copy.edge_count() == before.edge_count());
    CHECK(differences(copy, before, random) == 0);
  }
}

TEST_CASE("windows: tries of three heights in program order", "[graph]") {
  random_source random(11);
  dag<dense_index> dense;
  dag<persistent_index> persistent;
  for (node_id b = 0; b < 10'000; ++b) {
    const std::vector<node_id> preds = preds_of(b, random);
    REQUIRE(dense.append(preds));
    REQUIRE(persistent.append(preds));
  }
  CHECK(differences(dense, persistent, random) == 0);
  for (int i = 0; i < 300; ++i) {
    const node_id x = 1 + random.below(9'999), y = random.below(x);
    REQUIRE(dense.add_edge(y, x) == persistent.add_edge(y, x));
  }
  CHECK(differences(dense, persistent, random) == 0);
  persistent.clear();
  REQUIRE(persistent.append({}));
  REQUIRE(persistent.append(std::vector<node_id>{0}));
  CHECK(persistent.reaches(0, 1));
  CHECK_FALSE(persistent.reaches(1, 0));
}

TEST_CASE("windows: the youngest nodes are forgotten and others appended", "[graph]") {
  random_source random(12);
  persistent_index index;
  dense_index rows;
  std::size_t wrong = 0;
  for (int round = 0; round < 60; ++round) {
    const std::size_t more = 1 + random.below(200);
    for (std::size_t k = 0; k < more; ++k) {
      const auto b = static_cast<node_id>(index.size());
      std::vector<node_id> preds = preds_of(b, random);
      std::sort(preds.begin(), preds.end(), [](node_id x, node_id y) { return x > y; });
      preds.erase(std::unique(preds.begin(), preds.end()), preds.end());
      std::vector<node_id> same = preds;
      wrong += index.reduce(b, preds) != rows.reduce(b, same) ? 1u : 0u;
      wrong += preds != same ? 1u : 0u;
      index.commit(b);
      rows.commit(b);
    }
    const std::size_t left = index.size() - random.below(std::min<std::size_t>(index.size(), 150));
    index.truncate(left);
    rows.truncate(left);
    for (node_id b = 0; b < left; b += 1 + random.below(5)) {
      std::vector<node_id> x, y;
      index.for_each_ancestor(b, [&](node_id a) { x.push_back(a); });
      rows.for_each_ancestor(b, [&](node_id a) { y.push_back(a); });
      wrong += x != y ? 1u : 0u;
    }
  }
  CHECK(wrong == 0);
  CHECK(index.size() > 1000);
}

// Chains side by side, dead ends, forks, joins and late edges, with the state at a snapshot restored and continued in
// another way, copied and moved.
TEST_CASE("windows: chains, forks and joins", "[graph]") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    random_source random(seed);
    dag<dense_index> dense;
    dag<persistent_index> persistent;
    std::vector<std::pair<dag_snapshot, dag_snapshot>> moments;
    const std::uint32_t style = random.below(4), lanes = 2 + random.below(9);
    for (int step = 0; step < 1300; ++step) {
      const auto b = static_cast<node_id>(dense.node_count());
      const std::uint32_t what = random.below(500);
      if (what == 0) moments.emplace_back(dense.snapshot(), persistent.snapshot());
      if (what == 1 && !moments.empty()) {
        const std::size_t at = random.below(moments.size());
        REQUIRE(dense.rollback(moments[at].first));
        REQUIRE(persistent.rollback(moments[at].second));
        moments.resize(at + 1);
        continue;
      }
      if (what == 2 && style % 2 == 0 && b > 1) {
        const node_id y = 1 + random.below(b - 1), x = random.below(y);
        REQUIRE(dense.add_edge(x, y) == persistent.add_edge(x, y));
      }
      if (what == 3) {
        dag<persistent_index> copy = persistent;
        persistent = std::move(copy);
        dense.forget_snapshots();
        moments.clear();
      }
      std::vector<node_id> preds;
      if (style == 0 && b >= lanes) {
        preds.push_back(b - lanes);
        if (random.below(5) == 0) preds.push_back(random.below(b));
      } else if (b != 0) {
        for (std::uint32_t k = 1 + random.below(style == 1 ? 2 : 3); k != 0; --k)
          preds.push_back(b - 1 -
                          random.below(std::min(b, random.below(3) == 0   ? 600u
                                                   : random.below(2) == 0 ? 8u
                                                                          : 1u)));
      }
      REQUIRE(dense.append(preds));
      REQUIRE(persistent.append(preds));
    }
    REQUIRE(dense.edges() == persistent.edges());
    std::size_t wrong = 0;
    const auto nodes = static_cast<node_id>(dense.node_count());
    for (node_id b = 0; b < nodes; ++b) {
      std::vector<node_id> x, y;
      dense.for_each_ancestor(b, [&](node_id a) { x.push_back(a); });
      persistent.for_each_ancestor(b, [&](node_id a) { y.push_back(a); });
      wrong += x != y || persistent.ancestor_count(b) != y.size() ? 1u : 0u;
    }
    CHECK(wrong == 0);
    CHECK(differences(dense, persistent, random) == 0);
  }
}

TEST_CASE("windows: the set of an earlier node is replaced", "[graph]") {
  persistent_index index;
  std::vector<node_id> preds;
  const auto append = [&](std::vector<node_id> p) {
    const std::size_t kept = index.reduce(static_cast<node_id>(index.size()), p);
    index.commit(static_cast<node_id>(index.size()));
    return kept;
  };
  CHECK(append({}) == 0);
  for (node_id b = 1; b < 1200; ++b) CHECK(append({b - 1}) == 1);
  // 1199 comes after 3 and 700 only; a run is staged, one predecessor, and nothing at all.
  preds = {700, 3};
  CHECK(index.reduce(1199, preds) == 1);
  index.commit(1199);
  CHECK(index.reaches(700, 1199));
  CHECK(index.reaches(3, 1199));
  CHECK_FALSE(index.reaches(701, 1199));
  CHECK(index.ancestor_count(1199) == 701);
  preds = {1198};
  CHECK(index.reduce(1199, preds) == 1);
  index.commit(1199);
  CHECK(index.ancestor_count(1199) == 1199);
  preds = {};
  CHECK(index.reduce(1199, preds) == 0);
  index.commit(1199);
  CHECK(index.ancestor_count(1199) == 0);
  CHECK_FALSE(index.reaches(0, 1199));
  CHECK(append({1199, 1198}) == 2);
  CHECK(index.ancestor_count(1200) == 1200);
  CHECK(append({1200, 1199}) == 1);
  CHECK(index.reaches(1199, 1201));
  CHECK_FALSE(index.reaches(1201, 1200));
}

// From node 131,072 on tries have three levels: what is asked and what is listed must be what a search through the
// edges finds.
TEST_CASE("windows: tries of three levels", "[graph]") {
  random_source random(14);
  constexpr node_id high = node_id{1} << 17, nodes = high + 11'000;
  dag<persistent_index> g;
  for (node_id b = 0; b < nodes; ++b) {
    std::vector<node_id> preds = preds_of(b, random);
    if (b > 2'000 && b % 5 != 0) {  // lanes: not everything comes before everything
      preds = {b - 4};
      if (b % 97 == 1) preds.push_back(random.below(b));
    }
    REQUIRE(g.append(preds));
  }
  std::vector<node_id> asked = {high - 1,   high,         high + 1,     high + 511,
                                high + 512, high + 8'191, high + 8'192, nodes - 1};
  for (int i = 0; i < 12; ++i) asked.push_back(high + random.below(nodes - high));
  const auto wrong_answers = [&](const dag<persistent_index>& of) {
    std::size_t wrong = 0;
    for (const node_id b : asked) {
      if (b >= of.node_count()) continue;
      std::vector<char> before(of.node_count()), listed(of.node_count());
      std::vector<node_id> queue{b};
      for (std::size_t i = 0; i < queue.size(); ++i)
        for (const node_id a : of.upstream(queue[i]))
          if (before[a] == 0) {
            before[a] = 1;
            queue.push_back(a);
          }
      of.for_each_ancestor(b, [&](node_id a) { listed[a] = 1; });
      for (std::size_t a = 0; a < of.node_count(); ++a)
        wrong += (of.reaches(static_cast<node_id>(a), b) ? 1 : 0) != before[a] ? 1u : 0u;
      wrong += listed != before ? 1u : 0u;
    }
    return wrong;
  };
  CHECK(wrong_answers(g) == 0);
  const dag<persistent_index> copy = g;
  const dag_snapshot start = g.snapshot();
  for (int i = 0; i < 40; ++i) {  // late edges along the numbering
    const node_id x = high + random.below(nodes - high), y = random.below(x);
    (void)g.add_edge(y, x);
  }
  CHECK(wrong_answers(g) == 0);
  for (int i = 0; i < 20; ++i) {  // and against it
    const node_id x = random.below(nodes), y = high + random.below(nodes - high);
    (void)g.add_edge(y, x);
  }
  CHECK(wrong_answers(g) == 0);
  for (int i = 0; i < 300; ++i) REQUIRE(g.append(std::vector<node_id>{random.below(nodes)}));
  asked.push_back(nodes + 100);
  asked.push_back(nodes + 299);
  CHECK(wrong_answers(g) == 0);
  CHECK(wrong_answers(copy) == 0);
  REQUIRE(g.rollback(start));
  CHECK(wrong_answers(g) == 0);
  dag<persistent_index> again = copy;
  const dag_snapshot now = again.snapshot();
  for (int i = 0; i < 300; ++i) REQUIRE(again.append(std::vector<node_id>{random.below(nodes), nodes - 1}));
  REQUIRE(again.rollback(now));
  for (int i = 0; i < 300; ++i) REQUIRE(again.append(std::vector<node_id>{random.below(nodes)}));
  CHECK(wrong_answers(again) == 0);
}

// A program that repeats itself over the same weights: blocks are shared across windows, abandoned reduces and
// truncation. Every answer about each 41st node against bit rows.
TEST_CASE("windows: what is repeated is shared", "[graph]") {
  const hocket::testing::edge_rows rows = hocket::testing::rule_rows(graph_programs::gpt_program({24, 12, 1}));
  const auto nodes = static_cast<node_id>(rows.size());
  REQUIRE(nodes > 25'000);
  for (const bool abandons : {false, true}) {
    random_source random(5);
    dense_index dense;
    persistent_index persistent;
    std::vector<node_id> x, y;
    std::size_t differ = 0;
    for (node_id b = 0; b < nodes; ++b) {
      const auto preds = rows.predecessors(b);
      if (abandons && b > 0 && random.below(4) == 0) {  // nobody commits it; its blocks' numbers are used again
        const node_id other = random.below(b);
        x.assign(rows.predecessors(other).rbegin(), rows.predecessors(other).rend());
        x.insert(x.begin(), b - 1);
        if (x.size() == 1 || x[1] != b - 1) differ += persistent.reduce(b, x) == 0 ? 1u : 0u;
      }
      if (abandons && b > 600 && random.below(500) == 0) {
        const node_id left = b - random.below(600);
        persistent.truncate(left);
        dense.truncate(left);
        b = left - 1;
        continue;
      }
      x.assign(preds.rbegin(), preds.rend());
      y = x;
      const std::size_t kept = persistent.reduce(b, x);
      differ += kept != dense.reduce(b, y) ? 1u : 0u;
      x.resize(kept);
      y.resize(kept);
      differ += x != y ? 1u : 0u;
      persistent.commit(b);
      dense.commit(b);
    }
    for (node_id b = 0; b < nodes; b += 41)
      for (node_id a = 0; a < nodes; ++a) differ += persistent.reaches(a, b) != dense.reaches(a, b) ? 1u : 0u;
    CHECK(differ == 0);
    if (!abandons) CHECK(persistent.bytes() < std::size_t{nodes} * 144);  // a leaf of 64, and its share of the tries
  }
}
