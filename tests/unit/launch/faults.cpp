// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What must not hang, does not: every prefix of a list, failures in it, a hundred thousand replays.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "catch.hpp"
#include "random_plan.hpp"

using namespace launch_test;

namespace {

// A hang ends the program with a message instead of stopping the whole test run.
class watchdog {
 public:
  explicit watchdog(int seconds)
      : thread_([this, seconds] {
          std::unique_lock lock(mutex_);
          if (done_.wait_for(lock, std::chrono::seconds(seconds), [this] { return over_; })) return;
          std::fputs("watchdog: this test hangs\n", stderr);
          std::abort();
        }) {}
  ~watchdog() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    done_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool over_ = false;
  std::thread thread_;
};

std::vector<bool> ops_in(std::span<const command> commands, std::size_t ops) {
  std::vector<bool> in(ops);
  for (const command& c : commands)
    if (c.kind == command_kind::run) in[c.id] = true;
  return in;
}

struct flags {
  std::vector<std::atomic<int>> ran;
  explicit flags(std::size_t n) : ran(n) {}
  bool equal(const std::vector<bool>& expected) {
    bool same = true;
    for (std::size_t i = 0; i < ran.size(); ++i) same = same && (ran[i].exchange(0) == 1) == expected[i];
    return same;
  }
};

}  // namespace

TEST_CASE("every prefix of a list ends: replayed, driven, and cut off by a failing launch", "[launch][host]") {
  const watchdog guard(120);
  for (unsigned seed = 0; seed < 3; ++seed) {
    const auto streams = static_cast<std::uint16_t>(2 + seed);
    const auto p = make_program(seed, 20, streams);
    const auto list = reuse_events(fenced(naive_list(p)).value());
    auto device = host_backend::start(streams).value();
    event_pool events(device);
    REQUIRE(events.prepare(list));
    flags f(20);
    bool right = true;
    for (std::size_t n = 0; n <= list.size(); ++n) {
      const auto prefix = command_list::make(list.commands().first(n), streams).value();
      const auto expected = ops_in(prefix.commands(), 20);
      right = device.run(prefix, [&](node_id op, stream_id) { ++f.ran[op]; }) && f.equal(expected) && right;

      const auto launch = [&](node_id op, host_stream s) { return device.enqueue(s, [&f, op] { ++f.ran[op]; }); };
      right = drive(device, prefix, device.streams(), events.events(), launch) && right;
      right = device.synchronize() && f.equal(expected) && right;

      // The launcher refuses the op at this place: what was issued before it runs, and ends.
      if (n == list.size() || list[n].kind != command_kind::run) continue;
      const auto done = drive(device, list, device.streams(), events.events(), [&](node_id op, host_stream s) {
        return op == list[n].id ? host_status::op_failed : device.enqueue(s, [&f, op] { ++f.ran[op]; });
      });
      right = !done && done.issued == n && done.op == list[n].id && device.synchronize() && f.equal(expected) && right;
    }
    CHECK(right);
  }
}

#if HOCKET_HAS_EXCEPTIONS
TEST_CASE("an exception at any position of an eager run: dependents are skipped, the rest runs", "[launch][host]") {
  const watchdog guard(120);
  const auto p = make_program(5, 30, 3);
  const auto list = naive_list(p);
  const issue_order order(list);
  auto device = host_backend::start(3).value();
  event_pool events(device);
  REQUIRE(events.prepare(list));
  flags f(30);
  for (node_id bad = 0; bad < 30; ++bad) {
    std::vector<bool> expected(30);
    std::size_t after = 0;
    for (node_id op = 0; op < 30; ++op) {
      const bool skipped = order.before(order.find(bad), order.find(op));
      expected[op] = op != bad && !skipped;
      after += skipped;
    }
    CHECK(drive(device, list, device.streams(), events.events(), [&](node_id op, host_stream s) {
      return device.enqueue(s, [&f, op, bad] {
        if (op == bad) throw std::runtime_error("bad op");
        ++f.ran[op];
      });
    }));
    const auto report = device.synchronize();
    CHECK(report.status == host_status::op_threw);
    CHECK(report.skipped == after);
    CHECK(report.exception != nullptr);
    CHECK(f.equal(expected));
  }
}
#endif

TEST_CASE("a hundred thousand replays, a hundred in flight at a time", "[launch][host]") {
  const watchdog guard(500);
  const auto p = make_program(2, 8, 2);
  const auto expected = expected_values(p);
  const command_list list = reuse_events(fenced(naive_list(p)).value());
  auto device = host_backend::start(2).value();
  values v(p);
  std::vector<int> runs(8);  // plain: two replays of one op may not meet
  auto body = [&](node_id op, stream_id) {
    v.run(op);
    ++runs[op];
  };
  std::size_t wrong = 0;
  for (int batch = 0; batch < 1000; ++batch) {
    v.out.assign(8, 0);
    for (int i = 0; i < 100; ++i) wrong += device.submit(list, body) != host_status::ok;
    wrong += !device.synchronize() || v.out != expected;
  }
  CHECK(wrong == 0);
  CHECK(runs == std::vector<int>(8, 100000));
}
