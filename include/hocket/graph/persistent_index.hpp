// SPDX-License-Identifier: Apache-2.0
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
/// common. Ids are cut into windows of 512. The ancestors of a node are a trie over the windows before its own, and one
/// 64-byte leaf for its own window:
///
///     sets_[b]   root ──► trie of the ancestors in earlier windows, shared block by block with other nodes
///                leaf ──► 1 1 0 1 1 0 0 1 | 1 0 0 …        shared by the ops of a chain, as long as it does not fork
///                               bits before b   from b on: later ops of the chain; who asks about b ignores them
///
///     late_[x]   two words: the late edges that x runs before, and those that it runs after
///
/// An op whose latest predecessor is the last in its leaf shares that leaf. Its own bit is put there when the first op
/// of the window builds on it, unless another op has come to share the leaf and would see it. Uniting two tries visits
/// only the blocks in which they differ, and a set that contains the other is the union.
///
/// A late edge a → b orders every ancestor of a before every descendant of b. If those are many, no set is changed: the
/// edge gets a bit, set in `before` of the ones and in `after` of the others. x is before y if the tries say so, or if
/// before(x) and after(y) have a bit in common. After `late_edge_limit` such edges wants_rebuild() says so, and the dag
/// builds the index anew from its edges. So the index never holds much more than one that was built at once.
///
/// | invariant                                                              | why                                     |
/// |------------------------------------------------------------------------|-----------------------------------------|
/// | sets refer to blocks older than settled_ alone                         | a reduce that nobody commits is undone  |
/// | a node with a window has its ancestors in the trie or before b in its  | reaches looks in one place              |
/// | leaf, and no id from b on in the trie, save its own if `inclusive`     |                                         |
/// | while ordered_, every ancestor in the tries is smaller than the node   | windows are possible                    |
/// | late_ is empty, or has an entry a node                                 | without late edges it costs nothing     |
/// | before(x) and after(x) have no bit in common                           | the graph has no cycle                  |
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
        sharers_(other.sharers_),
        staged_(other.staged_),
        settled_(other.settled_),
        wasted_(other.wasted_),
        stale_below_(other.stale_below_),
        late_edges_(other.late_edges_),
        ordered_(other.ordered_) {
    other.clear();
  }
  persistent_index(const persistent_index& other)
      : tries_(other.tries_, other.settled_),
        sets_(other.sets_.begin(), other.sets_.end()),
        late_(other.late_.begin(), other.late_.end()),
        settled_(other.settled_),
        wasted_(other.wasted_),
        stale_below_(other.stale_below_),
        late_edges_(other.late_edges_),
        ordered_(other.ordered_) {}
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
    settled_ = {};
    tries_.shrink(settled_);
    sets_.clear();
    late_.clear();
    sharers_ = {};
    staged_ = {};
    wasted_ = 0;
    stale_below_ = 0;
    late_edges_ = 0;
    ordered_ = true;
  }
  void reserve(std::size_t nodes) { sets_.reserve(nodes); }

  /// Is a a strict ancestor of b? Precondition: both < size(). O(log16(n / 512)).
  [[nodiscard]] bool reaches(node_id a, node_id b) const noexcept {
    return in_tries(a, b) || (!late_.empty() && (late_[a].before & late_[b].after) != 0);
  }

  /// Number of strict ancestors of b. O(blocks of its set); O(nodes) for one after a late edge.
  [[nodiscard]] std::size_t ancestor_count(node_id b) const noexcept {
    std::size_t count = trie_count(b, nullptr);
    if (is_late(b))
      for (std::size_t a = 0; a < size(); ++a) count += joined_late(static_cast<node_id>(a), b) ? 1u : 0u;
    return count;
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
    const set s = sets_[b];
    if (!s.is_window()) return tries_.for_each(s.root, s.whole().height, 0, f);
    const node_id first = window(b) << tries::leaf_bits;
    const auto earlier = [&](node_id a) {
      if (a < first) f(a);
    };
    tries_.for_each(s.root, tries::height_for(b), 0, earlier);
    tries_.leaf_at(s.leaf()).before(b).for_each(first, f);
  }

  /// Number of pairs (a, b) with a before b. Shared blocks are counted once. O(all blocks), and O(nodes) for each node
  /// after a late edge.
  [[nodiscard]] std::uint64_t reachable_pairs() const {
    std::vector<std::size_t> counts(tries_.size().inners, ~std::size_t{0});
    std::uint64_t pairs = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      const auto b = static_cast<node_id>(i);
      pairs += is_late(b) ? ancestor_count(b) : trie_count(b, &counts);
    }
    return pairs;
  }

  /// See reachability_index.
  [[nodiscard]] std::size_t reduce(std::span<node_id> preds) {
    tries_.shrink(settled_);  // whatever an uncommitted reduce left behind
    staged_ = {};
    if (size() == sets_.capacity()) sets_.reserve(size() * 2 + 16);
    if (!late_.empty() && late_.size() == late_.capacity()) late_.reserve(late_.size() * 2 + 16);
    const std::size_t kept = ordered_ ? reduce_ordered(preds) : reduce_any(preds);
    return late_.empty() ? kept : without_late(preds, kept);
  }

  /// See bounded_index. A set is at most a full trie, written once; each predecessor may get a set with itself.
  [[nodiscard]] bool has_room(std::size_t preds) const noexcept {
    return tries_.has_room(size() / 256 + (preds + 4) * 16);
  }

  void commit(node_id b) noexcept {
    HOCKET_ASSERT(b <= size());
    if (b == size()) {
      sets_.push_back({});
      if (!late_.empty()) late_.push_back({});
    } else {  // not the node that was expected: it gets no window of its own
      if (staged_.window) staged_.set = explicit_set(staged_);
      staged_.window = false;
      ordered_ = ordered_ && staged_.below <= b;
    }
    if (!late_.empty()) late_[b].after = staged_.after;
    if (staged_.window) {
      sets_[b] = {staged_.set.block, staged_.leaf};
      sharer_of(staged_.leaf) = {staged_.leaf, b};
    } else {
      sets_[b] = set::of(staged_.set);
    }
    settled_ = tries_.size();
  }

  void resize(std::size_t n) {
    if (!late_.empty()) late_.reserve(n);
    sets_.resize(n);
    if (!late_.empty()) late_.resize(n);
    ordered_ = false;  // they may be committed in any order
  }

  /// See truncating_index. Bits of what is forgotten remain in leaves of earlier nodes, which ignore them.
  void truncate(std::size_t n) noexcept {
    if (n >= size()) return;
    wasted_ += (size() - n) * block_count() / size();  // about: nobody knows which blocks were theirs
    stale_below_ = (std::max)(stale_below_, static_cast<node_id>(size()));
    while (size() > n) sets_.pop_back();
    while (late_.size() > n) late_.pop_back();
  }

  /// See reachability_index.
  void link(node_id a, std::span<const node_id> affected) {
    bool forward = ordered_;
    for (const node_id d : affected) forward = forward && a < d;
    const bool few = affected.size() <= 8 + size() / 64;  // as cheap as to go through all nodes
    if (late_edges_ < late_edge_limit && (!few || forward != ordered_)) link_by_bit(a, affected);
    else link_in_tries(a, affected, forward);
  }
  /// See rebuildable_index.
  [[nodiscard]] bool wants_rebuild() const noexcept {
    return late_edges_ == late_edge_limit || wasted_ > block_count() / 2 + size() / 4 + 64;
  }

  /// For tests: do the invariants above hold?
  [[nodiscard]] bool check_invariants() const {
    if (!late_.empty() && late_.size() != size()) return false;
    for (std::size_t i = 0; i < size(); ++i) {
      const auto b = static_cast<node_id>(i);
      const set s = sets_[b];
      const std::uint32_t height = s.is_window() ? tries::height_for(b) : s.whole().height;
      if (!tries_.check_invariants(s.root, height, settled_)) return false;
      if (s.is_window() && s.leaf() >= settled_.leaves) return false;
      if (!late_.empty() && (late_[b].before & late_[b].after) != 0) return false;
      bool smaller = true;
      tries_.for_each(s.root, height, 0,
                      [&](node_id a) { smaller = smaller && (a < b || (a == b && s.is_inclusive())); });
      if (ordered_ && !smaller) return false;
    }
    return true;
  }

 private:
  using tries = detail::bit_tries;
  using block_id = tries::block_id;

  // Either a window: the trie of the ancestors in earlier windows, and a leaf for b's own. Or, where the tag says so,
  // one trie of all strict ancestors, with its height.
  struct set {
    static constexpr std::uint32_t inclusive = 1u << 31;  // the window and b itself are in the trie, too
    static constexpr std::uint32_t alone = 1u << 30;      // one trie

    block_id root = 0;
    std::uint32_t tag = alone;

    [[nodiscard]] bool is_window() const noexcept { return (tag & alone) == 0; }
    [[nodiscard]] bool is_inclusive() const noexcept { return (tag & inclusive) != 0; }
    [[nodiscard]] block_id leaf() const noexcept { return tag & ~inclusive; }
    [[nodiscard]] tries::root whole() const noexcept { return {root, tag & ~alone}; }
    static set of(tries::root r) noexcept { return {r.block, alone | r.height}; }
  };
  struct staged {
    bool window = false;  // or one trie of all
    node_id below = 0;    // no predecessor is as large
    tries::root set;
    block_id leaf = 0;        // of a window; others may share it
    std::uint64_t after = 0;  // the late edges before it
  };
  // The node that came to share a leaf last, and has no bit there.
  struct sharer {
    block_id leaf = 0;
    node_id last = 0;
  };
  // Late edges, by their bits.
  struct late_bits {
    std::uint64_t before = 0;  // this node is the source of the edge, or runs before it
    std::uint64_t after = 0;   // it is the target, or runs after it
  };

  static constexpr node_id window(node_id a) noexcept { return a >> tries::leaf_bits; }
  [[nodiscard]] std::size_t block_count() const noexcept {
    return std::size_t{settled_.leaves} + std::size_t{settled_.inners};
  }
  // By the numbers of leaves: of those with equal low bits the latest. Chains that run side by side are fewer.
  static constexpr std::size_t sharer_count = 512;
  [[nodiscard]] sharer& sharer_of(block_id leaf) noexcept { return sharers_[leaf & (sharer_count - 1)]; }

  [[nodiscard]] bool in_tries(node_id a, node_id b) const noexcept {
    const set s = sets_[b];
    if (!s.is_window()) return tries_.has(s.whole(), a);
    if (window(a) == window(b)) return a < b && tries_.leaf_at(s.leaf()).test(a);
    return a < b && tries_.has(s.root, tries::height_for(b), a);
  }
  [[nodiscard]] bool is_late(node_id b) const noexcept { return !late_.empty() && late_[b].after != 0; }
  // Is a before b by late edges alone?
  [[nodiscard]] bool joined_late(node_id a, node_id b) const noexcept {
    return (late_[a].before & late_[b].after) != 0 && !in_tries(a, b);
  }
  // Strict ancestors of b in the tries.
  [[nodiscard]] std::size_t trie_count(node_id b, std::vector<std::size_t>* counts) const {
    const set s = sets_[b];
    const tries::root r = s.is_window() ? tries::root{s.root, tries::height_for(b)} : s.whole();
    const std::size_t total =
        counts == nullptr ? tries_.count(r.block, r.height) : tries_.count(r.block, r.height, *counts);
    if (!s.is_window()) return total;
    const block_id twin = tries_.find_leaf(r, b);  // there if b's window is in the trie, too
    return total + tries_.leaf_at(s.leaf()).before(b).count() - (twin == 0 ? 0 : tries_.leaf_at(twin).count());
  }

  // Is a itself in its leaf, as the last? Puts it there if no node that shares the leaf would see it.
  [[nodiscard]] bool make_last(node_id a) noexcept {
    const block_id leaf = sets_[a].leaf();
    const sharer s = sharer_of(leaf);
    if (leaf != 0 && s.leaf == leaf && s.last == a && a >= stale_below_) {  // nobody has put in a bit behind a
      tries_.leaf_at(leaf).set(a);
      return true;
    }
    return tries_.leaf_at(leaf).ends_with(a);
  }
  // A node without ancestors gets a window.
  void make_window(node_id p) {
    if (sets_[p].is_window() || sets_[p].root != 0) return;
    tries::leaf own{};
    own.set(p);
    sets_[p] = {0, tries_.add(own)};
    settled_ = tries_.size();
  }
  // The leaf of p if it is just that of its ancestors and p, for good; else 0. Nobody writes to it again.
  [[nodiscard]] block_id closed_leaf(node_id p) noexcept {
    const block_id leaf = sets_[p].leaf();
    if ((ordered_ && window(static_cast<node_id>(size())) == window(p)) || !make_last(p)) return 0;
    if (sharer_of(leaf).leaf == leaf) sharer_of(leaf) = {};
    return leaf;
  }
  // Puts the window of p, and p itself, into its trie, once for all that will refer to it.
  void include_window(node_id p) {
    const set s = sets_[p];
    if (!s.is_window() || s.is_inclusive()) return;
    const tries::mark fresh = tries_.size();
    block_id leaf = closed_leaf(p);
    if (leaf == 0) leaf = tries_.add(tries_.leaf_at(s.leaf()).through(p));
    const tries::root r = tries_.replace({s.root, tries::height_for(p)}, p, leaf, fresh);
    sets_[p] = {r.block, s.tag | set::inclusive};
    settled_ = tries_.size();
  }
  // far ∪ the set of p, a node of an earlier window, and p.
  [[nodiscard]] tries::root with_earlier(tries::root far, node_id p, const tries::mark& fresh) {
    const set s = sets_[p];
    if (!s.is_window()) return tries_.insert(tries_.merge(far, s.whole(), fresh), p, fresh);
    far = tries_.merge(far, {s.root, s.root == 0 ? 0 : tries::height_for(p)}, fresh);
    if (s.is_inclusive()) return far;
    const tries::leaf own = tries_.leaf_at(s.leaf()).through(p);
    return tries_.join(far, p, closed_leaf(p), own, fresh);
  }

  // Program order: descending ids are a topological order, and every ancestor is smaller. Those that the latest does
  // not imply come forward first; most others are implied.
  [[nodiscard]] std::size_t reduce_ordered(std::span<node_id> preds) {
    if (preds.empty()) return 0;
    const auto b = static_cast<node_id>(size());
    const node_id latest = preds[0];
    make_window(latest);
    std::size_t apart = 1;
    for (std::size_t i = 1; i < preds.size(); ++i)
      if (!in_tries(preds[i], latest)) std::swap(preds[apart++], preds[i]);
    staged_.below = latest + 1;
    staged_.window = true;
    // What others will refer to is made first, so that every block from then on is ours to write to.
    for (std::size_t i = 0; i < apart; ++i) make_window(preds[i]);
    if (window(latest) != window(b)) include_window(latest);
    const tries::mark fresh = tries_.size();
    return unite(preds, apart, fresh);
  }
  // Stages the union of the first `apart` predecessors. As long as the own window holds just what the latest
  // predecessor has there, or nothing, the leaf is shared.
  [[nodiscard]] std::size_t unite(std::span<node_id> preds, std::size_t apart, const tries::mark& fresh) {
    const auto b = static_cast<node_id>(size());
    bool own = false;  // is the leaf ours?
    const auto join = [&](const tries::leaf& more) {
      if (!own) staged_.leaf = tries_.copy_of_leaf(staged_.leaf);
      own = true;
      tries_.leaf_at(staged_.leaf).join(more);
    };
    tries::root far{};
    std::size_t kept = 0;
    for (std::size_t i = 0; i < apart; ++i) {
      const node_id p = preds[i];
      const bool near = window(p) == window(b);
      if (i > 1 && (near ? tries_.leaf_at(staged_.leaf).test(p) : tries_.has(far, p)))
        continue;  // implied by one that is not the latest
      const set s = sets_[p];
      if (!near) {
        far = with_earlier(far, p, fresh);
      } else if (!s.is_window()) {
        const tries::root r = tries_.insert(s.whole(), p, tries_.size());
        if (const block_id twin = tries_.find_leaf(r, b); twin != 0) join(tries_.leaf_at(twin));
        far = tries_.merge(far, r, fresh);
      } else {
        // The leaf of a set that is in a trie does not change any more.
        if (i == 0 && !s.is_inclusive() && make_last(p)) staged_.leaf = s.leaf();
        else join(tries_.leaf_at(s.leaf()).through(p));
        far = tries_.merge(far, {s.root, s.root == 0 ? 0 : tries::height_for(p)}, fresh);
      }
      std::swap(preds[i], preds[kept]);
      ++kept;
    }
    staged_.set = tries_.lifted(far, far.block == 0 ? 0 : tries::height_for(b));
    tries_.make_room();  // for a commit that is not to b
    return kept;
  }

  // Any order: a later predecessor may imply an earlier one, so only strict ancestors are put in at first, and every
  // kept predecessor is asked again when the set is complete.
  [[nodiscard]] std::size_t reduce_any(std::span<node_id> preds) {
    const tries::mark fresh = tries_.size();
    tries::root all{};
    std::size_t kept = 0;
    for (std::size_t i = 0; i < preds.size(); ++i) {
      const node_id p = preds[i];
      staged_.below = (std::max)(staged_.below, p + 1);
      if (tries_.has(all, p)) continue;
      const tries::root more = strict(p, fresh);
      all = kept == 0 ? more : tries_.merge(all, more, fresh);
      std::swap(preds[i], preds[kept]);
      ++kept;
    }
    kept = keep_if(preds, kept, [&](node_id p) { return !tries_.has(all, p); });
    for (std::size_t i = 0; i < kept; ++i) all = tries_.insert(all, preds[i], fresh);
    staged_.set = all;
    return kept;
  }
  // Stages the late edges before the next node; of the predecessors, those come last that late edges imply.
  [[nodiscard]] std::size_t without_late(std::span<node_id> preds, std::size_t kept) noexcept {
    for (const node_id p : preds) staged_.after |= late_[p].after;
    return keep_if(preds, kept, [&](node_id p) { return (late_[p].before & staged_.after) == 0; });
  }
  // Those of the first `kept` for which it holds stay first, in their order; returns how many.
  template <class Holds>
  static std::size_t keep_if(std::span<node_id> preds, std::size_t kept, Holds&& holds) noexcept {
    for (std::size_t i = 0; i < kept;) {
      if (holds(preds[i])) {
        ++i;
        continue;
      }
      --kept;
      std::rotate(preds.begin() + static_cast<std::ptrdiff_t>(i), preds.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                  preds.begin() + static_cast<std::ptrdiff_t>(kept) + 1);
    }
    return kept;
  }

  // The strict ancestors of p as one trie.
  [[nodiscard]] tries::root strict(node_id p, const tries::mark& fresh) {
    const set s = sets_[p];
    if (!s.is_window()) return s.whole();
    const block_id leaf = tries_.add(tries_.leaf_at(s.leaf()).before(p));
    return tries_.replace({s.root, tries::height_for(p)}, p, leaf, fresh);
  }
  // What was staged for the next node, as one trie. Room has been made.
  [[nodiscard]] tries::root explicit_set(const staged& s) noexcept {
    const auto b = static_cast<node_id>(size());
    const tries::mark fresh = tries_.size();
    return tries_.replace(s.set, b, tries_.copy_of_leaf(s.leaf), fresh);
  }

  // A late edge gets a bit. Sets stay as they are.
  void link_by_bit(node_id a, std::span<const node_id> affected) {
    if (late_.empty()) late_.resize(size());
    const std::uint64_t bit = std::uint64_t{1} << late_edges_;
    const std::uint64_t after_a = late_[a].after;
    if (after_a != 0)
      for (late_bits& x : late_) x.before |= (x.before & after_a) != 0 ? bit : 0;
    const set s = sets_[a];
    const auto mark = [&](node_id x) { late_[x].before |= bit; };
    if (!s.is_window()) {
      tries_.for_each(s.root, s.whole().height, 0, mark);
    } else {
      const node_id first = window(a) << tries::leaf_bits;
      tries_.for_each(s.root, tries::height_for(a), 0, mark);
      tries_.leaf_at(s.leaf()).before(a).for_each(first, mark);
    }
    mark(a);
    for (const node_id d : affected) late_[d].after |= bit;
    ++late_edges_;
  }
  // A late edge that concerns few nodes: each gets a new set.
  void link_in_tries(node_id a, std::span<const node_id> affected, bool forward) {
    tries_.shrink(settled_);
    linked_.clear();
    linked_.reserve(affected.size());
    const tries::mark own = tries_.size();
    const tries::root more = tries_.insert(strict(a, own), a, own);
    for (const node_id d : affected) {
      const tries::mark fresh = tries_.size();
      linked_.push_back(set::of(tries_.merge(strict(d, fresh), more, fresh)));
    }
    for (std::size_t i = 0; i < affected.size(); ++i) {
      sets_[affected[i]] = linked_[i];
      if (!late_.empty()) late_[affected[i]].after |= late_[a].after;
    }
    ordered_ = forward;
    const std::size_t before = block_count();
    settled_ = tries_.size();
    wasted_ += block_count() - before;
  }

  tries tries_;
  std::pmr::vector<set> sets_;
  std::pmr::vector<late_bits> late_;
  std::pmr::vector<set> linked_;  // what link works on
  std::array<sharer, sharer_count> sharers_{};
  staged staged_;
  tries::mark settled_;
  std::size_t wasted_ = 0;        // about: blocks that a new index would not need
  node_id stale_below_ = 0;       // leaves may have bits of nodes that were truncated, all of them smaller
  std::uint32_t late_edges_ = 0;  // that have a bit
  bool ordered_ = true;           // in the tries, ids are a topological order
};

static_assert(counting_index<persistent_index>);

}  // namespace hocket::inline HOCKET_ABI::graph
