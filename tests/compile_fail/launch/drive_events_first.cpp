// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: hocket: drive takes the streams before the events: drive(backend, list, streams, events, launch)
#include <hocket/launch/drive.hpp>

#include <vector>

struct stream {};
struct event {};
struct device {
  using stream_type = stream;
  using event_type = event;
  using status_type = int;
  int record(event, stream) noexcept { return 0; }
  int wait(stream, event) noexcept { return 0; }
  static bool ok(int status) noexcept { return status == 0; }
  static const char* text(int) noexcept { return ""; }
};

bool issue(const hocket::launch::command_list& list, const std::vector<stream>& streams,
           const std::vector<event>& events) {
  device d;
  const auto launch = [](hocket::node_id, stream) {};
#ifdef CORRECTED
  return hocket::launch::drive(d, list, streams, events, launch).complete;
#else
  return hocket::launch::drive(d, list, events, streams, launch).complete;
#endif
}
