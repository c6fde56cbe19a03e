// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pointer into a list that is gone at the end of the expression. A range-for over a returned list is fine.
// expect: deleted
#include <hocket/launch/reuse_events.hpp>

std::size_t first_id(const hocket::launch::command_list& list) {
#ifdef CORRECTED
  std::size_t sum = 0;
  for (const hocket::launch::command& c : hocket::launch::reuse_events(list)) sum += c.id;
  return sum;
#else
  const hocket::launch::command* const first = hocket::launch::reuse_events(list).begin();
  return first->id;
#endif
}
