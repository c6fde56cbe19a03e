// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/graph/access.hpp>

#include <concepts>
#include <cstddef>
#include <vector>

namespace hocket::inline HOCKET_ABI {

/// Adjacency lists: row a holds the successors of node a.
template <std::integral Id, class A, class B>
struct graph_access<std::vector<std::vector<Id, A>, B>> {
  using node = Id;
  using graph = std::vector<std::vector<Id, A>, B>;
  static std::size_t node_count(const graph& g) noexcept { return g.size(); }
  template <class F>
  static void for_each_successor(const graph& g, node n, F&& f) {
    for (const Id successor : g[static_cast<std::size_t>(n)]) f(successor);
  }
};

}  // namespace hocket::inline HOCKET_ABI
