// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Record and wait take their arguments in different orders; types of their own for the handles let the compiler see it.
// expect: hocket: a backend needs `status_type wait(stream_type, event_type) noexcept`
#include <hocket/launch/drive.hpp>

struct stream {};
struct event {};
struct device {
  using stream_type = stream;
  using event_type = event;
  using status_type = int;
  int record(event, stream) noexcept { return 0; }
#ifdef CORRECTED
  int wait(stream, event) noexcept { return 0; }
#else
  int wait(event, stream) noexcept { return 0; }
#endif
  static bool ok(int status) noexcept { return status == 0; }
  static const char* text(int) noexcept { return ""; }
};

bool issue(const hocket::launch::command_list& list, std::span<const stream> streams, std::span<const event> events) {
  device d;
  return hocket::launch::drive(d, list, streams, events, [](hocket::node_id, stream) {}).complete;
}
