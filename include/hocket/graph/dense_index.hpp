// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/graph/index.hpp>

#include <algorithm>
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
///
///     rows_[b]   begin, size ──►  words_   … | row of b - 1 | row of b | …
///
/// A row ends with its last set word, so in program order the rows form a triangle (n²/16 bytes at most). A node
/// without ancestors costs nothing. A late edge that points backwards in the numbering just widens the rows it touches.
///
/// | invariant                                                     | why                                            |
/// |---------------------------------------------------------------|------------------------------------------------|
/// | rows end before settled_                                      | a reduce that nobody commits is undone         |
/// | from node in_order_ on, rows begin in the order of their nodes| truncate gives back the words behind the first |
///
/// The fastest index for a few thousand nodes. reaches: two dependent loads.
/// Source: Goralcikova, Koubek, "A Reduct-and-Closure Algorithm for Graphs" (1979), on machine words.
///
///     graph::dag<graph::dense_index> g;
class dense_index {
 public:
  explicit dense_index(std::pmr::memory_resource* memory = std::pmr::get_default_resource()) noexcept
      : words_(memory), rows_(memory) {}

  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return words_.size() * sizeof(std::uint64_t) + rows_.capacity() * sizeof(row);
  }
  void clear() noexcept {
    rows_.clear();
    settled_ = 0;
    in_order_ = 0;
    wasted_ = 0;
  }

  /// Is a a strict ancestor of b? Precondition: b < size(). O(1).
  [[nodiscard]] bool reaches(node_id a, node_id b) const noexcept { return has(rows_[b], a); }

  /// Number of strict ancestors of b. O(b / 64).
  [[nodiscard]] std::size_t ancestor_count(node_id b) const noexcept {
    std::size_t count = 0;
    for (std::size_t i = 0; i < rows_[b].size; ++i) count += static_cast<std::size_t>(std::popcount(word(rows_[b], i)));
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
      for (std::uint64_t left = word(rows_[b], i); left != 0; left &= left - 1)
        f(i * 64u + static_cast<node_id>(std::countr_zero(left)));
  }

  /// See reachability_index. First what comes before the predecessors, then those themselves: so whoever is there, is
  /// implied. In another order than the topological one a later predecessor may imply an earlier one, so each is asked
  /// again. O(kept predecessors · n / 64).
  [[nodiscard]] std::size_t reduce(node_id, std::span<node_id> preds) {
    std::uint32_t width = 0;
    for (const node_id p : preds) width = (std::max)({width, p / 64 + 1, rows_[p].size});
    if (rows_.size() == rows_.capacity()) rows_.reserve(rows_.size() * 2 + 16);
    add_zeros(width);
    staged_ = {settled_, width};
    std::size_t kept = 0;
    for (std::size_t i = 0; i < preds.size(); ++i) {
      if (has(staged_, preds[i])) continue;
      merge(staged_, rows_[preds[i]]);
      std::swap(preds[i], preds[kept]);
      ++kept;
    }
    std::size_t good = 0;
    for (std::size_t i = 0; i < kept; ++i) {
      if (has(staged_, preds[i])) continue;
      std::swap(preds[i], preds[good]);
      ++good;
    }
    for (const node_id p : preds.first(good)) set(staged_, p);
    return good;
  }

  void commit(node_id b) noexcept {
    HOCKET_ASSERT(b <= rows_.size());
    if (b == rows_.size()) {
      rows_.push_back(staged_);  // reduce() made the room
    } else {
      rows_[b] = staged_;
      in_order_ = rows_.size();
    }
    settled_ = staged_.begin + staged_.size;
  }

  void resize(std::size_t n) {
    rows_.resize(n);
    in_order_ = n;
  }

  /// Forgets the last nodes; see truncating_index. The next ones are written where they were.
  void truncate(std::size_t n) noexcept {
    if (n >= rows_.size()) return;
    if (n >= in_order_) settled_ = rows_[n].begin;
    while (rows_.size() > n) rows_.pop_back();
  }

  /// See reachability_index. O(affected · n / 64).
  void link(node_id a, std::span<const node_id> affected) {
    const std::uint32_t width = (std::max)(a / 64 + 1, rows_[a].size);
    const std::size_t wider = static_cast<std::size_t>(
        std::count_if(affected.begin(), affected.end(), [&](node_id d) { return rows_[d].size < width; }));
    add_zeros(wider * width);
    for (const node_id d : affected) {
      if (rows_[d].size < width) {
        const row old = std::exchange(rows_[d], row{settled_, width});
        merge(rows_[d], old);
        settled_ += width;
        wasted_ += old.size;
      }
      merge(rows_[d], rows_[a]);
      set(rows_[d], a);
    }
    if (wider != 0) in_order_ = rows_.size();
  }

  /// See rebuildable_index: rows that late edges widened lie elsewhere now, and their old words idle.
  [[nodiscard]] bool wants_rebuild() const noexcept { return wasted_ > settled_ / 2; }

  /// For tests: do the invariants above hold?
  [[nodiscard]] bool check_invariants() const noexcept {
    std::size_t begin = 0;
    for (std::size_t b = 0; b < rows_.size(); ++b) {
      if (rows_[b].begin + rows_[b].size > settled_) return false;
      if (b < in_order_) continue;
      if (rows_[b].begin < begin) return false;
      begin = rows_[b].begin + rows_[b].size;
    }
    return settled_ <= words_.size();
  }

 private:
  struct row {
    std::size_t begin = 0;
    std::uint32_t size = 0;
  };

  [[nodiscard]] std::uint64_t word(const row& r, std::size_t i) const noexcept { return words_[r.begin + i]; }
  [[nodiscard]] bool has(const row& r, node_id a) const noexcept {
    return a / 64 < r.size && (word(r, a / 64) >> (a % 64) & 1u) != 0;
  }
  void set(const row& r, node_id a) noexcept { words_[r.begin + a / 64] |= std::uint64_t{1} << (a % 64); }
  // Room for so many words behind those in use, all 0. Twice as many if there is none.
  void add_zeros(std::size_t words) {
    if (words_.size() - settled_ < words) words_.resize((std::max)(settled_ + words, 2 * words_.size()));
    std::fill_n(words_.data() + settled_, words, std::uint64_t{0});
  }
  // Precondition: `from` is no longer than `to`.
  void merge(const row& to, const row& from) noexcept {
    std::uint64_t* const t = words_.data() + to.begin;
    const std::uint64_t* const f = words_.data() + from.begin;
    for (std::size_t w = 0; w < from.size; ++w) t[w] |= f[w];
  }

  std::pmr::vector<std::uint64_t> words_;  // behind settled_, what is staged, or anything
  std::pmr::vector<row> rows_;
  row staged_;
  std::size_t settled_ = 0;  // words in use; behind them may be what is staged
  std::size_t in_order_ = 0;
  std::size_t wasted_ = 0;  // words that no row uses any more
};

static_assert(counting_index<dense_index>);

}  // namespace hocket::inline HOCKET_ABI::graph
