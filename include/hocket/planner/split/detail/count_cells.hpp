// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Lists of so many counts, numbered in the order in which they were first asked for.
class count_cells {
 public:
  void clear(std::size_t width) {
    width_ = width, size_ = 0;
    counts_.clear(), slots_.assign((std::max)(slots_.size(), std::size_t{1024}), 0);
  }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] const std::uint32_t* counts(std::uint32_t cell) const noexcept {
    return counts_.data() + std::size_t{cell} * width_;
  }
  [[nodiscard]] std::uint32_t at(const std::vector<std::uint32_t>& counts) {
    std::uint32_t& slot = slots_[find(counts.data())];
    if (slot != 0) return slot - 1;
    counts_.insert(counts_.end(), counts.begin(), counts.end());
    slot = ++size_;
    if (2 * std::size_t{size_} > slots_.size()) {
      slots_.assign(2 * slots_.size(), 0);
      for (std::uint32_t i = 0; i < size_; ++i) slots_[find(this->counts(i))] = i + 1;
    }
    return size_ - 1;
  }

 private:
  [[nodiscard]] std::size_t find(const std::uint32_t* counts) const noexcept {
    std::uint64_t hash = 0x9e3779b97f4a7c15u;
    for (std::size_t i = 0; i < width_; ++i) hash = (hash ^ counts[i]) * 0x100000001b3u;
    hash ^= hash >> 29;
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at] != 0 && !std::equal(counts, counts + width_, this->counts(slots_[at] - 1)))
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  std::size_t width_ = 0;
  std::uint32_t size_ = 0;
  std::vector<std::uint32_t> counts_, slots_;  // slots: a cell's number and one more, or 0
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
