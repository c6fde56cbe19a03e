// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as a list of commands: accepted exactly if a slow reading of the rules accepts it. What is accepted
// finishes, in whichever order the streams are looked at.
#include "fuzz.hpp"

#include <hocket/launch/command.hpp>

#include <array>
#include <set>

namespace {

using hocket::launch::command;
using hocket::launch::command_kind;

constexpr std::size_t streams = 4;

bool is_legal(const std::vector<command>& list) {
  std::set<std::uint32_t> recorded;
  for (const command& c : list) {
    if (c.stream >= streams) return false;
    if (c.kind == command_kind::run) continue;
    if (c.id >= list.size()) return false;
    if (c.kind == command_kind::record) recorded.insert(c.id);
    else if (!recorded.contains(c.id)) return false;
  }
  return true;
}

// Queues of commands; a wait is for the last record of its event that was issued before it.
void require_end(const std::vector<command>& list, bool last_stream_first) {
  std::array<std::vector<std::size_t>, streams> queue;
  for (std::size_t i = 0; i < list.size(); ++i) queue[list[i].stream].push_back(i);
  std::array<std::size_t, streams> next{};
  std::vector<bool> done(list.size());
  const auto may_run = [&](std::size_t i) {
    if (list[i].kind != command_kind::wait) return true;
    for (std::size_t k = i; k-- > 0;)
      if (list[k].kind == command_kind::record && list[k].id == list[i].id) return bool(done[k]);
    return false;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t k = 0; k < streams; ++k) {
      const std::size_t s = last_stream_first ? streams - 1 - k : k;
      while (next[s] < queue[s].size() && may_run(queue[s][next[s]])) {
        done[queue[s][next[s]++]] = true;
        moved = true;
      }
    }
  }
  for (std::size_t s = 0; s < streams; ++s) fuzz::require(next[s] == queue[s].size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<command> list;
  for (std::size_t i = 0; i + 1 < size && list.size() < 200; i += 2)
    list.push_back({std::uint32_t{data[i + 1]} % 16, static_cast<std::uint16_t>(data[i] / 4 % 5),
                    static_cast<command_kind>(data[i] % 4 % 3), 0});
  const auto made = hocket::launch::command_list::make(list, streams);
  fuzz::require(made.has_value() == is_legal(list));
  if (!made) {
    fuzz::require(!message(made.error()).empty());
    return 0;
  }
  std::size_t ops = 0, waits = 0;
  for (const command& c : list) {
    ops += c.kind == command_kind::run ? 1u : 0u;
    waits += c.kind == command_kind::wait ? 1u : 0u;
  }
  fuzz::require(made->op_count() == ops && made->wait_count() == waits && made->size() == list.size());
  require_end(list, false);
  require_end(list, true);
  return 0;
}
