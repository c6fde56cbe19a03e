// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Boost.Graph types as host graphs. Needs Boost.Graph (target hocket::boost_graph).
#pragma once
#include <hocket/graph/access.hpp>

#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>
#include <cstddef>

namespace boost {
// From <boost/graph/adjacency_list.hpp>, which costs a second to include and which the host has included already.
template <class OutEdgeList, class VertexList, class Directed, class VertexProperty, class EdgeProperty,
          class GraphProperty, class EdgeList>
class adjacency_list;
}  // namespace boost

namespace hocket::inline HOCKET_ABI::graph {

/// The successors of any Boost.Graph type that models VertexListGraph and AdjacencyGraph and has a vertex_index.
///
///     boost::adjacency_list<> g(3);
///     add_edge(0, 1, g);
///     const auto d = hocket::graph::dag<>::make(g);                  // adjacency_list needs no further word
///     const auto e = hocket::graph::dag<>::make(other, hocket::graph::boost_graph_access<other_graph>{});
template <class G>
struct boost_graph_access {
  using node = typename boost::graph_traits<G>::vertex_descriptor;
  static std::size_t node_count(const G& g) { return static_cast<std::size_t>(num_vertices(g)); }
  template <class F>
  static void for_each_node(const G& g, F&& f) {
    for (auto [at, end] = vertices(g); at != end; ++at) f(*at);
  }
  template <class F>
  static void for_each_successor(const G& g, const node& n, F&& f) {
    for (auto [at, end] = adjacent_vertices(n, g); at != end; ++at) f(*at);
  }
  static std::size_t index_of(const G& g, const node& n) {
    return static_cast<std::size_t>(get(boost::vertex_index, g, n));
  }
};

}  // namespace hocket::inline HOCKET_ABI::graph

namespace hocket::inline HOCKET_ABI {

template <class OutEdgeList, class VertexList, class Directed, class VertexProperty, class EdgeProperty,
          class GraphProperty, class EdgeList>
struct graph_access<
    boost::adjacency_list<OutEdgeList, VertexList, Directed, VertexProperty, EdgeProperty, GraphProperty, EdgeList>>
    : graph::boost_graph_access<boost::adjacency_list<OutEdgeList, VertexList, Directed, VertexProperty, EdgeProperty,
                                                      GraphProperty, EdgeList>> {};

}  // namespace hocket::inline HOCKET_ABI
