// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/ids.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hocket::inline HOCKET_ABI::graph::detail {

// The blocks that sets of ids are made of, 64 bytes each, and how two are united.

// 512 ids: one bit each.
struct trie_leaf {
  static constexpr std::uint32_t bits = 9;
  static constexpr std::size_t words = (std::size_t{1} << bits) / 64;
  std::uint64_t word[words];

  static constexpr std::uint32_t word_of(node_id a) noexcept { return (a >> 6) & (words - 1); }
  [[nodiscard]] constexpr bool test(node_id a) const noexcept { return ((word[word_of(a)] >> (a & 63u)) & 1u) != 0; }
  constexpr void set(node_id a) noexcept { word[word_of(a)] |= std::uint64_t{1} << (a & 63u); }
  void join(const trie_leaf& more) noexcept {
    for (std::size_t w = 0; w < words; ++w) word[w] |= more.word[w];
  }
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
  [[nodiscard]] friend bool operator==(const trie_leaf& x, const trie_leaf& y) noexcept {
    std::uint64_t differ = 0;
    for (std::size_t w = 0; w < words; ++w) differ |= x.word[w] ^ y.word[w];
    return differ == 0;
  }

  // The bits that come before `end`, an id of the leaf's window.
  [[nodiscard]] trie_leaf before(node_id end) const noexcept {
    trie_leaf out;
    const std::uint32_t last = word_of(end);
    const std::uint64_t* const mask = ramp + (words - last);
    for (std::uint32_t w = 0; w < words; ++w) out.word[w] = word[w] & mask[w];
    out.word[last] = word[last] & ((std::uint64_t{1} << (end & 63u)) - 1);
    return out;
  }
  [[nodiscard]] trie_leaf through(node_id last) const noexcept {
    trie_leaf out = before(last);
    out.set(last);
    return out;
  }
  // Is there a bit in the words after that of a?
  [[nodiscard]] bool has_after_word_of(node_id a) const noexcept {
    const std::uint64_t* const mask = ramp + (words - 1 - word_of(a));
    std::uint64_t later = 0;
    for (std::uint32_t w = 0; w < words; ++w) later |= word[w] & ~mask[w];
    return later != 0;
  }

 private:
  // From ramp + 8 - w on: w full words, then empty ones.
  static constexpr std::uint64_t full = ~std::uint64_t{0};
  static constexpr std::uint64_t ramp[2 * words] = {full, full, full, full, full, full, full, full};
};

// Sixteen parts, each by the number of its block, 0 where it is empty.
struct trie_inner {
  using block_id = std::uint32_t;
  static constexpr std::uint32_t bits = 4;
  static constexpr std::size_t fan = std::size_t{1} << bits;
  block_id child[fan];
};

struct trie_comparison {
  std::uint32_t both, only_x, only_y;  // children that differ: there in both, in one
};
struct trie_outcome {  // of a union: is it the first operand, is it the second?
  bool is_x, is_y;
};
// The children of x, and those of y where x has none, and how the two compare.
#if defined(__SSE2__) && defined(__GNUC__) && !defined(__CUDACC__)
using trie_quad = std::int32_t __attribute__((vector_size(16)));
using trie_bytes = char __attribute__((vector_size(16)));
// One bit for each of four times four numbers that are all ones or zero.
inline std::uint32_t trie_mask(trie_quad a, trie_quad b, trie_quad c, trie_quad d) noexcept {
  const auto low = __builtin_ia32_packssdw128(a, b);
  const auto high = __builtin_ia32_packssdw128(c, d);
  return static_cast<std::uint32_t>(__builtin_ia32_pmovmskb128(__builtin_ia32_packsswb128(low, high)));
}
[[gnu::always_inline]] inline trie_comparison unite(trie_inner& joint, const trie_inner& x,
                                                    const trie_inner& y) noexcept {
  static_assert(trie_inner::fan == 16);
  trie_quad of_x[4], of_y[4];
  std::memcpy(of_x, &x, sizeof(x));
  std::memcpy(of_y, &y, sizeof(y));
  trie_quad no_x[4], no_y[4], same[4], either[4];
  for (int i = 0; i < 4; ++i) {
    no_x[i] = of_x[i] == 0, no_y[i] = of_y[i] == 0, same[i] = of_x[i] == of_y[i];
    either[i] = of_x[i] | (of_y[i] & no_x[i]);
  }
  std::memcpy(&joint, either, sizeof(joint));
  const std::uint32_t differ = ~trie_mask(same[0], same[1], same[2], same[3]) & 0xffffu;
  const std::uint32_t without_x = trie_mask(no_x[0], no_x[1], no_x[2], no_x[3]);
  const std::uint32_t without_y = trie_mask(no_y[0], no_y[1], no_y[2], no_y[3]);
  return {differ & ~(without_x | without_y), differ & without_y, differ & without_x};
}
// joint may be x.
inline trie_outcome unite(trie_leaf& joint, const trie_leaf& x, const trie_leaf& y) noexcept {
  static_assert(trie_leaf::words == 8);
  trie_quad of_x[4], of_y[4], either[4];
  std::memcpy(of_x, &x, sizeof(x));
  std::memcpy(of_y, &y, sizeof(y));
  trie_quad same_x = ~trie_quad{}, same_y = ~trie_quad{};
  for (int i = 0; i < 4; ++i) {
    either[i] = of_x[i] | of_y[i];
    same_x &= either[i] == of_x[i], same_y &= either[i] == of_y[i];
  }
  std::memcpy(&joint, either, sizeof(joint));
  return {__builtin_ia32_pmovmskb128(reinterpret_cast<trie_bytes>(same_x)) == 0xffff,
          __builtin_ia32_pmovmskb128(reinterpret_cast<trie_bytes>(same_y)) == 0xffff};
}
#else
[[gnu::always_inline]] inline trie_comparison unite(trie_inner& joint, const trie_inner& x,
                                                    const trie_inner& y) noexcept {
  trie_comparison c{};
  for (std::size_t i = 0; i < trie_inner::fan; ++i) {
    const trie_inner::block_id u = x.child[i], v = y.child[i];
    joint.child[i] = u != 0 ? u : v;
    const std::uint32_t differ = u != v ? 1u : 0u;
    c.both |= (differ & (u != 0 ? 1u : 0u) & (v != 0 ? 1u : 0u)) << i;
    c.only_x |= (differ & (v == 0 ? 1u : 0u)) << i;
    c.only_y |= (differ & (u == 0 ? 1u : 0u)) << i;
  }
  return c;
}
// joint may be x.
inline trie_outcome unite(trie_leaf& joint, const trie_leaf& x, const trie_leaf& y) noexcept {
  std::uint64_t beyond_x = 0, beyond_y = 0;
  for (std::size_t w = 0; w < trie_leaf::words; ++w) {
    const std::uint64_t either = x.word[w] | y.word[w];
    beyond_x |= either ^ x.word[w];
    beyond_y |= either ^ y.word[w];
    joint.word[w] = either;
  }
  return {beyond_x == 0, beyond_y == 0};
}
#endif

}  // namespace hocket::inline HOCKET_ABI::graph::detail
