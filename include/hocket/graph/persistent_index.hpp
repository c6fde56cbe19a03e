// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/graph/detail/bit_tries.hpp>
#include <hocket/graph/detail/top_rows.hpp>
#include <hocket/graph/index.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// Exact reachability for graphs of thousands to tens of millions of nodes: bit sets that share what they have in
/// common. The ancestors of a node are a trie over the windows of 512 ids before its own, and one 64-byte leaf for its
/// own window. Who looks for ancestors of b ignores bits from b on, so an op whose latest predecessor is the last in
/// its leaf shares that leaf, whatever else it waits for in earlier windows; its own bit is put there when the first op
/// of the window builds on it, unless another op shares the leaf since then and would see it. When the program enters
/// the next window, a node's leaf is hung into its trie once, for all that will refer to it. Uniting two tries visits
/// only the blocks in which they differ, and a set that contains the other is the union.
///
/// reaches: one load for the node, one per level of 16, one for the leaf: 3 up to 8,192 nodes, 4 up to 131,072; 2 when
/// both are in one window. From there on each node has a copy of what the highest level holds, in place of the load for
/// the node: 4 up to 2 million, 5 up to 33 million.
/// Nodes that are committed out of the order of their ids keep their whole set in a trie of their own, without that
/// copy. Source: docs/graph.md, "Which index".
///
///     graph::dag<graph::persistent_index> g;
class persistent_index {
 public:
  explicit persistent_index(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : tries_(memory), tops_(memory), sets_(memory), linked_(memory), sharers_(memory) {}
  persistent_index(persistent_index&& other) noexcept
      : tries_(std::move(other.tries_)),
        tops_(std::move(other.tops_)),
        sets_(std::move(other.sets_)),
        linked_(std::move(other.linked_)),
        sharers_(std::move(other.sharers_)),
        staged_(std::exchange(other.staged_, staged{})),
        size_(std::exchange(other.size_, 0)),
        easy_until_(std::exchange(other.easy_until_, 0)),
        stale_below_(std::exchange(other.stale_below_, 0)),
        lean_size_(std::exchange(other.lean_size_, 0)),
        lean_(std::exchange(other.lean_, tries::mark{})),
        scattered_(other.scattered_),
        ordered_(std::exchange(other.ordered_, true)) {
    other.sets_.clear();
  }
  persistent_index(const persistent_index& other)
      : tries_(other.tries_, other.tries_.settled()),
        tops_(other.tops_, other.size_),
        sets_(other.sets_, std::pmr::get_default_resource()),
        linked_(std::pmr::get_default_resource()),
        sharers_(std::pmr::get_default_resource()),
        size_(other.size_),
        stale_below_(other.stale_below_),
        ordered_(other.ordered_) {}
  persistent_index& operator=(persistent_index other) noexcept {
    std::destroy_at(this);
    return *std::construct_at(this, std::move(other));
  }
  ~persistent_index() = default;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return tries_.bytes() + tops_.bytes() + (sets_.capacity() + linked_.capacity()) * sizeof(set) +
           sharers_.capacity() * sizeof(sharer);
  }
  void clear() noexcept {
    tries_.clear();
    std::fill(sharers_.begin(), sharers_.end(), sharer{});
    staged_ = {};
    size_ = 0;
    easy_until_ = 0;
    stale_below_ = 0;
    lean_size_ = 0;
    lean_ = {};
    ordered_ = true;
  }
  void reserve(std::size_t nodes) {
    easy_until_ = 0;
    sets_.reserve(nodes);
    tries_.remember_for(nodes);
  }

  /// Is a a strict ancestor of b? Precondition: both < size(). O(log16(n / 512)).
  [[nodiscard]] bool reaches(node_id a, node_id b) const noexcept {
    const set s = sets_[b];
    if (s.is_window()) {
      if (window(a) == window(b)) return a < b && tries_.leaf_at(s.leaf()).test(a);
      if (a > b) return false;
      return b < tops::first ? tries_.has(s.root, tries::height_for(b), a)
                             : tries_.has(tops_.child(b, a), tops::height(b), a);
    }
    return tries_.has(s.whole(), a);
  }

  /// Number of strict ancestors of b. O(blocks of its set).
  [[nodiscard]] std::size_t ancestor_count(node_id b) const noexcept {
    const set s = sets_[b];
    if (!s.is_window()) return tries_.count(s.root, s.whole().height);
    const tries::root r{s.root, tries::height_for(b)};
    return tries_.count(r.block, r.height) + in_window(b, r);
  }

  /// f(a) for each strict ancestor of b, ascending. O(blocks of its set + ancestors).
  template <class F>
  void for_each_ancestor(node_id b, F&& f) const {
    const set s = sets_[b];
    if (!s.is_window()) return tries_.for_each(s.root, s.whole().height, 0, f);
    const node_id first = window(b) << tries::leaf_bits;
    const auto earlier = [&](node_id a) {
      if (a < first) f(a);
    };
    tries_.for_each(s.root, tries::height_for(b), 0, earlier);
    tries_.leaf_at(s.leaf()).before(b).for_each(first, f);
  }

  /// Number of pairs (a, b) with a before b. Shared blocks are counted once. O(all blocks).
  [[nodiscard]] std::uint64_t reachable_pairs() const {
    std::vector<std::size_t> counts(tries_.size().inners, ~std::size_t{0});
    std::uint64_t pairs = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      const set s = sets_[i];
      const auto b = static_cast<node_id>(i);
      const tries::root r = s.is_window() ? tries::root{s.root, tries::height_for(b)} : s.whole();
      pairs += tries_.count(r.block, r.height, counts);
      if (s.is_window()) pairs += in_window(b, r);
    }
    return pairs;
  }

  /// See reachability_index.
  [[nodiscard]] std::size_t reduce(std::span<node_id> preds) {
    tries_.forget_unsettled();  // whatever an uncommitted reduce left behind
    staged_ = {};
    if (size_ >= easy_until_) prepare();
    return ordered_ ? reduce_ordered(preds) : reduce_any(preds);
  }

  /// See bounded_index. A set is at most a full trie, written once; each predecessor may have its window hung.
  [[nodiscard]] bool has_room(std::size_t preds) const noexcept {
    return tries_.has_room(size_ / 256 + (preds + 4) * 16);
  }

  void commit(node_id b) noexcept {
    HOCKET_ASSERT(b <= size_);
    if (b < size_) [[unlikely]]
      return commit_in_place(b);
    size_ = b + std::size_t{1};
    if (staged_.window) {
      sets_[b] = {staged_.set.block, staged_.leaf};
      sharer_of(staged_.leaf) = {staged_.leaf, b};
    } else {
      sets_[b] = set::of(staged_.set);
    }
    if (ordered_ && b >= tops::first) [[unlikely]]
      write_top(b, staged_.set.block);
    tries_.settle();
  }

  void resize(std::size_t n) {
    easy_until_ = 0;
    std::fill(sets_.begin() + static_cast<std::ptrdiff_t>(size_), sets_.end(), set{});
    if (sets_.size() < n) sets_.resize(n);
    size_ = n;
    ordered_ = false;  // they may be committed in any order
  }

  /// See truncating_index. Bits of what is forgotten remain in leaves of earlier nodes, which ignore them; its blocks
  /// are used again.
  void truncate(std::size_t n) noexcept {
    if (n >= size_) return;
    easy_until_ = 0;
    if (stale_below_ < size_) stale_below_ = static_cast<node_id>(size_);
    size_ = n;
    if (n > lean_size_) {
      lean_ = tries_.settled();
    } else if (tries_.is_much_from(lean_)) {
      tries_.forget_from(lean_);
      for (sharer& s : sharers_)
        if (s.leaf >= lean_.leaves) s = {};
      staged_ = {};
    }
    lean_size_ = n;
  }

  /// See reachability_index.
  void link(node_id a, std::span<const node_id> affected) {
    tries_.forget_unsettled();
    if (sharers_.empty()) sharers_.resize(sharer_count);
    linked_.clear();
    linked_.reserve(affected.size());
    bool forward = ordered_;
    for (const node_id d : affected) forward = forward && a < d;
    if (forward) {
      link_forward(a, affected);
    } else {
      const tries::mark own = tries_.size();
      const tries::root more = tries_.insert(strict(a, own), a, own);
      for (const node_id d : affected) {
        const tries::mark fresh = tries_.size();
        linked_.push_back(set::of(tries_.merge(strict(d, fresh), more, fresh)));
      }
    }
    for (std::size_t i = 0; i < affected.size(); ++i) {
      const node_id d = affected[i];
      sets_[d] = linked_[i];
      if (d >= tops::first && linked_[i].is_window()) tops_.write(d, tries_, linked_[i].root);
    }
    ordered_ = forward;
    tries_.settle();
    lean_ = tries_.settled();
  }

  /// Adds the next node with these strict ancestors, given as a bit row; shares leaves with node `like`, if that is one
  /// that was added in this way; no_id: with none. For auto_index, which moves here when its rows get large.
  void append_row(std::span<const std::uint64_t> row, node_id like) {
    tries_.forget_unsettled();
    easy_until_ = 0;
    if (size_ == sets_.size()) sets_.resize(size_ + size_ / 2 + 16);
    tries::root made{};
    const tries::root model = like == no_id ? tries::root{} : sets_[like].whole();
    for (std::size_t first = 0; first < row.size(); first += tries::leaf_words) {
      tries::leaf content{};
      std::uint64_t any = 0;
      for (std::size_t w = 0; w < tries::leaf_words && first + w < row.size(); ++w)
        any |= content.word[w] = row[first + w];
      if (any == 0) continue;
      const auto id = static_cast<node_id>(first * 64);
      block_id leaf = tries_.find_leaf(model, id);
      if (leaf == 0 || !(tries_.leaf_at(leaf) == content)) leaf = tries_.add(content);
      made = tries_.replace(made, id, leaf, tries_.settled());
    }
    sets_[size_++] = set::of(made);
    ordered_ = false;
    tries_.settle();
  }

 private:
  using tries = detail::bit_tries;
  using tops = detail::top_rows;
  using block_id = tries::block_id;

  // Either a window: the trie of the ancestors in earlier windows, and a leaf for b's own; bits of the leaf from b on
  // belong to later nodes. Or, where the tag says so, one trie of all strict ancestors, with its height.
  struct set {
    static constexpr std::uint32_t hung = 1u << 31;   // the window and b itself are in the trie, too
    static constexpr std::uint32_t alone = 1u << 30;  // one trie
    static constexpr std::uint32_t met = 1u << 29;    // a later window has referred to it once

    block_id root = 0;
    std::uint32_t tag = alone;

    [[nodiscard]] bool is_window() const noexcept { return (tag & alone) == 0; }
    [[nodiscard]] bool is_hung() const noexcept { return (tag & hung) != 0; }
    [[nodiscard]] bool is_met() const noexcept { return (tag & (hung | met)) != 0; }
    [[nodiscard]] block_id leaf() const noexcept { return tag & ~(hung | met); }
    [[nodiscard]] tries::root whole() const noexcept { return {root, tag & ~alone}; }
    static set of(tries::root r) noexcept { return {r.block, alone | r.height}; }
  };

  struct staged {
    bool window = false;  // or one trie of all
    node_id below = 0;    // no predecessor is as large
    tries::root set;
    block_id leaf = 0;  // of a window; others may share it
  };
  // The node that came to share a leaf last, and has no bit there.
  struct sharer {
    block_id leaf = 0;
    node_id last = 0;
  };

  // Apart, so that small graphs do not pay for registers.
  [[gnu::noinline]] void write_top(node_id b, block_id root) noexcept { tops_.write(b, tries_, root); }
  // Of a node that is there, which is not the one that was expected: it gets no window of its own.
  [[gnu::cold, gnu::noinline]] void commit_in_place(node_id b) noexcept {
    if (staged_.window) staged_.set = explicit_set(staged_);
    ordered_ = ordered_ && staged_.below <= b;
    sets_[b] = set::of(staged_.set);
    tries_.settle();
    lean_ = tries_.settled();
  }

  // Room for the next node, and for as many as follow at no further cost.
  [[gnu::cold, gnu::noinline]] void prepare() {
    easy_until_ = 0;
    if (size_ == sets_.capacity()) sets_.reserve(size_ * 2 + 16);
    tries_.remember_for(size_);
    if (sharers_.empty()) sharers_.resize(sharer_count);
    if (ordered_) tops_.make_room(static_cast<node_id>(size_));  // whole windows
    const std::size_t next = (size_ | (tries::leaf_words * 64 - 1)) + 1;
    const std::size_t until = next < sets_.capacity() ? next : sets_.capacity();
    if (sets_.size() < until) sets_.resize(until);
    easy_until_ = until;
  }

  static constexpr node_id window(node_id a) noexcept { return a >> tries::leaf_bits; }

  static constexpr std::size_t sharer_count = 512;
  [[nodiscard]] sharer& sharer_of(block_id leaf) noexcept { return sharers_[leaf & (sharer_count - 1)]; }

  // Is a itself in its leaf, as the last? Puts it there if no node that shares the leaf would see it.
  [[nodiscard]] bool make_tail(node_id a) noexcept {
    const block_id leaf = sets_[a].leaf();
    tries::leaf& l = tries_.leaf_at(leaf);
    const sharer s = sharer_of(leaf);
    if (leaf != 0 && s.leaf == leaf && s.last == a && a >= stale_below_) {  // nobody has put in a bit behind a
      l.set(a);
      return true;
    }
    return l.word[tries::leaf::word_of(a)] >> (a & 63u) == 1 && !l.has_after_word_of(a);
  }
  // Ancestors of b in its own window, less those that its trie has there.
  [[nodiscard]] std::size_t in_window(node_id b, const tries::root& r) const noexcept {
    const block_id twin = tries_.find_leaf(r, b);
    return tries_.leaf_at(sets_[b].leaf()).before(b).count() - (twin == 0 ? 0 : tries_.leaf_at(twin).count());
  }

  // Is the leaf of p just that of its ancestors and p, for good? Then a trie may refer to it, and it is not written to
  // again.
  [[nodiscard]] bool make_final(node_id p) noexcept {
    if ((ordered_ && window(static_cast<node_id>(size_)) == window(p)) || !make_tail(p)) return false;
    sharer& s = sharer_of(sets_[p].leaf());
    if (s.leaf == sets_[p].leaf()) s = {};
    return true;
  }
  // The set of p with p itself, as one trie. It is worked out once: a window is hung into its trie.
  [[nodiscard]] tries::root inclusive(node_id p) {
    const set s = sets_[p];
    if (!s.is_window()) return tries_.insert(s.whole(), p, tries_.size());
    if (s.is_hung()) return {s.root, tries::height_for(p)};
    const tries::mark fresh = tries_.size();
    const block_id leaf = make_final(p) ? s.leaf() : tries_.add(tries_.leaf_at(s.leaf()).through(p));
    const tries::root r = tries_.replace({s.root, tries::height_for(p)}, p, leaf, fresh);
    sets_[p] = {r.block, s.tag | set::hung};
    tries_.settle();
    if (p < lean_size_) lean_ = tries_.settled();
    return r;
  }

  // Those that the latest does not imply come forward; most others are implied.
  [[nodiscard]] std::size_t bring_forward(std::span<node_id> preds, set first, node_id b) {
    node_id* const p = preds.data();
    const std::size_t size = preds.size();
    const node_id latest = p[0];
    std::size_t apart = 1, i = 1;
    const auto ask_for = [&](node_id n) {  // the blocks that a union will read first
      const set s = sets_[n];
      if (s.is_window() && window(n) != window(b)) tries_.prefetch({s.root, tries::height_for(n)}, s.leaf());
    };
    const bool early = scattered_;
    for (std::size_t k = 1; early && k < size && k < 8; ++k) ask_for(p[k]);
    const auto forward = [&] {
      const node_id n = p[i];
      p[i] = p[apart];
      p[apart++] = n;
      if (!early) ask_for(n);
    };
    if (first.is_window()) {
      const tries::leaf& near = tries_.leaf_at(first.leaf());
      for (; i < size && window(p[i]) == window(latest); ++i)
        if (!near.test(p[i])) forward();
      const std::uint32_t height = tries::height_for(latest);
      for (; i < size; ++i)
        if (!tries_.has(first.root, height, p[i])) forward();
    } else {
      for (; i < size; ++i)
        if (!tries_.has(first.whole(), p[i])) forward();
    }
    scattered_ = apart == size;
    return apart;
  }

  // Program order: descending ids are a topological order, and every ancestor is smaller.
  [[nodiscard]] std::size_t reduce_ordered(std::span<node_id> preds) {
    const auto b = static_cast<node_id>(size_);
    if (preds.empty()) return 0;
    const node_id latest = preds[0];
    staged_.below = latest + 1;
    if (sets_[latest].root == 0 && !sets_[latest].is_window()) [[unlikely]]
      make_window(latest);
    const set first = sets_[latest];
    const std::size_t apart = preds.size() == 1 ? 1 : bring_forward(preds, first, b);
    const bool starts_near = first.is_window() && window(latest) == window(b);
    const bool tail = starts_near && !first.is_hung() && make_tail(latest);  // a trie may refer to a hung one's leaf
    staged_.window = true;
    if (apart == 1 && tail) {
      staged_.set = {first.root, first.root == 0 ? 0 : tries::height_for(b)};
      staged_.leaf = first.leaf();
      tries_.make_room();  // for a commit that is not to b
      return 1;
    }
    return unite(preds, apart, starts_near, tail);
  }

  // Stages the union of the first `apart` predecessors. Their tries are made ready first, so that all blocks from then
  // on are ours to write to. As long as the own window holds just what the latest predecessor has there, or nothing,
  // the leaf is shared.
  [[nodiscard, gnu::noinline]] std::size_t unite(std::span<node_id> preds, std::size_t apart, bool starts_near,
                                                 bool tail) {
    const auto b = static_cast<node_id>(size_);
    for (std::size_t i = 0; i < apart; ++i)
      if (window(preds[i]) != window(b) || !sets_[preds[i]].is_window()) make_ready(preds[i], b, i == 0);

    tries::mark fresh = tries_.size();
    fresh.owner = b;
    staged_.leaf = 0;
    bool own = false;  // is the leaf ours?
    const auto join_near = [&](const tries::leaf& more) {
      if (!own) staged_.leaf = tries_.copy_of_leaf(staged_.leaf);
      own = true;
      tries_.leaf_at(staged_.leaf).join(more);
    };
    tries::root far{};
    std::size_t kept = 0;
    if (starts_near) {
      const set s = sets_[preds[0]];
      own = !tail;
      staged_.leaf = tail ? s.leaf() : tries_.add(tries_.leaf_at(s.leaf()).through(preds[0]));
      if (s.root != 0) far = {s.root, tries::height_for(preds[0])};
      kept = 1;
    }
    for (std::size_t i = 2; i < apart && i < 8; ++i) {
      const set s = sets_[preds[i]];
      if (s.is_window()) tries_.prefetch_children({s.root, tries::height_for(preds[i])});
    }
    for (std::size_t i = kept; i < apart; ++i) {
      const node_id p = preds[i];
      const bool is_near = window(p) == window(b);
      fresh.lasting = i + 1 == apart;
      if (i > 1 && (is_near ? tries_.leaf_at(staged_.leaf).test(p) : tries_.has(far, p)))
        continue;  // not in the first's: see above
      const set s = sets_[p];
      if (is_near && s.is_window()) {
        join_near(tries_.leaf_at(s.leaf()).through(p));
        if (s.root != 0) far = tries_.merge(far, {s.root, tries::height_for(p)}, fresh);
      } else if (s.is_window() && !s.is_hung()) {
        const tries::root earlier{s.root, tries::height_for(p)};
        if (make_final(p)) far = tries_.merge_with(far, earlier, p, {s.leaf(), nullptr}, fresh);
        else {
          const tries::leaf with_p = tries_.leaf_at(s.leaf()).through(p);
          far = tries_.merge_with(far, earlier, p, {0, &with_p}, fresh);
        }
      } else {
        const tries::root r =
            s.is_window() ? tries::root{s.root, tries::height_for(p)} : tries_.insert(s.whole(), p, tries_.size());
        if (!s.is_window())
          if (const block_id twin = tries_.find_leaf(r, b); twin != 0) join_near(tries_.leaf_at(twin));
        far = tries_.merge(far, r, fresh);
      }
      preds[i] = preds[kept];
      preds[kept++] = p;
    }
    staged_.set = tries_.lifted_for_good(far, far.block == 0 ? 0 : tries::height_for(b));
    tries_.make_room();
    return kept;
  }
  // A node without ancestors gets a window.
  [[gnu::cold, gnu::noinline]] void make_window(node_id p) {
    tries::leaf own{};
    own.set(p);
    sets_[p] = {0, tries_.add(own)};
    tries_.settle();
    if (p < lean_size_) lean_ = tries_.settled();
  }

  // Hangs the window of p into its trie unless b is in the same window.
  // Most nodes that are not the latest predecessor are needed in later windows just once: worth it from the second
  // time, and where tries have more than one level, since a single block is united as fast as it is hung.
  void make_ready(node_id p, node_id b, bool latest) {
    if (!sets_[p].is_window() && sets_[p].root == 0) make_window(p);
    if (window(p) == window(b) || !sets_[p].is_window()) return;
    if (latest || (sets_[p].is_met() && tries::height_for(b) > 1)) (void)inclusive(p);
    else sets_[p].tag |= set::met;
  }

  // Any order: a later predecessor may imply an earlier one, so only strict ancestors are put in at first, and every
  // kept predecessor is asked again when the set is complete.
  [[nodiscard, gnu::noinline]] std::size_t reduce_any(std::span<node_id> preds) {
    const tries::mark fresh = tries_.size();
    tries::root all{};
    std::size_t kept = 0;
    for (std::size_t i = 0; i < preds.size(); ++i) {
      const node_id p = preds[i];
      staged_.below = staged_.below > p ? staged_.below : p + 1;
      if (tries_.has(all, p)) continue;
      const tries::root more = strict(p, fresh);
      all = kept == 0 ? more : tries_.merge(all, more, fresh);
      preds[i] = preds[kept];
      preds[kept++] = p;
    }
    for (std::size_t i = 0; i < kept;) {
      if (!tries_.has(all, preds[i])) {
        ++i;
        continue;
      }
      --kept;
      const node_id implied = preds[i];
      for (std::size_t j = i; j < kept; ++j) preds[j] = preds[j + 1];
      preds[kept] = implied;
    }
    for (std::size_t i = 0; i < kept; ++i) all = tries_.insert(all, preds[i], fresh);
    staged_.set = all;
    return kept;
  }

  // The strict ancestors of p as one trie.
  [[nodiscard]] tries::root strict(node_id p, tries::mark fresh) {
    const set s = sets_[p];
    if (!s.is_window()) return s.whole();
    const block_id leaf = tries_.add(tries_.leaf_at(s.leaf()).before(p));
    return tries_.replace({s.root, tries::height_for(p)}, p, leaf, fresh);
  }
  // What was staged for the next node, as one trie. Room has been made.
  [[nodiscard]] tries::root explicit_set(const staged& s) noexcept {
    const auto b = static_cast<node_id>(size_);
    const tries::mark fresh = tries_.size();
    return tries_.replace(s.set, b, tries_.copy_of_leaf(s.leaf), fresh);
  }

  // Every affected node comes after a in the numbering: windows stay windows. Nodes that shared a trie or a leaf and
  // are all affected share the new one, too.
  void link_forward(node_id a, std::span<const node_id> affected) {
    struct seen {
      block_id from = ~block_id{0}, to = 0;
      std::uint32_t height = 0;
    };
    seen roots[256], leaves[256];
    const tries::root more = inclusive(a);
    const block_id own = tries_.find_leaf(more, a);
    for (const node_id d : affected) {
      const set s = sets_[d];
      const tries::mark fresh = tries_.size();
      if (!s.is_window()) {
        linked_.push_back(set::of(tries_.merge(s.whole(), more, fresh)));
        continue;
      }
      const std::uint32_t height = tries::height_for(d);
      seen& r = roots[s.root & 255u];
      if (r.from != s.root || r.height != height)
        r = {s.root, tries_.lifted(tries_.merge({s.root, s.root == 0 ? 0 : height}, more, fresh), height).block,
             height};
      block_id leaf = s.leaf();
      if (window(a) == window(d)) {
        seen& l = leaves[leaf & 255u];
        if (l.from != leaf) {
          tries::leaf joint = tries_.leaf_at(leaf);
          for (std::size_t w = 0; w < tries::leaf_words; ++w) joint.word[w] |= tries_.leaf_at(own).word[w];
          l = {leaf, tries_.add(joint), 0};
        }
        leaf = l.to;
      }
      linked_.push_back({r.to, leaf | (s.tag & set::hung)});
    }
  }

  tries tries_;
  tops tops_;                   // of windows
  std::pmr::vector<set> sets_;  // from size_ on: room
  std::pmr::vector<set> linked_;
  std::pmr::vector<sharer> sharers_;  // by leaf, the latest of those with equal low bits
  staged staged_;
  std::size_t size_ = 0;
  std::size_t easy_until_ = 0;  // below this size, prepare has been called
  node_id stale_below_ = 0;     // leaves may have bits of nodes that were truncated, all of them smaller
  std::size_t lean_size_ = 0;   // the nodes before refer to no block from lean_ on
  tries::mark lean_;
  bool scattered_ = false;  // the latest predecessors did not imply each other: a graph without structure?
  bool ordered_ = true;     // ids are a topological order
};

static_assert(counting_index<persistent_index>);

}  // namespace hocket::inline HOCKET_ABI::graph
