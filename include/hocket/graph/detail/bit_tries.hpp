// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/graph/detail/block_pool.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// Sets of ids as tries that share what they have in common: leaves of 512 bits, inner blocks of `fan` children. Blocks
// older than the watermark `fresh` are never written again; younger ones belong to the set at hand and are changed in
// place. Number 0 is the empty set at every height.
class bit_tries {
 public:
  using block_id = std::uint32_t;
  static constexpr std::uint32_t leaf_bits = 9, inner_bits = 4;
  static constexpr std::size_t fan = std::size_t{1} << inner_bits;
  static constexpr std::size_t leaf_words = (std::size_t{1} << leaf_bits) / 64;

  struct leaf {
    std::uint64_t word[leaf_words];
  };
  struct inner {
    block_id child[fan];
  };
  struct root {
    block_id block = 0;        // 0: the empty set
    std::uint32_t height = 0;  // levels of inner blocks above the leaves
  };
  struct mark {
    block_id leaves = 1, inners = 1;
  };

  explicit bit_tries(std::pmr::memory_resource* memory) noexcept : leaves_(memory), inners_(memory), memo_(memory) {}
  bit_tries(bit_tries&& other) noexcept
      : leaves_(std::move(other.leaves_)),
        inners_(std::move(other.inners_)),
        memo_(std::move(other.memo_)),
        settled_(std::exchange(other.settled_, mark{})) {
    other.memo_.clear();
  }
  bit_tries(const bit_tries& other, mark upto)
      : leaves_(other.leaves_, upto.leaves),
        inners_(other.inners_, upto.inners),
        memo_(std::pmr::get_default_resource()),
        settled_(upto) {}
  bit_tries& operator=(bit_tries&&) = delete;
  ~bit_tries() = default;

  [[nodiscard]] std::size_t bytes() const noexcept {
    return leaves_.bytes() + inners_.bytes() + memo_.capacity() * sizeof(superset);
  }
  [[nodiscard]] mark size() const noexcept { return {leaves_.size(), inners_.size()}; }
  void shrink(mark to) noexcept { leaves_.shrink(to.leaves), inners_.shrink(to.inners); }
  void clear() noexcept {
    shrink(settled_ = {});
    for (superset& s : memo_) s = {};
  }
  // The next path of blocks, down to a leaf, can be added without asking for memory.
  void make_room() { leaves_.make_room(4), inners_.make_room(16); }
  // Will `more` further blocks of either sort surely find a number?
  [[nodiscard]] bool has_room(std::size_t more) const noexcept {
    return leaves_.size() + more < leaves_.most && inners_.size() + more < inners_.most;
  }
  // Forgetful memory of which set contains which: its size follows the number of sets.
  void remember_for(std::size_t sets) {
    std::size_t bits = static_cast<std::size_t>(std::bit_width(sets));
    bits = bits < 12 ? 10 : bits > 20 ? 18 : bits - 2;
    if (memo_.size() < std::size_t{1} << bits)
      memo_ = std::pmr::vector<superset>(std::size_t{1} << bits, memo_.get_allocator());
  }

  [[nodiscard]] leaf& leaf_at(block_id b) noexcept { return leaves_[b]; }
  [[nodiscard]] const leaf& leaf_at(block_id b) const noexcept { return leaves_[b]; }
  [[nodiscard]] block_id add(const leaf& content) {
    const block_id b = leaves_.add();
    leaves_[b] = content;
    return b;
  }
  static constexpr bool test(const leaf& l, node_id a) noexcept {
    return ((l.word[(a >> 6) & (leaf_words - 1)] >> (a & 63u)) & 1u) != 0;
  }
  static constexpr void set(leaf& l, node_id a) noexcept {
    l.word[(a >> 6) & (leaf_words - 1)] |= std::uint64_t{1} << (a & 63u);
  }
  static void join(leaf& to, const leaf& more) noexcept {
    for (std::size_t w = 0; w < leaf_words; ++w) to.word[w] |= more.word[w];
  }
  static bool same(const leaf& x, const leaf& y) noexcept {
    std::uint64_t differ = 0;
    for (std::size_t w = 0; w < leaf_words; ++w) differ |= x.word[w] ^ y.word[w];
    return differ == 0;
  }
  // The least height at which a fits.
  static constexpr std::uint32_t height_for(node_id a) noexcept {
    const auto bits = static_cast<std::uint32_t>(std::bit_width(a));
    return bits <= leaf_bits ? 0 : (bits - leaf_bits + inner_bits - 1) / inner_bits;
  }

  // Precondition: b is an inner block.
  [[nodiscard]] block_id child_of(block_id b, std::size_t i) const noexcept { return inners_[b].child[i]; }

  // Precondition: a fits the height.
  [[nodiscard]] bool has(block_id at, std::uint32_t height, node_id a) const noexcept {
    for (std::uint32_t h = height; h != 0 && at != 0; --h) at = inners_[at].child[digit(a, h)];
    return at != 0 && test(leaves_[at], a);
  }
  [[nodiscard]] bool has(const root& r, node_id a) const noexcept {
    return std::uint64_t{a} >> (leaf_bits + inner_bits * r.height) == 0 && has(r.block, r.height, a);
  }
  // The leaf in which a would be; 0 if there is none.
  [[nodiscard]] block_id find_leaf(const root& r, node_id a) const noexcept {
    if (std::uint64_t{a} >> (leaf_bits + inner_bits * r.height) != 0) return 0;
    block_id at = r.block;
    for (std::uint32_t h = r.height; h != 0 && at != 0; --h) at = inners_[at].child[digit(a, h)];
    return at;
  }

  // The first blocks of a set that will be read soon.
  void prefetch(block_id top, block_id own) const noexcept {
    if (top != 0) prefetch(&inners_[top]);
    prefetch(&leaves_[own]);
  }

  // u ∪ v, as u itself or v itself where one contains the other.
  [[nodiscard]] root merge(root u, root v, mark fresh) {
    if (v.block == 0) return u;
    if (u.block == 0) return v;
    if (u.height == v.height) return {merge(u.block, v.block, u.height, fresh), u.height};
    // The lower set lies wholly under the first child of the higher one.
    const root& high = u.height > v.height ? u : v;
    const root& low = u.height > v.height ? v : u;
    const block_id first = inners_[high.block].child[0];
    root below{first, high.height - 1};
    below = u.height > v.height ? merge(below, low, fresh) : merge(low, below, fresh);
    below = lifted(below, high.height - 1);
    if (below.block == first) return high;
    // Only the first operand is ours to write to.
    const block_id out = u.height > v.height ? writable(high.block, fresh) : copy(high.block);
    inners_[out].child[0] = below.block;
    return {out, high.height};
  }

  // The same for v with `with` as its leaf around a, without making that set. Precondition: a fits the height of v.
  [[nodiscard]] root merge_with(root u, root v, node_id a, block_id with, mark fresh) {
    if (u.block == 0) return replace(v, a, with, fresh);
    if (u.height <= v.height) {
      u = lifted(u, v.height);
      return {merge_with(u.block, v.block, a, with, v.height, fresh), v.height};
    }
    const block_id first = inners_[u.block].child[0];
    const root below = lifted(merge_with({first, u.height - 1}, v, a, with, fresh), u.height - 1);
    if (below.block == first) return u;
    const block_id out = writable(u.block, fresh);
    inners_[out].child[0] = below.block;
    return {out, u.height};
  }

  // The same set as a trie of at least this height.
  [[nodiscard]] root lifted(root r, std::uint32_t height) {
    for (; r.height < height; ++r.height) {
      if (r.block == 0) continue;
      const block_id above = inners_.add();
      inners_[above] = inner{};
      inners_[above].child[0] = r.block;
      r.block = above;
    }
    return r;
  }

  // r with a put in.
  [[nodiscard]] root insert(root r, node_id a, mark fresh) {
    r = lifted(r, height_for(a));
    r.block = insert(r.block, a, r.height, fresh);
    return r;
  }
  // r with `with` as the leaf around a, whatever was there.
  [[nodiscard]] root replace(root r, node_id a, block_id with, mark fresh) {
    r = lifted(r, height_for(a));
    r.block = replace(r.block, a, with, r.height, fresh);
    return r;
  }

  template <class F>
  static void for_each(const leaf& l, node_id first, F&& f) {
    for (std::uint32_t i = 0; i < leaf_words; ++i)
      for (std::uint64_t word = l.word[i]; word != 0; word &= word - 1)
        f(first + i * 64u + static_cast<std::uint32_t>(std::countr_zero(word)));
  }
  template <class F>
  void for_each(block_id at, std::uint32_t height, node_id first, F&& f) const {
    if (at == 0) return;
    if (height == 0) return for_each(leaves_[at], first, f);
    for (std::uint32_t i = 0; i < fan; ++i)
      for_each(inners_[at].child[i], height - 1, first + (i << (leaf_bits + inner_bits * (height - 1))), f);
  }

  [[nodiscard]] std::size_t count(block_id at, std::uint32_t height) const noexcept {
    if (at == 0) return 0;
    if (height == 0) return count(leaves_[at]);
    std::size_t total = 0;
    for (const block_id child : inners_[at].child) total += count(child, height - 1);
    return total;
  }
  // The same, with the counts of inner blocks remembered.
  [[nodiscard]] std::size_t count(block_id at, std::uint32_t height, std::vector<std::size_t>& counts) const {
    if (at == 0 || height == 0) return count(at, height);
    if (counts[at] != ~std::size_t{0}) return counts[at];
    std::size_t total = 0;
    for (const block_id child : inners_[at].child) total += count(child, height - 1, counts);
    return counts[at] = total;
  }
  [[nodiscard]] static std::size_t count(const leaf& l) noexcept {
    std::size_t total = 0;
    for (const std::uint64_t w : l.word) total += static_cast<std::size_t>(std::popcount(w));
    return total;
  }

 private:
  // `outer` contains `other`. Both are inner blocks that will never change.
  struct superset {
    block_id outer = 0, other = 0;
  };

  static constexpr std::size_t digit(node_id a, std::uint32_t height) noexcept {
    return (a >> (leaf_bits + inner_bits * (height - 1))) & (fan - 1);
  }
  static void prefetch([[maybe_unused]] const void* p) noexcept {
#if defined(__GNUC__)
    __builtin_prefetch(p);
#endif
  }

  [[nodiscard]] block_id copy(block_id b) {
    const block_id out = inners_.add();
    inners_[out] = inners_[b];
    return out;
  }
  [[nodiscard]] block_id writable(block_id b, mark fresh) { return b >= fresh.inners ? b : copy(b); }

  [[nodiscard]] block_id merge_leaves(block_id u, block_id v, mark fresh) {
    const leaf& x = leaves_[u];
    const leaf& y = leaves_[v];
    leaf joint;
    std::uint64_t beyond_x = 0, beyond_y = 0;
    for (std::size_t w = 0; w < leaf_words; ++w) {
      joint.word[w] = x.word[w] | y.word[w];
      beyond_x |= joint.word[w] ^ x.word[w];
      beyond_y |= joint.word[w] ^ y.word[w];
    }
    if (beyond_x == 0) return u;
    if (beyond_y == 0) return v;
    const block_id out = u >= fresh.leaves ? u : leaves_.add();
    leaves_[out] = joint;
    return out;
  }

  [[nodiscard]] block_id merge(block_id u, block_id v, std::uint32_t height, mark fresh) {
    if (u == v || v == 0) return u;
    if (u == 0) return v;
    return height == 0 ? merge_leaves(u, v, fresh) : merge_inners(u, v, height, fresh);
  }

  // Which children differ, as bits. Comparing to bytes first is what compilers turn into vector code.
  template <class F>
  static std::uint32_t children(const F& which) noexcept {
    if constexpr (std::endian::native == std::endian::little) {
      unsigned char byte[fan];
      for (std::size_t i = 0; i < fan; ++i) byte[i] = which(i) ? 1 : 0;
      std::uint64_t half[fan / 8];
      std::memcpy(half, byte, fan);
      std::uint32_t bits = 0;
      for (std::size_t h = 0; h < fan / 8; ++h)
        bits |= static_cast<std::uint32_t>((half[h] * 0x0102040810204080u) >> 56) << (8 * h);
      return bits;
    } else {
      std::uint32_t bits = 0;
      for (std::size_t i = 0; i < fan; ++i) bits |= std::uint32_t{which(i)} << i;
      return bits;
    }
  }
  struct comparison {
    std::uint32_t both, only_x, only_y;  // children that differ: there in both, in one
  };
  static comparison compare(const inner& x, const inner& y) noexcept {
    const std::uint32_t differ = children([&](std::size_t i) { return x.child[i] != y.child[i]; });
    const std::uint32_t no_x = children([&](std::size_t i) { return x.child[i] == 0; });
    const std::uint32_t no_y = children([&](std::size_t i) { return y.child[i] == 0; });
    return {differ & ~(no_x | no_y), differ & no_y, differ & no_x};
  }
  static inner either(const inner& x, const inner& y) noexcept {
    inner joint;
    for (std::size_t i = 0; i < fan; ++i)  // without a branch
      joint.child[i] = x.child[i] | (y.child[i] & (block_id{0} - static_cast<block_id>(x.child[i] == 0)));
    return joint;
  }
  // Merges the children that are there in both; says whether the result is x, and whether it is y.
  struct outcome {
    bool is_x, is_y;
  };
  outcome merge_children(inner& joint, const inner& x, const inner& y, const comparison& c, std::uint32_t height,
                         mark fresh) {
    outcome out{c.only_y == 0, c.only_x == 0};
    for (std::uint32_t d = c.both; d != 0; d &= d - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(d));
      prefetch(height == 1 ? static_cast<const void*>(&leaves_[x.child[i]]) : &inners_[x.child[i]]);
      prefetch(height == 1 ? static_cast<const void*>(&leaves_[y.child[i]]) : &inners_[y.child[i]]);
    }
    for (std::uint32_t d = c.both; d != 0; d &= d - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(d));
      const block_id u = x.child[i], v = y.child[i];
      const block_id w = height == 1 ? merge_leaves(u, v, fresh) : merge_inners(u, v, height - 1, fresh);
      joint.child[i] = w;
      out.is_x = out.is_x && w == u;
      out.is_y = out.is_y && w == v;
    }
    return out;
  }

  // Precondition: u and v are different inner blocks.
  [[nodiscard]] block_id merge_inners(block_id u, block_id v, std::uint32_t height, mark fresh) {
    // Blocks that will be forgotten if the call at hand fails must not be remembered: their numbers are used again.
    superset* known = nullptr;
    if (u < settled_.inners && v < settled_.inners && !memo_.empty()) {
      const std::uint64_t key = (std::uint64_t{u < v ? u : v} << 32) | (u < v ? v : u);
      known = &memo_[static_cast<std::size_t>((key * 0x9e3779b97f4a7c15u) >> 40) & (memo_.size() - 1)];
      if (known->outer == u && known->other == v) return u;
      if (known->outer == v && known->other == u) return v;
    }
    const inner& x = inners_[u];
    const inner& y = inners_[v];
    inner joint = either(x, y);
    const outcome is = merge_children(joint, x, y, compare(x, y), height, fresh);
    if (is.is_x || is.is_y) {
      if (known != nullptr) *known = is.is_x ? superset{u, v} : superset{v, u};
      return is.is_x ? u : v;
    }
    const block_id out = u >= fresh.inners ? u : inners_.add();
    inners_[out] = joint;
    return out;
  }

  // u ∪ v, where v has `with` as its leaf around a.
  [[nodiscard]] block_id merge_with(block_id u, block_id v, node_id a, block_id with, std::uint32_t height,
                                    mark fresh) {
    if (height == 0) return merge(u, with, 0, fresh);
    if (u == 0) return replace(v, a, with, height, fresh);
    const inner none{};
    const inner& x = inners_[u];
    const inner& y = v == 0 ? none : inners_[v];
    const std::size_t path = digit(a, height);
    inner joint = either(x, y);
    comparison c = compare(x, y);
    const std::uint32_t elsewhere = ~(std::uint32_t{1} << path);
    c = {c.both & elsewhere, c.only_x & elsewhere, c.only_y & elsewhere};
    const bool others = merge_children(joint, x, y, c, height, fresh).is_x;
    joint.child[path] = merge_with(x.child[path], y.child[path], a, with, height - 1, fresh);
    if (others && joint.child[path] == x.child[path]) return u;
    const block_id out = u >= fresh.inners ? u : inners_.add();
    inners_[out] = joint;
    return out;
  }

  [[nodiscard]] block_id insert(block_id at, node_id a, std::uint32_t height, mark fresh) {
    if (height == 0) {
      if (at == 0) at = add(leaf{});
      else if (at < fresh.leaves) at = add(leaf(leaves_[at]));
      set(leaves_[at], a);
      return at;
    }
    const block_id out = path_block(at, fresh);
    const block_id child = insert(inners_[out].child[digit(a, height)], a, height - 1, fresh);
    inners_[out].child[digit(a, height)] = child;
    return out;
  }
  [[nodiscard]] block_id replace(block_id at, node_id a, block_id with, std::uint32_t height, mark fresh) {
    if (height == 0) return with;
    const block_id out = path_block(at, fresh);
    const block_id child = replace(inners_[out].child[digit(a, height)], a, with, height - 1, fresh);
    inners_[out].child[digit(a, height)] = child;
    return out;
  }
  [[nodiscard]] block_id path_block(block_id at, mark fresh) {
    if (at != 0) return writable(at, fresh);
    const block_id out = inners_.add();
    inners_[out] = inner{};
    return out;
  }

 public:
  // Blocks below belong to committed sets.
  void settle() noexcept { settled_ = size(); }
  [[nodiscard]] mark settled() const noexcept { return settled_; }
  void forget_unsettled() noexcept { shrink(settled_); }

 private:
  block_pool<leaf> leaves_;
  block_pool<inner> inners_;
  std::pmr::vector<superset> memo_;
  mark settled_;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
