// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/graph/detail/block_pool.hpp>
#include <hocket/graph/index.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// Exact reachability for graphs of thousands to millions of nodes: bit sets that share what they have in common.
/// A node's ancestors are a trie of 64-byte blocks: leaves of 512 bits, inner blocks of 16 children. Sets are never
/// changed once committed, so the set of a new node refers to the blocks of its predecessors wherever they agree, and
/// uniting two sets visits only the blocks in which they differ. On programs that is nearly everything shared: a few
/// blocks a node where a bit matrix needs n bits.
/// reaches: one load for the root and one per level, 4 up to 131,072 nodes, 5 up to 2 million.
///
///     graph::dag<graph::persistent_index> g;
class persistent_index {
 public:
  explicit persistent_index(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : pool_(memory), roots_(memory), linked_(memory) {}
  persistent_index(persistent_index&& other) noexcept
      : pool_(std::move(other.pool_)),
        roots_(std::move(other.roots_)),
        linked_(std::move(other.linked_)),
        staged_(std::exchange(other.staged_, root{})),
        committed_(std::exchange(other.committed_, 1)) {
    other.roots_.clear();
  }
  persistent_index(const persistent_index& other)
      : pool_(other.pool_, other.committed_), roots_(other.roots_), committed_(other.committed_) {}
  persistent_index& operator=(persistent_index other) noexcept {
    std::destroy_at(this);
    return *std::construct_at(this, std::move(other));
  }
  ~persistent_index() = default;

  [[nodiscard]] std::size_t size() const noexcept { return roots_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return pool_.bytes() + (roots_.capacity() + linked_.capacity()) * sizeof(root);
  }
  void clear() noexcept {
    roots_.clear();
    pool_.shrink(1);
    committed_ = 1;
    staged_ = {};
  }
  void reserve(std::size_t nodes) { roots_.reserve(nodes); }

  /// Is a a strict ancestor of b? Precondition: b < size(). O(log16(n / 512)).
  [[nodiscard]] bool reaches(node_id a, node_id b) const noexcept { return has(roots_[b], a); }

  /// Number of strict ancestors of b. O(blocks of its set).
  [[nodiscard]] std::size_t ancestor_count(node_id b) const noexcept {
    return count(roots_[b].block, roots_[b].height);
  }

  /// Number of pairs (a, b) with a before b. Shared blocks are counted once. O(all blocks).
  [[nodiscard]] std::uint64_t reachable_pairs() const {
    constexpr std::uint64_t unknown = ~std::uint64_t{0};
    std::vector<std::uint64_t> counts(committed_, unknown);
    std::uint64_t pairs = 0;
    for (const root& r : roots_) pairs += count(r.block, r.height, counts);
    return pairs;
  }

  /// See reachability_index.
  [[nodiscard]] std::size_t reduce(std::span<node_id> preds) {
    pool_.shrink(committed_);  // whatever an uncommitted reduce left behind
    if (roots_.size() == roots_.capacity()) roots_.reserve(roots_.size() * 2 + 16);
    root set{};
    std::size_t kept = 0;
    for (std::size_t i = 0; i < preds.size(); ++i) {
      const node_id p = preds[i];
      if (has(set, p)) continue;  // implied by an earlier one, whose ancestors include those of p
      set = merge(set, roots_[p], committed_);
      preds[i] = preds[kept];
      preds[kept++] = p;
    }
    for (std::size_t i = 0; i < kept;) {  // for an order that is not topological: see dense_index
      if (!has(set, preds[i])) {
        ++i;
        continue;
      }
      --kept;
      const node_id implied = preds[i];
      for (std::size_t j = i; j < kept; ++j) preds[j] = preds[j + 1];
      preds[kept] = implied;
    }
    for (std::size_t i = 0; i < kept; ++i) set = insert(set, preds[i], committed_);
    staged_ = set;
    return kept;
  }

  void commit(node_id b) noexcept {
    HOCKET_ASSERT(b <= roots_.size());
    if (b == roots_.size()) roots_.push_back(staged_);  // reduce() made the room
    else roots_[b] = staged_;
    staged_ = {};
    committed_ = pool_.size();
  }

  void resize(std::size_t n) { roots_.resize(n); }

  /// See reachability_index.
  void link(node_id a, std::span<const node_id> affected) {
    pool_.shrink(committed_);
    linked_.clear();
    linked_.reserve(affected.size());
    for (const node_id d : affected) {
      const block_id fresh = pool_.size();
      const root set = merge(roots_[d], roots_[a], fresh);
      linked_.push_back(insert(set, a, fresh));
    }
    for (std::size_t i = 0; i < affected.size(); ++i) roots_[affected[i]] = linked_[i];
    committed_ = pool_.size();
  }

  /// Adds the next node with this ancestor set, given as a bit row; shares blocks with node `like`, no_id: with none.
  /// For auto_index, which moves here when its matrix gets large.
  void append_row(std::span<const std::uint64_t> row, node_id like) {
    pool_.shrink(committed_);
    roots_.reserve(roots_.size() + 1);
    root set{0, 0};
    while (row.size() > words_under(set.height)) ++set.height;
    const root model = like == no_id ? root{} : roots_[like];
    set.block = from_row(row, 0, set.height, model.height == set.height ? model.block : 0);
    roots_.push_back(set);
    committed_ = pool_.size();
  }

 private:
  using block = detail::block_pool::block;
  using block_id = std::uint32_t;
  struct root {
    block_id block = 0;        // 0: the empty set
    std::uint32_t height = 0;  // levels of inner blocks above the leaves
  };

  static constexpr std::uint32_t leaf_bits = 9, inner_bits = 4;
  static constexpr std::uint32_t shift(std::uint32_t height) noexcept { return leaf_bits + inner_bits * (height - 1); }
  static constexpr std::size_t words_under(std::uint32_t height) noexcept { return std::size_t{8} << (4 * height); }

  [[nodiscard]] bool has(const root& r, node_id a) const noexcept {
    block_id at = r.block;
    if (std::uint64_t{a} >> (leaf_bits + inner_bits * r.height) != 0) return false;
    for (std::uint32_t h = r.height; h != 0 && at != 0; --h) at = pool_[at].child[(a >> shift(h)) & 15u];
    return at != 0 && ((pool_[at].word[(a >> 6) & 7u] >> (a & 63u)) & 1u) != 0;
  }

  // A block that may be written: the block itself if it is younger than `fresh`, else a copy.
  [[nodiscard]] block_id writable(block_id b, block_id fresh) {
    if (b >= fresh) return b;
    const block_id copy = pool_.add();
    pool_[copy] = pool_[b];
    return copy;
  }

  // u ∪ v, as u itself or v itself where one contains the other. Blocks of u from `fresh` on are written in place.
  [[nodiscard]] block_id merge(block_id u, block_id v, std::uint32_t height, block_id fresh) {
    if (u == v || v == 0) return u;
    if (u == 0) return v;
    if (height == 0) {
      block joint;
      std::uint64_t beyond_u = 0, beyond_v = 0;
      for (std::size_t w = 0; w < 8; ++w) {
        joint.word[w] = pool_[u].word[w] | pool_[v].word[w];
        beyond_u |= joint.word[w] ^ pool_[u].word[w];
        beyond_v |= joint.word[w] ^ pool_[v].word[w];
      }
      if (beyond_u == 0) return u;
      if (beyond_v == 0) return v;
      const block_id out = u >= fresh ? u : pool_.add();
      pool_[out] = joint;
      return out;
    }
    block joint;
    bool is_u = true, is_v = true;
    for (std::size_t i = 0; i < 16; ++i) {
      joint.child[i] = merge(pool_[u].child[i], pool_[v].child[i], height - 1, fresh);
      is_u = is_u && joint.child[i] == pool_[u].child[i];
      is_v = is_v && joint.child[i] == pool_[v].child[i];
    }
    if (is_u) return u;
    if (is_v) return v;
    const block_id out = u >= fresh ? u : pool_.add();
    pool_[out] = joint;
    return out;
  }

  [[nodiscard]] root merge(root u, root v, block_id fresh) {
    if (v.block == 0) return u;
    if (u.block == 0) return v;
    if (u.height == v.height) return {merge(u.block, v.block, u.height, fresh), u.height};
    // The lower set lies wholly under the first child of the higher one.
    const root& high = u.height > v.height ? u : v;
    const root& low = u.height > v.height ? v : u;
    const block_id first = pool_[high.block].child[0];
    root below{first, high.height - 1};
    below = u.height > v.height ? merge(below, low, fresh) : merge(low, below, fresh);
    below = lifted(below, high.height - 1);
    if (below.block == first) return high;
    const block_id out = writable(high.block, fresh);
    pool_[out].child[0] = below.block;
    return {out, high.height};
  }

  // The same set as a trie of this height.
  [[nodiscard]] root lifted(root r, std::uint32_t height) {
    while (r.height < height) {
      if (r.block != 0) {
        const block_id above = pool_.add();
        pool_[above] = block{};
        pool_[above].child[0] = r.block;
        r.block = above;
      }
      ++r.height;
    }
    return r;
  }

  [[nodiscard]] root insert(root r, node_id a, block_id fresh) {
    std::uint32_t height = r.height;
    while (std::uint64_t{a} >> (leaf_bits + inner_bits * height) != 0) ++height;
    r = lifted(r, height);
    r.block = insert(r.block, a, height, fresh);
    return r;
  }
  [[nodiscard]] block_id insert(block_id at, node_id a, std::uint32_t height, block_id fresh) {
    block_id out = at;
    if (at == 0) {
      out = pool_.add();
      pool_[out] = block{};
    } else {
      out = writable(at, fresh);
    }
    if (height == 0) {
      pool_[out].word[(a >> 6) & 7u] |= std::uint64_t{1} << (a & 63u);
    } else {
      const std::size_t i = (a >> shift(height)) & 15u;
      const block_id child = insert(pool_[out].child[i], a, height - 1, fresh);
      pool_[out].child[i] = child;
    }
    return out;
  }

  [[nodiscard]] block_id from_row(std::span<const std::uint64_t> row, std::size_t first, std::uint32_t height,
                                  block_id model) {
    if (first >= row.size()) return 0;
    block made{};
    bool empty = true, same = model != 0;
    if (height == 0) {
      for (std::size_t w = 0; w < 8; ++w) {
        made.word[w] = first + w < row.size() ? row[first + w] : 0;
        empty = empty && made.word[w] == 0;
        same = same && made.word[w] == pool_[model].word[w];
      }
    } else {
      for (std::size_t i = 0; i < 16; ++i) {
        const block_id child = model == 0 ? 0 : pool_[model].child[i];
        made.child[i] = from_row(row, first + i * words_under(height - 1), height - 1, child);
        empty = empty && made.child[i] == 0;
        same = same && made.child[i] == child;
      }
    }
    if (empty) return 0;
    if (same) return model;
    const block_id out = pool_.add();
    pool_[out] = made;
    return out;
  }

  [[nodiscard]] std::size_t count(block_id at, std::uint32_t height) const noexcept {
    std::size_t total = 0;
    if (at == 0) return total;
    if (height == 0)
      for (const std::uint64_t w : pool_[at].word) total += static_cast<std::size_t>(std::popcount(w));
    else
      for (const block_id child : pool_[at].child) total += count(child, height - 1);
    return total;
  }
  [[nodiscard]] std::uint64_t count(block_id at, std::uint32_t height, std::vector<std::uint64_t>& counts) const {
    if (at == 0 || height == 0) return count(at, height);
    if (counts[at] != ~std::uint64_t{0}) return counts[at];
    std::uint64_t total = 0;
    for (const block_id child : pool_[at].child) total += count(child, height - 1, counts);
    return counts[at] = total;
  }

  detail::block_pool pool_;
  std::pmr::vector<root> roots_;
  std::pmr::vector<root> linked_;
  root staged_;
  block_id committed_ = 1;  // blocks below this belong to committed sets and are never written again
};

static_assert(counting_index<persistent_index>);

}  // namespace hocket::inline HOCKET_ABI::graph
