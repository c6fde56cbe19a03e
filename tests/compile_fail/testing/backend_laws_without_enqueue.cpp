// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The laws put work on streams, which a plan leaves to the launcher.
// expect: hocket: the laws put work on streams by `status_type enqueue(stream_type, void (*)(void*), void*) noexcept`
#include <hocket/testing/backend_laws.hpp>

struct device {
  using stream_type = int;
  using event_type = int;
  using status_type = int;
  int record(int, int) noexcept { return 0; }
  int wait(int, int) noexcept { return 0; }
  int synchronize(int) noexcept { return 0; }
  int create_event(int&) noexcept { return 0; }
  int destroy_event(int) noexcept { return 0; }
#ifdef CORRECTED
  int enqueue(int, void (*)(void*), void*) noexcept { return 0; }
#endif
  static bool ok(int s) noexcept { return s == 0; }
  static const char* text(int) noexcept { return ""; }
};

std::string f(device& d, const std::vector<int>& streams) { return hocket::testing::broken_law(d, streams); }
