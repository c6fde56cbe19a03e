// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// Many short ascending lists of ids, all in one allocation:
//
//    lists_[i]   begin, size, room ──►  pool_   … | 3 7 8 _ | hole | 4 | …
//
// A full list moves to the end of the pool with twice the room. The holes are squeezed out when they outweigh the rest,
// so everything is amortised O(1).
//
// | invariant                                                          | why                                     |
// |--------------------------------------------------------------------|-----------------------------------------|
// | a list ascends, and is no longer than its room                     | searched by halves; the next insert fits|
// | rooms do not overlap and end within the pool                       | lists are written to independently      |
// | rooms and holes together are the pool                              | squeeze knows when it pays              |
class pooled_lists {
 public:
  explicit pooled_lists(std::pmr::memory_resource* memory) noexcept : lists_(memory), pool_(memory) {}

  [[nodiscard]] std::size_t size() const noexcept { return lists_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return lists_.capacity() * sizeof(list) + pool_.capacity() * sizeof(node_id);
  }
  [[nodiscard]] std::span<const node_id> operator[](std::size_t i) const noexcept {
    return {pool_.data() + lists_[i].begin, lists_[i].size};
  }
  void clear() noexcept {
    lists_.clear();
    pool_.clear();
    holes_ = 0;
  }
  void reserve(std::size_t lists) { lists_.reserve(lists); }

  // Adds a list of these ids, in ascending order. Strong guarantee.
  void add(std::span<const node_id> ids) {
    if (lists_.size() == lists_.capacity()) lists_.reserve(2 * lists_.size() + 16);
    squeeze_if_worth_it();
    const list added{ids.empty() ? 0 : extended(ids.size()), 0, static_cast<std::uint32_t>(ids.size())};
    lists_.push_back(added);
    assign(lists_.size() - 1, ids);
  }
  // Becomes `count` lists; list_of(i) gives the ids of list i, which descend best.
  template <class F>
  void assign_all(std::size_t count, F&& list_of) {
    clear();
    lists_.resize(count);
    std::size_t total = 0;
    for (std::size_t i = 0; i < count; ++i) total += list_of(i).size();
    static_cast<void>(extended(total));
    std::uint32_t begin = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto ids = list_of(i);
      const auto size = static_cast<std::uint32_t>(ids.size());
      lists_[i] = {begin, 0, size};
      assign(i, ids);
      begin += size;
    }
  }
  // Of empty lists: becomes the same edges the other way: list a has each b whose list in `other` has a.
  void assign_transposed(const pooled_lists& other) {
    lists_.resize(other.size());
    for (std::size_t b = 0; b < other.size(); ++b)
      for (const node_id a : other[b]) ++lists_[a].room;
    std::uint32_t begin = 0;
    for (list& l : lists_) {
      l.begin = begin;
      begin += l.room;
    }
    static_cast<void>(extended(begin));
    for (std::size_t b = 0; b < other.size(); ++b)
      for (const node_id a : other[b]) pool_[lists_[a].begin + lists_[a].size++] = static_cast<node_id>(b);
  }
  // Drops the last lists down to n. Their room comes back at once if it is the youngest, else when squeezed.
  void shrink(std::size_t n) noexcept {
    for (; lists_.size() > n; lists_.pop_back())
      if (is_last(lists_.back())) pool_.resize(lists_.back().begin);
      else holes_ += lists_.back().room;
  }

  // Makes room for `more` further ids in list i. Strong guarantee; what the lists hold does not change.
  void make_room(std::size_t i, std::size_t more) {
    const std::size_t need = lists_[i].size + more;
    if (need <= lists_[i].room) return;
    squeeze_if_worth_it();
    const std::size_t room = (std::max)(need, 2 * std::size_t{lists_[i].size});
    if (is_last(lists_[i])) {
      static_cast<void>(extended(room - lists_[i].room));
    } else {
      const std::uint32_t begin = extended(room);
      list& l = lists_[i];
      std::copy_n(pool_.data() + l.begin, l.size, pool_.data() + begin);
      holes_ += l.room;
      l.begin = begin;
    }
    lists_[i].room = static_cast<std::uint32_t>(room);
  }

  // Inserts in ascending order. Precondition: make_room(i, 1) succeeded.
  void insert(std::size_t i, node_id id) noexcept {
    list& l = lists_[i];
    node_id* const first = pool_.data() + l.begin;
    node_id* place = first + l.size++;
    for (; place != first && place[-1] > id; --place) *place = place[-1];
    *place = id;
  }

  // Replaces list i, which is empty, by the given ids. Precondition: they fit the room that make_room made.
  void assign(std::size_t i, std::span<const node_id> ids) noexcept {
    list& l = lists_[i];
    HOCKET_ASSERT(l.size == 0 && ids.size() <= l.room);
    node_id* const first = pool_.data() + l.begin;
    std::reverse_copy(ids.begin(), ids.end(), first);  // an index likes them to descend
    if (!std::is_sorted(first, first + ids.size())) std::sort(first, first + ids.size());
    l.size = static_cast<std::uint32_t>(ids.size());
  }

  void erase(std::size_t i, node_id id) noexcept {
    list& l = lists_[i];
    node_id* const first = pool_.data() + l.begin;
    node_id* const last = first + l.size;
    node_id* const at = std::lower_bound(first, last, id);
    HOCKET_ASSERT(at != last && *at == id);
    std::copy(at + 1, last, at);
    --l.size;
  }

  // For tests: do the invariants above hold? O(lists log lists).
  [[nodiscard]] bool check_invariants() const {
    std::vector<list> by_place;
    for (const list& l : lists_)
      if (l.room != 0) by_place.push_back(l);
    std::sort(by_place.begin(), by_place.end(), [](const list& x, const list& y) { return x.begin < y.begin; });
    std::size_t end = 0, total = holes_;
    for (const list& l : by_place) {
      const auto first = pool_.begin() + l.begin;
      if (l.size > l.room || l.begin < end) return false;
      end = std::size_t{l.begin} + l.room;
      total += l.room;
      if (end > pool_.size() || !std::is_sorted(first, first + l.size)) return false;
    }
    return total == pool_.size();
  }

 private:
  struct list {
    std::uint32_t begin = 0, size = 0, room = 0;
  };

  [[nodiscard]] bool is_last(const list& l) const noexcept { return std::size_t{l.begin} + l.room == pool_.size(); }

  // Adds so many ids to the pool; returns where they begin.
  [[nodiscard]] std::uint32_t extended(std::size_t more) {
    const std::size_t begin = pool_.size();
    // No more numbers is no more memory. Asking the resource that has none throws, whatever this is compiled with.
    if (begin + more > no_id) (void)std::pmr::null_memory_resource()->allocate(1);
    pool_.resize(begin + more);
    return static_cast<std::uint32_t>(begin);
  }

  void squeeze_if_worth_it() {
    if (holes_ <= 1024 || holes_ <= pool_.size() / 2) return;
    std::pmr::vector<node_id> packed(pool_.get_allocator());
    packed.reserve(pool_.size() - holes_);
    for (list& l : lists_) {
      if (l.room == 0) continue;
      const auto from = pool_.begin() + l.begin;
      l.begin = static_cast<std::uint32_t>(packed.size());
      packed.insert(packed.end(), from, from + l.room);
    }
    pool_ = std::move(packed);
    holes_ = 0;
  }

  std::pmr::vector<list> lists_;
  std::pmr::vector<node_id> pool_;
  std::size_t holes_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
