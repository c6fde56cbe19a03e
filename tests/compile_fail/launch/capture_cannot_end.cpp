// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: hocket: capture needs a backend with `captured_type`
#include <hocket/launch/capture.hpp>

struct device {
  using stream_type = int;
  using event_type = int;
  using status_type = int;
  using captured_type = int;
  int record(int, int) noexcept { return 0; }
  int wait(int, int) noexcept { return 0; }
  static bool ok(int status) noexcept { return status == 0; }
  static const char* text(int) noexcept { return ""; }
  int begin_capture(int) noexcept { return 0; }
#ifdef CORRECTED
  int end_capture(int, int&) noexcept { return 0; }
#endif
  int launch_captured(int, int) noexcept { return 0; }
  int destroy_captured(int) noexcept { return 0; }
};

bool take(const hocket::launch::command_list& list, std::span<const int> handles) {
  device d;
  return static_cast<bool>(hocket::launch::capture(d, list, handles, handles, [](hocket::node_id, int) {}));
}
