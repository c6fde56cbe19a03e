// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/graph/edge.hpp>

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// Sorts the ids, the largest first, and drops repetitions; returns how many are left, at the front.
[[nodiscard]] inline std::size_t descend(std::span<node_id> ids) {
  bool descends = true;
  for (std::size_t i = 1; i < ids.size(); ++i) descends = descends & (ids[i - 1] > ids[i]);
  if (descends) return ids.size();
  std::reverse(ids.begin(), ids.end());  // programs list them in ascending order
  const auto later = [](node_id x, node_id y) { return x > y; };
  if (!std::is_sorted(ids.begin(), ids.end(), later)) std::sort(ids.begin(), ids.end(), later);
  return static_cast<std::size_t>(std::unique(ids.begin(), ids.end()) - ids.begin());
}

// The sources of each target, duplicates removed, descending: the order in which an index wants them.
struct incoming {
  explicit incoming(std::pmr::memory_resource* memory) : begin(1, 0, memory), sources(memory), kept(memory) {}

  std::pmr::vector<std::size_t> begin;  // size: nodes + 1
  std::pmr::vector<node_id> sources;
  std::pmr::vector<node_id> kept;  // of a build: so many of them, the first, are the kept ones

  [[nodiscard]] std::size_t size() const noexcept { return begin.size() - 1; }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return begin.capacity() * sizeof(std::size_t) + (sources.capacity() + kept.capacity()) * sizeof(node_id);
  }
  [[nodiscard]] std::span<node_id> operator[](std::size_t target) noexcept {
    return {sources.data() + begin[target], begin[target + 1] - begin[target]};
  }
  void clear() {
    begin.assign(1, 0);
    sources.clear();
  }
  // What was added to `sources` since, in any order and repeatedly, are the sources of the next target.
  void end_list() {
    const std::size_t first = begin.back();
    sources.resize(first + descend({sources.data() + first, sources.size() - first}));
    begin.push_back(sources.size());
  }
};

// Fills `in`, reusing its memory.
inline void collect_incoming(incoming& in, std::size_t nodes, std::span<const edge> edges) {
  in.begin.assign(nodes + 2, 0);
  in.sources.resize(edges.size());
  for (const edge& e : edges) ++in.begin[e.target + std::size_t{2}];
  for (std::size_t b = 2; b < in.begin.size(); ++b) in.begin[b] += in.begin[b - 1];
  for (const edge& e : edges) in.sources[in.begin[e.target + std::size_t{1}]++] = e.source;
  in.begin.pop_back();

  std::size_t out = 0;
  for (std::size_t b = 0; b < nodes; ++b) {
    const std::span<node_id> list = in[b];
    in.begin[b] = out;
    const std::size_t left = descend(list);
    std::copy_n(list.begin(), left, in.sources.begin() + static_cast<std::ptrdiff_t>(out));
    out += left;
  }
  in.begin[nodes] = out;
  in.sources.resize(out);
}

[[nodiscard]] inline incoming incoming_of(std::size_t nodes, std::span<const edge> edges,
                                          std::pmr::memory_resource* memory) {
  incoming in(memory);
  collect_incoming(in, nodes, edges);
  return in;
}

// What the search for an order needs besides the edges, so that it can be used again.
struct topological_workspace {
  explicit topological_workspace(std::pmr::memory_resource* memory)
      : begin(memory), at(memory), targets(memory), missing(memory), ready(memory), order(memory) {}

  std::pmr::vector<std::size_t> begin, at;
  std::pmr::vector<node_id> targets, missing, ready, order;

  [[nodiscard]] std::size_t bytes() const noexcept {
    return (begin.capacity() + at.capacity()) * sizeof(std::size_t) +
           (targets.capacity() + missing.capacity() + ready.capacity() + order.capacity()) * sizeof(node_id);
  }
};

// An order in which every source precedes its targets, in w.order: of the nodes that could come next always the
// smallest, so that the numbering's locality survives and every machine agrees. Shorter than `nodes` if there is a
// cycle.
inline void order_topologically(incoming& in, topological_workspace& w) {
  const std::size_t nodes = in.begin.size() - 1;
  w.begin.assign(nodes + 1, 0);
  w.targets.resize(in.sources.size());
  w.missing.assign(nodes, 0);
  w.order.clear();
  for (const node_id a : in.sources) ++w.begin[a + std::size_t{1}];
  for (std::size_t a = 1; a <= nodes; ++a) w.begin[a] += w.begin[a - 1];
  w.at = w.begin;
  for (std::size_t b = 0; b < nodes; ++b) {
    w.missing[b] = static_cast<node_id>(in[b].size());
    for (const node_id a : in[b]) w.targets[w.at[a]++] = static_cast<node_id>(b);
  }
  const auto later = [](node_id x, node_id y) { return x > y; };  // a heap with the smallest on top
  for (std::size_t b = 0; b < nodes; ++b)
    if (w.missing[b] == 0) w.ready.push_back(static_cast<node_id>(b));
  w.order.reserve(nodes);
  while (!w.ready.empty()) {
    std::pop_heap(w.ready.begin(), w.ready.end(), later);
    const node_id a = w.ready.back();
    w.ready.pop_back();
    w.order.push_back(a);
    for (std::size_t i = w.begin[a]; i < w.begin[a + std::size_t{1}]; ++i) {
      if (--w.missing[w.targets[i]] != 0) continue;
      w.ready.push_back(w.targets[i]);
      std::push_heap(w.ready.begin(), w.ready.end(), later);
    }
  }
}

[[nodiscard]] inline std::pmr::vector<node_id> topological_order(incoming& in, std::pmr::memory_resource* memory) {
  topological_workspace w(memory);
  order_topologically(in, w);
  return std::move(w.order);
}

// A cycle among the nodes that are not in `order`, each before the next and the last before the first, starting with
// its smallest node. Precondition: order is shorter than the graph, so such a node exists and has such a source.
[[nodiscard]] inline std::vector<node_id> find_cycle(incoming& in, std::span<const node_id> order) {
  const std::size_t nodes = in.begin.size() - 1;
  enum : unsigned char { stuck, done, seen };
  std::vector<unsigned char> state(nodes, stuck);
  for (const node_id a : order) state[a] = done;
  node_id b = 0;
  while (state[b] == done) ++b;
  std::vector<node_id> backwards;
  while (state[b] != seen) {
    state[b] = seen;
    backwards.push_back(b);
    node_id next = no_id;
    for (const node_id a : in[b])
      if (state[a] != done) next = a;  // descending: the smallest remains
    b = next;
  }
  backwards.erase(backwards.begin(), std::find(backwards.begin(), backwards.end(), b));
  std::reverse(backwards.begin(), backwards.end());
  std::rotate(backwards.begin(), std::min_element(backwards.begin(), backwards.end()), backwards.end());
  return backwards;
}

}  // namespace hocket::inline HOCKET_ABI::graph::detail
