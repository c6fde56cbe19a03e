// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C symbols of AscendCL, on the fake device.
#include <acl/acl.h>

#include "engine.hpp"

namespace {

using fake::engine;
using fake::verdict;

// Numbers of acl/error_codes/rt_error_codes.h; which mistake gives which one: CANN 9.0's reference ("aclError") and the
// published source of the runtime (the map from its internal codes, and where those come from). What the documents
// leave open is marked "ours".
aclError code_of(verdict v) {
  switch (v) {
    case verdict::ok: return ACL_SUCCESS;
    case verdict::bad_handle: return 107000;
    case verdict::no_events: return 207007;
    case verdict::no_streams: return 207008;
    case verdict::timed_out: return 507047;
    case verdict::not_allowed_in_capture: return 107030;  // ours for host functions: "not supported", without a number
    case verdict::already_capturing: return 107027;
    case verdict::default_stream: return 107031;
    case verdict::capture_invalidated: return 507903;
    case verdict::capture_merge: return 107032;      // event and stream of two captures
    case verdict::capture_isolation: return 107024;  // a wait whose record is outside of the capture
    case verdict::capture_unjoined: return 107025;
    case verdict::capture_unmatched: return 107036;
    case verdict::not_capturing: return 107029;
  }
  return 507000;
}

fake::stream* stream_of(aclrtStream s) { return static_cast<fake::stream*>(s); }
fake::event* event_of(aclrtEvent e) { return static_cast<fake::event*>(e); }

template <class F>
aclError call(F f) {
  engine& e = engine::get();
  e.ascend = true;
  if (const int code = e.enter(); code != 0) return code;
  return code_of(f(e));
}

template <class Handle, class Made>
verdict hand_out(Handle* out, Made* made, verdict v) {
  if (v == verdict::ok) *out = made;
  return v;
}

}  // namespace

extern "C" {

aclError aclrtGetDeviceCount(uint32_t* count) {
  engine& e = engine::get();
  if (e.now().probe_code != 0) return e.now().probe_code;
  return call([&](engine& one) {
    *count = static_cast<uint32_t>(one.now().devices);
    return verdict::ok;
  });
}
const char* aclGetRecentErrMsg(void) {
  engine::get().read_last_error();
  return "";
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t, uint32_t) {
  return call([&](engine& e) {
    fake::stream* made = nullptr;
    const verdict v = e.create_stream(made);
    return hand_out(stream, made, v);
  });
}
aclError aclrtCreateStream(aclrtStream* stream) { return aclrtCreateStreamWithConfig(stream, 0, 0); }
aclError aclrtDestroyStream(aclrtStream stream) {
  return call([&](engine& e) { return e.destroy_stream(stream_of(stream)); });
}
aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
  return call([&](engine& e) {
    if (mode == ACL_STOP_ON_FAILURE) e.stop_on_failure(stream_of(stream));
    return verdict::ok;
  });
}
aclError aclrtSynchronizeStream(aclrtStream stream) {
  const aclError status = call([&](engine& e) { return e.synchronize(stream_of(stream)); });
  if (status != ACL_SUCCESS) return status;
  return stream_of(stream)->error;
}
aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  return call([&](engine& e) {
    const verdict v = e.query(stream_of(stream));
    if (v != verdict::ok && v != verdict::timed_out) return v;
    *status = v == verdict::ok ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    return verdict::ok;
  });
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  return call([&](engine& e) {
    fake::event* made = nullptr;
    const verdict v = e.create_event(made, true, (flag & ACL_EVENT_TIME_LINE) != 0, (flag & ACL_EVENT_SYNC) != 0);
    return hand_out(event, made, v);
  });
}
aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  return call([&](engine& e) {
    fake::event* made = nullptr;
    const verdict v = e.create_event(made, false, (flag & ACL_EVENT_TIME_LINE) != 0, (flag & ACL_EVENT_SYNC) != 0);
    return hand_out(event, made, v);
  });
}
aclError aclrtDestroyEvent(aclrtEvent event) {
  return call([&](engine& e) { return e.destroy_event(event_of(event)); });
}
aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  return call([&](engine& e) { return e.record(event_of(event), stream_of(stream)); });
}
aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  return call([&](engine& e) { return e.reset_event(event_of(event), stream_of(stream)); });
}
aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  return call([&](engine& e) { return e.wait(stream_of(stream), event_of(event)); });
}
aclError aclrtEventElapsedTime(float* ms, aclrtEvent start, aclrtEvent end) {
  return call([&](engine& e) { return e.elapsed(event_of(start), event_of(end), *ms); });
}
aclError aclrtGetEventAvailNum(uint32_t* count) {
  return call([&](engine& e) {
    *count = static_cast<uint32_t>(e.available_events());
    return verdict::ok;
  });
}
aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args) {
  return call([&](engine& e) { return e.launch(stream_of(stream), [fn, args] { fn(args); }, true); });
}

aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode) {
  return call([&](engine& e) { return e.begin_capture(stream_of(stream)); });
}
aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI* out) {
  return call([&](engine& e) {
    fake::graph* made = nullptr;
    const verdict v = e.end_capture(stream_of(stream), made);
    return hand_out(out, made, v);
  });
}
aclError aclmdlRIExecuteAsync(aclmdlRI graph, aclrtStream stream) {
  return call([&](engine& e) { return e.launch_graph(static_cast<fake::graph*>(graph), stream_of(stream)); });
}
aclError aclmdlRIDestroy(aclmdlRI graph) {
  return call([&](engine& e) {
    e.destroy(static_cast<fake::graph*>(graph));
    return verdict::ok;
  });
}

}  // extern "C"

// What a test calls instead of a kernel. The codes are those of the library that the test has used before.
namespace fake {

int launch(void* s, void (*f)(void*), void* argument) {
  engine& e = engine::get();
  if (const int code = e.enter(); code != 0) return code;
  auto* on = static_cast<stream*>(s);
  if (e.ascend && on->stop_mode && on->error != 0) return on->error;  // takes no new tasks
  const verdict v = e.launch(on, [f, argument] { f(argument); }, false);
  return v == verdict::ok ? 0 : e.ascend ? code_of(v) : v == verdict::capture_invalidated ? 901 : 400;
}
int launch_faulty(void* s, int code) {
  engine& e = engine::get();
  if (const int entered = e.enter(); entered != 0) return entered;
  auto* on = static_cast<stream*>(s);
  const verdict v = e.launch(on, [on, code] { engine::get().fail(on, code); }, false);
  return v == verdict::ok ? 0 : 1;
}

}  // namespace fake
