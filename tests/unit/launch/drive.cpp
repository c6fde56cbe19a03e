// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/core/message.hpp>

#include <algorithm>
#include <string>

#include "catch.hpp"
#include "random_plan.hpp"

using namespace launch_test;

TEST_CASE("drive issues exactly the list, in order", "[launch]") {
  const auto list = naive_list(make_program(1, 100, 4));
  recording_backend b;
  const auto done = drive(b, list, b.launcher());
  CHECK(done.complete);
  CHECK(done.issued == list.size());
  CHECK(to_result(done));
  REQUIRE(b.log().size() == list.size());
  CHECK(std::equal(list.begin(), list.end(), b.log().begin()));
}

TEST_CASE("a failure at any position says where, and the prefix stands", "[launch]") {
  const auto list = naive_list(make_program(2, 60, 3));
  for (std::size_t at = 0; at < list.size(); ++at) {
    recording_backend b;
    b.fail_at(at);
    const auto done = drive(b, list, b.launcher());
    CHECK_FALSE(done);
    CHECK(done.status == local_status::op_failed);
    CHECK(done.issued == at);
    CHECK(done.kind == list[at].kind);
    CHECK(done.stream == list[at].stream);
    CHECK(done.op == (list[at].kind == command_kind::run ? list[at].id : hocket::no_id));
    CHECK(b.log().size() == at);
    // The prefix is itself a list: it can finish.
    CHECK(check(b.log(), 3));
  }
}

TEST_CASE("an outcome becomes a sentence", "[launch]") {
  const auto list = command_list::make(std::vector{run_op(4, 0), run_op(9, 1, 2)}, 2).value();
  recording_backend b;
  b.fail_at(1);
  const auto done = drive(b, list, b.launcher());
  CHECK(done.phase == 2);
  CHECK(message(to_result(done).error()) == "the backend failed with status 3 at command 1 (op 9, stream 1)");
  auto of_no_op = done;
  of_no_op.op = hocket::no_id;
  CHECK(to_result(of_no_op).error().values[2] == -1);
}

TEST_CASE("the recording backend refuses what CUDA would silently let pass", "[launch]") {
  recording_backend b;
  CHECK(b.wait(0, 3) == local_status::unrecorded_event);
  CHECK(b.record(3, 1) == local_status::ok);
  CHECK(b.wait(0, 3) == local_status::ok);
  CHECK(b.log().size() == 2);
  for (int s = 0; s < 6; ++s) CHECK(std::string(b.text(static_cast<local_status>(s))).size() > 1);
}

TEST_CASE("a recording backend that is cleared counts from the first call again", "[launch]") {
  const auto list = naive_list(make_program(3, 20, 2));
  recording_backend b;
  b.fail_at(5);
  for (int run = 0; run < 3; ++run, b.clear()) {
    CHECK(drive(b, list, b.launcher()).issued == 5);
    CHECK(b.log().size() == 5);
  }
  CHECK(b.log().empty());
}

TEST_CASE("a failure of an op may belong to any earlier call, and no other does", "[launch][host]") {
  for (const host_status s : {host_status::ok, host_status::op_failed, host_status::op_threw,
                              host_status::unrecorded_event, host_status::out_of_memory, host_status::cancelled})
    CHECK(host_backend::asynchronous(s) == (s == host_status::op_failed || s == host_status::op_threw));
}

TEST_CASE("the inline backend runs the plan in issue order", "[launch]") {
  const auto p = make_program(8, 200, 5);
  const auto list = naive_list(p);
  inline_backend b(list.event_count());
  values v(p);
  std::vector<node_id> ran;
  CHECK(drive(b, list, [&](node_id op, stream_id) {
    v.run(op);
    ran.push_back(op);
  }));
  CHECK(v.out == expected_values(p));
  CHECK(ran.size() == 200);
  CHECK(std::is_sorted(ran.begin(), ran.end()));
  CHECK(b.wait(0, list.event_count()) == local_status::unknown_event);
  CHECK(b.record(list.event_count(), 0) == local_status::unknown_event);
  CHECK(inline_backend(1).wait(0, 0) == local_status::unrecorded_event);
}

TEST_CASE("a launcher may take the phase and return a status", "[launch]") {
  const auto list = command_list::make(std::vector{run_op(0, 0, 1), run_op(1, 1, 2), run_op(2, 0, 3)}, 2).value();
  inline_backend b(0);
  int phases = 0;
  const auto done = drive(b, list, [&](node_id, std::uint8_t phase, stream_id) {
    phases = 10 * phases + phase;
    return phase == 3 ? local_status::op_failed : local_status::ok;
  });
  CHECK(phases == 123);
  CHECK(done.issued == 2);
  CHECK(done.op == 2);
}

TEST_CASE("driving can be traced", "[launch]") {
  const auto list = naive_list(make_program(4, 30, 2));
  inline_backend b(list.event_count());
  timeline_trace trace(list);
  CHECK(drive(b, list, [](node_id, stream_id) {}, trace));
  const auto t = trace.timeline();
  CHECK(t.spans().size() == 30);
  CHECK(t.lane_count() == 2);
  CHECK(t.ticks_per_second == 1'000'000'000);
  for (std::size_t i = 1; i < list.size(); ++i) CHECK(trace.start(i) >= trace.finish(i - 1));
  trace.reset();
  const hocket::timeline taken = trace.timeline();
  CHECK(taken.spans().empty());
}

namespace {

// A framework with a task queue of its own in front of the device: record and wait must go through it too.
struct queueing_backend {
  using stream_type = int;
  using event_type = int;
  using status_type = int;
  std::vector<std::string>* queue;
  int record(int e, int s) noexcept {
    queue->push_back("record " + std::to_string(e) + " " + std::to_string(s));
    return 0;
  }
  int wait(int s, int e) noexcept {
    queue->push_back("wait " + std::to_string(s) + " " + std::to_string(e));
    return 0;
  }
  static bool ok(int status) noexcept { return status == 0; }
  static const char* text(int) noexcept { return "?"; }
  static bool asynchronous(int status) noexcept { return status == 700; }
};
static_assert(backend<queueing_backend>);
static_assert(!event_source<queueing_backend> && !sync_backend<queueing_backend>);
static_assert(!wait_resets_event<queueing_backend> && max_events<queueing_backend> == 0);

struct limited_backend : queueing_backend {
  static constexpr bool wait_resets_event = true;
  static constexpr int max_events = 1023;
};
static_assert(wait_resets_event<limited_backend> && max_events<limited_backend> == 1023);

}  // namespace

TEST_CASE("a framework's own handles, queue and error codes", "[launch]") {
  const auto list =
      command_list::make(std::vector{run_op(5, 0), record_event(0, 0), wait_event(0, 1), run_op(6, 1)}, 2).value();
  const std::vector<int> streams{70, 71};
  const std::vector<int> events{900};
  std::vector<std::string> queue;
  queueing_backend b{&queue};
  const auto enqueue = [&](node_id op, int stream) {
    queue.push_back("op " + std::to_string(op) + " " + std::to_string(stream));
    return op == 6 ? 700 : 0;
  };
  const auto done = drive(b, list, streams, events, enqueue);
  CHECK(queue == std::vector<std::string>{"op 5 70", "record 900 70", "wait 71 900", "op 6 71"});
  CHECK_FALSE(done);
  CHECK(done.status == 700);
  CHECK(done.asynchronous);
  CHECK(done.issued == 3);
  timeline_trace trace(list);
  CHECK_FALSE(drive(b, list, streams, events, enqueue, trace));
  const hocket::timeline both = trace.timeline();
  CHECK(both.spans().size() == 2);
}

namespace crowded {
struct launcher {
  std::vector<node_id>* ran;
  void operator()(node_id op, stream_id) const { ran->push_back(op); }
};
template <class F, class Stream>
void call_op(F&, node_id, std::uint8_t, Stream) = delete;
template <class B, class L, class Stream>
void launch_one(L&, const command&, Stream) = delete;
}  // namespace crowded

TEST_CASE("a launcher whose namespace has functions of our names", "[launch]") {
  const auto list = command_list::make(std::vector{run_op(3, 0), run_op(4, 1)}, 2).value();
  inline_backend b(0);
  std::vector<node_id> ran;
  CHECK(drive(b, list, crowded::launcher{&ran}));
  CHECK(ran == std::vector<node_id>{3, 4});
}
