// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as an edges CSV: refused with a sentence, or read so that writing and reading again changes nothing.
// The graph of a small one is the one that Warshall's algorithm finds, or it has a cycle and says which.
#include "fuzz.hpp"

#include <hocket/text/edges_csv.hpp>

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hocket;
  const auto table = text::parse_edges_csv(fuzz::text(data, size));
  if (!table) {
    fuzz::require(!message(table.error()).empty());
    return 0;
  }
  const auto again = text::parse_edges_csv(text::write_edges_csv(table->edges));
  fuzz::require(again && again->edges == table->edges && again->node_count == table->node_count);
  if (table->node_count > 48) return 0;

  const fuzz::closure truth(table->node_count, table->edges);
  graph::dag<> g;
  std::pmr::vector<node_id> cycle;
  const auto built = g.assign(table->node_count, table->edges, &cycle);
  fuzz::require(built.has_value() != truth.has_cycle());
  if (built) {
    fuzz::require_equal(g, truth);
  } else {
    fuzz::require(g.node_count() == 0);
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const graph::edge step{cycle[i], cycle[(i + 1) % cycle.size()]};
      fuzz::require(std::find(table->edges.begin(), table->edges.end(), step) != table->edges.end());
    }
  }
  return 0;
}
