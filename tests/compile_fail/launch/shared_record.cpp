// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: a wait of this backend uses the record up
// Events that a wait resets serve one wait each: a list in which two waits may share a record is not driven.
#include <hocket/launch/drive.hpp>

struct resetting {
  using stream_type = int;
  using event_type = int;
  using status_type = int;
  static constexpr bool wait_resets_event = true;
  int record(int, int) noexcept { return 0; }
  int wait(int, int) noexcept { return 0; }
  static bool ok(int status) noexcept { return status == 0; }
  static const char* text(int) noexcept { return ""; }
};

bool issue(const hocket::launch::command_list& list, std::span<const int> streams, std::span<const int> events) {
  resetting b;
  const auto launch = [](hocket::node_id, int) {};
#ifdef CORRECTED
  return hocket::launch::drive(b, hocket::launch::single_wait_list::make(list).value(), streams, events, launch)
      .complete;
#else
  return hocket::launch::drive(b, list, streams, events, launch).complete;
#endif
}
