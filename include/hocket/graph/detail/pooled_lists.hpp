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
// of a program; more in one allocation for all: 12 bytes a list without those. A full list moves to the end of that
// pool with twice the room; the holes are squeezed out when they outweigh the rest, so everything is amortised O(1).
class pooled_lists {
 public:
  explicit pooled_lists(std::pmr::memory_resource* memory) noexcept : lists_(memory), pool_(memory) {}

  [[nodiscard]] std::size_t size() const noexcept { return lists_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return lists_.capacity() * sizeof(list) + pool_.capacity() * sizeof(node_id);
  }
  [[nodiscard]] std::span<const node_id> operator[](std::size_t i) const noexcept {
    const list& l = lists_[i];
    return {l.is_inside() ? l.ids : pool_.data() + l.offset(), l.length()};
  }
  void clear() noexcept { lists_.clear(), pool_.clear(), holes_ = 0; }
  void reserve(std::size_t lists) { lists_.reserve(lists); }

  // Adds a list of these ids, in ascending order. Strong guarantee.
  void add(std::span<const node_id> ids) {
    if (ids.size() > list::inside) {
      lists_.emplace_back();
      add_to_pool(ids);
      return;
    }
    list l;
    l.size = static_cast<node_id>(ids.size());
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
      if (!last.is_inside()) {
        if (last.offset() + last.capacity() == pool_.size()) pool_.resize(last.offset());
        else holes_ += last.capacity();
      }
      lists_.pop_back();
    }
  }

  // Makes room for `more` further ids in list i. Strong guarantee; what the lists hold does not change.
  void make_room(std::size_t i, std::size_t more) {
    const std::size_t need = lists_[i].length() + more;
    if (need > lists_[i].capacity()) grow(i, need);
  }

  // Precondition: make_room(i, 1) succeeded; id is larger than what is there.
  void push_back(std::size_t i, node_id id) noexcept {
    first(i)[lists_[i].length()] = id;
    ++lists_[i].size;
  }
  // Inserts in ascending order. Precondition: make_room(i, 1) succeeded.
  void insert(std::size_t i, node_id id) noexcept {
    node_id* const begin = first(i);
    node_id* last = begin + lists_[i].length();
    ++lists_[i].size;
    while (last != begin && last[-1] > id) *last = last[-1], --last;
    *last = id;
  }

  // Replaces list i by the given ids. Precondition: they fit the room that make_room made.
  void assign(std::size_t i, std::span<const node_id> ids) noexcept {
    lists_[i].size = static_cast<node_id>(ids.size()) | (lists_[i].size & list::pooled);
    node_id* const begin = first(i);
    bool descends = true;  // as an index likes them
    for (std::size_t k = 0; k < ids.size(); ++k) {
      begin[ids.size() - 1 - k] = ids[k];
      descends = descends && (k == 0 || ids[k - 1] > ids[k]);
    }
    if (!descends) std::sort(begin, begin + ids.size());
  }

  void erase(std::size_t i, node_id id) noexcept {
    node_id* const last = first(i) + lists_[i].length();
    node_id* const at = std::lower_bound(first(i), last, id);
    HOCKET_ASSERT(at != last && *at == id);
    std::copy(at + 1, last, at);
    --lists_[i].size;
  }

 private:
  struct list {
    static constexpr node_id inside = 2;
    static constexpr node_id pooled = 1u << 31;  // a tag of the size

    node_id ids[inside] = {0, 0};  // if pooled: half of the offset in the pool, and the room there
    node_id size = 0;

    [[nodiscard]] bool is_inside() const noexcept { return size < pooled; }
    [[nodiscard]] std::size_t length() const noexcept { return size & ~pooled; }
    [[nodiscard]] std::size_t capacity() const noexcept { return is_inside() ? inside : ids[1]; }
    [[nodiscard]] std::size_t offset() const noexcept { return std::size_t{ids[0]} * 2; }
  };

  [[nodiscard]] node_id* first(std::size_t i) noexcept {
    list& l = lists_[i];
    return l.is_inside() ? l.ids : pool_.data() + l.offset();
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
    constexpr std::size_t most = list::pooled - std::size_t{2};
    const std::size_t offset = pool_.size(), old = lists_[i].length(), twice = old * 2 < most ? old * 2 : most;
    const std::size_t capacity = ((need > twice ? need : twice) + 1) / 2 * 2;  // so that every offset is even
    // No more numbers is no more memory. Asking the resource that has none throws, whatever this unit is compiled with.
    if (capacity > most || offset / 2 > no_id) (void)std::pmr::null_memory_resource()->allocate(1);
    list& l = lists_[i];
    if (!l.is_inside() && l.offset() + l.capacity() == offset) {  // last: grow where it is
      pool_.resize(l.offset() + capacity);
    } else {
      pool_.resize(offset + capacity);
      std::copy_n(first(i), old, pool_.data() + offset);
      if (!l.is_inside()) holes_ += l.capacity();
      l.ids[0] = static_cast<node_id>(offset / 2);
      l.size |= list::pooled;
    }
    l.ids[1] = static_cast<node_id>(capacity);
  }

  void squeeze() {
    std::pmr::vector<node_id> packed(pool_.get_allocator());
    std::size_t total = 0;
    for (const list& l : lists_) total += l.is_inside() ? 0 : l.capacity();
    packed.reserve(total);
    for (list& l : lists_) {
      if (l.is_inside()) continue;
      const node_id* const from = pool_.data() + l.offset();
      l.ids[0] = static_cast<node_id>(packed.size() / 2);
      packed.insert(packed.end(), from, from + l.capacity());
    }
    pool_ = std::move(packed);
    holes_ = 0;
  }

  std::pmr::vector<list> lists_;
  std::pmr::vector<node_id> pool_;
  std::size_t holes_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
