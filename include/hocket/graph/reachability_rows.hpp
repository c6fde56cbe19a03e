// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/graph/dag.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// Words of 64 bits that a row of reachability_rows has.
[[nodiscard]] constexpr std::size_t words_of_row(std::size_t nodes) noexcept { return (nodes + 63) / 64; }

/// Writes who reaches whom as a matrix of bits, for a host that insists on one: bit b of row a is set if a reaches b.
/// It has nodes² bits: ask `reaches` instead where you can.
/// @param rows  node_count rows of words_of_row(node_count) words each, which are overwritten
/// Precondition: rows has just that size. Complexity: O(nodes + edges · words of a row), that is as fast as memory.
///
///     std::vector<std::uint64_t> bits(g.node_count() * hocket::graph::words_of_row(g.node_count()));
///     hocket::graph::reachability_rows(g, bits);
template <reachability_index Index>
void reachability_rows(const dag<Index>& g, std::span<std::uint64_t> rows) {
  const std::size_t nodes = g.node_count(), words = words_of_row(nodes);
  HOCKET_ASSERT(rows.size() == nodes * words);
  std::fill(rows.begin(), rows.end(), 0);
  const auto row = [&](node_id a) { return rows.subspan(a * words, words); };

  // Sinks first: a row is complete when those of all that it leads to are.
  std::vector<std::size_t> missing(nodes);
  std::vector<node_id> ready;
  for (std::size_t i = 0; i < nodes; ++i) {
    const auto a = static_cast<node_id>(i);
    missing[i] = g.downstream(a).size();
    if (missing[i] == 0) ready.push_back(a);
  }
  for (std::size_t next = 0; next < ready.size(); ++next) {
    const node_id b = ready[next];
    for (const node_id a : g.upstream(b)) {
      const std::span<std::uint64_t> into = row(a), from = row(b);
      for (std::size_t w = 0; w < words; ++w) into[w] |= from[w];
      into[b / 64] |= std::uint64_t{1} << (b % 64);
      if (--missing[a] == 0) ready.push_back(a);
    }
  }
}

}  // namespace hocket::inline HOCKET_ABI::graph
