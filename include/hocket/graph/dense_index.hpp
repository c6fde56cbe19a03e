// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/graph/detail/word_arena.hpp>
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

/// Exact reachability as one bit row per node: bit a of row b says that a happens before b.
/// A row ends with its last set word, so in program order the rows form a triangle (n²/16 bytes at most). A node
/// without ancestors costs nothing. A late edge that points backwards in the numbering just widens the rows it touches.
/// The fastest index for a few thousand nodes. reaches: two dependent loads.
/// Source: Goralcikova, Koubek, "A Reduct-and-Closure Algorithm for Graphs" (1979), on machine words.
///
///     graph::dag<graph::dense_index> g;
class dense_index {
 public:
  explicit dense_index(std::pmr::memory_resource* memory = std::pmr::get_default_resource()) noexcept
      : arena_(memory), rows_(memory) {}
  dense_index(dense_index&& other) noexcept
      : arena_(std::move(other.arena_)),
        rows_(std::move(other.rows_)),
        staged_(std::exchange(other.staged_, row{})),
        room_(std::exchange(other.room_, 0)),
        wasted_(std::exchange(other.wasted_, 0)),
        mixed_(std::exchange(other.mixed_, 0)) {
    other.rows_.clear();
  }
  dense_index(const dense_index& other) : arena_(std::pmr::get_default_resource()), rows_(other.rows_.size()) {
    for (std::size_t b = 0; b < rows_.size(); ++b) {
      const row from = other.rows_[b];
      rows_[b] = {from.size == 0 ? nullptr : arena_.allocate(from.size), from.size};
      for (std::size_t i = 0; i < from.size; ++i) rows_[b].words[i] = from.words[i];
    }
  }
  dense_index& operator=(dense_index other) noexcept {
    std::destroy_at(this);
    return *std::construct_at(this, std::move(other));
  }
  ~dense_index() = default;

  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return arena_.bytes() + rows_.capacity() * sizeof(row); }
  void clear() noexcept {
    rows_.clear();
    arena_.clear();
    staged_ = {};
    room_ = 0;
    mixed_ = 0;
    wasted_ = 0;
  }

  /// Is a a strict ancestor of b? Precondition: b < size(). O(1).
  [[nodiscard]] bool reaches(node_id a, node_id b) const noexcept { return has(rows_[b], a); }

  /// Number of strict ancestors of b. O(b / 64).
  [[nodiscard]] std::size_t ancestor_count(node_id b) const noexcept {
    std::size_t count = 0;
    for (std::size_t i = 0; i < rows_[b].size; ++i) count += static_cast<std::size_t>(std::popcount(rows_[b].words[i]));
    return count;
  }

  /// Number of pairs (a, b) with a before b. O(n² / 64).
  [[nodiscard]] std::uint64_t reachable_pairs() const noexcept {
    std::uint64_t pairs = 0;
    for (std::size_t b = 0; b < rows_.size(); ++b) pairs += ancestor_count(static_cast<node_id>(b));
    return pairs;
  }

  /// f(a) for each strict ancestor of b, ascending. O(b / 64 + ancestors).
  template <class F>
  void for_each_ancestor(node_id b, F&& f) const {
    for (std::uint32_t i = 0; i < rows_[b].size; ++i)
      for (std::uint64_t word = rows_[b].words[i]; word != 0; word &= word - 1)
        f(i * 64u + static_cast<node_id>(std::countr_zero(word)));
  }

  /// See reachability_index. O(kept predecessors · n / 64).
  [[nodiscard]] std::size_t reduce(std::span<node_id> preds) {
    std::uint32_t width = 0;
    for (const node_id p : preds) {
      const std::uint32_t own = p / 64 + 1;
      width = width < own ? own : width;
      width = width < rows_[p].size ? rows_[p].size : width;
    }
    if (rows_.size() == rows_.capacity()) rows_.reserve(rows_.size() * 2 + 16);
    if (room_ < width) {
      staged_.words = arena_.allocate(width);
      room_ = width;
    }
    staged_.size = width;

    // What the other predecessors imply is already in the row when a predecessor is offered in descending topological
    // order: it is skipped without a look at its own row, which is part of what is there.
    std::size_t kept = 0;
    bool first = true;
    for (std::size_t i = 0; i < preds.size(); ++i) {
      const node_id p = preds[i];
      const row from = rows_[p];
      if (first) {
        std::uint64_t* const to = staged_.words;
        for (std::uint32_t w = 0; w < from.size; ++w) to[w] = from.words[w];
        for (std::uint32_t w = from.size; w < width; ++w) to[w] = 0;
        first = false;
      } else if (has(staged_, p)) {
        continue;
      } else {
        merge(staged_, from);
      }
      preds[i] = preds[kept];
      preds[kept++] = p;
    }
    // In another order an earlier one may turn out to be implied by a later one; the row is complete now, so ask it.
    for (std::size_t i = 0; i < kept;) {
      if (!has(staged_, preds[i])) {
        ++i;
        continue;
      }
      --kept;
      const node_id implied = preds[i];
      for (std::size_t j = i; j < kept; ++j) preds[j] = preds[j + 1];
      preds[kept] = implied;
    }
    for (std::size_t i = 0; i < kept; ++i) set(staged_, preds[i]);
    return kept;
  }

  void commit(node_id b) noexcept {
    HOCKET_ASSERT(b <= rows_.size());
    if (b == rows_.size()) rows_.push_back(staged_);  // reduce() made the room
    else {
      rows_[b] = staged_;
      mixed_ = rows_.size();
    }
    staged_ = {};
    room_ = 0;
  }

  void resize(std::size_t n) { rows_.resize(n); }

  /// Forgets the last nodes; see truncating_index. The next ones are written where they were.
  void truncate(std::size_t n) noexcept {
    const std::uint64_t* first = nullptr;
    for (; rows_.size() > n; rows_.pop_back())
      if (rows_.back().words != nullptr) first = rows_.back().words;
    if (first == nullptr || n < mixed_) return;
    arena_.rewind(first);
    staged_ = {};
    room_ = 0;
  }

  /// See reachability_index. O(affected · n / 64).
  void link(node_id a, std::span<const node_id> affected) {
    const std::uint32_t own = a / 64 + 1;
    const std::uint32_t width = own < rows_[a].size ? rows_[a].size : own;
    mixed_ = rows_.size() + 1;  // what is staged may be older than the widened rows
    for (const node_id d : affected) widen(rows_[d], width);
    for (const node_id d : affected) {
      merge(rows_[d], rows_[a]);
      set(rows_[d], a);
    }
  }

  /// See rebuildable_index: rows that late edges widened lie elsewhere now, and their old words idle.
  [[nodiscard]] bool wants_rebuild() const noexcept { return wasted_ > arena_.bytes() / (2 * sizeof(std::uint64_t)); }

 private:
  struct row {
    std::uint64_t* words = nullptr;
    std::uint32_t size = 0;
  };

  static bool has(const row& r, node_id a) noexcept {
    return a / 64 < r.size && ((r.words[a / 64] >> (a % 64)) & 1u) != 0;
  }
  static void set(row& r, node_id a) noexcept { r.words[a / 64] |= std::uint64_t{1} << (a % 64); }
  static void merge(row& to, const row& from) noexcept {
    std::uint64_t* const t = to.words;
    const std::uint64_t* const f = from.words;
    for (std::uint32_t w = 0; w < from.size; ++w) t[w] |= f[w];
  }
  void widen(row& r, std::uint32_t width) {
    if (r.size >= width) return;
    std::uint64_t* const words = arena_.allocate(width);
    for (std::uint32_t w = 0; w < width; ++w) words[w] = w < r.size ? r.words[w] : 0;
    wasted_ += r.size;
    r = {words, width};
  }

  detail::word_arena arena_;
  std::pmr::vector<row> rows_;
  row staged_;
  std::uint32_t room_ = 0;  // words behind staged_
  std::size_t wasted_ = 0;  // words that no row uses any more
  std::size_t mixed_ = 0;   // the rows from here on were allocated in the order of their nodes, and are the latest
};

static_assert(counting_index<dense_index>);

}  // namespace hocket::inline HOCKET_ABI::graph
