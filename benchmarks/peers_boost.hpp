// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Boost.Graph on the same edges, from rows to its answer; an answer of 0 where Boost is not installed.
#pragma once
#include <hocket/testing/graph_benchmark.hpp>

#include <cstddef>

#if __has_include(<boost/graph/transitive_reduction.hpp>)
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/transitive_closure.hpp>
#include <boost/graph/transitive_reduction.hpp>
#include <boost/property_map/vector_property_map.hpp>
#define HOCKET_BENCH_BOOST 1
#else
#define HOCKET_BENCH_BOOST 0
#endif

namespace peers {

#if HOCKET_BENCH_BOOST
using boost_graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

inline boost_graph to_boost(const hocket::testing::edge_rows& rows) {
  boost_graph g(rows.size());
  for (std::size_t a = 0; a < rows.size(); ++a)
    for (const hocket::node_id b : rows.successors(a)) boost::add_edge(a, b, g);
  return g;
}
// Pruned edges, no index.
inline std::size_t boost_reduction(const hocket::testing::edge_rows& rows) {
  const boost_graph g = to_boost(rows);
  boost_graph reduced;
  std::vector<std::size_t> place(rows.size());
  const auto map = boost::make_iterator_property_map(place.begin(), boost::get(boost::vertex_index, g));
  boost::transitive_reduction(g, reduced, map, boost::get(boost::vertex_index, g));
  return boost::num_edges(reduced);
}
// Every ordered pair as an edge.
inline std::size_t boost_closure(const hocket::testing::edge_rows& rows) {
  const boost_graph g = to_boost(rows);
  boost_graph closure;
  boost::transitive_closure(g, closure);
  return boost::num_edges(closure);
}
#else
inline std::size_t boost_reduction(const hocket::testing::edge_rows&) { return 0; }
inline std::size_t boost_closure(const hocket::testing::edge_rows&) { return 0; }
#endif

}  // namespace peers
