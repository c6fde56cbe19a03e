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

// Many short ascending lists of ids, each contiguous. Two ids are kept in the list itself, which is enough for most ops
// of a program; more in one allocation for all. A full list moves to the end of that pool with twice the room; the
// holes are squeezed out when they outweigh the rest, so everything is amortised O(1).
class pooled_lists {
 public:
  explicit pooled_lists(std::pmr::memory_resource* memory) noexcept : lists_(memory), pool_(memory) {}

  [[nodiscard]] std::size_t size() const noexcept { return lists_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return lists_.capacity() * sizeof(list) + pool_.capacity() * sizeof(node_id);
  }
  [[nodiscard]] std::span<const node_id> operator[](std::size_t i) const noexcept {
    const list& l = lists_[i];
    return {l.capacity == inside ? l.ids : pool_.data() + l.offset, l.size};
  }
  void clear() noexcept { lists_.clear(), pool_.clear(), holes_ = 0; }
  void reserve(std::size_t lists) { lists_.reserve(lists); }

  // Adds a list of these ids, in ascending order. Strong guarantee.
  void add(std::span<const node_id> ids) {
    list l;
    l.size = static_cast<node_id>(ids.size());
    if (ids.size() > inside) {
      lists_.emplace_back();
      add_to_pool(ids);
      return;
    }
    if (ids.size() == 1) l.ids[0] = ids[0];
    if (ids.size() == 2) {
      l.ids[0] = ids[0] < ids[1] ? ids[0] : ids[1];
      l.ids[1] = ids[0] < ids[1] ? ids[1] : ids[0];
    }
    lists_.push_back(l);
  }
  void add_empty() { lists_.emplace_back(); }
  // Adds empty lists up to n.
  void resize(std::size_t n) { lists_.resize(n); }
  // Drops the last lists down to n; they must be empty.
  void shrink(std::size_t n) noexcept {
    while (lists_.size() > n) {
      const list& last = lists_.back();  // its room comes back at once if it is the youngest, else when squeezed
      if (last.capacity != inside) {
        if (last.offset + last.capacity == pool_.size()) pool_.resize(last.offset);
        else holes_ += last.capacity;
      }
      lists_.pop_back();
    }
  }

  // Makes room for `more` further ids in list i. Strong guarantee; what the lists hold does not change.
  void make_room(std::size_t i, std::size_t more) {
    const std::size_t need = std::size_t{lists_[i].size} + more;
    if (need > lists_[i].capacity) grow(i, need);
  }

  // Precondition: make_room(i, 1) succeeded; id is larger than what is there.
  void push_back(std::size_t i, node_id id) noexcept {
    list& l = lists_[i];
    (l.capacity == inside ? l.ids : pool_.data() + l.offset)[l.size++] = id;
  }
  // Inserts in ascending order. Precondition: make_room(i, 1) succeeded.
  void insert(std::size_t i, node_id id) noexcept {
    list& l = lists_[i];
    node_id* const begin = l.capacity == inside ? l.ids : pool_.data() + l.offset;
    node_id* last = begin + l.size++;
    while (last != begin && last[-1] > id) *last = last[-1], --last;
    *last = id;
  }

  // Replaces list i by the given ids. Precondition: they fit the room that make_room made.
  void assign(std::size_t i, std::span<const node_id> ids) noexcept {
    list& l = lists_[i];
    l.size = static_cast<node_id>(ids.size());
    if (ids.size() <= 1) {
      if (!ids.empty()) (l.capacity == inside ? l.ids : pool_.data() + l.offset)[0] = ids[0];
      return;
    }
    node_id* const begin = first(i);
    bool descends = true;  // as an index likes them
    for (std::size_t k = 0; k < ids.size(); ++k) {
      begin[ids.size() - 1 - k] = ids[k];
      descends = descends && (k == 0 || ids[k - 1] > ids[k]);
    }
    if (!descends) std::sort(begin, begin + ids.size());
  }

  void erase(std::size_t i, node_id id) noexcept {
    node_id* const last = first(i) + lists_[i].size;
    node_id* const at = std::lower_bound(first(i), last, id);
    HOCKET_ASSERT(at != last && *at == id);
    std::copy(at + 1, last, at);
    --lists_[i].size;
  }

 private:
  static constexpr node_id inside = 2;
  struct list {
    union {
      node_id ids[inside] = {0, 0};  // if capacity == inside
      std::size_t offset;            // in the pool, if there is more room
    };
    node_id size = 0;
    node_id capacity = inside;
  };

  [[nodiscard]] node_id* first(std::size_t i) noexcept {
    list& l = lists_[i];
    return l.capacity == inside ? l.ids : pool_.data() + l.offset;
  }

  // As the last list, which is empty; takes it away again if it fails.
  [[gnu::noinline]] void add_to_pool(std::span<const node_id> ids) {
    struct undo {
      pooled_lists* lists;
      ~undo() {
        if (lists != nullptr) lists->lists_.pop_back();
      }
    } undo_unless_done{this};
    grow(lists_.size() - 1, ids.size());
    undo_unless_done.lists = nullptr;
    assign(lists_.size() - 1, ids);
  }

  [[gnu::noinline]] void grow(std::size_t i, std::size_t need) {
    if (holes_ > 1024 && holes_ > pool_.size() / 2) squeeze();
    const std::size_t twice = (std::min)(std::size_t{lists_[i].size} * 2, std::size_t{no_id});  // what a list can hold
    const std::size_t capacity = need > twice ? need : twice;
    const std::size_t offset = pool_.size();
    list& l = lists_[i];
    if (l.capacity != inside && l.offset + l.capacity == offset) {  // last: grow where it is
      pool_.resize(l.offset + capacity);
    } else {
      pool_.resize(offset + capacity);
      std::copy_n(first(i), l.size, pool_.data() + offset);
      if (l.capacity != inside) holes_ += l.capacity;
      l.offset = offset;
    }
    l.capacity = static_cast<node_id>(capacity);
  }

  void squeeze() {
    std::pmr::vector<node_id> packed(pool_.get_allocator());
    std::size_t total = 0;
    for (const list& l : lists_) total += l.capacity == inside ? 0 : l.capacity;
    packed.reserve(total);
    for (list& l : lists_) {
      if (l.capacity == inside) continue;
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
