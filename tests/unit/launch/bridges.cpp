// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans of the other components, really run on threads, in an order that the graph allows.
#include <hocket/graph/dependencies.hpp>
#include <hocket/graph/stream_plan.hpp>
#include <hocket/launch/bridges/graph.hpp>
#include <hocket/launch/bridges/tiling.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>

#include "catch.hpp"
#include "random_plan.hpp"

using namespace launch_test;

namespace {

struct step_program {
  std::vector<hocket::stream_id> stream;
  std::vector<std::vector<std::uint32_t>> reads, writes;
  std::uint32_t variables = 0;
};

std::vector<std::uint32_t> numbers(const std::string& cell) {
  std::istringstream in(cell);
  std::vector<std::uint32_t> out;
  for (std::uint32_t x = 0; in >> x;) out.push_back(x);
  return out;
}

step_program read_ops(const std::string& path) {
  std::ifstream file(path);
  REQUIRE(file);
  step_program p;
  std::string line;
  std::getline(file, line);
  REQUIRE(line == "op,stream,kind,reads,writes");
  while (std::getline(file, line)) {
    std::istringstream row(line);
    std::string op, stream, kind, reads, writes;
    std::getline(row, op, ',');
    std::getline(row, stream, ',');
    std::getline(row, kind, ',');
    std::getline(row, reads, ',');
    std::getline(row, writes, ',');
    REQUIRE(std::stoul(op) == p.stream.size());
    p.stream.push_back(static_cast<hocket::stream_id>(std::stoul(stream)));
    p.reads.push_back(numbers(reads));
    p.writes.push_back(numbers(writes));
    for (const auto& cells : {p.reads.back(), p.writes.back()})
      for (const std::uint32_t v : cells) p.variables = v + 1 > p.variables ? v + 1 : p.variables;
  }
  return p;
}

// A machine that executes a program: a write stores a digest of all reads. Plain memory, so that ThreadSanitizer sees
// any two accesses that the plan leaves unordered.
struct machine {
  const step_program* program;
  std::vector<std::uint64_t> memory;
  explicit machine(const step_program& p) : program(&p), memory(p.variables) {}
  void run(node_id op) {
    std::uint64_t x = op + 1;
    for (const std::uint32_t v : program->reads[op]) x = mix(x + memory[v]);
    for (const std::uint32_t v : program->writes[op]) memory[v] = mix(x + v);
  }
};

std::vector<std::uint64_t> serial(const step_program& p, int steps) {
  machine m(p);
  for (int s = 0; s < steps; ++s)
    for (node_id op = 0; op < p.stream.size(); ++op) m.run(op);
  return m.memory;
}

// Pairs that conflict, found from reads and writes by definition: same variable, at least one write.
std::vector<std::pair<node_id, node_id>> conflicts(const step_program& p) {
  std::map<std::uint32_t, std::vector<std::pair<node_id, bool>>> accesses;
  for (node_id op = 0; op < p.stream.size(); ++op) {
    for (const std::uint32_t v : p.reads[op]) accesses[v].push_back({op, false});
    for (const std::uint32_t v : p.writes[op]) accesses[v].push_back({op, true});
  }
  std::vector<std::pair<node_id, node_id>> out;
  for (const auto& [v, list] : accesses)
    for (std::size_t b = 0; b < list.size(); ++b)
      for (std::size_t a = 0; a < b; ++a)
        if (list[a].first != list[b].first && (list[a].second || list[b].second))
          out.push_back({list[a].first, list[b].first});
  return out;
}

std::size_t violated(const hocket::timeline& t, const std::vector<std::pair<node_id, node_id>>& pairs,
                     std::size_t ops) {
  std::vector<hocket::ticks> start(ops, -1), finish(ops, -1);
  for (const auto& s : t.spans()) {
    start[s.id] = s.start;
    finish[s.id] = s.finish;
  }
  std::size_t bad = 0;
  for (const auto& [a, b] : pairs) bad += start[b] < finish[a] || start[a] < 0 || start[b] < 0;
  return bad;
}

step_program random_step(unsigned seed) {
  std::minstd_rand random(seed + 1);
  step_program p;
  p.variables = 12;
  const std::size_t streams = 1 + seed % 5;
  for (int op = 0; op < 120; ++op) {
    p.stream.push_back(static_cast<hocket::stream_id>(random() % streams));
    p.reads.emplace_back();
    p.writes.emplace_back();
    for (std::size_t k = random() % 3; k > 0; --k)
      p.reads.back().push_back(static_cast<std::uint32_t>(random() % p.variables));
    for (std::size_t k = random() % 2; k > 0; --k)
      p.writes.back().push_back(static_cast<std::uint32_t>(random() % p.variables));
  }
  return p;
}

void spin_for(std::chrono::nanoseconds t) {
  const auto end = std::chrono::steady_clock::now() + t;
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace

template <>
struct hocket::graph_access<step_program> {
  using node = std::uint32_t;
  static std::size_t node_count(const step_program& p) { return p.stream.size(); }
  static void for_each_read(const step_program& p, node n, auto&& f) {
    for (const std::uint32_t v : p.reads[n]) f(v);
  }
  static void for_each_write(const step_program& p, node n, auto&& f) {
    for (const std::uint32_t v : p.writes[n]) f(v);
  }
};

namespace {
hocket::graph::stream_plan plan_of(const step_program& p) {
  const auto deps = hocket::graph::dependencies(p).value();
  return hocket::graph::stream_plan::make(deps.graph(), std::span<const hocket::stream_id>(p.stream)).value();
}
}  // namespace

TEST_CASE("a stream plan becomes its waits, one record per recorder, and every op once", "[launch]") {
  const auto p = read_ops(HOCKET_TEST_DATA "/graph/gpt_small.ops.csv");
  const auto plan = plan_of(p);
  const auto list = from_graph(plan).value();
  CHECK(list.op_count() == 912);
  CHECK(list.wait_count() == plan.waits().size());
  CHECK(list.stream_count() == 6);
  std::vector<bool> recorder(912);
  for (const auto& w : plan.waits()) recorder[w.recorder] = true;
  const auto recorders = static_cast<std::size_t>(std::count(recorder.begin(), recorder.end(), true));
  CHECK(list.event_count() == recorders);
  CHECK(list.size() == 912 + plan.waits().size() + recorders);
  const auto reused = reuse_events(list);
  INFO(reused.event_count() << " events of " << list.event_count());
  CHECK(reused.event_count() == peak(list));
  CHECK(reused.event_count() < list.event_count() / 3);

  // The vector clocks of the list order every conflict, whatever the planner thought.
  const issue_order order(reused);
  std::size_t unordered = 0;
  for (const auto& [a, b] : conflicts(p)) unordered += !order.before(order.find(a), order.find(b));
  CHECK(unordered == 0);
  CHECK(from_graph(hocket::graph::stream_plan{})->empty());
}

TEST_CASE("golden and captured steps run on threads: values, timestamps, replays", "[launch][host]") {
  const std::string golden = HOCKET_TEST_DATA "/graph/", captured = HOCKET_TEST_DATA "/../../examples/data/ops/";
  for (const std::string& file : {golden + "gpt_small", golden + "gpt_two_steps_6391", captured + "gpt2_small",
                                  captured + "llama2_13b_stage", captured + "transformer_base"}) {
    const auto p = read_ops(file + ".ops.csv");
    const auto pairs = conflicts(p);
    REQUIRE(pairs.size() > p.stream.size());
    const auto list = reuse_events(from_graph(plan_of(p)).value());
    const auto expected = serial(p, 5);
    for (const std::uint32_t threads : {1u, 2u, 6u}) {
      auto device = host_backend::start(threads).value();
      timeline_trace trace(list);
      machine m(p);
      for (int step = 0; step < 5; ++step) {
        trace.reset();
        CHECK(device.run(list, [&](node_id op, stream_id) { m.run(op); }, trace));
        CHECK(violated(trace.timeline(), pairs, p.stream.size()) == 0);
      }
      CHECK(m.memory == expected);
    }
  }
}

TEST_CASE("random programs with synthetic work, replayed and driven eagerly", "[launch][host]") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const auto p = random_step(seed);
    const auto pairs = conflicts(p);
    const auto list = reuse_events(from_graph(plan_of(p)).value());
    auto device = host_backend::start(list.stream_count()).value();
    timeline_trace trace(list);
    machine m(p);
    CHECK(device.run(
        list,
        [&](node_id op, stream_id) {
          m.run(op);
          spin_for(std::chrono::nanoseconds((op * 2654435761u + seed) % 7 * 1000));
        },
        trace));
    CHECK(m.memory == serial(p, 1));
    CHECK(violated(trace.timeline(), pairs, p.stream.size()) == 0);

    machine again(p);
    event_pool events(device);
    REQUIRE(events.reserve(list.event_count()) == host_status::ok);
    CHECK(drive(device, list, device.streams(), events.events(),
                [&](node_id op, host_stream s) { return device.enqueue(s, [&again, op] { again.run(op); }); }));
    CHECK(device.synchronize());
    CHECK(again.memory == m.memory);
  }
}

TEST_CASE("each wait of a minimal plan is needed: without it, its two ops overlap and the checker says so",
          "[launch][host]") {
  using clock = std::chrono::steady_clock;
  std::size_t removed = 0;
  for (unsigned seed = 1; seed < 40; seed += 4) {
    const auto p = random_step(seed);
    const auto plan = plan_of(p);
    const auto full = from_graph(plan).value();
    auto device = host_backend::start(full.stream_count()).value();
    std::size_t at = 0;
    for (const auto& w : plan.waits()) {
      while (full[at].kind != command_kind::wait) ++at;
      std::vector<command> fewer(full.begin(), full.end());
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at++));
      const auto list = command_list::make(fewer, full.stream_count()).value();
      const issue_order order(list);
      CHECK_FALSE(order.before(order.find(w.recorder), order.find(w.waiter)));  // so no wait is superfluous
      if (removed++ % 8 != 0) continue;                                         // and some of them are tried out
      timeline_trace trace(list);
      std::atomic<bool> started{false};
      const auto give_up = clock::now() + std::chrono::seconds(20);
      CHECK(device.run(
          list,
          [&](node_id op, stream_id) {
            if (op == w.waiter) started = true;
            if (op == w.recorder)
              while (!started && clock::now() < give_up) std::this_thread::yield();
          },
          trace));
      CHECK(violated(trace.timeline(), {{w.recorder, w.waiter}}, p.stream.size()) == 1);
    }
  }
  CHECK(removed > 100);
}

namespace {

hocket::tiling::plan tiles_of(std::initializer_list<std::int64_t> lengths) {
  hocket::tiling::plan plan;
  for (const std::int64_t rows : lengths) plan.append(rows);
  return plan;
}

// Each phase adds to the rows of its tile: the final value says that all phases saw them, in order.
std::vector<std::int64_t> run_tiles(host_backend& device, const hocket::tiling::plan& plan, const command_list& list,
                                    std::size_t& overlapping, bool meet = false) {
  std::vector<std::int64_t> first_row{0};
  for (const std::int64_t rows : plan.tiles()) first_row.push_back(first_row.back() + rows);
  std::vector<std::int64_t> data(static_cast<std::size_t>(first_row.back()));
  timeline_trace trace(list);
  std::atomic<int> arrived{0};
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto body = [&](node_id tile, std::uint8_t phase, stream_id) {
    for (std::int64_t row = first_row[tile]; row < first_row[tile + 1]; ++row) {
      std::int64_t& x = data[static_cast<std::size_t>(row)];
      x = x * 10 + phase + 1;
    }
    spin_for(std::chrono::microseconds(20));
    // The last phase of tile 0 and the first of tile 1 wait for each other: only possible if the list lets them
    // overlap.
    if (!meet || tile + phase != 1) return;
    arrived.fetch_add(1);
    while (arrived.load() < 2 && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
  };
  CHECK(device.run(list, body, trace));
  CHECK(arrived.load() == (meet ? 2 : 0));
  const auto t = trace.timeline();
  CHECK(t.spans().size() == list.op_count());
  std::map<std::pair<std::uint32_t, std::uint16_t>, hocket::timeline::span> at;
  for (const auto& s : t.spans()) at[{s.id, s.chunk}] = s;
  for (const auto& [key, s] : at)
    if (key.second > 0) CHECK(s.start >= at[{key.first, static_cast<std::uint16_t>(key.second - 1)}].finish);
  overlapping = 0;
  for (const auto& a : t.spans())
    for (const auto& b : t.spans()) overlapping += a.lane < b.lane && a.start < b.finish && b.start < a.finish;
  return data;
}

}  // namespace

TEST_CASE("a tile plan runs with computation or communication first, and overlaps", "[launch][host]") {
  using hocket::tiling::phase_kind;
  auto device = host_backend::start(2).value();
  for (const auto& plan : {tiles_of({512, 896, 896, 896, 896}), tiles_of({7}), tiles_of({1, 2, 3, 4, 5, 6, 7, 8})}) {
    const auto tiles = plan.tiles().size();
    for (const bool compute_first : {true, false}) {
      const std::array phases = compute_first ? std::array{phase_kind::compute, phase_kind::comm}
                                              : std::array{phase_kind::comm, phase_kind::compute};
      const auto list = from_tiling(plan, phases).value();
      CHECK(list.op_count() == 2 * tiles);
      CHECK(list.wait_count() == tiles);
      CHECK(list.size() == 4 * tiles);
      CHECK(reuse_events(list).event_count() == 1);
      for (const command& c : list)
        if (c.kind == command_kind::run) CHECK(c.stream == ((c.phase == 0) == compute_first ? 0 : 1));
      std::size_t overlapping = 0;
      for (const std::int64_t x : run_tiles(device, plan, reuse_events(list), overlapping, tiles > 1)) REQUIRE(x == 12);
      CHECK((overlapping > 0) == (tiles > 1));
      // Which order the list itself promises: phases of a tile, tiles of a phase, and no more.
      const issue_order order(list);
      for (node_id a = 0; a < tiles; ++a)
        for (node_id b = 0; b < tiles; ++b) {
          CHECK(order.before(order.find(a, 0), order.find(b, 1)) == (a <= b));
          CHECK_FALSE(order.before(order.find(a, 1), order.find(b, 0)));
        }
    }
  }
}

TEST_CASE("three phases on two streams: the middle one hides behind the next tile", "[launch][host]") {
  using hocket::tiling::phase_kind;
  const auto plan = tiles_of({4, 4, 4});
  const auto list = from_tiling(plan, std::array{phase_kind::compute, phase_kind::comm, phase_kind::compute}).value();
  std::vector<std::pair<node_id, int>> compute;
  for (const command& c : list)
    if (c.kind == command_kind::run && c.stream == 0) compute.push_back({c.id, c.phase});
  CHECK(compute == std::vector<std::pair<node_id, int>>{{0, 0}, {1, 0}, {0, 2}, {2, 0}, {1, 2}, {2, 2}});
  auto device = host_backend::start(2).value();
  std::size_t overlapping = 0;
  for (const std::int64_t x : run_tiles(device, plan, list, overlapping)) CHECK(x == 123);
  // All phases on one stream need no event at all.
  const auto serial_list = from_tiling(plan, std::array<stream_id, 3>{0, 0, 0}).value();
  CHECK(serial_list.event_count() == 0);
  CHECK(serial_list.stream_count() == 1);
  for (const std::int64_t x : run_tiles(device, plan, serial_list, overlapping)) CHECK(x == 123);
}

TEST_CASE("tile plans that cannot be launched", "[launch]") {
  const auto plan = tiles_of({4});
  CHECK(from_tiling(plan, std::span<const stream_id>()).error().code == hocket::errc::invalid_argument);
  CHECK(from_tiling(plan, std::array<stream_id, 8>{}));
  CHECK(from_tiling(plan, std::array<stream_id, 9>{}).error().code == hocket::errc::limit_exceeded);
  CHECK(from_tiling(plan, std::array<hocket::tiling::phase_kind, 12>{}).error().code == hocket::errc::limit_exceeded);
  CHECK(from_tiling(plan, std::array<stream_id, 2>{0, 70000}).error().code == hocket::errc::limit_exceeded);
  CHECK(from_tiling(plan, std::array<stream_id, 2>{0, hocket::stream_limit}).error().code ==
        hocket::errc::limit_exceeded);
  CHECK(from_tiling(hocket::tiling::plan{}, std::array<stream_id, 2>{0, 1})->empty());
}
