// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/graph/detail/block_pool.hpp>
#include <hocket/graph/detail/trie_blocks.hpp>
#include <hocket/graph/detail/union_memo.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// Sets of ids as tries that share what they have in common: leaves of 512 bits, inner blocks of `fan` children. Blocks
// older than the watermark `fresh` are never written again; younger ones belong to the set at hand and are changed in
// place. Number 0 is the empty set at every height.
class bit_tries {
 public:
  using block_id = trie_inner::block_id;
  using leaf = trie_leaf;
  using inner = trie_inner;
  static constexpr std::uint32_t leaf_bits = leaf::bits, inner_bits = inner::bits;
  static constexpr std::size_t fan = inner::fan;
  static constexpr std::size_t leaf_words = leaf::words;

  struct root {
    block_id block = 0;        // 0: the empty set
    std::uint32_t height = 0;  // levels of inner blocks above the leaves
  };
  struct mark {
    block_id leaves = 1, inners = 1;
    bool lasting = false;   // what is added from here on will not be written to again, either
    node_id owner = no_id;  // whose set it is; blocks that lead to its own window are like no others
  };

  explicit bit_tries(std::pmr::memory_resource* memory) noexcept : leaves_(memory), inners_(memory), memo_(memory) {}
  bit_tries(bit_tries&& other) noexcept
      : leaves_(std::move(other.leaves_)),
        inners_(std::move(other.inners_)),
        memo_(std::move(other.memo_)),
        settled_(std::exchange(other.settled_, mark{})),
        remembers_unsettled_(std::exchange(other.remembers_unsettled_, false)) {
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
    return leaves_.bytes() + inners_.bytes() + memo_.capacity() * sizeof(union_memo);
  }
  [[nodiscard]] mark size() const noexcept { return {leaves_.size(), inners_.size()}; }
  void shrink(mark to) noexcept { leaves_.shrink(to.leaves), inners_.shrink(to.inners); }
  void clear() noexcept { forget_from({}); }
  // Forgets blocks that nothing refers to any more, all from `to` on, and every union.
  void forget_from(const mark& to) noexcept {
    shrink(settled_ = to);
    for (union_memo& u : memo_) u = {};
    remembers_unsettled_ = false;
  }
  // Are there so many of them that forgetting the unions is worth it?
  [[nodiscard]] bool is_much_from(const mark& to) const noexcept {
    return std::size_t{leaves_.size() - to.leaves} + (inners_.size() - to.inners) > 16 + memo_.size() / 8;
  }
  // The next path of blocks, down to a leaf, can be added without asking for memory.
  void make_room() { leaves_.make_room(4), inners_.make_room(16); }
  // Will `more` further blocks of either sort surely find a number?
  [[nodiscard]] bool has_room(std::size_t more) const noexcept {
    return leaves_.size() + more < leaves_.most && inners_.size() + more < inners_.most;
  }
  // Forgetful memory of unions: its size follows the number of sets. Tries of one level hardly need it.
  void remember_for(std::size_t sets) {
    constexpr std::size_t one_level = std::size_t{1} << (leaf_bits + inner_bits), most = 32768;
    const std::size_t wanted = sets < one_level ? 32 : std::bit_floor(sets / 16), size = wanted < most ? wanted : most;
    if (memo_.size() < size) memo_ = std::pmr::vector<union_memo>(size, memo_.get_allocator());
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

  // Precondition: b is an inner block.
  [[nodiscard]] block_id child_of(block_id b, std::size_t i) const noexcept { return inners_[b].child[i]; }

  // Precondition: a fits the height.
  [[nodiscard]] bool has(block_id at, std::uint32_t height, node_id a) const noexcept {
    for (std::uint32_t shift = leaf_bits + inner_bits * height; shift != leaf_bits;) {
      if (at == 0) return false;
      shift -= inner_bits;
      at = inners_[at].child[(a >> shift) & (fan - 1)];
    }
    return at != 0 && leaves_[at].test(a);
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
  void prefetch(root top, block_id own) const noexcept {
    if (top.block != 0 && top.height != 0) prefetch(&inners_[top.block]);
    prefetch(&leaves_[own]);
  }

  void prefetch_children(root top) const noexcept {
    if (top.block == 0 || top.height < 2) return;
    for (const block_id child : inners_[top.block].child)
      if (child != 0) prefetch(&inners_[child]);
  }

  // u ∪ v, as u itself or v itself where one contains the other.
  [[nodiscard]] root merge(root u, root v, const mark& fresh) {
    if (v.block == 0) return u;
    if (u.block == 0) return v;
    if (u.height == v.height)
      return u.block == v.block
               ? u
               : root{merge(u.block, v.block, u.height, fresh, height_for(fresh.owner) == u.height), u.height};
    // The lower set lies wholly under the first child of the higher one.
    const root& high = u.height > v.height ? u : v;
    const root& low = u.height > v.height ? v : u;
    union_memo* known = nullptr;
    const block_id key = low.block | ((high.height - low.height) << tag_shift);
    if (is_settled(high) && is_settled(low)) {
      known = unions_of(high.block, key);
      if (const block_id joint = known == nullptr ? 0 : known->find(high.block, key); joint != 0)
        return {joint, high.height};
    }
    const block_id first = inners_[high.block].child[0];
    root below{first, high.height - 1};
    below = u.height > v.height ? merge(below, low, fresh) : merge(low, below, fresh);
    below = lifted(below, high.height - 1);
    if (below.block == first) {
      remember(known, high.block, key, high.block);
      return high;
    }
    // Only the first operand is ours to write to.
    const block_id out = u.height > v.height ? writable(high.block, fresh) : copy(high.block);
    inners_[out].child[0] = below.block;
    if (fresh.lasting && height_for(fresh.owner) != high.height) remember(known, high.block, key, out);
    return {out, high.height};
  }

  // A leaf that is there, or what will be in one if it is needed.
  struct leaf_or_content {
    block_id block;
    const leaf* content;  // if block is 0
  };
  // The same for v with `with` as its leaf around a, without making that set. Precondition: a fits the height of v.
  [[nodiscard]] root merge_with(root u, root v, node_id a, leaf_or_content with, const mark& fresh) {
    if (u.block == 0) return replace(v, a, with.block != 0 ? with.block : add(*with.content), fresh);
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
  [[nodiscard]] root lifted(root r, std::uint32_t height) { return r.height >= height ? r : lift(r, height); }
  [[nodiscard, gnu::noinline]] root lift(root r, std::uint32_t height) {
    for (; r.height < height; ++r.height) {
      if (r.block == 0) continue;
      const block_id above = inners_.add();
      inners_[above] = inner{};
      inners_[above].child[0] = r.block;
      r.block = above;
    }
    return r;
  }

  // The same, if what is added will not be written to again.
  [[nodiscard]] root lifted_for_good(root r, std::uint32_t height) {
    return r.height >= height ? r : lift_for_good(r, height);
  }
  [[nodiscard, gnu::noinline]] root lift_for_good(root r, std::uint32_t height) {
    if (r.block == 0) return lift(r, height);
    const block_id how = (no_block << tag_shift) | (r.height << 4) | height;  // no operand has this number
    union_memo* const known = is_settled(r) ? unions_of(r.block, how) : nullptr;
    if (const block_id joint = known == nullptr ? 0 : known->find(r.block, how); joint != 0) return {joint, height};
    const root out = lifted(r, height);
    remember(known, r.block, how, out.block);
    return out;
  }

  // r with a put in.
  [[nodiscard]] root insert(root r, node_id a, const mark& fresh) {
    r = lifted(r, height_for(a));
    r.block = insert(r.block, a, r.height, fresh);
    return r;
  }
  // r with `with` as the leaf around a, whatever was there.
  [[nodiscard]] root replace(root r, node_id a, block_id with, const mark& fresh) {
    r = lifted(r, height_for(a));
    r.block = replace(r.block, a, with, r.height, fresh);
    return r;
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

 private:
  // The second operand's number has room for how much lower it is than the first.
  static constexpr std::uint32_t tag_shift = 29, no_block = 7;
  [[nodiscard]] bool is_settled(root r) const noexcept {
    return r.block < (r.height == 0 ? settled_.leaves : settled_.inners);
  }

  // Of blocks whose numbers will be used again.
  [[gnu::cold, gnu::noinline]] void forget_unions() noexcept {
    for (union_memo& all : memo_)
      for (union_memo::entry& e : all.latest)
        if (e.joint >= settled_.inners) e = {};
    remembers_unsettled_ = false;
  }
  [[nodiscard]] union_memo* unions_of(block_id u, block_id v) noexcept {
    if (memo_.empty()) return nullptr;
    const std::uint64_t key = (std::uint64_t{u} << 32) | v;
    return &memo_[static_cast<std::uint32_t>((key * 0x9e3779b97f4a7c15u) >> 40) & (memo_.size() - 1)];
  }
  void remember(union_memo* known, block_id u, block_id v, block_id joint) noexcept {
    if (known == nullptr) return;
    known->put({u, v, joint});
    remembers_unsettled_ = remembers_unsettled_ || joint >= settled_.inners;
  }

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
  [[nodiscard]] block_id writable(block_id b, const mark& fresh) { return b >= fresh.inners ? b : copy(b); }

  [[nodiscard]] block_id merge_leaves(block_id u, block_id v, const mark& fresh) {
    leaves_.make_room(1);
    return merge_leaves(u, leaves_[u], v, leaves_[v], fresh);
  }
  // Room has been made. v may be 0: then y is in no block. The union is written where it goes if it is new, before it
  // is known whether it is: in graphs without structure nothing could predict that.
  [[nodiscard]] block_id merge_leaves(block_id u, leaf& x, block_id v, const leaf& y, const mark& fresh) noexcept {
    const block_id next = leaves_.size();
    const bool own = u >= fresh.leaves;
    const trie_outcome is = unite(own ? x : leaves_[next], x, y);
    const block_id joint = own ? u : next;
    const block_id out = is.is_x ? u : is.is_y && v != 0 ? v : joint;
    leaves_.add_if(out == next);
    return out;
  }

  [[nodiscard]] block_id merge(block_id u, block_id v, std::uint32_t height, const mark& fresh, bool own = false) {
    if (u == v || v == 0) return u;
    if (u == 0) return v;
    return height == 0 ? merge_leaves(u, v, fresh) : merge_inners(u, v, height, fresh, own);
  }

  // Two inner blocks that are being united: their children are still to be merged where both have one.
  struct pair {
    const inner* x;
    const inner* y;
    block_id u, v;
    union_memo* known;
    trie_comparison c;
    inner joint;
  };

  // The union if it is remembered, else 0. Precondition: u and v are different inner blocks.
  [[nodiscard]] block_id begin(pair& p, block_id u, block_id v) noexcept {
    p.u = u, p.v = v, p.known = nullptr;
    const block_id least = u < v ? u : v, most = u < v ? v : u;
    if (most < settled_.inners) {
      p.known = unions_of(least, most);
      if (const block_id joint = p.known == nullptr ? 0 : p.known->find(least, most); joint != 0) return joint;
    }
    p.x = &inners_[u], p.y = &inners_[v];
    p.c = unite(p.joint, *p.x, *p.y);
    return 0;
  }
  // The union, now that its children are there.
  [[nodiscard]] block_id finish(const pair& p, trie_outcome is, const mark& fresh, bool own) {
    const block_id least = p.u < p.v ? p.u : p.v, most = p.u < p.v ? p.v : p.u;
    if (is.is_x || is.is_y) {
      remember(p.known, least, most, is.is_x ? p.u : p.v);
      return is.is_x ? p.u : p.v;
    }
    const block_id out = p.u >= fresh.inners ? p.u : inners_.add();
    inners_[out] = p.joint;
    if (fresh.lasting && !own) remember(p.known, least, most, out);
    return out;
  }

  // Merges the children that are there in both.
  trie_outcome merge_children(inner& joint, const inner& x, const inner& y, const trie_comparison& c,
                              std::uint32_t height, const mark& fresh, bool own) {
    if (c.both == 0) return {c.only_y == 0, c.only_x == 0};
    if (height == 1) return merge_leaves_of(joint, x, y, c, fresh);
    const std::size_t own_child = own ? digit(fresh.owner, height) : fan;
    trie_outcome out{c.only_y == 0, c.only_x == 0};
    const auto put = [&](std::size_t i, block_id w) {
      joint.child[i] = w;
      out.is_x = out.is_x && w == x.child[i];
      out.is_y = out.is_y && w == y.child[i];
    };
    for (std::uint32_t d = c.both; d != 0; d &= d - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(d));
      prefetch(&inners_[x.child[i]]);
      prefetch(&inners_[y.child[i]]);
      if (height == 2)
        prefetch(unions_of(x.child[i] < y.child[i] ? x.child[i] : y.child[i],
                           x.child[i] < y.child[i] ? y.child[i] : x.child[i]));
    }
    if (height > 2) {
      for (std::uint32_t d = c.both; d != 0; d &= d - 1) {
        const auto i = static_cast<std::size_t>(std::countr_zero(d));
        put(i, merge_inners(x.child[i], y.child[i], height - 1, fresh, i == own_child));
      }
      return out;
    }
    // All leaves are asked for before the first is looked at: then they come at the same time.
    pair below[fan];
    std::uint32_t left = 0;
    for (std::uint32_t d = c.both; d != 0; d &= d - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(d));
      pair& p = below[i];
      if (const block_id known = begin(p, x.child[i], y.child[i]); known != 0) {
        put(i, known);
        continue;
      }
      left |= std::uint32_t{1} << i;
      for (std::uint32_t e = p.c.both; e != 0; e &= e - 1) {
        const auto k = static_cast<std::size_t>(std::countr_zero(e));
        prefetch(&leaves_[p.x->child[k]]);
        prefetch(&leaves_[p.y->child[k]]);
      }
    }
    for (std::uint32_t d = left; d != 0; d &= d - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(d));
      pair& p = below[i];
      put(i, finish(p, merge_leaves_of(p.joint, *p.x, *p.y, p.c, fresh), fresh, i == own_child));
    }
    return out;
  }

  trie_outcome merge_leaves_of(inner& joint, const inner& x, const inner& y, const trie_comparison& c,
                               const mark& fresh) {
    leaves_.make_room(fan);
    trie_outcome out{c.only_y == 0, c.only_x == 0};
    for (std::uint32_t d = c.both; d != 0; d &= d - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(d));
      const block_id u = x.child[i], v = y.child[i], w = merge_leaves(u, leaves_[u], v, leaves_[v], fresh);
      joint.child[i] = w;
      out.is_x = out.is_x & (w == u);
      out.is_y = out.is_y & (w == v);
    }
    return out;
  }

  // Precondition: u and v are different inner blocks.
  [[nodiscard]] block_id merge_inners(block_id u, block_id v, std::uint32_t height, const mark& fresh, bool own) {
    pair p;
    if (const block_id known = begin(p, u, v); known != 0) return known;
    return finish(p, merge_children(p.joint, *p.x, *p.y, p.c, height, fresh, own), fresh, own);
  }

  // u ∪ v, where v has `with` as its leaf around a.
  [[nodiscard]] block_id merge_with(block_id u, block_id v, node_id a, leaf_or_content with, std::uint32_t height,
                                    const mark& fresh) {
    if (u == 0) return replace(v, a, with.block != 0 ? with.block : add(*with.content), height, fresh);
    if (height == 0) {
      if (u == with.block) return u;
      leaves_.make_room(1);
      return merge_leaves(u, leaves_[u], with.block, with.block != 0 ? leaves_[with.block] : *with.content, fresh);
    }
    const inner none{};
    const inner& x = inners_[u];
    const inner& y = v == 0 ? none : inners_[v];
    const std::size_t path = digit(a, height);
    inner joint;
    trie_comparison c = unite(joint, x, y);
    const std::uint32_t elsewhere = ~(std::uint32_t{1} << path);
    c = {c.both & elsewhere, c.only_x & elsewhere, c.only_y & elsewhere};
    const bool others = merge_children(joint, x, y, c, height, fresh, false).is_x;
    joint.child[path] = merge_with(x.child[path], y.child[path], a, with, height - 1, fresh);
    if (others && joint.child[path] == x.child[path]) return u;
    const block_id out = u >= fresh.inners ? u : inners_.add();
    inners_[out] = joint;
    return out;
  }

  [[nodiscard]] block_id insert(block_id at, node_id a, std::uint32_t height, const mark& fresh) {
    if (height == 0) {
      if (at == 0) at = add(leaf{});
      else if (at < fresh.leaves) at = copy_of_leaf(at);
      leaves_[at].set(a);
      return at;
    }
    const block_id out = path_block(at, fresh);
    const block_id child = insert(inners_[out].child[digit(a, height)], a, height - 1, fresh);
    inners_[out].child[digit(a, height)] = child;
    return out;
  }
  [[nodiscard]] block_id replace(block_id at, node_id a, block_id with, std::uint32_t height, const mark& fresh) {
    if (height == 0) return with;
    const block_id out = path_block(at, fresh);
    const block_id child = replace(inners_[out].child[digit(a, height)], a, with, height - 1, fresh);
    inners_[out].child[digit(a, height)] = child;
    return out;
  }
  [[nodiscard]] block_id path_block(block_id at, const mark& fresh) {
    if (at != 0) return writable(at, fresh);
    const block_id out = inners_.add();
    inners_[out] = inner{};
    return out;
  }

 public:
  // Blocks below belong to committed sets.
  void settle() noexcept {
    settled_ = size();
    remembers_unsettled_ = false;
  }
  [[nodiscard]] mark settled() const noexcept { return settled_; }
  void forget_unsettled() noexcept {
    if (remembers_unsettled_) forget_unions();
    shrink(settled_);
  }

 private:
  block_pool<leaf> leaves_;
  block_pool<inner> inners_;
  std::pmr::vector<union_memo> memo_;
  mark settled_;
  bool remembers_unsettled_ = false;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
