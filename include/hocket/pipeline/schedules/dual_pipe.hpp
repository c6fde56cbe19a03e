// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/detail/phases.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::pipeline {

namespace detail {

[[nodiscard]] constexpr phase_list::lane lane_after(phase_list::lane x, std::uint32_t rounds) noexcept {
  x.first += rounds;
  return x;
}

/// The list of rank r of a V of `depth` ranks, of which the first takes in the micro-batches: its chunk `o` (0 or 1) is
/// the one that they pass first. Precondition: micro_batches >= 2 depth.
[[nodiscard]] constexpr phase_list dual_pipe_phases(std::uint32_t depth, std::uint32_t r, std::uint32_t micro_batches,
                                                    std::uint8_t o) noexcept {
  constexpr auto f = action_kind::forward, b = action_kind::backward, i = action_kind::input_grad,
                 w = action_kind::weight_grad;
  const std::uint32_t d = depth - r - 1, up = r + 1;
  const std::uint32_t steady = micro_batches - 2 * depth + r + 1;
  const std::uint8_t x = o == 0 ? 1 : 0;
  phase_list list;
  list.add(2 * d, {{f, o, 0}});
  list.add(2 * up, {{f, o, 2 * d}, {f, x, 0}});
  list.add(3 * d, {{i, x, 0}, {w, x, 0}, {f, x, up}});
  const std::uint32_t first = 2 * d + up, xf = up + d;  // forwards so far
  if (d == 0) {                                         // nothing can hide the first backward
    list.add(2, {{f, o, first}, {b, x, 0}});
    list.add(2, {{f, x, xf, true}, {b, o, 0}});
    list.add(4 * (steady - 1), {{f, o, first + 1, true}, {b, x, 1}, {f, x, xf + 1, true}, {b, o, 1}});
  } else {
    list.add(4 * steady, {{f, o, first, true}, {b, x, d}, {f, x, xf, true}, {b, o, 0}});
  }
  const std::uint32_t xb = d + steady, ob = steady;  // backwards so far
  list.add(3 * d, {{b, x, xb}, {f, x, xf + steady, true}, {b, o, ob}});
  // The last r + 1 of these 2(r + 1) backwards are split; their weight gradients follow in the same order.
  list.add(up, {{b, x, xb + d}, {b, o, ob + d}});
  const std::uint32_t xs = xb + d + (up + 1) / 2, os = ob + d + up / 2;  // first split ones
  const bool swap = up % 2 != 0;
  if (swap) list.add(up, {{i, o, os}, {i, x, xs}});
  else list.add(up, {{i, x, xs}, {i, o, os}});
  // The rest of the input gradients of chunk `o`, in turn with the weight gradients; those follow the input gradients
  // of all of them in order: first the ones that alternate between the chunks, then those of chunk `o` alone.
  const std::uint32_t rest = os + (swap ? (up + 1) / 2 : up / 2), mixed = d < up ? d : up;
  const phase_list::lane even = swap ? phase_list::lane{w, o, os} : phase_list::lane{w, x, xs},
                         odd = swap ? phase_list::lane{w, x, xs} : phase_list::lane{w, o, os};
  list.add(2 * mixed, {even, {i, o, rest, false, 2}, odd, {i, o, rest + 1, false, 2}});
  list.add(2 * (d - mixed), {{w, o, rest}, {i, o, rest + mixed}});
  if (mixed % 2 == 0) list.add(up - mixed, {lane_after(even, mixed / 2), lane_after(odd, mixed / 2)});
  else list.add(up - mixed, {lane_after(odd, mixed / 2), lane_after(even, mixed / 2 + 1)});
  list.add(mixed, {{w, o, rest + (d - mixed)}});
  return list;
}

/// Actions of that list: four for each micro-batch, and one more for each backward that is split.
[[nodiscard]] constexpr std::uint32_t dual_pipe_size(std::uint32_t depth, std::uint32_t r,
                                                     std::uint32_t micro_batches) noexcept {
  return 4 * micro_batches + 2 * depth - r - 1;
}

}  // namespace detail

/// DualPipeV: two chunks per rank in a V. In the steady state a forward and a backward run at the same time (joined
/// actions), so that the all-to-all transfers of one hide behind the computation of the other. At the ends the backward
/// is split. At equal times, and a pair no shorter than its parts, it takes 6m + 2(p - 1) with 2p + 1 activations
/// on every rank.
/// Source: DeepSeek-V3 (arXiv:2412.19437), github.com/deepseek-ai/DualPipe, PyTorch's ScheduleDualPipeV;
/// docs/pipeline.md.
///
///     constexpr auto plan = hocket::pipeline::dual_pipe_v::make({4, 2, 8}).value();
///     static_assert(plan.rank(0).size() == 39 && plan.peak_in_flight(0) == 9);
class dual_pipe_v : public detail::phased<dual_pipe_v> {
 public:
  constexpr dual_pipe_v() noexcept = default;

  /// Errors: errc::bad_shape if chunks != 2 or m < 2p.
  [[nodiscard]] static constexpr result<dual_pipe_v> make(const shape& s) noexcept {
    if (const auto ok = check(s); !ok) return ok.error();
    const error bad{errc::bad_shape, s.ranks, s.chunks, s.micro_batches};
    if (s.chunks != 2) return bad.with("dualpipev has two chunks per rank");
    if (s.micro_batches < 2 * s.ranks) return bad.with("dualpipev needs m of at least 2p");
    dual_pipe_v plan;
    plan.ranks_ = static_cast<std::uint32_t>(s.ranks);
    plan.micro_batches_ = static_cast<std::uint32_t>(s.micro_batches);
    return plan;
  }

  [[nodiscard]] constexpr std::uint32_t ranks() const noexcept { return ranks_; }
  [[nodiscard]] constexpr std::uint32_t chunks() const noexcept { return 2; }
  [[nodiscard]] constexpr std::uint32_t micro_batches() const noexcept { return micro_batches_; }
  [[nodiscard]] constexpr v_placement placement() const noexcept { return {ranks_}; }

  [[nodiscard]] constexpr std::uint32_t size(std::uint32_t rank) const noexcept {
    return detail::dual_pipe_size(ranks_, rank, micro_batches_);
  }
  friend constexpr bool operator==(const dual_pipe_v&, const dual_pipe_v&) = default;

 private:
  friend class detail::phased<dual_pipe_v>;

  [[nodiscard]] constexpr detail::phase_list phases(std::uint32_t rank) const noexcept {
    return detail::dual_pipe_phases(ranks_, rank, micro_batches_, 0);
  }
  std::uint32_t ranks_ = 1;
  std::uint32_t micro_batches_ = 2;
};

/// DualPipe: the same in both directions at once. Half of the micro-batches enter at each end of the pipeline, which
/// takes two copies of the weights: rank r holds stage r of the first direction and stage p - 1 - r of the second. Each
/// direction numbers its m / 2 micro-batches from 0, and ranks(), chunks() and micro_batches() speak of one direction.
/// Actions are `stage_action`s, which name their direction.
/// Source: as dual_pipe_v.
///
///     constexpr auto plan = hocket::pipeline::dual_pipe::make({.ranks = 4, .micro_batches = 8}).value();
///     static_assert(plan.directions() == 2 && plan.micro_batches() == 4 && plan.peak_in_flight(0) == 5);
class dual_pipe : public detail::phased<dual_pipe, stage_action> {
 public:
  constexpr dual_pipe() noexcept = default;

  /// @param s  ranks p, chunks 1 (in each direction), micro-batches m of both directions together
  /// Errors: errc::bad_shape if chunks != 1, p or m is odd, or m < 2p.
  [[nodiscard]] static constexpr result<dual_pipe> make(const shape& s) noexcept {
    if (const auto ok = check(s); !ok) return ok.error();
    const error bad{errc::bad_shape, s.ranks, s.chunks, s.micro_batches};
    if (s.chunks != 1) return bad.with("dualpipe has one chunk each way");
    if (s.ranks % 2 != 0) return bad.with("dualpipe needs an even p");
    if (s.micro_batches % 2 != 0) return bad.with("dualpipe needs an even m");
    if (s.micro_batches < 2 * s.ranks) return bad.with("dualpipe needs m of at least 2p");
    dual_pipe plan;
    plan.ranks_ = static_cast<std::uint32_t>(s.ranks);
    plan.micro_batches_ = static_cast<std::uint32_t>(s.micro_batches / 2);
    return plan;
  }

  [[nodiscard]] constexpr std::uint32_t ranks() const noexcept { return ranks_; }
  [[nodiscard]] constexpr std::uint32_t chunks() const noexcept { return 1; }
  [[nodiscard]] constexpr std::uint32_t micro_batches() const noexcept { return micro_batches_; }
  [[nodiscard]] constexpr std::uint32_t directions() const noexcept { return 2; }
  /// Of the first direction; the second is its mirror image.
  [[nodiscard]] constexpr loop_placement placement() const noexcept { return {ranks_}; }

  [[nodiscard]] constexpr std::uint32_t size(std::uint32_t rank) const noexcept {
    return detail::dual_pipe_size(ranks_ / 2, half_of(rank), micro_batches_);
  }
  friend constexpr bool operator==(const dual_pipe&, const dual_pipe&) = default;

 private:
  friend class detail::phased<dual_pipe, stage_action>;

  /// The list of one rank, with the direction for the chunk.
  [[nodiscard]] constexpr detail::phase_list phases(std::uint32_t rank) const noexcept {
    return detail::dual_pipe_phases(ranks_ / 2, half_of(rank), micro_batches_, rank < ranks_ / 2 ? 0 : 1);
  }
  [[nodiscard]] constexpr detail::action_run<stage_action> run_from(std::uint32_t rank,
                                                                    const detail::phase_list::lane& lane,
                                                                    std::uint32_t index) const noexcept {
    return {{lane.kind, stage_of(rank, lane.chunk), index, 0, lane.chunk, lane.joined}};
  }
  [[nodiscard]] constexpr detail::phase_list::place place_of(std::uint32_t rank, stage_action a) const noexcept {
    if (a.stage() != stage_of(rank, a.direction()) || a.slice() != 0) return {};
    return {a.kind(), a.direction(), a.micro_batch()};
  }
  [[nodiscard]] constexpr std::uint32_t stage_of(std::uint32_t rank, std::uint32_t direction) const noexcept {
    return direction == 0 ? rank : ranks_ - 1 - rank;
  }
  /// The place of a rank in its half, counted from where micro-batches enter.
  [[nodiscard]] constexpr std::uint32_t half_of(std::uint32_t rank) const noexcept {
    return rank < ranks_ / 2 ? rank : ranks_ - 1 - rank;
  }
  std::uint32_t ranks_ = 2;
  std::uint32_t micro_batches_ = 2;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
