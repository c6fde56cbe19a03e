// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/ids.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace hocket::inline HOCKET_ABI::graph::detail {

// A window of 512 ids, one bit each: a cache line.
struct trie_leaf {
  static constexpr std::uint32_t bits = 9;
  static constexpr std::size_t words = (std::size_t{1} << bits) / 64;
  std::uint64_t word[words];

  static constexpr std::uint32_t word_of(node_id a) noexcept { return (a >> 6) & (words - 1); }
  static constexpr std::uint64_t bit_of(node_id a) noexcept { return std::uint64_t{1} << (a & 63u); }
  [[nodiscard]] constexpr bool test(node_id a) const noexcept { return (word[word_of(a)] & bit_of(a)) != 0; }
  constexpr void set(node_id a) noexcept { word[word_of(a)] |= bit_of(a); }
  void join(const trie_leaf& more) noexcept {
    for (std::size_t w = 0; w < words; ++w) word[w] |= more.word[w];
  }
  [[nodiscard]] friend bool operator==(const trie_leaf&, const trie_leaf&) = default;
  [[nodiscard]] std::size_t count() const noexcept {
    std::size_t total = 0;
    for (const std::uint64_t w : word) total += static_cast<std::size_t>(std::popcount(w));
    return total;
  }
  template <class F>
  void for_each(node_id first, F&& f) const {
    for (std::uint32_t i = 0; i < words; ++i)
      for (std::uint64_t left = word[i]; left != 0; left &= left - 1)
        f(first + i * 64u + static_cast<std::uint32_t>(std::countr_zero(left)));
  }

  // The bits that come before `end`, an id of the window.
  [[nodiscard]] trie_leaf before(node_id end) const noexcept {
    trie_leaf out{};
    const std::uint32_t last = word_of(end);
    for (std::uint32_t w = 0; w < last; ++w) out.word[w] = word[w];
    out.word[last] = word[last] & (bit_of(end) - 1);
    return out;
  }
  [[nodiscard]] trie_leaf through(node_id last) const noexcept {
    trie_leaf out = before(last);
    out.set(last);
    return out;
  }
  // Is a there, and nothing behind it?
  [[nodiscard]] bool ends_with(node_id a) const noexcept {
    std::uint64_t behind = 0;
    for (std::uint32_t w = word_of(a) + 1; w < words; ++w) behind |= word[w];
    return behind == 0 && word[word_of(a)] >> (a & 63u) == 1;
  }
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
