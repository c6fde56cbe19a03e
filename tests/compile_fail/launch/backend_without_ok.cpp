// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The member is there, but misspelt.
// expect: hocket: a backend needs `static bool ok(status_type) noexcept`
#include <hocket/launch/drive.hpp>

struct device {
  using stream_type = int;
  using event_type = int;
  using status_type = int;
  int record(int, int) noexcept { return 0; }
  int wait(int, int) noexcept { return 0; }
#ifdef CORRECTED
  static bool ok(int status) noexcept { return status == 0; }
#else
  static bool okay(int status) noexcept { return status == 0; }
#endif
  static const char* text(int) noexcept { return ""; }
};

bool issue(const hocket::launch::command_list& list, std::span<const int> streams, std::span<const int> events) {
  device d;
  return hocket::launch::drive(d, list, streams, events, [](hocket::node_id, int) {}).complete;
}
