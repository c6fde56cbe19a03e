// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/core/borrowed.hpp>
#include <hocket/core/result.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/pipeline/action.hpp>

#include <concepts>
#include <cstdint>
#include <limits>

namespace hocket::inline HOCKET_ABI::pipeline {

/// How long things take: a policy that a host replaces by its own measurements. Both answers are >= 0.
/// `duration(a)` is the time that action occupies its rank; `latency(from, to)` the time between the end of an action
/// on one rank and the earliest start of what needs its result on another. Optional members, used where they are:
///
/// | member | says | without it |
/// |---|---|---|
/// | `joined(a, b)` | the time of two actions that run at once, at least the longer of the two | the sum |
/// | `transfer(a, from, to)` | how long the result of `a` occupies the link, before the latency | no time |
/// | `memory_change(a)` | bytes that the rank takes (> 0) when `a` starts or lets go (< 0) when it ends | unknown |
/// | `knows(a)` | whether it has a time for the action; planner::solve asks first | it has |
/// | `static same_for_micro_batches` | true: times depend on kind and stage alone; bounds are then O(stages) | false |
/// | `static ticks_per_second` | the unit of its ticks, which timelines take over | the caller's own business |
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

/// What a policy says of its unit; 0 if it does not.
template <class C>
inline constexpr std::int64_t ticks_per_second_of = 0;
template <class C>
  requires requires { C::ticks_per_second; }
inline constexpr std::int64_t ticks_per_second_of<C> = C::ticks_per_second;

}  // namespace detail

/// The same times for all stages and micro-batches. Ops that do not compute take no time.
///
///     static_assert(hocket::pipeline::costs{.forward = 2}.duration({hocket::pipeline::action_kind::forward, 0, 0}) ==
///     2);
struct costs {
  static constexpr bool same_for_micro_batches = true;
  ticks forward = 1;
  ticks backward = 2;     ///< the whole backward pass
  ticks input_grad = 1;   ///< its half that the previous stage waits for
  ticks weight_grad = 1;  ///< its other half
  ticks hop = 0;          ///< from one rank to another
  ticks overlap = 100;    ///< time of a pair in percent of the sum of the two, but never less than the longer

  /// The time of two actions that run at once; the largest number of ticks where there are not so many.
  [[nodiscard]] constexpr ticks joined(stage_action a, stage_action b) const noexcept {
    __extension__ using wide = __int128;
    constexpr ticks most = (std::numeric_limits<ticks>::max)();
    const ticks x = duration(a), y = duration(b), longer = x > y ? x : y;
    const wide sum = wide{x} + y, both = overlap == 100 ? sum : (sum * overlap + 99) / 100;
    return both < longer ? longer : both < most ? static_cast<ticks>(both) : most;
  }
  [[nodiscard]] constexpr ticks duration(stage_action a) const noexcept {
    switch (a.kind()) {
      case action_kind::forward: return forward;
      case action_kind::backward: return backward;
      case action_kind::input_grad: return input_grad;
      case action_kind::weight_grad: return weight_grad;
      default: return 0;
    }
  }
  [[nodiscard]] constexpr ticks latency(std::uint32_t, std::uint32_t) const noexcept { return hop; }
};

/// `costs` with a unit: durations go in, ticks of one `Duration` come out, and a timeline of the run knows how long
/// they are. What Duration cannot hold exactly does not compile.
///
///     using namespace std::chrono_literals;
///     using measured = hocket::pipeline::costs_in<std::chrono::microseconds>;
///     simulate(plan, measured{.forward = 26ms, .backward = 52ms, .hop = 849us});
template <class Duration>
  requires std::integral<typename Duration::rep> && (Duration::period::num == 1)
struct costs_in {
  static constexpr bool same_for_micro_batches = true;
  static constexpr std::int64_t ticks_per_second = Duration::period::den;
  Duration forward{};
  Duration backward{};
  Duration input_grad{};
  Duration weight_grad{};
  Duration hop{};
  std::int64_t overlap = 100;  ///< percent, as in costs

  /// The same without the unit.
  [[nodiscard]] constexpr costs in_ticks() const noexcept {
    return {forward.count(), backward.count(), input_grad.count(), weight_grad.count(), hop.count(), overlap};
  }
  [[nodiscard]] constexpr ticks joined(stage_action a, stage_action b) const noexcept {
    return in_ticks().joined(a, b);
  }
  [[nodiscard]] constexpr ticks duration(stage_action a) const noexcept { return in_ticks().duration(a); }
  [[nodiscard]] constexpr ticks latency(std::uint32_t, std::uint32_t) const noexcept { return hop.count(); }
};

namespace detail {
/// The member with the times of one op, or null for what is no work.
template <class Costs>
constexpr auto times_of(const Costs& costs, action_kind kind) noexcept -> decltype(&costs.forward) {
  switch (kind) {
    case action_kind::forward: return &costs.forward;
    case action_kind::backward: return &costs.backward;
    case action_kind::input_grad: return &costs.input_grad;
    case action_kind::weight_grad: return &costs.weight_grad;
    default: return nullptr;
  }
}
}  // namespace detail

/// Times that differ from stage to stage: an embedding in front, a vocabulary at the end, uneven cuts.
/// Each list holds one value per stage; input_grad and weight_grad may be empty if no schedule splits.
struct stage_costs {
  static constexpr bool same_for_micro_batches = true;
  borrowed<ticks> forward;
  borrowed<ticks> backward;
  borrowed<ticks> input_grad{};
  borrowed<ticks> weight_grad{};
  ticks hop = 0;

  [[nodiscard]] constexpr ticks duration(stage_action a) const noexcept {
    const borrowed<ticks>* const times = detail::times_of(*this, a.kind());
    return times == nullptr ? 0 : of(*times, a);
  }
  [[nodiscard]] constexpr bool knows(stage_action a) const noexcept {
    const borrowed<ticks>* const times = detail::times_of(*this, a.kind());
    return times == nullptr || a.stage() < times->size();
  }
  [[nodiscard]] constexpr ticks latency(std::uint32_t, std::uint32_t) const noexcept { return hop; }

 private:
  [[nodiscard]] static constexpr ticks of(const borrowed<ticks>& times, stage_action a) noexcept {
    HOCKET_ASSERT(a.stage() < times.size());
    return times[a.stage()];
  }
};

/// Times of every piece of work by itself: a long document in one micro-batch, a rank that slows down. Each list holds
/// one value per (stage, micro-batch, slice), slices next to each other, then micro-batches; it may be empty for ops
/// that do not occur.
struct unit_costs {
  borrowed<ticks> forward;
  borrowed<ticks> backward;
  borrowed<ticks> input_grad{};
  borrowed<ticks> weight_grad{};
  std::uint32_t micro_batches = 1;
  std::uint32_t slices = 1;
  ticks hop = 0;

  [[nodiscard]] constexpr ticks duration(stage_action a) const noexcept {
    const borrowed<ticks>* const times = detail::times_of(*this, a.kind());
    return times == nullptr ? 0 : of(*times, a);
  }
  [[nodiscard]] constexpr bool knows(stage_action a) const noexcept {
    const borrowed<ticks>* const times = detail::times_of(*this, a.kind());
    return times == nullptr || place_of(a) < times->size();
  }
  [[nodiscard]] constexpr ticks latency(std::uint32_t, std::uint32_t) const noexcept { return hop; }

 private:
  [[nodiscard]] constexpr std::size_t place_of(stage_action a) const noexcept {
    return (std::size_t{a.stage()} * micro_batches + a.micro_batch()) * slices + a.slice();
  }
  [[nodiscard]] constexpr ticks of(const borrowed<ticks>& times, stage_action a) const noexcept {
    HOCKET_ASSERT(place_of(a) < times.size());
    return times[place_of(a)];
  }
};

/// Links that carry one transfer after another: a policy with bandwidth on top of one with times and latencies, whose
/// other members stay as they are.
/// What a stage hands to the next (and its gradient on the way back) has a size: one value per stage.
///
///     const std::int64_t bytes[] = {4096, 4096, 4096, 4096};
///     const with_links<costs> slow{costs{.forward = 100, .backward = 200, .hop = 5}, bytes, 64};
///     slow.transfer({action_kind::forward, 0, 0}, 0, 1) == 64;
template <cost_policy C>
struct with_links : C {
  borrowed<std::int64_t> bytes;     ///< of the output of each stage
  std::int64_t bytes_per_tick = 1;  ///< of every link, >= 1
  /// Ticks for which the link is occupied: rounded up.
  [[nodiscard]] constexpr ticks transfer(stage_action a, std::uint32_t, std::uint32_t) const {
    const std::uint32_t boundary = a.kind() == action_kind::forward ? a.stage() : a.stage() - 1;
    HOCKET_ASSERT(boundary < bytes.size() && bytes_per_tick >= 1);
    return ceil_div(bytes[boundary], bytes_per_tick);
  }
};

/// What activations weigh: bytes that the forward of each stage keeps for its backward, one value per stage.
/// Where the input gradient is apart, its weight gradient lets go. `checkpoint`, if not empty, is what a forward keeps
/// where a `recompute` brings back the rest; offload and reload move all of it.
template <cost_policy C>
struct with_memory : C {
  borrowed<std::int64_t> activation;
  borrowed<std::int64_t> checkpoint{};

  [[nodiscard]] constexpr std::int64_t memory_change(stage_action a) const {
    const std::uint32_t s = a.stage();
    const std::int64_t all = s < activation.size() ? activation[s] : 0;
    const std::int64_t kept = s < checkpoint.size() ? checkpoint[s] : all;
    switch (a.kind()) {
      case action_kind::forward: return kept;
      case action_kind::recompute: return all - kept;
      case action_kind::offload: return -kept;
      case action_kind::reload: return kept;
      case action_kind::backward:
      case action_kind::weight_grad: return -all;
      default: return 0;
    }
  }
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
