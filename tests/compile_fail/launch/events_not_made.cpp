// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: hocket: event_pool needs a backend with `status_type create_event(event_type&) noexcept` and `status_type
// destroy_event(event_type) noexcept`
#include <hocket/launch/event_pool.hpp>

struct device {
  using stream_type = int;
  using event_type = int;
  using status_type = int;
  int record(int, int) noexcept { return 0; }
  int wait(int, int) noexcept { return 0; }
  static bool ok(int status) noexcept { return status == 0; }
  static const char* text(int) noexcept { return ""; }
#ifdef CORRECTED
  int create_event(int&) noexcept { return 0; }
  int destroy_event(int) noexcept { return 0; }
#endif
};

std::size_t events(device& d) {
  const hocket::launch::event_pool pool(d);
  return pool.size();
}
