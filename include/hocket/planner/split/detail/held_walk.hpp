// SPDX-License-Identifier: Apache-2.0
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
  static constexpr std::uint32_t most_counts = 4096;  // on one rank; schedules have some 2 v

  explicit held_walk(std::uint32_t chunks) : now_(chunks), peak_(chunks) {}

  /// False, here and in the next two, if there are too many maximal counts.
  [[nodiscard]] bool forward(std::uint32_t chunk) {
    ++now_[chunk];
    ++taken_;
    last_taken_ = chunk;
    rising_ = true;
    return true;
  }
  [[nodiscard]] bool release(std::uint32_t chunk) {
    if (rising_ && !end_peak()) return false;
    if (now_[chunk] > 0) --now_[chunk];
    ++released_;
    last_released_ = chunk;
    return true;
  }
  [[nodiscard]] bool end() { return (!rising_ || end_peak()) && (!has_peak_ || keep(peak_)); }

  /// The maximal counts, chunk by chunk, one after the other.
  [[nodiscard]] const std::vector<std::uint32_t>& maximal() const noexcept { return maximal_; }

 private:
  /// The counts have just reached a peak. The one before is kept unless it lies on the line from its own predecessor.
  bool end_peak() {
    const bool one_each = taken_ == 1 && released_ == 1;
    const bool on_line =
        has_peak_ && one_each && along_ && last_taken_ == line_taken_ && last_released_ == line_released_;
    if (has_peak_ && !on_line && !keep(peak_)) return false;
    along_ = one_each;
    line_taken_ = last_taken_;
    line_released_ = last_released_;
    taken_ = 0;
    released_ = 0;
    rising_ = false;
    has_peak_ = true;
    peak_ = now_;
    return true;
  }
  /// Adds counts, and drops what is then below others. The search begins behind the last one found: lists repeat.
  bool keep(const std::vector<std::uint32_t>& counts) {
    const std::size_t chunks = counts.size();
    const std::size_t size = maximal_.size() / chunks;
    const auto covers = [chunks](const std::uint32_t* some, const std::uint32_t* other) {
      for (std::size_t c = 0; c < chunks; ++c)
        if (some[c] < other[c]) return false;
      return true;
    };
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t at = (next_ + i) % size;
      if (!covers(&maximal_[at * chunks], counts.data())) continue;
      next_ = at + 1;
      return true;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < maximal_.size(); i += chunks) {
      if (covers(counts.data(), &maximal_[i])) continue;
      std::copy_n(maximal_.begin() + static_cast<std::ptrdiff_t>(i), chunks,
                  maximal_.begin() + static_cast<std::ptrdiff_t>(kept));
      kept += chunks;
    }
    maximal_.resize(kept);
    maximal_.insert(maximal_.end(), counts.begin(), counts.end());
    next_ = 0;
    return maximal_.size() / chunks <= most_counts;
  }

  std::vector<std::uint32_t> now_, peak_, maximal_;
  bool rising_ = false;                     // since the last peak
  bool has_peak_ = false;                   // one that is not kept yet
  bool along_ = false;                      // the last peak came by one forward and one release
  std::uint32_t taken_ = 0, released_ = 0;  // since the last peak
  std::uint32_t last_taken_ = 0, last_released_ = 0;
  std::uint32_t line_taken_ = 0, line_released_ = 0;
  std::size_t next_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
