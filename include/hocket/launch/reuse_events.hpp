// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/launch/command.hpp>

#include <algorithm>

namespace hocket::inline HOCKET_ABI::launch {

/// The same list with as few events as possible: an event is reused once the last wait for its record is issued.
/// Legal where a wait binds to the latest record when it is called (CUDA, Ascend events of the Ex kind, host), and not
/// where a wait resets the event (`wait_resets_event`: see `single_wait_list`). Devices offer 1,023 to 65,536 events;
/// captured steps need tens. Records that nobody waits for keep an event to themselves: the host may be asking for it.
/// The lives of records are intervals of the issue order, so taking the lowest free number is optimal.
/// Complexity: O(commands log events).
[[nodiscard]] inline command_list reuse_events(const command_list& list) {
  constexpr std::size_t never = static_cast<std::size_t>(-1);
  std::vector<std::size_t> latest(list.event_count());     // per event: index of its latest record
  std::vector<std::size_t> last_wait(list.size(), never);  // per record: index of the last wait that binds to it
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].kind == command_kind::record) latest[list[i].id] = i;
    else if (list[i].kind == command_kind::wait) last_wait[latest[list[i].id]] = i;
  }
  std::vector<command> out(list.begin(), list.end());
  std::vector<event_id> free;  // a heap with the lowest on top
  const auto later = [](event_id x, event_id y) { return x > y; };
  event_id made = 0;
  std::vector<event_id> now(list.event_count());  // per old event: the new one of its latest record
  for (std::size_t i = 0; i < out.size(); ++i) {
    command& c = out[i];
    const event_id old = c.id;
    if (c.kind == command_kind::record) {
      latest[old] = i;
      if (free.empty()) {
        now[old] = c.id = made++;
      } else {
        std::pop_heap(free.begin(), free.end(), later);
        now[old] = c.id = free.back();
        free.pop_back();
      }
    } else if (c.kind == command_kind::wait) {
      c.id = now[old];
      if (last_wait[latest[old]] != i) continue;
      free.push_back(c.id);
      std::push_heap(free.begin(), free.end(), later);
    }
  }
  return command_list::make(out, list.stream_count()).value();
}

}  // namespace hocket::inline HOCKET_ABI::launch
