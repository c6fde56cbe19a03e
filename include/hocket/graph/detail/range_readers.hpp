// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>
#include <hocket/core/ids.hpp>
#include <hocket/graph/detail/reader_lists.hpp>
#include <hocket/graph/storage_range.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// Which ops have read which bytes since these were written last. A range is one entry, however many others it overlaps,
// with the list of the ops that read it. The entries are a search tree by space, first byte and end, balanced by
// chance: a treap. Each knows how far those under it reach, so that all entries which overlap a range are found without
// a look at the rest.
//
//   bytes      0....5....10...15       tree
//   op 1       |---------|             [3, 9) op 2, reach 14
//   op 2          |-----|                left:  [0, 10) ops 4, 1, reach 10
//   op 3               |-----|           right: [8, 14) op 3, reach 14
//   op 4       |---------|
//
// Invariants: entries are not empty, no two have the same range, and each has a reader; of a parent and its child the
// parent has the higher rank.
class range_readers {
 public:
  explicit range_readers(std::pmr::memory_resource* memory) : entries_(memory), readers_(memory), found_(memory) {}

  // Complexity: O(log entries), as all that follow for each entry that they meet.
  void insert(const storage_range& range, node_id op) {
    std::uint32_t i = find_same(range);
    if (i == none) {
      i = fresh(range);
      std::uint32_t left, right;
      split(root_, range, left, right);
      root_ = join(join(left, i), right);
    }
    entries_[i].readers = readers_.push(entries_[i].readers, op);
  }

  // f(range, op) for each read that overlaps the range, by first byte; of one range the latest first.
  template <class F>
  void for_each_overlap(const storage_range& range, F&& f) {
    find(range);
    for (const std::uint32_t i : found_)
      readers_.for_each(entries_[i].readers, [&](node_id op) { f(entries_[i].range, op); });
  }

  // Takes the bytes of the range out of all entries.
  void take_out(const storage_range& range) {
    find(range);
    for (const std::uint32_t i : found_) {
      const entry old = entries_[i];
      root_ = without(root_, i);
      entries_[i].left = std::exchange(free_, i);
      readers_.for_each(old.readers, [&](node_id op) {
        if (old.range.first < range.first) insert({range.space, old.range.first, range.first}, op);
        if (old.range.end > range.end) insert({range.space, range.end, old.range.end}, op);
      });
      readers_.release(old.readers);
    }
  }

 private:
  static constexpr std::uint32_t none = no_id;
  struct place {
    std::uint64_t space;
    std::uint64_t byte;
    [[nodiscard]] constexpr auto operator<=>(const place&) const noexcept = default;
  };
  struct entry {
    storage_range range;
    place reach;  // the greatest end of this entry and those under it
    std::uint32_t readers;
    std::uint32_t rank;
    std::uint32_t left;
    std::uint32_t right;
  };

  [[nodiscard]] place first_of(std::uint32_t i) const noexcept {
    return {entries_[i].range.space, entries_[i].range.first};
  }
  [[nodiscard]] std::uint32_t find_same(const storage_range& range) const noexcept {
    std::uint32_t i = root_;
    while (i != none && entries_[i].range != range)
      i = range < entries_[i].range ? entries_[i].left : entries_[i].right;
    return i;
  }
  [[nodiscard]] std::uint32_t fresh(const storage_range& range) {
    std::uint32_t made = free_;
    if (made == none) {
      HOCKET_ASSERT(entries_.size() < none);
      made = static_cast<std::uint32_t>(entries_.size());
      entries_.push_back({});
    } else {
      free_ = entries_[made].left;
    }
    random_ = random_ * 1664525u + 1013904223u;  // equal programs make equal trees
    entries_[made] = {range, {range.space, range.end}, none, random_, none, none};
    return made;
  }
  void update(std::uint32_t i) noexcept {
    entry& x = entries_[i];
    x.reach = {x.range.space, x.range.end};
    if (x.left != none) x.reach = (std::max)(x.reach, entries_[x.left].reach);
    if (x.right != none) x.reach = (std::max)(x.reach, entries_[x.right].reach);
  }
  // Those of a tree that come before a range that is not in it, and those that come after it.
  void split(std::uint32_t tree, const storage_range& range, std::uint32_t& left, std::uint32_t& right) noexcept {
    if (tree == none) {
      left = right = none;
    } else if (entries_[tree].range < range) {
      split(entries_[tree].right, range, entries_[tree].right, right);
      left = tree;
      update(tree);
    } else {
      split(entries_[tree].left, range, left, entries_[tree].left);
      right = tree;
      update(tree);
    }
  }
  [[nodiscard]] std::uint32_t join(std::uint32_t left, std::uint32_t right) noexcept {
    if (left == none) return right;
    if (right == none) return left;
    if (entries_[left].rank > entries_[right].rank) {
      entries_[left].right = join(entries_[left].right, right);
      update(left);
      return left;
    }
    entries_[right].left = join(left, entries_[right].left);
    update(right);
    return right;
  }
  [[nodiscard]] std::uint32_t without(std::uint32_t tree, std::uint32_t gone) noexcept {
    if (tree == gone) return join(entries_[tree].left, entries_[tree].right);
    if (entries_[gone].range < entries_[tree].range) entries_[tree].left = without(entries_[tree].left, gone);
    else entries_[tree].right = without(entries_[tree].right, gone);
    update(tree);
    return tree;
  }
  // found_: the entries that overlap the range, by first byte.
  void find(const storage_range& range) {
    found_.clear();
    find(root_, {range.space, range.first}, {range.space, range.end});
  }
  void find(std::uint32_t tree, const place& first, const place& end) {
    if (tree == none || entries_[tree].reach <= first) return;
    find(entries_[tree].left, first, end);
    if (first_of(tree) >= end) return;
    const storage_range& own = entries_[tree].range;
    if (place{own.space, own.end} > first) found_.push_back(tree);
    find(entries_[tree].right, first, end);
  }

  std::pmr::vector<entry> entries_;
  reader_lists readers_;
  std::pmr::vector<std::uint32_t> found_;
  std::uint32_t root_ = none;
  std::uint32_t free_ = none;  // a list of entries that were given back, linked by left
  std::uint32_t random_ = 1;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
