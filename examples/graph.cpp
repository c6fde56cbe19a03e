// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a host's own program type to dependencies, happens-before queries, and the waits that two streams need.
#include <hocket/graph.hpp>

#include <array>
#include <cstdio>
#include <vector>

namespace my {
struct op {
  const char* name;
  std::vector<int> in, out;
  hocket::stream_id stream;
};
struct program {
  std::vector<op> ops;
};
}  // namespace my

template <>
struct hocket::graph_access<my::program> {  // all a host writes
  using node = std::uint32_t;
  static std::size_t node_count(const my::program& p) { return p.ops.size(); }
  static void for_each_read(const my::program& p, node n, auto&& f) {
    for (auto v : p.ops[n].in) f(v);
  }
  static void for_each_write(const my::program& p, node n, auto&& f) {
    for (auto v : p.ops[n].out) f(v);
  }
  static stream_id stream(const my::program& p, node n) { return p.ops[n].stream; }  // for stream plans only
};

int main() {
  enum { weight, activation, gradient };
  const my::program step{{{"forward", {weight}, {activation}, 0},
                          {"backward", {weight, activation}, {gradient}, 0},
                          {"all-reduce", {gradient}, {gradient}, 1},
                          {"log loss", {activation}, {}, 0},
                          {"update", {weight, gradient}, {weight}, 0}}};

  const auto deps = hocket::graph::dependencies(step).value();
  for (hocket::node_id a = 0; a < deps.node_count(); ++a)
    for (const hocket::node_id b : deps.downstream(a)) std::printf("%s -> %s\n", step.ops[a].name, step.ops[b].name);

  const auto plan = hocket::graph::stream_plan::make(deps.graph(), step).value();
  for (const auto& w : plan.waits())
    std::printf("stream %u waits for %s before %s\n", w.wait_stream, step.ops[w.recorder].name,
                step.ops[w.waiter].name);

  std::printf("%zu edges before pruning, %zu after, %zu waits\n", deps.rule_edges(), deps.edge_count(),
              plan.waits().size());
  const bool right = deps.rule_edges() == 6 && deps.edge_count() == 4 && plan.waits().size() == 2 &&
                     deps.reaches(0, 4) && !deps.graph().ordered(2, 3);
  return right ? 0 : 1;
}
