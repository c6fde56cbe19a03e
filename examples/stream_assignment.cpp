// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How good assign_streams is: against the best of all assignments on small random programs, and against taking turns on
// programs in files (ops CSV), with random durations.
//
//     stream_assignment [FILE…]
#include <hocket/graph.hpp>
#include <hocket/testing/random_source.hpp>
#include <hocket/text/ops_csv.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

using hocket::node_id;
using hocket::stream_id;
using hocket::ticks;
using hocket::graph::dag;
using hocket::testing::random_source;

struct study {
  const dag<>& g;
  stream_id most;
  std::vector<ticks> durations;

  [[nodiscard]] ticks time(const std::vector<stream_id>& streams) const {
    return hocket::graph::time_on_streams(g, streams, durations).value();
  }
  [[nodiscard]] std::size_t waits(const std::vector<stream_id>& streams) const {
    const auto plan = hocket::graph::stream_plan::make(g, streams).value();
    return plan.waits().size();
  }
  [[nodiscard]] std::vector<stream_id> by_time() const {
    return hocket::graph::assign_streams(g, most, durations).value();
  }
  [[nodiscard]] std::vector<stream_id> without_times() const { return hocket::graph::assign_streams(g, most).value(); }
  [[nodiscard]] std::vector<stream_id> in_turns() const {
    std::vector<stream_id> streams(g.node_count());
    for (std::size_t i = 0; i < streams.size(); ++i) streams[i] = static_cast<stream_id>(i % most);
    return streams;
  }
  /// The longest chain, or all work spread evenly: no assignment is faster.
  [[nodiscard]] ticks bound() const {
    std::vector<ticks> done(durations.size(), 0);
    ticks chain = 0, sum = 0;
    for (node_id b = 0; b < done.size(); ++b) {
      for (const node_id a : g.upstream(b)) done[b] = (std::max)(done[b], done[a]);
      done[b] += durations[b];
      sum += durations[b];
      chain = (std::max)(chain, done[b]);
    }
    return (std::max)(chain, (sum + most - 1) / most);
  }
  /// The time of the best of all assignments: streams to the power of ops.
  [[nodiscard]] ticks best() const {
    std::vector<stream_id> of(g.node_count(), 0);
    ticks least = time(of);
    for (std::size_t i = 0; i < of.size();) {
      if (++of[i] == most) {
        of[i++] = 0;
        continue;
      }
      i = 0;
      least = (std::min)(least, time(of));
    }
    return least;
  }
};

dag<> random_graph(random_source& random, node_id nodes) {
  dag<> g;
  for (node_id b = 0; b < nodes; ++b) {
    std::vector<node_id> before;
    for (int k = 0; k < 2; ++k)
      if (b > 0 && random.below(3) != 0) before.push_back(random.below(b));
    static_cast<void>(g.append(before).value());
  }
  return g;
}

// Returns whether no answer was slower than one stream.
bool small_programs(int programs) {
  random_source random(27);
  double by_time = 0, without = 0, turns = 0;
  bool never_slower = true;
  for (int i = 0; i < programs; ++i) {
    const node_id nodes = 2 + random.below(7);
    const dag<> g = random_graph(random, nodes);
    study s{g, 2 + random.below(2), std::vector<ticks>(nodes)};
    for (ticks& d : s.durations) d = 1 + random.below(20);
    const auto best = static_cast<double>(s.best());
    never_slower = never_slower && s.time(s.by_time()) <= s.time(std::vector<stream_id>(nodes, 0));
    by_time += static_cast<double>(s.time(s.by_time())) / best;
    without += static_cast<double>(s.time(s.without_times())) / best;
    turns += static_cast<double>(s.time(s.in_turns())) / best;
  }
  const auto percent = [programs](double sum) { return 100 * (sum / programs - 1); };
  std::printf("%d small programs, above the best of all assignments: by time %.1f %%, without %.1f %%, turns %.1f %%\n",
              programs, percent(by_time), percent(without), percent(turns));
  return never_slower;
}

bool real_program(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  const auto program = hocket::text::parse_ops_csv(text.str());
  if (!file || !program) {
    std::fprintf(stderr, "%s: %s\n", path, file ? message(program.error()).c_str() : "cannot be read");
    return false;
  }
  const auto deps = hocket::graph::dependencies(*program);
  if (!deps) {
    std::fprintf(stderr, "%s: %s\n", path, message(deps.error()).c_str());
    return false;
  }
  std::printf("%s, %zu ops: time above the bound, and waits\n", path, deps->node_count());
  random_source random(27);
  std::vector<ticks> durations(deps->node_count());
  for (ticks& d : durations) d = 1 + random.below(20);
  for (const stream_id most : {2u, 4u, 8u}) {
    const study s{deps->graph(), most, durations};
    const auto bound = static_cast<double>(s.bound());
    const auto show = [&](const char* name, const std::vector<stream_id>& streams) {
      std::printf(" %s %.1f %% %zu", name, 100 * (static_cast<double>(s.time(streams)) / bound - 1), s.waits(streams));
    };
    std::printf("  %u streams:", most);
    show("by time", s.by_time());
    show("| without", s.without_times());
    show("| turns", s.in_turns());
    std::printf("\n");
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  bool right = small_programs(3000);
  for (int i = 1; i < argc; ++i) right = real_program(argv[i]) && right;
  return right ? 0 : 1;
}
