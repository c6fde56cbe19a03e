// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <boost/graph/adjacency_list.hpp>
#include <hocket/graph.hpp>
#include <hocket/interop/boost_graph.hpp>

int main() {
  boost::adjacency_list<> host(3);
  add_edge(0, 1, host);
  add_edge(1, 2, host);
  add_edge(0, 2, host);  // redundant
  const auto dag = hocket::graph::dag<>::make(host);
  return dag && dag->edge_count() == 2 && dag->reaches(0, 2) ? 0 : 1;
}
