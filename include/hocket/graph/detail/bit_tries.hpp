// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/graph/detail/block_pool.hpp>
#include <hocket/graph/detail/trie_leaf.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
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
// | number 0 is the empty set at every height, and no block is empty                 | absence costs no block        |
// | a block refers only to blocks that exist                                         |                               |
// | blocks from before begin_set are not written to                                  | other sets share them         |
// | what is younger belongs to the set at hand alone, with all that leads to it      | so it is changed in place     |
class bit_tries {
 public:
  using block_id = std::uint32_t;
  using leaf = trie_leaf;
  static constexpr std::uint32_t leaf_bits = leaf::bits;
  static constexpr std::uint32_t inner_bits = 4;  // 16 children of 4 bytes: a cache line
  static constexpr std::size_t fan = std::size_t{1} << inner_bits;

  struct root {
    block_id block = 0;        // 0: the empty set
    std::uint32_t height = 0;  // levels of inner blocks above the leaves
  };
  // A moment: how many blocks there were.
  struct mark {
    block_id leaves = 1, inners = 1;
  };

  explicit bit_tries(std::pmr::memory_resource* memory) noexcept : leaves_(memory), inners_(memory) {}
  // The blocks of that moment.
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
  // Blocks that are added from here on belong to the set at hand.
  void begin_set() noexcept { fresh_ = size(); }
  // Will `more` further blocks of either sort surely find a number?
  [[nodiscard]] bool has_room(std::size_t more) const noexcept {
    return leaves_.size() + more < leaves_.most && inners_.size() + more < inners_.most;
  }

  [[nodiscard]] const leaf& leaf_at(block_id b) const noexcept { return b == 0 ? empty_leaf : leaves_[b]; }
  [[nodiscard]] block_id add(const leaf& content) {
    const block_id b = leaves_.add();
    leaves_[b] = content;
    return b;
  }
  // Writes to a leaf that is in no trie.
  void put(block_id b, const leaf& content) noexcept { leaves_[b] = content; }

  [[nodiscard]] bool has(const root& r, node_id a) const noexcept { return leaf_at(find_leaf(r, a)).test(a); }
  // The leaf in which a would be; 0 if there is none.
  [[nodiscard]] block_id find_leaf(const root& r, node_id a) const noexcept {
    std::uint32_t shift = leaf_bits + inner_bits * r.height;
    if (std::uint64_t{a} >> shift != 0) return 0;
    block_id at = r.block;
    while (shift != leaf_bits && at != 0) {
      shift -= inner_bits;
      at = inners_[at].child[(a >> shift) & (fan - 1)];
    }
    return at;
  }

  // u ∪ v, as u itself or v itself where one contains the other. Only u may be of the set at hand.
  [[nodiscard]] root merge(root u, root v) {
    if (v.block == 0 || (u.block == v.block && u.height == v.height)) return u;
    if (u.block == 0) return v;
    const std::uint32_t height = u.height > v.height ? u.height : v.height;
    u = lifted(u, height);
    v = lifted(v, height);
    return {merge(u.block, v.block, height), height};
  }
  // r with the bits of `more` put in around a.
  [[nodiscard]] root join(root r, node_id a, const leaf& more) {
    const std::uint32_t bits = 32 - static_cast<std::uint32_t>(std::countl_zero(a >> leaf_bits));
    r = lifted(r, (bits + inner_bits - 1) / inner_bits);
    return {join(r.block, a, more, r.height), r.height};
  }
  // r with a put in.
  [[nodiscard]] root insert(const root& r, node_id a) { return join(r, a, leaf::of(a)); }

  // f(a) for each a of the set, ascending.
  template <class F>
  void for_each(const root& r, F&& f) const {
    for_each(r.block, r.height, 0, f);
  }
  [[nodiscard]] std::size_t count(const root& r) const noexcept { return count(r.block, r.height); }
  // The same, with the counts of inner blocks remembered; at first all ~0, one for each.
  [[nodiscard]] std::size_t count(const root& r, std::vector<std::size_t>& counts) const noexcept {
    return count(r.block, r.height, counts);
  }
  // For tests: does the set refer to blocks older than `upto` alone, and is none of them empty?
  [[nodiscard]] bool check_invariants(const root& r, const mark& upto) const noexcept {
    return check_invariants(r.block, r.height, upto);
  }

 private:
  struct inner {
    block_id child[fan];
  };

  static constexpr leaf empty_leaf{};

  static constexpr std::size_t digit(node_id a, std::uint32_t height) noexcept {
    return (a >> (leaf_bits + inner_bits * (height - 1))) & (fan - 1);
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
  [[nodiscard]] block_id merge(block_id u, block_id v, std::uint32_t height) {
    if (u == v || v == 0) return u;
    if (u == 0) return v;
    return height == 0 ? merge_leaves(u, leaves_[v], v) : merge_inners(u, v, height);
  }
  // The bits of u and of `more`: as u, or as `v` if that is given and they are those of `more`.
  [[nodiscard]] block_id merge_leaves(block_id u, const leaf& more, block_id v) {
    leaf joint = leaves_[u];
    joint.join(more);
    if (joint == leaves_[u]) return u;
    if (v != 0 && joint == more) return v;
    const block_id out = u >= fresh_.leaves ? u : leaves_.add();
    leaves_[out] = joint;
    return out;
  }
  [[nodiscard]] block_id merge_inners(block_id u, block_id v, std::uint32_t height) {
    const inner& x = inners_[u];
    const inner& y = inners_[v];
    inner joint;
    bool is_x = true, is_y = true;
    for (std::size_t i = 0; i < fan; ++i) {
      const block_id child = merge(x.child[i], y.child[i], height - 1);
      joint.child[i] = child;
      is_x = is_x && child == x.child[i];
      is_y = is_y && child == y.child[i];
    }
    if (is_x) return u;
    if (is_y) return v;
    const block_id out = u >= fresh_.inners ? u : inners_.add();
    inners_[out] = joint;
    return out;
  }
  [[nodiscard]] block_id join(block_id at, node_id a, const leaf& more, std::uint32_t height) {
    if (height == 0) return at == 0 ? add(more) : merge_leaves(at, more, 0);
    inner changed = at == 0 ? inner{} : inners_[at];
    block_id& child = changed.child[digit(a, height)];
    const block_id old = child;
    child = join(old, a, more, height - 1);
    if (child == old) return at;
    const block_id out = at >= fresh_.inners ? at : inners_.add();
    inners_[out] = changed;
    return out;
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
  [[nodiscard]] std::size_t count(block_id at, std::uint32_t height, std::vector<std::size_t>& counts) const noexcept {
    if (at == 0 || height == 0) return count(at, height);
    if (counts[at] != ~std::size_t{0}) return counts[at];
    std::size_t total = 0;
    for (const block_id child : inners_[at].child) total += count(child, height - 1, counts);
    return counts[at] = total;
  }
  [[nodiscard]] bool check_invariants(block_id at, std::uint32_t height, const mark& upto) const noexcept {
    if (at == 0) return true;
    if (height == 0) return at < upto.leaves && leaves_[at] != leaf{};
    if (at >= upto.inners) return false;
    bool any = false;
    for (const block_id child : inners_[at].child) {
      any = any || child != 0;
      if (!check_invariants(child, height - 1, upto)) return false;
    }
    return any;
  }

  block_pool<leaf> leaves_;
  block_pool<inner> inners_;
  mark fresh_;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
