// SPDX-License-Identifier: Apache-2.0
// hocket's answer in the types that Paddle's executor reads.
#pragma once
#include <hocket/graph.hpp>

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "drop_in.hpp"

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

/// n x n bits: does row run before column? An op runs before its successors and all that those run before.
/// Edges lead forward, so the rows are filled from the last op to the first, a word at a time (libstdc++'s _M_p).
template <class Index>
bit_matrix happens_before(const hocket::graph::dependency_graph<Index>& deps) {
  const std::size_t n = deps.node_count();
  bit_matrix rows(n, std::vector<bool>(n));
  constexpr std::size_t word_bits = 8 * sizeof(unsigned long);
  const std::size_t words = (n + word_bits - 1) / word_bits;
  for (std::size_t a = n; a-- > 0;) {
    unsigned long* const to = rows[a].begin()._M_p;
    for (const hocket::node_id b : deps.downstream(static_cast<hocket::node_id>(a))) {
      const unsigned long* const from = rows[b].begin()._M_p;
      for (std::size_t w = b / word_bits; w < words; ++w) to[w] |= from[w];
      rows[a][b] = true;
    }
  }
  return rows;
}

}  // namespace example
