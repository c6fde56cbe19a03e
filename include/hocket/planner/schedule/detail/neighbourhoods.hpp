// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/detail/random_numbers.hpp>
#include <hocket/planner/schedule/detail/list_scheduler.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Parts of a schedule for a search of large neighbourhoods (P. Shaw, Using constraint programming and local search
/// methods to solve vehicle routing problems, 1998): by turns of chance, what starts around some time on all ranks, the
/// same on up to three ranks in a row, or micro-batches in a row.
class neighbourhoods {
 public:
  explicit neighbourhoods(const search_input& in) : in_(in) {}

  /// @param starts  of a schedule, by letter and micro-batch
  /// @param size    about so many actions
  /// @return        1 for those that are in it
  [[nodiscard]] std::vector<char> operator()(const std::vector<ticks>& starts, std::uint32_t size) {
    const std::uint32_t m = in_.micro_batches, all = static_cast<std::uint32_t>(starts.size()), kind = random_.below(3);
    std::vector<char> out(all, 0);
    if (kind == 2) {
      const std::uint32_t first = random_.below(m), many = (std::max)(1u, size / (all / m));
      for (std::uint32_t x = 0; x < all; ++x) out[x] = x % m - first < many ? 1 : 0;
      return out;
    }
    const std::uint32_t ranks = kind == 0 ? in_.ranks : 1 + random_.below((std::min)(in_.ranks, 3u));
    const std::uint32_t from = random_.below(in_.ranks - ranks + 1);
    const ticks around = starts[random_.below(all)];
    near_.clear();
    for (std::uint32_t x = 0; x < all; ++x)
      if (in_.rank_of_letter(x / m) - from < ranks)
        near_.push_back({starts[x] > around ? starts[x] - around : around - starts[x], x});
    const auto end = near_.begin() + static_cast<std::ptrdiff_t>((std::min)(near_.size(), std::size_t{size}));
    std::nth_element(near_.begin(), end == near_.end() ? end - 1 : end, near_.end());
    for (auto i = near_.begin(); i != end; ++i) out[i->second] = 1;
    return out;
  }

 private:
  const search_input& in_;
  std::vector<std::pair<ticks, std::uint32_t>> near_;  // how far from the time; which
  random_numbers random_{0xa4093822299f31d0u};
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
