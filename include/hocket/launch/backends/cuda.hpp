// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opt-in: needs NVIDIA's cuda_runtime_api.h on the include path and a cudart to link; no .cu, no nvcc.
#pragma once
#include <cuda_runtime_api.h>
#include <hocket/launch/backend.hpp>
#include <hocket/launch/device_probe.hpp>

#include <chrono>
#include <cstdint>
#include <ratio>

namespace hocket::inline HOCKET_ABI::launch {

/// CUDA streams and events through the runtime API. Holds nothing: streams and events are the framework's, or made
/// here on request (and then destroyed by whoever made them: `event_pool` does).
///
/// A failure comes back as the call's own return code. cudaGetLastError is never called: it would take, and clear, an
/// error that belongs to the framework. Faults of kernels surface from any later call; `asynchronous(status)` says so.
///
/// A thread that has no current device gets device 0 by its first call. Frameworks with several devices set the device
/// around `drive`, as around every launch of theirs.
///
///     hocket::launch::cuda_backend cuda;
///     hocket::launch::event_pool events(cuda);
///     if (auto ready = events.prepare(list); !ready) return ready.error();
///     auto done = drive(cuda, list, streams, events.events(), [&](hocket::node_id op, cudaStream_t s) {
///       return launch_kernel(op, s);                       // cudaError_t
///     });
class cuda_backend {
 public:
  using stream_type = cudaStream_t;
  using event_type = cudaEvent_t;
  using status_type = cudaError_t;
  struct timed_event_type {
    cudaEvent_t handle = nullptr;
  };
  using captured_type = cudaGraphExec_t;

  static constexpr bool capture_allows_host_function = true;

  /// Whether there is a device. Creates no context.
  /// Where there is none, this call's code stays behind as the runtime's last error, as with every failed call.
  [[nodiscard]] static device_probe probe() noexcept {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);  // leaves `count` alone on failure
    device_probe found{device_state::other, static_cast<std::int64_t>(status), 0};
    if (status == cudaSuccess) {
      found.state = count > 0 ? device_state::ready : device_state::no_device;
      found.devices = count;
    } else if (status == cudaErrorInsufficientDriver) {
      int version = 0;  // of the driver; succeeds without one, and then says 0
      const bool present = cudaDriverGetVersion(&version) == cudaSuccess && version > 0;
      found.state = present ? device_state::old_driver : device_state::no_driver;
    } else if (status == cudaErrorStubLibrary) {
      found.state = device_state::stub_driver;
    } else if (status == cudaErrorNoDevice) {
      found.state = device_state::no_device;
    }
    return found;
  }

  status_type record(event_type event, stream_type stream) noexcept { return cudaEventRecord(event, stream); }
  /// Binds to the latest record issued before. CUDA lets a wait on an event that was never recorded pass at once: a
  /// race, not a hang. `command_list` refuses such lists.
  status_type wait(stream_type stream, event_type event) noexcept { return cudaStreamWaitEvent(stream, event, 0); }

  static bool ok(status_type s) noexcept { return s == cudaSuccess; }
  static const char* text(status_type s) noexcept { return cudaGetErrorString(s); }
  /// Whether the code reports a fault on the device, which may come from anything enqueued earlier. Most of these stay
  /// with the process: every later call returns them, too.
  static bool asynchronous(status_type s) noexcept {
    switch (s) {
      case cudaErrorECCUncorrectable:
      case cudaErrorIllegalAddress:
      case cudaErrorLaunchTimeout:
      case cudaErrorAssert:
      case cudaErrorHardwareStackError:
      case cudaErrorIllegalInstruction:
      case cudaErrorMisalignedAddress:
      case cudaErrorInvalidAddressSpace:
      case cudaErrorInvalidPc:
      case cudaErrorLaunchFailure:
      case cudaErrorContextIsDestroyed:
      case cudaErrorUnknown: return true;
      default: return false;
    }
  }

  // ---- event_source, stream_source

  /// Without timing, which is the fast form.
  status_type create_event(event_type& out) noexcept {
    return cudaEventCreateWithFlags(&out, static_cast<unsigned>(cudaEventDisableTiming));
  }
  /// Work that still waits for it is not disturbed.
  status_type destroy_event(event_type event) noexcept { return cudaEventDestroy(event); }

  /// Not tied to the legacy default stream, which would order everything behind everything.
  status_type create_stream(stream_type& out) noexcept {
    return cudaStreamCreateWithFlags(&out, static_cast<unsigned>(cudaStreamNonBlocking));
  }
  status_type destroy_stream(stream_type stream) noexcept { return cudaStreamDestroy(stream); }

  // ---- sync_backend, polled_backend, host_function_backend

  status_type synchronize(stream_type stream) noexcept { return cudaStreamSynchronize(stream); }
  /// "Not ready" is an answer and no failure; any other code is, and then `idle` stays false.
  status_type is_idle(stream_type stream, bool& idle) noexcept {
    const cudaError_t status = cudaStreamQuery(stream);
    idle = status == cudaSuccess;
    return status == cudaErrorNotReady ? cudaSuccess : status;
  }
  /// f(argument) runs on a thread of the driver when the stream gets there. It must not call CUDA, and is *not* called
  /// once the context has failed: do not free memory or count completions in it alone.
  status_type enqueue(stream_type stream, void (*f)(void*), void* argument) noexcept {
    return cudaLaunchHostFunc(stream, f, argument);
  }

  // ---- timed_backend

  status_type create_timed_event(timed_event_type& out) noexcept {
    return cudaEventCreateWithFlags(&out.handle, static_cast<unsigned>(cudaEventDefault));
  }
  status_type destroy_timed_event(timed_event_type event) noexcept { return cudaEventDestroy(event.handle); }
  status_type record_timed(timed_event_type event, stream_type stream) noexcept {
    return cudaEventRecord(event.handle, stream);
  }
  /// CUDA reports single-precision milliseconds, about half a microsecond fine.
  status_type elapsed(timed_event_type from, timed_event_type to, std::chrono::nanoseconds& out) noexcept {
    float ms = 0;
    const cudaError_t status = cudaEventElapsedTime(&ms, from.handle, to.handle);
    if (status == cudaSuccess)
      out = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double, std::milli>(ms));
    return status;
  }

  // ---- capture_backend

  /// Thread-local mode: other threads of the framework may go on calling what a capture forbids.
  status_type begin_capture(stream_type stream) noexcept {
    return cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  }
  status_type end_capture(stream_type stream, captured_type& out) noexcept {
    cudaGraph_t graph = nullptr;
    cudaError_t status = cudaStreamEndCapture(stream, &graph);
    if (status != cudaSuccess) return status;
    cudaGraphExec_t made = nullptr;
    status = cudaGraphInstantiateWithFlags(&made, graph, 0);
    static_cast<void>(cudaGraphDestroy(graph));  // the executable form stands on its own
    if (status == cudaSuccess) out = made;
    return status;
  }
  status_type launch_captured(captured_type graph, stream_type stream) noexcept {
    return cudaGraphLaunch(graph, stream);
  }
  status_type destroy_captured(captured_type graph) noexcept { return cudaGraphExecDestroy(graph); }
};

static_assert(event_source<cuda_backend> && stream_source<cuda_backend> && sync_backend<cuda_backend> &&
              polled_backend<cuda_backend> && host_function_backend<cuda_backend> && timed_backend<cuda_backend> &&
              capture_backend<cuda_backend>);

}  // namespace hocket::inline HOCKET_ABI::launch
