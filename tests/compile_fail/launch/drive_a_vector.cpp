// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Commands that nobody has checked are not driven.
// expect: hocket: what is driven is a command_list: command_list::make(commands, stream_count)
#include <hocket/launch/backends/inline.hpp>
#include <hocket/launch/drive.hpp>

bool issue(const std::vector<hocket::launch::command>& commands) {
  hocket::launch::inline_backend b(1);
#ifdef CORRECTED
  const auto list = hocket::launch::command_list::make(commands, 1).value();
#else
  const auto& list = commands;
#endif
  return hocket::launch::drive(b, list, [](hocket::node_id, hocket::stream_id) {}).complete;
}
