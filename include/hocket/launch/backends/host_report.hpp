// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string_view>

namespace hocket::inline HOCKET_ABI::launch {

enum class host_status : std::uint8_t {
  ok,
  op_failed,         ///< an op returned a code other than 0
  op_threw,          ///< an op ended with an exception
  unrecorded_event,  ///< a wait on an event that was never recorded
  out_of_memory,     ///< nothing was enqueued
  cancelled,         ///< ops were skipped because of `cancel`
  forked,            ///< this is a forked child of the process whose threads the streams are: nothing runs here
};

[[nodiscard]] constexpr std::string_view to_string(host_status s) noexcept {
  switch (s) {
    case host_status::ok: return "ok";
    case host_status::op_failed: return "an op returned a failure code";
    case host_status::op_threw: return "an op threw an exception";
    case host_status::unrecorded_event: return "wait on an event that was never recorded";
    case host_status::out_of_memory: return "out of memory: nothing was enqueued";
    case host_status::cancelled: return "cancelled: ops that had not begun were skipped";
    case host_status::forked: return "the process was forked: the streams have no threads in the child";
  }
  return "unknown status";
}

/// What a `host_backend` reports: the first failure, and how much was not run because of it.
struct host_report {
  host_status status = host_status::ok;
  node_id op = no_id;        ///< the op that failed; no_id for a closure given to enqueue()
  stream_id stream = no_id;  ///< its stream
  std::uint8_t phase = 0;
  int code = 0;                  ///< what it returned
  std::size_t skipped = 0;       ///< ops and closures that were not run: what they wait for failed, or by `cancel`
  std::exception_ptr exception;  ///< what it threw; rethrow it, or let it go

  explicit operator bool() const noexcept { return status == host_status::ok; }
};

}  // namespace hocket::inline HOCKET_ABI::launch
