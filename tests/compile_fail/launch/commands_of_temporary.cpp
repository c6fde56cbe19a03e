// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A view of commands may not outlive its list.
// expect: deleted
#include <hocket/launch/reuse_events.hpp>

std::size_t count(const hocket::launch::command_list& list) {
#ifdef CORRECTED
  const auto reused = hocket::launch::reuse_events(list);
  return reused.commands().size();
#else
  return hocket::launch::reuse_events(list).commands().size();
#endif
}
