// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/ticks.hpp>
#include <hocket/pipeline/action.hpp>

#include <concepts>
#include <cstdint>
#include <span>

namespace hocket::inline HOCKET_ABI::pipeline {

/// How long things take: a policy that a host replaces by its own measurements. Both answers are >= 0.
/// `duration(a)` is the time that action occupies its rank; `latency(from, to)` the time between the end of an action
/// on one rank and the earliest start of what needs its result on another. Optional members, picked up where they are:
/// `joined(a, b)`: the time of two actions that run at once, at least the longer of the two (default: the sum);
/// `transfer(a, from, to)`: the time for which the result of `a` occupies the link between two ranks, one transfer
/// after another, before the latency (default: links carry everything at once); `memory_change(a)`: bytes that the rank
/// takes (> 0) when `a` starts or lets go (< 0) when it ends; `static constexpr bool same_for_micro_batches = true`: a
/// promise that durations depend on op and stage alone, which makes the lower bounds of a run O(stages).
template <class C>
concept cost_policy = requires(const C& c, stage_action a, std::uint32_t rank) {
  { c.duration(a) } -> std::convertible_to<ticks>;
  { c.latency(rank, rank) } -> std::convertible_to<ticks>;
};

namespace detail {

template <class C>
concept linked_costs = requires(const C& c, stage_action a, std::uint32_t rank) {
  { c.transfer(a, rank, rank) } -> std::convertible_to<ticks>;
};
template <class C>
concept byte_costs = requires(const C& c, stage_action a) {
  { c.memory_change(a) } -> std::convertible_to<std::int64_t>;
};
template <class C>
concept uniform_costs = requires { requires C::same_for_micro_batches; };

}  // namespace detail

/// The same times for all stages and micro-batches. Ops that do not compute take no time.
///
///     static_assert(hocket::pipeline::costs{.forward = 2}.duration({hocket::pipeline::op::forward, 0, 0}) == 2);
struct costs {
  static constexpr bool same_for_micro_batches = true;
  ticks forward = 1;
  ticks backward = 2;     ///< the whole backward pass
  ticks input_grad = 1;   ///< its half that the previous stage waits for
  ticks weight_grad = 1;  ///< its other half
  ticks hop = 0;          ///< from one rank to another

  [[nodiscard]] constexpr ticks duration(stage_action a) const noexcept {
    switch (a.kind()) {
      case op::forward: return forward;
      case op::backward: return backward;
      case op::input_grad: return input_grad;
      case op::weight_grad: return weight_grad;
      default: return 0;
    }
  }
  [[nodiscard]] constexpr ticks latency(std::uint32_t, std::uint32_t) const noexcept { return hop; }
};

/// Times that differ from stage to stage: an embedding in front, a vocabulary at the end, uneven cuts.
/// Each span holds one value per stage and is borrowed; input_grad and weight_grad may be empty if no schedule splits.
struct stage_costs {
  static constexpr bool same_for_micro_batches = true;
  std::span<const ticks> forward;
  std::span<const ticks> backward;
  std::span<const ticks> input_grad{};
  std::span<const ticks> weight_grad{};
  ticks hop = 0;

  [[nodiscard]] constexpr ticks duration(stage_action a) const noexcept {
    switch (a.kind()) {
      case op::forward: return of(forward, a);
      case op::backward: return of(backward, a);
      case op::input_grad: return of(input_grad, a);
      case op::weight_grad: return of(weight_grad, a);
      default: return 0;
    }
  }
  [[nodiscard]] constexpr ticks latency(std::uint32_t, std::uint32_t) const noexcept { return hop; }

 private:
  [[nodiscard]] static constexpr ticks of(std::span<const ticks> times, stage_action a) noexcept {
    HOCKET_ASSERT(a.stage() < times.size());
    return times[a.stage()];
  }
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
