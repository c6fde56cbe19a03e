// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every backend that can run here obeys the laws; for each law there is a backend that breaks it, and is told so.
#include <hocket/launch/backends/host.hpp>
#include <hocket/testing/backend_laws.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "device_rig.hpp"

namespace backend_laws_test {
namespace {

using namespace hocket::launch;
using hocket::testing::broken_failure_law;
using hocket::testing::broken_law;

/// A sound backend over the host's own threads, whose calls can be made to fail. The wrong ones hide one member.
class sound {
 public:
  struct event_state {
    host_event inner{};
    std::atomic<int> issued{0};
    std::atomic<int> passed{0};
  };
  using stream_type = std::size_t;
  using event_type = event_state*;
  using status_type = int;
  using function = void (*)(void*);

  // What a wrong backend has put aside runs at last, since the laws own its memory until then.
  ~sound() {
    for (const auto& [f, argument] : aside) f(argument);
  }

  int enqueue(std::size_t s, function f, void* argument) noexcept {
    if (fails()) return fault;
    return static_cast<int>(device.enqueue(device.stream(s), f, argument));
  }
  int record(event_state* e, std::size_t s) noexcept {
    if (fails()) return fault;
    ++e->issued;
    const auto done = device.record(e->inner, device.stream(s));
    static_cast<void>(device.enqueue(device.stream(s), [e] { ++e->passed; }));
    return static_cast<int>(done);
  }
  int wait(std::size_t s, event_state* e) noexcept {
    if (fails()) return fault;
    return static_cast<int>(device.wait(device.stream(s), e->inner));
  }
  int create_event(event_state*& out) noexcept {
    out = new event_state;
    return static_cast<int>(device.create_event(out->inner));
  }
  int destroy_event(event_state* e) noexcept {
    for (const host_stream s : device.streams()) static_cast<void>(device.synchronize(s));
    const auto done = device.destroy_event(e->inner);
    delete e;
    return static_cast<int>(done);
  }
  int synchronize(std::size_t s) noexcept { return static_cast<int>(device.synchronize(device.stream(s))); }
  static bool ok(int status) noexcept { return status == 0; }
  static const char* text(int status) noexcept { return status == 0 ? "ok" : "a fault"; }

  static constexpr int fault = 99;
  bool fail_next = false;
  bool fails() { return std::exchange(fail_next, false); }
  bool every_seventh() { return ++count_ % 7 == 0; }

  struct call {
    function f;
    void* argument;
  };
  std::vector<call> aside{};
  host_backend device = host_backend::start(3).value();

 private:
  int count_ = 0;
};

struct success_is_not_ok : sound {
  static bool ok(int status) noexcept { return status == 1; }
};
struct success_has_no_text : sound {
  static const char* text(int) noexcept { return nullptr; }
};
struct loses_work : sound {
  int enqueue(std::size_t s, function f, void* argument) noexcept {
    if (!every_seventh()) return sound::enqueue(s, f, argument);
    aside.push_back({f, argument});
    return 0;
  }
};
struct repeats_work : sound {
  int enqueue(std::size_t s, function f, void* argument) noexcept {
    if (every_seventh()) static_cast<void>(sound::enqueue(s, f, argument));
    return sound::enqueue(s, f, argument);
  }
};
struct swaps_work : sound {
  int enqueue(std::size_t s, function f, void* argument) noexcept {
    if (every_seventh()) {
      aside.push_back({f, argument});
      return 0;
    }
    const int done = sound::enqueue(s, f, argument);
    for (const auto& [late, its] : std::exchange(aside, {})) static_cast<void>(sound::enqueue(s, late, its));
    return done;
  }
};
struct refuses_work : sound {
  int enqueue(std::size_t s, function f, void* argument) noexcept {
    return every_seventh() ? fault : sound::enqueue(s, f, argument);
  }
};
struct synchronizes_early : sound {
  int synchronize(std::size_t) noexcept {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return 0;
  }
};
struct runs_one_stream_at_a_time : sound {
  int enqueue(std::size_t, function f, void* argument) noexcept { return sound::enqueue(0, f, argument); }
  int synchronize(std::size_t) noexcept { return sound::synchronize(0); }
};
struct record_blocks : sound {
  int record(event_state* e, std::size_t s) noexcept {
    static_cast<void>(sound::synchronize(s));
    return sound::record(e, s);
  }
};
struct wait_blocks : sound {
  int wait(std::size_t, event_state* e) noexcept {
    while (e->passed < e->issued) std::this_thread::yield();
    return 0;
  }
};
struct waits_for_nothing : sound {
  int wait(std::size_t, event_state*) noexcept { return fails() ? fault : 0; }
};
struct waits_for_the_first_record : sound {
  int record(event_state* e, std::size_t s) noexcept { return e->issued > 0 ? 0 : sound::record(e, s); }
};
struct waits_for_records_to_come : sound {
  int wait(std::size_t s, event_state* e) noexcept {
    return static_cast<int>(device.enqueue(device.stream(s), [e] {
      while (e->passed < e->issued) std::this_thread::yield();
    }));
  }
};
struct hangs_on_its_own_record : sound {
  int record(event_state* e, std::size_t s) noexcept {
    last_ = s;
    return sound::record(e, s);
  }
  int wait(std::size_t s, event_state* e) noexcept {
    if (s == last_)
      static_cast<void>(device.enqueue(device.stream(s), [] { std::this_thread::sleep_for(std::chrono::seconds(2)); }));
    return sound::wait(s, e);
  }
  std::size_t last_ = 0;
};
// With one stream more, which comes and goes.
struct finishes_streams : sound {
  int create_stream(std::size_t& out) noexcept {
    out = 2;
    return 0;
  }
  int destroy_stream(std::size_t s) noexcept { return synchronize(s); }
};
struct drops_streams : finishes_streams {
  int enqueue(std::size_t s, function f, void* argument) noexcept {
    if (s != 2) return sound::enqueue(s, f, argument);
    aside.push_back({f, argument});
    return 0;
  }
  int destroy_stream(std::size_t) noexcept { return 0; }
};

// Of calls that fail.

struct failures_are_silent : sound {
  int record(event_state* e, std::size_t s) noexcept { return fails() ? 0 : sound::record(e, s); }
};
struct failures_have_no_text : sound {
  static const char* text(int) noexcept { return ""; }
};
struct enqueues_and_fails : sound {
  int enqueue(std::size_t s, function f, void* argument) noexcept {
    const bool failed = fails();
    static_cast<void>(sound::enqueue(s, f, argument));
    return failed ? fault : 0;
  }
};
struct records_and_fails : sound {
  int record(event_state* e, std::size_t s) noexcept {
    const bool failed = fails();
    static_cast<void>(sound::record(e, s));
    return failed ? fault : 0;
  }
};
struct waits_and_fails : sound {
  int wait(std::size_t s, event_state* e) noexcept {
    const bool failed = fails();
    static_cast<void>(sound::wait(s, e));
    return failed ? fault : 0;
  }
};
struct fails_for_good : sound {
  int enqueue(std::size_t s, function f, void* argument) noexcept {
    failed_ = failed_ || fails();
    return failed_ ? fault : sound::enqueue(s, f, argument);
  }
  bool failed_ = false;
};

// Of the end. All of them have streams of their own.

const std::size_t own_streams[] = {0, 1};
struct ends_well : sound {
  [[nodiscard]] std::span<const std::size_t> streams() const { return own_streams; }
};
// Goes on when it is gone.
class outlived : public ends_well {
 public:
  ~outlived() {
    std::thread([held = std::make_unique<hocket::launch::host_backend>(std::move(device))] {}).detach();
    device = host_backend::start(1).value();
  }
};
// What is queued runs when somebody asks, and never without.
struct forgets : ends_well {
  int enqueue(std::size_t, function f, void* argument) noexcept {
    queued.push_back({f, argument});
    return 0;
  }
  int synchronize(std::size_t) noexcept {
    for (const auto& [f, argument] : std::exchange(queued, {})) f(argument);
    return 0;
  }
  ~forgets() { lost = std::exchange(queued, {}); }
  std::vector<call> queued{};
  static inline std::vector<call> lost{};
};
struct starts_over : ends_well {
  int enqueue(std::size_t s, function f, void* argument) noexcept {
    aside.push_back({f, argument});
    return sound::enqueue(s, f, argument);
  }
};
struct does_the_last_first : ends_well {
  int enqueue(std::size_t s, function f, void* argument) noexcept {
    if (s == 0) aside.insert(aside.begin(), {f, argument});
    return s == 0 ? 0 : sound::enqueue(s, f, argument);
  }
  int synchronize(std::size_t s) noexcept {
    if (s == 0)
      for (const auto& [f, argument] : std::exchange(aside, {})) f(argument);
    return sound::synchronize(s);
  }
  int record(event_state*, std::size_t) noexcept { return synchronize(0); }
  int wait(std::size_t, event_state*) noexcept { return 0; }
};
struct takes_long_to_end : ends_well {
  ~takes_long_to_end() { std::this_thread::sleep_for(std::chrono::milliseconds(1500)); }
};
struct refuses_at_once : ends_well {
  int enqueue(std::size_t, function, void*) noexcept { return fault; }
};

const std::vector<std::size_t> three{0, 1, 2};
const std::vector<std::size_t> two{0, 1};

// What is held up goes on soon: every wrong backend that blocks costs as much.
constexpr hocket::testing::backend_law_options brief{.patience = std::chrono::milliseconds(1000),
                                                     .glance = std::chrono::milliseconds(300)};

template <class B>
std::string complaint_about(const std::vector<std::size_t>& streams = three) {
  B b;
  return broken_law(b, std::span<const std::size_t>(streams), {}, brief);
}
template <class B>
std::string failure_complaint_about() {
  B b;
  return broken_failure_law(b, std::span<const std::size_t>(two), [&b] { b.fail_next = true; }, {}, brief);
}

template <class B>
std::string end_complaint_about() {
  return hocket::testing::broken_end_law(
      [] { return std::make_unique<B>(); }, {},
      {.patience = std::chrono::milliseconds(1000), .glance = std::chrono::milliseconds(100)});
}

template <class B>
void obeys_the_laws() {
  fake::reset();
  {
    launch_test::rig<B> r(3);
    CHECK(broken_law(r.backend, std::span<const typename B::stream_type>(r.streams)) == "");
    CHECK(broken_failure_law(r.backend, std::span<const typename B::stream_type>(r.streams),
                             [] { fake::fail_next(); }) == "");
  }
  CHECK(fake::count().gave_up == 0);
  CHECK(fake::count().waits_on_nothing == 0);
}

}  // namespace

TEST_CASE("the host's threads obey the laws of backends", "[launch][testing]") {
  auto device = host_backend::start(3).value();
  CHECK(broken_law(device, device.streams()) == "");
  CHECK(complaint_about<sound>() == "");
  CHECK(complaint_about<finishes_streams>(two) == "");
  CHECK(failure_complaint_about<sound>() == "");
}

TEST_CASE("the vendors' backends obey the laws on the fake device", "[launch][testing]") {
  obeys_the_laws<cuda_backend>();
  obeys_the_laws<ascend_backend>();
  obeys_the_laws<ascend_classic_backend>();
}

TEST_CASE("a backend that breaks a law is told which", "[launch][testing]") {
  CHECK(complaint_about<success_is_not_ok>() == "the value-initialised status is not ok");
  CHECK(complaint_about<success_has_no_text>() == "text of success is a null pointer");
  CHECK(complaint_about<loses_work>() == "work 6 of stream 0 has not run when synchronize returns");
  CHECK(complaint_about<repeats_work>() == "work 6 of stream 0 ran 2 times");
  CHECK(complaint_about<swaps_work>() == "work 6 of stream 0 ran out of order");
  CHECK(complaint_about<refuses_work>() == "enqueue fails: a fault");
  CHECK(complaint_about<synchronizes_early>().find("synchronize returns") != std::string::npos);
  CHECK(complaint_about<runs_one_stream_at_a_time>() == "stream 1 does not run while stream 0 works");
  CHECK(complaint_about<record_blocks>() == "record blocks while its stream works");
  CHECK(complaint_about<wait_blocks>() == "wait blocks until the record is reached");
  CHECK(complaint_about<waits_for_nothing>() == "a wait does not hold its stream until the record is reached");
  CHECK(complaint_about<waits_for_the_first_record>() ==
        "a wait lets its stream go on after an earlier record of the event");
  CHECK(complaint_about<waits_for_records_to_come>() == "a wait waits for a record that was made after it");
  CHECK(complaint_about<hangs_on_its_own_record>() == "a stream that waits for its own record does not go on");
  CHECK(complaint_about<drops_streams>(two) == "what is queued on a stream is lost when the stream is destroyed");
}

TEST_CASE("a backend that owns threads and is destroyed: unused, after work, while it works", "[launch][testing]") {
  CHECK(hocket::testing::broken_end_law([] { return host_backend::start(2); }) == "");
  CHECK(hocket::testing::broken_end_law([] { return std::optional(host_backend::start(3).value()); }) == "");
  CHECK(end_complaint_about<ends_well>() == "");
}

TEST_CASE("a backend that does not end well is told so", "[launch][testing]") {
  CHECK(end_complaint_about<outlived>() == "work runs when the backend is gone, which was destroyed while it works");
  CHECK(end_complaint_about<forgets>() == "what is queued is lost when the backend is destroyed while it works");
  for (const auto& [f, argument] : std::exchange(forgets::lost, {})) f(argument);  // the laws own its memory until then
  CHECK(end_complaint_about<starts_over>() == "work 1 runs again when the backend is destroyed after its work is done");
  CHECK(end_complaint_about<does_the_last_first>() ==
        "work runs out of order when the backend is destroyed while it works");
  CHECK(end_complaint_about<takes_long_to_end>() == "the destructor does not return, though there was no work");
  CHECK(end_complaint_about<refuses_at_once>() == "enqueue fails: a fault");
  CHECK(hocket::testing::broken_end_law([] { return std::unique_ptr<ends_well>(); }) == "make gives no backend");
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));  // what was left behind ends
}

TEST_CASE("a backend whose failures do not leave things as they were is told so", "[launch][testing]") {
  CHECK(failure_complaint_about<failures_are_silent>() == "record does not report that it failed");
  CHECK(failure_complaint_about<failures_have_no_text>() == "enqueue fails, but the text of its status is empty");
  CHECK(failure_complaint_about<enqueues_and_fails>() == "an enqueue that failed was done all the same");
  CHECK(failure_complaint_about<records_and_fails>() == "a record that failed was done all the same");
  CHECK(failure_complaint_about<waits_and_fails>() == "a wait that failed was done all the same");
  CHECK(failure_complaint_about<fails_for_good>() == "after an enqueue that failed, enqueue fails: a fault");
}

}  // namespace backend_laws_test
