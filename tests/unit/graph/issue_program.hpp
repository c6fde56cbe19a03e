// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs to order, and a simulator that shares nothing with the library.
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/graph/issue_order.hpp>
#include <hocket/testing/random_source.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace issue_test {

using hocket::no_id;
using hocket::node_id;
using hocket::stream_id;
using hocket::ticks;
using hocket::graph::edge;

struct program {
  std::size_t nodes = 0;
  std::vector<edge> edges;
  std::vector<ticks> durations;
  std::vector<stream_id> pinned;
  std::vector<std::uint32_t> chains;
};

// The edges, and those from each op of a chain to every later one.
inline std::vector<edge> all_edges(const program& p) {
  std::vector<edge> all = p.edges;
  for (node_id a = 0; a < p.chains.size(); ++a)
    for (node_id b = a + 1; b < p.chains.size(); ++b)
      if (p.chains[a] != no_id && p.chains[a] == p.chains[b]) all.push_back({a, b});
  return all;
}

// When all is done of ops issued in this order; -1 if one is issued before an op that it waits for.
inline ticks run(const program& p, const std::vector<edge>& edges, const std::vector<node_id>& order,
                 const std::vector<stream_id>& stream_of, std::vector<ticks>* start = nullptr) {
  std::vector<ticks> done(p.nodes, -1), free(16, 0);
  ticks end = 0;
  for (const node_id b : order) {
    ticks at = free[stream_of[b]];
    for (const edge& e : edges) {
      if (e.target != b) continue;
      if (done[e.source] < 0) return -1;
      at = std::max(at, done[e.source]);
    }
    if (start != nullptr) (*start)[b] = at;
    done[b] = free[stream_of[b]] = at + p.durations[b];
    end = std::max(end, done[b]);
  }
  return end;
}

// The most bytes alive when an op starts, of ops that start in this order. A value is there if an op that touches it
// has started (or it was there before) and another is still to end (or it stays).
inline std::int64_t peak(const hocket::graph::issue_values& values, const std::vector<node_id>& order,
                         const std::vector<ticks>& start, const std::vector<ticks>& durations) {
  using life = hocket::graph::value_life;
  std::int64_t most = 0;
  for (std::size_t i = 0; i <= order.size() + 1; ++i) {  // before the first, at each, after the last
    std::int64_t sum = 0;
    for (std::size_t v = 0; v < values.size(); ++v) {
      bool begun = values.life(v) == life::from_before || values.life(v) == life::always, over = true;
      for (const node_id x : values.ops(v)) {
        const auto at = static_cast<std::size_t>(std::find(order.begin(), order.end(), x) - order.begin());
        begun = begun || at + 1 <= i;
        const bool ended = i > order.size() || (at + 1 < i && start[x] + durations[x] <= start[order[i - 1]]);
        over = over && i != 0 && ended;
      }
      over = over && values.life(v) != life::to_the_end && values.life(v) != life::always;
      if (begun && !over) sum += values.bytes(v);
    }
    most = std::max(most, sum);
  }
  return most;
}

inline program random_program(hocket::testing::random_source& random, std::size_t nodes, stream_id streams) {
  program p;
  p.nodes = nodes;
  for (node_id b = 0; b < nodes; ++b)
    for (node_id a = 0; a < b; ++a)
      if (random.below(3) == 0) p.edges.push_back({a, b});
  for (std::size_t i = 0; i < nodes; ++i) p.durations.push_back(random.below(7));
  if (random.below(3) == 0)
    for (std::size_t i = 0; i < nodes; ++i) p.pinned.push_back(random.below(2) == 0 ? no_id : random.below(streams));
  if (random.below(3) == 0)
    for (std::size_t i = 0; i < nodes; ++i) p.chains.push_back(random.below(2) == 0 ? no_id : random.below(2));
  return p;
}

// Each op leaves a value to those that follow it, and some values have another life.
inline hocket::graph::issue_values random_values(hocket::testing::random_source& random, const program& p) {
  hocket::graph::issue_values values;
  for (node_id a = 0; a < p.nodes; ++a) {
    std::vector<node_id> ops{a};
    for (const edge& e : p.edges)
      if (e.source == a && random.below(4) != 0) ops.push_back(e.target);
    const bool odd = random.below(4) == 0;
    const auto life = static_cast<hocket::graph::value_life>(odd ? random.below(4) : 0u);
    values.add(random.below(10), ops, life);
  }
  return values;
}

}  // namespace issue_test
