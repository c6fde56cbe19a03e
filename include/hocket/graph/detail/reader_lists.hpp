// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>
#include <hocket/core/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// Lists of ops, the latest first, in one pool. A list is the number of its first entry; no_id: an empty one.
class reader_lists {
 public:
  explicit reader_lists(std::pmr::memory_resource* memory) : entries_(memory) {}

  // The list with the op before the others, if it is not the first already. O(1).
  [[nodiscard]] std::uint32_t push(std::uint32_t list, node_id op) {
    if (list != no_id && entries_[list].op == op) return list;
    std::uint32_t made = free_;
    if (made == no_id) {
      HOCKET_ASSERT(entries_.size() < no_id);
      made = static_cast<std::uint32_t>(entries_.size());
      entries_.push_back({});
    } else {
      free_ = entries_[made].next;
    }
    entries_[made] = {op, list};
    return made;
  }
  // f(op) for each op of a list; f may push to others.
  template <class F>
  void for_each(std::uint32_t list, F&& f) const {
    while (list != no_id) {
      const entry e = entries_[list];
      f(e.op);
      list = e.next;
    }
  }
  // Gives a list back.
  void release(std::uint32_t list) noexcept {
    while (list != no_id) {
      const std::uint32_t next = std::exchange(entries_[list].next, free_);
      free_ = std::exchange(list, next);
    }
  }

 private:
  struct entry {
    node_id op;
    std::uint32_t next;
  };
  std::pmr::vector<entry> entries_;
  std::uint32_t free_ = no_id;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
