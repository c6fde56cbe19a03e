// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a test commands the fake device behind the C symbols of cudart and AscendCL. One device per process.
#pragma once
#include <chrono>
#include <cstdint>
#include <limits>

namespace fake {

inline constexpr std::uint64_t never = (std::numeric_limits<std::uint64_t>::max)();

struct settings {
  unsigned seed = 0;              // of the delays and of the order in which a captured graph runs
  unsigned max_delay = 0;         // before each task the stream yields up to so often; 0: no delays
  std::uint64_t fail_at = never;  // the call (from 0) that fails and does nothing
  int fail_code = 999;
  bool sticky = false;  // every call after it fails, too
  std::uint64_t max_events = 65536, max_streams = 1984;
  int devices = 1, driver_version = 13000;
  int probe_code = 0;  // what asking for the number of devices returns
  // What would hang on a device gives up here after this time, is counted, and reported as a failure.
  std::chrono::milliseconds patience{2000};
};

/// Waits for all streams, frees whatever was left, starts anew. The counters begin at 0.
void reset(const settings& s = {});

/// The call after `others` more that can fail does, once, with `settings::fail_code`.
void fail_next(std::uint64_t others = 0);

/// The next call and all after it fail, until `reset`: the device is lost.
void lose();

/// Waits until every stream is idle. Counts as no call: for what queued work still points at.
void settle();

struct counters {
  std::uint64_t calls = 0;  // that can fail
  std::uint64_t created_events = 0, live_events = 0, live_streams = 0, live_graphs = 0;
  std::uint64_t waits_on_nothing = 0;  // waits for an event that was never recorded
  std::uint64_t gave_up = 0;           // waits and records that would have hung
  std::uint64_t last_error_reads = 0;  // cudaGetLastError, aclGetRecentErrMsg: the framework's business
  std::uint64_t host_functions = 0;    // that ran
  std::uint64_t stops_on_failure = 0;  // streams switched to it
};
counters count();

/// A kernel: runs f(argument) on the stream's thread. Unlike a host function, it can be captured everywhere.
/// Counts as a call, and returns the vendor's code.
int launch(void* stream, void (*f)(void*), void* argument);
/// A kernel that ends with this code on the device.
int launch_faulty(void* stream, int code);

}  // namespace fake
