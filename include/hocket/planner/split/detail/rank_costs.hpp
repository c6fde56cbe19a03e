// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/split/detail/chunk_deal.hpp>
#include <hocket/planner/split/detail/raw_split.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// What a rank pays for layers in a row, where ranks take one piece of the model after the other: one chunk, or equal
/// layers, of which only the number matters. Equal layers on several chunks are chunk_deal's matter.
class rank_costs {
 public:
  rank_costs(const split_numbers& q, segment_fronts& fronts, rank_levels& choose)
      : q_(q), fronts_(fronts), choose_(choose), chunks_(q.in_flight.chunks()), deals_(q.ranks.size()) {
    if (!fronts.uniform()) return;
    known_.assign(q.ranks.size() * static_cast<std::size_t>(fronts.layers() + 1), unknown);
    if (chunks_ > 1) bounds_ = loads_ = known_;
  }

  /// Whether some way to deal out layers was not proved best: then what ranks pay may be too much.
  [[nodiscard]] bool unsure() const noexcept { return unsure_; }
  /// From now on extra() is a bound that grows with the layers.
  void use_bounds() noexcept { use_bounds_ = true; }

  /// Least extra time of rank r with the layers [a, b); `never` if they do not fit.
  [[nodiscard]] ticks extra(std::uint32_t r, std::int64_t a, std::int64_t b) {
    if (known_.empty()) return answer(r, a, b).extra;
    if (chunks_ > 1 && use_bounds_) return bound(r, b - a);
    ticks& known = known_[index(r, b - a)];
    if (known == unknown) known = chunks_ > 1 ? deal(r, b - a) : answer(r, a, b).extra;
    return known;
  }
  /// Bytes that they need at the least.
  [[nodiscard]] std::int64_t lean_bytes(std::uint32_t r, std::int64_t a, std::int64_t b) {
    const segment own{a, b};
    if (chunks_ == 1) return b - a > q_.longest ? never : choose_.leanest_bytes(r, {&own, 1});
    std::int64_t& load = loads_[index(r, b - a)];
    if (load == unknown) {
      const auto found = deal_of(r).least_load(b - a, share(), used_);
      load = found.load;
      unsure_ = unsure_ || !found.proved;
    }
    return load >= never ? never : q_.ranks[r].fixed + fronts_.weights(0, b - a) + load * fronts_.leanest(0, 1);
  }
  /// The segments of each chunk, and their levels. Precondition: extra(r, a, b) < never was asked for.
  void write(std::uint32_t r, std::int64_t a, std::int64_t b, std::vector<segment>& parts, rank_answer& levels) {
    if (chunks_ == 1) {
      parts.assign(1, {a, b});
      levels = answer(r, a, b);
      return;
    }
    for (const dealt& x : dealt_) {
      if (x.rank != r || x.layers != b - a) continue;
      levels = {x.found.extra, x.found.points};
      parts.clear();
      for (const std::int64_t n : x.found.sizes) parts.push_back({0, n});  // equal layers: only lengths matter
    }
  }

 private:
  static constexpr ticks unknown = -1;
  struct dealt {
    std::uint32_t rank;
    std::int64_t layers;
    chunk_deal::answer found;
  };

  [[nodiscard]] std::size_t index(std::uint32_t r, std::int64_t n) const noexcept {
    return std::size_t{r} * static_cast<std::size_t>(fronts_.layers() + 1) + static_cast<std::size_t>(n);
  }
  [[nodiscard]] rank_answer answer(std::uint32_t r, std::int64_t a, std::int64_t b) {
    const segment own{a, b};
    return b - a > q_.longest ? rank_answer{} : choose_(r, {&own, 1});
  }
  [[nodiscard]] chunk_deal& deal_of(std::uint32_t r) {
    if (!deals_[r]) deals_[r] = std::make_unique<chunk_deal>(q_.in_flight, r, q_.longest);
    return *deals_[r];
  }
  /// Of what is left of the budget each question may take an eighth.
  [[nodiscard]] std::int64_t share() const {
    constexpr std::int64_t least = 1000;
    return (std::max)(least, (q_.budget - used_) / 8);
  }
  [[nodiscard]] ticks deal(std::uint32_t r, std::int64_t n) {
    const std::int64_t left = q_.ranks[r].capacity - q_.ranks[r].fixed - fronts_.weights(0, n);
    const chunk_deal::answer found = deal_of(r)(fronts_, n, left, share(), used_);
    bounds_[index(r, n)] = found.bound;
    unsure_ = unsure_ || found.extra != found.bound;
    if (found.extra < never) dealt_.push_back({r, n, found});
    return found.extra;
  }
  [[nodiscard]] ticks bound(std::uint32_t r, std::int64_t n) {
    ticks most = 0;  // one layer less never takes more
    for (std::int64_t k = chunks_; k <= n; ++k) {
      ticks& known = known_[index(r, k)];
      if (known == unknown) known = deal(r, k);
      most = (std::max)(most, bounds_[index(r, k)]);
    }
    return most;
  }

  const split_numbers& q_;
  segment_fronts& fronts_;
  rank_levels& choose_;
  std::uint32_t chunks_;
  bool unsure_ = false, use_bounds_ = false;
  std::int64_t used_ = 0;  // of the budget
  // Equal layers, by rank and number of layers: extra time; its bound; the least activations at once, in layers.
  std::vector<ticks> known_, bounds_;
  std::vector<std::int64_t> loads_;
  std::vector<std::unique_ptr<chunk_deal>> deals_;  // by rank
  std::vector<dealt> dealt_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
