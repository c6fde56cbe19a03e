// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The laws make events, which a plan does not.
// expect: hocket: the laws of a backend need `status_type create_event(event_type&) noexcept` and `status_type
// destroy_event(event_type) noexcept`
#include <hocket/testing/backend_laws.hpp>

struct device {
  using stream_type = int;
  using event_type = int;
  using status_type = int;
  int record(int, int) noexcept { return 0; }
  int wait(int, int) noexcept { return 0; }
  int synchronize(int) noexcept { return 0; }
#ifdef CORRECTED
  int create_event(int&) noexcept { return 0; }
  int destroy_event(int) noexcept { return 0; }
#endif
  int enqueue(int, void (*)(void*), void*) noexcept { return 0; }
  static bool ok(int s) noexcept { return s == 0; }
  static const char* text(int) noexcept { return ""; }
};

std::string f(device& d, const std::vector<int>& streams) { return hocket::testing::broken_law(d, streams); }
