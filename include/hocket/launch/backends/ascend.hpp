// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opt-in: needs AscendCL's acl/acl.h (of CANN 9.0, whose reference this follows) on the include path and libascendcl to
// link.
#pragma once
#include <acl/acl.h>
#include <hocket/launch/backend.hpp>
#include <hocket/launch/device_probe.hpp>

#include <chrono>
#include <cstdint>
#include <ratio>

namespace hocket::inline HOCKET_ABI::launch {

/// The two kinds of events that AscendCL has.
enum class ascend_events : std::uint8_t {
  ex,       ///< aclrtCreateEventExWithFlag: as in CUDA, a wait binds to the latest record and leaves the event alone
  classic,  ///< aclrtCreateEventWithFlag: a wait is followed by a reset, which takes the record from everybody else
};

/// AscendCL streams and events. Holds nothing, initialises nothing (aclInit and aclrtSetDevice are the framework's).
/// A failure comes back as the call's own return code; aclGetRecentErrMsg is never called, since it hands its message
/// out once.
///
/// Traits that differ from CUDA's:
///   * `wait_resets_event`: classic events serve one wait each; `drive` then takes a `single_wait_list`;
///   * events are scarce (65,536 on A2 and A3, 1,023 on inference parts): an Ex event takes a hardware id at its first
///     record, which *blocks* when there is none. `event_pool::prepare` refuses such plans before anything is queued;
///   * a stream goes on after a failed task, with garbage: `create_stream` switches that off, and AscendCL then stops
///     the other streams of that context with it. For the framework's streams see `stop_on_failure`;
///   * host functions cannot be captured, and a stream that uses aclrtLaunchCallback cannot have them at all.
/// @tparam Kind  of the events that record and wait are given
///
///     hocket::launch::ascend_backend npu;
///     auto done = drive(npu, list, streams, events, [&](hocket::node_id op, aclrtStream s) { return launch(op, s); });
template <ascend_events Kind>
class basic_ascend_backend {
 public:
  using stream_type = aclrtStream;
  using event_type = aclrtEvent;
  using status_type = aclError;
  struct timed_event_type {
    aclrtEvent handle = nullptr;
  };
  using captured_type = aclmdlRI;

  static constexpr bool wait_resets_event = Kind == ascend_events::classic;
  static constexpr bool capture_allows_host_function = false;
  static constexpr std::uint64_t max_events = 65536;  ///< no device has more; see `available_events` for this one

  /// Whether there is a device.
  /// 507899 is the driver's own failure. It is taken for "no driver": what else makes asking for a number of devices
  /// fail there, such as a container that may not open the device, has no code of its own; `code` tells.
  [[nodiscard]] static device_probe probe() noexcept {
    std::uint32_t count = 0;
    const aclError status = aclrtGetDeviceCount(&count);
    device_probe found{device_state::other, status, 0};
    if (status == 0) {
      found.state = count > 0 ? device_state::ready : device_state::no_device;
      found.devices = static_cast<std::int32_t>(count);
    } else if (status == 100001) {
      found.state = device_state::uninitialised;
    } else if (status == 207004) {
      found.state = device_state::no_device;
    } else if (status == 507899) {
      found.state = device_state::no_driver;
    }
    return found;
  }

  status_type record(event_type event, stream_type stream) noexcept { return aclrtRecordEvent(event, stream); }
  status_type wait(stream_type stream, event_type event) noexcept {
    const aclError status = aclrtStreamWaitEvent(stream, event);
    if constexpr (Kind == ascend_events::classic) return status == 0 ? aclrtResetEvent(event, stream) : status;
    else return status;
  }

  static bool ok(status_type s) noexcept { return s == 0; }
  /// The codes that a plan itself can cause, and the commonest of the rest; aclGetRecentErrMsg knows more.
  static const char* text(status_type s) noexcept {
    switch (s) {
      case 0: return "success";
      case 100001: return "AscendCL is not initialised";
      case 107002: return "the thread has no context";
      case 107003: return "the stream is not in the current context";
      case 107024: return "a captured wait whose record is not captured";
      case 107025: return "the capture has a stream that does not join its origin";
      case 107027: return "the stream is being captured";
      case 107029: return "the stream is not being captured";
      case 107030: return "not allowed during capture";
      case 107031: return "the default stream cannot be captured";
      case 107032: return "the event and the stream belong to different captures";
      case 107036: return "the capture did not begin on this stream";
      case 207000: return "not supported by this device";
      case 207001: return "out of device memory";
      case 207004: return "no device";
      case 207007: return "no more events";
      case 207008: return "no more streams";
      case 507015: return "a task failed on an AI core";
      case 507899: return "the driver failed";
      default: return "see the list of AscendCL error codes";
    }
  }
  /// Whether the code reports a failed task, which may be any that was enqueued earlier.
  static bool asynchronous(status_type s) noexcept {
    return (s >= 507010 && s <= 507020) || (s >= 507034 && s <= 507036) || (s >= 507042 && s <= 507045) ||
           (s >= 507048 && s <= 507057);
  }

  // ---- event_source, stream_source

  status_type create_event(event_type& out) noexcept {
    if constexpr (Kind == ascend_events::classic) return aclrtCreateEventWithFlag(&out, ACL_EVENT_SYNC);
    else return aclrtCreateEventExWithFlag(&out, ACL_EVENT_SYNC);
  }
  /// Only after the waits for it are through: AscendCL, unlike CUDA, asks for that.
  status_type destroy_event(event_type event) noexcept { return aclrtDestroyEvent(event); }

  /// A stream that stops at a failed task.
  status_type create_stream(stream_type& out) noexcept {
    stream_type made = nullptr;
    aclError status = aclrtCreateStreamWithConfig(&made, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC);
    if (status != 0) return status;
    status = stop_on_failure(made);
    if (status != 0) {
      static_cast<void>(aclrtDestroyStream(made));
      return status;
    }
    out = made;
    return status;
  }
  status_type destroy_stream(stream_type stream) noexcept { return aclrtDestroyStream(stream); }
  /// Has a stream given by the framework stop at a failed task; once per stream, for good, and for its whole context.
  status_type stop_on_failure(stream_type stream) noexcept {
    return aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE);
  }

  // ---- event_limit_backend

  status_type available_events(std::uint64_t& out) noexcept {
    std::uint32_t count = 0;
    const aclError status = aclrtGetEventAvailNum(&count);
    if (status == 0) out = count;
    return status;
  }

  // ---- sync_backend, polled_backend, host_function_backend

  status_type synchronize(stream_type stream) noexcept { return aclrtSynchronizeStream(stream); }
  /// Tells nothing of tasks that failed: `synchronize` does, and of an idle stream at once.
  status_type is_idle(stream_type stream, bool& idle) noexcept {
    aclrtStreamStatus found = ACL_STREAM_STATUS_NOT_READY;
    const aclError status = aclrtStreamQuery(stream, &found);
    idle = status == 0 && found == ACL_STREAM_STATUS_COMPLETE;
    return status;
  }
  status_type enqueue(stream_type stream, void (*f)(void*), void* argument) noexcept {
    return aclrtLaunchHostFunc(stream, f, argument);
  }

  // ---- timed_backend

  /// An Ex event of either backend: the time line is no matter of resets.
  status_type create_timed_event(timed_event_type& out) noexcept {
    return aclrtCreateEventExWithFlag(&out.handle, ACL_EVENT_TIME_LINE);
  }
  status_type destroy_timed_event(timed_event_type event) noexcept { return aclrtDestroyEvent(event.handle); }
  status_type record_timed(timed_event_type event, stream_type stream) noexcept {
    return aclrtRecordEvent(event.handle, stream);
  }
  status_type elapsed(timed_event_type from, timed_event_type to, std::chrono::nanoseconds& out) noexcept {
    float ms = 0;
    const aclError status = aclrtEventElapsedTime(&ms, from.handle, to.handle);
    if (status == 0)
      out = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double, std::milli>(ms));
    return status;
  }

  // ---- capture_backend: into a model-RI, which is executable as it is (not on the 910 and the 200I/500)

  /// Thread-local mode: other threads of the framework may go on calling what a capture forbids.
  status_type begin_capture(stream_type stream) noexcept {
    return aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL);
  }
  status_type end_capture(stream_type stream, captured_type& out) noexcept {
    aclmdlRI made = nullptr;
    const aclError status = aclmdlRICaptureEnd(stream, &made);
    if (status == 0) out = made;
    return status;
  }
  status_type launch_captured(captured_type graph, stream_type stream) noexcept {
    return aclmdlRIExecuteAsync(graph, stream);
  }
  status_type destroy_captured(captured_type graph) noexcept { return aclmdlRIDestroy(graph); }
};

/// With events as CUDA's: what new code uses.
using ascend_backend = basic_ascend_backend<ascend_events::ex>;
/// With events that a wait resets: for frameworks that hand out such, and runtimes without the others.
using ascend_classic_backend = basic_ascend_backend<ascend_events::classic>;

static_assert(event_source<ascend_backend> && stream_source<ascend_backend> && sync_backend<ascend_backend> &&
              polled_backend<ascend_backend> && host_function_backend<ascend_backend> &&
              timed_backend<ascend_backend> && capture_backend<ascend_backend> && event_limit_backend<ascend_backend>);

}  // namespace hocket::inline HOCKET_ABI::launch
