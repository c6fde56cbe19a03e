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

// Many short ascending lists of ids, each contiguous, 8 bytes each: two ids are kept in the list itself, which is
// enough for most ops of a program; more in one allocation for all. A full list moves to the end of that pool with
// twice the room; the holes are squeezed out when they outweigh the rest, so everything is amortised O(1).
class pooled_lists {
 public:
  explicit pooled_lists(std::pmr::memory_resource* memory) noexcept : lists_(memory), pool_(memory) {}

  [[nodiscard]] std::size_t size() const noexcept { return lists_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return lists_.capacity() * sizeof(list) + pool_.capacity() * sizeof(node_id);
  }
  [[nodiscard]] std::span<const node_id> operator[](std::size_t i) const noexcept {
    const list& l = lists_[i];
    if (!l.is_pooled()) return {l.ids, l.length()};
    const node_id* const block = pool_.data() + l.offset();
    return {block + header, block[0]};
  }
  void clear() noexcept {
    lists_.clear();
    pool_.clear();
    holes_ = 0;
  }
  void reserve(std::size_t lists) { lists_.reserve(lists); }

  // Adds a list of these ids, in ascending order. Strong guarantee.
  void add(std::span<const node_id> ids) {
    if (ids.size() > list::inside) {
      add_empty();
      add_to_pool(ids);
      return;
    }
    const node_id x = ids.empty() ? no_id : ids[0], y = ids.size() < 2 ? no_id : ids[1];
    lists_.push_back(list{{x < y ? x : y, x < y ? y : x}});
  }
  void add_empty() { lists_.push_back(none); }
  // Adds empty lists up to n.
  void resize(std::size_t n) { lists_.resize(n, none); }
  // Drops the last lists down to n; they must be empty.
  void shrink(std::size_t n) noexcept {
    while (lists_.size() > n) {
      const list& last = lists_.back();  // its room comes back at once if it is the youngest, else when squeezed
      if (last.is_pooled()) {
        if (last.offset() + block_size(last) == pool_.size()) pool_.resize(last.offset());
        else holes_ += block_size(last);
      }
      lists_.pop_back();
    }
  }

  // Makes room for `more` further ids in list i. Strong guarantee; what the lists hold does not change.
  void make_room(std::size_t i, std::size_t more) {
    const list& l = lists_[i];
    if (more == 1 && l.ids[1] == no_id) return;
    const std::size_t need = (*this)[i].size() + more;
    if (need > (l.is_pooled() ? block_size(l) - header : list::inside)) grow(i, need);
  }

  // Precondition: make_room(i, 1) succeeded; id is larger than what is there.
  void push_back(std::size_t i, node_id id) noexcept {
    list& l = lists_[i];
    if (l.ids[1] == no_id) {
      l.ids[l.ids[0] == no_id ? 0 : 1] = id;
      return;
    }
    node_id* const block = pool_.data() + l.offset();
    block[header + block[0]++] = id;
  }
  // Inserts in ascending order. Precondition: make_room(i, 1) succeeded.
  void insert(std::size_t i, node_id id) noexcept {
    push_back(i, id);
    const std::span<node_id> ids = list_of(i);
    for (std::size_t k = ids.size() - 1; k != 0 && ids[k - 1] > id; --k) std::swap(ids[k - 1], ids[k]);
  }

  // Replaces list i, which is empty, by the given ids. Precondition: they fit the room that make_room made.
  void assign(std::size_t i, std::span<const node_id> ids) noexcept {
    HOCKET_ASSERT((*this)[i].empty());
    bool descends = true;  // as an index likes them
    for (std::size_t k = ids.size(); k-- > 0;) {
      push_back(i, ids[k]);
      descends = descends && (k == 0 || ids[k - 1] > ids[k]);
    }
    if (descends) return;
    const std::span<node_id> mine = list_of(i);
    std::sort(mine.begin(), mine.end());
  }

  void erase(std::size_t i, node_id id) noexcept {
    const std::span<node_id> ids = list_of(i);
    const auto at = std::lower_bound(ids.begin(), ids.end(), id);
    HOCKET_ASSERT(at != ids.end() && *at == id);
    std::copy(at + 1, ids.end(), at);
    ids.back() = no_id;
    if (const list& l = lists_[i]; l.is_pooled()) --pool_[l.offset()];
  }

 private:
  static constexpr std::size_t header = 2;  // of a block of the pool: how many ids it holds, and could hold
  struct list {
    static constexpr node_id inside = 2;
    node_id ids[inside];  // the ids and no_id; if pooled: no_id and half of the offset of the block

    [[nodiscard]] bool is_pooled() const noexcept { return ids[0] == no_id && ids[1] != no_id; }
    [[nodiscard]] std::size_t length() const noexcept {
      return (ids[0] != no_id ? 1u : 0u) + (ids[1] != no_id ? 1u : 0u);
    }
    [[nodiscard]] std::size_t offset() const noexcept { return std::size_t{ids[1]} * 2; }
  };

  static constexpr list none{{no_id, no_id}};

  [[nodiscard]] std::span<node_id> list_of(std::size_t i) noexcept {
    list& l = lists_[i];
    if (!l.is_pooled()) return {l.ids, l.length()};
    node_id* const block = pool_.data() + l.offset();
    return {block + header, block[0]};
  }
  [[nodiscard]] std::size_t block_size(const list& l) const noexcept { return header + pool_[l.offset() + 1]; }

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
    const std::size_t twice = (std::min)((*this)[i].size() * 2, std::size_t{no_id - 1});
    const std::size_t room = ((need > twice ? need : twice) + 1) / 2 * 2;  // so that every offset is even
    list& l = lists_[i];
    if (l.is_pooled() && l.offset() + block_size(l) == pool_.size()) {  // last: grow where it is
      pool_.resize(l.offset() + header + room);
    } else {
      const std::size_t offset = pool_.size();
      // No more numbers is no more memory. Asking the resource that has none throws, whatever this is compiled with.
      if (offset / 2 >= no_id) (void)std::pmr::null_memory_resource()->allocate(1);
      pool_.resize(offset + header + room);
      const std::span<const node_id> ids = (*this)[i];
      pool_[offset] = static_cast<node_id>(ids.size());
      std::copy(ids.begin(), ids.end(), pool_.begin() + static_cast<std::ptrdiff_t>(offset + header));
      if (l.is_pooled()) holes_ += block_size(l);
      l.ids[0] = no_id;
      l.ids[1] = static_cast<node_id>(offset / 2);
    }
    pool_[l.offset() + 1] = static_cast<node_id>(room);
  }

  void squeeze() {
    std::pmr::vector<node_id> packed(pool_.get_allocator());
    std::size_t total = 0;
    for (const list& l : lists_) total += l.is_pooled() ? block_size(l) : 0;
    packed.reserve(total);
    for (list& l : lists_) {
      if (!l.is_pooled()) continue;
      const node_id* const from = pool_.data() + l.offset();
      const std::size_t size = block_size(l);
      l.ids[1] = static_cast<node_id>(packed.size() / 2);
      packed.insert(packed.end(), from, from + size);
    }
    pool_ = std::move(packed);
    holes_ = 0;
  }

  std::pmr::vector<list> lists_;
  std::pmr::vector<node_id> pool_;
  std::size_t holes_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
