// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steady plans and captures on their way to a device: what is issued is run by a device of sets that knows which ops
// are surely done, and compared with conflicts found by definition.
#include <hocket/graph/dependencies.hpp>
#include <hocket/graph/unroll.hpp>
#include <hocket/launch/backends/recording.hpp>
#include <hocket/launch/bridges/graph.hpp>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "catch.hpp"

using namespace hocket::launch;
using hocket::node_id;
using hocket::stream_id;

namespace steady_and_capture {

struct small_program {
  std::vector<stream_id> stream;
  std::vector<std::vector<int>> reads, writes;
};

small_program random_program(unsigned seed) {
  std::minstd_rand random(seed * 7919 + 1);
  small_program p;
  const std::size_t ops = 1 + random() % 12, streams = 1 + random() % 4;
  for (std::size_t i = 0; i < ops; ++i) {
    p.stream.push_back(static_cast<stream_id>(random() % streams));
    p.reads.emplace_back();
    p.writes.emplace_back();
    for (std::size_t k = random() % 3; k > 0; --k) p.reads.back().push_back(static_cast<int>(random() % 5));
    for (std::size_t k = random() % 2; k > 0; --k) p.writes.back().push_back(static_cast<int>(random() % 5));
  }
  return p;
}

bool conflict(const small_program& p, node_id a, node_id b) {
  const auto meets = [](const std::vector<int>& x, const std::vector<int>& y) {
    for (const int v : x)
      for (const int w : y)
        if (v == w) return true;
    return false;
  };
  return meets(p.writes[a], p.writes[b]) || meets(p.writes[a], p.reads[b]) || meets(p.reads[a], p.writes[b]);
}

// Streams and events as sets of ops that are surely done.
class device {
 public:
  std::map<node_id, std::set<node_id>> before;
  std::map<stream_id, std::set<node_id>> at;

  void issue(const command& c, node_id offset) {
    if (c.kind == command_kind::wait) {
      at[c.stream].insert(events_[c.id].begin(), events_[c.id].end());
    } else if (c.kind == command_kind::record) {
      events_[c.id] = at[c.stream];
    } else {
      before[c.id + offset] = at[c.stream];
      at[c.stream].insert(c.id + offset);
    }
  }

 private:
  std::map<std::uint32_t, std::set<node_id>> events_;
};

}  // namespace steady_and_capture

template <>
struct hocket::graph_access<steady_and_capture::small_program> {
  using node = std::uint32_t;
  static std::size_t node_count(const steady_and_capture::small_program& p) { return p.stream.size(); }
  static void for_each_read(const steady_and_capture::small_program& p, node n, auto&& f) {
    for (const int v : p.reads[n]) f(v);
  }
  static void for_each_write(const steady_and_capture::small_program& p, node n, auto&& f) {
    for (const int v : p.writes[n]) f(v);
  }
};

namespace steady_and_capture {

// Five steps issued one by one; how many commands a step had.
void run_steps(const steady_commands& steady, std::size_t ops, device& d) {
  recording_backend log;
  for (std::uint64_t k = 0; k < 5; ++k) {
    const auto done = drive_step(log, steady, k, log.launcher());
    REQUIRE(done);
    REQUIRE(done.issued == steady.step(k).size());
    REQUIRE(log.log().size() >= done.issued);
    for (const command& c : log.log().subspan(log.log().size() - done.issued))
      d.issue(c, static_cast<node_id>(k * ops));
  }
}

TEST_CASE("steady plans are issued step after step, and every conflict is ordered", "[launch]") {
  std::size_t waits = 0, ordered = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const small_program p = random_program(seed);
    const auto n = static_cast<node_id>(p.stream.size());
    const auto loop = hocket::graph::dependencies_of_steps(p);
    REQUIRE(loop);
    const auto plan = hocket::graph::steady_stream_plan::make(loop->two_steps, std::span<const stream_id>(p.stream));
    REQUIRE(plan);
    const auto steady = from_graph(*plan);
    REQUIRE(steady);
    CHECK(steady->event_count() == plan->event_count());
    CHECK(steady->unrolled().op_count() == 3 * n);
    waits += plan->previous_waits().size();
    device d;
    run_steps(*steady, n, d);
    std::size_t missing = 0;
    for (node_id b = 0; b < 5 * n; ++b)
      for (node_id a = 0; a < b; ++a) {
        if (!conflict(p, a % n, b % n)) continue;
        ++ordered;
        missing += d.before[b].count(a) == 0 ? 1u : 0u;
      }
    CHECK(missing == 0);
  }
  CHECK(waits > 100);
  CHECK(ordered > 1000);
}

TEST_CASE("ops that were fused away are not issued", "[launch]") {
  hocket::graph::dag<> g;
  REQUIRE(g.assign(4, std::vector<hocket::graph::edge>{{0, 2}}));
  REQUIRE(g.contract(std::vector<node_id>{1, 3}));
  const auto plan = hocket::graph::stream_plan::make(g, std::vector<stream_id>{0, 0, 1, 1});
  REQUIRE(plan);
  const auto list = from_graph(*plan);
  REQUIRE(list);
  CHECK(list->op_count() == 3);
  for (const command& c : list->commands()) CHECK((c.kind != command_kind::run || c.id != 3));
}

TEST_CASE("a wait for a later op of the step before alternates between two events", "[launch]") {
  // Ops 0 and 1 on streams 0 and 1; op 1 of a step waits for op 0 of the step before, and nothing else is asked for.
  hocket::graph::dag<> two;
  REQUIRE(two.assign(4, std::vector<hocket::graph::edge>{{0, 3}}));
  const std::vector<stream_id> streams{0, 1};
  const auto plan = hocket::graph::steady_stream_plan::make(two, streams);
  REQUIRE(plan);
  REQUIRE(plan->alternating());
  const auto steady = from_graph(*plan);
  REQUIRE(steady);
  CHECK(steady->event_count() == 2);
  device d;
  run_steps(*steady, 2, d);
  for (node_id k = 1; k < 5; ++k) {
    CHECK(d.before[2 * k + 1].count(2 * k - 2) == 1);
    CHECK(d.before[2 * k + 1].count(2 * k) == 0);  // not for op 0 of its own step
  }
}

TEST_CASE("a plan to be captured starts at the origin and comes back to it", "[launch]") {
  std::size_t forks = 0, joins = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const small_program p = random_program(seed);
    const auto deps = hocket::graph::dependencies(p);
    REQUIRE(deps);
    const auto plan = hocket::graph::stream_plan::make(deps->graph(), std::span<const stream_id>(p.stream));
    REQUIRE(plan);
    const stream_id origin = seed % 5;
    const auto capture = hocket::graph::capture_plan::make(*plan, origin);
    REQUIRE(capture);
    const auto list = from_graph(*plan, *capture);
    REQUIRE(list);
    forks += capture->forks.size();
    joins += capture->joins.size();
    CHECK(list->event_count() == plan->event_count() + capture->event_count());
    CHECK(list->stream_count() == (std::max)(plan->stream_count(), origin + std::size_t{1}));

    std::set<stream_id> captured{origin};
    std::set<std::uint32_t> recorded;
    device d;
    std::size_t outside = 0;
    for (const command& c : *list) {
      if (c.kind == command_kind::wait && recorded.count(c.id) != 0) captured.insert(c.stream);
      outside += captured.count(c.stream) == 0 ? 1u : 0u;
      if (c.kind == command_kind::record) recorded.insert(c.id);
      d.issue(c, 0);
    }
    CHECK(outside == 0);
    CHECK(d.at[origin].size() == p.stream.size());  // nothing is left behind when the capture ends
    for (node_id b = 0; b < p.stream.size(); ++b)
      for (node_id a = 0; a < b; ++a)
        if (conflict(p, a, b)) REQUIRE(d.before[b].count(a) == 1);
  }
  CHECK(forks > 50);
  CHECK(joins > 50);
}

}  // namespace steady_and_capture
