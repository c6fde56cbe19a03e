// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/core/borrowed.hpp>
#include <hocket/core/detail/names_member.hpp>
#include <hocket/core/int128.hpp>
#include <hocket/core/result.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/pipeline/action.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

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

HOCKET_NAMES_MEMBER(joined)
HOCKET_NAMES_MEMBER(transfer)
HOCKET_NAMES_MEMBER(memory_change)
HOCKET_NAMES_MEMBER(knows)
HOCKET_NAMES_MEMBER(same_for_micro_batches)
HOCKET_NAMES_MEMBER(ticks_per_second)

template <class C>
concept joined_costs = requires(const C& c, stage_action a) {
  { c.joined(a, a) } -> std::convertible_to<ticks>;
};
template <class C>
concept knowing_costs = requires(const C& c, stage_action a) {
  { c.knows(a) } -> std::convertible_to<bool>;
};
template <class C>
concept linked_costs = requires(const C& c, stage_action a, std::uint32_t rank) {
  { c.transfer(a, rank, rank) } -> std::convertible_to<ticks>;
};
template <class C>
concept byte_costs = requires(const C& c, stage_action a) {
  { c.memory_change(a) } -> std::convertible_to<std::int64_t>;
};
template <class C>
concept uniform_costs = requires { requires std::bool_constant<C::same_for_micro_batches>::value; };

/// True; but if C is no cost policy, or an optional member cannot be used, the compiler says which member it should
/// have: for `static_assert(is_cost_policy<C>())`.
template <class C>
consteval bool is_cost_policy() {
  static_assert(
      requires(const C& c, stage_action a) {
        { c.duration(a) } -> std::convertible_to<ticks>;
      }, "hocket: a cost policy needs `ticks duration(stage_action) const`");
  static_assert(
      requires(const C& c) {
        { c.latency(0u, 0u) } -> std::convertible_to<ticks>;
      }, "hocket: a cost policy needs `ticks latency(std::uint32_t from_rank, std::uint32_t to_rank) const`");
  static_assert(!names_joined<C> || joined_costs<C>,
                "hocket: joined of a cost policy must be `ticks joined(stage_action, stage_action) const`");
  static_assert(!names_transfer<C> || linked_costs<C>,
                "hocket: transfer of a cost policy must be "
                "`ticks transfer(stage_action, std::uint32_t from_rank, std::uint32_t to_rank) const`");
  static_assert(!names_memory_change<C> || byte_costs<C>,
                "hocket: memory_change of a cost policy must be `std::int64_t memory_change(stage_action) const`");
  static_assert(!names_knows<C> || knowing_costs<C>,
                "hocket: knows of a cost policy must be `bool knows(stage_action) const`");
  static_assert(
      !names_same_for_micro_batches<C> || requires { std::bool_constant<C::same_for_micro_batches>{}; },
      "hocket: same_for_micro_batches of a cost policy must be a `static constexpr bool`");
  static_assert(
      !names_ticks_per_second<C> || requires { std::integral_constant<std::int64_t, C::ticks_per_second>{}; },
      "hocket: ticks_per_second of a cost policy must be a `static constexpr std::int64_t`");
  return true;
}

/// What a policy says of its unit; 0 if it does not.
template <class C>
inline constexpr std::int64_t ticks_per_second_of = 0;
template <class C>
  requires requires { std::integral_constant<std::int64_t, C::ticks_per_second>{}; }
inline constexpr std::int64_t ticks_per_second_of<C> = C::ticks_per_second;

/// The sum of two times; the largest number of ticks where there are not so many.
[[nodiscard]] constexpr ticks saturated_sum(ticks a, ticks b) noexcept {
  ticks sum = 0;
  return checked_add(a, b, sum) ? sum : (std::numeric_limits<ticks>::max)();
}

}  // namespace detail

/// How long a backward takes, whole and in its two halves. Each of them is set whichever is given: a whole time is
/// halved, the input gradient, for which the previous stage waits, takes the odd tick; two halves add up.
///
///     costs{.backward = 5}          // whole 5, input gradient 3, weight gradient 2
///     costs{.backward = {3, 4}}     // input gradient 3, weight gradient 4, whole 7
///     costs{.backward = {3, 4, 6}}  // a fused kernel is faster than its halves
template <class Time>
struct backward_times {
  Time whole;
  Time input_grad;   ///< the half that the previous stage waits for
  Time weight_grad;  ///< the other half

  // The parameters have long names because of g++ 12: it warns in the host's file where a host's global has the same.
  template <class T>
    requires requires(T whole_time) { Time{whole_time}; }  // braces: what does not fit is refused
  constexpr backward_times(T whole_time) noexcept
      : whole{whole_time}, input_grad(whole - whole / 2), weight_grad(whole / 2) {}
  constexpr backward_times(Time input_grad_time, Time weight_grad_time) noexcept
      : backward_times(input_grad_time, weight_grad_time, sum(input_grad_time, weight_grad_time)) {}
  constexpr backward_times(Time input_grad_time, Time weight_grad_time, Time whole_time) noexcept
      : whole(whole_time), input_grad(input_grad_time), weight_grad(weight_grad_time) {}
  friend constexpr bool operator==(const backward_times&, const backward_times&) = default;

 private:
  [[nodiscard]] static constexpr Time sum(Time a, Time b) noexcept {
    if constexpr (std::integral<Time>) return detail::saturated_sum(a, b);
    else return Time(detail::saturated_sum(a.count(), b.count()));
  }
};

/// The same times for all stages and micro-batches. Ops that do not compute take no time.
///
///     using namespace hocket::pipeline;
///     static_assert(costs{.forward = 2}.duration({action_kind::forward, 0, 0}) == 2);
struct costs {
  static constexpr bool same_for_micro_batches = true;
  ticks forward = 1;
  backward_times<ticks> backward = 2;  ///< whole, or {input gradient, weight gradient}
  ticks hop = 0;                       ///< from one rank to another
  ticks overlap = 100;                 ///< time of a pair in percent of the sum of the two, but at least the longer

  /// The time of two actions that run at once; the largest number of ticks where there are not so many.
  [[nodiscard]] constexpr ticks joined(stage_action a, stage_action b) const noexcept {
    constexpr ticks max_ticks = (std::numeric_limits<ticks>::max)();
    const ticks x = duration(a), y = duration(b), longer = x > y ? x : y;
    const int128 sum = int128{x} + y, both = overlap == 100 ? sum : (sum * overlap + 99) / 100;
    return both < longer ? longer : both < max_ticks ? static_cast<ticks>(both) : max_ticks;
  }
  [[nodiscard]] constexpr ticks duration(stage_action a) const noexcept {
    switch (a.kind()) {
      case action_kind::forward: return forward;
      case action_kind::backward: return backward.whole;
      case action_kind::input_grad: return backward.input_grad;
      case action_kind::weight_grad: return backward.weight_grad;
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
  backward_times<Duration> backward = Duration{};  ///< whole, or {input gradient, weight gradient}
  Duration hop{};
  std::int64_t overlap = 100;  ///< percent, as in costs

  /// The same without the unit.
  [[nodiscard]] constexpr costs in_ticks() const noexcept {
    return {forward.count(),
            {backward.input_grad.count(), backward.weight_grad.count(), backward.whole.count()},
            hop.count(),
            overlap};
  }
  [[nodiscard]] constexpr ticks joined(stage_action a, stage_action b) const noexcept {
    return in_ticks().joined(a, b);
  }
  [[nodiscard]] constexpr ticks duration(stage_action a) const noexcept { return in_ticks().duration(a); }
  [[nodiscard]] constexpr ticks latency(std::uint32_t, std::uint32_t) const noexcept { return hop.count(); }
};

namespace detail {

/// Whether lists of times by kind have one for an op at a place of theirs. What is no work needs none.
template <class Lists>
[[nodiscard]] constexpr bool has_time(const Lists& lists, action_kind kind, std::size_t at) noexcept {
  const bool whole = at < lists.backward.size();
  switch (kind) {
    case action_kind::forward: return at < lists.forward.size();
    case action_kind::backward: return whole || (at < lists.input_grad.size() && at < lists.weight_grad.size());
    case action_kind::input_grad: return at < lists.input_grad.size() || (lists.input_grad.empty() && whole);
    case action_kind::weight_grad: return at < lists.weight_grad.size() || (lists.weight_grad.empty() && whole);
    default: return true;
  }
}
/// That time. Of the backward and its halves, an empty list follows from the others as in backward_times.
template <class Lists>
[[nodiscard]] constexpr ticks time_in(const Lists& lists, action_kind kind, std::size_t at) noexcept {
  HOCKET_ASSERT(has_time(lists, kind, at));
  switch (kind) {
    case action_kind::forward: return lists.forward[at];
    case action_kind::backward:
      if (lists.backward.empty()) return saturated_sum(lists.input_grad[at], lists.weight_grad[at]);
      return lists.backward[at];
    case action_kind::input_grad:
      return lists.input_grad.empty() ? backward_times<ticks>(lists.backward[at]).input_grad : lists.input_grad[at];
    case action_kind::weight_grad:
      return lists.weight_grad.empty() ? backward_times<ticks>(lists.backward[at]).weight_grad : lists.weight_grad[at];
    default: return 0;
  }
}

}  // namespace detail

/// Times that differ from stage to stage: an embedding in front, a vocabulary at the end, uneven cuts.
/// Each list holds one value per stage. `backward` may be empty if both its halves are given, and they if it is: see
/// backward_times.
struct stage_costs {
  static constexpr bool same_for_micro_batches = true;
  borrowed<ticks> forward;
  borrowed<ticks> backward{};
  borrowed<ticks> input_grad{};
  borrowed<ticks> weight_grad{};
  ticks hop = 0;

  [[nodiscard]] constexpr ticks duration(stage_action a) const noexcept {
    return detail::time_in(*this, a.kind(), a.stage());
  }
  [[nodiscard]] constexpr bool knows(stage_action a) const noexcept {
    return detail::has_time(*this, a.kind(), a.stage());
  }
  [[nodiscard]] constexpr ticks latency(std::uint32_t, std::uint32_t) const noexcept { return hop; }
};

/// Times of every piece of work by itself: a long document in one micro-batch, a rank that slows down. Each list holds
/// one value per (stage, micro-batch, slice), slices next to each other, then micro-batches. Lists may be empty as in
/// stage_costs.
struct unit_costs {
  borrowed<ticks> forward;
  borrowed<ticks> backward{};
  borrowed<ticks> input_grad{};
  borrowed<ticks> weight_grad{};
  std::uint32_t micro_batches = 1;
  std::uint32_t slices = 1;
  ticks hop = 0;

  [[nodiscard]] constexpr ticks duration(stage_action a) const noexcept {
    return detail::time_in(*this, a.kind(), place_of(a));
  }
  [[nodiscard]] constexpr bool knows(stage_action a) const noexcept {
    return detail::has_time(*this, a.kind(), place_of(a));
  }
  [[nodiscard]] constexpr ticks latency(std::uint32_t, std::uint32_t) const noexcept { return hop; }

 private:
  [[nodiscard]] constexpr std::size_t place_of(stage_action a) const noexcept {
    return (std::size_t{a.stage()} * micro_batches + a.micro_batch()) * slices + a.slice();
  }
};

/// Links that carry one transfer after another: a policy with bandwidth on top of one with times and latencies, whose
/// other members stay as they are. What a stage hands to the next (and its gradient on the way back) has a size: one
/// value per stage.
///
///     const std::int64_t bytes[] = {4096, 4096, 4096, 4096};
///     const with_links<costs> slow{costs{.forward = 100, .backward = 200, .hop = 5}, bytes, 64};
///     slow.transfer({action_kind::forward, 0, 0}, 0, 1) == 64;
template <cost_policy C>
struct with_links : C {
  borrowed<std::int64_t> bytes;     ///< of the output of each stage
  std::int64_t bytes_per_tick = 1;  ///< of every link, >= 1
  /// Not where the list of bytes is too short, nor without bandwidth: then simulate refuses in a sentence.
  [[nodiscard]] constexpr bool knows(stage_action a) const {
    if constexpr (detail::knowing_costs<C>)
      if (!C::knows(a)) return false;
    return bytes_per_tick >= 1 && (!is_compute(a.kind()) || a.stage() < bytes.size());
  }
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
