// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/detail/names_member.hpp>
#include <hocket/core/result.hpp>
#include <hocket/pipeline/action.hpp>
#include <hocket/pipeline/placement.hpp>
#include <hocket/pipeline/shape.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace hocket::inline HOCKET_ABI::pipeline {

/// What every algorithm here asks of a schedule: a value that knows its shape and the action at each step of each rank.
/// A rank runs its list in order. Optional members, used where they exist:
///
/// | member | says | without it |
/// |---|---|---|
/// | `slices()` | sequence slices per micro-batch | 1 |
/// | `directions()` | 2: `at` returns a stage_action | 1 |
/// | `step_of(rank, action)`, `peak_in_flight(rank)`, `counts(rank)` | facts in O(1) | the list is read |
/// | `fill(rank, out, first)` | writes as many steps from `first` on as fit and are left, returns how many | `at` |
///
///     struct mine {                                              // one rank, one chunk: F0 B0 F1 B1 …
///       std::uint32_t m;
///       constexpr std::uint32_t ranks() const { return 1; }
///       constexpr std::uint32_t chunks() const { return 1; }
///       constexpr std::uint32_t micro_batches() const { return m; }
///       constexpr std::uint32_t size(std::uint32_t) const { return 2 * m; }
///       constexpr auto at(std::uint32_t, std::uint32_t i) const {
///         using namespace hocket::pipeline;
///         return action(i % 2 == 0 ? action_kind::forward : action_kind::backward, 0, i / 2);
///       }
///       constexpr auto placement() const { return hocket::pipeline::loop_placement{1}; }
///     };
///     static_assert(hocket::pipeline::schedule<mine>);
template <class S>
concept schedule = requires(const S& s, std::uint32_t x) {
  { s.ranks() } -> std::convertible_to<std::uint32_t>;
  { s.chunks() } -> std::convertible_to<std::uint32_t>;
  { s.micro_batches() } -> std::convertible_to<std::uint32_t>;
  { s.size(x) } -> std::convertible_to<std::uint32_t>;
  { s.placement() } -> placement_policy;
  requires std::same_as<decltype(s.at(x, x)), action> || std::same_as<decltype(s.at(x, x)), stage_action>;
};

namespace detail {

HOCKET_NAMES_MEMBER(slices)
HOCKET_NAMES_MEMBER(directions)

template <class T>
concept count_type = std::convertible_to<T, std::uint32_t>;
template <class T>
concept action_type = std::same_as<T, action> || std::same_as<T, stage_action>;

template <class S>
consteval bool has_schedule_members() {
  static_assert(
      requires(const S& s) {
        { s.ranks() } -> count_type;
      }, "hocket: a schedule needs `std::uint32_t ranks() const`");
  static_assert(
      requires(const S& s) {
        { s.chunks() } -> count_type;
      }, "hocket: a schedule needs `std::uint32_t chunks() const`");
  static_assert(
      requires(const S& s) {
        { s.micro_batches() } -> count_type;
      }, "hocket: a schedule needs `std::uint32_t micro_batches() const`");
  static_assert(
      requires(const S& s) {
        { s.size(0u) } -> count_type;
      }, "hocket: a schedule needs `std::uint32_t size(std::uint32_t rank) const`");
  static_assert(
      requires(const S& s) {
        { s.at(0u, 0u) } -> action_type;
      },
      "hocket: a schedule needs `action at(std::uint32_t rank, std::uint32_t step) const`, or the same with "
      "stage_action");
  static_assert(
      requires(const S& s) {
        { s.placement() } -> placement_policy;
      }, "hocket: a schedule needs `placement() const`, which returns a placement_policy such as loop_placement");
  static_assert(
      !names_slices<S> || requires(const S& s) {
        { s.slices() } -> count_type;
      }, "hocket: slices of a schedule must be `std::uint32_t slices() const`");
  static_assert(
      !names_directions<S> || requires(const S& s) {
        { s.directions() } -> count_type;
      }, "hocket: directions of a schedule must be `std::uint32_t directions() const`");
  return true;
}

/// True; but if S is no schedule, or an optional member cannot be used, the compiler says which member it should have:
/// for `static_assert(is_schedule<S>())`.
template <class S>
consteval bool is_schedule() {
  if constexpr (hocket::detail::is_result<S>)
    static_assert(!hocket::detail::is_result<S>,
                  "hocket: this is a result, not the schedule in it: check it, and pass plan.value() or *plan");
  else return has_schedule_members<S>();
  return true;
}

}  // namespace detail

/// The shape of a schedule.
template <schedule S>
[[nodiscard]] constexpr shape shape_of(const S& s) noexcept {
  return {.ranks = s.ranks(), .chunks = s.chunks(), .micro_batches = s.micro_batches()};
}

/// Sequence slices per micro-batch: what the schedule says, else 1.
template <schedule S>
[[nodiscard]] constexpr std::uint32_t slices_of(const S& s) noexcept {
  if constexpr (requires { s.slices(); }) return s.slices();
  else return 1;
}

/// Pipelines that run through the same ranks: 2 if the schedule says so, else 1. The second runs the stages in the
/// opposite direction, with micro-batches (and a copy of the weights) of its own; shape and counts are per direction.
template <schedule S>
[[nodiscard]] constexpr std::uint32_t directions_of(const S& s) noexcept {
  if constexpr (requires { s.directions(); }) return s.directions();
  else return 1;
}

/// The rank of a stage in a direction: what the placement says (`rank_of(stage, direction)`), else the mirror image.
template <placement_policy P>
[[nodiscard]] constexpr std::uint32_t rank_of(const P& place, std::uint32_t ranks, std::uint32_t stage,
                                              std::uint32_t direction) noexcept {
  if (direction == 0) return place.rank_of(stage);
  if constexpr (requires { place.rank_of(stage, direction); }) return place.rank_of(stage, direction);
  else return ranks - 1 - place.rank_of(stage);
}

/// An action of a rank in its form for interchange, whichever form the schedule stores.
template <schedule S, class Action>
[[nodiscard]] constexpr stage_action to_stage_action(const S& plan, std::uint32_t rank, Action a) noexcept {
  if constexpr (std::is_same_v<Action, stage_action>) return a;
  else return {a.kind(), plan.placement().stage(rank, a.chunk()), a.micro_batch(), 0, 0, a.joined()};
}

/// The action at a step in its form for interchange.
template <schedule S>
[[nodiscard]] constexpr stage_action stage_action_at(const S& plan, std::uint32_t rank, std::uint32_t step) noexcept {
  return to_stage_action(plan, rank, plan.at(rank, step));
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
