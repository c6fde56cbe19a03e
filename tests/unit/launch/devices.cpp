// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The CUDA and Ascend backends against fakes of the vendors' libraries: the object code is the one that a device sees.
#include <hocket/core/message.hpp>

#include <set>

#include "catch.hpp"
#include "device_rig.hpp"

using namespace launch_test;
using hocket::errc;

namespace {

// Runs f with each of the three backends.
template <class F>
void on_each_backend(F f) {
  f(cuda_backend{});
  f(ascend_backend{});
  f(ascend_classic_backend{});
}

template <class B>
command_list plan_for(const random_program& p) {
  return fenced(naive_list(p)).value();
}

// A classic backend that hides what its events are like.
struct careless : ascend_classic_backend {
  static constexpr bool wait_resets_event = false;
};

}  // namespace

TEST_CASE("fakes: random plans, replayed without waiting in between, compute what the serial program does",
          "[launch][device]") {
  on_each_backend([](auto tag) {
    using B = decltype(tag);
    for (unsigned seed = 0; seed < 8; ++seed) {
      fake::reset({.seed = seed, .max_delay = 3});
      const auto p = make_program(seed, 120, static_cast<std::uint16_t>(1 + seed % 5));
      const auto expected = expected_values(p);
      const auto list = fitted<B>(plan_for<B>(p));
      {
        rig<B> device(p.streams);
        REQUIRE(B::ok(device.made));
        event_pool events(device.backend);
        REQUIRE(events.prepare(list));
        values v(p);
        kernels<B, values> launch(v, 120);
        for (int step = 0; step < 3; ++step)
          CHECK(drive(device.backend, list, device.streams, events.events(), launch));
        CHECK(B::ok(device.synchronize()));
        CHECK(v.out == expected);
        CHECK(fake::count().created_events == list.event_count());  // none in the later replays
      }
      const auto after = fake::count();
      CHECK(after.live_events == 0);
      CHECK(after.live_streams == 0);
      CHECK(after.gave_up == 0);
      CHECK(after.waits_on_nothing == 0);
      CHECK(after.last_error_reads == 0);
    }
  });
}

TEST_CASE("fakes: with waits removed, values are wrong", "[launch][device]") {
  std::size_t wrong = 0;
  for (unsigned seed = 0; seed < 6; ++seed) {
    fake::reset({.seed = seed, .max_delay = 8});
    const auto p = make_program(seed, 200, 4);
    auto commands = naive_commands(p);
    commands.erase(
        std::remove_if(commands.begin(), commands.end(), [](const command& c) { return c.kind == command_kind::wait; }),
        commands.end());
    const auto list = command_list::make(commands, 4).value();
    rig<cuda_backend> device(4);
    event_pool events(device.backend);
    REQUIRE(events.prepare(list));
    loose_values v(p);
    kernels<cuda_backend, loose_values> launch(v, 200);
    CHECK(drive(device.backend, list, device.streams, events.events(), launch));
    CHECK(device.synchronize() == cudaSuccess);
    wrong += v.wrong(expected_values(p));
  }
  CHECK(wrong > 0);
}

TEST_CASE("fakes: what classic events do to a list that shares records", "[launch][device]") {
  // Two streams wait for one record: the reset behind the first wait takes it from the second, which then hangs, or, in
  // the next replay, sees the old record. `drive` takes no such list for a backend that says so; this one hides it.
  static_assert(wait_resets_event<ascend_classic_backend> && !wait_resets_event<careless>);
  std::uint64_t hung = 0;
  for (unsigned seed = 0; seed < 4 && hung == 0; ++seed) {
    fake::reset({.seed = seed, .max_delay = 5, .patience = std::chrono::milliseconds(60)});
    const auto list = command_list::make(std::vector{run_op(0, 0), record_event(0, 0), wait_event(0, 1), run_op(1, 1),
                                                     wait_event(0, 2), run_op(2, 2)},
                                         3)
                          .value();
    const auto p = make_program(seed, 3, 3, 0);
    loose_values v(p);
    rig<careless> device(3);
    event_pool events(device.backend);
    REQUIRE(events.prepare(list));
    kernels<careless, loose_values> launch(v, 3);
    // Synchronised in between, so that the reset surely comes before the second wait is reached.
    const auto part = [&](std::size_t from, std::size_t count) {
      for (std::size_t i = from; i < from + count; ++i) {
        const command& c = list[i];
        if (c.kind == command_kind::run) CHECK(launch(c.id, device.streams[c.stream]) == 0);
        else if (c.kind == command_kind::record)
          CHECK(device.backend.record(events.events()[c.id], device.streams[c.stream]) == 0);
        else CHECK(device.backend.wait(device.streams[c.stream], events.events()[c.id]) == 0);
      }
      CHECK(device.synchronize() == 0);
    };
    part(0, 4);
    part(4, 2);
    hung += fake::count().gave_up;
  }
  CHECK(hung == 1);

  // The same through single_wait_list, on the honest backend: right.
  fake::reset();
  const auto shared = command_list::make(std::vector{run_op(0, 0), record_event(0, 0), wait_event(0, 1), run_op(1, 1),
                                                     wait_event(0, 2), run_op(2, 2)},
                                         3)
                          .value();
  const auto list = single_wait_list::make(shared).value();
  CHECK(list.event_count() == 2);
  CHECK(list.wait_count() == 2);
  CHECK(list.size() == 7);
}

TEST_CASE("single_wait_list: an event per wait, order unchanged", "[launch]") {
  for (unsigned seed = 0; seed < 30; ++seed) {
    const auto p = make_program(seed, 80, static_cast<std::uint16_t>(1 + seed % 6));
    for (const auto& list : {naive_list(p), reuse_events(naive_list(p)), fenced(naive_list(p)).value()}) {
      const auto single = single_wait_list::make(list).value();
      CHECK(single.wait_count() == list.wait_count());
      CHECK(single.op_count() == list.op_count());
      std::vector<int> records(single.event_count()), waits(single.event_count());
      for (const command& c : single) {
        if (c.kind == command_kind::record) ++records[c.id];
        else if (c.kind == command_kind::wait) ++waits[c.id];
      }
      CHECK(std::count(records.begin(), records.end(), 1) == static_cast<std::ptrdiff_t>(records.size()));
      CHECK(std::count_if(waits.begin(), waits.end(), [](int n) { return n > 1; }) == 0);
      const issue_order before(list), after(single);
      std::size_t different = 0;
      for (node_id a = 0; a < 80; ++a)
        for (node_id b = 0; b < 80; ++b)
          different += before.before(before.find(a), before.find(b)) != after.before(after.find(a), after.find(b));
      CHECK(different == 0);
    }
  }
}

TEST_CASE("fakes: call number n fails, for every n: nothing hangs, nothing leaks, the report is right",
          "[launch][device]") {
  on_each_backend([](auto tag) {
    using B = decltype(tag);
    const auto p = make_program(3, 24, 3);
    const auto list = fitted<B>(plan_for<B>(p));
    constexpr int code = std::is_same_v<B, cuda_backend> ? 2 : 207001;
    for (const bool sticky : {false, true}) {
      std::size_t unnoticed = 0;
      std::uint64_t total = fake::never;  // calls of a healthy life; known after the first turn, in which nothing fails
      for (std::uint64_t turn = 0; turn <= total; ++turn) {
        const std::uint64_t n = turn == 0 ? fake::never : turn - 1;
        fake::reset({.seed = 5, .max_delay = 2, .fail_at = n, .fail_code = code, .sticky = sticky});
        bool reported = false;
        std::size_t destroyed_in_vain = 0;
        {
          rig<B> device(p.streams);
          if (!B::ok(device.made)) {
            CHECK(static_cast<int>(device.made) == code);
            reported = true;
          } else {
            event_pool events(device.backend);
            if (const auto ready = events.prepare(list); !ready) {
              CHECK(ready.error().code == errc::event_not_created);
              CHECK(ready.error().values[2] == code);
              CHECK(events.size() == 0);
              reported = true;
            } else {
              loose_values v(p);
              kernels<B, loose_values> launch(v, 24);
              const auto first_call = fake::count().calls;
              const auto done = drive(device.backend, list, device.streams, events.events(), launch);
              const auto calls = fake::count().calls - first_call;
              if (!done) {
                reported = true;
                CHECK(static_cast<int>(done.status) == code);
                CHECK(B::ok(done.status) == false);
                const command& c = list[done.issued];
                CHECK(done.kind == c.kind);
                CHECK(done.stream == c.stream);
                CHECK(done.op == (c.kind == command_kind::run ? c.id : hocket::no_id));
                CHECK_FALSE(done.asynchronous);
                CHECK(calls >= done.issued + 1);
              }
              const auto synced = device.synchronize();
              if (!B::ok(synced)) reported = true;
              if (!sticky && done) CHECK((B::ok(synced) ? v.wrong(expected_values(p)) : 0) == 0);
              if (!sticky && !done) {  // the issued prefix ran, and nothing else
                const auto expected = expected_values(p);
                std::vector<bool> issued(24);
                for (std::size_t i = 0; i < done.issued; ++i)
                  if (list[i].kind == command_kind::run) issued[list[i].id] = true;
                for (node_id op = 0; op < 24; ++op) CHECK(v.out[op] == (issued[op] ? expected[op] : 0));
              }
            }
          }
        }
        const auto after = fake::count();
        if (turn == 0) total = after.calls;
        // A destroy that failed is the only thing that may be left over; sticky failures make all destroys fail.
        destroyed_in_vain = after.live_events + after.live_streams;
        if (!sticky) CHECK(destroyed_in_vain <= 1);
        if (turn == 0) CHECK_FALSE(reported);
        else unnoticed += !reported && destroyed_in_vain == 0;
        CHECK(after.last_error_reads == 0);
        CHECK(after.gave_up == 0);
      }
      CHECK(total > list.size());
      // `prepare` asks how many events there are; without an answer it goes on.
      CHECK(unnoticed == (event_limit_backend<B> && !sticky ? 1 : 0));
    }
  });
  fake::reset();
}

TEST_CASE("fakes: the codes of AscendCL that report a failed task, one by one", "[launch][device]") {
  const std::set<int> of_a_task{507010, 507011, 507012, 507013, 507014, 507015, 507016, 507017, 507018, 507019,
                                507020, 507034, 507035, 507036, 507042, 507043, 507044, 507045, 507048, 507049,
                                507050, 507051, 507052, 507053, 507054, 507055, 507056, 507057};
  for (int code = 506990; code <= 507070; ++code) {
    INFO(code);
    CHECK(ascend_backend::asynchronous(code) == of_a_task.contains(code));
  }
}

TEST_CASE("fakes: the codes of CUDA that report a fault on the device, one by one", "[launch][device]") {
  // ECC, address, timeout, assertion, stack, instruction, alignment, space, program counter, launch, context, unknown.
  const std::set<int> of_a_device{214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999};
  for (int code = 0; code <= 1000; ++code) {
    INFO(code);
    CHECK(cuda_backend::asynchronous(static_cast<cudaError_t>(code)) == of_a_device.contains(code));
  }
}

TEST_CASE("fakes: the commonest codes of AscendCL have a text each", "[launch][device]") {
  std::set<std::string> texts;
  for (const int code : {0,      100001, 107002, 107003, 107024, 107025, 107027, 107029, 107030, 107031,
                         107032, 107036, 207000, 207001, 207004, 207007, 207008, 507015, 507899, 1})
    texts.insert(ascend_backend::text(code));
  CHECK(texts.size() == 20);
  CHECK(std::string(ascend_backend::text(2)) == ascend_backend::text(1));
}

TEST_CASE("fakes: a kernel fails at any position: reported, nothing hangs", "[launch][device]") {
  const auto p = make_program(8, 20, 3);
  for (node_id bad = 0; bad < 20; ++bad) {
    {  // CUDA: the whole context is gone; the code comes from whatever call is next, so op and command are a hint only
      using B = cuda_backend;
      fake::reset({.seed = bad, .max_delay = 1});
      rig<B> device(3);
      const auto list = fitted<B>(plan_for<B>(p));
      event_pool events(device.backend);
      REQUIRE(events.prepare(list));
      loose_values v(p);
      kernels<B, loose_values> launch(v, 20);
      launch.faulty = bad;
      launch.fault = cudaErrorIllegalAddress;
      const auto done = drive(device.backend, list, device.streams, events.events(), launch);
      if (!done) {
        CHECK(done.status == cudaErrorIllegalAddress);
        CHECK(done.asynchronous);
        CHECK(to_result(done).error().values[0] == 700);
      }
      CHECK(device.synchronize() == cudaErrorIllegalAddress);
      CHECK(v.out[bad] == 0);
      CHECK(fake::count().last_error_reads == 0);
    }
    fake::reset({.seed = bad, .max_delay = 1});
    {  // Ascend, streams made here: they stop. What was queued behind the fault does not run on garbage.
      using B = ascend_backend;
      rig<B> device(3);
      CHECK(fake::count().stops_on_failure == 3);
      const auto list = fitted<B>(plan_for<B>(p));
      event_pool events(device.backend);
      REQUIRE(events.prepare(list));
      loose_values v(p);
      kernels<B, loose_values> launch(v, 20);
      launch.faulty = bad;
      launch.fault = 507015;
      const auto done = drive(device.backend, list, device.streams, events.events(), launch);
      if (!done) {
        CHECK(done.status == 507015);
        CHECK(done.asynchronous);
      }
      CHECK(device.synchronize() == 507015);
      const issue_order order(list);
      for (node_id op = 0; op < 20; ++op)
        if (order.before(order.find(bad), order.find(op))) CHECK(v.out[op] == 0);
    }
    fake::reset({.seed = bad, .max_delay = 1});
    {  // Ascend, the framework's streams, in the default mode: the rest runs on garbage; only the code tells
      using B = ascend_backend;
      B backend;
      std::vector<aclrtStream> streams(3);
      for (auto& s : streams) REQUIRE(aclrtCreateStream(&s) == 0);
      const auto list = fitted<B>(plan_for<B>(p));
      event_pool events(backend);
      REQUIRE(events.prepare(list));
      loose_values v(p);
      kernels<B, loose_values> launch(v, 20);
      launch.faulty = bad;
      launch.fault = 507015;
      CHECK(drive(backend, list, streams, events.events(), launch));
      std::size_t failed = 0;
      for (const auto s : streams) failed += backend.synchronize(s) == 507015;
      CHECK(failed == 1);
      std::size_t ran = 0;
      for (node_id op = 0; op < 20; ++op) ran += v.out[op] != 0;
      CHECK(ran == 19);
    }
  }
  fake::reset();
}

TEST_CASE("fakes: more events than the device has", "[launch][device]") {
  const auto p = make_program(1, 60, 4);
  const auto list = naive_list(p);  // an event per recorder
  REQUIRE(list.event_count() > 8);
  {
    fake::reset({.max_events = 8});
    rig<ascend_backend> device(4);
    event_pool events(device.backend);
    const auto refused = events.prepare(list);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == errc::too_many_events);
    CHECK(refused.error().values[1] == 8);
    CHECK(hocket::message(refused.error()) ==
          "the plan needs " + std::to_string(list.event_count()) + " events, but the device has room for 8");
    CHECK(fake::count().created_events == 0);
    // The same plan with reused events fits, and runs.
    const auto fewer = reuse_events(list);
    if (fewer.event_count() <= 8) CHECK(events.prepare(fewer));

    // Without asking: creating works, recording blocks; on a device for ever, here until the fake loses patience.
    fake::reset({.max_events = 8, .patience = std::chrono::milliseconds(30)});
  }
  {
    rig<ascend_backend> device(4);
    event_pool events(device.backend);
    CHECK(events.reserve(list.event_count()) == 0);
    loose_values v(p);
    kernels<ascend_backend, loose_values> launch(v, 60);
    const auto done = drive(device.backend, list, device.streams, events.events(), launch);
    CHECK_FALSE(done);
    CHECK(done.status == 207007);
    CHECK(done.kind == command_kind::record);
    CHECK(fake::count().gave_up == 1);
    CHECK(device.synchronize() == 0);  // and the prefix is through
    CHECK(std::string(ascend_backend::text(done.status)) == "no more events");
  }
  fake::reset({.max_events = 8});
  {
    rig<ascend_classic_backend> device(4);
    event_pool events(device.backend);
    CHECK(events.reserve(9) == 207007);  // classic events fail at creation
    CHECK(events.size() == 8);
    const auto refused = events.prepare(single_wait_list::make(list).value());
    CHECK(refused.error().code == errc::too_many_events);
    CHECK(events.size() == 8);
  }
  fake::reset({.max_streams = 2});
  {
    rig<ascend_backend> device(3);
    CHECK(device.made == 207008);
    CHECK(device.streams.size() == 2);
  }
  fake::reset();
}

TEST_CASE("fakes: a wait on an event that was never recorded", "[launch][device]") {
  // Lists are refused where they are made ...
  CHECK(command_list::make(std::vector{wait_event(0, 0)}, 1).error().code == errc::unrecorded_event);
  // ... because devices do not: CUDA lets it pass, classic events hang.
  fake::reset({.patience = std::chrono::milliseconds(30)});
  {
    rig<cuda_backend> device(1);
    cudaEvent_t e{};
    REQUIRE(device.backend.create_event(e) == cudaSuccess);
    CHECK(device.backend.wait(device.streams[0], e) == cudaSuccess);
    CHECK(device.synchronize() == cudaSuccess);
    CHECK(fake::count().waits_on_nothing == 1);
    CHECK(device.backend.destroy_event(e) == cudaSuccess);
  }
  {
    rig<ascend_classic_backend> device(1);
    aclrtEvent e{};
    REQUIRE(device.backend.create_event(e) == 0);
    CHECK(device.backend.wait(device.streams[0], e) == 0);
    CHECK(device.synchronize() == 0);
    CHECK(fake::count().gave_up == 1);
    CHECK(device.backend.destroy_event(e) == 0);
  }
  fake::reset();
}

TEST_CASE("fakes: timed events, host functions", "[launch][device]") {
  on_each_backend([](auto tag) {
    using B = decltype(tag);
    fake::reset();
    rig<B> device(1);
    const auto s = device.streams[0];
    typename B::timed_event_type from{}, to{};
    REQUIRE(B::ok(device.backend.create_timed_event(from)));
    REQUIRE(B::ok(device.backend.create_timed_event(to)));
    CHECK(B::ok(device.backend.record_timed(from, s)));
    std::atomic<int> ran{0};
    CHECK(B::ok(device.backend.enqueue(s, [](void* p) { ++*static_cast<std::atomic<int>*>(p); }, &ran)));
    CHECK(B::ok(device.backend.record_timed(to, s)));
    CHECK(B::ok(device.backend.synchronize(s)));
    CHECK(ran == 1);
    std::chrono::nanoseconds time{-1};
    CHECK(B::ok(device.backend.elapsed(from, to, time)));
    CHECK(time.count() >= 0);
    typename B::event_type plain{};
    REQUIRE(B::ok(device.backend.create_event(plain)));
    CHECK(B::ok(device.backend.record(plain, s)));
    time = std::chrono::nanoseconds(77);
    CHECK_FALSE(B::ok(device.backend.elapsed({plain}, to, time)));  // has no time line
    CHECK(time.count() == 77);
    CHECK(B::ok(device.backend.destroy_event(plain)));
    CHECK(B::ok(device.backend.destroy_timed_event(from)));
    CHECK(B::ok(device.backend.destroy_timed_event(to)));
    CHECK(std::string(B::text(typename B::status_type{})) != B::text(static_cast<typename B::status_type>(700)));
    CHECK(fake::count().last_error_reads == 0);
  });
  fake::reset();
}

TEST_CASE("probe says whether there is a device, and why not", "[launch][device]") {
  const auto cuda = [](const fake::settings& s) {
    fake::reset(s);
    return cuda_backend::probe();
  };
  CHECK(cuda({.devices = 4}) == device_probe{device_state::ready, 0, 4});
  CHECK(cuda({.devices = 1}) == device_probe{device_state::ready, 0, 1});
  CHECK(cuda({.devices = 0}).state == device_state::no_device);
  CHECK(cuda({.driver_version = 0, .probe_code = 35}) == device_probe{device_state::no_driver, 35, 0});
  CHECK(cuda({.driver_version = 11000, .probe_code = 35}).state == device_state::old_driver);
  CHECK(cuda({.probe_code = 34}).state == device_state::stub_driver);
  CHECK(cuda({.probe_code = 100}).state == device_state::no_device);
  CHECK(cuda({.probe_code = 999}).state == device_state::other);
  CHECK(fake::count().last_error_reads == 0);
  const auto ascend = [](const fake::settings& s) {
    fake::reset(s);
    return ascend_backend::probe();
  };
  CHECK(ascend({.devices = 8}) == device_probe{device_state::ready, 0, 8});
  CHECK(ascend({.devices = 1}) == device_probe{device_state::ready, 0, 1});
  CHECK(ascend({.devices = 0}).state == device_state::no_device);
  CHECK(ascend({.probe_code = 100001}).state == device_state::uninitialised);
  CHECK(ascend({.probe_code = 207004}).state == device_state::no_device);
  CHECK(ascend({.probe_code = 507899}).state == device_state::no_driver);
  CHECK(std::string(to_string(device_state::no_driver)) == "no driver");
  fake::reset();
}
