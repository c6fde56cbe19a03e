// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/facts.hpp>
#include <hocket/pipeline/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// How many micro-batches of each chunk a rank holds at once, as a schedule makes it: for every rank the maximal counts
/// by chunk. One number is not enough with several chunks: a rank may hold 6 and 2 at one time and 3 and 5 at another,
/// never 6 and 5. Bytes are a sum over chunks, count times size, so counts that others exceed and counts that lie on
/// the line between two others are left out: a plan fits iff it fits at each of those that remain.
class in_flight_profile {
 public:
  /// What a rank holds at one time, by chunk.
  using counts = std::span<const std::uint32_t>;

  /// The maximal counts of every rank, read off its list: a forward takes, a backward or weight gradient gives back.
  /// Where forwards of one chunk and backwards of another run in turn, the counts walk along a line, of which the ends
  /// are kept. So an interleaved schedule has some 2·v of them on a rank, not p·v.
  /// Precondition: the schedule passes check(). Errors: errc::limit_exceeded beyond 4,096 maximal counts on a rank.
  /// Complexity: O(actions + turns · maximal counts), a turn being where the walk bends. 17 million actions (256 ranks,
  /// 8 chunks, 4,096 micro-batches) take some tenths of a second.
  template <pipeline::schedule S>
  [[nodiscard]] static result<in_flight_profile> of(const S& plan) {
    in_flight_profile profile;
    profile.ranks_ = plan.ranks(), profile.chunks_ = plan.chunks();
    const std::uint32_t v = profile.chunks_;
    const auto place = plan.placement();
    for (std::uint32_t s = 0; s < profile.ranks_ * v; ++s) profile.rank_of_stage_.push_back(place.rank_of(s));
    for (std::uint32_t s = 0; s < profile.ranks_ * v; ++s) profile.chunk_of_stage_.push_back(place.chunk_of(s));
    walk path(v);
    for (std::uint32_t r = 0; r < profile.ranks_; ++r) {
      path.begin();
      const bool ok =
          read(plan, r, [&](pipeline::action_kind kind, std::uint32_t chunk) { return path.step(kind, chunk); });
      if (!ok || !path.end())
        return error{errc::limit_exceeded, std::int64_t{max_counts} + 1, std::int64_t{max_counts}}.with(
            "maximal in-flight counts");
      profile.values_.insert(profile.values_.end(), path.maximal.begin(), path.maximal.end());
      profile.ends_.push_back(static_cast<std::uint32_t>(profile.values_.size() / v));
    }
    return profile;
  }

  /// The same for a schedule whose two directions cross on every rank (dual_pipe), seen as pairs of ranks: rank r runs
  /// stage r of one direction and stage p - 1 - r of the other, and so does rank p - 1 - r. So each of the p / 2 pairs
  /// is a rank with two chunks, stages r and p - 1 - r, as in a V, and holds of them what its fuller rank does. All
  /// parameters lie on two ranks. Precondition: plan.directions() == 2, an even number of ranks. Errors: as above.
  template <pipeline::schedule S>
  [[nodiscard]] static result<in_flight_profile> of_pairs(const S& plan) {
    in_flight_profile profile;
    const std::uint32_t p = plan.ranks();
    profile.ranks_ = p / 2, profile.chunks_ = 2;
    for (std::uint32_t s = 0; s < p; ++s) {
      profile.rank_of_stage_.push_back(s < p / 2 ? s : p - 1 - s);
      profile.chunk_of_stage_.push_back(s < p / 2 ? 0 : 1);
    }
    walk path(2);
    for (std::uint32_t r = 0; r < p / 2; ++r) {
      path.begin();
      bool ok = true;
      for (const std::uint32_t of : {r, p - 1 - r}) {
        for (std::uint32_t i = 0; i < plan.size(of) && ok; ++i) {
          const pipeline::stage_action a = pipeline::stage_action_at(plan, of, i);
          if (pipeline::is_compute(a.kind())) ok = path.step(a.kind(), (of == r) == (a.direction() == 0) ? 0 : 1);
        }
        ok = ok && path.end();  // all that was taken has been given back
      }
      if (!ok)
        return error{errc::limit_exceeded, std::int64_t{max_counts} + 1, std::int64_t{max_counts}}.with(
            "maximal in-flight counts");
      profile.values_.insert(profile.values_.end(), path.maximal.begin(), path.maximal.end());
      profile.ends_.push_back(static_cast<std::uint32_t>(profile.values_.size() / 2));
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

  /// use(op, chunk) for every step of a rank, until it says false.
  template <class S, class Use>
  static bool read(const S& plan, std::uint32_t r, Use&& use) {
    const auto place = plan.placement();
    for (const pipeline::stage_action a : pipeline::stage_list(plan, r)) {
      if (!pipeline::is_compute(a.kind())) continue;
      if (!use(a.kind(), place.chunk_of(a.stage()))) return false;
    }
    return true;
  }

  /// The counts of one rank as its list goes on. `last` is the newest peak; it goes to `maximal` once the walk bends.
  struct walk {
    explicit walk(std::uint32_t chunks) : now(chunks), last(chunks) {}
    void begin() {
      now.assign(now.size(), 0), maximal.clear();
      rising = waiting = false, takes = gives = 0, hint = 0, direction = none;
    }
    /// False if there are too many maximal counts.
    bool step(pipeline::action_kind kind, std::uint32_t chunk) {
      if (kind == pipeline::action_kind::forward) {
        ++now[chunk], ++takes, take = chunk, rising = true;
        return true;
      }
      if (kind != pipeline::action_kind::backward && kind != pipeline::action_kind::weight_grad) return true;
      if (rising && !peak()) return false;
      rising = false;
      if (now[chunk] > 0) --now[chunk];
      ++gives, give = chunk;
      return true;
    }
    bool end() { return (!rising || peak()) && (!waiting || add_maximal(last)); }

    std::vector<std::uint32_t> now, last, maximal;

   private:
    static constexpr std::uint64_t none = ~std::uint64_t{0};
    bool peak() {
      // One backward and one forward since the last peak: the walk goes on along a line if they are of the same chunks
      // as before.
      const std::uint64_t to = takes == 1 && gives == 1 ? std::uint64_t{take} << 32 | give : none;
      if (waiting && (to == none || to != direction) && !add_maximal(last)) return false;
      direction = to, takes = gives = 0, waiting = true;
      last = now;
      return true;
    }
    /// Keeps `maximal` an antichain. The search for a count that is above begins after the last one found: steady
    /// states repeat.
    bool add_maximal(const std::vector<std::uint32_t>& counts_now) {
      const std::size_t v = counts_now.size(), n = maximal.size() / v;
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = hint + i < n ? hint + i : hint + i - n;
        bool above = true;
        for (std::size_t c = 0; above && c < v; ++c) above = maximal[at * v + c] >= counts_now[c];
        if (!above) continue;
        hint = at + 1 < n ? at + 1 : 0;
        return true;
      }
      std::size_t kept = 0;
      for (std::size_t i = 0; i < maximal.size(); i += v) {
        bool below = true;
        for (std::size_t c = 0; below && c < v; ++c) below = maximal[i + c] <= counts_now[c];
        if (below) continue;
        for (std::size_t c = 0; c < v; ++c) maximal[kept + c] = maximal[i + c];
        kept += v;
      }
      maximal.resize(kept);
      maximal.insert(maximal.end(), counts_now.begin(), counts_now.end());
      hint = 0;
      return maximal.size() / v <= max_counts;
    }
    bool rising = false, waiting = false;
    std::uint32_t takes = 0, gives = 0, take = 0, give = 0;
    std::uint64_t direction = none;
    std::size_t hint = 0;
  };

  std::uint32_t ranks_ = 0, chunks_ = 1;
  std::vector<std::uint32_t> values_, ends_, rank_of_stage_, chunk_of_stage_;
};

}  // namespace hocket::inline HOCKET_ABI::planner
