// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/detail/phases.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::pipeline {

/// All forwards, then all backwards, chunk after chunk. With one chunk this is GPipe, with backwards in the order of
/// the forwards. With more it is looped BFS, which finishes a chunk for all micro-batches before it turns to the next,
/// with backwards in reverse order: it needs each chunk's weights only twice (fully sharded weights). Every activation
/// is held: m·v of them. Source: GPipe (Huang et al. 2019, arXiv:1811.06965); Lamy-Poirier 2023, arXiv:2211.05953.
///
///     constexpr auto plan = hocket::pipeline::gpipe::make({.ranks = 2, .micro_batches = 3}).value();
///     static_assert(plan.rank(1)[3] == hocket::pipeline::action(hocket::pipeline::action_kind::backward, 0, 0));
class gpipe : public detail::phased<gpipe> {
 public:
  constexpr gpipe() noexcept = default;

  /// Errors: errc::bad_shape if the shape is out of range or chunks != 1: more than one is make_looped_bfs.
  [[nodiscard]] static constexpr result<gpipe> make(const shape& s) noexcept {
    if (s.chunks != 1)
      return error{errc::bad_shape, s.ranks, s.chunks, s.micro_batches}.with("gpipe has one chunk per rank");
    return make_any(s, false);
  }
  /// All forwards, then all backwards, both in the order of micro-batches, with any number of chunks.
  [[nodiscard]] static constexpr result<gpipe> make_f_then_b(const shape& s) noexcept { return make_any(s, false); }
  /// Looped BFS with any number of chunks.
  [[nodiscard]] static constexpr result<gpipe> make_looped_bfs(const shape& s) noexcept { return make_any(s, true); }

  [[nodiscard]] constexpr std::uint32_t ranks() const noexcept { return ranks_; }
  [[nodiscard]] constexpr std::uint32_t chunks() const noexcept { return chunks_; }
  [[nodiscard]] constexpr std::uint32_t micro_batches() const noexcept { return micro_batches_; }
  /// Whether backwards take the micro-batches in reverse, as looped BFS does.
  [[nodiscard]] constexpr bool reversed() const noexcept { return reversed_; }
  [[nodiscard]] constexpr loop_placement placement() const noexcept { return {ranks_}; }

  [[nodiscard]] constexpr std::uint32_t size(std::uint32_t) const noexcept { return 2 * half(); }
  friend constexpr bool operator==(const gpipe&, const gpipe&) = default;

 private:
  friend class detail::phased<gpipe>;

  [[nodiscard]] static constexpr result<gpipe> make_any(const shape& s, bool reversed) noexcept {
    if (const auto ok = check(s); !ok) return ok.error();
    gpipe plan;
    plan.ranks_ = static_cast<std::uint32_t>(s.ranks);
    plan.chunks_ = static_cast<std::uint32_t>(s.chunks);
    plan.micro_batches_ = static_cast<std::uint32_t>(s.micro_batches);
    plan.reversed_ = reversed;
    return plan;
  }
  /// Forwards, and as many backwards.
  [[nodiscard]] constexpr std::uint32_t half() const noexcept { return micro_batches_ * chunks_; }
  [[nodiscard]] constexpr detail::phase_list phases(std::uint32_t) const noexcept {
    return detail::alternation(half(), half());
  }
  [[nodiscard]] constexpr detail::action_run<action> run_from(std::uint32_t, const detail::phase_list::lane& lane,
                                                              std::uint32_t index) const noexcept {
    const std::uint32_t c = index / micro_batches_, j = index % micro_batches_;
    if (lane.kind == action_kind::forward) return {{lane.kind, c, j}, 1, micro_batches_ - j};
    const std::uint32_t one_back = ~std::uint32_t{0};
    return {{lane.kind, chunks_ - 1 - c, mirrored(j)}, reversed_ ? one_back : 1, micro_batches_ - j};
  }
  [[nodiscard]] constexpr detail::phase_list::place place_of(std::uint32_t, action a) const noexcept {
    if (a.chunk() >= chunks_ || a.micro_batch() >= micro_batches_) return {};
    if (a.kind() == action_kind::forward) return {a.kind(), 0, a.chunk() * micro_batches_ + a.micro_batch()};
    return {a.kind(), 0, (chunks_ - 1 - a.chunk()) * micro_batches_ + mirrored(a.micro_batch())};
  }
  [[nodiscard]] constexpr std::uint32_t mirrored(std::uint32_t j) const noexcept {
    return reversed_ ? micro_batches_ - 1 - j : j;
  }
  std::uint32_t ranks_ = 1;
  std::uint32_t chunks_ = 1;
  std::uint32_t micro_batches_ = 1;
  bool reversed_ = false;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
