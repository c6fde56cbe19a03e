// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <atomic>
#include <cstdint>
#include <thread>

#include "catch.hpp"
#include "random_plan.hpp"

using namespace launch_test;

namespace {
// Keeps a stream busy until told otherwise; the test owns the flag.
void hold(std::atomic<bool>& go) {
  while (!go.load()) std::this_thread::yield();
}
}  // namespace

TEST_CASE("plans driven eagerly compute what the serial program computes", "[launch][host]") {
  for (unsigned seed = 0; seed < 10; ++seed) {
    for (const std::uint16_t streams : thread_counts) {
      const auto p = make_program(seed, 150, streams);
      const auto list = reuse_events(naive_list(p));
      auto device = host_backend::start(streams).value();
      event_pool events(device);
      REQUIRE(events.reserve(list.event_count()) == host_status::ok);
      values v(p);
      for (int step = 0; step < 5; ++step) {
        v.out.assign(v.out.size(), 0);
        const auto done = drive(device, list, device.streams(), events.events(),
                                [&](node_id op, host_stream s) { return device.enqueue(s, [&v, op] { v.run(op); }); });
        CHECK(done);
        CHECK(device.synchronize());
        CHECK(v.out == expected_values(p));
      }
    }
  }
}

TEST_CASE("a wait binds to the record that is the latest when wait is called", "[launch][host]") {
  auto device = host_backend::start(3).value();
  event_pool events(device);
  REQUIRE(events.reserve(1) == host_status::ok);
  const host_event e = events.events()[0];
  CHECK(device.wait(device.stream(1), e) == host_status::unrecorded_event);

  std::atomic<bool> first{false}, second{false}, seen_first{false}, seen_second{false};
  CHECK(device.enqueue(device.stream(0), [&] { hold(first); }) == host_status::ok);
  CHECK(device.record(e, device.stream(0)) == host_status::ok);
  CHECK(device.wait(device.stream(1), e) == host_status::ok);
  CHECK(device.enqueue(device.stream(1), [&] { seen_first = first.load(); }) == host_status::ok);
  // Re-record elsewhere, behind work that is held back until the first wait has passed: the first wait must not see it.
  CHECK(device.enqueue(device.stream(2), [&] { hold(second); }) == host_status::ok);
  CHECK(device.record(e, device.stream(2)) == host_status::ok);
  CHECK(device.wait(device.stream(0), e) == host_status::ok);
  CHECK(device.enqueue(device.stream(0), [&] { seen_second = second.load(); }) == host_status::ok);
  first = true;
  CHECK(device.synchronize(device.stream(1)) == host_status::ok);
  CHECK(seen_first);
  CHECK_FALSE(seen_second);
  second = true;
  CHECK(device.synchronize());
  CHECK(seen_second);
}

TEST_CASE("the latest record counts even if an older one on another stream is still open", "[launch][host]") {
  auto device = host_backend::start(3).value();
  event_pool events(device);
  REQUIRE(events.reserve(1) == host_status::ok);
  const host_event e = events.events()[0];
  std::atomic<bool> go{false}, ran{false};
  CHECK(device.enqueue(device.stream(0), [&] { hold(go); }) == host_status::ok);
  CHECK(device.record(e, device.stream(0)) == host_status::ok);
  CHECK(device.record(e, device.stream(1)) == host_status::ok);  // done at once
  CHECK(device.wait(device.stream(2), e) == host_status::ok);
  CHECK(device.enqueue(device.stream(2), [&] { ran = true; }) == host_status::ok);
  CHECK(device.synchronize(device.stream(2)) == host_status::ok);  // would hang if it waited for stream 0
  CHECK(ran);
  go = true;
  CHECK(device.synchronize());
}

TEST_CASE("a failed closure poisons its stream and who waits for it, and nothing else", "[launch][host]") {
  auto device = host_backend::start(3).value();
  event_pool events(device);
  REQUIRE(events.reserve(2) == host_status::ok);
  std::atomic<int> ran{0};
  const auto work = [&ran] { ++ran; };
  CHECK(device.record(events.events()[0], device.stream(0)) == host_status::ok);
  CHECK(device.enqueue(device.stream(0), [] { return 41; }) == host_status::ok);
  CHECK(device.enqueue(device.stream(0), work) == host_status::ok);  // skipped
  CHECK(device.record(events.events()[1], device.stream(0)) == host_status::ok);
  CHECK(device.wait(device.stream(1), events.events()[1]) == host_status::ok);
  CHECK(device.enqueue(device.stream(1), work) == host_status::ok);  // skipped
  CHECK(device.wait(device.stream(2), events.events()[0]) == host_status::ok);
  CHECK(device.enqueue(device.stream(2), work) == host_status::ok);  // the record came before the failure: runs
  CHECK(device.synchronize(device.stream(1)) == host_status::op_failed);
  const host_report report = device.synchronize();
  CHECK(report.status == host_status::op_failed);
  CHECK(report.code == 41);
  CHECK(report.stream == 0);
  CHECK(report.op == hocket::no_id);
  CHECK(report.skipped == 2);
  CHECK(ran == 1);

  // Healed: what comes next runs, on every stream.
  for (std::size_t s = 0; s < 3; ++s) CHECK(device.enqueue(device.stream(s), work) == host_status::ok);
  CHECK(device.wait(device.stream(2), events.events()[1]) == host_status::ok);
  CHECK(device.enqueue(device.stream(2), work) == host_status::ok);
  CHECK(device.synchronize());
  CHECK(ran == 5);
}

TEST_CASE("a backend can be moved, is drained on destruction, and reports limits", "[launch][host]") {
  std::atomic<int> ran{0};
  {
    auto first = host_backend::start(2).value();
    CHECK(first.enqueue(first.stream(0), [&ran] { ++ran; }) == host_status::ok);
    host_backend second = std::move(first);
    CHECK(first.stream_count() == 0);
    CHECK(second.stream_count() == 2);
    CHECK(second.stream(1).number() == 1);
    for (unsigned i = 0; i < 1000; ++i)
      CHECK(second.enqueue(second.stream(i % 2), [&ran] { ++ran; }) == host_status::ok);
    int by_pointer = 0;
    CHECK(second.enqueue(second.stream(0), [](void* p) { ++*static_cast<int*>(p); }, &by_pointer) == host_status::ok);
    CHECK(second.synchronize());
    CHECK(by_pointer == 1);
    second = host_backend::start(1).value();
    CHECK(second.enqueue(second.stream(0), [&ran] { ++ran; }) == host_status::ok);
  }
  CHECK(ran == 1002);
  CHECK(host_backend::start(hocket::stream_limit + 1).error().code == hocket::errc::limit_exceeded);
  CHECK(host_backend::start(0)->synchronize());
}

TEST_CASE("threads may enqueue at once", "[launch][host]") {
  auto device = host_backend::start(2).value();
  std::atomic<int> ran{0};
  int plain = 0;  // touched by stream 0 alone
  std::vector<std::thread> hosts;
  for (int t = 0; t < 3; ++t)
    hosts.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        static_cast<void>(device.enqueue(device.stream(0), [&plain] { ++plain; }));
        static_cast<void>(device.enqueue(device.stream(1), [&ran] { ++ran; }));
      }
    });
  for (auto& h : hosts) h.join();
  CHECK(device.synchronize());
  CHECK(plain == 1500);
  CHECK(ran == 1500);
}

TEST_CASE("counters pass 2^32, and what is long done stays done", "[launch][host]") {
  constexpr std::uint64_t turn = std::uint64_t{1} << 32;
  detail::host_worker recorder;
  detail::host_worker waiter;
  const auto waits_for_skipped = [&](std::uint64_t count) {
    waiter.poisoned = false;
    waiter.wait_for({&recorder, count});
    return waiter.poisoned;
  };
  recorder.pass(turn - 2);
  std::thread other([&] {
    for (std::uint64_t k = turn - 1; k != turn + 4; ++k) {
      recorder.poisoned = k >= turn + 2;
      recorder.pass(k);
    }
  });
  CHECK_FALSE(waits_for_skipped(turn - 1));
  CHECK_FALSE(waits_for_skipped(turn + 1));
  CHECK(waits_for_skipped(turn + 3));
  other.join();
  // More than half a turn of 32 bits ago: an event recorded once, at the start, and waited for ever since.
  CHECK_FALSE(waits_for_skipped(1));
  CHECK_FALSE(waits_for_skipped(turn / 4));
}
