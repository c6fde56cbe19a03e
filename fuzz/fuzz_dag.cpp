// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as calls on a dag: append, add_edge, build, erase_edge, contract, snapshot, rollback, clear, copies. After
// each call the dag is what a list of offered edges and Warshall's algorithm say.
#include "fuzz.hpp"

#include <hocket/testing/dense_index.hpp>

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
class changes {
 public:
  changes(const std::uint8_t* data, std::size_t size, bool logging)
      : data_(data), end_(data + size), logging_(logging) {
    if (logging_) g_.log_dropped_edges();
  }

  void run() {
    for (int step = 0; data_ != end_ && step < 60; ++step) {
      const std::uint32_t what = byte() % 10;
      if (what < 3) append();
      else if (what < 6) add();
      else if (what == 6) erase();
      else if (what == 7) fuse();
      else if (what == 8) go_back();
      else replace();
      require_same(g_, m_);
    }
  }

 private:
  std::uint32_t byte() { return data_ == end_ ? 0u : *data_++; }
  [[nodiscard]] bool usable(std::uint32_t n) const { return n < m_.nodes && !m_.fused[n]; }

  void append() {
    std::vector<node_id> preds;
    bool valid = true;
    for (std::uint32_t k = byte() % 4; k-- > 0;) preds.push_back(byte() % 26);
    for (const node_id p : preds) valid = valid && usable(p);
    if (m_.nodes >= 24) return;
    const auto id = g_.append(preds);
    fuzz::require(id.has_value() == valid);
    if (valid) {
      for (const node_id p : preds) m_.offer({p, m_.nodes});
      ++m_.nodes;
      m_.fused.push_back(false);
    }
  }

  void add() {
    const edge e{byte() % 26, byte() % 26};
    const fuzz::closure truth = m_.truth();
    const edge_status s = g_.add_edge(e.source, e.target);
    if (!usable(e.source) || !usable(e.target)) fuzz::require(s == edge_status::unknown_node);
    else if (e.source == e.target) fuzz::require(s == edge_status::self);
    else if (truth.reaches(e.target, e.source)) fuzz::require(s == edge_status::cycle);
    else fuzz::require(holds(s) && (s == edge_status::added) == !truth.reaches(e.source, e.target));
    if (holds(s)) m_.offer(e);
  }

  void erase() {
    const edge e{byte() % 26, byte() % 26};
    const auto at = std::find(m_.edges.begin(), m_.edges.end(), e);
    fuzz::require(g_.erase_edge(e.source, e.target).has_value() == (logging_ && at != m_.edges.end()));
    if (logging_ && at != m_.edges.end()) m_.edges.erase(at);
  }

  void fuse() {
    std::vector<node_id> group;
    for (std::uint32_t k = byte() % 4; k-- > 0;) group.push_back(byte() % 26);
    const fuzz::closure truth = m_.truth();
    const auto in = [&](node_id n) { return std::find(group.begin(), group.end(), n) != group.end(); };
    bool possible = !group.empty();
    for (const node_id a : group) possible = possible && usable(a);
    for (std::size_t i = 0; possible && i < group.size(); ++i)
      for (const node_id b : group)
        for (node_id x = 0; x < m_.nodes; ++x)
          if (!in(x) && truth.reaches(group[i], x) && truth.reaches(x, b)) possible = false;
    std::pmr::vector<node_id> way;
    const auto one = g_.contract(group, &way);
    fuzz::require(one.has_value() == possible);
    if (!possible) return;
    const std::vector<edge> old = std::exchange(m_.edges, {});
    for (const edge& e : old) {
      const edge mapped{in(e.source) ? *one : e.source, in(e.target) ? *one : e.target};
      if (mapped.source != mapped.target) m_.offer(mapped);
    }
    for (const node_id n : group) m_.fused[n] = m_.fused[n] || n != *one;
  }

  void go_back() {
    if (byte() % 2 == 0 || snapshots_.empty()) {
      snapshots_.emplace_back(g_.snapshot(), m_);
    } else {
      const std::size_t i = byte() % snapshots_.size();
      fuzz::require(g_.rollback(snapshots_[i].first).has_value());
      m_ = snapshots_[i].second;
      snapshots_.erase(snapshots_.begin() + static_cast<std::ptrdiff_t>(i) + 1, snapshots_.end());
    }
  }

  void replace() {
    const std::uint32_t how = byte() % 4;
    if (how == 0) {
      g_.clear();
      m_ = {};
      snapshots_.clear();
    } else if (how == 1) {
      graph::dag<Index> copy = g_;
      g_ = std::move(copy);
    } else {
      std::vector<edge> edges;
      for (std::uint32_t k = byte() % 8; k-- > 0;) edges.push_back({byte() % 9, byte() % 9});
      const bool known = std::all_of(edges.begin(), edges.end(), [](edge e) { return e.source < 8 && e.target < 8; });
      const bool valid = known && !fuzz::closure(9, edges).has_cycle();
      fuzz::require(g_.assign(8, edges).has_value() == valid);
      if (valid) {
        m_ = {8, {}, std::vector<bool>(8)};
        for (const edge& e : edges) m_.offer(e);
        snapshots_.clear();
      }
    }
  }

  const std::uint8_t* data_;
  const std::uint8_t* end_;
  bool logging_;
  graph::dag<Index> g_;
  model m_;
  std::vector<std::pair<graph::dag_snapshot, model>> snapshots_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool logging = data[0] % 2 == 0;
  if (data[0] % 4 < 2) changes<hocket::testing::dense_index>(data + 1, size - 1, logging).run();
  else changes<graph::persistent_index>(data + 1, size - 1, logging).run();
  return 0;
}
