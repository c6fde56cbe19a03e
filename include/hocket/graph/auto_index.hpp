// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/graph/dense_index.hpp>
#include <hocket/graph/persistent_index.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>

namespace hocket::inline HOCKET_ABI::graph {

/// The index of a dag whose author does not want to choose: bit rows while they are short (to `dense_limit` nodes),
/// shared tries beyond. Which it is is settled while it is empty, by the size that reserve or resize announces. When
/// rows get too long, it asks the dag for a rebuild, and the new index has tries; the rows are given back.
class auto_index {
 public:
  /// Above this many nodes writing whole rows costs more than finding what can be shared: docs/benchmarks.md.
  static constexpr std::size_t dense_limit = 2048;

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
    announce(nodes);
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
  [[nodiscard]] std::size_t reduce(node_id b, std::span<node_id> preds) {
    return large_ ? persistent_.reduce(b, preds) : dense_.reduce(b, preds);
  }
  [[nodiscard]] bool has_room(std::size_t preds) const noexcept { return !large_ || persistent_.has_room(preds); }
  void commit(node_id b) noexcept { large_ ? persistent_.commit(b) : dense_.commit(b); }
  void resize(std::size_t n) {
    announce(n);
    large_ ? persistent_.resize(n) : dense_.resize(n);
  }
  void truncate(std::size_t n) noexcept { large_ ? persistent_.truncate(n) : dense_.truncate(n); }
  void link(node_id a, std::span<const node_id> affected) {
    large_ ? persistent_.link(a, affected) : dense_.link(a, affected);
  }
  /// See rebuildable_index.
  [[nodiscard]] bool wants_rebuild() const noexcept {
    return large_ ? persistent_.wants_rebuild() : dense_.size() >= dense_limit || dense_.wants_rebuild();
  }
  /// For tests: do those of the index in use hold?
  [[nodiscard]] bool check_invariants() const {
    return large_ ? persistent_.check_invariants() : dense_.check_invariants();
  }

 private:
  void announce(std::size_t nodes) noexcept { large_ = large_ || (dense_.size() == 0 && nodes > dense_limit); }

  dense_index dense_;
  persistent_index persistent_;
  bool large_ = false;
};

static_assert(counting_index<auto_index>);

}  // namespace hocket::inline HOCKET_ABI::graph
