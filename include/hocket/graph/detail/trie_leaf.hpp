// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
  [[nodiscard]] static constexpr trie_leaf of(node_id a) noexcept {
    trie_leaf one{};
    one.set(a);
    return one;
  }
  [[nodiscard]] constexpr bool test(node_id a) const noexcept { return (word[word_of(a)] & bit_of(a)) != 0; }
  constexpr void set(node_id a) noexcept { word[word_of(a)] |= bit_of(a); }
  void join(const trie_leaf& more) noexcept {
    for (std::size_t w = 0; w < words; ++w) word[w] |= more.word[w];
  }
  // Puts those of another that are before a, an id of the window, into it.
  void join_before(node_id a, const trie_leaf& more) noexcept {
    const std::uint64_t* const mask = masks_before(a);
    for (std::size_t w = 0; w < words; ++w) word[w] |= more.word[w] & mask[w];
    word[word_of(a)] |= more.word[word_of(a)] & (bit_of(a) - 1);
  }
  // Those before a, an id of the window.
  [[nodiscard]] trie_leaf before(node_id a) const noexcept {
    const std::uint64_t* const mask = masks_before(a);
    trie_leaf out;
    for (std::size_t w = 0; w < words; ++w) out.word[w] = word[w] & mask[w];
    out.word[word_of(a)] = word[word_of(a)] & (bit_of(a) - 1);
    return out;
  }
  [[nodiscard]] bool is_same_before(node_id a, const trie_leaf& other) const noexcept {
    const std::uint64_t* const mask = masks_before(a);
    std::uint64_t differ = (word[word_of(a)] ^ other.word[word_of(a)]) & (bit_of(a) - 1);
    for (std::size_t w = 0; w < words; ++w) differ |= (word[w] ^ other.word[w]) & mask[w];
    return differ == 0;
  }
  // For each word, all ones if it is before the word of a: no branch, in any graph.
  [[nodiscard]] static const std::uint64_t* masks_before(node_id a) noexcept {
    constexpr std::uint64_t all = ~std::uint64_t{0};
    static constexpr std::uint64_t masks[2 * words] = {all, all, all, all, all, all, all, all};
    return masks + (words - word_of(a));
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
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
