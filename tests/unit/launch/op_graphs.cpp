// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The steps captured from PyTorch really run, with synthetic work per op that differs from seed to seed. The checker
// knows only the reads and writes of the file and the measured times.
#include <hocket/graph/dependencies.hpp>
#include <hocket/graph/stream_plan.hpp>
#include <hocket/launch/bridges/graph.hpp>
#include <hocket/text/ops_csv.hpp>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "catch.hpp"
#include "random_plan.hpp"

using namespace launch_test;

namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr unsigned seeds = 100;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
constexpr unsigned seeds = 100;
#else
constexpr unsigned seeds = 1000;
#endif
#else
constexpr unsigned seeds = 1000;
#endif

using ops = hocket::text::ops_table;
using pairs = std::vector<std::pair<node_id, node_id>>;

ops read(const std::string& name) {
  std::ifstream file(HOCKET_TEST_DATA "/../../examples/data/ops/" + name + ".ops.csv");
  REQUIRE(file);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return hocket::text::parse_ops_csv(text).value();
}

// What must not overlap, from reads and writes alone: with the last writer, and a writer with all readers since. Every
// other conflict follows from these.
pairs conflicts(const ops& p) {
  struct variable {
    node_id writer = hocket::no_id;
    std::vector<node_id> readers;
  };
  std::vector<variable> memory;
  const auto at = [&](std::uint32_t v) -> variable& {
    if (v >= memory.size()) memory.resize(v + 1);
    return memory[v];
  };
  pairs out;
  for (node_id op = 0; op < p.size(); ++op) {
    for (const std::uint32_t v : p.reads(op))
      if (at(v).writer != hocket::no_id) out.push_back({at(v).writer, op});
    for (const std::uint32_t v : p.writes(op)) {
      if (at(v).writer != hocket::no_id) out.push_back({at(v).writer, op});
      for (const node_id reader : at(v).readers)
        if (reader != op) out.push_back({reader, op});
    }
    for (const std::uint32_t v : p.writes(op)) {
      at(v).writer = op;
      at(v).readers.clear();
    }
    for (const std::uint32_t v : p.reads(op))
      if (at(v).writer != op) at(v).readers.push_back(op);
  }
  return out;
}

struct step {
  ops program;
  pairs order;
  explicit step(const std::string& name) : program(read(name)), order(conflicts(program)) {}
};

hocket::graph::stream_plan plan_of(const step& s, const std::vector<stream_id>& streams = {}) {
  const auto deps = hocket::graph::dependencies(s.program).value();
  if (streams.empty()) return hocket::graph::stream_plan::make(deps.graph(), s.program).value();
  return hocket::graph::stream_plan::make(deps.graph(), std::span<const stream_id>(streams)).value();
}

// Runs a list once, and counts the pairs whose second began before the first had ended.
struct timed_run {
  host_backend device;
  command_list list;
  timeline_trace trace;
  std::vector<std::size_t> at;

  timed_run(const command_list& commands, std::size_t op_count)
      : device(host_backend::start(commands.stream_count()).value()), list(commands), trace(list), at(op_count) {
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i].kind == command_kind::run) at[list[i].id] = i;
  }
  template <class Body>
  std::size_t violations(const pairs& order, Body&& body) {
    trace.reset();
    REQUIRE(device.run(list, body, trace));
    std::size_t bad = 0;
    for (const auto& [a, b] : order)
      bad +=
          trace.start(at[a]).count() < 0 || trace.start(at[b]).count() < 0 || trace.start(at[b]) < trace.finish(at[a]);
    return bad;
  }
};

void work(node_id op, unsigned seed) {
  const std::uint64_t amount = mix(op * 7919u + seed) % 128;
  volatile std::uint64_t turns = 20 * (amount < 126 ? amount % 4 : amount);  // a few are long
  while (turns > 0) turns = turns - 1;
}

const char* const names[] = {"gpt2_small", "llama2_13b_stage", "transformer_base"};

command_list without_waits(const command_list& list) {
  std::vector<command> fewer;
  for (const command& c : list)
    if (c.kind != command_kind::wait) fewer.push_back(c);
  return command_list::make(fewer, list.stream_count()).value();
}

}  // namespace

TEST_CASE("captured steps on threads: no dependency is violated, whatever the ops take", "[launch][host]") {
  std::vector<step> steps;
  std::vector<std::unique_ptr<timed_run>> runs;
  for (const char* name : names) {
    steps.emplace_back(name);
    REQUIRE(steps.back().order.size() > steps.back().program.size());
    const auto list = reuse_events(from_graph(plan_of(steps.back())).value());
    REQUIRE(list.wait_count() > 0);
    runs.push_back(std::make_unique<timed_run>(list, steps.back().program.size()));
  }
  std::size_t violations = 0;
  for (unsigned seed = 0; seed < seeds; ++seed)
    violations += runs[seed % 3]->violations(steps[seed % 3].order, [seed](node_id op, stream_id) { work(op, seed); });
  CHECK(violations == 0);
}

TEST_CASE("captured steps spread over four streams at random, and without their waits", "[launch][host]") {
  for (const char* name : names) {
    const step s(name);
    for (unsigned seed = 0; seed < 4; ++seed) {
      std::minstd_rand random(seed + 1);
      std::vector<stream_id> streams;
      for (std::size_t i = 0; i < s.program.size(); ++i) streams.push_back(static_cast<stream_id>(random() % 4));
      const auto list = reuse_events(from_graph(plan_of(s, streams)).value());
      REQUIRE(list.wait_count() > 100);
      const auto body = [seed](node_id op, stream_id) { work(op, seed); };
      timed_run run(list, s.program.size());
      for (int again = 0; again < 3; ++again) CHECK(run.violations(s.order, body) == 0);
      timed_run wrong(without_waits(list), s.program.size());
      CHECK(wrong.violations(s.order, body) > 0);
    }
  }
}

TEST_CASE("captured steps: every single wait that is taken out is noticed", "[launch][host]") {
  using clock = std::chrono::steady_clock;
  for (const char* name : names) {
    const step s(name);
    const auto plan = plan_of(s);
    const auto full = from_graph(plan).value();
    std::vector<std::size_t> waits;
    for (std::size_t i = 0; i < full.size(); ++i)
      if (full[i].kind == command_kind::wait) waits.push_back(i);
    REQUIRE(waits.size() == plan.waits().size());
    for (std::size_t k = 0; k < waits.size(); k += 1 + waits.size() / 12) {
      std::vector<command> fewer(full.begin(), full.end());
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(waits[k]));
      const auto w = plan.waits()[k];
      timed_run run(command_list::make(fewer, full.stream_count()).value(), s.program.size());
      // The recorder holds on until the waiter has begun, which the wait would have made impossible.
      std::atomic<bool> begun{false};
      const auto give_up = clock::now() + std::chrono::seconds(20);
      CHECK(run.violations({{w.recorder, w.waiter}}, [&](node_id op, stream_id) {
        if (op == w.waiter) begun = true;
        if (op == w.recorder)
          while (!begun && clock::now() < give_up) std::this_thread::yield();
      }) == 1);
    }
  }
}
