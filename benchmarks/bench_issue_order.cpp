// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Orders of ops: time on streams and bytes, next to the program's own order and to an order by memory as compilers of
// expressions choose it (R. Sethi and J. D. Ullman 1970): first the operand whose tree needs most beyond what it
// leaves. Durations are 1 to 20 by testing::random_source(27), sizes 1 to 100 by one generator a variable.
// bench_issue_order [FILE.ops.csv…]
#include <hocket/graph.hpp>
#include <hocket/testing/random_source.hpp>
#include <hocket/text/ops_csv.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "measure.hpp"

namespace {

namespace graph = hocket::graph;
using hocket::node_id;
using hocket::stream_id;
using hocket::ticks;

constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();

struct program {
  std::string name;
  graph::dag<> g;
  std::vector<ticks> durations;
  graph::issue_values values;
};

// The most bytes alive in an order, one op after the other.
std::int64_t peak(const graph::issue_values& values, const std::vector<node_id>& order) {
  std::vector<std::size_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::vector<std::int64_t> change(order.size() + 1);
  for (std::size_t v = 0; v < values.size(); ++v) {
    std::size_t first = order.size(), last = 0;
    for (const node_id b : values.ops(v)) {
      first = std::min(first, place[b]);
      last = std::max(last, place[b]);
    }
    const auto life = static_cast<unsigned>(values.life(v));
    change[(life & 1u) != 0 ? 0 : first] += values.bytes(v);
    if ((life & 2u) == 0) change[last + 1] -= values.bytes(v);
  }
  std::int64_t now = 0, most = 0;
  for (const std::int64_t c : change) most = std::max(most, now += c);
  return most;
}

// Operands by need, each op after all of its own; where trees meet, the first to come takes what they share.
std::vector<node_id> by_need(const program& p) {
  const std::size_t nodes = p.g.node_count();
  std::vector<std::int64_t> leaves(nodes), needs(nodes);
  for (std::size_t v = 0; v < p.values.size(); ++v)
    if (p.values.ops(v).size() > 1) leaves[p.values.ops(v)[0]] += p.values.bytes(v);
  std::vector<std::vector<node_id>> operands(nodes);
  for (node_id b = 0; b < nodes; ++b) {
    operands[b].assign(p.g.upstream(b).begin(), p.g.upstream(b).end());
    std::sort(operands[b].begin(), operands[b].end(), [&](node_id x, node_id y) {
      const std::int64_t left = needs[x] - leaves[x], right = needs[y] - leaves[y];
      return left != right ? left > right : x < y;
    });
    std::int64_t held = 0;
    for (const node_id a : operands[b]) {
      needs[b] = std::max(needs[b], held + needs[a]);
      held += leaves[a];
    }
    needs[b] = std::max(needs[b], held + leaves[b]);
  }
  std::vector<node_id> order;
  std::vector<bool> seen(nodes);
  std::vector<std::pair<node_id, std::size_t>> stack;
  for (node_id root = 0; root < nodes; ++root) {
    if (!p.g.downstream(root).empty()) continue;
    stack.emplace_back(root, 0);
    seen[root] = true;
    while (!stack.empty()) {
      auto& [b, next] = stack.back();
      if (next == operands[b].size()) {
        order.push_back(b);
        stack.pop_back();
      } else if (const node_id a = operands[b][next++]; !seen[a]) {
        seen[a] = true;
        stack.emplace_back(a, 0);
      }
    }
  }
  return order;
}

void compare(const program& p) {
  const std::int64_t sorted = peak(p.values, by_need(p));
  for (const stream_id streams : {stream_id{1}, stream_id{2}, stream_id{4}}) {
    const double t0 = bench::now();
    const auto fast = graph::choose_issue_order(p.g, streams, p.durations, p.values, any).value();
    const double t1 = bench::now();
    const auto small = graph::smallest_issue_order(p.g, streams, p.durations, p.values, any).value();
    const double t2 = bench::now();
    const auto within = graph::choose_issue_order(p.g, streams, p.durations, p.values, fast.given_bytes).value();
    const double t3 = bench::now();
    std::printf("%s,%zu,%u,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%.0f,%.0f,%.0f\n", p.name.c_str(),
                p.g.node_count(), static_cast<unsigned>(streams), static_cast<long long>(fast.given_time),
                static_cast<long long>(fast.given_bytes), static_cast<long long>(fast.time),
                static_cast<long long>(fast.peak_bytes), static_cast<long long>(fast.least_time),
                static_cast<long long>(within.time), static_cast<long long>(within.peak_bytes),
                static_cast<long long>(small.peak_bytes), static_cast<long long>(small.least_bytes),
                static_cast<long long>(sorted), t1 - t0, t3 - t2, t2 - t1);
    std::fflush(stdout);
  }
}

std::vector<ticks> random_durations(std::size_t nodes) {
  hocket::testing::random_source random(27);
  std::vector<ticks> out(nodes);
  for (ticks& t : out) t = 1 + random.below(20);
  return out;
}

program read(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  const auto ops = hocket::text::parse_ops_csv(text.str()).value();
  const auto size_of = [](node_id, std::uint32_t v) {
    hocket::testing::random_source random(v + 1000);
    return std::int64_t{1} + random.below(100);
  };
  return {path.substr(path.rfind('/') + 1), std::move(graph::dependencies(ops).value().graph()),
          random_durations(ops.size()), graph::values_of(ops, size_of)};
}

// A long program: each op reads what some of the 50 ops before it have written.
program large(node_id nodes) {
  hocket::testing::random_source random(36);
  std::vector<graph::edge> edges;
  std::vector<std::vector<node_id>> touch(nodes);
  for (node_id b = 0; b < nodes; ++b) {
    touch[b].push_back(b);
    for (std::uint32_t k = 0; b != 0 && k < 2; ++k) {
      const node_id a = b - 1 - random.below(std::min(b, node_id{50}));
      edges.push_back({a, b});
      touch[a].push_back(b);
    }
  }
  graph::issue_values values;
  for (const std::vector<node_id>& ops : touch) values.add(std::int64_t{1} + random.below(100), ops);
  return {std::to_string(nodes), graph::dag<>::make(nodes, edges).value(), random_durations(nodes), std::move(values)};
}

}  // namespace

int main(int argc, char** argv) {
  std::puts(
      "program,ops,streams,given_time,given_bytes,time,bytes,least_time,time_within,bytes_within,smallest,least_bytes,"
      "by_need,ms,ms_within,ms_smallest");
  for (int i = 1; i < argc; ++i) compare(read(argv[i]));
  if (argc > 1) return 0;
  for (const char* name : {"gpt_small", "gpt_two_steps_6391"})
    compare(read(std::string(HOCKET_TEST_DATA "/graph/") + name + ".ops.csv"));
  for (const char* name : {"gpt2_small", "llama2_13b_stage", "transformer_base"})
    compare(read(std::string(HOCKET_OPS_DATA "/") + name + ".ops.csv"));
  compare(large(1'000'000));
}
