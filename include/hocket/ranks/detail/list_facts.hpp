// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/ranks/machine.hpp>
#include <hocket/ranks/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::ranks::detail {

/// What a list uses, and what each of its threads does: found once for all ranks that share it.
struct list_facts {
  std::pmr::vector<std::uint32_t> streams;        ///< those used, ascending; a dense number is a place in here
  std::pmr::vector<std::uint32_t> events;         ///< the same
  std::pmr::vector<std::uint32_t> communicators;  ///< the same
  /// By thread: places of its ops. A group is one op, at the place where it begins.
  std::pmr::vector<std::pmr::vector<std::uint32_t>> threads;
  /// Whether the order in which threads come to their ops can matter.
  bool races = false;

  explicit list_facts(std::pmr::memory_resource* memory)
      : streams(memory), events(memory), communicators(memory), threads(memory) {}

  [[nodiscard]] static std::uint32_t place(const std::pmr::vector<std::uint32_t>& in, std::uint32_t what) noexcept {
    return static_cast<std::uint32_t>(std::lower_bound(in.begin(), in.end(), what) - in.begin());
  }
};

[[nodiscard]] constexpr bool names_event(op_kind kind) noexcept {
  return kind == op_kind::record || kind == op_kind::wait || kind == op_kind::synchronize_event;
}
[[nodiscard]] constexpr bool names_stream(op_kind kind) noexcept {
  return is_enqueued(kind) || kind == op_kind::synchronize_stream;
}

/// Whether the host waits until a call is complete.
[[nodiscard]] constexpr bool blocks_host(const op& call, const machine& m) noexcept {
  if (call.returns == host_return::by_machine) return !m.enqueue_returns;
  return call.returns == host_return::when_complete;
}

/// One past the last op of what begins at `at`: a group, or a single op.
[[nodiscard]] constexpr std::size_t end_of_call(std::span<const op> list, std::size_t at) noexcept {
  if (list[at].kind != op_kind::group_begin) return at + 1;
  while (list[at].kind != op_kind::group_end) ++at;
  return at + 1;
}

inline void sort_unique(std::pmr::vector<std::uint32_t>& all) {
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

/// Whether two threads touch one stream, event, communicator or queue, or one of several waits for the whole device:
/// then who comes first may decide. Otherwise each has its own part of the rank.
[[nodiscard]] inline bool threads_race(std::span<const op> list, const machine& m, std::pmr::memory_resource* memory) {
  if (m.order != launch_order::free) return true;
  struct use {
    std::uint32_t kind, what, peer, tag, thread;
    auto operator<=>(const use&) const = default;
  };
  const bool whole_communicators = m.serial_communicators || m.connects_on_first_use;
  std::pmr::vector<use> uses(memory);
  for (const op& o : list) {
    const std::uint32_t t = o.thread;
    if (o.kind == op_kind::synchronize_device) return true;
    if (is_communication(o.kind)) {
      const bool alone = !is_collective(o.kind) && !whole_communicators;
      const auto kind = alone ? static_cast<std::uint32_t>(o.kind) : 0;
      uses.push_back({kind, o.communicator, alone ? o.peer : 0, alone ? o.tag : 0, t});
    }
    if (names_event(o.kind)) uses.push_back({100, o.tag, 0, 0, t});
    if (!names_stream(o.kind)) continue;
    uses.push_back({101, o.stream, 0, 0, t});
    if (m.hardware_queues != 0) uses.push_back({102, o.stream % m.hardware_queues, 0, 0, t});
  }
  std::sort(uses.begin(), uses.end());
  for (std::size_t i = 1; i < uses.size(); ++i) {
    const use &a = uses[i - 1], &b = uses[i];
    const bool same = a.kind == b.kind && a.what == b.what && a.peer == b.peer && a.tag == b.tag;
    if (same && a.thread != b.thread) return true;
  }
  return false;
}

/// Facts of a list. O(ops · log ops).
[[nodiscard]] inline list_facts facts_of(std::span<const op> list, const machine& m,
                                         std::pmr::memory_resource* memory) {
  list_facts out(memory);
  std::uint8_t last_thread = 0;
  for (const op& o : list) last_thread = (std::max)(last_thread, o.thread);
  out.threads.resize(std::size_t{last_thread} + 1);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const op& o = list[i];
    const auto note = [](std::pmr::vector<std::uint32_t>& in, std::uint32_t what) {
      if (in.empty() || in.back() != what) in.push_back(what);
    };
    if (is_communication(o.kind)) note(out.communicators, o.communicator);
    if (names_event(o.kind)) note(out.events, o.tag);
    if (names_stream(o.kind)) note(out.streams, o.stream);
  }
  for (std::size_t i = 0; i < list.size(); i = end_of_call(list, i))
    out.threads[list[i].thread].push_back(static_cast<std::uint32_t>(i));
  sort_unique(out.streams);
  sort_unique(out.events);
  sort_unique(out.communicators);
  out.races = last_thread > 0 && threads_race(list, m, memory);
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::ranks::detail
