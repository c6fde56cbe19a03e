// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket's answer in the types that Paddle's executor reads.
#pragma once
#include <hocket/graph.hpp>

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "drop_in.hpp"
#include "paddle_access.hpp"

namespace example {

template <class Index>
downstream_map downstream_of(const hocket::graph::dependency_graph<Index>& deps) {
  downstream_map map;
  for (hocket::node_id a = 0; a < deps.node_count(); ++a) {
    const auto next = deps.downstream(a);
    if (!next.empty()) map.emplace_hint(map.end(), a, std::set<std::size_t>(next.begin(), next.end()));
  }
  return map;
}

/// Each op after all that must run after it: the program backwards, but for a fetch that comes before its place.
template <class Index>
std::vector<hocket::node_id> last_to_first(const hocket::graph::dependency_graph<Index>& deps) {
  std::vector<hocket::node_id> order, ready;
  std::vector<std::size_t> left(deps.node_count());
  for (hocket::node_id a = 0; a < deps.node_count(); ++a)
    if ((left[a] = deps.downstream(a).size()) == 0) ready.push_back(a);
  while (!ready.empty()) {
    const hocket::node_id a = ready.back();
    ready.pop_back();
    order.push_back(a);
    for (const hocket::node_id before : deps.upstream(a))
      if (--left[before] == 0) ready.push_back(before);
  }
  return order;
}

/// n x n bits: does row run before column? An op runs before its successors and all that those run before, so the rows
/// are filled from the last op to the first, a word at a time (libstdc++'s _M_p).
template <class Index>
bit_matrix happens_before(const hocket::graph::dependency_graph<Index>& deps) {
  const std::size_t n = deps.node_count();
  bit_matrix rows(n, std::vector<bool>(n));
  constexpr std::size_t word_bits = 8 * sizeof(unsigned long);
  const std::size_t words = (n + word_bits - 1) / word_bits;
  for (const hocket::node_id a : last_to_first(deps)) {
    unsigned long* const to = rows[a].begin()._M_p;
    for (const hocket::node_id b : deps.downstream(a)) {
      const unsigned long* const from = rows[b].begin()._M_p;
      for (std::size_t w = 0; w < words; ++w) to[w] |= from[w];
      rows[a][b] = true;
    }
  }
  return rows;
}

/// All that takes the place of Paddle's Build.
struct answer {
  std::unique_ptr<std::pmr::monotonic_buffer_resource> memory;  // of the dependencies
  std::optional<hocket::graph::dependency_graph<>> dependencies;
  downstream_map map;
  bit_matrix matrix;  // none for a list that has each instruction twice
  std::vector<std::string> unknown_ops;
};

template <class Access = storage_access>
hocket::result<answer> answer_for(const instruction_list& list, const hocket::graph::dependency_options& options) {
  answer a;
  a.memory = std::make_unique<std::pmr::monotonic_buffer_resource>(list.size() * 64);
  const Access access(list);
  auto deps = hocket::graph::dependencies(list, access, options, a.memory.get());
  if (!deps) return deps.error();
  a.map = downstream_of(*deps);
  if (!is_twice_the_same(list)) a.matrix = happens_before(*deps);
  a.dependencies = *std::move(deps);
  a.unknown_ops = access.unknown_ops();
  return a;
}

}  // namespace example
