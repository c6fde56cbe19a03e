// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/graph/dag.hpp>

#include <type_traits>

namespace hocket::inline HOCKET_ABI::graph::detail {

template <class G>
inline constexpr bool is_dag = false;
template <class Index>
inline constexpr bool is_dag<dag<Index>> = true;

// What `dependencies` and `dag::make` give: a dependency_graph, or a result of one or of a dag.
template <class G>
concept has_dag = requires(const G& g) { requires is_dag<std::remove_cvref_t<decltype(g.graph())>>; };
template <class G>
concept result_with_dag =
    hocket::detail::is_result<G> && (has_dag<typename G::value_type> || is_dag<typename G::value_type>);
template <class G>
concept leads_to_dag = has_dag<G> || result_with_dag<G>;

// f(the dag in it), or the error that it has instead.
template <leads_to_dag G, class F>
[[nodiscard]] auto with_dag(const G& from, F&& f) -> decltype(f(dag<>())) {
  if constexpr (has_dag<G>) {
    return f(from.graph());
  } else {
    if (!from) return from.error();
    if constexpr (is_dag<typename G::value_type>) return f(*from);
    else return f(from->graph());
  }
}

}  // namespace hocket::inline HOCKET_ABI::graph::detail
