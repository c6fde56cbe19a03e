// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: hocket: drive takes the backend first and then the list: drive(backend, list, streams, events, launch)
#include <hocket/launch/backends/inline.hpp>
#include <hocket/launch/drive.hpp>

bool issue(const hocket::launch::command_list& list) {
  hocket::launch::inline_backend b(1);
  const auto launch = [](hocket::node_id, hocket::stream_id) {};
#ifdef CORRECTED
  return hocket::launch::drive(b, list, launch).complete;
#else
  return hocket::launch::drive(list, b, launch).complete;
#endif
}
