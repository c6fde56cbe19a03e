// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/graph/index.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::testing {

/// Exact reachability as one bit row a node: bit a of row b says that a happens before b. So simple that other indices
/// are checked against it, and an example of a reachability index of one's own. Above some hundred nodes
/// graph::persistent_index is faster to build, and its memory does not grow with the square.
///
///     rows_[b]   0 1 1 0 1 …        ends with the highest ancestor's word
///
/// Source: Goralcikova, Koubek, "A Reduct-and-Closure Algorithm for Graphs" (1979), on machine words.
///
///     graph::dag<testing::dense_index> g;
class dense_index {
 public:
  explicit dense_index(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : rows_(memory), staged_(memory) {}

  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
  /// O(n).
  [[nodiscard]] std::size_t bytes() const noexcept {
    std::size_t words = staged_.capacity();
    for (const row& r : rows_) words += r.capacity();
    return words * sizeof(std::uint64_t) + rows_.capacity() * sizeof(row);
  }
  void clear() noexcept { rows_.clear(); }

  /// Is a a strict ancestor of b? Precondition: b < size(). O(1).
  [[nodiscard]] bool reaches(node_id a, node_id b) const noexcept { return has(rows_[b], a); }

  /// Number of strict ancestors of b. O(n / 64).
  [[nodiscard]] std::size_t ancestor_count(node_id b) const noexcept {
    std::size_t count = 0;
    for (const std::uint64_t word : rows_[b]) count += static_cast<std::size_t>(std::popcount(word));
    return count;
  }
  /// Number of pairs (a, b) with a before b. O(n² / 64).
  [[nodiscard]] std::uint64_t reachable_pairs() const noexcept {
    std::uint64_t pairs = 0;
    for (std::size_t b = 0; b < size(); ++b) pairs += ancestor_count(static_cast<node_id>(b));
    return pairs;
  }

  /// f(a) for each strict ancestor of b, ascending. O(n / 64 + ancestors).
  template <class F>
  void for_each_ancestor(node_id b, F&& f) const {
    for (std::size_t i = 0; i < rows_[b].size(); ++i)
      for (std::uint64_t left = rows_[b][i]; left != 0; left &= left - 1)
        f(static_cast<node_id>(i * 64 + static_cast<std::size_t>(std::countr_zero(left))));
  }

  /// See graph::reachability_index. In another order than the topological one, a later predecessor may imply an earlier
  /// one: so each is asked once the ancestors of all are known, and they join last. O(predecessors · n / 64).
  [[nodiscard]] std::size_t reduce(node_id, std::span<node_id> preds) {
    if (rows_.size() == rows_.capacity()) rows_.reserve(2 * rows_.size() + 16);
    staged_.clear();
    for (const node_id p : preds) join(staged_, rows_[p], p);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < preds.size(); ++i)
      if (!has(staged_, preds[i])) std::swap(preds[i], preds[kept++]);
    for (const node_id p : preds.first(kept)) set(staged_, p);
    return kept;
  }
  void commit(node_id b) noexcept {
    HOCKET_ASSERT(b <= size());
    if (b == size()) rows_.emplace_back();  // reduce made the room
    std::swap(rows_[b], staged_);
  }
  void resize(std::size_t n) { rows_.resize(n); }
  /// See graph::truncating_index.
  void truncate(std::size_t n) noexcept {
    while (size() > n) rows_.pop_back();
  }

  /// See graph::reachability_index. O(affected · n / 64).
  void link(node_id a, std::span<const node_id> affected) {
    for (const node_id d : affected) widen(rows_[d], rows_[a], a);  // whatever may throw; adds no ancestor
    for (const node_id d : affected) {
      join(rows_[d], rows_[a], a);
      set(rows_[d], a);
    }
  }

 private:
  using row = std::pmr::vector<std::uint64_t>;

  static bool has(const row& r, node_id a) noexcept { return a / 64 < r.size() && (r[a / 64] >> (a % 64) & 1u) != 0; }
  static void set(row& r, node_id a) noexcept { r[a / 64] |= std::uint64_t{1} << (a % 64); }
  // Room for a and for all of `more`.
  static void widen(row& r, const row& more, node_id a) {
    const std::size_t words = (std::max)(more.size(), a / 64 + std::size_t{1});
    if (r.size() < words) r.resize(words);
  }
  // Puts `more` in, and makes room for a.
  static void join(row& r, const row& more, node_id a) {
    widen(r, more, a);
    for (std::size_t w = 0; w < more.size(); ++w) r[w] |= more[w];
  }

  std::pmr::vector<row> rows_;
  row staged_;
};

static_assert(graph::counting_index<dense_index> && graph::truncating_index<dense_index>);

}  // namespace hocket::inline HOCKET_ABI::testing
