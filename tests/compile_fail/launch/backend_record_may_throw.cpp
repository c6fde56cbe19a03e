// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// never: a launcher returns
// expect: hocket: a backend needs `status_type record(event_type, stream_type) noexcept`
#include <hocket/launch/drive.hpp>

struct device {
  using stream_type = int;
  using event_type = int;
  using status_type = int;
#ifdef CORRECTED
  int record(int, int) noexcept { return 0; }
#else
  int record(int, int) { return 0; }
#endif
  int wait(int, int) noexcept { return 0; }
  static bool ok(int status) noexcept { return status == 0; }
  static const char* text(int) noexcept { return ""; }
};

bool issue(const hocket::launch::command_list& list, std::span<const int> streams, std::span<const int> events) {
  device d;
  return hocket::launch::drive(d, list, streams, events, [](hocket::node_id, int) {}).complete;
}
