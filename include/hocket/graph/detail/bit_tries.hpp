// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/graph/detail/block_pool.hpp>
#include <hocket/graph/detail/trie_leaf.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// Sets of ids as tries that share what they have in common:
//
//    root of height 1      inner [ 3 | 0 | 7 | … 16 children ]       child i: the ids from 512 i on; 0: none of them
//                                  |       |
//    leaves              [ 512 bits ]   [ 512 bits ]                  bit k: first id + k
//
// | invariant                                                                        | why                           |
// |----------------------------------------------------------------------------------|-------------------------------|
// | number 0 is the empty set at every height                                        | absence costs no block        |
// | a block refers only to blocks that exist                                         |                               |
// | blocks older than the mark `fresh` of a call are not written to by it            | other sets share them         |
// | what is younger belongs to the set at hand alone, with all that leads to it      | so it is changed in place     |
class bit_tries {
 public:
  using block_id = std::uint32_t;
  using leaf = trie_leaf;
  static constexpr std::uint32_t leaf_bits = leaf::bits;
  static constexpr std::uint32_t inner_bits = 4;  // 16 children of 4 bytes: a cache line
  static constexpr std::size_t fan = std::size_t{1} << inner_bits;
  static constexpr std::uint32_t most_height = (32 - leaf_bits + inner_bits - 1) / inner_bits;

  struct root {
    block_id block = 0;        // 0: the empty set
    std::uint32_t height = 0;  // levels of inner blocks above the leaves
  };
  // A moment: how many blocks there were.
  struct mark {
    block_id leaves = 1, inners = 1;
  };

  explicit bit_tries(std::pmr::memory_resource* memory) noexcept : leaves_(memory), inners_(memory) {}
  bit_tries(const bit_tries& other, const mark& upto)
      : leaves_(other.leaves_, upto.leaves), inners_(other.inners_, upto.inners) {}
  bit_tries(bit_tries&&) noexcept = default;

  [[nodiscard]] std::size_t bytes() const noexcept { return leaves_.bytes() + inners_.bytes(); }
  [[nodiscard]] mark size() const noexcept { return {leaves_.size(), inners_.size()}; }
  // Forgets the blocks that were added since.
  void shrink(const mark& to) noexcept {
    leaves_.shrink(to.leaves);
    inners_.shrink(to.inners);
  }
  // The next path of blocks, down to a leaf, can be added without asking for memory.
  void make_room() {
    leaves_.make_room(2);
    inners_.make_room(2 * most_height);
  }
  // Will `more` further blocks of either sort surely find a number?
  [[nodiscard]] bool has_room(std::size_t more) const noexcept {
    return leaves_.size() + more < leaves_.most && inners_.size() + more < inners_.most;
  }

  [[nodiscard]] leaf& leaf_at(block_id b) noexcept { return leaves_[b]; }
  [[nodiscard]] const leaf& leaf_at(block_id b) const noexcept { return leaves_[b]; }
  [[nodiscard]] block_id add(const leaf& content) {
    const block_id b = leaves_.add();
    leaves_[b] = content;
    return b;
  }
  [[nodiscard]] block_id copy_of_leaf(block_id from) {
    const block_id b = leaves_.add();
    leaves_[b] = leaves_[from];
    return b;
  }
  // The least height at which a fits.
  static constexpr std::uint32_t height_for(node_id a) noexcept {
    const auto bits = 32 - static_cast<std::uint32_t>(std::countl_zero(a | ((node_id{1} << leaf_bits) - 1)));
    return (bits - leaf_bits + inner_bits - 1) / inner_bits;
  }

  // Precondition: a fits the height.
  [[nodiscard]] bool has(block_id at, std::uint32_t height, node_id a) const noexcept {
    for (std::uint32_t shift = leaf_bits + inner_bits * height; shift != leaf_bits;) {
      if (at == 0) return false;
      shift -= inner_bits;
      at = inners_[at].child[(a >> shift) & (fan - 1)];
    }
    return at != 0 && leaves_[at].test(a);
  }
  [[nodiscard]] bool has(const root& r, node_id a) const noexcept { return fits(r, a) && has(r.block, r.height, a); }
  // The leaf in which a would be; 0 if there is none.
  [[nodiscard]] block_id find_leaf(const root& r, node_id a) const noexcept {
    if (!fits(r, a)) return 0;
    block_id at = r.block;
    for (std::uint32_t h = r.height; h != 0 && at != 0; --h) at = inners_[at].child[digit(a, h)];
    return at;
  }

  // u ∪ v, as u itself or v itself where one contains the other. Only u may be ours to write to.
  [[nodiscard]] root merge(root u, root v, const mark& fresh) {
    if (v.block == 0) return u;
    if (u.block == 0) return v;
    const std::uint32_t height = u.height > v.height ? u.height : v.height;
    u = lifted(u, height);
    v = lifted(v, height);
    return {merge(u.block, v.block, height, fresh), height};
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
  [[nodiscard]] root insert(const root& r, node_id a, const mark& fresh) {
    leaf one{};
    one.set(a);
    return join(r, a, 0, one, fresh);
  }
  // r with the bits of `more` put in around a. Where r has nothing there, it gets the block `as`, if that is given.
  [[nodiscard]] root join(root r, node_id a, block_id as, const leaf& more, const mark& fresh) {
    const block_id old = find_leaf(r, a);
    if (old == 0) return replace(r, a, as != 0 ? as : add(more), fresh);
    leaf joint = leaves_[old];
    joint.join(more);
    if (joint == leaves_[old]) return r;
    if (old < fresh.leaves) return replace(r, a, add(joint), fresh);
    leaves_[old] = joint;
    return r;
  }
  // r with `with` as the leaf around a, whatever was there.
  [[nodiscard]] root replace(root r, node_id a, block_id with, const mark& fresh) {
    r = lifted(r, height_for(a));
    return {replace(r.block, a, with, r.height, fresh), r.height};
  }

  template <class F>
  void for_each(block_id at, std::uint32_t height, node_id first, F&& f) const {
    if (at == 0) return;
    if (height == 0) return leaves_[at].for_each(first, f);
    for (std::uint32_t i = 0; i < fan; ++i)
      for_each(inners_[at].child[i], height - 1, first + (i << (leaf_bits + inner_bits * (height - 1))), f);
  }
  [[nodiscard]] std::size_t count(block_id at, std::uint32_t height) const noexcept {
    if (at == 0) return 0;
    if (height == 0) return leaves_[at].count();
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
  // For tests: does the set refer to blocks older than `upto` alone?
  [[nodiscard]] bool check_invariants(block_id at, std::uint32_t height, const mark& upto) const noexcept {
    if (at == 0) return true;
    if (height == 0) return at < upto.leaves;
    if (at >= upto.inners) return false;
    for (const block_id child : inners_[at].child)
      if (!check_invariants(child, height - 1, upto)) return false;
    return true;
  }

 private:
  struct inner {
    block_id child[fan];
  };

  static constexpr std::size_t digit(node_id a, std::uint32_t height) noexcept {
    return (a >> (leaf_bits + inner_bits * (height - 1))) & (fan - 1);
  }
  static constexpr bool fits(const root& r, node_id a) noexcept {
    return std::uint64_t{a} >> (leaf_bits + inner_bits * r.height) == 0;
  }

  [[nodiscard]] block_id merge(block_id u, block_id v, std::uint32_t height, const mark& fresh) {
    if (u == v || v == 0) return u;
    if (u == 0) return v;
    return height == 0 ? merge_leaves(u, v, fresh) : merge_inners(u, v, height, fresh);
  }
  [[nodiscard]] block_id merge_leaves(block_id u, block_id v, const mark& fresh) {
    leaves_.make_room(1);
    const leaf& x = leaves_[u];
    const leaf& y = leaves_[v];
    leaf joint;
    std::uint64_t beyond_x = 0, beyond_y = 0;
    for (std::size_t w = 0; w < leaf::words; ++w) {
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
  [[nodiscard]] block_id merge_inners(block_id u, block_id v, std::uint32_t height, const mark& fresh) {
    const inner& x = inners_[u];
    const inner& y = inners_[v];
    inner joint;
    bool is_x = true, is_y = true;
    for (std::size_t i = 0; i < fan; ++i) {
      const block_id child = merge(x.child[i], y.child[i], height - 1, fresh);
      joint.child[i] = child;
      is_x = is_x && child == x.child[i];
      is_y = is_y && child == y.child[i];
    }
    if (is_x) return u;
    if (is_y) return v;
    const block_id out = u >= fresh.inners ? u : inners_.add();
    inners_[out] = joint;
    return out;
  }
  [[nodiscard]] block_id replace(block_id at, node_id a, block_id with, std::uint32_t height, const mark& fresh) {
    if (height == 0) return with;
    const block_id child = replace(at == 0 ? 0 : inners_[at].child[digit(a, height)], a, with, height - 1, fresh);
    block_id out = at;
    if (at == 0 || at < fresh.inners) {
      out = inners_.add();
      inners_[out] = at == 0 ? inner{} : inners_[at];
    }
    inners_[out].child[digit(a, height)] = child;
    return out;
  }

  block_pool<leaf> leaves_;
  block_pool<inner> inners_;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
