// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>

#include "catch.hpp"
#include "random_plan.hpp"

using namespace launch_test;

TEST_CASE("replay: random programs on 1, 2 and 8 threads, values and timestamps", "[launch][host]") {
  for (const std::uint16_t streams : thread_counts) {
    auto device = host_backend::start(streams).value();
    for (unsigned seed = 0; seed < 20; ++seed) {
      const auto p = make_program(seed, 200, streams);
      const auto list = seed % 2 == 0 ? naive_list(p) : reuse_events(naive_list(p));
      timeline_trace trace(list);
      values v(p);
      for (int step = 0; step < 3; ++step) {
        v.out.assign(v.out.size(), 0);
        trace.reset();
        CHECK(device.run(list, [&](node_id op, stream_id) { v.run(op); }, trace));
        CHECK(v.out == expected_values(p));
        const auto t = trace.timeline();
        CHECK(t.spans().size() == 200);
        CHECK(violations(t, p) == 0);
      }
    }
  }
}

TEST_CASE("replay: streams folded onto fewer threads", "[launch][host]") {
  const auto p = make_program(77, 300, 8);
  const auto list = naive_list(p);
  for (const std::uint32_t threads : {1u, 2u, 3u, 8u, 20u}) {
    auto device = host_backend::start(threads).value();
    values v(p);
    CHECK(device.run(list, [&](node_id op, stream_id s) { v.run(s == p.stream[op] ? op : 0); }));
    CHECK(v.out == expected_values(p));
  }
}

TEST_CASE("replay a thousand times without resetting anything", "[launch][host]") {
  for (const std::uint16_t streams : thread_counts) {
    auto device = host_backend::start(streams).value();
    const auto p = make_program(123, 40, streams);
    const command_list list = naive_list(p);
    const auto expected = expected_values(p);
    values v(p);
    std::size_t wrong = 0;
    for (int step = 0; step < 1000; ++step) {
      v.out.assign(v.out.size(), 0);
      if (!device.run(list, [&](node_id op, stream_id) { v.run(op); })) ++wrong;
      if (v.out != expected) ++wrong;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("runs in flight together keep their order if fenced, also two lists from two threads", "[launch][host]") {
  auto device = host_backend::start(4).value();
  const auto p = make_program(9, 60, 4);
  const auto q = make_program(10, 60, 4);
  const command_list list = fenced(naive_list(p)).value();
  const command_list other = fenced(naive_list(q)).value();
  values v(p), w(q);
  std::vector<int> runs(60);  // plain: run r and r + 1 may not meet
  auto body = [&](node_id op, stream_id) {
    v.run(op);
    ++runs[op];
  };
  auto other_body = [&](node_id op, stream_id) { w.run(op); };
  std::thread second([&] {
    for (int i = 0; i < 200; ++i) static_cast<void>(device.submit(other, other_body));
  });
  for (int i = 0; i < 200; ++i) CHECK(device.submit(list, body) == host_status::ok);
  second.join();
  CHECK(device.synchronize());
  CHECK(v.out == expected_values(p));
  CHECK(w.out == expected_values(q));
  CHECK(std::count(runs.begin(), runs.end(), 200) == 60);
}

TEST_CASE("take one needed wait away and the checker sees the violation", "[launch][host]") {
  // Stream s's op holds its stream until the waiter has started: with the wait in place that can never happen before
  // the deadline; without it, it must. So the test does not depend on luck.
  using clock = std::chrono::steady_clock;
  std::size_t removed = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    const std::uint16_t streams = static_cast<std::uint16_t>(2 + seed % 3);
    const auto p = make_program(seed, 24, streams, 2);
    const auto commands = naive_commands(p);
    auto device = host_backend::start(streams).value();
    for (std::size_t i = 0; i < commands.size(); ++i) {
      if (commands[i].kind != command_kind::wait) continue;
      auto fewer = commands;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      const auto list = command_list::make(fewer, streams).value();
      const node_id recorder = commands[i].id;
      std::size_t k = i;
      while (commands[k].kind != command_kind::run) ++k;
      const node_id waiter = commands[k].id;
      const issue_order order(list);
      if (order.before(order.find(recorder), order.find(waiter))) continue;  // implied by the rest: not needed
      ++removed;
      timeline_trace trace(list);
      std::atomic<bool> started{false};
      const auto give_up = clock::now() + std::chrono::seconds(20);
      CHECK(device.run(
          list,
          [&](node_id op, stream_id) {
            if (op == waiter) started = true;
            if (op == recorder)
              while (!started && clock::now() < give_up) std::this_thread::yield();
          },
          trace));
      CHECK(violations(trace.timeline(), p) > 0);
    }
  }
  CHECK(removed > 50);
}

#if HOCKET_HAS_EXCEPTIONS
TEST_CASE("an exception at any position: dependents are skipped, the rest runs, nothing hangs", "[launch][host]") {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const std::uint16_t streams = static_cast<std::uint16_t>(1 + seed % 4);
    auto p = make_program(seed, 40, streams);
    const auto list = reuse_events(naive_list(p));
    const issue_order order(list);
    auto device = host_backend::start(streams).value();
    const auto expected = expected_values(p);
    for (node_id bad = 0; bad < 40; ++bad) {
      values v(p);
      std::vector<char> ran(40);
      const host_report report = device.run(list, [&](node_id op, stream_id) {
        if (op == bad) throw std::runtime_error("op " + std::to_string(op));
        ran[op] = 1;
        v.run(op);
      });
      CHECK(report.status == host_status::op_threw);
      CHECK(report.op == bad);
      CHECK(report.stream == p.stream[bad]);
      std::string text;
      try {
        std::rethrow_exception(report.exception);
      } catch (const std::runtime_error& e) {
        text = e.what();
      }
      CHECK(text == "op " + std::to_string(bad));
      std::size_t skipped = 0;
      bool right = true;
      for (node_id op = 0; op < 40; ++op) {
        const bool after = order.before(order.find(bad), order.find(op));
        skipped += after;
        right = right && (ran[op] != 0) == (op != bad && !after) && (ran[op] == 0 || v.out[op] == expected[op]);
      }
      CHECK(right);
      CHECK(report.skipped == skipped);
    }
    values v(p);
    CHECK(device.run(list, [&](node_id op, stream_id) { v.run(op); }));  // healed
    CHECK(v.out == expected);
  }
}
#endif

TEST_CASE("several failures: the first of the plan is reported, on every run", "[launch][host]") {
  auto device = host_backend::start(4).value();
  const auto list =
      command_list::make(std::vector{run_op(0, 0), run_op(1, 3), run_op(2, 1), run_op(3, 2), run_op(4, 3)}, 4).value();
  for (int i = 0; i < 300; ++i) {
    const auto report =
        device.run(list, [](node_id op, std::uint8_t, stream_id) { return op == 0 ? 0 : static_cast<int>(op) + 7; });
    CHECK(report.status == host_status::op_failed);
    CHECK(report.op == 1);
    CHECK(report.code == 8);
    CHECK(report.skipped == 1);
  }
}

TEST_CASE("a failure on one backend says nothing about the next one that runs the list", "[launch][host]") {
  const auto list =
      command_list::make(std::vector{run_op(0, 0), record_event(0, 0), wait_event(0, 1), run_op(1, 1)}, 2).value();
  for (int i = 0; i < 20; ++i) {  // each backend may get the memory of the one before
    auto device = host_backend::start(2).value();
    std::atomic<int> ran{0};
    const auto healthy = device.run(list, [&](node_id, stream_id) { ++ran; });
    CHECK(healthy);
    CHECK(healthy.skipped == 0);
    CHECK(ran == 2);
    const auto report = device.run(list, [](node_id op, stream_id) { return op == 0 ? 7 : 0; });
    CHECK(report.code == 7);
    CHECK(report.skipped == 1);
    if (i % 2 == 0) static_cast<void>(device.run(list, [](node_id, stream_id) { return 8; }));
  }
}

TEST_CASE("two lists in flight: the failure of the one submitted first is reported", "[launch][host]") {
  auto device = host_backend::start(2).value();
  const command_list early = command_list::make(std::vector{run_op(5, 0), run_op(6, 1)}, 2).value();
  const command_list late = command_list::make(std::vector{run_op(7, 1)}, 2).value();
  // One more run behind it: the number of its runs alone must not decide.
  CHECK(device.run(early, [](node_id, stream_id) {}));
  for (int i = 0; i < 200; ++i) {
    auto fails_slowly = [](node_id op, stream_id) {
      if (op == 5) std::this_thread::yield();
      return op == 5 ? 1 : 0;
    };
    auto fails = [](node_id, stream_id) { return 2; };
    CHECK(device.submit(early, fails_slowly) == host_status::ok);
    CHECK(device.submit(late, fails) == host_status::ok);
    const auto report = device.synchronize();
    CHECK(report.op == 5);
    CHECK(report.code == 1);
  }
}

TEST_CASE("an op that was skipped did not run: its trace says so", "[launch][host]") {
  const auto list =
      command_list::make(
          std::vector{run_op(0, 0), run_op(1, 0), record_event(0, 0), wait_event(0, 1), run_op(2, 1), run_op(3, 2)}, 3)
          .value();
  auto device = host_backend::start(3).value();
  timeline_trace trace(list);
  const auto report = device.run(list, [](node_id op, stream_id) { return op == 0 ? 1 : 0; }, trace);
  CHECK(report.skipped == 2);
  std::set<std::uint32_t> ran;
  const auto t = trace.timeline();
  for (const auto& s : t.spans()) ran.insert(s.id);
  CHECK(ran == std::set<std::uint32_t>{0, 3});
  CHECK(trace.start(1).count() < 0);
  CHECK(trace.start(4).count() < 0);
}

TEST_CASE("a code of 64 bits is a failure even if its lower half is 0", "[launch][host]") {
  auto device = host_backend::start(1).value();
  const command_list list = command_list::make(std::vector{run_op(0, 0)}, 1).value();
  CHECK(device.run(list, [](node_id, stream_id) { return std::int64_t{1} << 32; }).status == host_status::op_failed);
  CHECK(device.run(list, [](node_id, stream_id) { return std::int64_t{0}; }));
}
