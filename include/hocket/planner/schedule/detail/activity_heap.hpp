// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/config.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Which variable a search decides on next: the one that had most to do with conflicts, the latest counting most
/// (VSIDS; M. Moskewicz et al., Chaff, DAC 2001). A binary heap; of equal ones the first comes first.
class activity_heap {
 public:
  /// The next variable, in the heap or not.
  void add(bool in_heap) {
    const auto x = static_cast<std::uint32_t>(activity_.size());
    activity_.push_back(0), where_.push_back(in_heap ? away : never);
    insert(x);
  }
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] std::uint32_t top() const noexcept { return heap_[0]; }
  void pop() {
    const std::uint32_t last = heap_.back();
    where_[heap_[0]] = away, heap_.pop_back();
    if (!heap_.empty()) put(0, last), down();
  }
  /// Puts it back if it was popped.
  void insert(std::uint32_t x) {
    if (where_[x] != away) return;
    heap_.push_back(x), put(static_cast<std::uint32_t>(heap_.size() - 1), x);
    up(where_[x]);
  }
  void bump(std::uint32_t x) {
    activity_[x] += growth_;
    if (where_[x] < heap_.size()) up(where_[x]);
  }
  /// After a conflict: earlier ones count less.
  void decay() {
    growth_ /= 0.95;
    if (growth_ < 1e100) return;
    for (double& a : activity_) a *= 1e-100;
    growth_ *= 1e-100;
  }

 private:
  static constexpr std::uint32_t away = ~std::uint32_t{0}, never = away - 1;
  [[nodiscard]] bool before(std::uint32_t x, std::uint32_t y) const noexcept {
    return activity_[x] > activity_[y] || (!(activity_[y] > activity_[x]) && x < y);
  }
  void put(std::uint32_t at, std::uint32_t x) noexcept { heap_[at] = x, where_[x] = at; }
  void up(std::uint32_t at) {
    const std::uint32_t x = heap_[at];
    for (; at > 0 && before(x, heap_[(at - 1) / 2]); at = (at - 1) / 2) put(at, heap_[(at - 1) / 2]);
    put(at, x);
  }
  void down() {
    std::uint32_t at = 0;
    const std::uint32_t x = heap_[0];
    for (std::uint32_t c = 1; c < heap_.size(); c = 2 * at + 1) {
      if (c + 1 < heap_.size() && before(heap_[c + 1], heap_[c])) ++c;
      if (!before(heap_[c], x)) break;
      put(at, heap_[c]), at = c;
    }
    put(at, x);
  }

  std::vector<double> activity_;
  std::vector<std::uint32_t> where_, heap_;
  double growth_ = 1;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
