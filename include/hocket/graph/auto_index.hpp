// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/graph/dense_index.hpp>
#include <hocket/graph/persistent_index.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <utility>

namespace hocket::inline HOCKET_ABI::graph {

/// The index of a dag whose author does not want to choose: bit rows while they fit a cache (to `dense_limit` nodes),
/// shared tries beyond. It moves from one to the other when it gets there, or at once when a size is announced by
/// reserve or resize.
class auto_index {
 public:
  /// Above this many nodes the rows of a dense_index outgrow a second-level cache (4 MiB).
  static constexpr std::size_t dense_limit = 8192;

  explicit auto_index(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : dense_(memory), persistent_(memory) {}

  [[nodiscard]] std::size_t size() const noexcept { return large_ ? persistent_.size() : dense_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return dense_.bytes() + persistent_.bytes(); }
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
  [[nodiscard]] std::size_t reduce(std::span<node_id> preds) {
    if (!large_ && dense_.size() >= dense_limit) move_over();
    return large_ ? persistent_.reduce(preds) : dense_.reduce(preds);
  }
  void commit(node_id b) noexcept { large_ ? persistent_.commit(b) : dense_.commit(b); }
  void resize(std::size_t n) {
    if (n > dense_limit) move_over();
    large_ ? persistent_.resize(n) : dense_.resize(n);
  }
  void link(node_id a, std::span<const node_id> affected) {
    large_ ? persistent_.link(a, affected) : dense_.link(a, affected);
  }

 private:
  // Nothing observable changes, not even if it throws half-way.
  void move_over() {
    if (large_) return;
    persistent_.clear();
    persistent_.reserve(dense_.size() + 1);
    for (std::size_t b = 0; b < dense_.size(); ++b) {
      const std::span<const std::uint64_t> row = dense_.row_of(static_cast<node_id>(b));
      // The latest ancestor has nearly the same set, and its set exists already if it is an earlier node.
      std::size_t words = row.size();
      while (words != 0 && row[words - 1] == 0) --words;
      node_id like = no_id;
      if (words != 0)
        like = static_cast<node_id>(words * 64 - 1) - static_cast<node_id>(std::countl_zero(row[words - 1]));
      persistent_.append_row(row.first(words), like < b ? like : no_id);
    }
    dense_ = dense_index(dense_.memory());
    large_ = true;
  }

  dense_index dense_;
  persistent_index persistent_;
  bool large_ = false;
};

static_assert(counting_index<auto_index>);

}  // namespace hocket::inline HOCKET_ABI::graph
