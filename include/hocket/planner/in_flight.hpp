// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// How many micro-batches of each chunk a rank holds at once, as a schedule makes it: for every rank the maximal counts
/// by chunk. One number is not enough with several chunks: a rank may hold 6 and 2 at one time and 3 and 5 at another,
/// never 6 and 5. A plan fits iff it fits at each of these times.
class in_flight_profile {
 public:
  /// What a rank holds at one time, by chunk.
  using counts = std::span<const std::uint32_t>;

  /// The maximal counts of every rank, read off its list: a forward takes, a backward or weight gradient gives back.
  /// Precondition: the schedule passes check(). Errors: errc::limit_exceeded beyond 4,096 maximal counts on a rank.
  /// Complexity: O(actions · maximal counts).
  template <pipeline::schedule S>
  [[nodiscard]] static result<in_flight_profile> of(const S& plan) {
    in_flight_profile profile;
    profile.ranks_ = plan.ranks(), profile.chunks_ = plan.chunks();
    const std::uint32_t v = profile.chunks_;
    const auto place = plan.placement();
    for (std::uint32_t s = 0; s < profile.ranks_ * v; ++s) profile.rank_of_stage_.push_back(place.rank_of(s));
    for (std::uint32_t s = 0; s < profile.ranks_ * v; ++s) profile.chunk_of_stage_.push_back(place.chunk_of(s));
    std::vector<std::uint32_t> now(v), maximal;
    for (std::uint32_t r = 0; r < profile.ranks_; ++r) {
      now.assign(v, 0), maximal.clear();
      bool rising = false;
      std::size_t hint = 0;
      for (std::uint32_t i = 0; i < plan.size(r); ++i) {
        const pipeline::stage_action a = pipeline::stage_action_at(plan, r, i);
        const bool takes = a.kind() == pipeline::op::forward;
        if (!takes && a.kind() != pipeline::op::backward && a.kind() != pipeline::op::weight_grad) continue;
        std::uint32_t& held = now[place.chunk_of(a.stage())];
        if (takes) ++held, rising = true;
        if (takes) continue;
        if (rising && !add_maximal(maximal, now, hint))
          return error{errc::limit_exceeded, std::int64_t{max_counts}, std::int64_t{max_counts}}.with(
              "maximal in-flight counts");
        rising = false;
        if (held > 0) --held;
      }
      if (rising) add_maximal(maximal, now, hint);
      profile.values_.insert(profile.values_.end(), maximal.begin(), maximal.end());
      profile.ends_.push_back(static_cast<std::uint32_t>(profile.values_.size() / v));
    }
    return profile;
  }

  /// The same for any numbers, one chunk per rank: `held[i]` micro-batches on rank i.
  [[nodiscard]] static in_flight_profile of_counts(std::span<const std::uint32_t> held) {
    in_flight_profile profile;
    profile.ranks_ = static_cast<std::uint32_t>(held.size()), profile.chunks_ = 1;
    profile.values_.assign(held.begin(), held.end());
    for (std::uint32_t i = 0; i < profile.ranks_; ++i) {
      profile.ends_.push_back(i + 1), profile.rank_of_stage_.push_back(i), profile.chunk_of_stage_.push_back(0);
    }
    return profile;
  }
  /// 1F1B in O(p): rank i holds min(m, p - i).
  [[nodiscard]] static in_flight_profile one_f_one_b(std::uint32_t p, std::uint32_t m) {
    std::vector<std::uint32_t> held;
    for (std::uint32_t i = 0; i < p; ++i) held.push_back(m < p - i ? m : p - i);
    return of_counts(held);
  }

  [[nodiscard]] std::uint32_t ranks() const noexcept { return ranks_; }
  [[nodiscard]] std::uint32_t chunks() const noexcept { return chunks_; }
  /// Where a stage lives.
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t stage) const noexcept { return rank_of_stage_[stage]; }
  [[nodiscard]] std::uint32_t chunk_of(std::uint32_t stage) const noexcept { return chunk_of_stage_[stage]; }
  /// How many maximal counts a rank has, and each of them. Precondition: rank < ranks(), k < times(rank).
  [[nodiscard]] std::uint32_t times(std::uint32_t rank) const noexcept { return ends_[rank] - start(rank); }
  [[nodiscard]] counts at(std::uint32_t rank, std::uint32_t k) const noexcept {
    return counts(values_).subspan((std::size_t{start(rank)} + k) * chunks_, chunks_);
  }

 private:
  static constexpr std::uint32_t max_counts = 4096;
  [[nodiscard]] std::uint32_t start(std::uint32_t rank) const noexcept { return rank == 0 ? 0 : ends_[rank - 1]; }
  /// Keeps `maximal` an antichain. The search for a count that is above begins after the last one found: steady states
  /// repeat.
  static bool add_maximal(std::vector<std::uint32_t>& maximal, const std::vector<std::uint32_t>& now,
                          std::size_t& hint) {
    const std::size_t v = now.size(), n = maximal.size() / v;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t at = (hint + i) % n;
      bool above = true;
      for (std::size_t c = 0; above && c < v; ++c) above = maximal[at * v + c] >= now[c];
      if (!above) continue;
      hint = at + 1;
      return true;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < maximal.size(); i += v) {
      bool below = true;
      for (std::size_t c = 0; below && c < v; ++c) below = maximal[i + c] <= now[c];
      if (below) continue;
      for (std::size_t c = 0; c < v; ++c) maximal[kept + c] = maximal[i + c];
      kept += v;
    }
    maximal.resize(kept);
    maximal.insert(maximal.end(), now.begin(), now.end());
    hint = 0;
    return maximal.size() / v <= max_counts;
  }

  std::uint32_t ranks_ = 0, chunks_ = 1;
  std::vector<std::uint32_t> values_, ends_, rank_of_stage_, chunk_of_stage_;
};

}  // namespace hocket::inline HOCKET_ABI::planner
