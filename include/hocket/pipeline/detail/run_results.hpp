// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/pipeline/run_memory.hpp>

#include <cstddef>
#include <cstdint>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

/// Results that one stage has sent and the next has not used yet, by number, in a hash table with linear probing. It
/// lives in the workspace and is never more than half full, so every search ends.
///
///     entries  [ . | 8: at 12 | 9: at 14 | . | . | 5: at 11 | . | . ]
///                    home of 8   home of 8: one further
template <class Allocator>
struct waiting_results {
  basic_workspace<Allocator>& memory;
  std::uint32_t shift = 64;  // of a hash, so that its highest bits number the entries
  std::size_t size = 0;

  constexpr void make(std::size_t expected) {
    std::size_t room = 16;
    shift = 60;
    while (room < 2 * expected) {
      room *= 2;
      --shift;
    }
    memory.entries.assign(room, {});
  }
  /// The result of that number; null if it is not there.
  [[nodiscard]] constexpr const waiting_result* find(std::uint64_t number) const noexcept {
    const std::size_t at = place_of(number);
    return memory.entries[at].number == number ? &memory.entries[at] : nullptr;
  }
  constexpr void put(const waiting_result& x) {
    if (2 * ++size > memory.entries.size()) grow();
    memory.entries[place_of(x.number)] = x;
  }
  /// Removes what find() found; what was pushed aside moves up.
  constexpr void take(std::uint64_t number) noexcept {
    const std::size_t mask = memory.entries.size() - 1;
    std::size_t hole = place_of(number);
    for (std::size_t at = (hole + 1) & mask; memory.entries[at].number != waiting_result::none; at = (at + 1) & mask) {
      const std::size_t home = home_of(memory.entries[at].number);
      if (((at - home) & mask) < ((at - hole) & mask)) continue;  // it would stand before its home
      memory.entries[hole] = memory.entries[at];
      hole = at;
    }
    memory.entries[hole] = {};
    --size;
  }

 private:
  [[nodiscard]] constexpr std::size_t home_of(std::uint64_t number) const noexcept {
    constexpr std::uint64_t golden = 0x9e37'79b9'7f4a'7c15;  // 2^64 over the golden ratio: spreads what is in a row
    return hocket::detail::to_size(number * golden >> shift);
  }
  /// Where a number stands, or would.
  [[nodiscard]] constexpr std::size_t place_of(std::uint64_t number) const noexcept {
    const std::size_t mask = memory.entries.size() - 1;
    std::size_t at = home_of(number);
    while (memory.entries[at].number != number && memory.entries[at].number != waiting_result::none)
      at = (at + 1) & mask;
    return at;
  }
  constexpr void grow() {
    const auto old = memory.entries;
    make(old.size());
    for (const waiting_result& x : old)
      if (x.number != waiting_result::none) memory.entries[place_of(x.number)] = x;
  }
};

/// What a stage has done, as sets of units whose bits, if they need any, live in the workspace.
template <class Allocator>
struct unit_sets {
  basic_workspace<Allocator>& memory;

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

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
