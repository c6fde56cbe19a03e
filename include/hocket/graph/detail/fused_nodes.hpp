// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/graph/edge.hpp>

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// Which nodes were fused away, and into which. Costs nothing until something is.
class fused_nodes {
 public:
  explicit fused_nodes(std::pmr::memory_resource* memory) noexcept : into_(memory) {}

  [[nodiscard]] std::size_t bytes() const noexcept { return into_.capacity() * sizeof(node_id); }
  [[nodiscard]] bool empty() const noexcept { return into_.empty(); }
  [[nodiscard]] bool contains(node_id n) const noexcept { return n < into_.size() && into_[n] != no_id; }
  [[nodiscard]] node_id find(node_id n) const noexcept {
    while (contains(n)) n = into_[n];
    return n;
  }
  void make_room(std::size_t nodes) {
    if (into_.size() < nodes) into_.resize(nodes, no_id);
  }
  void fuse(node_id n, node_id into) noexcept { into_[n] = into; }
  void restore(node_id n) noexcept { into_[n] = no_id; }
  void clear() noexcept { into_.clear(); }

 private:
  std::pmr::vector<node_id> into_;
};

[[nodiscard]] inline bool is_among(std::span<const node_id> ascending, node_id n) noexcept {
  return std::binary_search(ascending.begin(), ascending.end(), n);
}

// The edges once `members` (ascending) are one node, the first: sorted, without those inside the group.
[[nodiscard]] inline std::vector<edge> edges_of_fusion(std::span<const edge> edges, std::span<const node_id> members) {
  const auto mapped = [&](node_id n) { return is_among(members, n) ? members.front() : n; };
  std::vector<edge> after;
  after.reserve(edges.size());
  for (const edge& e : edges)
    if (const edge m{mapped(e.source), mapped(e.target)}; m.source != m.target) after.push_back(m);
  std::sort(after.begin(), after.end());
  after.erase(std::unique(after.begin(), after.end()), after.end());
  return after;
}

// The same for several groups: `into` names the first node of the group of each node.
[[nodiscard]] inline std::vector<edge> edges_of_fusions(std::span<const edge> edges, std::span<const node_id> into) {
  std::vector<edge> after;
  after.reserve(edges.size());
  for (const edge& e : edges)
    if (const edge m{into[e.source], into[e.target]}; m.source != m.target) after.push_back(m);
  std::sort(after.begin(), after.end());
  after.erase(std::unique(after.begin(), after.end()), after.end());
  return after;
}

// Why the groups cannot be fused. The cycle is one of groups and single nodes, so some group of it is left by one
// member and entered by another: these two, and the node or group that comes after.
[[nodiscard]] inline error why_fusions_close(std::span<const edge> edges, std::span<const node_id> into,
                                             std::span<const node_id> cycle) {
  const auto between = [&](node_id from, node_id to) {
    const auto leads = [&](const edge& e) { return into[e.source] == from && into[e.target] == to; };
    return *std::find_if(edges.begin(), edges.end(), leads);
  };
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const node_id here = cycle[i], next = cycle[(i + 1) % cycle.size()];
    const node_id last = cycle[(i + cycle.size() - 1) % cycle.size()];
    const node_id out = between(here, next).source, back = between(last, here).target;
    if (out != back) return error{errc::fusion_closes_cycle, out, next, back};
  }
  return error{errc::fusion_closes_cycle, cycle.front(), cycle.back(), cycle.front()};
}

// A way from a member over outside nodes back to a member, or nothing. The first outside node of such a way is a kept
// successor of a member, so no other need be tried.
template <class Dag>
[[nodiscard]] std::vector<node_id> way_out_and_back(const Dag& g, std::span<const node_id> members) {
  for (const node_id from : members) {
    for (const node_id out : g.downstream(from)) {
      if (is_among(members, out)) continue;
      for (const node_id to : members) {
        if (!g.reaches(out, to)) continue;
        std::vector<node_id> way = g.path(out, to);
        way.insert(way.begin(), from);
        std::size_t last = 2;
        while (!is_among(members, way[last])) ++last;
        way.resize(last + 1);
        return way;
      }
    }
  }
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::graph::detail
