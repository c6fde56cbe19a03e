// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Faults in the middle of a step: every backend ends within its bound and says what it was; for each law there is a
// backend that breaks it, and is told so.
#include <hocket/testing/backend_fault_laws.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "device_rig.hpp"

namespace fault_laws_test {
namespace {

using namespace hocket::launch;
using hocket::testing::broken_fault_law;

using function = void (*)(void*);

/// A vendor's backend on the fake device.
template <class B>
class device_stage {
 public:
  device_stage() = default;
  device_stage(const device_stage&) = delete;
  ~device_stage() { fake::settle(); }  // a stream of a lost device is not destroyed, and what it has queued still runs
  B& backend() { return rig_.backend; }
  [[nodiscard]] const std::vector<typename B::stream_type>& streams() const { return rig_.streams; }
  typename B::status_type enqueue(typename B::stream_type s, function f, void* argument) {
    return static_cast<typename B::status_type>(fake::launch(s, f, argument));
  }
  [[nodiscard]] static typename B::status_type refusal() { return static_cast<typename B::status_type>(2); }
  static void fail_next() { fake::fail_next(); }
  static void lose() { fake::lose(); }
  typename B::status_type spoil(typename B::stream_type s) {
    return static_cast<typename B::status_type>(fake::launch_faulty(s, fault));
  }

 private:
  struct fresh_device {
    fresh_device() { fake::reset(); }
  };
  static constexpr int fault = std::is_same_v<B, cuda_backend> ? 700 : 507015;
  [[no_unique_address]] fresh_device fresh_;  // before the streams
  launch_test::rig<B> rig_{2};
};

/// The host's threads as they are.
class host_stage {
 public:
  host_backend& backend() { return device_; }
  [[nodiscard]] std::span<const host_stream> streams() const { return device_.streams(); }
  host_status enqueue(host_stream s, function f, void* argument) { return device_.enqueue(s, f, argument); }
  [[nodiscard]] static host_status refusal() { return host_status::op_failed; }
  host_status spoil(host_stream s) {
    return device_.enqueue(s, [] { return 7; });
  }
  void cancel() { device_.cancel(); }
  void recover() { static_cast<void>(device_.synchronize()); }

 protected:
  host_backend device_ = host_backend::start(2).value();
};

/// A backend whose calls can be made to fail, and which can be lost.
template <class B>
class injected {
 public:
  using stream_type = typename B::stream_type;
  using event_type = typename B::event_type;
  using status_type = typename B::status_type;

  template <class... Args>
  explicit injected(Args&&... args) : inner(std::forward<Args>(args)...) {}

  status_type record(event_type e, stream_type s) noexcept { return fails() ? fault : inner.record(e, s); }
  status_type wait(stream_type s, event_type e) noexcept { return fails() ? fault : inner.wait(s, e); }
  status_type synchronize(stream_type s) noexcept {
    const status_type done = inner.synchronize(s);
    return fails() ? fault : done;
  }
  status_type is_idle(stream_type s, bool& idle) noexcept { return fails() ? fault : inner.is_idle(s, idle); }
  status_type create_event(event_type& out) noexcept
    requires event_source<B>
  {
    return inner.create_event(out);
  }
  status_type destroy_event(event_type e) noexcept
    requires event_source<B>
  {
    return inner.destroy_event(e);
  }
  static bool ok(status_type s) noexcept { return B::ok(s); }
  static const char* text(status_type s) noexcept { return B::text(s); }

  static constexpr auto fault = status_type::op_failed;
  bool next = false;
  bool gone = false;
  bool fails() { return std::exchange(next, false) || gone; }
  B inner;
};

/// The backends that need no device, with faults injected into their calls.
template <class B>
struct local_stage {
  static constexpr bool runs_at_once = true;
  injected<B>& backend() { return device; }
  [[nodiscard]] static std::array<hocket::stream_id, 2> streams() { return {0, 1}; }
  local_status enqueue(hocket::stream_id s, function f, void* argument) {
    if (device.fails()) return local_status::op_failed;
    if constexpr (std::is_same_v<B, recording_backend>)
      if (const auto done = device.inner.launch(0, 0, s); done != local_status::ok) return done;
    f(argument);
    return local_status::ok;
  }
  [[nodiscard]] static local_status refusal() { return local_status::op_failed; }
  void fail_next() { device.next = true; }
  void lose() { device.gone = true; }
  injected<B> device = [] {
    if constexpr (std::is_same_v<B, inline_backend>) return injected<B>(std::size_t{2});
    else return injected<B>();
  }();
};

/// Threads with faults injected into their calls. The wrong ones hide one member.
struct injected_stage {
  using device_type = injected<host_backend>;
  device_type& backend() { return device; }
  [[nodiscard]] std::span<const host_stream> streams() const { return device.inner.streams(); }
  host_status enqueue(host_stream s, function f, void* argument) {
    return device.fails() ? device_type::fault : device.inner.enqueue(s, f, argument);
  }
  [[nodiscard]] static host_status refusal() { return host_status::op_failed; }
  void fail_next() { device.next = true; }
  void lose() { device.gone = true; }
  device_type device{host_backend::start(2).value()};
};

struct forgets_to_fail : injected_stage {
  host_status enqueue(host_stream s, function f, void* argument) {
    device.next = false;
    return injected_stage::enqueue(s, f, argument);
  }
};
struct runs_and_fails : injected_stage {
  host_status enqueue(host_stream s, function f, void* argument) {
    const auto done = device.inner.enqueue(s, f, argument);
    return device.fails() ? device_type::fault : done;
  }
};
struct says_nothing : injected_stage {
  [[nodiscard]] static host_status refusal() { return host_status::ok; }
};
struct stays_broken : injected_stage {
  void fail_next() { device.gone = true; }
};
// Comes back from the dead: a device that was lost takes calls again.
struct not_lost : injected_stage {
  void lose() { device.next = true; }
};
struct spoils_alone : host_stage {
  host_status spoil(host_stream s) {
    return device_.enqueue(s, [] {});
  }
};
struct cancels_nothing : host_stage {
  void cancel() {}
};
struct cancelled_for_good : host_stage {
  void recover() { device_.cancel(); }
};
// An op fails on its stream, and what waits for it runs all the same.
struct heedless_backend : injected<host_backend> {
  using injected::injected;
  status_type synchronize(stream_type s) noexcept { return spoilt ? fault : inner.synchronize(s); }
  bool spoilt = false;
};
// Says that it is idle while it works.
struct hasty_backend : injected<host_backend> {
  using injected::injected;
  status_type synchronize(stream_type) noexcept { return status_type::ok; }
  status_type is_idle(stream_type, bool& idle) noexcept {
    idle = true;
    return status_type::ok;
  }
};
// Looks, and does not come back before the stream is idle.
struct patient_backend : injected<host_backend> {
  using injected::injected;
  status_type is_idle(stream_type s, bool& idle) noexcept {
    idle = true;
    return inner.synchronize(s);
  }
};
template <class B>
struct stage_of {
  B& backend() { return device; }
  [[nodiscard]] std::span<const host_stream> streams() const { return device.inner.streams(); }
  host_status enqueue(host_stream s, function f, void* argument) { return device.inner.enqueue(s, f, argument); }
  [[nodiscard]] static host_status refusal() { return host_status::op_failed; }
  B device{host_backend::start(2).value()};
};

struct heedless : stage_of<heedless_backend> {
  host_status spoil(host_stream) {
    device.spoilt = true;
    return host_status::ok;
  }
};
struct takes_long_to_end : stage_of<injected<host_backend>> {
  ~takes_long_to_end() { std::this_thread::sleep_for(std::chrono::milliseconds(300)); }
};

template <class Stage>
std::string complaint(std::chrono::milliseconds patience = std::chrono::seconds(5)) {
  return broken_fault_law([] { return std::make_unique<Stage>(); }, {.patience = patience});
}
}  // namespace

TEST_CASE("faults in the middle of a step end and are told, on the host", "[launch][testing]") {
  CHECK(complaint<host_stage>() == "");
  CHECK(complaint<injected_stage>() == "");
  CHECK(complaint<local_stage<inline_backend>>() == "");
  CHECK(complaint<local_stage<recording_backend>>() == "");
}

TEST_CASE("faults in the middle of a step end and are told, on the fake device", "[launch][testing]") {
  CHECK(complaint<device_stage<cuda_backend>>() == "");
  CHECK(complaint<device_stage<ascend_backend>>() == "");
  CHECK(complaint<device_stage<ascend_classic_backend>>() == "");
  CHECK(fake::count().gave_up == 0);
  fake::reset();
}

TEST_CASE("a backend that breaks a law of faults is told which", "[launch][testing]") {
  CHECK(complaint<says_nothing>() == "command 0 fails, and drive does not say so");
  CHECK(complaint<forgets_to_fail>() == "command 0 fails, and drive does not say so");
  CHECK(complaint<runs_and_fails>() == "op 0 ran all the same");
  CHECK(complaint<stays_broken>() == "after a step that was cut off, stream 0 failed: an op returned a failure code");
  CHECK(complaint<not_lost>() == "the device is lost, and all streams are idle");
  CHECK(complaint<spoils_alone>() == "an op fails, and nobody says so");
  CHECK(complaint<heedless>() == "op 2 ran all the same");
  CHECK(complaint<cancels_nothing>() == "of a step that is cancelled, op 2 ran all the same");
  CHECK(complaint<cancelled_for_good>() == "in the step after one that was cancelled, op 0 was issued and has not run");
  CHECK(complaint<takes_long_to_end>(std::chrono::milliseconds(150)) ==
        "the destructor does not return while a step runs");
  CHECK(complaint<stage_of<patient_backend>>(std::chrono::milliseconds(500)) ==
        "a wait with a limit does not end while an event does not complete");
  CHECK(complaint<stage_of<hasty_backend>>().find("has not run") != std::string::npos);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // what was left behind ends
}

TEST_CASE("a wait with a limit: idle, at work, failed", "[launch]") {
  auto device = host_backend::start(2).value();
  const auto wait = [&](int ms) { return synchronize_within(device, device.streams(), std::chrono::milliseconds(ms)); };
  CHECK(message(wait(0), "") == "all streams are idle");
  std::atomic<bool> go{false};
  const auto hold = [&go] {
    while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return 3;
  };
  CHECK(device.enqueue(device.stream(1), hold) == host_status::ok);
  const auto busy = wait(30);
  CHECK(busy.state == sync_state::running);
  CHECK(busy.stream == 1);
  CHECK(busy.waited >= std::chrono::milliseconds(30));
  CHECK(message(busy, "") == "stream 1 is still at work after " + std::to_string(busy.waited.count()) + " ms");
  go = true;
  const auto failed = wait(5000);
  CHECK(failed.state == sync_state::failed);
  CHECK(message(failed, host_backend::text(failed.status)).find(" failed: an op returned a failure code") !=
        std::string::npos);
  CHECK(device.synchronize().code == 3);
  CHECK(wait(0));
}

TEST_CASE("what is cancelled is skipped and reported; what had ended is not", "[launch][host]") {
  auto device = host_backend::start(1).value();
  device.cancel();
  CHECK(device.synchronize());  // there was nothing to skip
  std::atomic<bool> go{false};
  std::atomic<int> ran{0};
  const auto hold = [&] {
    while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  CHECK(device.enqueue(device.stream(0), hold) == host_status::ok);
  for (int i = 0; i < 5; ++i) CHECK(device.enqueue(device.stream(0), [&ran] { ++ran; }) == host_status::ok);
  device.cancel();
  go = true;
  const auto report = device.synchronize();
  CHECK(report.status == host_status::cancelled);
  CHECK(to_string(report.status) == "cancelled: ops that had not begun were skipped");
  CHECK(report.skipped + static_cast<std::size_t>(ran) >= 5);
  CHECK(report.skipped >= 5);
  CHECK(device.enqueue(device.stream(0), [&ran] { ++ran; }) == host_status::ok);
  CHECK(device.synchronize());
  CHECK(ran == 1);
}

}  // namespace fault_laws_test
