// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/graph/edge.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// A pair, tuple or array of two integers: source, then target.
template <class E>
concept integer_pair = std::tuple_size<E>::value == 2 && requires(const E& e) {
  requires std::integral<std::remove_cvref_t<decltype(std::get<0>(e))>>;
  requires std::integral<std::remove_cvref_t<decltype(std::get<1>(e))>>;
};

// A list of such pairs in one piece, where edges are expected.
template <class C>
concept edge_pairs = requires(const C& c) {
  { c.size() } -> std::convertible_to<std::size_t>;
  requires integer_pair<std::remove_cvref_t<decltype(*c.data())>>;
};

// The same edges, by id. An id beyond the nodes is refused before it is narrowed.
template <edge_pairs C>
[[nodiscard]] result<std::vector<edge>> edges_of_pairs(std::size_t nodes, const C& pairs) {
  std::vector<edge> edges;
  edges.reserve(pairs.size());
  for (const auto& e : std::span(pairs.data(), pairs.size())) {
    const auto source = std::get<0>(e);
    const auto target = std::get<1>(e);
    for (const auto id : {static_cast<std::int64_t>(source), static_cast<std::int64_t>(target)})
      if (id < 0 || static_cast<std::uint64_t>(id) >= nodes)
        return error{errc::unknown_node, id, static_cast<std::int64_t>(nodes)};
    edges.push_back({static_cast<node_id>(source), static_cast<node_id>(target)});
  }
  return edges;
}

}  // namespace hocket::inline HOCKET_ABI::graph::detail
