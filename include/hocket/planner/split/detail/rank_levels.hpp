// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/split/detail/level_front.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// The levels for what a rank holds.
struct rank_answer {
  ticks extra = never;              ///< never: nothing fits
  std::vector<level_point> points;  ///< by chunk: the chosen point of the segment's front
};

/// Chooses the levels of one rank: little extra time such that it fits at each of its maximal counts. One chunk is a
/// look into the front; two are exact: to each point of one the cheapest of the other. More chunks are taken two at a
/// time while the others stay, from the leanest levels on, until no pair finds better.
class rank_levels {
 public:
  rank_levels(const split_numbers& q, segment_fronts& fronts) : q_(q), fronts_(fronts) {}

  /// Bytes of the rank that do not depend on the levels, and those at its fullest time if every layer is lean.
  [[nodiscard]] std::int64_t constant(std::uint32_t rank, std::span<const segment> parts) const {
    std::int64_t bytes = q_.ranks[rank].fixed;
    for (const segment& s : parts) bytes += fronts_.weights(s.begin, s.end);
    return bytes;
  }
  [[nodiscard]] std::int64_t leanest_bytes(std::uint32_t rank, std::span<const segment> parts) const {
    return constant(rank, parts) +
           fullest(rank, [&](std::size_t c) { return fronts_.leanest(parts[c].begin, parts[c].end); });
  }
  [[nodiscard]] ticks base_time(std::uint32_t rank, std::span<const segment> parts) const {
    ticks time = q_.ranks[rank].time;
    for (const segment& s : parts) time += fronts_.time(s.begin, s.end);
    return time;
  }
  /// The bytes that a rank holds at its fullest time if its chunks keep so many of a micro-batch.
  template <class BytesOf>
  [[nodiscard]] std::int64_t fullest(std::uint32_t rank, const BytesOf& bytes_of_chunk) const {
    std::int64_t most = 0;
    for (std::uint32_t k = 0; k < q_.in_flight.times(rank); ++k) {
      const auto held = q_.in_flight.at(rank, k);
      std::int64_t bytes = 0;
      for (std::size_t c = 0; c < held.size(); ++c) bytes += held[c] * bytes_of_chunk(c);
      most = (std::max)(most, bytes);
    }
    return most;
  }

  /// @return exact for one and two chunks, and wherever all layers can run at their quickest
  [[nodiscard]] rank_answer operator()(std::uint32_t rank, std::span<const segment> parts) {
    rank_answer best;
    const std::int64_t left = q_.ranks[rank].capacity - constant(rank, parts);
    const auto quickest = [&](std::size_t c) { return fronts_.quickest(parts[c].begin, parts[c].end); };
    if (left < 0 || leanest_bytes(rank, parts) > q_.ranks[rank].capacity) return best;
    best.extra = 0;
    best.points.resize(parts.size());
    if (fullest(rank, [&](std::size_t c) { return quickest(c).bytes; }) <= left) {
      for (std::size_t c = 0; c < parts.size(); ++c) best.points[c] = quickest(c);
    } else {
      list_counts(rank);
      chunk_fronts_.clear();
      for (const segment& s : parts) chunk_fronts_.push_back(&fronts_.of(s.begin, s.end));
      choose(best.points, left);
    }
    for (const level_point& x : best.points) best.extra += x.extra;
    return best;
  }
  /// Gives one chunk the least extra time that fits while the others stay at their points. False if nothing fits.
  [[nodiscard]] bool fit_chunk(std::uint32_t rank, std::span<const segment> parts, std::vector<level_point>& points,
                               std::size_t chunk) {
    list_counts(rank);
    room_.assign(held_.size(), q_.ranks[rank].capacity - constant(rank, parts));
    for (std::size_t c = 0; c < points.size(); ++c)
      if (c != chunk) take(c, points[c]);
    const level_point* const found = cheapest(fronts_.of(parts[chunk].begin, parts[chunk].end), most_of(chunk));
    if (found == nullptr || *std::min_element(room_.begin(), room_.end()) < 0) return false;
    points[chunk] = *found;
    return true;
  }

 private:
  void list_counts(std::uint32_t rank) {
    if (rank == rank_ && !held_.empty()) return;
    rank_ = rank;
    held_ = counts_of(q_.in_flight, rank);
  }
  void choose(std::vector<level_point>& points, std::int64_t left) {
    room_.assign(held_.size(), left);
    for (std::size_t c = 0; c < points.size(); ++c) take(c, points[c] = chunk_fronts_[c]->back());
    if (points.size() == 1) {
      give_back(0, points[0]);
      points[0] = *cheapest(*chunk_fronts_[0], most_of(0));
      return;
    }
    for (bool better = true; better;) {
      better = false;
      for (std::size_t one = 0; one < points.size(); ++one)
        for (std::size_t other = one + 1; other < points.size(); ++other)
          better = improve_pair(points, one, other) || better;
    }
  }
  void take(std::size_t c, const level_point& x) {
    for (std::size_t k = 0; k < held_.size(); ++k) room_[k] -= held_[k][c] * x.bytes;
  }
  void give_back(std::size_t c, const level_point& x) {
    for (std::size_t k = 0; k < held_.size(); ++k) room_[k] += held_[k][c] * x.bytes;
  }
  /// Bytes that chunk c may keep in the room that is left.
  [[nodiscard]] std::int64_t most_of(std::size_t c) const {
    std::int64_t most = never;
    for (std::size_t k = 0; k < held_.size(); ++k)
      if (held_[k][c] > 0) most = (std::min)(most, room_[k] / held_[k][c]);
    return most;
  }
  /// The best points of two chunks while the others stay: as one takes longer, the other may take less long.
  bool improve_pair(std::vector<level_point>& points, std::size_t one, std::size_t other) {
    give_back(one, points[one]);
    give_back(other, points[other]);
    const level_front& front = *chunk_fronts_[one];
    const level_front& second = *chunk_fronts_[other];
    const ticks before = points[one].extra + points[other].extra;
    ticks least = before;
    const auto fits = [&](const level_point& x, const level_point& y) {
      for (std::size_t k = 0; k < held_.size(); ++k)
        if (held_[k][one] * x.bytes + held_[k][other] * y.bytes > room_[k]) return false;
      return true;
    };
    std::size_t at = second.size() - 1;
    for (const level_point& x : front) {
      if (x.extra + second.front().extra >= least) break;
      if (!fits(x, second[at])) continue;
      while (at > 0 && fits(x, second[at - 1])) --at;
      if (x.extra + second[at].extra >= least) continue;
      least = x.extra + second[at].extra;
      points[one] = x;
      points[other] = second[at];
    }
    take(one, points[one]);
    take(other, points[other]);
    return least < before;
  }

  const split_numbers& q_;
  segment_fronts& fronts_;
  std::uint32_t rank_ = 0;
  std::vector<std::vector<std::int64_t>> held_;  // of that rank, by count and chunk
  std::vector<const level_front*> chunk_fronts_;
  std::vector<std::int64_t> room_;  // by count: bytes that are left
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
