// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: hocket: a launcher returns the backend's status_type, or nothing
#include <hocket/launch/backends/inline.hpp>
#include <hocket/launch/drive.hpp>

bool issue(const hocket::launch::command_list& list) {
  using hocket::launch::local_status;
  hocket::launch::inline_backend b(list.event_count());
#ifdef CORRECTED
  return hocket::launch::drive(b, list, [](hocket::node_id, hocket::stream_id) { return local_status::ok; }).complete;
#else
  return hocket::launch::drive(b, list, [](hocket::node_id, hocket::stream_id) { return "ok"; }).complete;
#endif
}
