// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Capture into a CUDA graph and an AscendCL model-RI, on the fakes, which follow the rules of both.
#include <hocket/core/message.hpp>

#include "catch.hpp"
#include "device_rig.hpp"

using namespace launch_test;
using hocket::errc;

namespace {

template <class F>
void on_both_backends(F f) {
  f(cuda_backend{});
  f(ascend_backend{});
}

command_list list_of(const std::vector<command>& commands, std::size_t streams) {
  return command_list::make(commands, streams).value();
}

}  // namespace

TEST_CASE("capture: a graph runs in every order that the plan allows and computes the same", "[launch][device]") {
  on_both_backends([](auto tag) {
    using B = decltype(tag);
    for (unsigned seed = 0; seed < 6; ++seed) {
      fake::reset({.seed = seed, .max_delay = 1});
      const auto p = make_program(seed, 80, static_cast<std::uint16_t>(1 + seed % 4));
      const auto list = reuse_events(fenced(naive_list(p)).value());
      REQUIRE(check_capture(list));
      {
        rig<B> device(p.streams);
        event_pool events(device.backend);
        REQUIRE(events.prepare(list));
        values v(p);
        kernels<B, values> launch(v, 80);
        const auto captured = capture(device.backend, list, device.streams, events.events(), launch);
        REQUIRE(captured);
        CHECK(v.out == std::vector<std::uint64_t>(80));  // nothing has run yet
        for (int replay = 0; replay < 5; ++replay) {
          v.out.assign(80, 0);
          CHECK(B::ok(device.backend.launch_captured(captured.graph, device.streams[0])));
          CHECK(B::ok(device.backend.synchronize(device.streams[0])));
          CHECK(v.out == expected_values(p));
        }
        CHECK(B::ok(device.backend.destroy_captured(captured.graph)));
        // The streams are ordinary again.
        CHECK(drive(device.backend, list, device.streams, events.events(), launch));
        CHECK(B::ok(device.synchronize()));
      }
      const auto after = fake::count();
      CHECK(after.live_graphs == 0);
      CHECK(after.live_events == 0);
      CHECK(after.last_error_reads == 0);
    }
  });
}

TEST_CASE("capture: what cannot be captured is refused with its command; the device only says that something was wrong",
          "[launch][device]") {
  const auto starts_outside = list_of({run_op(0, 0), run_op(1, 1), record_event(0, 1), wait_event(0, 0)}, 2);
  const auto never_joined = list_of({record_event(0, 0), wait_event(0, 1), run_op(0, 1), run_op(1, 0)}, 2);
  const auto joined_too_early = list_of(
      {record_event(0, 0), wait_event(0, 1), run_op(0, 1), record_event(1, 1), wait_event(1, 0), run_op(1, 1)}, 2);
  const auto joined_through_another =
      list_of({record_event(0, 0), wait_event(0, 1), wait_event(0, 2), run_op(0, 2), record_event(1, 2),
               wait_event(1, 1), run_op(1, 1), record_event(2, 1), wait_event(2, 0)},
              3);
  CHECK(check_capture(starts_outside).error().code == errc::outside_capture);
  CHECK(check_capture(starts_outside).error().values[0] == 1);
  CHECK(check_capture(starts_outside).error().values[1] == 1);
  const auto begins_outside =
      list_of({run_op(0, 1), record_event(0, 0), wait_event(0, 1), record_event(1, 1), wait_event(1, 0)}, 2);
  CHECK(check_capture(begins_outside).error().code == errc::outside_capture);
  CHECK(check_capture(begins_outside).error().values[0] == 0);
  CHECK(check_capture(never_joined).error().code == errc::unjoined_stream);
  CHECK(check_capture(never_joined).error().values[0] == 2);
  CHECK(check_capture(joined_too_early).error().values[0] == 5);
  CHECK(check_capture(joined_through_another));
  CHECK(check_capture(list_of({run_op(0, 0)}, 1)));
  CHECK(hocket::message(check_capture(never_joined).error()) ==
        "command 2 is on stream 1, and stream 0, where the capture ends, never waits for it");

  const auto code_of = [](const command_list& list) {
    fake::reset();
    rig<cuda_backend> device(3);
    event_pool events(device.backend);
    REQUIRE(events.prepare(list));
    const auto p = make_program(0, 4, 3, 0);
    loose_values v(p);
    kernels<cuda_backend, loose_values> launch(v, 4);
    REQUIRE(device.backend.begin_capture(device.streams[0]) == cudaSuccess);
    static_cast<void>(drive(device.backend, list, device.streams, events.events(), launch));
    cudaGraphExec_t graph{};
    return static_cast<int>(device.backend.end_capture(device.streams[0], graph));
  };
  CHECK(code_of(starts_outside) == 901);  // isolation (905) when it happened, so the capture was invalid
  CHECK(code_of(never_joined) == 904);
  CHECK(code_of(joined_too_early) == 904);
  CHECK(code_of(joined_through_another) == 0);
  fake::reset();
}

TEST_CASE("check_capture agrees with what the fake device accepts, on random lists", "[launch][device]") {
  std::size_t accepted = 0, refused = 0;
  std::minstd_rand random(7);
  for (unsigned seed = 0; seed < 400; ++seed) {
    const auto p = make_program(seed, 8, static_cast<std::uint16_t>(2 + seed % 2));
    auto whole = fenced(naive_list(p)).value();
    std::vector<command> commands(whole.begin(), whole.end());
    // Take away up to two commands at random; what is no list any more is not asked about.
    for (std::size_t k = random() % 4; k > 0; --k)
      commands.erase(commands.begin() + static_cast<std::ptrdiff_t>(random() % commands.size()));
    const auto list = command_list::make(commands, p.streams);
    if (!list) continue;
    fake::reset();
    rig<cuda_backend> device(p.streams);
    event_pool events(device.backend);
    REQUIRE(events.prepare(*list));
    loose_values v(p);
    kernels<cuda_backend, loose_values> launch(v, 8);
    REQUIRE(device.backend.begin_capture(device.streams[0]) == cudaSuccess);
    const auto done = drive(device.backend, *list, device.streams, events.events(), launch);
    cudaGraphExec_t graph{};
    const bool captured = device.backend.end_capture(device.streams[0], graph) == cudaSuccess && done;
    const auto checked = check_capture(*list);
    if (checked) {
      CHECK(captured);
      ++accepted;
      continue;
    }
    ++refused;
    // A stream that does nothing but record adds nothing to a graph; the device lets it off.
    if (checked.error().code == errc::unjoined_stream &&
        (*list)[static_cast<std::size_t>(checked.error().values[0])].kind == command_kind::run)
      CHECK_FALSE(captured);
  }
  CHECK(accepted > 30);
  CHECK(refused > 30);
  fake::reset();
}

TEST_CASE("capture: call number n fails, for every n: the first failure is reported, no graph is left",
          "[launch][device]") {
  on_both_backends([](auto tag) {
    using B = decltype(tag);
    const auto p = make_program(4, 12, 3);
    const auto list = reuse_events(fenced(naive_list(p)).value());
    for (std::size_t n = 0;; ++n) {
      fake::reset();
      rig<B> device(3);
      event_pool events(device.backend);
      REQUIRE(events.prepare(list));
      const auto before = fake::count().calls;
      values v(p);
      kernels<B, values> launch(v, 12);
      // The fake counts from its reset; arrange for the n-th call of the capture itself.
      struct failing : B {
        std::size_t left;
        typename B::status_type code;
        bool fails() noexcept { return left-- == 0; }
        typename B::status_type record(typename B::event_type e, typename B::stream_type s) noexcept {
          return fails() ? code : B::record(e, s);
        }
        typename B::status_type wait(typename B::stream_type s, typename B::event_type e) noexcept {
          return fails() ? code : B::wait(s, e);
        }
        typename B::status_type begin_capture(typename B::stream_type s) noexcept {
          return fails() ? code : B::begin_capture(s);
        }
        typename B::status_type end_capture(typename B::stream_type s, typename B::captured_type& g) noexcept {
          const bool bad = fails();
          const auto status = B::end_capture(s, g);
          if (!bad || !B::ok(status)) return status;
          static_cast<void>(B::destroy_captured(g));
          g = {};
          return code;
        }
      } backend;
      backend.left = n;
      backend.code = static_cast<typename B::status_type>(2);
      const auto captured = capture(
          backend, list, device.streams, events.events(),
          [&](node_id op, typename B::stream_type s) { return backend.fails() ? backend.code : launch(op, s); });
      CHECK(fake::count().calls >= before);
      if (captured) {
        CHECK(n == list.size() + 2);  // begin, every command, end
        CHECK(B::ok(device.backend.destroy_captured(captured.graph)));
        break;
      }
      REQUIRE(n < list.size() + 2);
      CHECK(captured.issue.status == backend.code);
      CHECK(captured.graph == typename B::captured_type{});
      CHECK(fake::count().live_graphs == 0);
      if (n > 0 && n <= list.size()) {
        CHECK(captured.issue.issued == n - 1);
      } else {  // the capture itself: no command is to blame
        CHECK(captured.issue.stream == 0);
        CHECK(captured.issue.kind == command_kind::record);
        CHECK_FALSE(captured.issue.complete);
      }
      // The streams have left the capture: the plan runs eagerly at once.
      CHECK(drive(device.backend, list, device.streams, events.events(), launch));
      CHECK(B::ok(device.synchronize()));
      CHECK(v.out == expected_values(p));
    }
  });
  fake::reset();
}

TEST_CASE("capture: host functions can be captured on CUDA and not on Ascend", "[launch][device]") {
  static_assert(capture_allows_host_function<cuda_backend> && !capture_allows_host_function<ascend_backend>);
  on_both_backends([](auto tag) {
    using B = decltype(tag);
    fake::reset();
    rig<B> device(1);
    event_pool events(device.backend);
    const auto list = list_of({run_op(0, 0)}, 1);
    std::atomic<int> ran{0};
    const auto captured =
        capture(device.backend, list, device.streams, events.events(), [&](node_id, typename B::stream_type s) {
          return device.backend.enqueue(s, [](void* x) { ++*static_cast<std::atomic<int>*>(x); }, &ran);
        });
    CHECK(static_cast<bool>(captured) == capture_allows_host_function<B>);
    if (captured) {
      CHECK(B::ok(device.backend.launch_captured(captured.graph, device.streams[0])));
      CHECK(B::ok(device.synchronize()));
      CHECK(ran == 1);
      CHECK(B::ok(device.backend.destroy_captured(captured.graph)));
    } else {
      CHECK(static_cast<int>(captured.issue.status) == 107030);
      CHECK(captured.issue.op == 0);
    }
    // Synchronising a stream that is being captured is a mistake that the capture reports.
    REQUIRE(B::ok(device.backend.begin_capture(device.streams[0])));
    CHECK_FALSE(B::ok(device.backend.synchronize(device.streams[0])));
    typename B::captured_type graph{};
    CHECK_FALSE(B::ok(device.backend.end_capture(device.streams[0], graph)));
    CHECK(B::ok(device.backend.synchronize(device.streams[0])));
  });
  fake::reset();
}

TEST_CASE("capture on Ascend: each mistake has the code that the reference gives it", "[launch][device]") {
  const auto after = [](auto mistake) {
    fake::reset();
    rig<ascend_backend> device(3);
    event_pool events(device.backend);
    REQUIRE(events.reserve(2) == 0);
    REQUIRE(device.backend.begin_capture(device.streams[0]) == 0);
    return mistake(device.backend, device.streams, events.events());
  };
  const auto work = [](void*) {};
  const auto twice = after([](auto& b, const auto& s, auto) { return b.begin_capture(s[0]); });
  const auto synchronised = after([](auto& b, const auto& s, auto) { return b.synchronize(s[0]); });
  const auto outside = after([](auto& b, const auto& s, auto e) {
    REQUIRE(b.record(e[0], s[1]) == 0);
    return b.wait(s[0], e[0]);
  });
  const auto two_captures = after([](auto& b, const auto& s, auto e) {
    REQUIRE(b.begin_capture(s[1]) == 0);
    REQUIRE(b.record(e[0], s[0]) == 0);
    return b.wait(s[1], e[0]);
  });
  const auto unjoined = after([&](auto& b, const auto& s, auto e) {
    REQUIRE(b.record(e[0], s[0]) == 0);
    REQUIRE(b.wait(s[1], e[0]) == 0);
    REQUIRE(fake::launch(s[1], work, nullptr) == 0);
    void* graph = nullptr;
    return b.end_capture(s[0], graph);
  });
  const auto elsewhere = after([](auto& b, const auto& s, auto e) {
    REQUIRE(b.record(e[0], s[0]) == 0);
    REQUIRE(b.wait(s[1], e[0]) == 0);
    void* graph = nullptr;
    return b.end_capture(s[1], graph);
  });
  const auto idle = after([](auto& b, const auto& s, auto) {
    void* graph = nullptr;
    return b.end_capture(s[2], graph);
  });
  const auto by_default = after([](auto& b, const auto&, auto) { return b.begin_capture(nullptr); });
  CHECK(twice == 107027);
  CHECK(synchronised == 107027);
  CHECK(outside == 107024);
  CHECK(two_captures == 107032);
  CHECK(unjoined == 107025);
  CHECK(elsewhere == 107036);
  CHECK(idle == 107029);
  CHECK(by_default == 107031);
  const std::string unknown = ascend_backend::text(1);
  for (const int code : {twice, outside, two_captures, unjoined, elsewhere, idle, by_default})
    CHECK(ascend_backend::text(code) != unknown);
  fake::reset();
}
