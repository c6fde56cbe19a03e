// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/graph/edge.hpp>

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// The sources of each target, duplicates removed, descending: the order in which an index wants them.
struct incoming {
  std::pmr::vector<std::size_t> begin;  // size: nodes + 1
  std::pmr::vector<node_id> sources;

  [[nodiscard]] std::span<node_id> operator[](std::size_t target) noexcept {
    return {sources.data() + begin[target], begin[target + 1] - begin[target]};
  }
};

[[nodiscard]] inline incoming incoming_of(std::size_t nodes, std::span<const edge> edges,
                                          std::pmr::memory_resource* memory) {
  incoming in{std::pmr::vector<std::size_t>(nodes + 2, memory), std::pmr::vector<node_id>(edges.size(), memory)};
  for (const edge& e : edges) ++in.begin[e.target + std::size_t{2}];
  for (std::size_t b = 2; b < in.begin.size(); ++b) in.begin[b] += in.begin[b - 1];
  for (const edge& e : edges) in.sources[in.begin[e.target + std::size_t{1}]++] = e.source;
  in.begin.pop_back();

  std::size_t out = 0;
  for (std::size_t b = 0; b < nodes; ++b) {
    node_id* const first = in.sources.data() + in.begin[b];
    node_id* const last = in.sources.data() + in.begin[b + 1];
    if (!std::is_sorted(first, last, [](node_id x, node_id y) { return x > y; }))
      std::sort(first, last, [](node_id x, node_id y) { return x > y; });
    in.begin[b] = out;
    for (const node_id* p = first; p != last; ++p)
      if (p == first || *p != p[-1]) in.sources[out++] = *p;
  }
  if (nodes != 0) in.begin[nodes] = out;
  in.sources.resize(out);
  return in;
}

// An order in which every source precedes its targets: of the nodes that could come next always the smallest, so that
// the numbering's locality survives and every machine agrees. Shorter than `nodes` if there is a cycle.
[[nodiscard]] inline std::pmr::vector<node_id> topological_order(incoming& in, std::pmr::memory_resource* memory) {
  const std::size_t nodes = in.begin.size() - 1;
  std::pmr::vector<std::size_t> begin(nodes + 1, memory);
  std::pmr::vector<node_id> targets(in.sources.size(), memory), missing(nodes, memory), ready(memory), order(memory);
  for (const node_id a : in.sources) ++begin[a + std::size_t{1}];
  for (std::size_t a = 1; a <= nodes; ++a) begin[a] += begin[a - 1];
  std::pmr::vector<std::size_t> at(begin, memory);
  for (std::size_t b = 0; b < nodes; ++b) {
    missing[b] = static_cast<node_id>(in[b].size());
    for (const node_id a : in[b]) targets[at[a]++] = static_cast<node_id>(b);
  }
  const auto later = [](node_id x, node_id y) { return x > y; };  // a heap with the smallest on top
  for (std::size_t b = 0; b < nodes; ++b)
    if (missing[b] == 0) ready.push_back(static_cast<node_id>(b));
  order.reserve(nodes);
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), later);
    const node_id a = ready.back();
    ready.pop_back();
    order.push_back(a);
    for (std::size_t i = begin[a]; i < begin[a + std::size_t{1}]; ++i) {
      if (--missing[targets[i]] != 0) continue;
      ready.push_back(targets[i]);
      std::push_heap(ready.begin(), ready.end(), later);
    }
  }
  return order;
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
