// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/launch/command.hpp>

namespace hocket::inline HOCKET_ABI::launch {

/// The same list between a fork and a join on stream 0: every other stream first waits for stream 0, and at the end
/// stream 0 waits for every other stream. Then two replays may be in flight at once without sharing data wrongly, and a
/// framework sees the whole plan as work of one stream: what stream capture demands. Adds one event and, for S streams
/// that the list uses, S records and 2(S-1) waits.
/// errc::limit_exceeded if the list grows past 2^32 - 2 commands.
[[nodiscard]] inline result<command_list> fenced(const command_list& list) {
  std::vector<bool> used(list.stream_count());
  for (const command& c : list) used[c.stream] = true;
  const event_id fence = list.event_count();
  std::vector<command> out;
  out.reserve(list.size() + 3 * used.size() + 1);
  if (!used.empty()) out.push_back(record_event(fence, 0));
  for (std::size_t s = 1; s < used.size(); ++s)
    if (used[s]) out.push_back(wait_event(fence, static_cast<std::uint16_t>(s)));
  out.insert(out.end(), list.begin(), list.end());
  for (std::size_t s = 1; s < used.size(); ++s) {
    if (!used[s]) continue;
    out.push_back(record_event(fence, static_cast<std::uint16_t>(s)));
    out.push_back(wait_event(fence, 0));
  }
  return command_list::make(out, list.stream_count());
}

}  // namespace hocket::inline HOCKET_ABI::launch
