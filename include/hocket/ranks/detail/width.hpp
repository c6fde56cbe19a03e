// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/ranks/detail/list_facts.hpp>
#include <hocket/ranks/machine.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::ranks::detail {

/// How many calls of a list can be on the device at once, at most, whatever the other ranks do: its own streams, waits
/// and synchronisations alone. If no rank has more than it has slots, slots never decide.
///
/// For each stream and for the host: how many items of each stream are known to be complete by then. A call can meet
/// one call of each other stream whose calls before it are not all known to be complete.
class width {
 public:
  width(std::span<const op> list, const list_facts& f, const machine& m, std::pmr::memory_resource* memory)
      : ops_(list),
        facts_(f),
        rules_(m),
        memory_(memory),
        host_(f.streams.size(), 0, memory),
        known_(f.streams.size(), host_, memory),
        events_(f.events.size(), known(memory), memory),
        calls_(f.communicators.size(), known(memory), memory),
        items_(f.streams.size(), 0, memory),
        last_call_(f.streams.size(), 0, memory) {}

  /// O(ops · streams).
  [[nodiscard]] std::size_t operator()() {
    std::size_t most = 0;
    const bool alone = facts_.threads.size() == 1;
    for (std::size_t i = 0; alone && i < ops_.size(); i = end_of_call(ops_, i)) {
      const std::size_t at_once = step(i);
      if (at_once > most) widest_ = static_cast<std::uint32_t>(i);
      most = (std::max)(most, at_once);
    }
    return alone ? most : streams_with_calls();
  }
  /// The first op that can be on the device with so many others.
  [[nodiscard]] std::uint32_t widest() const noexcept { return widest_; }

 private:
  using known = std::pmr::vector<std::uint32_t>;  // by stream: that many items are complete

  static void join(known& to, const known& from) {
    if (to.empty()) to.assign(from.size(), 0);
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = (std::max)(to[i], from[i]);
  }
  [[nodiscard]] std::size_t streams_with_calls() const {
    std::pmr::vector<std::uint32_t> streams(memory_);
    for (const op& o : ops_)
      if (is_communication(o.kind)) streams.push_back(o.stream);
    sort_unique(streams);
    return rules_.serial_communicators ? (std::min)(streams.size(), facts_.communicators.size()) : streams.size();
  }
  /// What an op adds to what is known. @return calls that can be on the device with it; 0 if it is none
  [[nodiscard]] std::size_t step(std::size_t at) {
    const op& o = ops_[at];
    if (o.kind == op_kind::synchronize_device) {
      for (std::size_t s = 0; s < items_.size(); ++s) host_[s] = items_[s];
      return 0;
    }
    if (o.kind == op_kind::synchronize_event) {
      if (const known& e = events_[list_facts::place(facts_.events, o.tag)]; !e.empty()) join(host_, e);
      return 0;
    }
    if (o.kind == op_kind::synchronize_stream) {
      host_waits(o);
      return 0;
    }
    std::size_t most = 0;
    const std::size_t end = end_of_call(ops_, at);
    for (std::size_t i = at; i < end; ++i)
      if (is_enqueued(ops_[i].kind) && !is_repeated(at, i)) most = (std::max)(most, enqueue(ops_[i]));
    for (std::size_t i = at; i < end; ++i)  // a group is posted as a whole before the host waits for it
      if (is_communication(ops_[i].kind) && blocks_host(ops_[i], rules_)) host_waits(ops_[i]);
    return most;
  }
  void host_waits(const op& o) {
    const std::size_t s = list_facts::place(facts_.streams, o.stream);
    join(host_, known_[s]);
    host_[s] = items_[s];
  }
  /// Whether a group has that communicator already: it is one call.
  [[nodiscard]] bool is_repeated(std::size_t begin, std::size_t i) const {
    for (std::size_t j = begin; j < i; ++j)
      if (is_communication(ops_[j].kind) && ops_[j].communicator == ops_[i].communicator) return true;
    return false;
  }
  [[nodiscard]] std::size_t enqueue(const op& o) {
    const std::size_t s = list_facts::place(facts_.streams, o.stream);
    known& own = known_[s];
    join(own, host_);
    own[s] = items_[s];
    std::size_t at_once = 0;
    if (o.kind == op_kind::wait) {
      if (const known& e = events_[list_facts::place(facts_.events, o.tag)]; !e.empty()) join(own, e);
    } else if (o.kind == op_kind::record) {
      known& e = events_[list_facts::place(facts_.events, o.tag)];
      e = own;
      e[s] = items_[s] + 1;
    } else if (is_communication(o.kind)) {
      at_once = call(o, s);
    }
    ++items_[s];
    return at_once;
  }
  [[nodiscard]] std::size_t call(const op& o, std::size_t s) {
    known& own = known_[s];
    known& earlier = calls_[list_facts::place(facts_.communicators, o.communicator)];
    if (rules_.serial_communicators && !earlier.empty()) join(own, earlier);
    std::size_t at_once = 1;
    for (std::size_t other = 0; other < items_.size(); ++other)
      if (other != s && last_call_[other] > own[other]) ++at_once;
    last_call_[s] = items_[s] + 1;
    earlier = own;
    earlier[s] = items_[s] + 1;
    return at_once;
  }

  std::span<const op> ops_;
  const list_facts& facts_;
  const machine& rules_;
  std::pmr::memory_resource* memory_;
  std::uint32_t widest_ = 0;
  known host_;
  std::pmr::vector<known> known_;   // by stream: before its next item
  std::pmr::vector<known> events_;  // by event: at its last record
  std::pmr::vector<known> calls_;   // by communicator: after its last call
  known items_;                     // by stream: enqueued
  known last_call_;                 // by stream: items up to and with its last call
};

}  // namespace hocket::inline HOCKET_ABI::ranks::detail
