// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/core/message.hpp>
#include <hocket/graph/stream_plan.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <vector>

#include "catch.hpp"
#include "stream_device.hpp"

using hocket::node_id;
using hocket::stream_id;
using hocket::graph::dag;
using hocket::graph::edge;
using hocket::graph::stream_plan;
using hocket::testing::graph_oracle;
using hocket_test::fifo;
using hocket_test::stream_device;

namespace {

// Empty, or what is wrong with the plan: order neither missing nor added, and no wait can be left out.
std::string wrong(const stream_plan& plan, const std::vector<edge>& data, const std::vector<stream_id>& streams) {
  const std::size_t nodes = streams.size();
  std::vector<edge> wanted = fifo(streams);
  wanted.insert(wanted.end(), data.begin(), data.end());
  const graph_oracle truth(nodes, wanted);
  std::vector<edge> enforced = fifo(streams);
  for (const auto& w : plan.waits()) {
    if (w.record_stream != streams[w.recorder] || w.wait_stream != streams[w.waiter]) return "streams of a wait";
    if (w.record_stream == w.wait_stream) return "a wait within a stream";
    enforced.push_back({w.recorder, w.waiter});
  }
  for (std::size_t i = 1; i < plan.waits().size(); ++i) {
    const auto &x = plan.waits()[i - 1], &y = plan.waits()[i];
    if (x.waiter > y.waiter || (x.waiter == y.waiter && x.recorder >= y.recorder)) return "order of waits";
  }
  const graph_oracle order(nodes, enforced);
  for (node_id a = 0; a < nodes; ++a)
    for (node_id b = 0; b < nodes; ++b)
      if (order.reaches(a, b) != truth.reaches(a, b)) return order.reaches(a, b) ? "order added" : "order missing";
  for (std::size_t i = fifo(streams).size(); i < enforced.size(); ++i) {
    std::vector<edge> fewer = enforced;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (graph_oracle(nodes, fewer).reaches(enforced[i].source, enforced[i].target)) return "a wait too many";
  }
  return {};
}

struct least {
  std::size_t waits, events;
};

// The least number of cross-stream pairs that enforce exactly the order, and the least number of ops that record in any
// such set, larger ones included: by trying all sets.
least least_of(const std::vector<edge>& data, const std::vector<stream_id>& streams) {
  const std::size_t nodes = streams.size();
  std::vector<edge> wanted = fifo(streams), pairs;
  wanted.insert(wanted.end(), data.begin(), data.end());
  const graph_oracle truth(nodes, wanted);
  for (node_id a = 0; a < nodes; ++a)
    for (node_id b = a + 1; b < nodes; ++b)
      if (streams[a] != streams[b] && truth.reaches(a, b)) pairs.push_back({a, b});
  least best{pairs.size(), nodes};
  for (unsigned mask = 0; mask < 1u << pairs.size(); ++mask) {
    std::vector<edge> enforced = fifo(streams);
    unsigned recorders = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i)
      if ((mask >> i & 1u) != 0) {
        enforced.push_back(pairs[i]);
        recorders |= 1u << pairs[i].source;
      }
    const graph_oracle order(nodes, enforced);
    bool equal = true;
    for (node_id a = 0; a < nodes && equal; ++a)
      for (node_id b = 0; b < nodes && equal; ++b) equal = order.reaches(a, b) == truth.reaches(a, b);
    if (!equal) continue;
    const auto waits = static_cast<std::size_t>(std::popcount(mask));
    const auto events = static_cast<std::size_t>(std::popcount(recorders));
    best = {waits < best.waits ? waits : best.waits, events < best.events ? events : best.events};
  }
  return best;
}

// The plan as it would be issued, with wait `moved` one op later (+1) or earlier (-1) on its stream; 0 moves nothing.
stream_device issue(const stream_plan& plan, std::size_t moved, int by) {
  std::vector<std::vector<int>> before(plan.node_count() + 1), after(plan.node_count());
  std::vector<bool> records(plan.node_count());
  for (std::size_t i = 0; i < plan.waits().size(); ++i) {
    const auto& w = plan.waits()[i];
    records[w.recorder] = true;
    node_id at = w.waiter;
    if (i == moved && by < 0)
      while (at-- > 0 && plan.stream_of(at) != w.wait_stream) {
      }
    if (i == moved && by > 0) after[at].push_back(static_cast<int>(w.recorder));
    else before[at].push_back(static_cast<int>(w.recorder));
  }
  stream_device device;
  for (node_id b = 0; b < plan.node_count(); ++b) {
    for (const int event : before[b]) device.wait(event, plan.stream_of(b));
    device.run(b, plan.stream_of(b));
    if (records[b]) device.record(static_cast<int>(b), plan.stream_of(b));
    for (const int event : after[b]) device.wait(event, plan.stream_of(b));
  }
  return device;
}

enum class verdict { exact, missing, added };

verdict compare(const stream_device& device, const graph_oracle& truth) {
  verdict v = verdict::exact;
  for (node_id a = 0; a < truth.node_count(); ++a)
    for (node_id b = 0; b < truth.node_count(); ++b) {
      if (truth.reaches(a, b) && !device.reaches(a, b)) return verdict::missing;
      if (!truth.reaches(a, b) && device.reaches(a, b)) v = verdict::added;
    }
  return v;
}

// Empty, or what is wrong with the places of the waits: each loses an order if it comes later. If it comes earlier and
// its event has been recorded by then, it adds one.
std::string misplaced(const stream_plan& plan, const std::vector<edge>& data, const std::vector<stream_id>& streams) {
  std::vector<edge> wanted = fifo(streams);
  wanted.insert(wanted.end(), data.begin(), data.end());
  const graph_oracle truth(streams.size(), wanted);
  if (compare(issue(plan, 0, 0), truth) != verdict::exact) return "as issued";
  for (std::size_t i = 0; i < plan.waits().size(); ++i) {
    const auto& w = plan.waits()[i];
    if (compare(issue(plan, i, +1), truth) != verdict::missing) return "a wait could come later";
    node_id earlier = hocket::no_id;
    for (node_id n = 0; n < w.waiter; ++n)
      if (streams[n] == w.wait_stream) earlier = n;
    if (earlier == hocket::no_id) continue;
    const verdict v = compare(issue(plan, i, -1), truth);
    if (v != (earlier > w.recorder ? verdict::added : verdict::missing)) return "a wait could come earlier";
  }
  return {};
}

}  // namespace

TEST_CASE("all programs of 4 ops on up to 4 streams get the fewest waits", "[graph]") {
  for (unsigned assignment = 0; assignment < 256; ++assignment) {
    const std::vector<stream_id> streams{assignment & 3, assignment >> 2 & 3, assignment >> 4 & 3, assignment >> 6};
    for (unsigned mask = 0; mask < 64; ++mask) {
      dag<> g;
      std::vector<edge> data;
      unsigned bits = mask;
      for (node_id b = 0; b < 4; ++b) {
        std::vector<node_id> preds;
        for (node_id a = 0; a < b; ++a, bits >>= 1)
          if ((bits & 1u) != 0) {
            preds.push_back(a);
            data.push_back({a, b});
          }
        (void)g.append(preds);
      }
      const auto plan = hocket::graph::stream_plan::make(g, streams);
      REQUIRE(plan);
      if (const std::string w = wrong(*plan, data, streams); !w.empty()) FAIL(w);
      const least best = least_of(data, streams);
      if (plan->waits().size() != best.waits) FAIL("not the fewest waits");
      if (plan->event_count() != best.events) FAIL("not the fewest events");
      if (const std::string w = misplaced(*plan, data, streams); !w.empty()) FAIL(w);
    }
  }
}

TEST_CASE("random programs on few and on many streams", "[graph]") {
  hocket::testing::random_source random(11);
  for (int round = 0; round < 200; ++round) {
    const node_id nodes = 1 + random.below(40);
    const std::size_t count = round % 2 == 0 ? 1 + random.below(5) : 70 + random.below(30);  // clocks | dag
    dag<> g;
    std::vector<edge> data;
    std::vector<stream_id> streams;
    for (node_id b = 0; b < nodes; ++b) {
      std::vector<node_id> preds;
      for (std::uint32_t k = random.below(4); b != 0 && k-- > 0;) preds.push_back(random.below(b));
      for (const node_id a : preds) data.push_back({a, b});
      (void)g.append(preds);
      streams.push_back(random.below(count));
    }
    if (round % 2 == 1) streams.back() = 99;
    const auto plan = hocket::graph::stream_plan::make(g, streams);
    REQUIRE(plan);
    if (const std::string w = wrong(*plan, data, streams); !w.empty()) FAIL(w);
    if (const std::string w = misplaced(*plan, data, streams); !w.empty()) FAIL(w);
    const auto clock = hocket::graph::clock_of(*plan);
    std::vector<edge> wanted = fifo(streams);
    wanted.insert(wanted.end(), data.begin(), data.end());
    const graph_oracle truth(nodes, wanted);
    for (node_id b = 0; b < nodes; ++b) {
      for (const auto& w : plan->waits_of(b)) CHECK(w.waiter == b);
      for (node_id a = 0; a < nodes; ++a) REQUIRE(clock.reaches(a, b) == truth.reaches(a, b));
    }
  }
}

TEST_CASE("a plan that was moved from has no ops", "[graph]") {
  dag<> g;
  REQUIRE((g.append({}) && g.append({0})));
  auto from = stream_plan::make(g, std::vector<stream_id>{0, 1}).value();
  REQUIRE((from.stream_count() == 2 && from.event_count() == 1 && from.cross_stream_edges() == 1));
  const stream_plan to = std::move(from);
  CHECK((to.stream_count() == 2 && to.waits().size() == 1));
  // NOLINTNEXTLINE(bugprone-use-after-move): that is what is tested
  CHECK((from.node_count() == 0 && from.stream_count() == 0 && from.waits().empty()));
  CHECK((from.event_count() == 0 && from.cross_stream_edges() == 0));
  CHECK(hocket::graph::clock_of(from).node_count() == 0);
  from = to;
  CHECK(from.event_count() == 1);
}

TEST_CASE("a stream plan refuses what it cannot issue", "[graph]") {
  dag<> g;
  const std::array<edge, 1> backwards{edge{1, 0}};
  REQUIRE(g.assign(2, backwards));
  const std::array<stream_id, 2> streams{0, 1};
  const auto late = hocket::graph::stream_plan::make(g, streams);
  REQUIRE_FALSE(late);
  CHECK(late.error() == hocket::error{hocket::errc::bad_order, 0, 1});
  CHECK(message(hocket::graph::stream_plan::make(g, std::span(streams).first(1)).error()) ==
        "1 streams are given, but 2 are needed: one for each op");
  const std::array<stream_id, 2> wild{0, 1u << 31};
  dag<> two;
  (void)two.append({});
  (void)two.append({});
  CHECK(message(hocket::graph::stream_plan::make(two, wild).error()) ==
        "stream of op 1: 2147483648 exceeds the limit of 65535");
  const auto none = hocket::graph::stream_plan::make(dag<>{}, std::span<const stream_id>{}).value();
  CHECK(none.waits().empty());
}
