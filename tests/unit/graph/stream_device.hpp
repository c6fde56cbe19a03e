// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A device that runs nothing and knows everything: streams and events as sets of ops that are surely done. It shares no
// code and no idea with the planner, which has counts per stream, and it moves whole sets.
#pragma once
#include <hocket/graph/stream_plan.hpp>

#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hocket_test {

using hocket::node_id;
using hocket::stream_id;
using hocket::graph::edge;

class stream_device {
 public:
  using done = std::set<node_id>;

  void run(node_id op, stream_id s) {
    before_[op] = at_[s];
    at_[s].insert(op);
  }
  // Events are named by the host's own word for them.
  void record(int event, stream_id s) { events_[event] = at_[s]; }
  // An event never recorded holds nobody back, as on a real device.
  void wait(int event, stream_id s) { at_[s].insert(events_[event].begin(), events_[event].end()); }

  [[nodiscard]] bool reaches(node_id a, node_id b) const {
    const auto found = before_.find(b);
    return found != before_.end() && found->second.count(a) != 0;
  }
  [[nodiscard]] const done& at(stream_id s) { return at_[s]; }

 private:
  std::map<stream_id, done> at_;
  std::map<int, done> events_;
  std::map<node_id, done> before_;
};

// The order that each stream keeps by itself.
inline std::vector<edge> fifo(const std::vector<stream_id>& streams) {
  std::vector<edge> edges;
  for (node_id b = 0; b < streams.size(); ++b)
    for (node_id a = b; a-- > 0;)
      if (streams[a] == streams[b]) {
        edges.push_back({a, b});
        break;
      }
  return edges;
}

// A random program: up to `most` predecessors an op, nearby ones more often.
template <class Random>
std::vector<edge> random_edges(Random& random, node_id nodes, std::uint32_t most) {
  std::vector<edge> edges;
  for (node_id b = 1; b < nodes; ++b)
    for (std::uint32_t k = random.below(most + 1); k-- > 0;)
      edges.push_back({random.below(2) == 0 ? random.below(b) : b - 1 - random.below(b < 4 ? b : 4), b});
  return edges;
}

inline hocket::graph::dag<> dag_of(std::size_t nodes, const std::vector<edge>& edges) {
  hocket::graph::dag<> g;
  (void)g.assign(nodes, edges);
  return g;
}

}  // namespace hocket_test
