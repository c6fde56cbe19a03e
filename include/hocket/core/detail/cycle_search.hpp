// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <cstddef>
#include <cstdint>

namespace hocket::inline HOCKET_ABI::detail {

/// Finds the shortest cycle among things that wait for each other: breadth first from each, given up beyond what is
/// found already. After max_steps the shortest so far will do.
/// @param links  links[first[x]] … links[first[x + 1] - 1] are what x waits for
/// @tparam Numbers  a vector of std::uint32_t, whose allocator this uses, too
/// @param holder_of  holder_of(link) numbers the thing that holds it
template <class Numbers, class Links, class HolderOf>
class cycle_search {
 public:
  using numbers = Numbers;

  constexpr cycle_search(const Links& all_links, const numbers& firsts, const HolderOf& of_holder)
      : links_(all_links),
        first_(firsts),
        holder_of_(of_holder),
        from_(firsts.size() - 1, 0, firsts.get_allocator()),
        by_(firsts.size() - 1, 0, firsts.get_allocator()),
        depth_(firsts.size() - 1, 0, firsts.get_allocator()),
        seen_(firsts.size() - 1, 0, firsts.get_allocator()),
        queue_(firsts.get_allocator()),
        best_(firsts.get_allocator()) {}

  /// Indices of the links of the cycle, in order; empty if there is none.
  constexpr const numbers& operator()() {
    const auto count = static_cast<std::uint32_t>(first_.size() - 1);
    for (std::uint32_t root = 0; root < count && length_ > 1 && steps_ > 0; ++root) search_from(root);
    return best_;
  }

 private:
  static constexpr std::uint64_t max_steps = std::uint64_t{1} << 26;

  constexpr void search_from(std::uint32_t root) {
    queue_.clear();
    queue_.push_back(root);
    seen_[root] = root + 1;
    depth_[root] = 0;
    for (std::size_t i = 0; i < queue_.size() && steps_ > 0; ++i, --steps_) {
      const std::uint32_t x = queue_[i];
      if (depth_[x] + 1 >= length_) return;
      for (std::uint32_t k = first_[x]; k < first_[x + 1]; ++k) {
        const std::uint32_t y = holder_of_(links_[k]);
        if (y == root) return keep(root, x, k);
        if (seen_[y] == root + 1) continue;
        seen_[y] = root + 1;
        depth_[y] = depth_[x] + 1;
        from_[y] = x;
        by_[y] = k;
        queue_.push_back(y);
      }
    }
  }
  constexpr void keep(std::uint32_t root, std::uint32_t last, std::uint32_t link) {
    length_ = depth_[last] + 1;
    best_.assign(length_, link);
    for (std::uint32_t x = last, at = length_ - 1; x != root; x = from_[x]) best_[--at] = by_[x];
  }

  const Links& links_;
  const numbers& first_;
  const HolderOf& holder_of_;
  numbers from_, by_, depth_, seen_;  // for each thing: by which thing and link it was reached, how far, for which root
  numbers queue_, best_;
  std::uint64_t steps_ = max_steps;
  std::uint32_t length_ = ~std::uint32_t{0};
};

}  // namespace hocket::inline HOCKET_ABI::detail
