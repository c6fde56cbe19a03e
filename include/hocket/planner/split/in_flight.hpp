// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/pipeline/facts.hpp>
#include <hocket/pipeline/schedule.hpp>
#include <hocket/planner/split/detail/held_walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// How many micro-batches of each chunk a rank holds at once, as a schedule makes it: for every rank the maximal counts
/// by chunk. One number is not enough with several chunks: a rank may hold 6 and 2 at one time and 3 and 5 at another,
/// never 6 and 5. Bytes are a sum over chunks, so counts below others, and those on the line between two others, are
/// left out. A plan fits iff it fits at each of those that remain.
class in_flight_profile {
 public:
  /// What a rank holds at one time, by chunk.
  using counts = std::span<const std::uint32_t>;

  /// Nothing on no rank: a place to assign to.
  in_flight_profile() noexcept = default;

  /// The maximal counts of every rank, read off its list: a forward takes, a backward or weight gradient gives back.
  /// An interleaved schedule has some 2·v of them on a rank, not p·v.
  /// Precondition: the schedule passes check(). Errors: errc::limit_exceeded beyond 4,096 maximal counts on a rank.
  /// Complexity: O(actions + turns · maximal counts), a turn being where forwards or backwards change their chunk.
  template <pipeline::schedule S>
  [[nodiscard]] static result<in_flight_profile> make(const S& plan) {
    in_flight_profile profile(plan.ranks(), plan.chunks());
    const auto place = plan.placement();
    for (std::uint32_t s = 0; s < profile.stages(); ++s) profile.put(s, place.rank_of(s), place.chunk_of(s));
    for (std::uint32_t r = 0; r < profile.ranks_; ++r) {
      detail::held_walk walk(profile.chunks_);
      const bool read =
          follow(plan, r, walk, [&](const pipeline::stage_action& a) { return place.chunk_of(a.stage()); });
      if (!read || !walk.end()) return too_many();
      profile.add_rank(walk.maximal());
    }
    return profile;
  }

  /// The same for a schedule whose two directions cross on every rank (dual_pipe), seen as pairs of ranks. Ranks r and
  /// p - 1 - r both run stage r of one direction and stage p - 1 - r of the other. So each of the p / 2 pairs is a rank
  /// with these two stages as chunks, as in a V, and holds of them what its fuller rank does.
  /// Errors: errc::bad_shape unless the schedule has two directions and an even number of ranks; as above.
  template <pipeline::schedule S>
  [[nodiscard]] static result<in_flight_profile> make_pairs(const S& plan) {
    const std::uint32_t p = plan.ranks();
    if (pipeline::directions_of(plan) != 2 || p % 2 != 0)
      return error{errc::bad_shape, p, plan.chunks(), plan.micro_batches()}.with("it has no pairs of ranks");
    in_flight_profile profile(p / 2, 2);
    for (std::uint32_t s = 0; s < p; ++s) profile.put(s, (std::min)(s, p - 1 - s), s < p / 2 ? 0 : 1);
    for (std::uint32_t pair = 0; pair < p / 2; ++pair) {
      detail::held_walk walk(2);
      for (const std::uint32_t r : {pair, p - 1 - pair}) {
        const std::uint32_t first = r == pair ? 0 : 1;  // its chunk in the first direction
        const bool read = follow(
            plan, r, walk, [first](const pipeline::stage_action& a) { return a.direction() == 0 ? first : 1 - first; });
        if (!read) return too_many();
      }
      if (!walk.end()) return too_many();
      profile.add_rank(walk.maximal());
    }
    return profile;
  }

  /// Any numbers, one chunk per rank: `held[i]` micro-batches on rank i. Errors: errc::bad_shape if there are none.
  [[nodiscard]] static result<in_flight_profile> make_counts(std::span<const std::uint32_t> held) {
    if (held.empty()) return error{errc::bad_shape, 0, 1, 1}.with("each must be at least 1");
    in_flight_profile profile(static_cast<std::uint32_t>(held.size()), 1);
    for (std::uint32_t i = 0; i < profile.ranks_; ++i) {
      profile.put(i, i, 0);
      profile.add_rank(held.subspan(i, 1));
    }
    return profile;
  }

  /// 1F1B in O(p): rank i holds min(m, p - i). Errors: errc::bad_shape unless p, m >= 1.
  [[nodiscard]] static result<in_flight_profile> make_one_f_one_b(std::uint32_t p, std::uint32_t m) {
    if (m < 1) return error{errc::bad_shape, p, 1, m}.with("each must be at least 1");
    std::vector<std::uint32_t> held;
    for (std::uint32_t i = 0; i < p; ++i) held.push_back((std::min)(m, p - i));
    return make_counts(held);
  }

  [[nodiscard]] std::uint32_t ranks() const noexcept { return ranks_; }
  [[nodiscard]] std::uint32_t chunks() const noexcept { return chunks_; }
  [[nodiscard]] std::uint32_t stages() const noexcept { return ranks_ * chunks_; }
  /// Where a stage lives. Precondition: stage < stages().
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t stage) const noexcept { return rank_of_stage_[stage]; }
  [[nodiscard]] std::uint32_t chunk_of(std::uint32_t stage) const noexcept { return chunk_of_stage_[stage]; }
  /// How many maximal counts a rank has, and each of them. Precondition: rank < ranks(), k < times(rank).
  [[nodiscard]] std::uint32_t times(std::uint32_t rank) const noexcept { return ends_[rank] - begin_of(rank); }
  [[nodiscard]] counts at(std::uint32_t rank, std::uint32_t k) const& noexcept {
    return counts(values_).subspan((std::size_t{begin_of(rank)} + k) * chunks_, chunks_);
  }
  counts at(std::uint32_t rank, std::uint32_t k) const&& = delete;

 private:
  in_flight_profile(std::uint32_t ranks, std::uint32_t chunks)
      : ranks_(ranks), chunks_(chunks), rank_of_stage_(stages()), chunk_of_stage_(stages()) {}

  void put(std::uint32_t stage, std::uint32_t rank, std::uint32_t chunk) {
    rank_of_stage_[stage] = rank;
    chunk_of_stage_[stage] = chunk;
  }
  void add_rank(std::span<const std::uint32_t> maximal) {
    values_.insert(values_.end(), maximal.begin(), maximal.end());
    ends_.push_back(static_cast<std::uint32_t>(values_.size() / chunks_));
  }
  [[nodiscard]] std::uint32_t begin_of(std::uint32_t rank) const noexcept { return rank == 0 ? 0 : ends_[rank - 1]; }
  [[nodiscard]] static error too_many() {
    constexpr std::int64_t max_counts = detail::held_walk::max_counts;
    return error{errc::limit_exceeded, max_counts + 1, max_counts}.with("maximal in-flight counts");
  }

  /// The list of a rank as steps of a walk. False if there are too many maximal counts.
  template <class S, class ChunkOf>
  [[nodiscard]] static bool follow(const S& plan, std::uint32_t rank, detail::held_walk& walk, ChunkOf&& chunk_of) {
    using pipeline::action_kind;
    for (const pipeline::stage_action a : pipeline::stage_list(plan, rank)) {
      if (a.kind() == action_kind::forward) walk.forward(chunk_of(a));
      const bool gives_back = a.kind() == action_kind::backward || a.kind() == action_kind::weight_grad;
      if (gives_back && !walk.release(chunk_of(a))) return false;
    }
    return true;
  }

  std::uint32_t ranks_ = 0, chunks_ = 1;
  std::vector<std::uint32_t> values_;  // by rank, count and chunk
  std::vector<std::uint32_t> ends_;    // of the counts of each rank
  std::vector<std::uint32_t> rank_of_stage_, chunk_of_stage_;
};

}  // namespace hocket::inline HOCKET_ABI::planner
