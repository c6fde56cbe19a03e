// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: hocket: a trace needs `void end(std::size_t index, const command&) noexcept`
#include <hocket/launch/backends/inline.hpp>
#include <hocket/launch/drive.hpp>

struct count {
  int begun = 0;
  void begin(std::size_t, const hocket::launch::command&) noexcept { ++begun; }
#ifdef CORRECTED
  void end(std::size_t, const hocket::launch::command&) noexcept {}
#endif
};

bool issue(const hocket::launch::command_list& list) {
  hocket::launch::inline_backend b(list.event_count());
  count trace;
  return hocket::launch::drive(b, list, [](hocket::node_id, hocket::stream_id) {}, trace).complete;
}
