// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/cursor.hpp>
#include <hocket/pipeline/facts.hpp>
#include <hocket/pipeline/rank_view.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::pipeline {

/// All forwards, then all backwards, chunk after chunk. With one chunk this is GPipe (backwards in the order of the
/// forwards); with more it is looped BFS, which finishes a chunk for all micro-batches before it turns to the next and
/// therefore needs each chunk's weights only twice (fully sharded weights), with backwards in reverse order.
/// Every activation is held: m·v of them.
/// Source: GPipe (Huang et al. 2019, arXiv:1811.06965); Lamy-Poirier 2023, arXiv:2211.05953.
///
///     constexpr auto plan = hocket::pipeline::gpipe::make({.ranks = 2, .micro_batches = 3}).value();
///     static_assert(plan.rank(1)[3] == hocket::pipeline::action(hocket::pipeline::action_kind::backward, 0, 0));
class gpipe {
 public:
  static constexpr bool quick_at = true;
  constexpr gpipe() noexcept = default;

  /// Errors: errc::bad_shape if the shape is out of range or chunks != 1: more than one is `looped_bfs`.
  [[nodiscard]] static constexpr result<gpipe> make(const shape& s) noexcept {
    if (s.chunks != 1)
      return error{errc::bad_shape, s.ranks, s.chunks, s.micro_batches}.with("gpipe has one chunk per rank");
    return make(s, false);
  }
  /// All forwards, then all backwards, both in the order of micro-batches, with any number of chunks.
  [[nodiscard]] static constexpr result<gpipe> make_f_then_b(const shape& s) noexcept { return make(s, false); }
  /// Looped BFS with any number of chunks.
  [[nodiscard]] static constexpr result<gpipe> make_looped_bfs(const shape& s) noexcept { return make(s, true); }

  [[nodiscard]] constexpr std::uint32_t ranks() const noexcept { return ranks_; }
  [[nodiscard]] constexpr std::uint32_t chunks() const noexcept { return chunks_; }
  [[nodiscard]] constexpr std::uint32_t micro_batches() const noexcept { return micro_batches_; }
  /// Whether backwards take the micro-batches in reverse, as looped BFS does.
  [[nodiscard]] constexpr bool reversed() const noexcept { return reversed_; }
  [[nodiscard]] constexpr loop_placement placement() const noexcept { return {ranks_}; }
  [[nodiscard]] constexpr std::uint32_t warm_up(std::uint32_t) const noexcept { return micro_batches_ * chunks_; }
  [[nodiscard]] constexpr std::uint32_t peak_in_flight(std::uint32_t) const noexcept {
    return micro_batches_ * chunks_;
  }

  /// Steps of warm-up, steady state and drain.
  [[nodiscard]] constexpr step_counts counts(std::uint32_t) const noexcept {
    const std::uint32_t n = micro_batches_ * chunks_;
    return {n, 0, n};
  }

  [[nodiscard]] constexpr std::uint32_t size(std::uint32_t) const noexcept { return 2 * micro_batches_ * chunks_; }
  /// Preconditions: rank < ranks(), step < size(rank). O(1).
  [[nodiscard]] constexpr action at([[maybe_unused]] std::uint32_t rank, std::uint32_t step) const noexcept {
    HOCKET_ASSERT(rank < ranks_ && step < size(rank));
    const std::uint32_t n = micro_batches_ * chunks_;
    if (step < n) return {action_kind::forward, step / micro_batches_, step % micro_batches_};
    const std::uint32_t x = step - n;
    return {action_kind::backward, chunks_ - 1 - x / micro_batches_, mirrored(x % micro_batches_)};
  }
  /// The step at which the rank runs `a`, or size(rank) if it never does. O(1).
  [[nodiscard]] constexpr std::uint32_t step_of(std::uint32_t rank, action a) const noexcept {
    if (a.kind() > action_kind::backward || a.chunk() >= chunks_ || a.micro_batch() >= micro_batches_)
      return size(rank);
    if (a.kind() == action_kind::forward) return a.chunk() * micro_batches_ + a.micro_batch();
    return (2 * chunks_ - 1 - a.chunk()) * micro_batches_ + mirrored(a.micro_batch());
  }
  /// The list of one rank. Precondition: rank < ranks().
  [[nodiscard]] constexpr rank_view<gpipe> rank(std::uint32_t rank) const noexcept;

  /// Its warm-up and alternation, and the stretches of its order: see cursor.hpp.
  [[nodiscard]] constexpr alternation rhythm(std::uint32_t) const noexcept {
    return {.count = micro_batches_ * chunks_, .warm_up = micro_batches_ * chunks_};
  }
  [[nodiscard]] constexpr order_walk walk_from(bool, std::uint32_t k) const noexcept {
    return {.next = k, .chunk = k / micro_batches_, .base = k % micro_batches_};
  }
  [[nodiscard]] constexpr order_run next_run(bool forward, order_walk& walk) const noexcept {
    const std::uint32_t j = walk.base, c = walk.chunk++;
    walk.base = 0;
    if (forward) return {c, j, micro_batches_ - j};
    return {chunks_ - 1 - c, mirrored(j), micro_batches_ - j, reversed_ ? -1 : 1};
  }
  /// Writes steps from `first` on, as many as fit and are left; returns how many.
  constexpr std::size_t fill(std::uint32_t rank, std::span<action> out, std::uint32_t first) const noexcept {
    return detail::fill_alternating(*this, rank, out, first);
  }

  friend constexpr bool operator==(const gpipe&, const gpipe&) = default;

 private:
  [[nodiscard]] static constexpr result<gpipe> make(const shape& s, bool reversed) noexcept {
    if (const auto ok = check(s); !ok) return ok.error();
    gpipe plan;
    plan.ranks_ = static_cast<std::uint32_t>(s.ranks);
    plan.chunks_ = static_cast<std::uint32_t>(s.chunks);
    plan.micro_batches_ = static_cast<std::uint32_t>(s.micro_batches);
    plan.reversed_ = reversed;
    return plan;
  }
  [[nodiscard]] constexpr std::uint32_t mirrored(std::uint32_t j) const noexcept {
    return reversed_ ? micro_batches_ - 1 - j : j;
  }
  std::uint32_t ranks_ = 1;
  std::uint32_t chunks_ = 1;
  std::uint32_t micro_batches_ = 1;
  bool reversed_ = false;
};

constexpr rank_view<gpipe> gpipe::rank(std::uint32_t rank) const noexcept { return {*this, rank}; }

}  // namespace hocket::inline HOCKET_ABI::pipeline
