// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// The micro-batches that one rank holds of each chunk as its list goes on, and the maximal ones of these counts. While
/// forwards of one chunk and backwards of another alternate, the peaks lie on a line, and only its ends are kept:
///
///     chunk 1 |  . o        o: kept, at the ends of a line;  x: between them;  .: below a kept count
///             |    . x
///             |      . o
///             +---------- chunk 0
class held_walk {
 public:
  static constexpr std::uint32_t max_counts = 4096;  // on one rank; schedules have some 2 v

  explicit held_walk(std::uint32_t chunks) : now_(chunks) {}

  void forward(std::uint32_t chunk) {
    ++now_[chunk];
    rising_ = true;
  }
  /// False, also in end(), if there are too many maximal counts.
  [[nodiscard]] bool release(std::uint32_t chunk) {
    const bool fine = !rising_ || add_peak();
    if (now_[chunk] > 0) --now_[chunk];
    return fine;
  }
  [[nodiscard]] bool end() { return (!rising_ || add_peak()) && (last_.empty() || keep(last_)); }

  /// The maximal counts, chunk by chunk, one after the other.
  [[nodiscard]] const std::vector<std::uint32_t>& maximal() const noexcept { return maximal_; }

 private:
  using counts = std::vector<std::uint32_t>;

  /// The counts have reached a peak. The one before it is kept unless it lies halfway from its own predecessor.
  bool add_peak() {
    rising_ = false;
    bool halfway = !before_.empty();
    for (std::size_t c = 0; halfway && c < now_.size(); ++c) halfway = before_[c] + now_[c] == 2 * last_[c];
    if (!halfway && !last_.empty() && !keep(last_)) return false;
    before_.swap(last_);
    last_ = now_;
    return true;
  }
  /// Adds counts unless others are no smaller, and drops those that are then below them.
  bool keep(const counts& peak) {
    const std::size_t chunks = peak.size();
    const auto covers = [chunks](const std::uint32_t* some, const std::uint32_t* other) {
      return std::equal(some, some + chunks, other, [](std::uint32_t x, std::uint32_t y) { return x >= y; });
    };
    std::size_t kept = 0;
    for (std::size_t i = 0; i < maximal_.size(); i += chunks) {
      if (covers(&maximal_[i], peak.data())) return true;
      if (covers(peak.data(), &maximal_[i])) continue;
      std::copy_n(&maximal_[i], chunks, &maximal_[kept]);
      kept += chunks;
    }
    maximal_.resize(kept);
    maximal_.insert(maximal_.end(), peak.begin(), peak.end());
    return maximal_.size() / chunks <= max_counts;
  }

  counts now_, last_, before_;  // the counts; at the last peak; at the one before it
  bool rising_ = false;         // since the last peak
  counts maximal_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
