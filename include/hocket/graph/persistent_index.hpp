// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/graph/detail/bit_tries.hpp>
#include <hocket/graph/index.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// Exact reachability for graphs of thousands to tens of millions of nodes: bit sets that share what they have in
/// common. Ids are cut into windows of 512. The ancestors of a node are one 64-byte leaf for its own window, and a trie
/// over the other windows:
///
///     sets_[b]   far  ──► trie of the ancestors in other windows, shared block by block with other nodes
///                near ──► 1 1 0 1 1 0 0 0 | 1 0 1 …        the ancestors in b's own window; none: no leaf
///                               bits before b   from b on: those of later nodes that read the same leaf
///
///     late_[x]   two words: the late edges that x runs before, and those that it runs after
///
/// If ancestors are smaller than their nodes, a node reads no further than its own bit. So a node joins the leaf of its
/// latest predecessor where the bits before the leaf's last reader are what it needs, and writes the others. About 10
/// ops of a program read one leaf.
///
/// An op whose predecessors are in its window shares the trie of the latest, as long as that implies the others.
/// Uniting two tries visits only the blocks in which they differ, and a set that contains the other is the union.
///
/// A late edge a → b orders every ancestor of a before every descendant of b. If those are many, no set is changed: the
/// edge gets a bit, set in `before` of the ones and in `after` of the others. x is before y if the sets say so, or if
/// before(x) and after(y) have a bit in common. After `late_edge_limit` such edges wants_rebuild() says so, and the dag
/// builds the index anew from its edges. So the index never holds much more than one that was built at once.
///
/// | invariant                                                              | why                                     |
/// |------------------------------------------------------------------------|-----------------------------------------|
/// | sets refer to blocks older than now_.settled alone                     | a reduce that nobody commits is undone  |
/// | near has every ancestor in the own window, and not the node itself     | reaches looks in one place              |
/// | no trie refers to a leaf that is somebody's near                       | it is written to again                  |
/// | of the own window, far has some of them, or none                       | each is counted and listed once         |
/// | late_ is empty, or has an entry a node                                 | without late edges it costs nothing     |
/// | before(x) and after(x) have no bit in common                           | the graph has no cycle                  |
/// | if now_.ascends, every ancestor is smaller than its node               | no predecessor implies a greater one    |
///
/// reaches: one load for the node, one per level of 16, one for the leaf: 3 up to 8,192 nodes, 4 up to 131,072, 5 up to
/// 2 million; 2 when both are in one window. Source: docs/graph.md, "Which index".
///
///     graph::dag<graph::persistent_index> g;
class persistent_index {
 public:
  /// So many late edges that concern many nodes are held before a rebuild: one bit each.
  static constexpr std::uint32_t late_edge_limit = 64;

  explicit persistent_index(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : tries_(memory), sets_(memory), late_(memory), linked_(memory) {}
  persistent_index(persistent_index&& other) noexcept
      : tries_(std::move(other.tries_)),
        sets_(std::move(other.sets_)),
        late_(std::move(other.late_)),
        linked_(std::move(other.linked_)),
        readers_(other.readers_),
        staged_(other.staged_),
        now_(other.now_) {
    other.clear();
  }
  persistent_index(const persistent_index& other)
      : tries_(other.tries_, other.now_.settled),
        sets_(other.sets_.begin(), other.sets_.end()),
        late_(other.late_.begin(), other.late_.end()),
        readers_(other.readers_),
        now_(other.now_) {}
  persistent_index& operator=(persistent_index other) noexcept {
    std::destroy_at(this);
    return *std::construct_at(this, std::move(other));
  }
  ~persistent_index() = default;

  [[nodiscard]] std::size_t size() const noexcept { return sets_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return tries_.bytes() + (sets_.capacity() + linked_.capacity()) * sizeof(set) +
           late_.capacity() * sizeof(late_bits);
  }
  void clear() noexcept {
    now_ = {};
    readers_ = {};
    tries_.shrink(now_.settled);
    sets_.clear();
    late_.clear();
  }
  void reserve(std::size_t nodes) { sets_.reserve(nodes); }

  /// Is a a strict ancestor of b? Precondition: both < size(). O(log16(n / 512)).
  [[nodiscard]] bool reaches(node_id a, node_id b) const noexcept {
    return is_in(sets_[b], b, a) || (!late_.empty() && (late_[a].before & late_[b].after) != 0);
  }

  /// Number of strict ancestors of b. O(blocks of its set); O(nodes) for one after a late edge.
  [[nodiscard]] std::size_t ancestor_count(node_id b) const noexcept {
    return with_late(b, tries_.count(sets_[b].far()) + near_only(b));
  }

  /// f(a) for each strict ancestor of b, ascending. O(blocks of its set + ancestors); O(nodes) for one after a late
  /// edge.
  template <class F>
  void for_each_ancestor(node_id b, F&& f) const {
    if (is_late(b)) {
      for (std::size_t a = 0; a < size(); ++a)
        if (reaches(static_cast<node_id>(a), b)) f(static_cast<node_id>(a));
      return;
    }
    const node_id first = window(b) << tries::leaf_bits;
    bool is_listed = false;  // the own window
    const auto list_own = [&] {
      if (!is_listed) near_of(b).for_each(first, f);
      is_listed = true;
    };
    tries_.for_each(sets_[b].far(), [&](node_id a) {
      if (a >= first) list_own();
      if (window(a) != window(b)) f(a);
    });
    list_own();
  }

  /// Number of pairs (a, b) with a before b. Shared blocks are counted once. O(all blocks), and O(nodes) for each node
  /// after a late edge.
  [[nodiscard]] std::uint64_t reachable_pairs() const {
    std::vector<std::size_t> counts(tries_.size().inners, ~std::size_t{0});
    std::uint64_t pairs = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      const auto b = static_cast<node_id>(i);
      pairs += with_late(b, tries_.count(sets_[b].far(), counts) + near_only(b));
    }
    return pairs;
  }

  /// See reachability_index. Whoever is among the ancestors of the other predecessors is implied. In descending
  /// topological order these are known when a predecessor comes up, and it joins them at once. In another order a later
  /// predecessor may imply an earlier one, so each is asked again, and they join last.
  [[nodiscard]] std::size_t reduce(node_id b, std::span<node_id> preds) {
    tries_.shrink(now_.settled);  // whatever an uncommitted reduce left behind
    tries_.begin_set();
    if (size() == sets_.capacity()) sets_.reserve(size() * 2 + 16);
    if (!late_.empty() && late_.size() == late_.capacity()) late_.reserve(late_.size() * 2 + 16);
    staged_ = {};
    staged_.ascends = now_.ascends;
    for (node_id last = b; const node_id p : preds) staged_.ascends = staged_.ascends & (p < std::exchange(last, p));
    std::size_t kept = 0;
    for (std::size_t i = 0; i < preds.size(); ++i) {
      const node_id p = preds[i];
      if (is_staged(b, p)) continue;
      stage(p, b);
      std::swap(preds[i], preds[kept]);
      ++kept;
    }
    if (!staged_.ascends) {
      kept = keep_if(preds, kept, [&](node_id p) { return !is_staged(b, p); });
      for (const node_id p : preds.first(kept)) stage_around(p, b, leaf::of(p));
    }
    stage_near(b, preds.first(kept));
    return late_.empty() ? kept : without_late(preds, kept);
  }

  /// See bounded_index. A set is at most a full trie, written once, and its leaf.
  [[nodiscard]] bool has_room(std::size_t preds) const noexcept {
    return tries_.has_room(size() / 256 + (preds + 4) * 16);
  }

  void commit(node_id b) noexcept {
    HOCKET_ASSERT(b <= size());
    if (b == size()) {  // reduce made the room
      sets_.push_back({});
      if (!late_.empty()) late_.push_back({});
    }
    if (!late_.empty()) late_[b].after = staged_.after;
    sets_[b] = set(staged_.far, staged_.own, staged_.ascends);
    if (staged_.ascends) readers_[staged_.own % readers_.size()] = {staged_.own, (std::max)(staged_.last, b)};
    now_.ascends = staged_.ascends;
    now_.settled = tries_.size();
  }

  void resize(std::size_t n) {
    if (!late_.empty()) late_.reserve(n);
    sets_.resize(n);
    if (!late_.empty()) late_.resize(n);
  }

  /// See truncating_index.
  void truncate(std::size_t n) noexcept {
    if (n >= size()) return;
    now_.wasted += (size() - n) * block_count() / size();  // about: nobody knows which blocks were theirs
    while (size() > n) sets_.pop_back();
    while (late_.size() > n) late_.pop_back();
  }

  /// See reachability_index.
  void link(node_id a, std::span<const node_id> affected) {
    const std::size_t few = 8 + size() / 64;  // as cheap as to go through all nodes
    if (now_.late_edges < late_edge_limit && affected.size() > few) link_by_bit(a, affected);
    else link_by_sets(a, affected);
    for (const node_id d : affected) now_.ascends = now_.ascends && a < d;
  }
  /// See rebuildable_index.
  [[nodiscard]] bool wants_rebuild() const noexcept {
    return now_.late_edges == late_edge_limit || now_.wasted > block_count() / 2 + size() / 4 + 64;
  }

  /// For tests: do the invariants above hold?
  [[nodiscard]] bool check_invariants() const {
    if (!late_.empty() && late_.size() != size()) return false;
    const std::uint64_t unused = now_.late_edges == late_edge_limit ? 0 : ~std::uint64_t{0} << now_.late_edges;
    for (std::size_t i = 0; i < size(); ++i) {
      const auto b = static_cast<node_id>(i);
      const set& s = sets_[b];
      if (!tries_.check_invariants(s.far(), now_.settled) || s.near() >= now_.settled.leaves) return false;
      leaf near = near_of(b);
      if (near.test(b)) return false;
      near.join(tries_.leaf_at(tries_.find_leaf(s.far(), b)));
      if (near != near_of(b)) return false;
      const late_bits late = late_.empty() ? late_bits{} : late_[b];
      if ((late.before & late.after) != 0 || ((late.before | late.after) & unused) != 0) return false;
      bool ascends = true;
      for_each_ancestor(b, [&](node_id a) { ascends = ascends && a < b; });
      if (now_.ascends && !ascends) return false;
    }
    return true;
  }

 private:
  using tries = detail::bit_tries;
  using leaf = tries::leaf;

  // Block numbers have 29 bits: two words hold the set.
  class set {
   public:
    set() = default;
    // is_shared: of the leaf `near`, only what is before the node counts.
    set(tries::root far, tries::block_id near, bool is_shared) noexcept
        : far_(far.block << 3 | far.height), near_(near << 1 | (is_shared ? 1u : 0u)) {}
    [[nodiscard]] tries::root far() const noexcept { return {far_ >> 3, far_ & 7u}; }
    [[nodiscard]] tries::block_id near() const noexcept { return near_ >> 1; }
    [[nodiscard]] bool is_shared() const noexcept { return (near_ & 1u) != 0; }

   private:
    std::uint32_t far_ = 0, near_ = 0;
  };
  static_assert(sizeof(set) == 8 && sizeof(node_id) == 4);
  struct staged {
    tries::root far;          // ancestors in other windows
    leaf near{};              // those in its own window
    tries::block_id own = 0;  // the leaf that will hold them
    node_id last = 0;         // the last of the nodes that read that leaf already
    std::uint64_t after = 0;  // the late edges before the node
    bool ascends = true;      // will now_.ascends hold, and did the predecessors come in descending order?
  };
  struct reader {
    tries::block_id leaf = 0;
    node_id last = 0;  // no later node reads it
  };
  struct state {
    tries::mark settled;           // the blocks that are committed
    std::size_t wasted = 0;        // about: blocks that a new index would not need
    std::uint32_t late_edges = 0;  // that have a bit
    bool ascends = true;
  };
  // Late edges, by their bits.
  struct late_bits {
    std::uint64_t before = 0;  // this node is the source of the edge, or runs before it
    std::uint64_t after = 0;   // it is the target, or runs after it
  };

  static constexpr node_id window(node_id a) noexcept { return a >> tries::leaf_bits; }
  [[nodiscard]] std::size_t block_count() const noexcept {
    return std::size_t{now_.settled.leaves} + std::size_t{now_.settled.inners};
  }
  [[nodiscard]] bool is_in(const set& of_b, node_id b, node_id a) const noexcept {
    if (window(a) != window(b)) return tries_.has(of_b.far(), a);
    return tries_.leaf_at(of_b.near()).test(a) && (a < b || !of_b.is_shared());
  }
  [[nodiscard]] bool is_staged(node_id b, node_id a) const noexcept {
    return window(a) == window(b) ? staged_.near.test(a) : tries_.has(staged_.far, a);
  }
  // The ancestors of b in its window.
  [[nodiscard]] leaf near_of(node_id b) const noexcept {
    const leaf& all = tries_.leaf_at(sets_[b].near());
    return sets_[b].is_shared() ? all.before(b) : all;
  }
  [[nodiscard]] bool is_late(node_id b) const noexcept { return !late_.empty() && late_[b].after != 0; }
  // Ancestors in b's window beyond those that its trie has too.
  [[nodiscard]] std::size_t near_only(node_id b) const noexcept {
    return near_of(b).count() - tries_.leaf_at(tries_.find_leaf(sets_[b].far(), b)).count();
  }
  // `count` and the ancestors by late edges alone.
  [[nodiscard]] std::size_t with_late(node_id b, std::size_t count) const noexcept {
    if (!is_late(b)) return count;
    for (node_id a = 0; a < size(); ++a)
      if ((late_[a].before & late_[b].after) != 0 && !is_in(sets_[b], b, a)) ++count;
    return count;
  }

  // Puts the ancestors of p, and if in order p itself, into the set that is staged for b.
  void stage(node_id p, node_id b) {
    const set of_p = sets_[p];
    staged_.far = tries_.merge(staged_.far, of_p.far());
    if (staged_.ascends && window(p) == window(b)) {
      const leaf& all = tries_.leaf_at(of_p.near());
      if (of_p.is_shared()) staged_.near.join_before(p, all);
      else staged_.near.join(all);
      staged_.near.set(p);
    } else if (staged_.ascends) {
      leaf around = near_of(p);
      around.set(p);
      staged_.far = tries_.join(staged_.far, p, around);
    } else {
      if (of_p.near() != 0) stage_around(p, b, near_of(p));
      if (window(p) != window(b)) stage_around(b, b, tries_.leaf_at(tries_.find_leaf(of_p.far(), b)));
    }
  }
  // Puts what is in the window of p into it.
  void stage_around(node_id p, node_id b, const leaf& more) {
    if (window(p) == window(b)) staged_.near.join(more);
    else staged_.far = tries_.join(staged_.far, p, more);
  }
  // Finds a leaf for what is staged: that of a predecessor if all who read it will see what they saw, else a new one.
  void stage_near(node_id b, std::span<const node_id> preds) {
    if (staged_.ascends) {
      // The latest predecessor comes first. Without one in the window there is nothing in it.
      if (preds.empty() || window(preds.front()) != window(b)) return;
      const tries::block_id own = sets_[preds.front()].near();
      const reader latest = readers_[own % readers_.size()];
      if (own != 0 && latest.leaf == own && staged_.near.is_same_before(latest.last, tries_.leaf_at(own))) {
        tries_.put(own, staged_.near);
        staged_.own = own;
        staged_.last = latest.last;
        return;
      }
    } else if (staged_.near == leaf{}) {
      return;
    }
    staged_.own = tries_.add(staged_.near);
  }
  // Stages the late edges before the next node; of the predecessors, those come last that late edges imply.
  [[nodiscard]] std::size_t without_late(std::span<node_id> preds, std::size_t kept) noexcept {
    for (const node_id p : preds) staged_.after |= late_[p].after;
    return keep_if(preds, kept, [&](node_id p) { return (late_[p].before & staged_.after) == 0; });
  }
  // Those of the first `kept` for which it holds stay first, in their order; returns how many.
  template <class Holds>
  static std::size_t keep_if(std::span<node_id> preds, std::size_t kept, Holds&& holds) noexcept {
    std::size_t good = 0;
    for (std::size_t i = 0; i < kept; ++i) {
      if (!holds(preds[i])) continue;
      std::swap(preds[i], preds[good]);
      ++good;
    }
    return good;
  }

  // A late edge gets a bit. Sets stay as they are.
  void link_by_bit(node_id a, std::span<const node_id> affected) {
    if (late_.empty()) late_.resize(size());
    const std::uint64_t bit = std::uint64_t{1} << now_.late_edges;
    const std::uint64_t after_a = late_[a].after;
    if (after_a != 0)
      for (late_bits& x : late_) x.before |= (x.before & after_a) != 0 ? bit : 0;
    const auto mark = [&](node_id x) { late_[x].before |= bit; };
    tries_.for_each(sets_[a].far(), mark);
    near_of(a).for_each(window(a) << tries::leaf_bits, mark);
    mark(a);
    for (const node_id d : affected) late_[d].after |= bit;
    ++now_.late_edges;
  }
  // A late edge that concerns few nodes: each gets a new set.
  void link_by_sets(node_id a, std::span<const node_id> affected) {
    tries_.shrink(now_.settled);
    linked_.clear();
    linked_.reserve(affected.size());
    tries_.begin_set();
    leaf own = near_of(a);
    own.set(a);
    const tries::root more = tries_.join(sets_[a].far(), a, own);
    for (const node_id d : affected) {
      tries_.begin_set();
      const tries::root far = tries_.merge(sets_[d].far(), more);
      leaf near = near_of(d);
      near.join(tries_.leaf_at(tries_.find_leaf(more, d)));
      linked_.push_back({far, near == leaf{} ? 0 : tries_.add(near), false});
    }
    for (std::size_t i = 0; i < affected.size(); ++i) {
      sets_[affected[i]] = linked_[i];
      if (!late_.empty()) late_[affected[i]].after |= late_[a].after;
    }
    const std::size_t before = block_count();
    now_.settled = tries_.size();
    now_.wasted += block_count() - before;
  }

  tries tries_;
  std::pmr::vector<set> sets_;
  std::pmr::vector<late_bits> late_;
  std::pmr::vector<set> linked_;  // what link works on
  // The last reader of each leaf `near`, at its number modulo the size. One that was forgotten costs a leaf, no more.
  std::array<reader, 512> readers_{};
  staged staged_;
  state now_;
};

static_assert(counting_index<persistent_index>);

}  // namespace hocket::inline HOCKET_ABI::graph
