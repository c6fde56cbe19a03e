// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/run_memory.hpp>
#include <hocket/pipeline/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hocket::inline HOCKET_ABI::pipeline {

/// Most (stage, micro-batch, slice) triples that one run may have.
inline constexpr std::uint64_t max_units = std::uint64_t{1} << 28;

namespace detail {

/// The (stage, micro-batch, slice) triples of a plan, for which a run or a check may need memory. A short list that
/// names a huge micro-batch must not take gigabytes: far more triples than actions cannot be a complete schedule.
template <schedule S>
[[nodiscard]] constexpr result<std::uint64_t> units_of(const S& plan, std::string_view purpose) noexcept {
  const std::uint64_t units = std::uint64_t{plan.ranks()} * plan.chunks() * directions_of(plan) * plan.micro_batches() *
                              std::uint64_t{slices_of(plan)};
  std::uint64_t limit = 0;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) limit += plan.size(r);
  constexpr std::uint64_t always = std::uint64_t{1} << 20;
  if (limit < always) limit = always;
  if (limit > max_units) limit = max_units;
  if (units > limit)
    return error{errc::limit_exceeded, static_cast<std::int64_t>(units), static_cast<std::int64_t>(limit)}.with(
        purpose);
  return units;
}

/// Whether the shape of a plan has the stage of an action and, if it computes, its micro-batch, slice and direction.
template <schedule S>
[[nodiscard]] constexpr bool in_shape(const S& plan, stage_action a) noexcept {
  if (a.stage() >= plan.ranks() * plan.chunks() || a.direction() >= directions_of(plan)) return false;
  return !is_compute(a.kind()) || (a.micro_batch() < plan.micro_batches() && a.slice() < slices_of(plan));
}

/// The pipes and sets of a workspace. A pipe starts small; its writer stops when it is full, so that memory stays
/// small whatever the order in which ranks are advanced. Only when nobody else can go on is it widened.
template <class Allocator>
struct pipes {
  basic_workspace<Allocator>& memory;

  static constexpr std::uint64_t nowhere = ~std::uint64_t{0};
  static constexpr std::uint32_t no_unit = ~std::uint32_t{0};
  static constexpr std::uint32_t first_capacity = 16;  // a power of two, at least 4

  constexpr void make(pipe& p, std::uint32_t units) {
    std::uint32_t capacity = 4;
    while (capacity < first_capacity && capacity < units + 2) capacity *= 2;
    p.at = memory.entries.size();
    p.capacity = capacity;
    memory.entries.resize(memory.entries.size() + capacity);
  }

  /// Gives a number to every ordered pair of ranks between which something is sent: those of one sender in a chain.
  constexpr void make_links(std::uint32_t stage_count) {
    memory.travels.assign(memory.entries.size(), 0);
    constexpr std::uint32_t none = basic_workspace<Allocator>::none;
    typename basic_workspace<Allocator>::template vector<std::uint32_t> first(memory.lanes.size(), none,
                                                                              memory.runnable.get_allocator());
    const auto number_of = [&](std::uint32_t from, std::uint32_t to) {
      std::uint32_t at = first[from];
      while (at != none && memory.links[at].to != to) at = memory.links[at].next;
      if (at != none) return at;
      at = static_cast<std::uint32_t>(memory.links.size());
      memory.links.push_back({to, first[from]});
      first[from] = at;
      return at;
    };
    for (std::uint32_t n = 0; n < stage_count; ++n) {
      auto& s = memory.stages[n];
      if (s.forward_in.capacity > 0) s.forward_link = number_of(s.forward_sender, s.rank);
      if (s.backward_in.capacity > 0) s.backward_link = number_of(s.backward_sender, s.rank);
    }
  }

  /// Where the entry of a unit is; if it is not there yet, notes that the reader waits.
  [[nodiscard]] constexpr std::uint64_t find(pipe& p, std::uint32_t unit, std::uint32_t units) {
    if (!p.dense) {
      if (p.head == p.tail) {
        p.reader_waits = true;
        return nowhere;
      }
      const std::uint64_t at = p.at + (p.head & (p.capacity - 1));
      if (memory.entries[at].unit == unit) return at;
      make_dense(p, units);
    }
    if (memory.entries[p.at + unit].unit == unit) return p.at + unit;
    p.reader_waits = true;
    return nowhere;
  }
  /// Removes an entry that find() found.
  constexpr void take(pipe& p, std::uint32_t unit, std::uint32_t writer) {
    if (p.dense) {
      memory.entries[p.at + unit].unit = no_unit;
      return;
    }
    // The two of a pair may have been read from the same pipe; the first taken is the older one.
    ++p.head;
    if (!p.writer_waits) return;
    p.writer_waits = false;
    memory.runnable.push_back(writer);
  }
  /// Whether two more entries fit; if not, notes that the writer waits. `name` identifies the pipe.
  [[nodiscard]] constexpr bool has_room(pipe& p, std::uint32_t name) {
    if (p.dense || p.tail - p.head + 2 <= p.capacity) return true;
    p.writer_waits = true;
    if (!p.starved) memory.starved.push_back(name);
    p.starved = true;
    return false;
  }
  constexpr void put(pipe& p, std::uint32_t unit, ticks ready, ticks travel, std::uint32_t reader) {
    const std::uint64_t at = p.dense ? p.at + unit : p.at + (p.tail++ & (p.capacity - 1));
    memory.entries[at] = {ready, unit};
    if (!memory.travels.empty()) memory.travels[at] = travel;
    if (!p.reader_waits) return;
    p.reader_waits = false;
    memory.runnable.push_back(reader);
  }
  /// Widens the pipes whose writers still wait. False if there are none: then nobody can ever go on.
  constexpr bool widen(std::uint32_t units) {
    bool any = false;
    for (const std::uint32_t name : memory.starved) {
      auto& s = memory.stages[name / 2];
      pipe& p = name % 2 == 0 ? s.forward_in : s.backward_in;
      p.starved = false;
      if (!p.writer_waits) continue;
      p.writer_waits = false;
      any = true;
      memory.runnable.push_back(name % 2 == 0 ? s.forward_sender : s.backward_sender);
      if (2 * std::uint64_t{p.capacity} >= units) {
        make_dense(p, units);
        continue;
      }
      const pipe old = p;
      extend(p, 2 * p.capacity, {0, 0});
      p.capacity *= 2;
      p.head = 0;
      p.tail = old.tail - old.head;
      for (std::uint32_t i = 0; i < p.tail; ++i) copy(p.at + i, old.at + ((old.head + i) & (old.capacity - 1)));
    }
    memory.starved.clear();
    return any;
  }
  constexpr void make_dense(pipe& p, std::uint32_t units) {
    if (p.dense) return;
    const pipe old = p;
    extend(p, units, {0, no_unit});
    p.dense = true;
    for (std::uint32_t i = old.head; i != old.tail; ++i) {
      const std::uint64_t from = old.at + (i & (old.capacity - 1));
      copy(p.at + memory.entries[from].unit, from);
    }
    if (old.writer_waits) {
      p.writer_waits = false;
      memory.runnable.push_back(writer_of(p));
    }
  }
  constexpr void extend(pipe& p, std::uint32_t size, pipe_entry with) {
    p.at = memory.entries.size();
    memory.entries.resize(memory.entries.size() + size, with);
    if (!memory.travels.empty()) memory.travels.resize(memory.entries.size(), 0);
  }
  constexpr void copy(std::uint64_t to, std::uint64_t from) {
    memory.entries[to] = memory.entries[from];
    if (!memory.travels.empty()) memory.travels[to] = memory.travels[from];
  }
  // Rare: a full pipe whose two ends turn out to disagree about the order.
  [[nodiscard]] constexpr std::uint32_t writer_of(const pipe& p) const {
    for (const auto& s : memory.stages) {
      if (&s.forward_in == &p) return s.forward_sender;
      if (&s.backward_in == &p) return s.backward_sender;
    }
    return 0;
  }

  [[nodiscard]] constexpr bool contains(const unit_set& set, std::uint32_t unit) const {
    if (set.bits == unit_set::no_bits) return unit >= set.low && unit < set.high;
    return (memory.words[set.bits + unit / 64] >> unit % 64 & 1u) != 0;
  }
  /// False if it was there already.
  constexpr bool insert(unit_set& set, std::uint32_t unit, std::uint32_t units) {
    if (set.bits == unit_set::no_bits) {
      const bool first = set.high == set.low, above = unit == set.high, below = unit + 1 == set.low;
      if (!first && !above && !below && unit >= set.low && unit < set.high) return false;
      if (first || above || below) {
        if (first || below) set.low = unit;
        if (first || above) set.high = unit + 1;
        ++set.size;
        return true;
      }
      set.bits = memory.words.size();
      memory.words.resize(memory.words.size() + units / 64 + 1, 0);
      for (std::uint32_t u = set.low; u < set.high; ++u) memory.words[set.bits + u / 64] |= std::uint64_t{1} << u % 64;
    }
    std::uint64_t& word = memory.words[set.bits + unit / 64];
    const std::uint64_t bit = std::uint64_t{1} << unit % 64;
    if ((word & bit) != 0) return false;
    word |= bit;
    ++set.size;
    return true;
  }
};

}  // namespace detail

}  // namespace hocket::inline HOCKET_ABI::pipeline
