// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: hocket: this backend has handles of its own: give drive the streams and the events, by the list's numbers
#include <hocket/launch/bridges/graph.hpp>

struct handle {};
struct device {
  using stream_type = handle;
  using event_type = handle;
  using status_type = int;
  int record(handle, handle) noexcept { return 0; }
  int wait(handle, handle) noexcept { return 0; }
  static bool ok(int status) noexcept { return status == 0; }
  static const char* text(int) noexcept { return ""; }
};

bool issue(const hocket::launch::steady_commands& plan, std::span<const handle> handles) {
  device d;
  const auto launch = [](hocket::node_id, handle) {};
#ifdef CORRECTED
  return drive_step(d, plan, 0, handles, handles, launch).complete;
#else
  static_cast<void>(handles);
  return drive_step(d, plan, 0, launch).complete;
#endif
}
