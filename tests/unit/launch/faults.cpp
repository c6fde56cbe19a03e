// SPDX-License-Identifier: Apache-2.0
// What must not hang, does not: every prefix of a list, failures in it, a hundred thousand replays; and the batch.
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

TEST_CASE("every prefix of a list ends: replayed, driven, batched, and cut off by a failing launch", "[launch][host]") {
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
      auto program = host_program::compile(prefix);
      right = device.run(program, [&](node_id op, stream_id) { ++f.ran[op]; }) && f.equal(expected) && right;

      const auto into = [&f](auto& target) {
        return [&f, &target](node_id op, host_stream s) { return target.enqueue(s, [&f, op] { ++f.ran[op]; }); };
      };
      right = drive(device, prefix, device.streams(), events.events(), into(device)) && right;
      right = device.synchronize() && f.equal(expected) && right;
      {
        host_batch batch(device, 1 + n % 7);
        right = drive(batch, prefix, device.streams(), events.events(), into(batch)) && right;
      }
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
TEST_CASE("an exception at any position of an eager or batched run: dependents are skipped, the rest runs",
          "[launch][host]") {
  const watchdog guard(120);
  const auto p = make_program(5, 30, 3);
  const auto list = naive_list(p);
  const auto order = issue_order::of(list);
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
    for (const bool batched : {false, true}) {
      const auto run = [&](auto& target) {
        CHECK(drive(target, list, device.streams(), events.events(), [&](node_id op, host_stream s) {
          return target.enqueue(s, [&f, op, bad] {
            if (op == bad) throw std::runtime_error("bad op");
            ++f.ran[op];
          });
        }));
      };
      if (batched) {
        host_batch batch(device, 5);
        run(batch);
      } else {
        run(device);
      }
      const auto report = device.synchronize();
      CHECK(report.status == host_status::op_threw);
      CHECK(report.skipped == after);
      CHECK(report.exception != nullptr);
      CHECK(f.equal(expected));
    }
  }
}
#endif

TEST_CASE("a hundred thousand replays, a hundred in flight at a time", "[launch][host]") {
  const watchdog guard(500);
  const auto p = make_program(2, 8, 2);
  const auto expected = expected_values(p);
  auto program = host_program::compile(reuse_events(fenced(naive_list(p)).value()));
  auto device = host_backend::start(2).value();
  values v(p);
  std::vector<int> runs(8);  // plain: two replays of one op may not meet
  auto body = [&](node_id op, stream_id) { v.run(op), ++runs[op]; };
  std::size_t wrong = 0;
  for (int batch = 0; batch < 1000; ++batch) {
    v.out.assign(8, 0);
    for (int i = 0; i < 100; ++i) wrong += device.submit(program, body) != host_status::ok;
    wrong += !device.synchronize() || v.out != expected;
  }
  CHECK(wrong == 0);
  CHECK(runs == std::vector<int>(8, 100000));
}

TEST_CASE("a batch starts when full, when published, and when it ends; records count across batches",
          "[launch][host]") {
  auto device = host_backend::start(2).value();
  event_pool events(device);
  REQUIRE(events.reserve(1) == host_status::ok);
  const auto e = events.events()[0];
  std::atomic<int> ran{0};
  const auto work = [&ran] { ++ran; };
  {
    host_batch batch(device, 4);
    CHECK(batch.wait(device.stream(1), e) == host_status::unrecorded_event);
    for (int i = 0; i < 3; ++i) CHECK(batch.enqueue(device.stream(0), work) == host_status::ok);
    CHECK(device.synchronize(device.stream(0)) == host_status::ok);
    CHECK(ran == 0);  // still staged
    CHECK(batch.enqueue(device.stream(0), work) == host_status::ok);
    CHECK(batch.record(e, device.stream(0)) == host_status::ok);  // full: what came before goes out
    CHECK(device.synchronize(device.stream(0)) == host_status::ok);
    CHECK(ran == 4);
    CHECK(batch.wait(device.stream(1), e) == host_status::ok);
    CHECK(batch.enqueue(device.stream(1), work) == host_status::ok);
    CHECK(batch.publish() == host_status::ok);
    CHECK(device.synchronize());
    CHECK(ran == 5);
    CHECK(batch.enqueue(device.stream(1), work) == host_status::ok);
  }
  CHECK(device.record(e, device.stream(1)) == host_status::ok);  // numbered after those of the batch
  CHECK(device.wait(device.stream(0), e) == host_status::ok);
  CHECK(device.enqueue(device.stream(0), work) == host_status::ok);
  CHECK(device.synchronize());
  CHECK(ran == 7);
}

namespace {

template <class Trace>
void check_stamps() {
  const auto p = make_program(1, 20, 3);
  const auto list = naive_list(p);
  inline_backend b(list.event_count());
  Trace trace(list);
  const auto slow_op = [](node_id op, stream_id) {
    if (op != 7) return;
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(3);
    while (std::chrono::steady_clock::now() < until) {
    }
  };
  const auto nothing = [&] { return trace.size() == 0 && trace.at(0) == 0 && trace.timeline().spans().empty(); };
  CHECK(nothing());
  trace.stop();  // without a start
  CHECK(nothing());
  CHECK(drive(b, list, slow_op, trace));  // unobserved
  CHECK(nothing());
  trace.start();
  CHECK(drive(b, list, slow_op, trace));
  CHECK(nothing());  // not stopped yet
  trace.stop();
  REQUIRE(trace.size() == list.size());
  bool ascending = true;
  for (std::size_t i = 0; i < list.size(); ++i) ascending = ascending && trace.at(i) <= trace.at(i + 1);
  CHECK(ascending);
  const auto t = trace.timeline();
  REQUIRE(t.spans().size() == 20);
  for (const auto& s : t.spans()) CHECK((s.finish - s.start >= 2'500'000) == (s.id == 7));
  const auto before = trace.at(trace.size());
  trace.stop();  // once is enough
  CHECK(trace.at(trace.size()) == before);

  // A failure: stamps up to the command that failed.
  recording_backend failing;
  failing.fail_at(5);
  trace.start();
  CHECK(nothing());
  CHECK(drive(failing, list, failing.launcher(), trace).issued == 5);
  trace.stop();
  CHECK(trace.size() == 6);
}

}  // namespace

TEST_CASE("stamps tell when each command was issued, once they are stopped", "[launch]") {
  check_stamps<stamp_trace>();
  check_stamps<op_stamp_trace>();
}
