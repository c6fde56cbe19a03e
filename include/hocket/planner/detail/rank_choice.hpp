// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/detail/count_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

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
/// into the front. Two: to each point of one the cheapest of the other. More: depth first over the chunks' fronts, with
/// a price on bytes (of the counts weighed by even_weights, at the slope of some layer's levels at which the cheapest
/// points just fit). Points are tried by extra time and price together; what the cheapest of the chunks that follow
/// take at that price, less the worth of the bytes left, is a bound.
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
    key_.assign(1, rank);
    for (const segment& s : parts) key_.push_back(fronts_.piece(s.begin, s.end));
    auto& known = known_[key_];
    ++expansions_;
    if (known.extra != never) return known.extra < below ? known : best;
    if (below <= known.refuted) return best;
    parts_ = parts, rank_ = rank, best_ = rank_answer{}, best_.extra = below;
    if (parts.size() == 2) {
      look_up_pairs(left);
    } else {
      search(left);
    }
    if (best_.points.empty()) best_.extra = never;
    if (exhausted()) return best_;
    known.refuted = below;
    if (!best_.points.empty()) static_cast<rank_answer&>(known) = best_;
    return best_;
  }

 private:
  /// Two chunks: to each point of one front the cheapest of the other that fits, both fronts passed once.
  void look_up_pairs(std::int64_t left) {
    const level_front& one = fronts_.of(parts_[0].begin, parts_[0].end);
    const level_front& other = fronts_.of(parts_[1].begin, parts_[1].end);
    std::size_t at = other.size() - 1;
    for (const level& x : one) {
      if (x.extra + other.front().extra >= best_.extra) return;
      ++expansions_;
      const auto fits = [&](std::size_t y) {
        for (std::uint32_t k = 0; k < q_.in_flight.times(rank_); ++k) {
          const auto held = q_.in_flight.at(rank_, k);
          if (held[0] * x.bytes + held[1] * other[y].bytes > left) return false;
        }
        return true;
      };
      if (!fits(at)) continue;
      while (at > 0 && fits(at - 1)) --at;
      if (x.extra + other[at].extra < best_.extra) best_ = {x.extra + other[at].extra, {x, other[at]}};
    }
  }
  void search(std::int64_t left) {
    const std::uint32_t times = q_.in_flight.times(rank_);
    chosen_.assign(parts_.size(), level{});
    left_.assign(times, left);
    lean_.assign(times, 0);
    for (std::uint32_t k = 0; k < times; ++k)
      for (std::size_t c = 0; c < parts_.size(); ++c)
        lean_[k] += q_.in_flight.at(rank_, k)[c] * fronts_.leanest(parts_[c].begin, parts_[c].end);
    set_price(left);
    descend(0, 0);
  }
  /// The weights of a rank's maximal counts, and those of the chunks that follow from them.
  struct scales {
    std::vector<std::int64_t> counts, chunks;
    std::int64_t least = 1;
  };
  [[nodiscard]] const scales& scales_of(std::uint32_t rank) {
    scales_.resize(q_.ranks.size());
    scales& x = scales_[rank];
    if (!x.counts.empty()) return x;
    std::vector<std::vector<std::int64_t>> held;
    for (std::uint32_t k = 0; k < q_.in_flight.times(rank); ++k) {
      const auto at = q_.in_flight.at(rank, k);
      held.emplace_back(at.begin(), at.end());
    }
    x.counts = even_weights(held, 0);
    x.chunks.assign(held.front().size(), 0);
    for (std::size_t k = 0; k < held.size(); ++k)
      for (std::size_t c = 0; c < x.chunks.size(); ++c) x.chunks[c] += x.counts[k] * held[k][c];
    x.least = (std::max)(std::int64_t{1}, *std::min_element(x.chunks.begin(), x.chunks.end()));
    return x;
  }
  [[nodiscard]] wide priced(std::size_t c, const level& x) const {
    return unit_ * x.extra + byte_ * scales_[rank_].chunks[c] * x.bytes;
  }
  /// Chooses the price: the lowest of the slopes at which what is then cheapest fits, if none does the highest.
  void set_price(std::int64_t left) {
    const scales& own = scales_of(rank_);
    wide room = 0;
    for (const std::int64_t x : own.counts) room += wide{x} * left;
    const auto& slopes = fronts_.slopes();
    const auto weigh_at = [&](std::size_t at) {
      unit_ = wide{slopes[at].bytes} * own.least, byte_ = slopes[at].extra;
      wide used = 0;
      for (std::size_t c = 0; c < parts_.size(); ++c) {
        const level_front& front = fronts_.of(parts_[c].begin, parts_[c].end);
        const level* best = front.data();
        for (const level& x : front)
          if (priced(c, x) <= priced(c, *best)) best = &x;
        used += wide{own.chunks[c]} * best->bytes;
      }
      return used;
    };
    std::size_t low = 0, high = slopes.size() - 1;
    while (low < high) {
      const std::size_t mid = low + (high - low) / 2;
      if (weigh_at(mid) <= room) high = mid;
      else low = mid + 1;
    }
    unit_ = wide{slopes[low].bytes} * own.least, byte_ = slopes[low].extra;
    order_.resize(parts_.size());
    rest_.assign(parts_.size() + 1, 0);
    for (std::size_t c = parts_.size(); c-- > 0;) {
      auto& order = order_[c];
      order.clear();
      for (const level& x : fronts_.of(parts_[c].begin, parts_[c].end)) order.push_back({priced(c, x), x});
      std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first < b.first : a.second.extra < b.second.extra;
      });
      rest_[c] = rest_[c + 1] + order.front().first;
      expansions_ += static_cast<std::int64_t>(order.size());  // takes about as long
    }
  }
  void descend(std::size_t c, ticks extra) {
    if (c == parts_.size()) {
      best_.extra = extra, best_.points.assign(chosen_.begin(), chosen_.end());
      return;
    }
    // Beyond the budget the first way down, which never fails for want of memory, is the answer.
    if (++expansions_ > q_.budget && !best_.points.empty()) return;
    const std::uint32_t times = q_.in_flight.times(rank_);
    wide worth = 0;
    for (std::uint32_t k = 0; k < times; ++k) worth += wide{scales_[rank_].counts[k]} * left_[k];
    worth *= byte_;
    const std::int64_t lean = fronts_.leanest(parts_[c].begin, parts_[c].end);
    std::int64_t allowed = never;
    for (std::uint32_t k = 0; k < times; ++k) {
      const std::uint32_t held = q_.in_flight.at(rank_, k)[c];
      lean_[k] -= held * lean;
      if (held > 0) allowed = (std::min)(allowed, (left_[k] - lean_[k]) / held);
    }
    for (const auto& [price, x] : order_[c]) {
      if (unit_ * extra + price + rest_[c + 1] - worth > unit_ * (best_.extra - 1)) break;
      if (x.bytes > allowed || extra + x.extra >= best_.extra) continue;
      for (std::uint32_t k = 0; k < times; ++k) left_[k] -= q_.in_flight.at(rank_, k)[c] * x.bytes;
      chosen_[c] = x;
      descend(c + 1, extra + x.extra);
      for (std::uint32_t k = 0; k < times; ++k) left_[k] += q_.in_flight.at(rank_, k)[c] * x.bytes;
    }
    for (std::uint32_t k = 0; k < times; ++k) lean_[k] += q_.in_flight.at(rank_, k)[c] * lean;
  }

  const split_problem& q_;
  segment_fronts& fronts_;
  std::int64_t& expansions_;
  std::span<const segment> parts_;
  std::uint32_t rank_ = 0;
  rank_answer best_;
  std::vector<level> chosen_;
  std::vector<std::int64_t> left_, lean_;
  struct known_answer : rank_answer {
    ticks refuted = 0;  // no answer has less extra time
  };
  std::map<std::vector<std::uint32_t>, known_answer> known_;  // by rank and the pieces of its chunks
  std::vector<std::uint32_t> key_;
  std::vector<scales> scales_;                              // by rank
  wide unit_ = 1, byte_ = 0;                                // prices of a tick, of a weighed byte
  std::vector<std::vector<std::pair<wide, level>>> order_;  // by chunk: the points of its front, the cheapest first
  std::vector<wide> rest_;                                  // the least price of the chunks from this one on
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
