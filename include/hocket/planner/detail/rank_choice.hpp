// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/detail/level_front.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

inline constexpr std::int64_t never = (std::numeric_limits<std::int64_t>::max)() / 4;

/// A piece of the model on one chunk of a rank.
struct segment {
  std::int64_t begin = 0, end = 0;
};

/// The best levels for what a rank holds.
struct rank_answer {
  ticks extra = never;        ///< never: nothing fits
  std::vector<level> points;  ///< by chunk: the chosen point of the segment's front
};

/// Chooses the levels of one rank: least extra time such that it fits at each of its maximal counts. One chunk: a look
/// into the front. More: depth first over the chunks' fronts, cheapest first, cut by what is needed at the least.
class rank_choice {
 public:
  rank_choice(const split_problem& q, segment_fronts& fronts, std::int64_t& expansions)
      : q_(q), fronts_(fronts), expansions_(expansions) {}

  /// Bytes of the rank that do not depend on the levels, and those at its fullest time if every layer is lean.
  [[nodiscard]] std::int64_t leanest_bytes(std::uint32_t rank, std::span<const segment> parts) const {
    std::int64_t most = 0;
    for (std::uint32_t k = 0; k < q_.in_flight.times(rank); ++k) {
      const auto held = q_.in_flight.at(rank, k);
      std::int64_t bytes = 0;
      for (std::size_t c = 0; c < parts.size(); ++c) bytes += held[c] * fronts_.leanest(parts[c].begin, parts[c].end);
      most = bytes > most ? bytes : most;
    }
    return constant(rank, parts) + most;
  }
  /// Whether no layer need compute anything again.
  [[nodiscard]] bool fits_at_its_quickest(std::uint32_t rank, std::span<const segment> parts) const {
    const std::int64_t left = q_.ranks[rank].capacity - constant(rank, parts);
    for (std::uint32_t k = 0; k < q_.in_flight.times(rank); ++k) {
      const auto held = q_.in_flight.at(rank, k);
      std::int64_t bytes = 0;
      for (std::size_t c = 0; c < parts.size(); ++c)
        bytes += held[c] * fronts_.quickest(parts[c].begin, parts[c].end).bytes;
      if (bytes > left) return false;
    }
    return left >= 0;
  }
  [[nodiscard]] std::int64_t constant(std::uint32_t rank, std::span<const segment> parts) const {
    std::int64_t bytes = q_.ranks[rank].fixed;
    for (const segment& s : parts) bytes += fronts_.weights(s.begin, s.end);
    return bytes;
  }
  [[nodiscard]] ticks base_time(std::uint32_t rank, std::span<const segment> parts) const {
    ticks time = q_.ranks[rank].time;
    for (const segment& s : parts) time += fronts_.time(s.begin, s.end);
    return time;
  }

  /// Whether the budget is used up: answers are then possible ones, not the best.
  [[nodiscard]] bool exhausted() const noexcept { return expansions_ > q_.budget; }

  /// @param below  only answers with less extra time are wanted
  [[nodiscard]] rank_answer operator()(std::uint32_t rank, std::span<const segment> parts, ticks below = never) {
    rank_answer best;
    const std::int64_t left = q_.ranks[rank].capacity - constant(rank, parts);
    if (left < 0) return best;
    if (fits_at_its_quickest(rank, parts)) {
      ticks extra = 0;
      for (const segment& s : parts) extra += fronts_.quickest(s.begin, s.end).extra;
      if (extra >= below) return best;
      best.extra = extra;
      for (const segment& s : parts) best.points.push_back(fronts_.quickest(s.begin, s.end));
      return best;
    }
    const std::uint32_t times = q_.in_flight.times(rank);
    if (parts.size() == 1) {
      std::int64_t allowed = never;
      for (std::uint32_t k = 0; k < times; ++k) {
        const std::uint32_t held = q_.in_flight.at(rank, k)[0];
        if (held > 0) allowed = left / held < allowed ? left / held : allowed;
      }
      const level* x = cheapest(fronts_.of(parts[0].begin, parts[0].end), allowed);
      if (x != nullptr && x->extra < below) best.extra = x->extra, best.points = {*x};
      return best;
    }
    if (leanest_bytes(rank, parts) > q_.ranks[rank].capacity) return best;
    parts_ = parts, rank_ = rank, best_ = rank_answer{}, best_.extra = below;
    chosen_.assign(parts.size(), level{});
    left_.assign(times, left);
    lean_.assign(times, 0);
    for (std::uint32_t k = 0; k < times; ++k)
      for (std::size_t c = 0; c < parts.size(); ++c)
        lean_[k] += q_.in_flight.at(rank, k)[c] * fronts_.leanest(parts[c].begin, parts[c].end);
    descend(0, 0);
    if (best_.points.empty()) best_.extra = never;
    return best_;
  }

 private:
  void descend(std::size_t c, ticks extra) {
    if (c == parts_.size()) {
      best_.extra = extra, best_.points.assign(chosen_.begin(), chosen_.end());
      return;
    }
    // Beyond the budget the first way down, which never fails for want of memory, is the answer.
    if (++expansions_ > q_.budget && !best_.points.empty()) return;
    const std::uint32_t times = q_.in_flight.times(rank_);
    const level_front& front = fronts_.of(parts_[c].begin, parts_[c].end);
    std::int64_t allowed = never;
    for (std::uint32_t k = 0; k < times; ++k) {
      const std::uint32_t held = q_.in_flight.at(rank_, k)[c];
      lean_[k] -= held * front.back().bytes;
      if (held > 0) allowed = (std::min)(allowed, (left_[k] - lean_[k]) / held);
    }
    const level* at = cheapest(front, allowed);
    for (; at != nullptr && at != front.data() + front.size() && extra + at->extra < best_.extra; ++at) {
      for (std::uint32_t k = 0; k < times; ++k) left_[k] -= q_.in_flight.at(rank_, k)[c] * at->bytes;
      chosen_[c] = *at;
      descend(c + 1, extra + at->extra);
      for (std::uint32_t k = 0; k < times; ++k) left_[k] += q_.in_flight.at(rank_, k)[c] * at->bytes;
    }
    for (std::uint32_t k = 0; k < times; ++k) lean_[k] += q_.in_flight.at(rank_, k)[c] * front.back().bytes;
  }

  const split_problem& q_;
  segment_fronts& fronts_;
  std::int64_t& expansions_;
  std::span<const segment> parts_;
  std::uint32_t rank_ = 0;
  rank_answer best_;
  std::vector<level> chosen_;
  std::vector<std::int64_t> left_, lean_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
