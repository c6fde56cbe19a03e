// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/launch/command.hpp>

namespace hocket::inline HOCKET_ABI::launch {

/// A command list for devices on which waiting uses a record up (`wait_resets_event`: classic Ascend events): every
/// event is recorded once and waited for at most once. `drive` on such a backend takes no other list.
/// Events are not reused within the list. It would not do that the stream which waited records the event next: whoever
/// waits for that second record might still see the first, before the reset behind it.
/// Two replays without a synchronisation in between need a fence: `single_wait_list::make(fenced(list))`.
class single_wait_list : public command_list {
 public:
  /// The same list with one record and one event per wait. A record that nobody waits for keeps an event to itself.
  /// errc::limit_exceeded if the list grows past 2^32 - 2 commands.
  /// Complexity: O(commands).
  ///
  ///     // op 0 -> record 0 -> waited for by streams 1 and 2: becomes two records of two events
  ///     auto list = hocket::launch::single_wait_list::make(plan).value();
  ///     list.event_count() == 2;
  [[nodiscard]] static result<single_wait_list> make(const command_list& list) {
    constexpr std::size_t none = static_cast<std::size_t>(-1);
    // Which waits bind to which record: a chain per record, first to last.
    std::vector<std::size_t> latest(list.event_count());  // per event: index of its latest record
    std::vector<std::size_t> first(list.size(), none), last(list.size(), none), next(list.size(), none);
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].kind == command_kind::record) {
        latest[list[i].id] = i;
      } else if (list[i].kind == command_kind::wait) {
        const std::size_t r = latest[list[i].id];
        (first[r] == none ? first[r] : next[last[r]]) = i;
        last[r] = i;
      }
    }
    std::vector<command> out;
    out.reserve(list.size() + list.wait_count());
    std::vector<event_id> event_of(list.size(), no_id);  // per wait
    event_id made = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const command c = list[i];
      if (c.kind == command_kind::run) {
        out.push_back(c);
      } else if (c.kind == command_kind::wait) {
        out.push_back(wait_event(event_of[i], c.stream));
      } else {
        if (first[i] == none) out.push_back(record_event(made++, c.stream));
        for (std::size_t w = first[i]; w != none; w = next[w]) {
          event_of[w] = made;
          out.push_back(record_event(made++, c.stream));
        }
      }
    }
    auto checked = command_list::make(out, list.stream_count());
    if (!checked) return checked.error();
    return single_wait_list(static_cast<command_list&&>(*checked));
  }

 private:
  explicit single_wait_list(command_list&& list) : command_list(static_cast<command_list&&>(list)) {}
};

}  // namespace hocket::inline HOCKET_ABI::launch
