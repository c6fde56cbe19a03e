// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: hocket: a launcher is called as `launch(op, stream)` or `launch(op, phase, stream)`
#include <hocket/launch/backends/inline.hpp>
#include <hocket/launch/drive.hpp>

struct handle {};

bool issue(const hocket::launch::command_list& list) {
  hocket::launch::inline_backend b(list.event_count());
#ifdef CORRECTED
  return hocket::launch::drive(b, list, [](hocket::node_id, hocket::stream_id) {}).complete;
#else
  return hocket::launch::drive(b, list, [](hocket::node_id, handle) {}).complete;
#endif
}
