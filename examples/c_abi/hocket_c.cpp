// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one translation unit of a C++17 host that is compiled as C++20. No exception and no C++ type crosses the border.
#include "hocket_c.h"

#include <hocket/core/message.hpp>
#include <hocket/graph.hpp>
#include <hocket/launch.hpp>
#include <hocket/launch/bridges/graph.hpp>

#include <cstdio>
#include <new>
#include <string>

struct hocket_plan {
  hocket::launch::command_list list;
};

namespace {

// The host's table as a backend. Its handles are the plan's own numbers, which the host maps to what it has.
struct table_backend {
  using stream_type = hocket::stream_id;
  using event_type = hocket::event_id;
  using status_type = int;
  const hocket_backend* host;
  int record(event_type event, stream_type stream) noexcept { return host->record(host->context, event, stream); }
  int wait(stream_type stream, event_type event) noexcept { return host->wait(host->context, stream, event); }
  static bool ok(int status) noexcept { return status == 0; }
  static const char* text(int) noexcept { return "a status of the host's own"; }
};

struct program {
  const hocket_op* ops;
  std::size_t count;
};

}  // namespace

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program& p) { return p.count; }
  static hocket::stream_id stream(const program& p, node n) { return p.ops[n].stream; }
  static void for_each_read(const program& p, node n, auto&& f) {
    for (std::size_t i = 0; i < p.ops[n].read_count; ++i) f(p.ops[n].reads[i]);
  }
  static void for_each_write(const program& p, node n, auto&& f) {
    for (std::size_t i = 0; i < p.ops[n].write_count; ++i) f(p.ops[n].writes[i]);
  }
};

namespace {

thread_local char last_message[256] = "ok";

int fail(int code, const char* text) {
  std::snprintf(last_message, sizeof last_message, "%s", text);
  return code;
}
int fail(const hocket::error& e) { return fail(static_cast<int>(e.code), hocket::message(e).c_str()); }

hocket::result<hocket::launch::command_list> plan(const program& p) {
  using namespace hocket;
  const auto deps = graph::dependencies(p);
  if (!deps) return deps.error();
  const auto streams = graph::stream_plan::make(deps->graph(), p);
  if (!streams) return streams.error();
  const auto list = launch::from_graph(*streams);
  if (!list) return list.error();
  return launch::reuse_events(*list);
}

}  // namespace

extern "C" {

int hocket_plan_create(const hocket_op* ops, size_t op_count, hocket_plan** out) {
#if HOCKET_HAS_EXCEPTIONS
  try {
#endif
    auto list = plan({ops, op_count});
    if (!list) return fail(list.error());
    *out = new hocket_plan{std::move(*list)};
    return 0;
#if HOCKET_HAS_EXCEPTIONS
  } catch (const std::bad_alloc&) {
    return fail(static_cast<int>(hocket::errc::out_of_memory), "out of memory while planning");
  } catch (...) {
    return fail(static_cast<int>(hocket::errc::invalid_argument), "unexpected exception while planning");
  }
#endif
}

void hocket_plan_destroy(hocket_plan* plan) { delete plan; }

uint32_t hocket_plan_streams(const hocket_plan* plan) { return plan->list.stream_count(); }
uint32_t hocket_plan_events(const hocket_plan* plan) { return plan->list.event_count(); }
uint32_t hocket_plan_waits(const hocket_plan* plan) { return plan->list.wait_count(); }

int hocket_plan_drive(const hocket_plan* plan, const hocket_backend* backend, size_t* issued) {
  *issued = 0;
  if (backend->struct_size < sizeof(hocket_backend))
    return fail(static_cast<int>(hocket::errc::invalid_argument), "hocket_backend: struct_size is too small");
  table_backend b{backend};
  const auto done = hocket::launch::drive(b, plan->list, [&](hocket::node_id op, hocket::stream_id stream) {
    return backend->launch(backend->context, op, stream);
  });
  *issued = done.issued;
  if (done.complete) return 0;
  fail(hocket::launch::to_result(done).error());
  return done.status;
}

const char* hocket_message(void) { return last_message; }

}  // extern "C"
