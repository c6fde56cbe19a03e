// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The clock against breadth-first search over dependencies and FIFO, on every small program and on random larger ones.
#include <hocket/graph/stream_clock.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "catch.hpp"
#include "scarce_memory.hpp"
#include "stream_device.hpp"

using hocket::node_id;
using hocket::stream_id;
using hocket::graph::edge;
using hocket::graph::stream_clock;
using hocket::testing::graph_oracle;
using hocket_test::fifo;
using hocket_test::scarce_memory;
using hocket_test::until_it_succeeds;

namespace {

std::vector<node_id> preds_of(const std::vector<edge>& data, node_id b) {
  std::vector<node_id> preds;
  for (const edge& e : data)
    if (e.target == b) preds.push_back(e.source);
  return preds;
}

// Empty, or the first thing that the clock says otherwise than the definition.
std::string mistake(const std::vector<edge>& data, const std::vector<stream_id>& streams, std::size_t count) {
  const std::size_t nodes = streams.size();
  std::vector<edge> all = fifo(streams);
  all.insert(all.end(), data.begin(), data.end());
  const graph_oracle truth(nodes, all);
  stream_clock order(count);
  for (node_id b = 0; b < nodes; ++b) {
    const auto id = order.append(streams[b], preds_of(data, b));
    if (!id || *id != b) return "append";
  }
  if (order.node_count() != nodes || order.stream_count() != count) return "counts";
  for (node_id b = 0; b < nodes; ++b) {
    std::vector<std::uint32_t> done(count);
    for (node_id a = 0; a < nodes; ++a) {
      if (order.reaches(a, b) != truth.reaches(a, b)) return "reaches";
      if (order.ordered(a, b) != (truth.reaches(a, b) || truth.reaches(b, a))) return "ordered";
      done[streams[a]] += truth.reaches(a, b) || a == b ? 1u : 0u;
    }
    for (stream_id s = 0; s < count; ++s)
      if (order.done(b, s) != done[s]) return "done";
    if (order.stream_of(b) != streams[b]) return "stream_of";
  }
  for (stream_id s = 0; s < count; ++s) {
    node_id last = hocket::no_id;
    for (node_id n = 0; n < nodes; ++n)
      if (streams[n] == s) last = n;
    if (order.last_of(s) != last) return "last_of";
  }
  return {};
}

}  // namespace

TEST_CASE("the clock of all programs of 4 ops on up to 4 streams", "[graph]") {
  const std::array<edge, 6> pairs{{{0, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}, {2, 3}}};
  for (unsigned assignment = 0; assignment < 256; ++assignment) {
    const std::vector<stream_id> streams{assignment & 3, assignment >> 2 & 3, assignment >> 4 & 3, assignment >> 6};
    for (unsigned mask = 0; mask < 64; ++mask) {
      std::vector<edge> data;
      for (unsigned i = 0; i < 6; ++i)
        if ((mask >> i & 1u) != 0) data.push_back(pairs[i]);
      if (const std::string w = mistake(data, streams, 4); !w.empty()) FAIL(w);
    }
  }
}

TEST_CASE("the clock of random programs, predecessors in any order and repeated", "[graph]") {
  hocket::testing::random_source random(71);
  for (int round = 0; round < 150; ++round) {
    const node_id nodes = 1 + random.below(60);
    const std::uint32_t count = round % 3 == 0 ? 1 + random.below(40) : 1 + random.below(9);
    std::vector<edge> data = hocket_test::random_edges(random, nodes, 4);
    for (std::size_t i = data.size(); i > 1; --i) std::swap(data[i - 1], data[random.below(i)]);
    std::vector<stream_id> streams;
    for (node_id n = 0; n < nodes; ++n) streams.push_back(random.below(count));
    if (const std::string w = mistake(data, streams, count); !w.empty()) FAIL(w);
  }
}

TEST_CASE("a clock of 8 streams takes at most 60 bytes a node", "[graph]") {
  stream_clock order(8);
  const node_id nodes = 10'000;
  order.reserve(nodes);
  for (node_id b = 0; b < nodes; ++b)
    REQUIRE(order.append(b % 8, b == 0 ? std::vector<node_id>{} : std::vector<node_id>{b - 1}));
  CHECK(order.reaches(0, nodes - 1));
  CHECK(order.bytes() <= 60 * std::size_t{nodes});
  order.clear();
  CHECK(order.node_count() == 0);
  CHECK(order.append(3, {}).value() == 0);
  CHECK(order.append(3, {}).value() == 1);
  CHECK(order.reaches(0, 1));
  CHECK(order.done(1, 0) == 0);
}

TEST_CASE("a clock refuses what is not there, and nothing changes", "[graph]") {
  stream_clock order(2);
  const std::array<node_id, 1> first{0}, itself{1};
  REQUIRE(order.append(0, {}));
  CHECK(order.append(2, first).error() == hocket::error(hocket::errc::out_of_range, 2, 0, 1).with("stream"));
  CHECK(order.append(1, itself).error() == hocket::error(hocket::errc::bad_order, 1, 1));
  CHECK(order.node_count() == 1);
  CHECK(order.append(1, {}).value() == 1);
  CHECK_FALSE(order.ordered(0, 1));
  CHECK(stream_clock(0).append(0, {}).error().code == hocket::errc::out_of_range);
}

TEST_CASE("a clock that runs out of memory stays as it was", "[graph]") {
  hocket::testing::random_source random(5);
  const node_id nodes = 40;
  std::vector<edge> data = hocket_test::random_edges(random, nodes, 5);
  for (std::size_t i = data.size(); i > 1; --i) std::swap(data[i - 1], data[random.below(i)]);  // so that it must sort
  scarce_memory memory;
  stream_clock order(3, &memory), right(3);
  std::size_t failures = 0;
  for (node_id b = 0; b < nodes; ++b) {
    bool added = false;
    failures += until_it_succeeds(
        memory.left, [&] { added = order.append(b % 3, preds_of(data, b)).has_value(); },
        [&] { REQUIRE(order.node_count() == b); });
    REQUIRE(added);
    REQUIRE(right.append(b % 3, preds_of(data, b)));
  }
  CHECK(failures > 6);
  for (node_id a = 0; a < nodes; ++a)
    for (node_id b = 0; b < nodes; ++b) REQUIRE(order.reaches(a, b) == right.reaches(a, b));
}
