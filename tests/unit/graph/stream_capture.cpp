// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forks and joins: a device that captures, on every small program and on random ones. It refuses what a CUDA capture
// refuses: an op on a stream that takes no part, a wait for an event of no captured stream, work that is not joined.
#include <hocket/graph/capture_plan.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "stream_device.hpp"

using hocket::node_id;
using hocket::stream_id;
using hocket::graph::capture_plan;
using hocket::graph::edge;
using hocket::graph::stream_plan;
using hocket::testing::graph_oracle;

namespace {

// Captures the plan. Empty, or why the capture fails; `truth` is the order that the captured ops must have.
std::string captured(const stream_plan& plan, const capture_plan& capture, const graph_oracle& truth) {
  const int start = -1;
  hocket_test::stream_device device;
  std::set<stream_id> taking_part{capture.origin};
  std::set<int> events;
  const auto record = [&](int event, stream_id s) {
    if (taking_part.count(s) == 0) return;
    device.record(event, s);
    events.insert(event);
  };
  const auto wait = [&](int event, stream_id s) {
    if (events.count(event) == 0) return false;
    taking_part.insert(s);
    device.wait(event, s);
    return true;
  };
  if (!capture.forks.empty()) record(start, capture.origin);
  for (const stream_id s : capture.forks)
    if (!wait(start, s)) return "fork";
  std::vector<bool> records(plan.node_count());
  for (const auto& w : plan.waits()) records[w.recorder] = true;
  for (node_id b = 0; b < plan.node_count(); ++b) {
    const stream_id s = plan.stream_of(b);
    for (const auto& w : plan.waits_of(b))
      if (!wait(static_cast<int>(w.recorder), s)) return "wait for an event outside";
    if (taking_part.count(s) == 0) return "op on a stream outside";
    device.run(b, s);
    if (records[b]) record(static_cast<int>(b), s);
  }
  for (const node_id a : capture.joins) record(static_cast<int>(a), plan.stream_of(a));
  for (const node_id a : capture.joins)
    if (!wait(static_cast<int>(a), capture.origin)) return "join";
  if (device.at(capture.origin).size() != plan.node_count()) return "not joined";
  for (node_id a = 0; a < plan.node_count(); ++a)
    for (node_id b = 0; b < plan.node_count(); ++b)
      if (device.reaches(a, b) != truth.reaches(a, b)) return "order";
  return {};
}

std::string wrong(const std::vector<edge>& data, const std::vector<stream_id>& streams, stream_id origin) {
  const auto plan = hocket::graph::stream_plan::make(hocket_test::dag_of(streams.size(), data), streams);
  if (!plan) return "plan";
  const auto capture = capture_plan::make(*plan, origin);
  if (!capture || capture->origin != origin) return "capture";
  std::vector<edge> wanted = hocket_test::fifo(streams);
  wanted.insert(wanted.end(), data.begin(), data.end());
  const graph_oracle truth(streams.size(), wanted);
  if (const std::string why = captured(*plan, *capture, truth); !why.empty()) return why;
  if (!std::is_sorted(capture->forks.begin(), capture->forks.end())) return "order of forks";
  if (!std::is_sorted(capture->joins.begin(), capture->joins.end())) return "order of joins";
  if (capture->event_count() != capture->joins.size() + (capture->forks.empty() ? 0u : 1u)) return "event_count";
  for (std::size_t i = 0; i < capture->forks.size(); ++i) {
    capture_plan fewer = *capture;
    fewer.forks.erase(fewer.forks.begin() + static_cast<std::ptrdiff_t>(i));
    if (captured(*plan, fewer, truth).empty()) return "a fork too many";
  }
  for (std::size_t i = 0; i < capture->joins.size(); ++i) {
    capture_plan fewer = *capture;
    fewer.joins.erase(fewer.joins.begin() + static_cast<std::ptrdiff_t>(i));
    if (captured(*plan, fewer, truth).empty()) return "a join too many";
  }
  return {};
}

}  // namespace

TEST_CASE("all programs of 4 ops on up to 4 streams can be captured, and need every fork and join", "[graph]") {
  const std::vector<edge> pairs{{0, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}, {2, 3}};
  for (unsigned assignment = 0; assignment < 256; ++assignment) {
    const std::vector<stream_id> streams{assignment & 3, assignment >> 2 & 3, assignment >> 4 & 3, assignment >> 6};
    for (unsigned mask = 0; mask < 64; ++mask) {
      std::vector<edge> data;
      for (unsigned i = 0; i < 6; ++i)
        if ((mask >> i & 1u) != 0) data.push_back(pairs[i]);
      if (const std::string w = wrong(data, streams, mask % 2); !w.empty()) FAIL(w);
    }
  }
}

TEST_CASE("random programs can be captured from any stream", "[graph]") {
  hocket::testing::random_source random(17);
  for (int round = 0; round < 150; ++round) {
    const node_id nodes = 1 + random.below(30);
    const std::uint32_t count = 1 + random.below(8);
    std::vector<stream_id> streams;
    for (node_id n = 0; n < nodes; ++n) streams.push_back(random.below(count));
    const std::vector<edge> data = hocket_test::random_edges(random, nodes, 2);
    const stream_id origin = round % 4 == 0 ? 100 : random.below(count);
    if (const std::string w = wrong(data, streams, origin); !w.empty()) FAIL(w);
  }
}

TEST_CASE("a capture that needs nothing, and one that cannot be", "[graph]") {
  const auto one = hocket::graph::stream_plan::make(hocket_test::dag_of(2, {}), std::vector<stream_id>{0, 0});
  REQUIRE(one);
  CHECK(capture_plan::make(*one)->event_count() == 0);
  CHECK(capture_plan::make(*one, 3)->event_count() == 2);
  CHECK(capture_plan::make(stream_plan{})->event_count() == 0);
  CHECK(capture_plan::make(*one, hocket::stream_limit).error().code == hocket::errc::out_of_range);
}

TEST_CASE("an op that was fused away is not joined, and brings no stream in", "[graph]") {
  auto g = hocket_test::dag_of(4, {{0, 2}});
  REQUIRE(g.contract(std::vector<node_id>{1, 3}).value() == 1);
  // Op 2 is joined by nobody else; op 3, behind it on its stream, and alone on another, is not there.
  for (const stream_id of_fused : {1u, 2u}) {
    const auto plan = hocket::graph::stream_plan::make(g, std::vector<stream_id>{0, 0, 1, of_fused});
    REQUIRE(plan);
    CHECK((plan->issues(1) && !plan->issues(3)));
    const auto capture = capture_plan::make(*plan);
    CHECK(capture->forks.empty());
    CHECK(capture->joins == std::vector<node_id>{2});
  }
  // Op 1 waits for op 2, and op 3 comes behind op 2: its stream is joined by that wait.
  auto chain = hocket_test::dag_of(5, {{0, 1}, {1, 4}});
  REQUIRE(chain.contract(std::vector<node_id>{0, 3}).value() == 0);
  const auto plan = hocket::graph::stream_plan::make(chain, std::vector<stream_id>{0, 1, 0, 1, 0});
  REQUIRE(plan);
  CHECK(plan->waits().size() == 2);
  CHECK(capture_plan::make(*plan)->event_count() == 0);
}
