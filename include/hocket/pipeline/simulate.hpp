// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/check.hpp>
#include <hocket/pipeline/run.hpp>
#include <hocket/pipeline/workspace.hpp>
#include <hocket/timeline/timeline.hpp>

#include <charconv>
#include <cstdint>
#include <memory_resource>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline {

/// A simulated run.
struct simulation : run_summary {
  std::pmr::vector<rank_report> ranks;

  /// The part of its time that a rank idles on average, in [0, 1).
  [[nodiscard]] double bubble() const noexcept {
    double idle = 0;
    for (const rank_report& r : ranks) idle += static_cast<double>(r.idle);
    const double all = static_cast<double>(makespan) * static_cast<double>(ranks.size());
    return all > 0 ? idle / all : 0;
  }
};

/// The bar in which a timeline shows an action.
[[nodiscard]] constexpr activity activity_of(action_kind kind) noexcept {
  switch (kind) {
    case action_kind::forward: return activity::forward;
    case action_kind::backward: return activity::backward;
    case action_kind::input_grad: return activity::input_grad;
    case action_kind::weight_grad: return activity::weight_grad;
    case action_kind::optimizer: return activity::optimizer;
    case action_kind::recompute: return activity::recompute;
    case action_kind::idle: return activity::wait;
    default: return activity::communication;
  }
}

namespace detail {

/// Writes each action with a duration as a bar, and with each the number of activations held (or bytes, where the cost
/// policy knows them), into a timeline that has a lane for every rank from `first_lane` on. The second direction of a
/// bidirectional schedule has the shades of further chunks.
template <schedule S, cost_policy C>
struct timeline_sink {
  const S& plan;
  const C& costs;
  timeline& into;
  std::uint32_t first_lane = 0;
  std::pmr::vector<blocked>* cycle;  ///< filled if the schedule deadlocks; may be null

  void on_action(std::uint32_t rank, std::uint32_t, stage_action a, ticks start, ticks finish) {
    if constexpr (byte_costs<C>) {
      const std::int64_t change = costs.memory_change(a);
      if (change != 0) into.add_change({.at = change > 0 ? start : finish, .lane = first_lane + rank, .by = change});
    } else {
      if (a.kind() == action_kind::forward || a.kind() == action_kind::reload)
        into.add_change({.at = start, .lane = first_lane + rank, .by = 1});
      if (a.kind() == action_kind::backward || a.kind() == action_kind::weight_grad || a.kind() == action_kind::offload)
        into.add_change({.at = finish, .lane = first_lane + rank, .by = -1});
    }
    if (finish == start) return;
    into.add({.start = start,
              .finish = finish,
              .lane = first_lane + rank,
              .kind = activity_of(a.kind()),
              .chunk = static_cast<std::uint16_t>(plan.placement().chunk_of(a.stage()) + a.direction() * plan.chunks()),
              .id = a.stage(),
              .micro_batch =
                  a.micro_batch() == stage_action::no_micro_batch ? -1 : static_cast<std::int32_t>(a.micro_batch())});
  }
  void on_blocked(const blocked& b) {
    if (cycle != nullptr) cycle->push_back(b);
  }
};

}  // namespace detail

struct simulate_options {
  /// If not null: a lane per rank ("rank 0", …) is appended, with bars and activations. A timeline without lanes takes
  /// over the unit of costs that have one.
  timeline* into = nullptr;
};

/// How long a schedule takes, where it idles, how many activations each rank holds, and how far that is from the
/// least possible.
/// @param costs   durations and latencies in ticks: `costs` (also if none are given), `stage_costs`, `unit_costs`, one
///                of them in `with_links` or `with_memory`, or the host's own policy
/// @param witness  after errc::deadlock: the shortest cycle of ranks that wait for each other
/// @param memory  where results and working memory come from
/// Errors: errc::deadlock, incomplete_schedule, duplicate_action, overflow, limit_exceeded; untimed_action if the costs
/// know that they have no time for an action (lists that are too short); invalid_argument for a negative time, and if
/// `options.into` has lanes in another unit than the costs. After an error `options.into` is as before. Complexity:
/// O(actions) time, memory: see basic_workspace.
///
///     const auto plan = hocket::pipeline::interleaved::make({.ranks = 4, .chunks = 2, .micro_batches = 9}).value();
///     const auto run = hocket::pipeline::simulate(plan, hocket::pipeline::costs{.forward = 1, .backward = 1});
///     run->makespan == 42 && run->lower_bound == 42;
template <schedule S, cost_policy C = costs>
[[nodiscard]] result<simulation> simulate(const S& plan, const C& costs = {}, const simulate_options& options = {},
                                          std::pmr::vector<blocked>* witness = nullptr,
                                          std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  static_assert(detail::is_cost_policy<C>());
  workspace room{std::pmr::polymorphic_allocator<std::byte>(memory)};
  if (witness != nullptr) witness->clear();
  timeline drawn(memory);
  detail::timeline_sink<S, C> sink{plan, costs, drawn, 0, witness};
  if (options.into != nullptr) {
    constexpr std::int64_t unit = detail::ticks_per_second_of<C>;
    drawn.ticks_per_second = unit != 0 ? unit : options.into->ticks_per_second;
    if (options.into->lane_count() > 0 && options.into->ticks_per_second != drawn.ticks_per_second)
      return error{errc::invalid_argument, options.into->ticks_per_second}.with("the unit of a timeline with lanes");
    for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
      char name[24] = "rank ";
      const auto end = std::to_chars(name + 5, name + sizeof name, r).ptr;
      drawn.add_lane(std::string_view(name, static_cast<std::size_t>(end - name)));
    }
  }
  const auto ran =
      options.into != nullptr ? run(plan, costs, room, sink) : run(plan, costs, room, detail::cycle_sink{witness});
  if (!ran) return ran.error();
  simulation answer{*ran, std::pmr::vector<rank_report>(memory)};
  answer.ranks.reserve(plan.ranks());
  for (const auto& lane : room.lanes) answer.ranks.push_back(lane.report);
  if (options.into != nullptr) {
    drawn.add_mark(ran->lower_bound, "lower bound");
    options.into->ticks_per_second = drawn.ticks_per_second;
    options.into->append(drawn);
  }
  return answer;
}

// Not a schedule, or not costs: the member that is missing in place of "no matching function".
template <class S, class C = costs>
  requires(!schedule<S> || !cost_policy<C>)
result<simulation> simulate(const S&, const C& = {}, const simulate_options& = {}, std::pmr::vector<blocked>* = nullptr,
                            std::pmr::memory_resource* = nullptr) {
  static_assert(detail::is_schedule<S>() && detail::is_cost_policy<C>());
  return simulation{};
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
