// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/ids.hpp>

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// Many short ascending lists of ids in one allocation, each contiguous. A full list moves to the end of the pool with
// twice the room; the holes are squeezed out when they outweigh the rest, so everything is amortised O(1).
class pooled_lists {
 public:
  explicit pooled_lists(std::pmr::memory_resource* memory) noexcept : lists_(memory), pool_(memory) {}

  [[nodiscard]] std::size_t size() const noexcept { return lists_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return lists_.capacity() * sizeof(list) + pool_.capacity() * sizeof(node_id);
  }
  [[nodiscard]] std::span<const node_id> operator[](std::size_t i) const noexcept {
    return {pool_.data() + lists_[i].offset, lists_[i].size};
  }
  void clear() noexcept { lists_.clear(), pool_.clear(), holes_ = 0; }
  void reserve(std::size_t lists, std::size_t ids) { lists_.reserve(lists), pool_.reserve(ids); }

  // Adds empty lists up to n.
  void resize(std::size_t n) { lists_.resize(n, list{0, 0, 0}); }
  // Drops the last lists down to n; they must be empty.
  void shrink(std::size_t n) noexcept {
    while (lists_.size() > n) {
      const list& last = lists_.back();  // its room comes back at once if it is the youngest, else when squeezed
      if (last.capacity != 0 && last.offset + last.capacity == pool_.size()) pool_.resize(last.offset);
      else holes_ += last.capacity;
      lists_.pop_back();
    }
  }

  // Makes room for `more` further ids in list i. Strong guarantee; what the lists hold does not change.
  void make_room(std::size_t i, std::size_t more) {
    const std::size_t need = std::size_t{lists_[i].size} + more;
    if (need <= lists_[i].capacity) return;
    if (holes_ > 1024 && holes_ > pool_.size() / 2) squeeze();
    const std::size_t twice = (std::min)(std::size_t{lists_[i].size} * 2, std::size_t{no_id});  // what a list can hold
    const std::size_t capacity = need > twice ? need : twice;
    const std::size_t offset = pool_.size();
    if (lists_[i].capacity != 0 && lists_[i].offset + lists_[i].capacity == offset) {  // last: grow where it is
      pool_.resize(lists_[i].offset + capacity);
    } else {
      pool_.resize(offset + capacity);
      std::copy_n(pool_.data() + lists_[i].offset, lists_[i].size, pool_.data() + offset);
      holes_ += lists_[i].capacity;
      lists_[i].offset = offset;
    }
    lists_[i].capacity = static_cast<node_id>(capacity);
  }

  // Inserts in ascending order. Precondition: make_room(i, 1) succeeded.
  void insert(std::size_t i, node_id id) noexcept {
    node_id* const first = pool_.data() + lists_[i].offset;
    node_id* last = first + lists_[i].size++;
    while (last != first && last[-1] > id) *last = last[-1], --last;
    *last = id;
  }

  // Replaces list i by the given ids. Precondition: they fit the room that make_room made.
  void assign(std::size_t i, std::span<const node_id> ids) noexcept {
    std::copy_n(ids.data(), ids.size(), pool_.data() + lists_[i].offset);
    lists_[i].size = static_cast<node_id>(ids.size());
    std::sort(pool_.data() + lists_[i].offset, pool_.data() + lists_[i].offset + lists_[i].size);
  }

  void erase(std::size_t i, node_id id) noexcept {
    node_id* const first = pool_.data() + lists_[i].offset;
    node_id* const last = first + lists_[i].size;
    node_id* const at = std::lower_bound(first, last, id);
    HOCKET_ASSERT(at != last && *at == id);
    std::copy(at + 1, last, at);
    --lists_[i].size;
  }

 private:
  struct list {
    std::size_t offset;
    node_id size;
    node_id capacity;
  };

  void squeeze() {
    std::pmr::vector<node_id> packed(pool_.get_allocator());
    std::size_t total = 0;
    for (const list& l : lists_) total += l.capacity;
    packed.reserve(total);
    for (list& l : lists_) {
      const std::size_t offset = packed.size();
      packed.insert(packed.end(), pool_.begin() + static_cast<std::ptrdiff_t>(l.offset),
                    pool_.begin() + static_cast<std::ptrdiff_t>(l.offset + l.capacity));
      l.offset = offset;
    }
    pool_ = std::move(packed);
    holes_ = 0;
  }

  std::pmr::vector<list> lists_;
  std::pmr::vector<node_id> pool_;
  std::size_t holes_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
