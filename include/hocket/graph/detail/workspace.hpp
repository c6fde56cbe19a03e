// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/graph/detail/topological.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// What the calls that change a dag write on, kept so that the next call need not allocate. Says nothing between calls.
struct workspace {
  explicit workspace(std::pmr::memory_resource* memory)
      : ids(memory), marks(memory), removed(memory), in(memory), topological(memory) {}

  std::pmr::vector<node_id> ids;          // the predecessors of append, the affected nodes of add_edge
  std::pmr::vector<unsigned char> marks;  // all 0 between calls
  std::pmr::vector<edge> removed;         // what an added edge makes redundant
  incoming in;                            // of assign and rebuild_index
  topological_workspace topological;

  [[nodiscard]] std::pmr::memory_resource* memory() const noexcept { return ids.get_allocator().resource(); }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return ids.capacity() * sizeof(node_id) + marks.capacity() + removed.capacity() * sizeof(edge) + in.bytes() +
           topological.bytes();
  }
};

// The ids without repetitions, the largest first, written to `room`.
inline std::span<node_id> descending(std::span<const node_id> ids, std::pmr::vector<node_id>& room) {
  room.assign(ids.begin(), ids.end());
  return std::span<node_id>(room).first(descend(room));
}

// The way of kept edges from a to b that comes first in lexicographic order. Precondition: a reaches b.
template <class Dag>
[[nodiscard]] std::vector<node_id> first_path(const Dag& g, node_id a, node_id b) {
  std::vector<node_id> nodes{a};
  while (a != b) {
    for (const node_id next : g.downstream(a)) {
      if (next != b && !g.reaches(next, b)) continue;
      a = next;
      break;
    }
    nodes.push_back(a);
  }
  return nodes;
}

// f(b) for each strict descendant of a, ascending.
template <class Dag, class F>
void for_each_descendant(const Dag& g, node_id a, F&& f) {
  std::vector<std::uint64_t> found(g.node_count() / 64 + 1);
  std::vector<node_id> queue{a};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const node_id b : g.downstream(queue[i])) {
      const std::uint64_t bit = std::uint64_t{1} << (b % 64);
      if ((found[b / 64] & bit) != 0) continue;
      found[b / 64] |= bit;
      queue.push_back(b);
    }
  }
  for (std::size_t w = 0; w < found.size(); ++w)
    for (std::uint64_t word = found[w]; word != 0; word &= word - 1)
      f(static_cast<node_id>(w * 64 + static_cast<std::size_t>(std::countr_zero(word))));
}

}  // namespace hocket::inline HOCKET_ABI::graph::detail
