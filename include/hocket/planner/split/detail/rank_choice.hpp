// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/split/detail/byte_prices.hpp>

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
/// into the front. Two: to each point of one the cheapest of the other. More: byte_prices give a bound, and what a
/// point costs above the cheapest of its chunk; a possible answer that is found by filling up leaves few points that
/// may still win, which are tried depth first; the last chunk then takes what fits.
class rank_choice {
 public:
  rank_choice(const split_problem& q, segment_fronts& fronts, std::int64_t& expansions)
      : q_(q), fronts_(fronts), expansions_(expansions), prices_(q.in_flight) {}

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

  /// @param below   only answers with less extra time are wanted
  /// @param enough  with so little extra time any answer will do
  [[nodiscard]] rank_answer operator()(std::uint32_t rank, std::span<const segment> parts, ticks below = never,
                                       ticks enough = 0) {
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
    if (below <= known.refuted) return best;
    const bool done = known.extra <= (std::max)(known.refuted, enough) || (exhausted() && known.extra < never);
    if (done) return known.extra < below ? known : best;
    parts_ = parts, rank_ = rank, enough_ = (std::min)(enough, below - 1);
    if (known.extra < below) best_ = known;
    else best_ = best, best_.extra = below;
    known.refuted = (std::max)(known.refuted, search(left));
    if (best_.points.empty()) return best;
    if (best_.extra < known.extra) static_cast<rank_answer&>(known) = best_;
    return best_;
  }

 private:
  /// Eight small steps count as an expansion.
  void spend(std::int64_t steps) noexcept {
    spent_ += steps;
    expansions_ += spent_ / 8, spent_ %= 8;
  }
  /// Two chunks: to each point of one front the cheapest of the other that fits, both fronts passed once.
  void look_up_pairs(std::int64_t left) {
    const level_front& one = fronts_.of(parts_[0].begin, parts_[0].end);
    const level_front& other = fronts_.of(parts_[1].begin, parts_[1].end);
    std::size_t at = other.size() - 1;
    for (const level& x : one) {
      if (x.extra + other.front().extra >= best_.extra) return;
      spend(1);
      const auto fits = [&](std::size_t y) {
        for (std::uint32_t k = 0; k < q_.in_flight.times(rank_); ++k) {
          const auto held = q_.in_flight.at(rank_, k);
          if (held[0] * x.bytes + held[1] * other[y].bytes > left) return false;
        }
        return true;
      };
      if (!fits(at)) continue;
      while (at > 0 && fits(at - 1)) --at;
      if (x.extra + other[at].extra >= best_.extra) continue;
      best_ = {x.extra + other[at].extra, {x, other[at]}};
      if (best_.extra <= enough_) return;
    }
  }
  /// More chunks than one. @return no answer has less extra time
  ticks search(std::int64_t left) {
    const std::int64_t steps = prices_.steps(), points = fronts_.points();
    hulls_.clear();
    for (const segment& s : parts_) hulls_.push_back(&fronts_.hull(s.begin, s.end));
    ticks target = 0;
    for (const level_front* x : hulls_) target += x->back().extra;
    target = (std::min)(best_.extra, target);
    const ticks bound = prices_.raise(rank_, hulls_, left, target);
    spend((prices_.steps() - steps) / 2);
    if (bound >= best_.extra) return bound;
    const std::uint32_t times = q_.in_flight.times(rank_);
    left_.assign(times, left);
    for (std::size_t c = 0; c < parts_.size(); ++c) (void)front(c);
    spend((fronts_.points() - points) / 8);
    for (std::uint32_t k = 0; k < times; ++k)
      for (std::size_t c = 0; c < parts_.size(); ++c)
        left_[k] -= q_.in_flight.at(rank_, k)[c] * fronts_.leanest(parts_[c].begin, parts_[c].end);
    chosen_.assign(parts_.size(), level{});
    fill();
    enough_ = (std::max)(enough_, bound);
    if (best_.extra <= enough_ || exhausted()) return bound;
    if (parts_.size() == 2) {
      look_up_pairs(left);
    } else {
      list_points();
      descend(0, 0, 0);
    }
    return exhausted() || best_.extra <= enough_ ? bound : best_.extra;
  }
  /// How many bytes chunk c may keep beside what the others do; it gives back what it kept.
  [[nodiscard]] std::int64_t take_back(std::size_t c, std::int64_t bytes) {
    std::int64_t allowed = never;
    for (std::uint32_t k = 0; k < left_.size(); ++k) {
      const std::uint32_t held = q_.in_flight.at(rank_, k)[c];
      left_[k] += held * bytes;
      if (held > 0) allowed = (std::min)(allowed, left_[k] / held);
    }
    return allowed;
  }
  void keep(std::size_t c, std::int64_t bytes) {
    for (std::uint32_t k = 0; k < left_.size(); ++k) left_[k] -= q_.in_flight.at(rank_, k)[c] * bytes;
  }
  [[nodiscard]] const level_front& front(std::size_t c) { return fronts_.of(parts_[c].begin, parts_[c].end); }
  [[nodiscard]] std::int64_t lean(std::size_t c) const { return fronts_.leanest(parts_[c].begin, parts_[c].end); }

  /// A possible answer: from all layers at their leanest on, each chunk keeps what the prices say as far as it can,
  /// then what is left.
  void fill() {
    const auto raise_to = [&](std::size_t c, std::int64_t bytes, std::int64_t before) {
      chosen_[c] = *cheapest(front(c), (std::min)(bytes, take_back(c, before)));
      keep(c, chosen_[c].bytes);
    };
    ticks extra = 0;
    for (std::size_t c = 0; c < parts_.size(); ++c) raise_to(c, prices_.cheapest_of(c).bytes, lean(c));
    for (std::size_t c = 0; c < parts_.size(); ++c) raise_to(c, never, chosen_[c].bytes), extra += chosen_[c].extra;
    for (std::size_t c = 0; c < parts_.size(); ++c) (void)take_back(c, chosen_[c].bytes), keep(c, lean(c));
    if (extra < best_.extra) best_.extra = extra, best_.points.assign(chosen_.begin(), chosen_.end());
  }
  /// The points that may still win, by chunk; the chunk with most of them comes last.
  void list_points() {
    spare_ = wide{best_.extra - 1} * byte_prices::one - prices_.value();
    points_.resize(parts_.size()), order_.resize(parts_.size());
    for (std::size_t c = 0; c < parts_.size(); ++c) {
      auto& list = points_[order_[c] = c];
      list.clear();
      for (const level& x : front(c))
        if (const wide above = prices_.above(c, x); above <= spare_) list.push_back({above, x});
      spend(static_cast<std::int64_t>(front(c).size()) / 8);
      std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first < b.first : a.second.extra < b.second.extra;
      });
    }
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return points_[a].size() != points_[b].size() ? points_[a].size() < points_[b].size() : a < b;
    });
  }
  /// @param above  what the chunks so far cost above the cheapest
  void descend(std::size_t depth, ticks extra, wide above) {
    spend(1);
    if (exhausted() || best_.extra <= enough_) return;
    const std::size_t c = order_[depth];
    const std::int64_t allowed = take_back(c, lean(c));
    if (depth + 1 == parts_.size()) {
      if (const level& x = *cheapest(front(c), allowed); extra + x.extra < best_.extra) {
        chosen_[c] = x, best_.extra = extra + x.extra, best_.points.assign(chosen_.begin(), chosen_.end());
        spare_ = wide{best_.extra - 1} * byte_prices::one - prices_.value();
      }
    } else {
      for (const auto& [more, x] : points_[c]) {
        if (above + more > spare_) break;
        if (x.bytes > allowed || extra + x.extra >= best_.extra) continue;
        keep(c, x.bytes);
        chosen_[c] = x;
        descend(depth + 1, extra + x.extra, above + more);
        (void)take_back(c, x.bytes);
      }
    }
    keep(c, lean(c));
  }

  const split_problem& q_;
  segment_fronts& fronts_;
  std::int64_t& expansions_;
  std::int64_t spent_ = 0;
  std::span<const segment> parts_;
  std::uint32_t rank_ = 0;
  ticks enough_ = 0;
  rank_answer best_;
  std::vector<level> chosen_;
  std::vector<std::int64_t> left_;  // by count; of chunks without a choice yet the leanest is taken off
  struct known_answer : rank_answer {
    ticks refuted = 0;  // no answer has less extra time; this one may have more
  };
  std::map<std::vector<std::uint32_t>, known_answer> known_;  // by rank and the pieces of its chunks
  std::vector<std::uint32_t> key_;
  byte_prices prices_;
  std::vector<const level_front*> hulls_;                    // by chunk
  std::vector<std::vector<std::pair<wide, level>>> points_;  // by chunk: the cheapest first, by how much they are not
  std::vector<std::size_t> order_;                           // of the chunks
  wide spare_ = 0;                                           // how much dearer than the cheapest an answer may be
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
