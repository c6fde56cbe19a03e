// SPDX-License-Identifier: Apache-2.0
// Any bytes as calls on a dag: append, add_edge, build, erase_edge, contract, snapshot, rollback, clear, copies. After
// each call the dag is what a list of offered edges and Warshall's algorithm say.
#include "fuzz.hpp"

#include <algorithm>
#include <utility>

namespace {

using namespace hocket;
using graph::edge;
using graph::edge_status;

struct model {
  std::uint32_t nodes = 0;
  std::vector<edge> edges;  // sorted
  std::vector<bool> fused;

  void offer(edge e) {
    const auto at = std::lower_bound(edges.begin(), edges.end(), e);
    if (at == edges.end() || *at != e) edges.insert(at, e);
  }
  fuzz::closure truth() const { return {nodes, edges}; }
};

// The graph and the model say the same; among offered edges those not kept are dropped.
template <class Graph>
void require_same(const Graph& g, const model& m) {
  const fuzz::closure truth = m.truth();
  fuzz::require(g.node_count() == m.nodes);
  fuzz::require_equal(g, truth);
  const std::vector<edge> kept = truth.reduction();
  std::vector<edge> dropped;
  std::set_difference(m.edges.begin(), m.edges.end(), kept.begin(), kept.end(), std::back_inserter(dropped));
  fuzz::require(g.logs_dropped_edges() ? g.dropped_edges() == dropped : g.dropped_edges().empty());
  for (std::uint32_t a = 0; a < m.nodes; ++a) {
    std::size_t before = 0, after = 0;
    for (std::uint32_t b = 0; b < m.nodes; ++b) {
      before += truth.reaches(b, a);
      after += truth.reaches(a, b);
    }
    fuzz::require(g.ancestor_count(a) == before && g.descendant_count(a) == after);
    fuzz::require((g.fused_into(a) != a) == m.fused[a]);
  }
}

template <class Index>
void run(const std::uint8_t* data, std::size_t size, bool logging) {
  graph::dag<Index> g;
  if (logging) g.log_dropped_edges();
  model m;
  std::vector<std::pair<graph::dag_snapshot, model>> snapshots;
  const std::uint8_t* const end = data + size;
  const auto next = [&]() -> std::uint32_t { return data == end ? 0u : *data++; };
  const auto usable = [&](std::uint32_t n) { return n < m.nodes && !m.fused[n]; };
  for (int step = 0; data != end && step < 60; ++step) {
    const std::uint32_t what = next() % 10;
    if (what < 3) {
      std::vector<node_id> preds;
      bool valid = true;
      for (std::uint32_t k = next() % 4; k-- > 0;) preds.push_back(next() % 26);
      for (const node_id p : preds) valid = valid && usable(p);
      if (m.nodes >= 24) continue;
      const auto id = g.append(preds);
      fuzz::require(id.has_value() == valid);
      if (valid) {
        for (const node_id p : preds) m.offer({p, m.nodes});
        ++m.nodes;
        m.fused.push_back(false);
      }
    } else if (what < 6) {
      const edge e{next() % 26, next() % 26};
      const fuzz::closure truth = m.truth();
      const edge_status s = g.add_edge(e.source, e.target);
      if (!usable(e.source) || !usable(e.target)) fuzz::require(s == edge_status::unknown_node);
      else if (e.source == e.target) fuzz::require(s == edge_status::self);
      else if (truth.reaches(e.target, e.source)) fuzz::require(s == edge_status::cycle);
      else fuzz::require(holds(s) && (s == edge_status::added) == !truth.reaches(e.source, e.target));
      if (holds(s)) m.offer(e);
    } else if (what == 6) {
      const edge e{next() % 26, next() % 26};
      const auto at = std::find(m.edges.begin(), m.edges.end(), e);
      fuzz::require(g.erase_edge(e.source, e.target).has_value() == (logging && at != m.edges.end()));
      if (logging && at != m.edges.end()) m.edges.erase(at);
    } else if (what == 7) {
      std::vector<node_id> group;
      for (std::uint32_t k = next() % 4; k-- > 0;) group.push_back(next() % 26);
      const fuzz::closure truth = m.truth();
      const auto in = [&](node_id n) { return std::find(group.begin(), group.end(), n) != group.end(); };
      bool possible = !group.empty();
      for (const node_id a : group) possible = possible && usable(a);
      for (std::size_t i = 0; possible && i < group.size(); ++i)
        for (const node_id b : group)
          for (node_id x = 0; x < m.nodes; ++x)
            if (!in(x) && truth.reaches(group[i], x) && truth.reaches(x, b)) possible = false;
      std::pmr::vector<node_id> way;
      const auto one = g.contract(group, &way);
      fuzz::require(one.has_value() == possible);
      if (!possible) continue;
      const std::vector<edge> old = std::exchange(m.edges, {});
      for (const edge& e : old) {
        const edge mapped{in(e.source) ? *one : e.source, in(e.target) ? *one : e.target};
        if (mapped.source != mapped.target) m.offer(mapped);
      }
      for (const node_id n : group) m.fused[n] = m.fused[n] || n != *one;
    } else if (what == 8) {
      if (next() % 2 == 0 || snapshots.empty()) {
        snapshots.emplace_back(g.snapshot(), m);
      } else {
        const std::size_t i = next() % snapshots.size();
        fuzz::require(g.rollback(snapshots[i].first).has_value());
        m = snapshots[i].second;
        snapshots.erase(snapshots.begin() + static_cast<std::ptrdiff_t>(i) + 1, snapshots.end());
      }
    } else {
      const std::uint32_t how = next() % 4;
      if (how == 0) {
        g.clear();
        m = {};
        snapshots.clear();
      } else if (how == 1) {
        graph::dag<Index> copy = g;
        g = std::move(copy);
      } else {
        std::vector<edge> edges;
        for (std::uint32_t k = next() % 8; k-- > 0;) edges.push_back({next() % 9, next() % 9});
        const bool known = std::all_of(edges.begin(), edges.end(), [](edge e) { return e.source < 8 && e.target < 8; });
        const bool valid = known && !fuzz::closure(9, edges).has_cycle();
        fuzz::require(g.assign(8, edges).has_value() == valid);
        if (valid) {
          m = {8, {}, std::vector<bool>(8)};
          for (const edge& e : edges) m.offer(e);
          snapshots.clear();
        }
      }
    }
    require_same(g, m);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool logging = data[0] % 2 == 0;
  if (data[0] % 4 < 2) run<graph::dense_index>(data + 1, size - 1, logging);
  else run<graph::persistent_index>(data + 1, size - 1, logging);
  return 0;
}
