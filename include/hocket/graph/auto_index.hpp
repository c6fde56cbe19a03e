// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/graph/dense_index.hpp>
#include <hocket/graph/persistent_index.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// The index of a dag whose author does not want to choose: bit rows while they are short (to `dense_limit` nodes),
/// shared tries beyond. It moves from one to the other when it gets there, or at once when a size is announced by
/// reserve or resize.
class auto_index {
 public:
  /// Above this many nodes writing whole rows costs more than finding what can be shared: docs/benchmarks.md.
  static constexpr std::size_t dense_limit = 2048;

  explicit auto_index(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : dense_(memory), persistent_(memory), left_(memory), preds_(memory) {}

  [[nodiscard]] std::size_t size() const noexcept { return large_ ? persistent_.size() : dense_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return dense_.bytes() + persistent_.bytes() + left_.capacity() * 8 + preds_.capacity() * sizeof(node_id);
  }
  /// Is it beyond bit rows?
  [[nodiscard]] bool is_persistent() const noexcept { return large_; }
  void clear() noexcept {
    dense_.clear();
    persistent_.clear();
    large_ = false;
  }
  void reserve(std::size_t nodes) {
    if (nodes > dense_limit) move_over();
    if (large_) persistent_.reserve(nodes);
  }

  [[nodiscard]] bool reaches(node_id a, node_id b) const noexcept {
    return large_ ? persistent_.reaches(a, b) : dense_.reaches(a, b);
  }
  [[nodiscard]] std::size_t ancestor_count(node_id b) const noexcept {
    return large_ ? persistent_.ancestor_count(b) : dense_.ancestor_count(b);
  }
  [[nodiscard]] std::uint64_t reachable_pairs() const {
    return large_ ? persistent_.reachable_pairs() : dense_.reachable_pairs();
  }
  template <class F>
  void for_each_ancestor(node_id b, F&& f) const {
    large_ ? persistent_.for_each_ancestor(b, f) : dense_.for_each_ancestor(b, f);
  }
  [[nodiscard]] std::size_t reduce(std::span<node_id> preds) {
    if (!large_ && dense_.size() >= dense_limit) move_over();
    return large_ ? persistent_.reduce(preds) : dense_.reduce(preds);
  }
  [[nodiscard]] bool has_room(std::size_t preds) const noexcept { return !large_ || persistent_.has_room(preds); }
  void commit(node_id b) noexcept { large_ ? persistent_.commit(b) : dense_.commit(b); }
  void resize(std::size_t n) {
    if (n > dense_limit) move_over();
    large_ ? persistent_.resize(n) : dense_.resize(n);
  }
  void truncate(std::size_t n) noexcept { large_ ? persistent_.truncate(n) : dense_.truncate(n); }
  void link(node_id a, std::span<const node_id> affected) {
    large_ ? persistent_.link(a, affected) : dense_.link(a, affected);
  }

 private:
  // Nothing observable changes, not even if it throws half-way.
  void move_over() {
    if (large_) return;
    persistent_.clear();
    persistent_.reserve(dense_.size() + 1);
    bool ordered = true;
    for (std::size_t b = 0; b < dense_.size() && ordered; ++b) {
      const node_id last = latest(dense_.row_of(static_cast<node_id>(b)));
      ordered = last == no_id || last < b;
    }
    if (ordered) replay();
    else copy_rows();
    dense_.clear();  // its memory serves the next start
    large_ = true;
  }

  // The largest id of a row, no_id if it is empty.
  static node_id latest(std::span<const std::uint64_t> row) noexcept {
    for (std::size_t w = row.size(); w-- > 0;)
      if (row[w] != 0) return static_cast<node_id>(w * 64 + 63) - static_cast<node_id>(std::countl_zero(row[w]));
    return no_id;
  }

  // Program order: the predecessors of a node follow from its row, the latest ancestor first, and what that one implies
  // taken away.
  void replay() {
    std::pmr::vector<std::uint64_t>& left = left_;
    std::pmr::vector<node_id>& preds = preds_;
    for (std::size_t b = 0; b < dense_.size(); ++b) {
      const std::span<const std::uint64_t> row = dense_.row_of(static_cast<node_id>(b));
      left.assign(row.begin(), row.end());
      preds.clear();
      for (node_id p; (p = latest(left)) != no_id;) {
        preds.push_back(p);
        left.resize(p / 64 + std::size_t{1});
        left.back() &= ~(std::uint64_t{1} << (p % 64));
        const std::span<const std::uint64_t> implied = dense_.row_of(p);
        for (std::size_t w = 0; w < implied.size() && w < left.size(); ++w) left[w] &= ~implied[w];
      }
      (void)persistent_.reduce(preds);
      persistent_.commit(static_cast<node_id>(b));
    }
  }

  void copy_rows() {
    for (std::size_t b = 0; b < dense_.size(); ++b) {
      const std::span<const std::uint64_t> row = dense_.row_of(static_cast<node_id>(b));
      const node_id last = latest(row);  // has nearly the same set
      persistent_.append_row(row, last < b ? last : no_id);
    }
  }

  dense_index dense_;
  persistent_index persistent_;
  std::pmr::vector<std::uint64_t> left_;  // replay
  std::pmr::vector<node_id> preds_;       // replay
  bool large_ = false;
};

static_assert(counting_index<auto_index>);

}  // namespace hocket::inline HOCKET_ABI::graph
