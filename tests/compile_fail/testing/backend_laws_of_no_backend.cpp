// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is no backend at all is told the first thing that it lacks.
// expect: hocket: a backend needs `status_type wait(stream_type, event_type) noexcept`
#include <hocket/testing/backend_laws.hpp>

struct device {
  using stream_type = int;
  using event_type = int;
  using status_type = int;
  int record(int, int) noexcept { return 0; }
#ifdef CORRECTED
  int wait(int, int) noexcept { return 0; }
#endif
  int synchronize(int) noexcept { return 0; }
  int create_event(int&) noexcept { return 0; }
  int destroy_event(int) noexcept { return 0; }
  int enqueue(int, void (*)(void*), void*) noexcept { return 0; }
  static bool ok(int s) noexcept { return s == 0; }
  static const char* text(int) noexcept { return ""; }
};

std::string f(device& d, const std::vector<int>& streams) { return hocket::testing::broken_law(d, streams); }
