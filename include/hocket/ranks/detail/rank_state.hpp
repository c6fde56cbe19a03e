// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/ranks/detail/list_facts.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::ranks::detail {

/// An entry of a stream.
struct item {
  std::uint32_t op;          ///< its place in the list; of a group the first op of its communicator
  std::uint32_t first_part;  ///< of a call: its parts; of a wait: the stream of the record, or no_id
  std::uint32_t parts;       ///< how many; of a wait: the place of the record in its stream
  std::uint32_t number;      ///< of a call: among those of its communicator on this rank
  std::uint32_t launch;      ///< of a call: among those of the rank
};
/// One send, receive or collective of a call: it meets others as `number` of a channel.
struct part {
  std::uint32_t channel;
  std::uint32_t number;
};

/// A queue of items. Those before `done` are complete; the next may have started.
struct lane {
  std::pmr::vector<item> items;
  std::uint32_t done = 0;
  std::uint32_t met = 0;  ///< parts of the next that are over
  bool started = false;   ///< the next, a call
  bool offered = false;   ///< it stands among the calls to choose from
};

struct host_thread {
  std::uint32_t at = 0;  ///< in list_facts::threads
  bool waits = false;
  std::pmr::vector<std::pair<std::uint32_t, std::uint32_t>> targets;  ///< streams, and items that must be done
  std::pmr::vector<std::uint32_t> connecting;                         ///< channels whose members must have called
  std::uint32_t unrecorded = no_id;                                   ///< an event without a record
};

/// A place in a stream; stream no_id: none.
struct stream_place {
  std::uint32_t stream = no_id;
  std::uint32_t index = 0;
};
struct event_state {
  stream_place first, last;  ///< records
};
/// Of a communicator on a rank.
struct call_counts {
  std::uint32_t group = 0;
  std::uint32_t enqueued = 0, done = 0;  ///< calls
  std::uint32_t collectives = 0;         ///< enqueued
};
struct hardware_queue {
  std::pmr::vector<std::uint32_t> streams;  ///< of its items, in order
  std::uint32_t started = 0;
};

/// Where a rank stands. Streams, events and communicators are dense numbers of its list_facts.
struct rank_state {
  std::pmr::vector<lane> lanes;
  std::pmr::vector<host_thread> threads;
  std::pmr::vector<event_state> events;
  std::pmr::vector<call_counts> communicators;
  std::pmr::vector<hardware_queue> queues;  ///< empty if no two streams share one
  std::pmr::vector<part> parts;
  std::uint32_t running = 0;   ///< calls that started and are not complete
  std::uint32_t launched = 0;  ///< calls enqueued
  std::uint32_t started = 0;   ///< calls

  rank_state(const list_facts& f, std::pmr::memory_resource* memory)
      : lanes(memory), threads(memory), events(memory), communicators(memory), queues(memory), parts(memory) {
    const auto none = [memory] { return std::pmr::vector<std::uint32_t>(memory); };
    for (std::size_t i = 0; i < f.streams.size(); ++i) lanes.push_back({.items = std::pmr::vector<item>(memory)});
    for (std::size_t i = 0; i < f.threads.size(); ++i)
      threads.push_back(
          {.targets = std::pmr::vector<std::pair<std::uint32_t, std::uint32_t>>(memory), .connecting = none()});
    events.resize(f.events.size());
    communicators.resize(f.communicators.size());
  }
};

/// By dense stream: its hardware queue; empty if no two streams of the list share one.
[[nodiscard]] inline std::pmr::vector<std::uint32_t> queues_of(const list_facts& f, const machine& m,
                                                               std::pmr::memory_resource* memory) {
  std::pmr::vector<std::uint32_t> names(memory), queue(memory);
  if (m.hardware_queues == 0) return queue;
  for (const std::uint32_t s : f.streams) names.push_back(s % m.hardware_queues);
  queue = names;
  sort_unique(names);
  if (names.size() == queue.size()) return std::pmr::vector<std::uint32_t>(memory);
  for (std::uint32_t& q : queue) q = list_facts::place(names, q);
  return queue;
}

}  // namespace hocket::inline HOCKET_ABI::ranks::detail
